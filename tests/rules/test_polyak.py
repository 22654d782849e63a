import copy
import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from surefoot import Constants
from surefoot.rules import Corollary1, Corollary2, Corollary3, Theorem1

NAN, INF = float("nan"), float("inf")
# Lopsided on purpose: no two constants are equal, and xi = 1 - sqrt(1 - 0.36) = 0.2 exactly.
FULL = {"R": 1.5, "G_f": 7.0, "G_g": 2.5, "sigma": 1.5, "epsilon": 0.4, "start_slack": 0.3}
KNOWN = Constants(**FULL)
XI = 0.2
COROLLARIES = [Corollary1, Corollary2, Corollary3]


def without(*names):
    return Constants(**{k: v for k, v in FULL.items() if k not in names})


def refused(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)) as error:
        call()
    assert str(error.value) == sentence


def test_theorem_1_by_hand():
    theorem = Theorem1(KNOWN, eta=0.01, rho=0.35)
    # 2 * 2.25 / 0.01 + 0.005 * 49 * 10 + 7 * 0.35 / 1.5 * 10 = 450 + 2.45 + 16.3333...
    assert theorem.regret_bound(10) == pytest.approx(468.78333333, rel=1e-9)
    assert theorem.drift == pytest.approx(0.01 * 2.5 * 7 / 0.2)
    # dist(x_1, X_rho) <= (0.35 - 0.3) / 1.5, and gamma = 0.64.
    assert theorem.start_distance == pytest.approx(1 / 30)
    assert theorem.bounds(3)["round"] == pytest.approx(2.5 * 0.64 / 30 + 0.875 - 0.35)


def test_the_bounds_take_arrays_of_rounds():
    theorem = Theorem1(KNOWN, eta=0.001, rho=0.35)
    rounds = np.array([1, 5, 10])
    for bound in (theorem.regret_bound, lambda t: theorem.bounds(t)["round"]):
        assert bound(rounds).tolist() == [float(bound(t)) for t in (1, 5, 10)]
        assert bound(rounds).shape == (3,)


@pytest.mark.parametrize(
    ("eta", "rho", "kind", "first"),
    [
        (0.001, 0.3, "every round", 1),  # drift 0.0875, and the start's slack is rho
        (0.001, 0.1, "every round", 1),
        (0.001, 0.35, "every round", 1),  # 2.5 * 0.05 / 1.5 = 0.083 is below 0.35 - 0.0875
        (0.0035, 0.35, "after t0", 4),  # room 0.04375: 0.8^(t - 1) * 0.08333 <= 0.04375
        (0.005, 0.1, "bounded", INF),  # drift 0.4375
    ],
)
def test_the_kind_follows_from_the_parameters(eta, rho, kind, first):
    theorem = Theorem1(KNOWN, eta=eta, rho=rho)
    assert theorem.kind == kind
    assert theorem.first_feasible == first


@given(st.floats(1e-5, 0.004), st.floats(0.05, 0.4), st.floats(-1.0, 0.4))
def test_the_first_feasible_round_is_where_the_bound_reaches_0(eta, rho, slack):
    theorem = Theorem1(Constants(**FULL | {"start_slack": slack}), eta=eta, rho=rho)
    first = theorem.first_feasible
    if first == INF:
        assert theorem.bounds(1e6)["round"] > -1e-12
        return
    # One unit of rounding in the logarithm can move a round by no more than this.
    assert theorem.bounds(first)["round"] <= 1e-12
    if first > 1:
        assert theorem.bounds(first - 1)["round"] > -1e-12


def test_an_excess_that_only_fades_is_bounded():
    known = Constants(**FULL | {"start_slack": 0.0})
    theorem = Theorem1(known, eta=XI * 0.25 / 17.5, rho=0.25)
    assert theorem.drift == 0.25
    assert theorem.kind == "bounded"
    assert theorem.first_feasible == INF
    # With gamma = 0 it does not fade, it is gone after one round.
    at_once = Constants(R=1.0, G_f=1.0, G_g=1.0, sigma=1.0, epsilon=0.5, start_slack=0.125)
    theorem = Theorem1(at_once, eta=0.25, rho=0.25)
    assert theorem.kind == "after t0"
    assert theorem.first_feasible == 2
    assert theorem.bounds(np.array([1, 2]))["round"].tolist() == [0.125, 0.0]


