from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pytest

from surefoot import OGD, PFS, Ball, Constants, Feedback, play
from surefoot.core.types import Info, Needs
from surefoot.problems import adversarial_cube
from surefoot.problems.constraints import Affine, shift
from surefoot.rules import (
    DPP,
    DriftPlusPenalty,
    ScalarDPP,
    SinhaVaze,
    StrongSinhaVaze,
    Tighten,
    Tightened,
)

SCALAR = ScalarDPP(V=2.0, alpha=5.0, domain=Ball(1.0))
X = np.array([0.1, -0.5])
KNOWN = Constants(
    R=1.0, G_f=1.5, G_g=1.0, D_g=1.25, sigma=0.75, epsilon=0.25, start_slack=0.5, start_reach=1.0
)


class ListenerState(NamedTuple):
    x: np.ndarray
    heard: tuple


@dataclass(frozen=True)
class Listener:
    """A base that stays where it is and keeps what it is told."""

    def init(self, x1):
        return ListenerState(x1, ())

    def step(self, state, feedback):
        return ListenerState(state.x, (*state.heard, feedback)), Info()


@pytest.mark.parametrize("rho", [0.0, 0.1, 2.5, 1e-300])
@pytest.mark.parametrize(
    "g", [-0.75, 0.3, np.array([0.1, -7.0, 0.0]), np.array([[0.1], [-3.0]]), np.full((2, 3), 0.7)]
)
def test_the_base_is_told_the_value_and_rho_and_everything_else_as_it_is(g, rho):
    player = Tighten(base=Listener(), rho=rho)
    seen = Feedback(np.array([1.0, -2.0]), g, np.array([3.0, 0.5]), cost_value=0.7)
    state = player.init(X)
    for _ in range(3):
        state = player.update(state, seen)
    assert len(state.heard) == 3
    for told in state.heard:
        assert np.array_equal(told.constraint_value, np.asarray(g) + rho)
        assert told.cost_gradient is seen.cost_gradient
        assert told.constraint_subgradient is seen.constraint_subgradient
        assert told.cost_value == 0.7


@pytest.mark.parametrize("rho", [0.125, 0.3])
def test_it_plays_as_the_base_does_with_the_shifted_constraint(rho):
    problem = adversarial_cube("corners", horizon=200)
    shifted = replace(problem, constraint=shift(problem.constraint, rho))
    a = play(Tighten(base=SCALAR, rho=rho), problem, engine="loop")
    b = play(SCALAR, shifted, engine="loop")
    assert np.array_equal(a.actions, b.actions)
    # The tightened constraint less the plain one is rho at every call, to the rounding of g + rho.
    assert np.array_equal(b.constraint, a.constraint + rho)


def test_every_row_is_tightened():
    problem = adversarial_cube("corners", horizon=200)
    rows = Affine([[1.0, 0.0], [0.0, 2.0], [-1.0, 0.0], [0.0, -1.0]], [0.5, 1.0, 0.25, 0.5])
    base = DPP(V=2.0, alpha=5.0, rows=4, domain=Ball(1.0))
    a = play(Tighten(base=base, rho=0.125), replace(problem, constraint=rows), engine="loop")
    b = play(base, replace(problem, constraint=shift(rows, 0.125)), engine="loop")
    assert np.array_equal(a.actions, b.actions)


@pytest.mark.parametrize("base", [SCALAR, PFS(eta=0.1, rho=0.0, domain=Ball(1.0))])
def test_no_tightening_is_the_base_to_the_last_bit(base):
    problem = adversarial_cube("uncut", horizon=100)
    a, b = play(Tighten(base=base, rho=0.0), problem), play(base, problem)
    assert np.array_equal(a.actions, b.actions)


def test_tightening_pfs_is_its_own_rho():
    problem = adversarial_cube("out", horizon=100)
    around = {"eta": 0.1, "domain": problem.domain}
    a = play(Tighten(base=PFS(rho=0.0, **around), rho=0.1), problem)
    b = play(PFS(rho=0.1, **around), problem)
    assert a.actions == pytest.approx(b.actions, abs=1e-14)


def test_it_asks_for_what_its_base_asks_for():
    many = DPP(V=2.0, alpha=5.0, rows=3, domain=Ball(1.0))
    assert Tighten(base=many, rho=0.1).needs == many.needs
    assert Tighten(base=many, rho=0.1).needs.separately
    assert Tighten(base=Listener(), rho=0.1).needs == Needs()


