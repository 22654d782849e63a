"""Methods that stay inside: each bound as printed, and in every round of every stream."""

import math
import re

import numpy as np
import pytest

from surefoot import OGD, Ball, Constants, Feedback, Problem, play
from surefoot.problems import ADVERSARIES, adversarial_cube, binding_toy, paper_toy
from surefoot.problems.constraints import LinfNorm
from surefoot.problems.costs import Linear, Quadratic
from surefoot.rules import (
    AdaGradFTRL,
    AdaGradNorm,
    AdaGradOGD,
    DecayingOGD,
    DecayingStep,
    DualAveraging,
    DualAveragingTheorem,
    EntropicDualAveraging,
    EntropicTheorem,
    FrankWolfe,
    FrankWolfeTheorem,
    OptimisticDualAveraging,
    StronglyConvexDescent,
    Zinkevich,
)
from surefoot.sets import Box, L1Ball, Simplex

from ._slack import assert_bounds_hold, slack

KNOWN = Constants(R=1.5, G_f=7.0, strong_convexity=3.5)
D = 1.25
ALL = {
    "Zinkevich": lambda c, T: Zinkevich(c, T, D),
    "decaying": lambda c, T: DecayingStep(c, D),
    "strongly convex": lambda c, T: StronglyConvexDescent(c),
    "AdaGrad": lambda c, T: AdaGradNorm(c, D),
    "dual averaging": lambda c, T: DualAveragingTheorem(c, T, D),
    "entropic": lambda c, T: EntropicTheorem(c, T, 3, 2.0),
    "Frank-Wolfe, tuned": lambda c, T: FrankWolfeTheorem(c, T, D, is_tuned=True),
    "Frank-Wolfe, textbook": lambda c, T: FrankWolfeTheorem(c, T, D, is_tuned=False),
}


@pytest.mark.parametrize("T", [1, 16, 20_000])
@pytest.mark.parametrize("theorem", [Zinkevich, DualAveragingTheorem])
def test_a_fixed_step_and_its_bound_are_the_printed_formulas(theorem, T):
    found = theorem(KNOWN, T, diameter=1.25)
    assert found.eta == pytest.approx(1.25 / (7.0 * math.sqrt(T)), rel=1e-15)
    assert found.regret_bound(T) == pytest.approx(1.25 * 7.0 * math.sqrt(T), rel=1e-14)
    t = np.array([1, 3])
    assert found.regret_bound(t) == pytest.approx(
        1.25**2 / (2 * found.eta) + found.eta / 2 * 49 * t
    )


@pytest.mark.parametrize(
    ("name", "eta", "t", "bound"),
    [
        ("decaying", 1.25 / 7, 16, 1.5 * 1.25 * 7 * 4),
        ("strongly convex", 1 / 3.5, 16, 7 * (1 + math.log(16))),
        ("AdaGrad", 1.25 / math.sqrt(2), 18, 1.25 * 7 * 6),
        # eta = sqrt(2 ln 3/50)/7: both main terms are s G sqrt(T ln 3/2); 2s(2/3)G more.
        (
            "entropic",
            math.sqrt(math.log(3)) / 35,
            50,
            2 * 2 * 7 * math.sqrt(25 * math.log(3)) + 56 / 3,
        ),
        ("Frank-Wolfe, tuned", 1.25 / 14 * (3 / 50) ** 0.75, 50, 4 * 8.75 * (50 / 3) ** 0.75),
        ("Frank-Wolfe, textbook", 1.25 / 14 / 50**0.75, 50, 8 * 8.75 * 50**0.75),
    ],
)
def test_steps_and_bounds_are_the_printed_formulas(name, eta, t, bound):
    found = ALL[name](KNOWN, 50)
    assert found.eta == pytest.approx(eta, rel=1e-14)
    assert float(found.regret_bound(t)) == pytest.approx(bound, rel=1e-14)


def test_the_fixed_step_of_frank_wolfe_is_at_most_whole():
    steps = [FrankWolfeTheorem(KNOWN, T, D, is_tuned=True).step_size for T in (1, 3, 12, 300)]
    assert steps == [1.0, 1.0, 0.5, 0.1]
    assert FrankWolfeTheorem(KNOWN, 300, D, is_tuned=False).step_size is None


def test_the_bound_of_frank_wolfe_is_that_of_the_horizon():
    found = ALL["Frank-Wolfe, tuned"](KNOWN, 50)
    assert found.regret_bound([1, 20, 50]).tolist() == [float(found.regret_bound(50))] * 3


