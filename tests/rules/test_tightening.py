"""Tightening: the corrected Appendix A, for bases that bound sums of any measure."""

import math
from dataclasses import replace

import numpy as np
import pytest

from surefoot import Constants, play
from surefoot.guarantees import Guarantee, Premise
from surefoot.problems import ADVERSARIES, adversarial_cube
from surefoot.rules import (
    DPP,
    DriftPlusPenalty,
    Jenatton,
    Mahdavi,
    MahdaviLinear,
    ScalarDPP,
    SinhaVaze,
    Tighten,
    Tightened,
    Yuan,
    tightened_constants,
)

from ._held import stream, with_rows
from ._slack import slack

KNOWN = Constants(
    R=1.5, G_f=7.0, G_g=2.0, D_g=4.0, sigma=1.25, epsilon=0.5, start_slack=0.25, start_reach=2.5
)


class Promise(Guarantee):
    """A base that promises given multiples of sqrt t."""

    horizon: int | None
    sums: tuple[tuple[str, float], ...]
    rows: float | None = None
    exponents: tuple[float | None, float | None] = (0.5, 0.5)
    kind: str = "cumulative"
    name: str = "a promise"
    premises: tuple[Premise, ...] = ()

    def regret_bound(self, t):
        return 3.0 * np.sqrt(t)

    def bounds(self, t):
        found = {measure: scale * np.sqrt(t) for measure, scale in self.sums}
        if self.rows is not None:
            found["rows"] = self.rows * np.sqrt(t)
        return found | {"round": np.full_like(np.asarray(t, dtype=float), 0.75)}

    @property
    def regret_exponent(self):
        return self.exponents[0]

    @property
    def violation_exponent(self):
        return self.exponents[1]


def promise(T=100, room=0.2, **fields):
    fields = {"sums": (("positive_sum", 1.5),)} | fields
    return Promise(tightened_constants(KNOWN, room), T, **fields)


def test_constants_of_a_tightened_problem():
    seen = tightened_constants(KNOWN, 0.125)
    assert (seen.D_g, seen.start_slack, seen.epsilon, seen.sigma) == (4.125, 0.125, 0.375, 1.25)
    assert (seen.R, seen.G_f, seen.G_g, seen.start_reach) == (1.5, 7.0, 2.0, 2.5)
    assert seen.origins["D_g"] == "derived"
    assert seen.origins["G_f"] == "given"


def test_tightening_beyond_epsilon_leaves_no_sigma_and_a_start_outside():
    seen = tightened_constants(KNOWN, 0.5)
    assert (seen.epsilon, seen.sigma, seen.start_slack) == (None, None, -0.25)


def test_constants_that_are_not_known_stay_unknown():
    assert tightened_constants(Constants(R=1.0, G_f=3.0), 0.5) == Constants(R=1.0, G_f=3.0)


def test_rho_is_the_bound_spread_over_the_rounds():
    bound = Tightened(KNOWN, 100, promise())
    assert bound.rho == pytest.approx(1.5 * 10 / 100, rel=1e-14)
    assert bound.room == pytest.approx(0.2, rel=1e-14)
    assert bound.bounds(100)["positive_sum"] == 0
    # 1.5 sqrt 25 - 0.15 * 25
    assert bound.bounds([25])["positive_sum"] == pytest.approx([3.75], rel=1e-13)


def test_the_regret_bound_has_the_lipschitz_constant_of_the_costs():
    # The paper prints G_g here. 1/sigma = 0.8 is less than start_reach/start_slack = 10.
    bound = Tightened(KNOWN, 100, promise())
    assert bound.tightening_cost == 0.8
    assert bound.regret_bound(100) == pytest.approx(30 + 7 * 0.15 * 0.8 * 100, rel=1e-13)


def test_the_start_may_say_what_tightening_costs():
    near = replace(KNOWN, start_reach=0.125, sigma=None, epsilon=None)
    base = Promise(tightened_constants(near, 0.2), 100, (("positive_sum", 1.5),))
    assert Tightened(near, 100, base).tightening_cost == 0.5
    both = replace(KNOWN, start_reach=0.125)
    assert Tightened(both, 100, promise()).tightening_cost == 0.5


def test_sigma_at_a_level_below_rho_says_nothing_of_what_tightening_costs():
    shallow = replace(KNOWN, epsilon=0.1)  # rho is 0.15; 1/sigma = 0.8 would be less
    base = Promise(tightened_constants(shallow, 0.2), 100, (("positive_sum", 1.5),))
    assert Tightened(shallow, 100, base).tightening_cost == 10.0


