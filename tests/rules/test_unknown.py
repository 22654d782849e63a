"""Tunings for an unknown G_g: one knowledge and promise for three rules, and what is refused."""

import numpy as np
import pytest

from surefoot import Ball, Constants, Controller, LeaderFollower, Tuned, play
from surefoot.cli.list_ import _algorithm
from surefoot.controller import Fleet, read_journal, replay
from surefoot.core.errors import InvalidTypeError, InvalidValueError
from surefoot.core.parameters import parameters_of
from surefoot.guarantees import Estimated
from surefoot.knowledge import EstimatedCurvature, EstimatedHull, LipschitzHull
from surefoot.problems import rotated_box
from surefoot.proposers import Probing
from surefoot.proposers.descent import Descent
from surefoot.rules import (
    Averaged,
    CertifiedOGD,
    CostProbing,
    Delayed,
    RegionFilter,
    SafetyFilter,
    ValuesFollower,
)
from surefoot.sets import Box

RULES = (LeaderFollower, ValuesFollower, RegionFilter)
BOX = Box([-1.0], [2.0])
KNOWN = Constants(R=1.0, G_g=1.0, start_slack=0.5)


def limit(x):
    """g = max(x/2 - 1, 4x - 3.2): a slope that nobody has seen before."""
    rows, offsets = np.array([[0.5], [4.0]]), np.array([1.0, 3.2])
    i = int((rows @ x - offsets).argmax())
    return float(rows[i] @ x - offsets[i]), rows[i]


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_makes_the_same_knowledge_and_promise(rule):
    told = {"theta": 3.0, "violations": 2, "largest_G_g": 9.0, "largest_violation": 0.5}
    told |= {"value_error": 0.05, "evaluation_error": 0.01, "start_bound": -0.75}
    player, promise = rule.unknown(BOX, start_slack=0.9, **told)
    assert type(player) is rule
    known = player.knowledge
    assert (known.domain, known.theta, known.violations) == (BOX, 3.0, 2)
    assert (known.largest_G_g, known.largest_violation, known.start_bound) == (9.0, 0.5, -0.75)
    assert (known.errors.value, known.errors.evaluation) == (0.05, 0.01)
    assert (known.errors.slope == np.inf) is (rule is ValuesFollower)
    assert (promise.theta, promise.violations, promise.largest_violation) == (3.0, 2, 0.5)
    # The start has 0.9 - 2(0.05 + 0.01) by its reading, over the 3 of the box.
    assert promise.first == pytest.approx(0.78 / 3, rel=1e-9)
    assert promise.hidden == pytest.approx(0.11)
    assert list(parameters_of(rule.unknown)) == [
        "theta",
        "violations",
        "largest_G_g",
        "largest_violation",
        "start_slack",
        "value_error",
        *(["slope_error"] if rule is not ValuesFollower else []),
        "evaluation_error",
        "start_bound",
    ]


def test_the_number_in_advance_by_hand():
    def most(domain, **told):
        return LeaderFollower.unknown(domain, largest_G_g=12.0, **told).guarantee.most_violations

    # m_1 is 1/1 in the ball: log2 12 = 3.6; 1/3 in the box: log2 36 = 5.2.
    assert (most(Ball(1.0), start_slack=1.0), most(BOX, start_slack=1.0)) == (3, 5)
    # An error of 0.25 takes half of it; a bound on the start takes nothing.
    assert most(Ball(1.0), start_slack=1.0, value_error=0.25) == 4
    assert most(Ball(1.0), start_bound=-1.0, value_error=0.25) == 3
    assert most(Ball(1.0, np.array([5.0])), start_slack=1.0) == 3  # from its centre, not from 0
    assert most(Ball(1.0)) == np.inf


def test_what_errors_may_hide_is_no_part_of_the_promise():
    promise = LeaderFollower.unknown(Ball(1.0), violations=1, value_error=0.05).guarantee
    assert "violations of at most 0.1, which errors may hide" in promise.feasibility.not_covered
    assert "values err by at most 0.05" in promise.feasibility.needs
    assert promise.bounds(np.array([9.0]))["violations"].tolist() == [np.inf]
    box = rotated_box(3, horizon=40)
    player = LeaderFollower.unknown(box.domain).algorithm
    verdict = play(Tuned(player, Estimated(Constants(R=1.0, value_error=0.05))), box).verdict()
    assert "not checked: nothing bounds the number of violations" in verdict


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LeaderFollower.unknown(BOX, drift=0.001), "one g that does not change; give G_g,"),
        (
            lambda: ValuesFollower.unknown(BOX, ramp=0.05),
            "after a violation no action that",
        ),
        (
            lambda: RegionFilter.unknown(BOX, context=1),
            "far too large, to RegionFilter",
        ),
        (lambda: LeaderFollower.unknown(BOX, G_g=[1.0, 2.0]), "report the largest of several"),
        (lambda: LeaderFollower.unknown(BOX, constants=KNOWN), "it takes the domain, as a Ball"),
        (lambda: ValuesFollower.unknown(BOX, slope_error=0.1), "it reads values alone, and no sl"),
        (lambda: ValuesFollower(G_g=1.0, domain=BOX, slope_error=0.1), "'slope_error': it reads v"),
        (lambda: ValuesFollower(G_g=1.0, domain=BOX, leader=1), "LeaderFollower has leader"),
        (
            lambda: LeaderFollower.default(KNOWN, value_error=0.1),
            r"Constants\(value_error=",
        ),
        (
            lambda: RegionFilter.default(KNOWN, drift=0.1),
            r"of the constants, Constants\(drift=",
        ),
        (lambda: SafetyFilter.default(KNOWN, domian=BOX), "did you mean 'domain'"),
        (
            lambda: RegionFilter(G_g=1.0, domain=BOX),
            "belongs to the knowledge, as in",
        ),
        (lambda: RegionFilter.for_rows([1.0], BOX, bta=1.0), "did you mean 'beta'"),
        (lambda: CertifiedOGD.unknown(Ball(1.0), value_error=0.1), "Theorem W is for exact readin"),
        (lambda: CertifiedOGD.unknown(Ball(1.0), start_slack=0.1), "what the start proves when it"),
        (lambda: LeaderFollower.default(KNOWN, ramp=0.1), r": LeaderFollower\(\.\.\.\) has it"),
    ],
)
def test_a_parameter_that_does_not_go_with_a_constructor_says_why(make, words):
    with pytest.raises(InvalidTypeError, match=words):
        make()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: ValuesFollower(G_g=[1.0, 2.0], domain=BOX),
            "which learns one slope from",
        ),
        (
            lambda: LeaderFollower.unknown(BOX, value_error=0.1, start_slack=0.2),
            r"start_slack must be above 0\.2, twice the error of a value, which the start may hide",
        ),
        (
            lambda: RegionFilter.unknown(BOX, start_bound=0.5),
            "start_bound must be below 0",
        ),
        (lambda: LeaderFollower.unknown(None), "domain must be"),
    ],
)
def test_a_value_that_does_not_go_with_an_unknown_constant_is_refused(make, words):
    with pytest.raises(InvalidValueError, match=words):
        make()


