"""What every guarantee says of itself, and how one is put together with its algorithm."""

import math

import numpy as np
import pytest

from surefoot import PFS, Ball, Constants, Tuned
from surefoot.core.parameters import nonnegative
from surefoot.guarantees import EveryRound, KnownHorizon, NoClaim, Premise, Summed

KNOWN = Constants(R=2.0, G_f=3.0, G_g=1.5)


class Small(Summed):
    """A promise about the sum of g, in as few lines as there can be."""

    name, kind, regret_exponent, violation_exponent = "small", "cumulative", 0.5, 0.5
    horizon = 25

    def regret_bound(self, t):
        return np.sqrt(t)

    def bounds(self, t):
        return {"positive_sum": np.sqrt(t)}


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


class Slow(KnownHorizon, Small):
    """A theorem that needs more than its base, and chooses a step."""

    needed = ("sigma",)
    rho: float = nonnegative(default=0.25)

    @property
    def eta(self):
        return 1 / self.horizon


class Slower(Slow):
    """Needs one more."""

    needed = ("D_g",)


FULL = Constants(R=2.0, G_f=3.0, G_g=1.5, sigma=1.0, epsilon=0.5)


def test_a_theorem_needs_what_its_bases_need_and_what_it_adds():
    with pytest.raises(
        ValueError, match=r"^small needs sigma and D_g, which are unknown: give them$"
    ):
        Slower(KNOWN, 10)
    with pytest.raises(ValueError, match=r"^small needs D_g, which is unknown: give it$"):
        Slower(FULL, 10)


def test_the_parameters_of_a_theorem_are_checked_by_their_declarations():
    with pytest.raises(ValueError, match="horizon must be a whole number of rounds >= 1, got 0"):
        Slow(FULL, 0)
    with pytest.raises(ValueError, match="rho must be a finite number >= 0, got -1"):
        Slow(FULL, 10, rho=-1.0)
    with pytest.raises(TypeError, match=r"constants must be a surefoot\.Constants"):
        Slow({"R": 1.0}, 10)


def test_a_rule_gets_the_parameters_that_its_theorem_has_under_their_names():
    made = Tuned.of(PFS, Slow(FULL, 10))
    assert made.algorithm == PFS(eta=0.1, rho=0.25, domain=Ball(2.0))
    assert Tuned.of(PFS, Slow(FULL, 10), rho=0.5).algorithm.rho == 0.5


def test_a_bound_that_every_rule_has_is_called_trivial():
    toy = Constants(
        R=1.0, G_f=14.5, G_g=1.0, sigma=0.5**0.5, epsilon=0.25, start_slack=0.5, start_reach=1.0
    )
    # Corollary 1 grows as sqrt(T), 2 R G_f T = 29 T faster: it is below from some T on.
    theorem = PFS.anytime(toy, 100).guarantee
    share = float(theorem.regret_bound(100)) / 2_900
    assert share > 1
    first = round(100 * share**2)
    assert theorem.describe_worth(100) == f"trivial up to about T = {first}"
    assert PFS.anytime(toy, 2 * first).guarantee.describe_worth(2 * first) == ""
    # Where nothing is promised in advance, nothing is called trivial.
    assert NoClaim(Constants(R=1.0)).describe_worth(10) == "none in advance"
