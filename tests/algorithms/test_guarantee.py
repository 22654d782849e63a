"""What every guarantee says of itself, and how one is put together with its algorithm."""

import math

import numpy as np
import pytest

from surefoot import PFS, Ball, Constants, Tuned
from surefoot.algorithms import EveryRound, NoClaim, Premise, Summed

KNOWN = Constants(R=2.0, G_f=3.0, G_g=1.5)


class Small(Summed):
    """A promise about the sum of g, in as few lines as there can be."""

    name, kind, regret_exponent, violation_exponent = "small", "cumulative", 0.5, 0.5
    horizon = 25

    def regret_bound(self, t):
        return np.sqrt(t)

    def bounds(self, t):
        return {"soft": np.sqrt(t)}


class Safe(EveryRound):
    """A promise about every round, likewise."""

    name, regret_exponent, premises = "safe", None, ()
    horizon = None

    def regret_bound(self, t):
        return np.sqrt(t)


def test_a_promise_about_every_round_needs_a_name_and_a_regret_bound_alone():
    assert str(Safe(KNOWN)) == "safe for any number of rounds (every round)"
    assert Safe(KNOWN).bounds([1, 2])["round"].tolist() == [0.0, 0.0]
    assert (Safe(KNOWN).first_feasible, Safe(KNOWN).changing, Safe(KNOWN).constraint_form) == (
        1,
        False,
        "convex",
    )


def test_a_promise_about_sums_rests_on_both_slopes_and_the_horizon():
    assert Small(KNOWN).first_feasible == math.inf
    assert Small(KNOWN).premises == (
        Premise("cost gradient", "G_f", 3.0),
        Premise("constraint subgradient", "G_g", 1.5),
        Premise("horizon", "the horizon", 25),
    )


def test_no_claim_promises_nothing_and_rests_on_nothing():
    promise = NoClaim(KNOWN, 100)
    assert (promise.kind, promise.bounds(100), promise.premises) == ("none", {}, ())
    assert promise.regret_bound([1, 2]).tolist() == [math.inf, math.inf]
    assert promise.first_feasible == math.inf
    assert NoClaim(KNOWN, name="mine").name == "mine"


@pytest.mark.parametrize(("domain", "radius"), [(None, 2.0), (Ball(0.5), 0.5)])
def test_an_algorithm_of_a_theorem_gets_the_ball_of_its_constants_unless_told_another(
    domain, radius
):
    made = Tuned.of(PFS, NoClaim(KNOWN), domain, eta=0.1, rho=0.2)
    assert made.algorithm == PFS(eta=0.1, rho=0.2, domain=Ball(radius))
    assert made.guarantee == NoClaim(KNOWN)