@pytest.mark.parametrize("sigma", [1e-3, 1e-9, 1e-12])
def test_a_contraction_too_slow_for_a_float_still_comes_to_an_end(sigma):
    known = Constants(R=1.0, G_f=1.0, G_g=1.0, sigma=sigma, epsilon=0.5, start_slack=0.0)
    theorem = Theorem1(known, eta=0.05 * known.xi, rho=0.1)
    # 2R sqrt(gamma)^(t-1) <= 0.05, and log(gamma) = -sigma^2 as nearly as a float can be.
    t0 = 1 + 2 * math.log(40) / sigma**2
    assert theorem.first_feasible == pytest.approx(t0, rel=2 * sigma**2 + 1e-14, abs=1)
    assert theorem.bounds(theorem.first_feasible)["round"] == pytest.approx(0.0, abs=1e-6)


def test_nothing_known_of_the_start_is_the_whole_ball_away():
    theorem = Theorem1(without("start_slack"), eta=0.001, rho=0.2)
    assert theorem.start_distance == 3.0
    assert theorem.kind == "after t0"


def test_a_start_outside_counts_with_its_distance():
    known = Constants(**FULL | {"start_slack": -0.6})
    assert Theorem1(known, eta=0.001, rho=0.15).start_distance == pytest.approx(0.5)
    far = Constants(**FULL | {"start_slack": -100.0})
    assert Theorem1(far, eta=0.001, rho=0.15).start_distance == 3.0


def test_a_better_cost_of_tightening_lowers_the_regret_bound_alone():
    plain = Theorem1(KNOWN, eta=0.01, rho=0.35)
    better = Theorem1(KNOWN, eta=0.01, rho=0.35, tightening_cost=0.1)
    assert better.regret_bound(10) == pytest.approx(450 + 2.45 + 7 * 0.35 * 0.1 * 10)
    assert better.bounds(4)["round"] == plain.bounds(4)["round"]


@pytest.mark.parametrize("T", [1, 16, 20_000])
def test_corollary_1_is_its_printed_formula(T):
    R, G_f, G_g, sigma, alpha = 1.5, 7.0, 2.5, 1.5, 0.3
    found = Corollary1(KNOWN, T)
    assert found.rho == pytest.approx(alpha / math.sqrt(T), rel=1e-15)
    # The step is shorter by 1e-9, so that resting on the boundary survives rounding.
    assert found.eta == pytest.approx(XI * found.rho / (G_f * G_g), rel=1.1e-9)
    assert found.eta < XI * found.rho / (G_f * G_g)
    printed = (
        2 * G_f * G_g * R**2 / (XI * alpha) + G_f * XI * alpha / (2 * G_g) + G_f * alpha / sigma
    ) * math.sqrt(T)
    assert found.regret_bound(T) == pytest.approx(printed, rel=1.1e-9)
    assert found.kind == "every round"
    assert not found.bounds(np.arange(1, 100))["round"].any()


def test_corollary_1_uses_no_more_slack_than_epsilon():
    assert Corollary1(Constants(**FULL | {"start_slack": 5.0}), 4).rho == 0.2


@pytest.mark.parametrize("T", [1, 16, 20_000])
def test_corollary_2_is_its_corrected_formula(T):
    R, G_f, G_g, sigma, epsilon = 1.5, 7.0, 2.5, 1.5, 0.4
    found = Corollary2(without("start_slack"), T)
    assert found.rho == pytest.approx(epsilon / math.sqrt(T), rel=1e-15)
    assert found.eta == pytest.approx(XI * epsilon / (2 * G_f * G_g * math.sqrt(T)), rel=1e-14)
    corrected = (
        4 * G_f * G_g * R**2 / (XI * epsilon)
        + G_f * XI * epsilon / (4 * G_g)
        + G_f * epsilon / sigma
    ) * math.sqrt(T)
    assert found.regret_bound(T) == pytest.approx(corrected, rel=1e-14)
    assert found.kind == "after t0"
    t0 = 1 + 2 * G_g**2 / sigma**2 * math.log(4 * G_g * R * math.sqrt(T) / epsilon)
    assert t0 <= found.first_feasible < t0 + 1
    assert found.bounds(found.first_feasible)["round"] <= 0
    assert found.theorem.first_feasible <= found.first_feasible