@pytest.mark.parametrize("name", ALL)
def test_every_action_is_promised_to_be_feasible_in_every_round(name):
    found = ALL[name](KNOWN, 10)
    assert found.kind == "every round"
    assert found.bounds(np.arange(1, 4))["round"].tolist() == [0.0, 0.0, 0.0]
    assert found.bounds(10).keys() == {"round"}
    assert found.violation_exponent is None
    assert found.changing
    watched = {p.quantity: p.limit for p in found.premises}
    wanted = {"cost gradient": 7.0} | ({} if found.horizon is None else {"horizon": 10})
    assert watched == wanted
    assert all(p.only_regret for p in found.premises)


def test_a_guarantee_says_its_name():
    assert str(ALL["Zinkevich"](KNOWN, 10)) == "Zinkevich 2003, fixed step for T = 10 (every round)"
    assert str(ALL["AdaGrad"](KNOWN, None)) == (
        "AdaGrad-norm (Streeter and McMahan 2010) for any number of rounds (every round)"
    )
    assert ALL["Frank-Wolfe, tuned"](KNOWN, 9).name != ALL["Frank-Wolfe, textbook"](KNOWN, 9).name


@pytest.mark.parametrize("name", ALL)
def test_bounds_grow_as_their_exponents_say(name):
    small, large = (float(ALL[name](KNOWN, T).regret_bound(T)) for T in (10**12, 10**16))
    power = math.log10(large / small) / 4
    # A logarithm grows by 16/12 in four decades, a constant beside a power falls away.
    assert power == pytest.approx(ALL[name](KNOWN, 10).regret_exponent, abs=0.04)


@pytest.mark.parametrize("name", ALL)
def test_a_missing_gradient_bound_is_named(name):
    with pytest.raises(ValueError, match="needs G_f, which is unknown: give it"):
        ALL[name](Constants(R=1.0, strong_convexity=1.0), 10)


def test_missing_strong_convexity_is_named():
    with pytest.raises(ValueError, match="strongly convex needs strong_convexity, which is unkn"):
        StronglyConvexDescent(Constants(R=1.0, G_f=2.0))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: Zinkevich(KNOWN, 0, 1.0),
            "horizon must be a whole number of rounds >= 1, got 0",
        ),
        (
            lambda: Zinkevich(KNOWN, 10, 0.0),
            "diameter must be a finite number > 0, got 0.0",
        ),
        (
            lambda: Zinkevich(KNOWN, 10, math.inf),
            "diameter must be a finite number > 0, got inf",
        ),
        (
            lambda: DecayingStep(KNOWN, -1.0),
            "diameter must be a finite number > 0, got -1.0",
        ),
        (
            lambda: AdaGradNorm(KNOWN, 0.0),
            "diameter must be a finite number > 0, got 0.0",
        ),
        (
            lambda: DualAveragingTheorem(KNOWN, 2.5, 1.0),
            "horizon must be a whole number of",
        ),
        (
            lambda: DualAveragingTheorem(KNOWN, 2, 0.0),
            "diameter must be a finite number > 0",
        ),
        (
            lambda: EntropicTheorem(KNOWN, 0, 3, 1.0),
            "horizon must be a whole number of rounds",
        ),
        (
            lambda: EntropicTheorem(KNOWN, 9, 3, 0.0),
            "total must be a finite number > 0, got 0.0",
        ),
        (
            lambda: EntropicTheorem(KNOWN, 9, 1, 1.0),
            "dimension must be a whole number >= 2, got 1",
        ),
        (
            lambda: EntropicTheorem(KNOWN, 9, 2.5, 1.0),
            "dimension must be a whole number >= 2",
        ),
        (
            lambda: FrankWolfeTheorem(KNOWN, 0, 1.0, is_tuned=True),
            "horizon must be a whole number",
        ),
        (
            lambda: FrankWolfeTheorem(KNOWN, 9, 0.0, is_tuned=True),
            "diameter must be a finite numb",
        ),
    ],
)
def test_bad_arguments_are_named(make, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        make()


# Against adversaries. Those of one algorithm are played at once.
CONVEX = {
    "OGD": (OGD.fixed,),
    "decaying": (DecayingOGD.anytime,),
    "AdaGrad": (AdaGradOGD.adaptive,),
    "dual averaging": (DualAveraging.fixed,),
    "AdaGrad, per coordinate": (AdaGradFTRL.adaptive,),
    "optimistic": (OptimisticDualAveraging.adaptive,),
    "Frank-Wolfe, tuned": (FrankWolfe.tuned,),
    "Frank-Wolfe, textbook": (FrankWolfe.textbook,),
}
HORIZONS = [300, pytest.param(2_000, marks=pytest.mark.slow)]


def tuned(choices, problem, horizon):
    return [choose(problem.constants, horizon, problem.constraint.region) for choose in choices]


@pytest.mark.slow
@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("name", CONVEX)
def test_every_bound_holds_against_every_adversary(name, adversary, horizon):
    problem = adversarial_cube(adversary, horizon=horizon, dimension=3, radius=0.4, size=1.5)
    (trace,) = assert_bounds_hold(tuned(CONVEX[name], problem, horizon), problem, horizon)
    assert trace.violations.largest <= 0


@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("stream", [paper_toy, binding_toy])
@pytest.mark.parametrize("name", [*CONVEX, "strongly convex"])
def test_every_bound_holds_on_the_published_streams(name, stream, horizon):
    problem = stream(horizon, trials=2)
    choices = CONVEX.get(name, (DecayingOGD.strongly_convex,))
    (trace,) = assert_bounds_hold(tuned(choices, problem, horizon), problem, horizon)
    assert (trace.violations.largest <= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 6])
