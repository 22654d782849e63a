"""The theorems of the Lagrangian methods: formulas as printed, what they need, what they refuse."""

import math
from dataclasses import replace

import numpy as np
import pytest

from surefoot import Constants
from surefoot.guarantees.bounds import first_horizon, harmonic, power_sum
from surefoot.rules import (
    Jenatton,
    JenattonStronglyConvex,
    JenattonTradeOff,
    Mahdavi,
    MahdaviBalanced,
    MahdaviLinear,
    MahdaviLinearBalanced,
    MahdaviNoViolation,
    Yuan,
    YuanStronglyConvex,
    YuanTradeOff,
)

KNOWN = Constants(
    R=2.0,
    start_reach=2.5,
    G_f=3.0,
    G_g=1.5,
    sigma=1.25,
    epsilon=0.8,
    F=7.0,
    D_g=4.0,
    rows=2,
    strong_convexity=0.6,
)
# Small slopes, so that no violation can be had in fewer than 10^6 rounds.
MILD = replace(KNOWN, G_f=0.2, G_g=0.4, sigma=0.25, D_g=1.0, F=0.5)
EVERY = {
    "Mahdavi": lambda c, T: MahdaviBalanced(c, T),
    "Mahdavi, no violation": lambda c, T: MahdaviNoViolation(c, T, 0.5),
    "Mahdavi, linear": lambda c, T: MahdaviLinearBalanced(c, T),
    "Jenatton": lambda c, T: JenattonTradeOff(c, 0.3),
    "Jenatton, strongly convex": lambda c, T: JenattonStronglyConvex(c, 0.3),
    "Yuan": lambda c, T: YuanTradeOff(c, T, 0.3, 0.7),
    "Yuan, strongly convex": lambda c, T: YuanStronglyConvex(c),
}


@pytest.mark.parametrize("horizon", [15, 100, 12345])
def test_theorem_4_chooses_the_smallest_delta(horizon):
    bound = MahdaviBalanced(KNOWN, horizon)
    squares = 3 * 9 + 2 * 2 * 16  # (m + 1) G^2 + 2 m D_g^2
    assert bound.a == pytest.approx(2.5 * math.sqrt(squares), rel=1e-14)
    assert bound.eta == pytest.approx(2.5**2 / (bound.a * math.sqrt(horizon)), rel=1e-14)
    assert bound.delta == pytest.approx(27 + 2 * bound.delta**2 * bound.eta**2, rel=1e-13)
    assert 27 < bound.delta <= 54


def test_theorem_4_as_printed():
    T = 400
    bound = MahdaviBalanced(KNOWN, T)
    assert bound.regret_bound(T) == pytest.approx(bound.a * 20, rel=1e-14)
    printed = 2 * (7 * T + bound.a * 20) * (bound.delta * bound.eta * T + 1 / bound.eta)
    assert bound.bounds(T)["rows"] == pytest.approx(math.sqrt(printed), rel=1e-14)
    half = 2.5**2 / (2 * bound.eta) + bound.eta * T / 4 * (bound.a / 2.5) ** 2
    assert bound.regret_bound([T / 2, T]) == pytest.approx([half, bound.a * 20], rel=1e-14)


def test_theorem_4_says_which_horizon_it_needs():
    # 8 (m + 1) G^2 eta^2 <= 1: T >= 8 * 27 * 6.25/91 = 14.8 at D_g = 4.
    with pytest.raises(ValueError) as error:
        MahdaviBalanced(KNOWN, 14)
    assert str(error.value) == (
        "Mahdavi et al. 2012, Theorem 4 needs a horizon of at least 15 rounds for these "
        "constants, got 14"
    )
    assert MahdaviBalanced(KNOWN, 15).delta < 54
    # Where the condition is an equality, delta is twice (m + 1) G^2.
    edge = Constants(R=1.0, start_reach=1.0, G_f=1.0, G_g=1.0, D_g=1.0, rows=1)
    assert MahdaviBalanced(edge, 4).delta == pytest.approx(4.0, rel=1e-15)


