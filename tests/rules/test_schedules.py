"""Theorems E1 and E2: schedules by hand, against every stream, and where their limits are."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.rules._observed import observed_regret_bound

from surefoot import PFS, Ball, Constants, play, problems
from surefoot.core.constants import polyak_rate
from surefoot.problems.costs import Quadratic
from surefoot.rules import (
    Corollary1,
    DoublingHorizon,
    DoublingPFS,
    ScheduledPFS,
    ScheduledSteps,
    StronglyConvexSchedule,
    UnknownGradients,
    UnknownHorizon,
)

from ._held import STREAMS, stream
from ._slack import assert_bounds_hold

KNOWN = Constants(
    R=1.5, G_f=7.0, G_g=2.5, sigma=1.5, epsilon=0.4, start_slack=0.3, strong_convexity=3.0
)
XI = 1 - math.sqrt(1 - (1.5 / 2.5) ** 2)  # 0.2
HAIR = 1 - 1e-9
HORIZONS = [300, pytest.param(2_000, marks=pytest.mark.slow)]


def near(value):
    return pytest.approx(value, rel=1e-8)  # steps are a hair shorter than by hand


def without(*names, **values):
    return Constants(**{n: getattr(KNOWN, n) for n in Constants.names() if n not in names} | values)


# --- by hand -------------------------------------------------------------------------------------


def test_without_a_horizon_by_hand():
    theorem = UnknownHorizon(KNOWN)
    a, s = 0.3, 0.2 / 17.5
    assert (theorem.rho, theorem.power, theorem.offset) == (0.3, 0.5, 0.0)
    assert theorem.step_size == near(s)
    assert theorem.step_size < s
    assert theorem.tightening(9) == near(0.1)
    slope = 2 * 1.5**2 / (s * a) + s * a * 49 + 2 / 1.5 * a * 7
    wanted = slope * 20 + 1.5 / 1.5 / s * math.log(400)
    assert theorem.regret_bound(400) == near(wanted)


def test_without_G_f_by_hand():
    s = 0.2 / 2.5
    theorem = UnknownGradients(KNOWN, 400)
    rho = 1.5 * math.sqrt(2 / (s * (s / 2 + 1 / 1.5) * 400))
    assert rho > 0.3  # more than the start allows
    assert (theorem.rho, theorem.power, theorem.adagrad) == (0.3, 0.0, None)
    wanted = 2 * 1.5**2 * 7 / (s * 0.3) + (s / 2 + 1 / 1.5) * 0.3 * 7 * 100
    assert theorem.regret_bound(100) == near(wanted)
    later = UnknownGradients(KNOWN, 40_000)
    assert later.rho == near(rho / 10)
    # There the two parts of the bound are equal.
    half = 2 * 1.5**2 * 7 / (s * later.rho)
    assert later.regret_bound(40_000) == near(2 * half)


def test_without_G_f_and_horizon_by_hand():
    s, a, c = 0.2 / 2.5, 0.3, math.sqrt(2) * 1.5
    for adaptive in (False, True):
        theorem = UnknownGradients(KNOWN, adaptive=adaptive)
        assert (theorem.rho, theorem.power) == (0.3, 0.5)
        assert theorem.adagrad == (pytest.approx(c) if adaptive else None)
        wanted = 2 * 1.5**2 * 7 * 20 / (s * a) + s * a * 7 * 20
        wanted += 1 / 1.5 * a * 7 * 20 * min(2, math.sqrt(1 + math.log(400)))
        wanted += 1.5 / 1.5 * 7 / s * math.log(400)
        assert theorem.regret_bound(400) == near(wanted)
    # With a step that is allowed to be long, the limit of AdaGrad-norm decides.
    flat = Constants(
        R=0.01, G_f=7.0, G_g=2.5, sigma=2.5, epsilon=0.4, start_slack=0.3, start_reach=0.12
    )
    s, c = 1 / 2.5, math.sqrt(2) * 0.01
    wanted = 2 * 0.01**2 * 140 / c + c * 140
    wanted += 0.3 / 2.5 * 140 * 2 + 0.01 / 2.5 * 7 * 0.3 / c * math.log(400)
    assert UnknownGradients(flat, adaptive=True).regret_bound(400) == near(wanted)
    fixed = UnknownGradients(flat, 400, adaptive=True)
    wanted = 2 * 0.01**2 * max(7 / (s * fixed.rho), 140 / c)
    wanted += min(c * 140, s * fixed.rho / 2 * 2800)
    assert fixed.regret_bound(400) == near(wanted + fixed.rho / 2.5 * 2800)


def test_strongly_convex_costs_by_hand():
    theorem = StronglyConvexSchedule(KNOWN)
    C = 7 * 2.5 / (0.2 * 3)
    t0 = math.ceil(C / 0.3) - 1
    assert (theorem.rho, theorem.offset, theorem.power) == (near(C), t0, 1.0)
    assert theorem.rho > C
    assert theorem.tightening(1) <= 0.3
    assert theorem.step_size * theorem.tightening(5) == pytest.approx(1 / (3 * (5 + t0)), rel=1e-14)
    log = math.log((400 + t0) / (1 + t0))
    wanted = 2 * 3 * t0 * 1.5**2 + 2 * 1.5 * 3 / 1.5 * C * log
    wanted += (49 / 6 + 7 / 1.5 * C) * (1 / (1 + t0) + log)
    assert theorem.regret_bound(400) == near(wanted)


def test_costs_that_are_very_convex_need_no_offset():
    theorem = StronglyConvexSchedule(without(strong_convexity=1e6))
    assert theorem.offset == 0.0
    assert theorem.tightening(1) < 0.3


def test_doubling_by_hand():
    theorem = DoublingHorizon(KNOWN)
    whole = [float(Corollary1(KNOWN, 2**k).regret_bound(2**k)) for k in range(6)]
    assert theorem.regret_bound(1) == near(whole[0])
    assert theorem.regret_bound(31) == near(sum(whole[:5]))
    # 11 rounds into the phase of 32.
    wanted = sum(whole[:5]) + float(Corollary1(KNOWN, 32).regret_bound(11))
    assert theorem.regret_bound(42) == near(wanted)
    first = Corollary1(KNOWN, 1)
    assert (theorem.eta, theorem.rho) == (first.eta, first.rho)


def test_doubling_costs_a_factor_of_at_most_342():
    t = np.unique(np.geomspace(1, 1e9, 3_000).astype(int))
    bound = DoublingHorizon(KNOWN).regret_bound(t)
    known = float(Corollary1(KNOWN, 1).regret_bound(1)) * np.sqrt(t)
    assert (bound <= math.sqrt(2) / (math.sqrt(2) - 1) * known).all()
    assert (bound / known).max() > 2.4
    assert (np.diff(bound) >= 0).all()
    every = np.arange(1, 300)
    summed = [
        sum(float(Corollary1(KNOWN, 2**k).regret_bound(min(2**k, t - 2**k + 1)))
            for k in range(t.bit_length()))
        for t in every.tolist()
    ]  # fmt: skip
    assert DoublingHorizon(KNOWN).regret_bound(every) == near(summed)


def test_theorem_E2_on_what_was_observed_by_hand():
    sizes = np.array([0.0, 2.0, 5.0])
    s, a = HAIR * 0.2 / 2.5, 0.3
    theorem = UnknownGradients(KNOWN, adaptive=True)
    rho = a / np.sqrt([1, 2, 3])
    slow = [0.0, max(2 / (s * rho[1]), 2 / theorem.adagrad)]
    slow.append(max(5 / (s * rho[2]), math.sqrt(29) / theorem.adagrad))
    wanted = [0.0]
    second, third = 0.5 * 4 / slow[1], rho[1] * 2 / 1.5
    wanted.append(2 * 1.5**2 * slow[1] + second + third)
    second, third = second + 0.5 * 25 / slow[2], third + rho[2] * 5 / 1.5
    last = 2 * 1.5 / 1.5 * (rho[1] - rho[2]) * slow[1]
    wanted.append(2 * 1.5**2 * slow[2] + second + third + last)
    assert theorem.observed_bound(sizes) == pytest.approx(wanted, rel=1e-12)
    two = theorem.observed_bound(np.stack([sizes, 2 * sizes], axis=1))
    assert two[:, 0] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(
    "theorem",
    [
        UnknownHorizon(KNOWN),
        UnknownGradients(KNOWN),
        UnknownGradients(KNOWN, 60, adaptive=True),
        StronglyConvexSchedule(KNOWN),
    ],
    ids=lambda t: t.name,
)
def test_theorem_E2_is_that_of_certified_steps_with_the_steps_of_the_schedule(theorem):
    rng = np.random.default_rng(4)
    sizes = 7 * rng.random(60)
    rhos = theorem.tightening(np.arange(1, 61))
    etas = theorem.step_size * rhos
    if theorem.running:
        etas = etas / np.maximum.accumulate(sizes)
    if theorem.adagrad is not None:
        etas = np.minimum(etas, theorem.adagrad / np.sqrt(np.cumsum(sizes**2)))
    for T in (1, 2, 17, 60):
        wanted = observed_regret_bound(
            sizes[:T], etas[:T], rhos[:T], np.zeros(T), R=1.5, slack=1.5, reach=1.0
        )
        assert theorem.observed_bound(sizes[:T])[-1] == pytest.approx(wanted, rel=1e-12)


sizes_of_gradients = st.lists(st.floats(0, 7.0), min_size=1, max_size=40)


@given(sizes_of_gradients)
def test_what_is_observed_never_exceeds_the_explicit_bound(sizes):
    t = np.arange(1, len(sizes) + 1)
    for theorem in (
        UnknownHorizon(KNOWN),
        UnknownGradients(KNOWN),
        UnknownGradients(KNOWN, adaptive=True),
        UnknownGradients(KNOWN, len(sizes)),
        UnknownGradients(KNOWN, len(sizes), adaptive=True),
    ):
        bound = theorem.regret_bound(t)
        assert (theorem.observed_bound(sizes) <= bound * (1 + 1e-12)).all()


# --- which sigma ---------------------------------------------------------------------------------


def test_the_start_alone_is_enough_and_schedules_then_begin_at_half_of_its_slack():
    local = without("sigma", "epsilon", start_reach=2.0)
    theorem = UnknownHorizon(local)
    assert (theorem.level, theorem.rho) == (0.15, 0.15)
    assert theorem.sigma == pytest.approx(0.075)
    assert theorem.cost == pytest.approx(2 / 0.3)
    assert theorem.step_size == near(polyak_rate(0.075, 2.5) / 17.5)
    strong = StronglyConvexSchedule(local)
    C = 1 / (3 * strong.step_size)
    assert strong.offset == math.ceil(2 * C / 0.3) - 1


def test_the_larger_sigma_and_the_smaller_cost_count():
    # (0.3 - 0.1)/0.1 = 2 at the level 0.1 of a sigma of 1.5, which costs 1/1.5, and the start 1/3.
    short = without(epsilon=0.1, start_reach=0.1)
    assert (UnknownHorizon(short).level, UnknownHorizon(short).sigma) == (0.1, pytest.approx(2.0))
    assert UnknownHorizon(short).cost == pytest.approx(1 / 3)
    far = without(epsilon=0.1, start_reach=10.0)
    assert UnknownHorizon(far).sigma == 1.5
    assert UnknownHorizon(far).cost == pytest.approx(1 / 1.5)
    # A start may be so steep to leave that it would prove more than G_g.
    steep = without(epsilon=0.1, start_reach=0.01)
    assert UnknownHorizon(steep).sigma == 2.5
    # At a level as deep as the start itself, the start proves nothing.
    assert UnknownHorizon(without(epsilon=0.3, start_reach=0.01)).sigma == 1.5


# --- what is promised ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theorem", "exponent", "regret_only"),
    [
        (UnknownHorizon(KNOWN), 0.5, False),
        (UnknownGradients(KNOWN), 0.5, True),
        (UnknownGradients(KNOWN, adaptive=True), 0.5, True),
        (StronglyConvexSchedule(KNOWN), 0.0, False),
        (DoublingHorizon(KNOWN), 0.5, False),
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_what_is_promised(theorem, exponent, regret_only):
    assert (theorem.kind, theorem.horizon) == ("every round", None)
    assert theorem.bounds([1, 9])["round"].tolist() == [0.0, 0.0]
    assert theorem.regret_exponent == exponent
    assert theorem.violation_exponent is None
    ends = [float(theorem.regret_bound(4.0**k)) for k in (30, 60)]
    # A power of the root of 4^30; a logarithm at most doubles over as many powers.
    assert ends[1] / ends[0] == pytest.approx(2.0**30 if exponent else 2.0, rel=0.2)
    premises = {p.quantity: p for p in theorem.premises}
    assert set(premises) == {
        "cost gradient",
        "constraint subgradient",
        "subgradient near the boundary",
        "start",
    }
    assert premises["cost gradient"].only_regret is regret_only
    assert premises["subgradient near the boundary"].limit == 1.5
    assert premises["start"].limit == 0.3


def test_the_horizon_is_a_premise_where_it_was_used():
    quantities = [p.quantity for p in UnknownGradients(KNOWN, 70).premises]
    assert quantities[-1] == "horizon"


def test_without_G_f_feasibility_is_promised_and_regret_is_not_put_in_numbers():
    theorem = UnknownGradients(without("G_f"))
    assert theorem.regret_bound([1, 9]).tolist() == [math.inf, math.inf]
    assert "cost gradient" not in [p.quantity for p in theorem.premises]
    assert np.isfinite(theorem.observed_bound([1.0, 2.0])).all()


@pytest.mark.parametrize(
    ("make", "missing"),
    [
        (UnknownHorizon, "G_f"),
        (UnknownHorizon, "start_slack"),
        (UnknownGradients, "G_g"),
        (StronglyConvexSchedule, "strong_convexity"),
        (StronglyConvexSchedule, "G_f"),
        (DoublingHorizon, "sigma"),
    ],
)
def test_a_missing_constant_is_named(make, missing):
    with pytest.raises(ValueError, match=rf" needs .*{missing}.* unknown"):
        make(without(missing))


def test_without_sigma_and_reach_the_diameter_of_the_ball_counts():
    alone = without("sigma", "epsilon", "start_reach")
    widest = without("sigma", "epsilon", start_reach=2 * alone.R)
    assert UnknownGradients(alone).sigma == 0.5 * alone.start_slack / (2 * alone.R)
    assert UnknownGradients(alone).regret_bound(400) == UnknownGradients(widest).regret_bound(400)


@pytest.mark.parametrize("horizon", [0, 2.5])
def test_a_horizon_that_is_none_is_refused(horizon):
    with pytest.raises(ValueError, match=f"horizon must be a whole number .*, got {horizon}"):
        UnknownGradients(KNOWN, horizon)


# --- against every stream ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("name", STREAMS)
def test_every_bound_holds_after_every_round(name, horizon):
    problem = stream(name, horizon)
    c = problem.constants
    players = [
        [ScheduledPFS.unknown_horizon(c)],
        [ScheduledPFS.adaptive(c), ScheduledPFS.adaptive(c, horizon)],
        [ScheduledPFS.unknown_gradients(c), ScheduledPFS.unknown_gradients(c, horizon)],
        [DoublingPFS.anytime(c)],
    ]
    for alike in players:
        for trace in assert_bounds_hold(alike, problem, horizon):
            if isinstance(trace.guarantee, ScheduledSteps):
                sizes = np.linalg.norm(slopes(trace), axis=-1)
                assert (trace.regret().upper <= trace.guarantee.observed_bound(sizes)).all()


def slopes(trace):
    """The gradients of all rounds, of all runs."""
    costs = trace.costs()
    if isinstance(costs, Quadratic):
        return costs.curvature * (trace.actions - costs.targets)
    return costs.slopes


STRONG = {
    "paper toy": lambda T: problems.paper_toy(T, trials=3),
    "binding toy": lambda T: problems.binding_toy(T, trials=3),
    "rotated box": lambda T: problems.rotated_box(3, horizon=T, trials=2),
    "ellipsoid": lambda T: problems.ellipsoid(2, 3.0, horizon=T, trials=2),
}


@pytest.mark.slow
@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("name", STRONG)
def test_regret_against_strongly_convex_costs_is_logarithmic(name, horizon):
    if name == "ellipsoid":  # no closed form for its best action: the last round alone
        problem = STRONG[name](horizon)
        player = ScheduledPFS.strongly_convex(problem.constants)
        trace = play(player, problem, horizon=horizon, every=None, watch="off")
        assert (trace.final_regret() <= player.guarantee.regret_bound(horizon)).all()
        assert (trace.violations.largest <= 0).all()
        return
    problem = STRONG[name](horizon)
    assert_bounds_hold([ScheduledPFS.strongly_convex(problem.constants)], problem, horizon)


def test_one_round_in_one_dimension():
    problem = problems.adversarial_cube("out", horizon=1, dimension=1, size=2.0)
    c = problem.constants.with_origin("given", strong_convexity=1.0)
    for tuning in ScheduledPFS.tunings:
        trace = play(getattr(ScheduledPFS, tuning)(c, 1), problem, horizon=1)
        assert trace.final_regret() <= trace.guarantee.regret_bound(1)
        assert problem.constraint.value(trace.next_action) <= 0


@pytest.mark.slow
def test_the_figures_on_the_published_streams():
    toy = problems.paper_toy()
    c = toy.constants
    deep = c.with_origin("given", start_slack=0.499, epsilon=0.499)
    players = [
        ScheduledPFS.strongly_convex(c.with_origin("given", start_slack=0.25)),
        ScheduledPFS.strongly_convex(deep),
    ]
    kept = {"every": None, "keep_actions": False, "watch": "record"}
    traces = [play(player, toy, **kept) for player in players]
    for trace in traces:
        assert (trace.violations.largest <= 0).all()
        assert (trace.final_regret() <= trace.guarantee.regret_bound(20_000)).all()
        assert not trace.breaches
    shallow, deep = (float(trace.final_regret().mean()) for trace in traces)
    assert shallow == pytest.approx(52.42, abs=5.1e-3)
    assert deep == pytest.approx(36.60, abs=5.1e-3)


# --- the limit is where it is said to be ---------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.999, 1.0, 1.001, 2.0])
def test_a_step_of_length_l_gets_to_l_minus_rho_and_no_further(share, d):
    # Pushed through the face that is not cut, from a corner of the tightened cube; G_g = 1.
    rho = 0.01
    problem = problems.adversarial_cube("uncut", horizon=300 * d, dimension=d)
    trace = play(PFS(eta=share * rho, rho=rho, domain=Ball(3.0)), problem, watch="off")
    worst = float(trace.violations.largest)
    assert worst == pytest.approx((share - 1) * rho, abs=1e-15)
    assert (worst > 0) == (share > 1)


def test_twice_the_length_that_is_allowed_does_no_harm_on_a_square():
    # xi = 0.29 of what just touches: the limit of E1 is one for every set.
    rho, xi = 0.01, polyak_rate(math.sqrt(0.5), 1.0)
    problem = problems.adversarial_cube("uncut", horizon=600)
    trace = play(PFS(eta=2 * xi * rho, rho=rho, domain=Ball(1.0)), problem, watch="off")
    assert float(trace.violations.largest) == pytest.approx((2 * xi - 1) * rho, abs=1e-15)