def test_corollary_2_promises_the_sum_once_the_horizon_is_long_enough():
    # sqrt(T) >= 4 * 1.5 * 2.5 / (0.4 * 0.2) = 187.5
    assert not Corollary2(KNOWN, 187**2).is_cumulative
    assert Corollary2(KNOWN, 188**2).is_cumulative
    long = Corollary2(KNOWN, 188**2).bounds
    assert long(188**2)["positive_sum"] == 0
    assert "positive_sum" not in long(188**2 - 1)  # the sum may be above 0 on the way


@pytest.mark.parametrize("T", [1, 16, 20_000])
def test_corollary_3_is_its_printed_formula(T):
    R, G_f, G_g, sigma = 1.5, 7.0, 2.5, 1.5
    found = Corollary3(without("start_slack"), T)
    assert found.rho == 0.0
    assert found.eta == pytest.approx(2 * R / (G_f * math.sqrt(T)), rel=1e-15)
    assert found.regret_bound(T) == pytest.approx(2 * R * G_f * math.sqrt(T), rel=1e-14)
    assert found.kind == "bounded"
    t = np.arange(1, 50)
    printed = 2 * R * G_g * np.exp(-(sigma**2) * (t - 1) / (2 * G_g**2)) + 2 * R * G_g / (
        XI * math.sqrt(T)
    )
    # The exponential is a bound on gamma^((t-1)/2), so Theorem 1's own is sharper.
    assert (found.bounds(t)["round"] <= printed * (1 + 1e-14)).all()
    assert found.bounds(1)["round"] == pytest.approx(printed[0], rel=1e-14)


@pytest.mark.parametrize("corollary", COROLLARIES)
def test_a_corollary_is_theorem_1_in_every_round(corollary):
    found = corollary(KNOWN, 100)
    theorem = Theorem1(KNOWN, found.eta, found.rho, horizon=100)
    rounds = np.array([1, 7, 100])
    assert found.theorem == theorem
    assert found.regret_bound(rounds).tolist() == theorem.regret_bound(rounds).tolist()
    assert found.bounds(rounds)["round"].tolist() == theorem.bounds(rounds)["round"].tolist()
    assert found.premises == theorem.premises


@pytest.mark.parametrize(
    ("guarantee", "sentence"),
    [
        (Corollary1(KNOWN, 50), "Corollary 1 for T = 50 (every round)"),
        (Corollary2(without("start_slack"), 50), "Corollary 2 (corrected) for T = 50 (after t0)"),
        (Corollary3(KNOWN, 50), "Corollary 3 for T = 50 (bounded)"),
        (Theorem1(KNOWN, 0.001, 0.1), "Theorem 1 for any number of rounds (every round)"),
    ],
)
def test_a_guarantee_says_what_it_is(guarantee, sentence):
    assert str(guarantee) == sentence


def test_premises_are_the_constants_the_bounds_use():
    found = {p.quantity: p for p in Corollary1(KNOWN, 9).premises}
    assert {q: p.limit for q, p in found.items()} == {
        "cost gradient": 7.0,
        "constraint subgradient": 2.5,
        "subgradient near the boundary": 1.5,
        "start": pytest.approx(0.1),  # rho: more slack is not counted on
        "horizon": 9,
    }
    assert found["subgradient near the boundary"].level == 0.4
    unknown = {p.quantity for p in Theorem1(without("start_slack"), 0.01, 0.1).premises}
    assert unknown == {"cost gradient", "constraint subgradient", "subgradient near the boundary"}


@pytest.mark.parametrize("corollary", [*COROLLARIES, lambda c, T: Theorem1(c, 0.01, 0.1, T)])
@pytest.mark.parametrize("horizon", [0, -1, 2.0, NAN, "5", True])
def test_a_horizon_below_one_is_refused(corollary, horizon):
    refused(
        lambda: corollary(KNOWN, horizon),
        f"horizon must be a whole number of rounds >= 1, got {horizon!r}",
    )


