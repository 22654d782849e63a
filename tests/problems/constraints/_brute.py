"""Sigma of affine constraints by trying every set of active rows."""

import itertools

import numpy as np
import pytest


def shortest_in_hull(rows):
    """The length of the shortest convex combination: over all faces, the shortest affine one."""
    best = np.inf
    for k in range(1, len(rows) + 1):
        for face in itertools.combinations(range(len(rows)), k):
            V = rows[list(face)]
            # Stationarity on the face: V V' w = mu 1, sum w = 1.
            system = np.block([[V @ V.T, -np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]])
            w = np.linalg.lstsq(system, np.append(np.zeros(k), 1.0), rcond=None)[0][:k]
            if (w >= -1e-12).all() and abs(w.sum() - 1) < 1e-9:
                best = min(best, float(np.linalg.norm(V.T @ w)))
    return best


def brute_sigma(g, epsilon):
    """The shortest subgradient on {g = -epsilon}, over all sets of rows that can be active."""
    linprog = pytest.importorskip("scipy.optimize").linprog
    best, m = np.inf, len(g.A)
    for k in range(1, min(m, g.A.shape[1] + 1) + 1):
        for active in itertools.combinations(range(m), k):
            found = linprog(
                np.zeros(g.A.shape[1]),
                A_ub=g.A,
                b_ub=g.b - epsilon + 1e-11,
                A_eq=g.A[list(active)],
                b_eq=g.b[list(active)] - epsilon,
                bounds=(None, None),
            )
            if found.status == 0:
                best = min(best, shortest_in_hull(g.A[list(active)]))
    return best
