"""Readings of float32 and float16: what they would do to a certificate, and that all doors refuse.

A reading that is rounded down says that there is more slack than there is. Certificates have room
for the rounding of float64 alone, so that the next action is outside by what was rounded away.
"""

from fractions import Fraction

import numpy as np
import pytest

from surefoot import PFS, Ball, Controller, Feedback
from surefoot.adapters._keeper import Keeper
from surefoot.core.errors import InvalidValueError
from surefoot.knowledge import Curvature, CurvatureRows, Errors, LipschitzHull
from surefoot.problems.constraints import FunctionConstraint
from surefoot.rules import (
    DPP,
    Averaged,
    CertifiedOGD,
    CertifiedPFS,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
    Tighten,
    ValuesAveraging,
    ValuesFollower,
)

KINDS = {"float32": (np.float32, 2.6e-8), "float16": (np.float16, 1.8e-4)}
LIMIT = 0.8962978441581696  # both kinds round -LIMIT down
HULL = LipschitzHull(G_g=1.0, reach=1.0)
BALL = Ball(1.0)
LEADER = LeaderFollower(G_g=1.0, domain=BALL)
FILTERS = {
    "hull": RegionFilter(knowledge=HULL),
    "curvature": RegionFilter(knowledge=Curvature(beta=0.0, reach=1.0)),
    "safety": SafetyFilter(G_g=1.0, domain=BALL, rho=1e-9),
}
RULES = {
    "PFS": PFS(eta=0.1, rho=0.05, domain=BALL),
    "tightened": Tighten(base=PFS(eta=0.1, rho=0.05, domain=BALL), rho=0.1),
    "certified": CertifiedPFS(G_g=1.0, domain=BALL, rho=0.1),
    "curvature": CertifiedOGD(knowledge=Curvature(beta=0.0, reach=1.0), radius=1.0),
    "leader": LEADER,
    "averaged": Averaged(base=LEADER, sigma=0.01),
    "values": ValuesFollower(G_g=1.0, domain=BALL, probe=1e-3),
    "values averaged": ValuesAveraging(
        knowledge=Curvature(beta=2.0, reach=1.0), radius=1.0, start_slope=2.0
    ),
}


def refused(kind, name="constraint_value"):
    return pytest.raises(InvalidValueError, match=rf"^{name}\.dtype must be float64, got {kind}")


@pytest.mark.parametrize("safe", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize(("kind", "most"), KINDS.values(), ids=KINDS)
def test_a_rounded_reading_leads_outside_unless_it_is_refused(safe, kind, most):
    def play(reading):
        controller = Controller(safe, [0.0])
        controller.ask()  # g(x) = x - LIMIT
        controller.tell(proposal=[1.0], constraint_value=reading, constraint_subgradient=[1.0])
        return Fraction(float(controller.ask()[0])) - Fraction(LIMIT)

    assert play(-LIMIT) <= 0
    assert play(float(kind(-LIMIT))) > most  # who converts it vouches for it
    with refused(kind.__name__):
        play(kind(-LIMIT))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_every_rule_and_the_controller_refuse_it(rule, kind):
    x, gradient = np.zeros(2), np.array([-1.0, 0.5])
    s = None if isinstance(rule, ValuesFollower) else np.array([0.0, 1.0])
    state = rule.init(x)
    with refused(kind.__name__):
        rule.update(state, Feedback(gradient, kind(-0.5), s))
    with refused(kind.__name__):
        rule.update(state, Feedback(gradient, np.array(-0.5, dtype=kind), s))
    controller = Controller(rule, x)
    controller.ask()
    told = {"cost_gradient": gradient, "constraint_subgradient": s}
    for g in (kind(-0.5), np.array(-0.5, dtype=kind)):
        with refused(kind.__name__):
            controller.tell(constraint_value=g, **told)
    controller.tell(constraint_value=-0.5, **told)  # nothing had changed
    assert controller.round == 2


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_columns_rows_and_lists_of_such_values_are_refused(kind):
    x, s = np.zeros((3, 2)), np.ones((3, 2))
    pfs = PFS(eta=0.1, rho=0.05, domain=BALL)
    with refused(kind.__name__):
        pfs.update(pfs.init(x), Feedback(s, np.full((3, 1), -0.5, dtype=kind), s))
    one, rows = np.zeros(2), np.eye(2)
    dpp = DPP(V=1.0, alpha=2.0, rows=2, domain=BALL)
    with refused(kind.__name__):
        dpp.update(dpp.init(one), Feedback(one, np.full(2, -0.5, dtype=kind), rows))
    safe = RegionFilter(knowledge=CurvatureRows(beta=(0.0, 0.0), reach=1.0))
    with refused(kind.__name__):
        safe.step(safe.init(one), Feedback(None, np.full(2, -0.5, dtype=kind), rows, proposal=one))
    with refused(kind.__name__, "constraint_subgradient"):
        safe.step(safe.init(one), Feedback(None, np.full(2, -0.5), rows.astype(kind), proposal=one))
    controller = Controller(safe, one)
    controller.ask()
    told = {"proposal": one, "constraint_subgradient": rows}
    with refused(kind.__name__):
        controller.tell(constraint_value=[kind(-0.5), kind(-0.25)], **told)
    wall = FunctionConstraint(lambda x: -0.5, lambda x: [kind(0.1), kind(1.0)])
    with refused(kind.__name__, r"subgradient_of\(x\)"):
        wall.query(one)


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_hosts_are_refused_them_unless_the_filter_has_an_evaluation_error(kind):
    s = np.array([1.0])
    for safe in FILTERS.values():
        with refused(kind.__name__):
            Keeper(safe, [0.0], "float32").offer([1.0], kind(-LIMIT), s)
        with refused(kind.__name__, "constraint_subgradient"):
            Keeper(safe, [0.0], "float32").offer([1.0], -LIMIT, s.astype(kind))
    error = float(np.spacing(kind(LIMIT)))
    coarse = RegionFilter(
        knowledge=LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(evaluation=error))
    )
    keeper = Keeper(coarse, [0.0])
    keeper.offer([1.0], kind(-LIMIT), s)
    assert Fraction(float(keeper.played[0])) < Fraction(LIMIT)
