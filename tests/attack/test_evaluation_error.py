"""Computed values of g that are as wrong as the bound on their error allows, and not by rounding.

The margins that a bound on the error of an evaluation takes are then as large as any other length:
what is true of it is true of rounding, which has the same margins.
"""

import numpy as np
import pytest

from surefoot import Ball, Feedback
from surefoot.knowledge import Curvature, CurvatureRows, Errors, LipschitzHull
from surefoot.rules import CertifiedPFS, LeaderFollower, RegionFilter, SafetyFilter

DELTA = 0.02
BALL = Ball(1.0)
TOLD = {"domain": BALL, "evaluation_error": DELTA}
WALLS = np.array([[0.6, 0.8], [0.8, -0.6]]), np.array([0.5, 0.3])


def allow(**more):
    return {"reach": 100.0, "errors": Errors(evaluation=DELTA, **more)}


PLAYERS = {
    "hull": RegionFilter(knowledge=LipschitzHull(G_g=1.0, **allow())),
    "hull, values err": RegionFilter(knowledge=LipschitzHull(G_g=1.0, **allow(value=0.03))),
    "curvature": RegionFilter(knowledge=Curvature(beta=0.1, **allow())),
    "curvature, values err": RegionFilter(knowledge=Curvature(beta=0.1, **allow(value=0.03))),
    "rows": RegionFilter(knowledge=CurvatureRows(beta=(0.1,), **allow())),
    "safety filter": SafetyFilter(G_g=1.0, rho=0.15, **TOLD),
    "safety filter, values err": SafetyFilter(G_g=1.0, rho=0.15, value_error=0.03, **TOLD),
    "steps": CertifiedPFS(G_g=1.0, rho=0.15, eta=0.3, **TOLD),
    "leader": LeaderFollower(G_g=1.0, **TOLD),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", PLAYERS)
def test_whatever_is_computed_of_g_is_at_most_0(name, seed, each_engine):
    player, rng = PLAYERS[name], np.random.default_rng(seed)
    A, b = (part[:1] for part in WALLS) if "curvature" in name or name == "rows" else WALLS
    state, bound, most = player.init(np.array([-0.1, -0.2])), 0.0, -1.0
    for t in range(60):
        values = A @ state.x - b
        g, s = float(values.max()), A[values.argmax()]
        assert g <= bound + 1e-13
        assert not t or g + DELTA <= 1e-13
        most = max(most, g)
        proposal = state.x + 0.3 * rng.normal(size=2) + 0.4 * s
        push = {"proposal": proposal} if player.needs.proposals else {}
        off = rng.choice([-1.0, 1.0]) * (DELTA + 0.03 * ("err" in name))
        state, info = player.step(state, Feedback(state.x - proposal, g + off, s, **push))
        bound = info.certificate.bound
        assert info.contradictions == ()
    assert most > -0.1