def test_without_violation_as_printed():
    T = 10**6
    bound = MahdaviNoViolation(MILD, T)
    a = 2.5 * math.sqrt(3 * 0.16 + 4 * 1.8**2)  # D_g + epsilon for D_g
    assert bound.a == pytest.approx(a, rel=1e-14)
    b = math.sqrt(2 * (0.5 + a) * (bound.delta * 6.25 / a + a / 6.25))
    assert bound.gamma == pytest.approx(b * T**-0.25, rel=1e-14)
    assert bound.regret_bound(T) == pytest.approx(a * 1000 + 0.2 / 0.25 * b * T**0.75, rel=1e-14)
    assert bound.bounds(T)["rows"] == 0
    assert bound.bounds(100)["rows"] > 0
    # b rounds F + a/sqrt(T) up to F + a, so a fifth of gamma does not do, but a fourth does here.
    assert MahdaviNoViolation(MILD, T, bound.gamma / 4).bounds(T)["rows"] == 0
    given = MahdaviNoViolation(MILD, T, bound.gamma / 5)
    printed = 2 * (0.5 * T + a * 1000) * (bound.delta * bound.eta * T + 1 / bound.eta)
    assert given.bounds(T)["rows"] == pytest.approx(
        math.sqrt(printed) - bound.gamma / 5 * T, rel=1e-12
    )
    assert given.bounds(T)["rows"] > 0
    assert given.regret_exponent is None
    assert bound.regret_exponent == 0.75


def test_without_violation_says_which_horizon_it_needs():
    with pytest.raises(ValueError, match=r"^Mahdavi et al. 2012, no violation needs a horizon of"):
        MahdaviNoViolation(KNOWN, 1000)
    with pytest.raises(ValueError) as error:
        MahdaviNoViolation(MILD, 100)
    sentence = str(error.value)
    needed = int(sentence.split("at least ")[1].split(" rounds")[0])
    assert sentence.endswith("for these constants, or a given tightening, got 100")
    assert MahdaviNoViolation(MILD, needed).gamma <= 0.8
    with pytest.raises(ValueError, match=f"at least {needed} rounds"):
        MahdaviNoViolation(MILD, needed - 1)


def test_a_horizon_beyond_all_numbers_is_said_in_words():
    c = replace(KNOWN, epsilon=1e-90)
    with pytest.raises(ValueError, match=r"needs a horizon of more than 2\^1000 rounds for"):
        MahdaviNoViolation(c, 1000)
    c = replace(KNOWN, epsilon=1e-9)
    with pytest.raises(ValueError, match=r"needs a horizon of at least \d\.\d+e\+\d\d rounds for"):
        MahdaviNoViolation(c, 1000)


@pytest.mark.parametrize(
    ("gamma", "sentence"),
    [
        (0.9, "tightening must be at most epsilon = 0.8, got 0.9"),
        (-0.1, "tightening must be a finite number >= 0, got -0.1"),
    ],
)
def test_a_gamma_out_of_range_is_named(gamma, sentence):
    with pytest.raises(ValueError) as error:
        Mahdavi.no_violation(KNOWN, 1000, tightening=gamma)
    assert str(error.value) == sentence


@pytest.mark.parametrize("first", [1, 7, 8, 9, 1000, 123456])
def test_the_first_horizon_is_found(first):
    assert first_horizon(lambda T: first <= T, 1) == first
    assert first_horizon(lambda T: first <= T, 8) == max(first, 8)
    assert first_horizon(lambda T: False, 1) is None


def test_linear_constraints_as_printed():
    T = 1000
    bound = MahdaviLinearBalanced(KNOWN, T)
    eta = 2.5 / 3 / 10
    assert bound.eta == pytest.approx(eta, rel=1e-13)
    assert bound.regret_bound(T) == pytest.approx(6.25 / (2 * eta) + eta * 9 * T, rel=1e-13)
    squared = 2 * 7 * T / eta + 6.25 / eta**2 + 2 * 9 * T
    assert bound.bounds(T)["rows"] == pytest.approx(math.sqrt(squared), rel=1e-13)
    # Short horizons: the norm of A decides, sqrt(m) G_g unless known better.
    assert MahdaviLinearBalanced(KNOWN, 1).eta == pytest.approx(1 / (2 * 1.5), rel=1e-13)
    known = MahdaviLinearBalanced(KNOWN, 1, operator_norm=1.7)
    assert known.eta == pytest.approx(1 / (math.sqrt(2) * 1.7), rel=1e-13)
    with pytest.raises(ValueError, match=r"^operator_norm must be .* > 0, got 0\.0$"):
        MahdaviLinear.balanced(KNOWN, 10, operator_norm=0.0)