def test_a_slack_below_rho_says_nothing_of_what_tightening_costs():
    flat = replace(KNOWN, sigma=None, epsilon=0.5, start_slack=0.1)
    base = Promise(tightened_constants(flat, 0.2), 100, (("positive_sum", 1.5),))
    with pytest.raises(ValueError, match=r"needs sigma with epsilon >= 0.15, or a start_slack of "):
        Tightened(flat, 100, base)


@pytest.mark.parametrize(
    ("sums", "rows", "expected"),
    [
        ((("positive_sum", 1.5),), None, 0.15),
        ((("sum_positive", 1.25),), None, 0.125),
        ((("positive_sum", 1.5), ("sum_positive", 1.75)), None, 0.15),
        # sqrt(t c sqrt t) = sqrt(100 * 0.2 * 10)
        ((("sum_squared", 0.2),), None, math.sqrt(200) / 100),
        ((("sum_positive", 1.75), ("sum_squared", 0.2)), None, math.sqrt(200) / 100),
        ((), 1.0, 0.1),
        ((("positive_sum", 1.5),), 1.0, 0.15),
    ],
)
def test_the_smallest_bound_on_the_sum_counts(sums, rows, expected):
    bound = Tightened(KNOWN, 100, promise(sums=sums, rows=rows))
    assert bound.rho == pytest.approx(expected, rel=1e-13)
    assert bound.bounds(100)["positive_sum" if sums else "rows"] == 0


def test_what_the_base_promises_of_hard_and_squared_sums_stays():
    bound = Tightened(KNOWN, 100, promise(sums=(("sum_positive", 1.5), ("sum_squared", 2.0))))
    sums = bound.bounds(100)
    del sums["round"]
    assert sums == {"positive_sum": 0.0, "sum_positive": 15.0, "sum_squared": 20.0}
    assert bound.bounds([3, 4])["round"] == pytest.approx([0.6, 0.6], rel=1e-14)


def test_a_base_that_bounds_each_row_leaves_a_promise_for_each_row():
    bound = Tightened(KNOWN, 100, promise(sums=(), rows=1.0))
    assert bound.bounds(100).keys() == {"round", "rows"}
    assert bound.bounds([25, 100])["rows"] == pytest.approx([2.5, 0.0], abs=1e-12)


def test_a_base_without_a_bound_on_sums_is_refused():
    with pytest.raises(ValueError, match="base must bound a sum of g over the rounds, got a prom"):
        Tightened(KNOWN, 100, promise(sums=()))


@pytest.mark.parametrize(
    ("exponents", "kind", "expected"),
    [
        ((0.5, 0.5), "cumulative", 0.5),
        ((0.5, 0.75), "cumulative", 0.75),
        ((2 / 3, None), "sum_positive", 2 / 3),
        ((0.5, 0.5), "sum_squared", 0.75),
        ((None, 0.5), "cumulative", None),
    ],
)
def test_the_regret_grows_as_fast_as_the_faster_of_the_bases_bounds(exponents, kind, expected):
    bound = Tightened(KNOWN, 100, promise(exponents=exponents, kind=kind))
    assert bound.regret_exponent == expected
    assert bound.violation_exponent is None


def test_premises_are_said_of_the_constraint_itself():
    base = promise(
        premises=(
            Premise("cost gradient", "G_f", 7.0),
            Premise("start", "the slack counted on", 0.05),
            Premise("subgradient near the boundary", "sigma", 1.25, level=0.3),
        )
    )
    seen = Tightened(KNOWN, 100, base).premises
    assert [p.limit for p in seen] == pytest.approx([7.0, 0.2, 1.25], rel=1e-14)
    assert [p.level for p in seen] == pytest.approx([0.0, 0.0, 0.45], rel=1e-14)


def test_too_short_a_horizon_is_told_which_is_long_enough():
    # 1.5 sqrt T <= 0.2 T from T = 56.25 on.
    sentence = (
        r"horizon must be at least 57 rounds for a promise, tightened: it has to tighten by "
        r"0.237, more than the 0.2 that the base allows for, got 40"
    )
    with pytest.raises(ValueError, match=sentence):
        Tightened(KNOWN, 40, promise(40))
    assert Tightened(KNOWN, 57, promise(57)).rho <= 0.2
    with pytest.raises(ValueError, match="at least 57"):
        Tightened(KNOWN, 56, promise(56))


def test_a_base_for_any_horizon_is_told_too():
    assert Tightened(KNOWN, 57, promise(None)).horizon == 57
    with pytest.raises(ValueError, match="at least 57"):
        Tightened(KNOWN, 7, promise(None))