@pytest.mark.parametrize("missing", ["G_f", "G_g", "epsilon"])
@pytest.mark.parametrize("corollary", [*COROLLARIES, lambda c, T: Theorem1(c, 0.01, 0.1, T)])
def test_a_missing_constant_is_named(corollary, missing):
    gone = (missing, "sigma") if missing == "epsilon" else (missing,)
    with pytest.raises(
        ValueError, match=rf" needs .*{missing if missing != 'epsilon' else ''}.*known"
    ):
        corollary(without(*gone), 10)


def test_missing_constants_are_named_with_the_statement():
    refused(
        lambda: Theorem1(without("G_f", "sigma", "epsilon"), 0.01, 0.1),
        "Theorem 1 needs G_f and sigma, which are unknown: give them",
    )
    refused(
        lambda: Corollary1(without("start_slack"), 10),
        "Corollary 1 needs start_slack, which is unknown: give it",
    )
    refused(
        lambda: Corollary1(without("G_f"), 10), "Corollary 1 needs G_f, which is unknown: give it"
    )
    refused(
        lambda: Corollary3(without("G_f"), 10), "Corollary 3 needs G_f, which is unknown: give it"
    )


@pytest.mark.parametrize("slack", [0.0, -0.25])
def test_an_anytime_guarantee_needs_a_strictly_feasible_start(slack):
    refused(
        lambda: Corollary1(Constants(**FULL | {"start_slack": slack}), 10),
        "Corollary 1 needs a strictly feasible start: start_slack = -g(x_1) must be > 0, "
        f"got {slack:g}",
    )


def test_a_tightening_above_epsilon_is_refused():
    assert Theorem1(KNOWN, 0.01, 0.4).rho == 0.4
    refused(lambda: Theorem1(KNOWN, 0.01, 0.5), "rho must be at most epsilon = 0.4, got 0.5")


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"eta": 0.0, "rho": 0.1}, "eta must be a finite number > 0, got 0.0"),
        ({"eta": NAN, "rho": 0.1}, "eta must be a finite number > 0, got nan"),
        ({"eta": 0.1, "rho": -0.1}, "rho must be a finite number >= 0, got -0.1"),
        ({"eta": 0.1, "rho": INF}, "rho must be a finite number >= 0, got inf"),
        (
            {"eta": 0.1, "rho": 0.1, "tightening_cost": -1.0},
            "tightening_cost must be a finite number >= 0, got -1.0",
        ),
    ],
)
def test_parameters_out_of_range_are_named(parameters, sentence):
    refused(lambda: Theorem1(KNOWN, **parameters), sentence)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.array])
def test_parameters_become_python_floats(kind):
    theorem = Theorem1(KNOWN, eta=kind(0.125), rho=kind(0.25), tightening_cost=kind(0.5))
    assert type(theorem.eta) is type(theorem.rho) is type(theorem.tightening_cost) is float


@pytest.mark.parametrize(
    "guarantee", [*(c(KNOWN, 10) for c in COROLLARIES), Theorem1(KNOWN, 0.01, 0.1)], ids=str
)
@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))]
)
def test_copies_promise_the_same(guarantee, again):
    other = again(guarantee)
    assert other == guarantee
    assert hash(other) == hash(guarantee)
    assert other.regret_bound(7) == guarantee.regret_bound(7)
    assert other.premises == guarantee.premises


def test_guarantees_for_other_horizons_are_not_equal():
    assert Corollary1(KNOWN, 10) != Corollary1(KNOWN, 11)
    assert Corollary1(KNOWN, 10) != Corollary2(KNOWN, 10)


@pytest.mark.parametrize("sigma", [1.0, 0.3, 1e-7, 1e-9, 1e-12])
def test_the_sum_bound_of_corollary_3_is_the_sum_of_its_rounds_however_small_sigma(sigma):
    c = Constants(R=1.0, G_f=1.0, G_g=1.0, sigma=sigma, epsilon=0.5, start_slack=-0.5)
    found, t = Corollary3(c, 50), np.arange(1, 51)
    sums = np.cumsum(found.bounds(t)["round"])
    assert found.bounds(t)["sum_positive"] == pytest.approx(sums, rel=1e-12)
    assert found.bounds(50)["positive_sum"] == found.bounds(50)["sum_positive"]
