"""Opponents that look one step ahead for the slope that takes the next action furthest out."""

import numpy as np

from surefoot import Feedback
from surefoot.problems.constraints import Affine, ConstraintStream


def tiled(state, n):
    """A run's state as that of n equal runs."""
    return type(state)(
        *(np.tile(v, (n, 1)) if isinstance(v, np.ndarray) else np.full((n, 1), v) for v in state)
    )


def fan(d, s, rng):
    """Unit slopes to try: both ways along every axis, random ones, and against a subgradient."""
    some = rng.normal(size=(6, d))
    ways = np.concatenate([np.eye(d), -np.eye(d), some, [s if s.any() else some[0]]])
    return -ways / np.linalg.norm(ways, axis=1, keepdims=True)


def greedy(player, constraint, x1, rounds, size, seed=7):
    """One run under attack: actions, slopes and values of g, after each round and at the end.

    One slope in twenty is another than the worst, so that the run does not come to rest.
    """
    rng = np.random.default_rng(seed)
    state, separately = player.init(np.array(x1)), player.needs.separately
    actions, slopes, values = [], [], []
    for t in range(rounds + 1):
        here = [t] if isinstance(constraint, ConstraintStream) else []
        ahead = [min(t + 1, rounds)] if here else []
        x = state.x
        g, s = constraint.query(*here, x)
        actions.append(x)
        values.append(g)
        if t == rounds:
            break
        told = constraint.query_all(*here, x) if separately else (g, s)
        tries = size * fan(len(x), s, rng)
        n = len(tries)
        wide = [np.broadcast_to(v, (n, *np.shape(v))) for v in told]
        many = Feedback(tries, *(wide if separately else (wide[0][:, None], wide[1])))
        after = player.update(tiled(state, n), many).x
        worst = int(constraint.query(*ahead, after)[0].argmax())
        slope = tries[worst if rng.random() < 0.95 else rng.integers(n)]
        slopes.append(slope)
        state = player.update(state, Feedback(slope, *told))
    return np.array(actions), np.array(slopes), np.array(values)


def turned_box(d, seed=2):
    """A box of uneven sides, turned; the ball around it and a start close to a corner of it."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    half = rng.uniform(0.3, 0.8, d)
    constraint = Affine(np.vstack([Q, -Q]), np.append(half, half))
    return constraint, float(np.linalg.norm(half)) * (1 + 1e-12), (0.8 * half) @ Q


def polytope(d, rows, seed=4):
    """Random faces of uneven slopes around 0, and those of a cube, which keep it bounded."""
    rng = np.random.default_rng(seed)
    cuts = rng.normal(size=(rows, d))
    A = np.vstack([np.eye(d), -np.eye(d), cuts / np.linalg.norm(cuts, axis=1, keepdims=True)])
    slopes = rng.uniform(0.5, 1.5, len(A))
    b = np.append(np.full(2 * d, 0.6), rng.uniform(0.2, 0.5, rows))
    return Affine(A * slopes[:, None], b * slopes), 0.6 * np.sqrt(d) * (1 + 1e-12), np.zeros(d)