def test_a_bound_that_grows_with_t_is_never_enough():
    class Linear(Promise):
        def bounds(self, t):
            return {"positive_sum": 0.5 * np.asarray(t, dtype=float)}

    base = Linear(tightened_constants(KNOWN, 0.2), 40, ())
    with pytest.raises(ValueError, match=r"horizon must be more than 2\^64 rounds for a promise"):
        Tightened(KNOWN, 40, base)


def test_a_guarantee_that_cannot_be_retuned_is_still_refused_in_a_sentence():
    class Rigid(Guarantee):
        name, kind, premises = "mine", "cumulative", ()
        horizon = 40
        regret_exponent = violation_exponent = 0.5

        def regret_bound(self, t):
            return t

        def bounds(self, t):
            return {"positive_sum": np.asarray(20.0)}

    with pytest.raises(ValueError, match="horizon must be larger for mine, tightened"):
        Tightened(KNOWN, 40, Rigid(tightened_constants(KNOWN, 0.2)))


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="base must be tuned for the horizon 99, got one for 100"):
        Tightened(KNOWN, 99, promise(100))
    with pytest.raises(ValueError, match="base must be a Guarantee, got <class"):
        Tightened(KNOWN, 100, DriftPlusPenalty)
    with pytest.raises(ValueError, match="horizon must be a whole number of rounds >= 1, got 0"):
        Tightened(KNOWN, 0, promise(100))
    with pytest.raises(ValueError, match=r"rho must be a finite number >= 0, got -0\.1"):
        tightened_constants(KNOWN, -0.1)
    with pytest.raises(ValueError, match="a promise, tightened needs G_f, which is unknown"):
        Tightened(replace(KNOWN, G_f=None), 100, promise(100))


def test_it_says_what_it_is():
    bound = Tightened(KNOWN, 100, promise())
    assert str(bound) == "a promise, tightened for T = 100 (cumulative)"


def test_the_base_is_tuned_for_the_slack_that_is_left():
    # A base tuned for the problem itself leaves no room, however long the game.
    with pytest.raises(ValueError, match=r"base must be tuned for tightened constants: .* got 0$"):
        Tightened(KNOWN, 10**9, DriftPlusPenalty(KNOWN, 10**9))


# Each sum of g bounded in its own way: of the maximum, of each row, of [g]_+, of [g]_+^2.
BASES = {
    "DPP with one queue": (ScalarDPP.tuned, False),
    "DPP with four queues": (DPP.tuned, True),
    "Mahdavi": (Mahdavi.balanced, True),
    "Mahdavi, linear": (MahdaviLinear.balanced, True),
    "Jenatton": (Jenatton.trade_off, False),
    "Yuan": (Yuan.trade_off, False),
}


def mild(adversary, horizon, separately):
    """Costs so small, and a cube so large, that a few thousand rounds are enough."""
    cube = adversarial_cube(adversary, horizon=horizon, radius=1.0, size=0.2)
    return with_rows(cube) if separately else cube


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("name", BASES)
@pytest.mark.slow
def test_the_sum_of_g_is_at_most_0_whatever_the_base(name, adversary):
    base, separately = BASES[name]
    problem = mild(adversary, 3_000, separately)
    tuned = Tighten.tuned(problem.constants, 3_000, base=base, share=0.7)
    trace = play(tuned, problem, watch="raise")
    found = slack(trace)
    found.pop("rows", None)  # the base may promise each row, and not their norm
    assert max(found.values()) <= 1
    g, _ = problem.constraint.query_all(trace.actions)
    assert (g.sum(axis=0) <= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("adversary", [a for a in ADVERSARIES if a != "out"])  # as above
@pytest.mark.parametrize("name", ["one queue", "two queues a dimension", "Sinha-Vaze"])
def test_the_sum_of_g_is_at_most_0_in_long_games(name, adversary):
    base, separately, T = {  # hardly more rounds than the tightening asks for
        "one queue": (ScalarDPP.tuned, False, 10_000),
        "two queues a dimension": (DPP.tuned, True, 23_000),
        "Sinha-Vaze": (SinhaVaze.convex, False, 17_000),
    }[name]
    problem = (
        mild(adversary, T, separately)
        if name == "Sinha-Vaze"
        else stream(adversary, T, separately=separately)
    )
    tuned = Tighten.tuned(problem.constants, T, base=base, share=0.7)
    trace = play(tuned, problem, watch="raise")
    found = slack(trace)
    found.pop("rows", None)
    assert max(found.values()) <= 1
    g, _ = problem.constraint.query_all(trace.actions)
    assert (g.sum(axis=0) <= 0).all()