@pytest.mark.parametrize("name", CONVEX)
def test_every_bound_holds_from_a_corner_and_in_other_dimensions(name, d):
    for adversary in ("constant", "uncut"):
        problem = adversarial_cube(adversary, horizon=200, dimension=d)
        player = tuned(CONVEX[name], problem, 200)[0]
        trace = play(player, problem, start=0.5 * (-1.0) ** np.arange(d), watch="raise")
        assert slack(trace)["regret"] <= 1


@pytest.mark.parametrize("name", CONVEX)
def test_every_bound_holds_after_one_round(name):
    problem = adversarial_cube("constant", horizon=1)
    corner = 0.5 * np.sign(problem.costs.slopes[0])
    trace = play(tuned(CONVEX[name], problem, 1)[0], problem, start=corner)
    assert trace.final_regret() > 0
    assert slack(trace)["regret"] <= 1


@pytest.mark.parametrize("exponents", [(-60, 60), (60, -60), (60, 60), (-60, -60)])
@pytest.mark.parametrize("name", CONVEX)
def test_every_bound_holds_at_any_scale(name, exponents):
    length, slope = (10.0**e for e in exponents)
    problem = adversarial_cube("corners", horizon=200, radius=length, size=slope)
    (trace,) = assert_bounds_hold(tuned(CONVEX[name], problem, 200), problem, 200)
    assert trace.regret().upper.max() > 0.01 * length * slope


def test_half_of_the_fixed_steps_bound_is_needed():
    # From one end of an interval to the other, D/eta G_f = sqrt T rounds of a way on which half
    # of the diameter is lost in the mean.
    T = 10_000
    problem = Problem.of(Linear(np.full((T, 1), 2.0)), LinfNorm(0.5, 1), Ball(0.5), [0.5])
    trace = play(OGD.fixed(problem.constants, T, problem.constraint.region), problem)
    assert trace.final_regret() == pytest.approx(0.5 * trace.guarantee.regret_bound(T), rel=0.02)


# Strongly convex costs. Targets no farther than 1.5 from 0, so that |grad| <= 2.4 (1.2 + 1.5).
FAR, CURVATURE, RADIUS = 1.5, 2.4, 1.2


def target(stream, t, x, c, rng):
    if stream == "constant":
        return c
    if stream == "alternating":
        return c if t % 2 else -c
    if stream == "random":
        v = rng.normal(size=2)
        return FAR * v / np.linalg.norm(v)
    if stream == "phases":  # that double: a player that has settled is moved again
        return (c if int(math.log2(t + 1)) % 2 else -c) * np.array([1.0, -0.4])
    nearest = np.abs(x).argmax() if stream == "out" else np.abs(x).argmin()
    v = np.zeros(2)
    v[nearest] = FAR if x[nearest] >= 0 else -FAR
    return v


@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("stream", ["constant", "alternating", "random", "phases", "out", "uncut"])
def test_the_logarithmic_bound_holds_against_every_adversary(stream, horizon):
    known = Constants(R=RADIUS, G_f=CURVATURE * (RADIUS + FAR), strong_convexity=CURVATURE)
    box = Box([-0.5, -0.3], [0.4, 0.6])
    player, bound = DecayingOGD.strongly_convex(known, None, box)
    rng, c = np.random.default_rng(7), np.array([1.2, -0.9])
    state = player.init(np.array([-0.5, 0.6]))
    cost, squares, targets = np.zeros(horizon), np.zeros(horizon), np.zeros((horizon, 2))
    for t in range(horizon):  # the target is picked after the action is seen
        x, v = state.x, target(stream, t, state.x, c, rng)
        cost[t] = 0.5 * CURVATURE * (x - v) @ (x - v)
        squares[t], targets[t] = v @ v, v
        state = player.update(state, Feedback(CURVATURE * (x - v), None, None))
        assert box.contains(state.x)
    rounds = np.arange(1, horizon + 1)
    sums = np.cumsum(targets, axis=0)
    u = box.project(sums / rounds[:, None])
    best = rounds * (u * u).sum(axis=1) - 2 * (u * sums).sum(axis=1) + np.cumsum(squares)
    regret = np.cumsum(cost) - 0.5 * CURVATURE * best
    assert (regret <= bound.regret_bound(rounds)).all()
    assert regret.max() > 0.001 * bound.regret_bound(horizon)


