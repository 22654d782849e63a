import numpy as np
import pytest

from surefoot.guarantees import Premise

GRADIENT = Premise("cost gradient", "G_f", 1.41)
NEAR = Premise("subgradient near the boundary", "sigma", 0.5, level=0.25)
START = Premise("start", "the slack counted on", 0.1)


@pytest.mark.parametrize("premise", [GRADIENT, Premise("constraint subgradient", "G_g", 1.41)])
def test_an_upper_limit_breaks_above_it_alone(premise):
    assert premise.is_upper
    assert not premise.is_broken_by(1.41)
    assert not premise.is_broken_by(0.0)
    assert premise.is_broken_by(1.42)
    # The rounding of a computed norm is no breach.
    assert not premise.is_broken_by(1.41 * (1 + 1e-15))


@pytest.mark.parametrize("premise", [NEAR, Premise("start", "the slack counted on", 0.5)])
def test_a_lower_limit_breaks_below_it_alone(premise):
    assert not premise.is_upper
    assert not premise.is_broken_by(0.5)
    assert not premise.is_broken_by(7.0)
    assert premise.is_broken_by(0.49)
    assert not premise.is_broken_by(0.5 * (1 - 1e-15))


def test_a_start_outside_keeps_its_premise():
    outside = Premise("start", "the slack counted on", -0.3)
    assert not outside.is_broken_by(-0.3)
    assert not outside.is_broken_by(-0.2)
    assert outside.is_broken_by(-0.31)


def test_arrays_are_compared_entry_by_entry():
    assert GRADIENT.is_broken_by(np.array([1.0, 8.4, 1.41])).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("premise", "observed", "sentence"),
    [
        (
            GRADIENT,
            8.4,
            "round 17: |grad f| = 8.4 exceeds G_f = 1.41: the regret bound and the feasibility "
            "guarantee no longer apply",
        ),
        (
            Premise("constraint subgradient", "G_g", 1.0),
            2.0,
            "round 17: |s| = 2 exceeds G_g = 1: the feasibility guarantee no longer applies",
        ),
        (
            NEAR,
            0.25,
            "round 17: |s| = 0.25 where g >= -0.25 is below sigma = 0.5: the regret bound and the "
            "feasibility guarantee no longer apply",
        ),
        (
            START,
            0.05,
            "round 17: the slack -g(x_1) = 0.05 is below the slack counted on = 0.1: the "
            "feasibility guarantee does not apply",
        ),
        (
            Premise("horizon", "the horizon", 16),
            17,
            "round 17: the round = 17 exceeds the horizon = 16: the bounds were tuned for fewer "
            "rounds",
        ),
    ],
)
def test_a_breach_is_one_sentence_with_round_and_numbers(premise, observed, sentence):
    assert premise.is_broken_by(observed)
    assert premise.sentence(17, observed) == sentence


LINEAR = Premise("curvature", "the curvature of a linear g", 0.0)


@pytest.mark.parametrize(("curvature", "broken"), [(0.0, False), (1e-3, True), (np.inf, True)])
def test_a_constraint_that_is_not_known_to_be_linear_breaks_its_premise_in_round_1(
    curvature, broken
):
    seen, counts = LINEAR.observe(1, 0.0, -1.0, 1.0, curvature)
    assert counts
    assert LINEAR.is_broken_by(seen) == broken
    assert not LINEAR.observe(2, 0.0, -1.0, 1.0, curvature)[1]
    assert LINEAR.breach(1, 2.0).sentence == (
        "round 1: the constraints are not known to be linear: the regret bound and the feasibility "
        "guarantee no longer apply"
    )


@pytest.mark.parametrize(
    ("premise", "affected"),
    [
        (GRADIENT, "both"),
        (Premise("cost gradient", "G_f", 1.0, only_regret=True), "regret"),
        (Premise("constraint subgradient", "G_g", 1.0), "feasibility"),
        (NEAR, "both"),
        (START, "feasibility"),
        (Premise("horizon", "the horizon", 9), "regret"),
        (LINEAR, "both"),
    ],
)
def test_what_is_lost_with_a_premise(premise, affected):
    assert premise.affects == affected
    assert premise.breach(3, 0.5, run=2)[:5] == (
        3,
        premise.constant,
        premise.sentence(3, 0.5),
        affected,
        0.5,
    )


def test_a_round_that_was_not_told_of_is_not_observed():
    assert NEAR.observe(1, 0.0, None, None) == (None, False)
    assert START.observe(1, 0.0, None, None)[0] is None


def test_one_error_family_serves_games_and_the_controller():
    from surefoot import SurefootError, controller, games

    assert games.PremiseError is controller.PremiseError
    assert games.PremiseWarning is controller.PremiseWarning
    assert games.Breach is controller.Breach
    assert issubclass(games.PremiseError, (SurefootError, ValueError))
