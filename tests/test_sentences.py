"""What pages say of combinations and halts, run: if one of these changes, so must the sentence."""

import json

import numpy as np
import pytest

from surefoot import Ball, Constants, Controller, Feedback, SurefootError
from surefoot.certified import Certified
from surefoot.controller.service import ControllerService
from surefoot.knowledge import Choices, Column, Curvature, Errors, LipschitzHull
from surefoot.problems.calibration import from_log
from surefoot.proposers import Descent, Leader
from surefoot.rules import (
    CertifiedDualAveraging,
    CertifiedOGD,
    CertifiedPFS,
    CostProbing,
    Delayed,
    LeaderFollower,
    MovingBalls,
    RegionFilter,
    SafetyFilter,
    ValuesFollower,
)
from surefoot.sets import Box

BOX = Box([-1.0], [1.0])
GRID = Choices(BOX.lower, BOX.upper, step=0.1)
BALL = Ball(1.0)
KNOWN = Constants(R=1.0, G_f=1.0, G_g=1.0, start_slack=0.55)
BENT = Constants(R=1.0, beta=1.0, start_slack=0.55)
STEEP, SMOOTH = LipschitzHull(G_g=1.0, domain=GRID), Curvature(beta=1.0, domain=GRID)


def play(player, rounds=20):
    """Return the last action of a live loop that is pushed against x = 0.55."""
    loop = Controller(player, start=[0.0])
    longest = 0.0
    for _ in range(rounds):
        x = loop.ask()
        wanted = {"proposal": [0.9]} if player.needs.proposals else {"cost_gradient": [-1.0]}
        loop.tell(**wanted, constraint_value=float(x[0]) - 0.55, constraint_subgradient=[1.0])
        longest = max(longest, abs(float(loop.ask()[0] - x[0])))
    assert loop.explain().is_proven
    return float(loop.ask()[0]), longest


# --- choose.md, faq.md, unknown.md: steps and ramps ----------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: CertifiedPFS(G_g=1.0, domain=GRID, rho=0.1),
        lambda: SafetyFilter(G_g=1.0, domain=GRID, rho=0.1),
        lambda: CertifiedOGD.default(BENT, None, GRID),
        lambda: CertifiedDualAveraging.default(BENT, None, GRID),
    ],
)
def test_rules_whose_theorem_needs_a_convex_domain_reject_a_grid(make):
    with pytest.raises(SurefootError, match="domain must be convex"):
        make()


@pytest.mark.parametrize(
    "player",
    [
        LeaderFollower(G_g=1.0, domain=GRID),
        LeaderFollower.default(KNOWN, None, GRID).algorithm,
        RegionFilter(knowledge=STEEP),
        RegionFilter(knowledge=SMOOTH),
        Certified(proposer=Descent(radius=1.0), knowledge=STEEP),
        Certified(proposer=Leader(domain=BOX), knowledge=STEEP),
        CertifiedOGD(knowledge=SMOOTH, radius=1.0),
        CertifiedDualAveraging(knowledge=SMOOTH, radius=1.0),
    ],
)
def test_a_grid_as_the_domain_of_a_knowledge_is_played(player):
    assert play(player)[0] == 0.5


@pytest.mark.parametrize(
    "player",
    [
        LeaderFollower(G_g=1.0, domain=BALL, ramp=0.1),
        CertifiedPFS(G_g=1.0, domain=BALL, rho=0.1, ramp=0.1),
        SafetyFilter(G_g=1.0, domain=BALL, rho=0.1, ramp=0.1),
        RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0), ramp=0.1),
        CertifiedOGD(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0, ramp=0.1),
        CertifiedDualAveraging(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0, ramp=0.1),
        MovingBalls(knowledge=Curvature(beta=1.0, reach=1.0), eta=1.0, ramp=0.1),
    ],
)
def test_constructors_of_certified_rules_take_a_ramp(player):
    last, longest = play(player)
    assert 0.4 < last <= 0.55
    assert 0.05 < longest <= 0.1 * (1 + 1e-11)


@pytest.mark.parametrize(
    "make",
    [
        lambda: LeaderFollower.default(KNOWN, None, BALL, ramp=0.1),
        lambda: CertifiedPFS.default(KNOWN, ramp=0.1),
        lambda: SafetyFilter.default(KNOWN, ramp=0.1),
        lambda: RegionFilter.default(KNOWN, ramp=0.1),
        lambda: ValuesFollower.default(KNOWN, None, BALL, ramp=0.1),
        lambda: Delayed(base=LeaderFollower(G_g=1.0, domain=BALL, ramp=0.1), delay=1),
        lambda: CostProbing(base=LeaderFollower(G_g=1.0, domain=BALL, ramp=0.1), length=0.1),
    ],
)
def test_tunings_copies_and_pairs_take_no_ramp(make):
    with pytest.raises((SurefootError, TypeError), match="ramp"):
        make()


# --- unknown.md, hosts.md: rounds without slopes -------------------------------------------------


def test_a_hull_needs_no_slopes_and_a_controller_asks_for_none():
    hull = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0))
    seen = Feedback(None, -0.55, None, proposal=np.array([0.9]))
    assert hull.update(hull.init(np.zeros(1)), seen).x == pytest.approx([0.55])
    loop = Controller(hull, start=[0.0])
    loop.ask()
    loop.tell(proposal=[0.9], constraint_value=-0.55)
    assert loop.ask() == pytest.approx([0.55])