def test_quadratic_problems_tell_their_strong_convexity():
    problem = Problem.of(Quadratic(np.zeros((5, 2)), 2.5), LinfNorm(0.5, 2), Ball(1.0), [0.0, 0.0])
    guarantee = DecayingOGD.strongly_convex(
        problem.constants, None, problem.constraint.region
    ).guarantee
    assert guarantee.eta == 0.4
    linear = adversarial_cube("constant", horizon=5)
    with pytest.raises(ValueError, match="needs strong_convexity, which is unknown"):
        DecayingOGD.strongly_convex(linear.constants, None, linear.constraint.region)


# Sets that are not cubes, among them the simplex, which is no constraint's: linear costs chosen
# after the action is seen, and the best action in hindsight a linear minimisation.
G = 1.7


def slope(stream, t, x, rng):
    d = len(x)
    if stream == "constant":
        return G * np.linspace(1.0, -0.6, d)
    if stream == "alternating":
        return -G * (-1.0) ** t * np.linspace(0.3, 1.0, d)
    if stream == "random":
        return rng.uniform(-G, G, size=d)
    if stream == "corners":  # growing phases, each with a corner of its own
        return G * np.where(np.arange(d) == int(math.log2(t + 1)) % d, -1.0, 1.0)
    c = np.zeros(d)
    c[np.abs(x).argmax()] = G if stream == "dear" else -G  # dear or cheap where most is
    return c


OTHERS = {
    "entropic": (EntropicDualAveraging.fixed, Simplex(4, 1.3)),
    **{
        f"{name} on {word}": (choices[0], domain)
        for name, choices in CONVEX.items()
        for word, domain in {
            "a simplex": Simplex(3, 0.7),
            "an l1 ball": L1Ball(0.6, [0.1, -0.2]),
            "a ball": Ball(0.5, [0.2, 0.0, -0.1]),
        }.items()
        if name != "AdaGrad, per coordinate"  # which needs a box
    },
}


# These know no horizon: a short game is the beginning of a long one.
ANYTIME = ("decaying", "AdaGrad", "optimistic")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "horizon"),
    [
        *((name, 300) for name in OTHERS if not name.startswith(ANYTIME)),
        *((name, 1_000) for name in OTHERS),
        ("entropic", 5_000),
    ],
)
@pytest.mark.parametrize(
    "stream", ["constant", "alternating", "random", "corners", "dear", "cheap"]
)
def test_every_bound_holds_on_sets_of_other_shapes(name, stream, horizon):
    choose, domain = OTHERS[name]
    d = domain.dimension
    # What entropy calls G is the largest entry; the others' is the norm.
    size = G if name == "entropic" else G * math.sqrt(d)
    player, bound = choose(Constants(R=3.0, G_f=size), horizon, domain)
    # The corner that a constant slope leads away from.
    state = player.init(domain.minimize_linear(-slope("constant", 0, np.zeros(d), None)))
    rng, paid, slopes = np.random.default_rng(4), np.zeros(horizon), np.zeros((horizon, d))
    for t in range(horizon):
        slopes[t] = c = slope(stream, t, state.x, rng)
        paid[t] = c @ state.x
        state = player.update(state, Feedback(c, None, None))
        assert domain.contains(state.x)
    total = np.cumsum(slopes, axis=0)
    regret = np.cumsum(paid) - np.vecdot(total, domain.minimize_linear(total))
    assert (regret <= bound.regret_bound(np.arange(1, horizon + 1))).all()
    assert regret.max() > 0


def test_the_term_for_another_start_is_needed_by_entropy():
    # One round, from the worst corner.
    domain = Simplex(5, 2.0)
    player, bound = EntropicDualAveraging.fixed(Constants(R=3.0, G_f=G), 1, domain)
    c = G * np.array([1.0, -1.0, -1.0, -1.0, -1.0])
    first = player.init(np.array([2.0, 0.0, 0.0, 0.0, 0.0]))
    lost = c @ first.x - c @ domain.minimize_linear(c)
    assert lost == pytest.approx(4 * G)
    assert bound.regret_bound(1) - 2 * 2.0 * 0.8 * G < lost <= bound.regret_bound(1)