def test_tightening_twice_adds_up():
    twice = Tighten(base=Tighten(base=Listener(), rho=0.25), rho=0.5)
    state = twice.update(twice.init(X), Feedback(X, -0.5, X))
    assert state.heard[0].constraint_value == 0.25


def test_tuned_is_dpp_with_one_queue_and_its_guarantee_tightened():
    player, guarantee = Tighten.tuned(KNOWN, 10_000)
    assert isinstance(guarantee, Tightened)
    assert isinstance(guarantee.base, DriftPlusPenalty)
    assert player == Tighten(
        base=ScalarDPP(V=100.0, alpha=10_000.0, domain=Ball(1.0)), rho=guarantee.rho
    )
    assert guarantee.bounds(10_000) == {"positive_sum": 0.0}


def test_tuned_takes_no_more_than_a_few_hundredths_more_than_it_has_to():
    guarantee = Tighten.tuned(KNOWN, 100_000).guarantee
    assert guarantee.rho <= guarantee.room <= 1.03 * guarantee.rho
    # The base tuned for exactly rho needs as much as rho, so less cannot be had from it.
    at_rho = DriftPlusPenalty(KNOWN.with_origin("given", D_g=1.25 + guarantee.rho), 100_000)
    assert guarantee.rho <= float(at_rho.bounds(100_000)["positive_sum"]) / 100_000 * 1.2


def test_a_longer_game_needs_less_tightening():
    rhos = [Tighten.tuned(KNOWN, T).algorithm.rho for T in (10_000, 40_000, 10**8)]
    assert rhos[0] > 1.9 * rhos[1] > 1.9 * rhos[2]
    # rho sqrt T settles as less and less of the slack is taken.
    assert rhos[2] * 1e4 == pytest.approx(rhos[1] * 200, rel=0.2)


def test_tuned_hands_domain_and_options_to_the_base():
    around = Ball(1.0, [0.25, 0.0])
    player, guarantee = Tighten.tuned(KNOWN, 10**6, around, base=ScalarDPP.windows, V=9.0, window=2)
    assert player.base.domain == around
    assert player.base.V == guarantee.base.V == 9.0
    assert Tighten.tuned(KNOWN, 10**7, base=SinhaVaze.convex).guarantee.base.kind == "sum_positive"


@pytest.mark.parametrize("share", [0.25, 0.5, 0.9])
def test_too_short_a_horizon_is_told_which_is_long_enough(share):
    with pytest.raises(ValueError, match=r"horizon must be at least \d+ rounds for Yu") as error:
        Tighten.tuned(KNOWN, 10, share=share)
    enough = int(str(error.value).split("at least ")[1].split()[0])
    assert Tighten.tuned(KNOWN, enough, share=share).algorithm.rho <= share * 0.5
    with pytest.raises(ValueError, match=f"at least {enough} rounds .* got {enough - 1}$"):
        Tighten.tuned(KNOWN, enough - 1, share=share)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, float("nan")])
def test_a_bad_share_is_named(share):
    with pytest.raises(ValueError, match=f"share must be strictly between 0 and 1, got {share}"):
        Tighten.tuned(KNOWN, 10_000, share=share)


@pytest.mark.parametrize("slack", [None, 0.0, -0.25])
def test_no_slack_to_take_is_said(slack):
    flat = Constants(R=1.0, G_f=1.5, G_g=1.0, D_g=1.25, start_slack=slack)
    with pytest.raises(ValueError, match="tightening needs a point with g < 0: start_slack or eps"):
        Tighten.tuned(flat, 10_000)


def test_a_base_that_lacks_a_constant_says_so_itself():
    with pytest.raises(ValueError, match="strongly convex needs strong_convexity, which"):
        Tighten.tuned(KNOWN, 10_000, base=StrongSinhaVaze.strongly_convex)


@pytest.mark.parametrize("rho", [-0.1, float("inf"), "0.1"])
def test_a_bad_rho_is_named(rho):
    with pytest.raises(ValueError, match=f"rho must be a finite number >= 0, got {rho!r}"):
        Tighten(base=SCALAR, rho=rho)


@pytest.mark.parametrize("base", [ScalarDPP, None, 3.0, Ball(1.0)])
def test_a_base_that_is_no_algorithm_is_refused(base):
    with pytest.raises(ValueError, match="base must be an algorithm with init and step, got"):
        Tighten(base=base, rho=0.1)


def test_a_base_that_does_not_ask_for_the_constraint_is_refused():
    with pytest.raises(ValueError, match="base must ask for the value of the constraint, got OGD"):
        Tighten(base=OGD(eta=0.1, domain=Ball(1.0)), rho=0.1)
