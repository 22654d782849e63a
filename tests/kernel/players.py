"""Every player that the kernel has, with what its readings may be wrong by."""

from functools import cache

import numpy as np

from surefoot import Ball, Feedback
from surefoot.knowledge import Curvature, CurvatureRows, Errors, Knowledge, LipschitzHull
from surefoot.proposers import Proposer
from surefoot.rules import (
    CertifiedDualAveraging,
    CertifiedOGD,
    CertifiedPFS,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
    ValuesFollower,
)
from surefoot.sets import Box

BALL = Ball(4.0)


def names_in_kernel(package):
    """The kinds of a package that describe themselves to the kernel, by name."""
    kinds = [kind for name in dir(package) if isinstance(kind := getattr(package, name), type)]
    answering = [kind for kind in kinds if "describe_to_kernel" in vars(kind)]
    return [kind.__name__ for kind in answering if kind not in (Knowledge, Proposer)]


@cache
def players(d):
    """The players of a dimension by name."""
    cube, off = Box.cube(0.3, d), Ball(4.0, np.full(d, 0.1))
    leaders = {
        "default": {},
        "few cuts": {"cuts": 2},
        "strongly convex": {"strong_convexity": 1.0},
        "evaluation error": {"evaluation_error": 1e-9},
        "in a box": {"domain": cube},
        "in a ball": {"domain": Ball(0.25)},
        "off centre": {"domain": off},
        "value error": {"value_error": 0.02},
        "slope error": {"value_error": 0.02, "slope_error": 0.05},
        "slopes that only show the way": {"slope_error": np.inf},
        "drift": {"value_error": 0.02, "drift": 2e-3},
        "drift in a box": {"drift": 1e-3, "domain": cube},
    }
    lengths = {
        "fixed": {"decreasing": False, "eta": 0.2, "ratchet": False},
        "sigma": {"sigma": 0.5, "evaluation_error": 1e-9},
        "in a box": {"domain": cube},
        "off centre": {"domain": off},
        "value error": {"value_error": 0.02},
        "slope error": {"value_error": 0.02, "slope_error": 0.05},
        "drift": {"value_error": 0.01, "drift": 5e-4},
        "drift, sigma": {"drift": 2e-3, "sigma": 0.5},
    }
    probes = {
        "default": {},
        "long probes": {"probe": 0.3, "doubt": 0.1, "near": 0.9},
        "few cuts": {"cuts": 2},
        "in a box": {"domain": cube},
        "off centre": {"domain": off},
        "value error": {"value_error": 0.02},
        "drift": {"value_error": 0.02, "drift": 2e-3},
    }
    hulls = {
        "hull": LipschitzHull(G_g=1.1, reach=4.0),
        "hull in a box": LipschitzHull(G_g=1.1, domain=Box.cube(0.2, d)),
        "hull, value error": LipschitzHull(G_g=1.1, reach=4.0, errors=Errors(value=0.02)),
        "hull, drift": LipschitzHull(G_g=1.1, reach=4.0, errors=Errors(drift=2e-3)),
    }
    found = {}
    for name, options in leaders.items():
        found[f"leader, {name}"] = LeaderFollower(**{"G_g": 1.1, "domain": BALL} | options)
    for name, options in lengths.items():
        found[f"length, {name}"] = CertifiedPFS(
            **{"G_g": 1.1, "domain": BALL, "rho": 0.2} | options
        )
    for name, options in probes.items():
        found[f"probing, {name}"] = ValuesFollower(**{"G_g": 1.1, "domain": BALL} | options)
    for name, hull in hulls.items():
        found[f"filter, {name}"] = RegionFilter(knowledge=hull)
    balls = {
        "ball": Curvature(beta=1.0, reach=50.0),
        "ball, in a ball": Curvature(beta=0.5, domain=Ball(0.25, np.full(d, 0.05))),
        "half-space": Curvature(beta=0.0, reach=1e4, errors=Errors(evaluation=1e-9)),
        "ball, value error": Curvature(beta=1.0, reach=50.0, errors=Errors(value=0.02)),
        "ball, drift": Curvature(beta=1.0, reach=50.0, errors=Errors(value=0.01, drift=2e-3)),
    }
    m, noisy = min(3 * d, 7), Errors(value=0.01, slope=0.02)
    rows = {"rows": m, "reach": 50.0}
    balls |= {
        "rows": CurvatureRows(beta=1.0, **rows),
        "flat rows": CurvatureRows(beta=0.0, **rows),
        "rows in a ball": CurvatureRows(beta=0.5, rows=m, domain=Ball(0.25, np.full(d, 0.05))),
        "rows in a box": CurvatureRows(beta=0.5, rows=m, domain=Box.cube(0.15, d)),
        "rows, slope error": CurvatureRows(beta=1.0, errors=noisy, **rows),
        "rows, drift": CurvatureRows(beta=1.0, errors=Errors(value=0.01, drift=2e-3), **rows),
        "one row in a box": CurvatureRows(beta=1.0, rows=1, domain=Box.cube(0.2, d)),
    }
    for name, known in balls.items():
        found[f"filter, {name}"] = RegionFilter(knowledge=known)
        found[f"descent, {name}"] = CertifiedOGD(knowledge=known, radius=5.0)
        found[f"averaging, {name}"] = CertifiedDualAveraging(
            knowledge=known, radius=5.0, far=0.3 if "error" in name else None
        )
    found["filter, length"] = SafetyFilter(G_g=1.1, domain=BALL, rho=0.1)
    found["filter, length, drift"] = SafetyFilter(G_g=1.1, domain=BALL, rho=0.1, drift=1e-3)
    return found


class Limit:
    """A polytope with unit rows that moves as far as a drift allows, and readings that err.

    The largest row is seen, which has no bounded curvature: players that know one are shown one
    row, or all, and these are as curved as they know.
    """

    def __init__(self, player, d, seed=0):
        self.errors, self.d, self.separately = player.errors, d, player.knowledge.row_count > 1
        self.rng = np.random.default_rng(seed)
        rows = self.rng.normal(size=(d, d))
        rows = rows / np.linalg.norm(rows, axis=1)[:, None]
        self.rows = np.vstack([rows, np.eye(d), -np.eye(d)])  # bounded
        self.offsets = self.rng.uniform(0.2, 0.6, 3 * d)
        self.curvature = float(np.min(getattr(player.knowledge, "beta", 0.0)))
        if isinstance(player.knowledge, Curvature | CurvatureRows):
            m = player.knowledge.row_count
            self.rows, self.offsets = self.rows[:m], self.offsets[:m]
        self.best, self.filters = self.rng.normal(size=d), not player.proposer.cost_gradients
        self.is_blind = not player.proposer.reads_slopes

    def told(self, t, x):
        """What is told of an action in a round."""
        errors, rng = self.errors, self.rng
        values = self.rows @ x - self.offsets + errors.drift * np.sin(0.5 * t)
        values = values + 0.5 * self.curvature * (x @ x)
        i = int(values.argmax())
        slope = rng.normal(size=self.d)
        finite = errors.slope if errors.slope < np.inf else 0.0
        g = float(values[i]) + errors.value * rng.uniform(-1, 1)
        if self.separately:
            i, g = slice(None), values + errors.value * rng.uniform(-1, 1, len(values))
        s = self.rows[i] + self.curvature * x + finite * slope / np.linalg.norm(slope)
        gradient = 2 * (x - self.best) + 0.3 * rng.normal(size=self.d)
        if self.filters:
            return Feedback(None, g, s, proposal=x - 0.2 * gradient)
        return Feedback(gradient, g, None if self.is_blind else s)