# --- from_log.md, faq.md: a column that is missing -----------------------------------------------


@pytest.mark.parametrize(
    ("held", "words"), [(1, "apart: it depends"), (2, "2 %"), (4, "2 %"), (12, "2 %")]
)
def test_a_missing_column_is_named_whether_or_not_a_set_point_was_held(held, words):
    rng = np.random.default_rng(3)
    load, temperature = rng.uniform(0.0, 1.0, (96, 1)), rng.uniform(10.0, 30.0, (96, 1))
    load = np.repeat(load[: 96 // held], held, axis=0)
    level = 0.8 * load[:, 0] ** 2 + 0.02 * (temperature[:, 0] - 20.0) - 0.5
    assert words in from_log(load, level).disagreement
    if held > 1:
        certain = from_log(load, level, value_error=0.005).disagreement
        assert "where all columns are the same, by more than twice the error" in certain


# --- serve.md: what an order needs ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "is_accepted"),
    [
        ({"do": "hold"}, True),
        ({"do": "retreat"}, True),
        ({"do": "resume"}, True),
        ({"do": "hold", "reason": "order"}, True),
        ({"do": "hold", "reason": ""}, False),
        ({"do": "retreat", "reason": "order", "speed": 0.1}, True),
        ({"do": "retreat", "speed": 0.0}, False),
        ({"do": "resume", "members": ["0"]}, False),
    ],
)
def test_a_reason_is_ordered_unless_it_is_given(words, is_accepted):
    service = ControllerService(Controller(LeaderFollower(G_g=1.0, domain=BALL), [0.0]))
    assert json.loads(service.answer(json.dumps(words).encode()))["ok"] == is_accepted


# --- contradiction.md: what a halted loop does ---------------------------------------------------


def halt(policy, *, steep=2.0, drift=0.0, **known):
    """Return three actions, the last after a contradiction of round 2, and whether it is proved."""
    knowledge = LipschitzHull(G_g=1.0, reach=4.0, errors=Errors(drift=drift), **known)
    loop = Controller(RegionFilter(knowledge=knowledge), start=[0.0], on_contradiction=policy)
    played = []
    for slope in (1.0, steep):
        x = float(loop.ask()[0])
        played.append(x)
        loop.tell(proposal=[0.4], constraint_value=slope * x - 0.5, constraint_subgradient=[slope])
    assert loop.halted
    return [*played, float(loop.ask()[0])], loop.explain().is_proven


@pytest.mark.filterwarnings("ignore::surefoot.controller.PremiseWarning")
@pytest.mark.parametrize(
    ("policy", "how", "action", "is_proven"),
    [
        ("hold", {"steep": 1.2}, 0.4, True),  # measured feasible: it stays
        # 0.3 above the limit, 0.5 of slack at the anchor: 0.6875 of the way back certifies -0.25.
        ("hold", {}, 0.4 * (1 - 0.6875), True),
        ("hold", {"drift": 0.01, "start_bound": -0.3}, 0.0, True),
        ("hold", {"drift": 0.01}, None, False),
        ("retreat", {}, 0.0, True),
        ("retreat", {"drift": 0.01, "start_bound": -0.3}, 0.0, True),
        ("retreat", {"drift": 0.01}, 0.0, False),
    ],
)
def test_after_a_contradiction_only_what_needs_no_refuted_constant_stands(
    policy, how, action, is_proven
):
    played, proven = halt(policy, **how)
    assert played[:2] == pytest.approx([0.0, 0.4], abs=1e-6)
    assert proven == is_proven
    if action is not None:
        assert played[2] == pytest.approx(action, abs=1e-6)


@pytest.mark.filterwarnings("ignore::surefoot.controller.PremiseWarning")
@pytest.mark.parametrize("policy", ["hold", "retreat"])
@pytest.mark.parametrize("bound", [-0.1, None])
def test_in_contexts_a_halted_loop_goes_to_the_start(policy, bound):
    player = LeaderFollower(G_g=1.0, domain=BOX, context=Column(adds=1.0), start_bound=bound)
    loop = Controller(player, start=[-0.5], context=0.0, on_contradiction=policy)
    for slope in (1.0, 2.0, 2.0):
        x = float(loop.ask()[0])
        loop.tell(
            cost_gradient=[-1.0],
            constraint_value=slope * (x + 0.5) - 0.5,
            constraint_subgradient=[slope],
            context=0.0,
        )
    assert loop.halted
    assert loop.ask().tolist() == [-0.5]
    assert loop.explain().is_proven == (bound is not None)


@pytest.mark.filterwarnings("ignore::surefoot.controller.PremiseWarning")
def test_where_g_is_not_convex_a_halted_loop_jumps_to_the_anchor():
    knowledge = Curvature(beta=0.0, reach=4.0, convex=False)
    loop = Controller(RegionFilter(knowledge=knowledge), start=[0.0], on_contradiction="hold")
    for _ in range(2):
        x = float(loop.ask()[0])
        loop.tell(proposal=[0.4], constraint_value=4 * x**2 - 0.5, constraint_subgradient=[8 * x])
    assert loop.halted
    assert loop.ask().tolist() == [0.0]
    with pytest.raises(SurefootError, match="speed must be None where g is not convex"):
        loop.retreat("back", speed=0.1)
