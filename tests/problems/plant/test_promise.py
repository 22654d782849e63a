"""What is proved of a plant: by which theorems, given which constants, and what is not."""

from dataclasses import replace

import pytest
from tests.controller.plants import C, hall, pumps

from surefoot.problems.plant import PolicyDescription, promises_of_plant, proof_of


def pump(*, steepness=None, policy=None, **changes):
    """Return the pumps, with changes of their limit."""
    plant = pumps(policy=PolicyDescription() if policy is None else policy)
    if steepness is not None:
        changes["steepness"] = {"speed": steepness}
    return replace(plant, limits=(replace(plant.limits[0], **changes),))


def unknown(**changes):
    return pump(steepness=None, **{"violations": 2, **changes})


@pytest.mark.parametrize(
    ("plant", "theorem"),
    [
        (pump(), "Theorem E with N"),
        (pump(meter_error=C(0.0)), "Theorem E"),
        (pump(changes=C(0.001)), "Theorem E with N"),
        (hall(), "Theorem X1 with N"),
        (hall(ramp=3.0), "Theorem X1 with N and R"),
        (replace(unknown(), limits=(replace(unknown().limits[0], steepness=None),)), "Theorem U"),
        (
            replace(
                pumps(has_slopes=True),
                limits=(replace(pumps().limits[0], steepness=None, curvature={"speed": C(0.01)}),),
            ),
            "Theorem C with N",
        ),
    ],
)
def test_the_theorems_are_those_of_the_rule(plant, theorem):
    proof = proof_of(plant, left=0)
    assert proof.theorem == theorem
    assert promises_of_plant(plant, left=0).feasibility.theorem == f"{theorem}, {proof.word}"


def test_proved_is_said_only_where_nothing_is_an_estimate():
    assert proof_of(pump(), left=0).word == "proved"
    assert proof_of(pump(meter_error=C(0.02, "estimated")), left=0).word.endswith(
        "given 1 estimate"
    )
    two = pump(meter_error=C(0.02, "estimated"), steepness=C(0.1, "estimated"))
    assert str(proof_of(two, left=0)).endswith("(Theorem E with N, certified given 2 estimates)")


def test_every_constant_is_needed_with_its_unit_origin_and_reason():
    plant = pump(steepness=C(0.12, "estimated", "rows 3 and 8"))
    needs = promises_of_plant(plant, left=0).feasibility.needs
    assert needs[0] == "pressure is concave in the set points"
    assert needs[-1] == "pressure: steepness.speed 0.12 bar per Hz (estimated: rows 3 and 8)"
    named = {constant.label: constant.unit for constant in proof_of(hall(), left=0).constants}
    assert named["hot_spot: rise.outside"] == "degC per degC, harmful up only"
    assert named["flow: rise.load"] == "m3/s per MW, exactly"
    assert named["context.load.changes"] == "MW per minute"


def test_a_recovery_enlarges_what_is_not_proved():
    plant = pump(steepness=C(0.1, "proved"), changes=C(0.001, "estimated"))
    enlarged = {c.name: c.value for c in proof_of(plant, left=1, factor=2.0).constants}
    assert enlarged == {
        "meter_error": 0.02,
        "start_margin": 0.5,
        "steepness.speed": 0.1,
        "changes": 0.002,
    }


@pytest.mark.parametrize(
    ("policy", "left", "words"),
    [
        (PolicyDescription("recover", 3), 3, "at most 4 measured rounds are outside by more than"),
        (PolicyDescription("recover", 3), 0, "at most 1 measured round is outside by more than"),
        (PolicyDescription("retreat"), 0, "and then the start is used (Theorem Recovery)"),
        (PolicyDescription("record"), 0, "nothing is promised, because on_contradiction is"),
        (PolicyDescription("raise"), 0, "nothing is promised, because on_contradiction is"),
    ],
)
def test_it_says_what_holds_if_a_constant_is_wrong(policy, left, words):
    assert words in proof_of(pump(policy=policy), left=left).if_wrong[0]


def test_with_a_ramp_the_way_to_the_start_counts():
    policy = PolicyDescription("recover", 2, "retreat")
    (sentence, rest) = proof_of(hall(ramp=7.0, policy=policy), left=2).if_wrong
    # 70 % at 35 % a round for the slow fan, and the other crosses its range at once.
    assert "at most 3 measured rounds" in sentence
    assert "follow each on the way to the start" in sentence
    assert "no two in a row" not in sentence
    assert rest == "That rests on the meter_error, start_margin and reported contexts."


def test_where_the_largest_limit_counts_the_largest_error_hides_violations():
    # 0.2 degC are 0.1 of the unit 2 degC; 0.05 m3/s are 0.05 of 1 m3/s, and 0.1 is 0.1 m3/s.
    by_row, by_largest = (
        proof_of(hall(), left=0, one_limit=one).if_wrong[0] for one in (False, True)
    )
    assert "(0.4 degC of hot_spot, 0.1 m3/s of flow)" in by_row
    words = "; the largest counts for all, which are one limit for the rule)"
    assert "(0.4 degC of hot_spot, 0.2 m3/s of flow" + words in by_largest


def test_an_unknown_steepness_is_paid_for_with_violations():
    plant = unknown()
    plant = replace(plant, limits=(replace(plant.limits[0], steepness=None),))
    proof = proof_of(plant, left=0)
    assert "but for at most 2 measured rounds" in proof.statements[0]
    assert proof.if_wrong == ()
    assert "violations of at most 0.04 bar of pressure, which errors may hide" in proof.not_covered


def test_cost_is_never_promised():
    for plant in (pump(), hall(role="learner"), hall(ramp=3.0)):
        promises = promises_of_plant(plant, left=0)
        assert promises.feasibility.not_covered[0] == "cost"
        assert promises.in_advance is None