@pytest.mark.parametrize("power", [0.05, 0.5, 0.95])
def test_integrals_are_just_above_the_sums(power):
    t = np.arange(1, 3001)
    exact = np.cumsum(t**-power)
    assert (power_sum(t, power) >= exact * (1 - 1e-14)).all()
    assert (power_sum(t, power) <= exact + 1).all()
    assert (harmonic(t) >= np.cumsum(1 / t)).all()
    assert (harmonic(t) <= np.cumsum(1 / t) + 1).all()


@pytest.mark.parametrize("beta", [0.1, 0.5, 0.9])
def test_jenatton_as_printed(beta):
    T = 50
    s = np.arange(1, T + 1)
    bound = JenattonTradeOff(KNOWN, beta)
    eta, theta = 2 / (3 * s**beta), 6 * 2 * 3 / s**beta
    assert bound.eta == pytest.approx(eta[0], rel=1e-14)
    assert bound.theta == pytest.approx(theta[0], rel=1e-14)
    mu = 1 / (theta * (s + 1))
    printed = 2 * 4 / eta[-1] + 9 * eta.sum() + 16 * mu.sum()
    # Sums are replaced by integrals, which are larger by less than their first terms, and 1/(s+1)
    # by 1/s, at most twice as large.
    regret = bound.regret_bound(T)
    assert printed <= regret <= printed + 9 * eta[0] + 16 * (mu.sum() + 2 * mu[0])
    soft = math.sqrt(2 * (7 * T + printed) * (theta.sum() + theta[0]))
    assert soft <= bound.bounds(T)["positive_sum"] <= 1.2 * soft


@pytest.mark.parametrize("beta", [0.1, 0.5, 0.9])
def test_jenatton_strongly_convex_as_printed(beta):
    T = 50
    s = np.arange(1, T + 1)
    bound = JenattonStronglyConvex(KNOWN, beta)
    eta, theta = 1 / (0.6 * s), 6 * 9 / (0.6 * s**beta)
    assert bound.eta == pytest.approx(eta[0], rel=1e-14)
    assert bound.theta == pytest.approx(theta[0], rel=1e-14)
    mu = 1 / (theta * (s + 1))
    printed = 9 * eta.sum() + 16 * mu.sum()
    regret = bound.regret_bound(T)
    assert printed <= regret <= printed + 9 * eta[0] + 16 * (mu.sum() + 2 * mu[0])
    # What the proof asks of the regulariser, with equality in round 2 of the convex case.
    t = s[1:]
    assert (theta[1:] * (1 / 2 - 1 / (t + 1)) >= eta[1:] * 9 * (1 - 1e-14)).all()


def test_six_is_the_least_that_the_proof_allows():
    bound = JenattonTradeOff(KNOWN)
    eta, theta = bound.eta / math.sqrt(2), bound.theta / math.sqrt(2)
    assert theta * (1 / 2 - 1 / 3) == pytest.approx(eta * 9, rel=1e-14)


def test_yuan_as_printed():
    T, beta, alpha = 1000, 1 / 3, 0.25
    bound = YuanTradeOff(KNOWN, T, beta, alpha)
    assert bound.eta == pytest.approx(2.5 / (3 * math.sqrt(3) * 10), rel=1e-13)
    penalty = 3 * 9 / (2 * 0.75)  # the paper's sigma
    assert bound.theta == pytest.approx(penalty * bound.eta, rel=1e-13)
    # The bracket of the proof.
    left = 1 / bound.theta - bound.eta * 27 / (2 * bound.theta**2)
    assert left == pytest.approx(alpha / bound.theta, rel=1e-13)
    regret = 6.25 / (2 * bound.eta) + bound.eta * T / 2 * 27
    assert bound.regret_bound(T) == pytest.approx(regret, rel=1e-13)
    sums = bound.bounds(T)
    assert sums["sum_squared"] == pytest.approx(penalty * bound.eta / alpha * (7 * T + regret))
    assert sums["sum_positive"] == pytest.approx(math.sqrt(T * sums["sum_squared"]))
    best = YuanTradeOff(KNOWN, T)
    assert best.regret_bound(T) == pytest.approx(2.5 * 3 * math.sqrt(3 * T), rel=1e-13)