@pytest.mark.parametrize(
    ("wrap", "words"),
    [
        (lambda base: Delayed(base=base, delay=1), "one that acts again before it knows"),
        (
            lambda base: Delayed(base=base, delay=1, copies=False),
            "one that acts again before it knows",
        ),
        (lambda base: Averaged(base=base, sigma=0.1), "one that repeats an action until it knows"),
        (lambda base: CostProbing(base=base, length=0.1), "one that plays beside the action"),
    ],
)
def test_wrappers_spend_other_violations_than_the_theorem_counts(wrap, words):
    for player in (LeaderFollower.unknown(Ball(1.0)), CertifiedOGD.unknown(Ball(1.0))):
        constant = player.algorithm.knowledge.constant
        with pytest.raises(InvalidValueError, match=f"a base whose {constant} is given.*{words}"):
            wrap(player.algorithm)


# --- live ----------------------------------------------------------------------------------------


def tell(controller, rule, rounds):
    """Play rounds, with readings 0.02 too low, and no measurement in the fourth."""
    for _ in range(rounds):
        x = controller.ask()
        g, s = limit(x)
        told = {"proposal": x + 1.0} if rule is RegionFilter else {"cost_gradient": [-1.0]}
        if rule is not ValuesFollower:
            told["constraint_subgradient"] = s
        t = controller.explain().round
        seen = {"missing": True} if t == 4 else {"constraint_value": g - 0.02, **told}
        controller.tell(**seen)


@pytest.mark.parametrize("rule", RULES)
def test_a_loop_shows_its_promise_and_estimate_and_goes_on_from_its_journal(tmp_path, rule):
    def make():
        return rule.unknown(BOX, value_error=0.02, start_bound=-0.9)

    whole = Controller(make(), start=[0.0])
    tell(whole, rule, 14)
    path = tmp_path / "unknown.jsonl"
    with Controller(make(), start=[0.0], journal=path) as part:
        tell(part, rule, 6)
    with Controller.open(path) as again:
        tell(again, rule, 8)
        assert again.ask().tobytes() == whole.ask().tobytes()
        why = again.explain()
    assert str(why) == str(whole.explain())
    assert "Theorem U (an unknown constant)" in str(why)
    assert why.estimate.outside == 1
    assert "by more than 0.04 if G_g <= " in str(why.estimate)
    assert replay(path).rounds == 14
    summary = str(read_journal(path))
    assert "Theorem U (an unknown constant) for any number of rounds (few violations)" in summary
    assert "guarantee       none" not in summary


def test_a_rule_of_parts_without_a_tuning_has_a_promise_too():
    player = RegionFilter(knowledge=EstimatedHull(domain=BOX))
    why = str(Controller(player, start=[0.0]).explain())
    assert (
        "Theorem U and V (certified by EstimatedHull) for any number of rounds (few violations)"
        in why
    )


def test_a_fleet_learns_by_values_alone():
    fleet = Fleet(ValuesFollower.unknown(BOX, start_bound=-0.9), starts=[[0.0], [-0.5]])
    for _ in range(30):
        values = [limit(x)[0] for x in fleet.ask()]
        fleet.tell(cost_gradient=[[-1.0], [-1.0]], constraint_value=values)
    assert [fleet.explain(str(i)).estimate.outside for i in range(2)] == [1, 0]
    np.testing.assert_allclose(fleet.ask(), 0.8, atol=0.05)


@pytest.mark.parametrize("rule", [*RULES, CertifiedOGD])
def test_the_list_shows_the_promise(rule):
    tunings = {one["name"]: one for one in _algorithm(rule)["tunings"]}
    assert tunings["unknown"]["feasibility"] == "few violations"


def test_made_of_its_parts():
    player = ValuesFollower.unknown(BOX).algorithm
    assert isinstance(player.proposer, Probing)
    assert not isinstance(player.knowledge, LipschitzHull | EstimatedCurvature)
    assert isinstance(CertifiedOGD.unknown(Ball(1.0)).algorithm.proposer, Descent)