def test_yuan_strongly_convex_as_printed():
    T = 50
    s = np.arange(1, T + 1)
    bound = YuanStronglyConvex(KNOWN)
    c = 3 * 9 / (2 * 0.6)
    assert bound.eta == pytest.approx(1 / 0.6, rel=1e-14)
    assert bound.theta == pytest.approx(2 * c, rel=1e-14)
    h = 1 + math.log(T)
    assert bound.regret_bound(T) == pytest.approx(c * h, rel=1e-14)
    sums = bound.bounds(T)
    # The proof's own sums, which the printed ones bound.
    squared = 4 * c * (7 / s + c / s**2).sum()
    hard = math.sqrt(4 * c * (7 + c / s).sum() * (1 / s).sum())
    assert squared <= sums["sum_squared"] == pytest.approx(4 * c * (7 * h + math.pi**2 / 6 * c))
    assert hard <= sums["sum_positive"] == pytest.approx(math.sqrt(4 * c * (7 * T + c * h) * h))
    assert sums["positive_sum"] == sums["sum_positive"]


@pytest.mark.parametrize("name", EVERY)
def test_bounds_grow_at_the_exponents_that_are_named(name):
    def at(T):
        theorem = EVERY[name](KNOWN, T)
        if "no violation" in name:
            theorem = MahdaviNoViolation(KNOWN, T)
        sums = theorem.bounds(T)
        measure = {"sum_squared": "sum_squared", "sum_positive": "sum_positive"}.get(
            theorem.kind, "positive_sum"
        )
        return theorem, theorem.regret_bound(T), sums.get(measure, sums.get("rows"))

    (theorem, regret, violation), (_, more, worse) = at(10**20), at(10**24)
    assert math.log10(more / regret) / 4 == pytest.approx(theorem.regret_exponent, abs=0.03)
    if theorem.violation_exponent is None:
        assert violation == worse == 0
    else:
        found = math.log10(worse / violation) / 4
        assert found == pytest.approx(theorem.violation_exponent, abs=0.03)


@pytest.mark.parametrize("name", EVERY)
def test_nothing_is_promised_of_a_single_round(name):
    theorem = EVERY[name](KNOWN, 100)
    assert "round" not in theorem.bounds([1, 50])
    assert theorem.first_feasible == math.inf


@pytest.mark.parametrize("name", ["Mahdavi", "Mahdavi, no violation", "Mahdavi, linear"])
def test_the_sum_of_the_largest_is_bounded_only_where_there_is_one_row(name):
    assert EVERY[name](KNOWN, 100).bounds(100).keys() == {"rows"}
    assert EVERY[name](replace(KNOWN, rows=1), 100).bounds(100).keys() == {"positive_sum"}


@pytest.mark.parametrize("name", EVERY)
def test_premises_are_what_a_game_can_watch(name):
    theorem = EVERY[name](KNOWN, 100)
    limits = {p.constant: p.limit for p in theorem.premises}
    wanted = {"G_f": 3.0, "G_g": 1.5}
    if theorem.horizon is not None:
        assert theorem.horizon == 100
        wanted["the horizon"] = 100
    if name == "Mahdavi, no violation":
        wanted["sigma"] = 1.25
    if name == "Mahdavi, linear":
        wanted["the curvature of a linear g"] = 0.0
    assert limits == wanted


@pytest.mark.parametrize("name", EVERY)
def test_a_start_of_unknown_reach_may_be_a_diameter_away_and_costs_vary_with_their_slope(name):
    vague, sharp = (
        EVERY[name](c, 100)
        for c in (
            replace(KNOWN, start_reach=None, F=None),
            replace(KNOWN, start_reach=4.0, F=12.0),
        )
    )
    assert vague.regret_bound(70) == sharp.regret_bound(70)
    assert vague.bounds(70) == sharp.bounds(70)


NEEDED = {
    "Mahdavi": ("G_f", "G_g", "D_g", "rows"),
    "Mahdavi, no violation": ("G_f", "G_g", "D_g", "rows", "epsilon", "sigma"),
    "Mahdavi, linear": ("G_f", "G_g", "rows"),
    "Jenatton": ("G_f", "G_g", "D_g"),
    "Jenatton, strongly convex": ("G_f", "G_g", "D_g", "strong_convexity"),
    "Yuan": ("G_f", "G_g", "rows"),
    "Yuan, strongly convex": ("G_f", "G_g", "rows", "strong_convexity"),
}


@pytest.mark.parametrize(
    ("name", "missing"), [(name, constant) for name in NEEDED for constant in NEEDED[name]]
)
def test_a_missing_constant_is_named_with_who_needs_it(name, missing):
    gone = {missing: None} | ({"sigma": None} if missing == "epsilon" else {})
    with pytest.raises(ValueError) as error:
        EVERY[name](KNOWN.with_origin("given", **gone), 100)
    theorem = EVERY[name](KNOWN, 100)
    assert str(error.value).startswith(f"{theorem.name} needs {missing}")


CHOICES = [
    (Mahdavi.balanced, {}),
    (Mahdavi.no_violation, {"tightening": 0.3}),
    (MahdaviLinear.balanced, {"operator_norm": 2.0}),
    (Jenatton.trade_off, {"beta": 0.3}),
    (Jenatton.strongly_convex, {"beta": 0.3}),
    (Yuan.trade_off, {"beta": 0.3, "alpha": 0.2}),
    (Yuan.strongly_convex, {}),
]


@pytest.mark.parametrize(("choose", "options"), CHOICES)
def test_algorithms_are_tuned_as_their_theorems_say(choose, options):
    assert choose.__name__ in choose.__self__.tunings
    algorithm, theorem = choose(KNOWN, 500, **options)
    assert algorithm.domain.radius == KNOWN.R
    for name in ("eta", "delta", "gamma", "theta", "beta"):
        if hasattr(algorithm, name) and hasattr(theorem, name):
            assert getattr(algorithm, name) == getattr(theorem, name)
    if hasattr(algorithm, "rows"):
        assert algorithm.rows == 2
        assert type(algorithm.rows) is int
    decay = {"trade_off": options.get("beta"), "strongly_convex": 1.0}.get(choose.__name__)
    if isinstance(algorithm, Jenatton):
        assert algorithm.decay == decay
    if isinstance(algorithm, Yuan):
        assert algorithm.decay == (1.0 if theorem.horizon is None else 0.0)
    roomy = choose(KNOWN, 500, algorithm.domain.__class__(9.0), **options).algorithm
    assert roomy == replace(algorithm, domain=roomy.domain)
    assert roomy.domain.radius == 9.0


@pytest.mark.parametrize(
    ("choose", "option"),
    [
        (Jenatton.trade_off, "beta"),
        (Jenatton.strongly_convex, "beta"),
        (Yuan.trade_off, "beta"),
        (Yuan.trade_off, "alpha"),
    ],
)
@pytest.mark.parametrize("value", [0.0, 1.0, -0.5, math.nan])
def test_exponents_are_strictly_between_0_and_1(choose, option, value):
    with pytest.raises(ValueError) as error:
        choose(KNOWN, 100, **{option: value})
    assert str(error.value) == f"{option} must be strictly between 0 and 1, got {value}"


@pytest.mark.parametrize(("choose", "options"), CHOICES)
@pytest.mark.parametrize("horizon", [0, -3, 2.0, True])
def test_a_bad_horizon_is_named(choose, options, horizon):
    with pytest.raises(ValueError) as error:
        choose(KNOWN, horizon, **options)
    assert str(error.value) == f"horizon must be a whole number of rounds >= 1, got {horizon}"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Mahdavi", "Mahdavi et al. 2012, Theorem 4 for T = 100 (cumulative)"),
        ("Jenatton", "Jenatton et al. 2016, beta = 0.3 for any number of rounds (cumulative)"),
        ("Yuan", "Yuan and Lamperski 2018, beta = 0.3 for T = 100 (sum_squared)"),
    ],
)
def test_a_theorem_says_what_it_is(name, sentence):
    assert str(EVERY[name](KNOWN, 100)) == sentence
