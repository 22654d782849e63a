"""Bounded noise in the constraint, and constraints that drift: by hand, under attack, too much."""

import math

import numpy as np
import pytest

from surefoot import PFS, Ball, Constants, Feedback, Problem, play
from surefoot.core.constants import polyak_rate
from surefoot.problems import ADVERSARIES, adversarial_cube
from surefoot.problems.constraints import Affine, AffineStream, Drifting, LinfNorm
from surefoot.rules import BoundedNoise, SlowDrift
from surefoot.rules.states import ActionState

KNOWN = Constants(R=1.5, G_f=7.0, G_g=2.5, sigma=1.5, epsilon=0.4, start_slack=0.3)


def near(value):
    return pytest.approx(value, rel=1e-8)  # steps are a hair shorter than by hand


# --- bounded noise, by hand ----------------------------------------------------------------------


def test_bounded_noise_by_hand():
    theorem = BoundedNoise(KNOWN, 10**6, value_error=0.01, subgradient_error=0.002)
    shift = 0.01 + 3 * 0.002
    c, G = shift + 0.01, 2.502
    xi = 1 - math.sqrt(1 - 1.5**2 / (4 * G**2))
    assert theorem.shift == pytest.approx(shift)
    assert theorem.tightening == near(2 * 2.5 * c / 1.5)  # the noise decides at so long a horizon
    assert theorem.rho == near(theorem.tightening - shift)
    eta = xi * theorem.tightening / 17.5
    assert theorem.eta == near(eta)
    wanted = 2 * 1.5**2 / eta + (eta / 2 * 49 + 7 / 1.5 * theorem.tightening) * 400
    assert theorem.regret_bound(400) == near(wanted)
    player, same = PFS.noisy(KNOWN, 10**6, value_error=0.01, subgradient_error=0.002)
    assert same == theorem
    assert player == PFS(eta=theorem.eta, rho=theorem.rho, domain=Ball(1.5))
    around = Ball(1.5, [0.25, 0.0])
    assert PFS.noisy(KNOWN, 50, around, value_error=0.01).algorithm.domain == around


def test_without_errors_the_tightening_minimises_the_bound():
    s = (1 - math.sqrt(1 - 0.3**2)) / 2.5
    rho = 1.5 * math.sqrt(2 / (s * (s / 2 + 1 / 1.5) * 10**6))
    theorem = BoundedNoise(KNOWN, 10**6)
    assert theorem.tightening == theorem.rho == near(rho)
    assert theorem.regret_bound(10**6) == near(2 * 2 * 1.5**2 / theorem.eta)
    assert BoundedNoise(KNOWN, 10).tightening == 0.3  # what the start allows


def test_what_noise_allows_to_promise():
    theorem = BoundedNoise(KNOWN, 50, value_error=0.01, subgradient_error=0.002)
    assert (theorem.kind, theorem.changing) == ("every round", False)
    assert (theorem.regret_exponent, BoundedNoise(KNOWN, 50).regret_exponent) == (1.0, 0.5)
    premises = {p.quantity: (p.limit, p.level) for p in theorem.premises}
    assert premises == {
        "cost gradient": (7.0, 0.0),
        "constraint subgradient": (2.502, 0.0),
        "subgradient near the boundary": (pytest.approx(1.498), pytest.approx(0.29)),
        "start": (pytest.approx(0.29), 0.0),
        "horizon": (50, 0.0),
    }


def test_too_much_noise_is_refused_with_the_tightening_it_would_need():
    sentence = "needs a tightening of 0.667 for these errors, .*, and at most 0.3, which sigma and"
    with pytest.raises(ValueError, match=sentence):
        BoundedNoise(KNOWN, 50, value_error=0.1)


@pytest.mark.parametrize("name", ["value_error", "subgradient_error"])
def test_a_negative_error_is_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be a finite number >= 0, got -0.1"):
        PFS.noisy(KNOWN, 50, **{name: -0.1})


# --- bounded noise, under attack -----------------------------------------------------------------


def noisy_game(player, constraint, x1, rounds, size, errors, seed=3):
    """The worst of many slopes and lies in every round: actions, slopes, true values of g."""
    rng = np.random.default_rng(seed)
    state, d = player.init(x1), len(x1)
    actions, slopes, values = [], [], []
    for t in range(rounds + 1):
        x = state.x
        g, s = constraint.query(x)
        actions.append(x)
        values.append(g)
        if t == rounds:
            break
        n = 4 * d + 12
        ways = np.concatenate([np.eye(d), -np.eye(d), rng.normal(size=(n - 2 * d, d))])
        ways = -size * ways / np.linalg.norm(ways, axis=1, keepdims=True)
        told_g = g + errors[0] * rng.choice([-1.0, -1.0, 1.0], size=(n, 1))
        lies = rng.normal(size=(n, d)) - rng.choice([0.0, 3.0], size=(n, 1)) * s
        told_s = s + errors[1] * lies / np.linalg.norm(lies, axis=1, keepdims=True)
        after = player.update(ActionState(np.tile(x, (n, 1))), Feedback(ways, told_g, told_s)).x
        worst = int(constraint.query(after)[0].argmax())
        worst = worst if rng.random() < 0.95 else int(rng.integers(n))
        slopes.append(ways[worst])
        seen = Feedback(ways[worst], float(told_g[worst, 0]), told_s[worst])
        state = player.update(state, seen)
    return np.array(actions), np.array(slopes), np.array(values)


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 5, 20])
@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("kind", ["value", "subgradient", "both"])
def test_true_values_stay_feasible_whatever_lies_are_told(kind, share, d):
    constraint = LinfNorm(0.5, d)
    domain = Ball(0.5 * math.sqrt(d))
    start = 0.5 * np.array([0.5, -0.45, 0.4, *np.zeros(max(0, d - 3))])[:d]
    c = constraint.constants(domain, start).with_origin("given", G_f=1.5)
    # As much as is allowed, or a part of it: c <= sigma level/(2 G_g).
    most = share * c.sigma * min(c.epsilon, c.start_slack) / 2 * (1 - 1e-12)
    errors = {
        "value": (most / 2, 0.0),
        "subgradient": (0.0, most / (2 * c.R)),
        "both": (most / 4, most / (4 * c.R)),
    }[kind]
    player, theorem = PFS.noisy(c, 300, domain, value_error=errors[0], subgradient_error=errors[1])
    actions, slopes, values = noisy_game(player, constraint, start, 300, 1.5, errors)
    assert (values <= 0).all()
    regret = np.cumsum(np.vecdot(slopes, actions[:-1]))
    regret = regret + 0.5 * np.abs(np.cumsum(slopes, axis=0)).sum(axis=1)
    assert (regret <= theorem.regret_bound(np.arange(1, 301))).all()


def test_lies_that_are_larger_than_told_violate():
    # A value that is always said to be smaller by more than rho is never corrected.
    constraint, domain = LinfNorm(0.5, 2), Ball(1.0)
    c = constraint.constants(domain, np.zeros(2)).with_origin("given", G_f=1.5)
    player, theorem = PFS.noisy(c, 3_000, domain, value_error=0.01)
    state, worst = player.init(np.zeros(2)), -1.0
    for _ in range(3_000):
        g, s = constraint.query(state.x)
        worst = max(worst, g)
        lie = g - 1.2 * theorem.tightening
        state = player.update(state, Feedback(np.array([-1.5, 0.0]), lie, s))
    assert worst > 0


# --- slow drift, by hand -------------------------------------------------------------------------


def test_slow_drift_by_hand():
    theorem = SlowDrift(KNOWN, 10**6, drift=0.01, common_slack=0.35, common_reach=2.0)
    s, cost = 0.2 / 2.5, 2.0 / 0.35
    length = 1.5 * math.sqrt(2 / ((0.5 + cost / s) * 10**6))
    assert cost > 1 / 1.5  # the parameters minimise the bound, which the common point makes
    rho = (length + 0.01 / 1.5) / s
    assert (theorem.rho, theorem.eta) == (near(rho), near(length / 7))
    wanted = 2 * 1.5**2 / theorem.eta + (theorem.eta / 2 * 49 + cost * 7 * theorem.rho) * 400
    assert theorem.regret_bound(400) == near(wanted)
    # What E1 allows: eta G_f + nu/sigma = xi rho/G_g.
    assert theorem.eta * 7 + 0.01 / 1.5 == near(s * theorem.rho)
    player, same = PFS.drifting(KNOWN, 10**6, drift=0.01, common_slack=0.35, common_reach=2.0)
    assert same == theorem
    assert player == PFS(eta=theorem.eta, rho=theorem.rho, domain=Ball(1.5))


def test_at_the_largest_tightening_the_drift_takes_from_the_step():
    theorem = SlowDrift(KNOWN, 10, drift=0.03)
    assert theorem.rho == 0.3
    assert theorem.eta == near((0.2 * 0.3 / 2.5 - 0.02) / 7)


def test_without_a_common_point_nothing_is_claimed_of_the_regret():
    theorem = SlowDrift(KNOWN, 100, drift=0.01)
    assert theorem.in_advance is None
    assert theorem.regret_bound([1, 100]).tolist() == [2 * 1.5 * 7, 200 * 1.5 * 7]
    assert theorem.regret_exponent is None
    assert theorem.kind == "every round"
    assert theorem.changing
    with_one = SlowDrift(KNOWN, 100, drift=0.01, common_slack=0.3)
    assert with_one.cost == pytest.approx(3.0 / 0.3)  # no reach given: two points are 2R apart
    assert (with_one.regret_exponent, with_one.violation_exponent) == (1.0, None)
    assert SlowDrift(KNOWN, 100, drift=0.0, common_slack=0.3).regret_exponent == 0.5


def test_a_common_point_alone_gives_sigma_too():
    lone = Constants(R=1.5, G_f=7.0, G_g=2.5, start_slack=0.5)
    theorem = SlowDrift(lone, 100, drift=1e-6, common_slack=0.4, common_reach=2.0)
    assert (theorem.level, theorem.sigma) == (0.2, pytest.approx(0.1))
    with pytest.raises(ValueError, match="needs sigma and epsilon, which are unknown: give them"):
        SlowDrift(lone, 100, drift=1e-6)


def test_premises_of_a_drift():
    theorem = SlowDrift(KNOWN, 100, drift=0.01)
    premises = {p.quantity: p.limit for p in theorem.premises}
    assert premises == {
        "cost gradient": 7.0,
        "constraint subgradient": 2.5,
        "subgradient near the boundary": 1.5,
        "start": theorem.rho,
        "horizon": 100,
    }


def test_a_drift_that_is_too_fast_is_refused_with_the_fastest_allowed():
    sentence = r"needs a drift below 0\.036, xi sigma rho/G_g at the largest .*, got 0\.05$"
    with pytest.raises(ValueError, match=sentence):
        PFS.drifting(KNOWN, 50, drift=0.05)


@pytest.mark.parametrize(
    ("field", "value"), [("drift", -0.1), ("common_slack", 0.0), ("common_reach", math.nan)]
)
def test_bad_numbers_of_a_drift_are_named(field, value):
    with pytest.raises(ValueError, match=f"{field} must be a finite number >=? 0, got {value}"):
        SlowDrift(KNOWN, 50, **{"drift": 0.01, field: value})


# --- slow drift, under attack --------------------------------------------------------------------


def waves(rounds, drift, height):
    """Offsets that rise and fall at the speed of the drift, between 0 and the height."""
    there_and_back = np.arange(rounds) * drift % (2 * height)
    return np.minimum(there_and_back, 2 * height - there_and_back)


def drifting_cube(adversary, d, rounds, drift, height=0.2):
    made = adversarial_cube(adversary, horizon=rounds, dimension=d, size=1.5)
    moving = Drifting(made.constraint, waves(rounds, drift, height))
    return Problem.of(made.costs, moving, made.domain, np.zeros(d), G_f=1.5)


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 5, 20])
@pytest.mark.parametrize("share", [0.3, 0.95])
@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_a_drift_that_is_slow_enough_never_violates(adversary, share, d):
    rounds = 300
    # The level is half of the slack at the tightest, 0.3 or more.
    drift = share * polyak_rate(1 / math.sqrt(d), 1.0) / math.sqrt(d) * 0.15
    problem = drifting_cube(adversary, d, rounds, drift)
    c = problem.constants
    assert c.epsilon == pytest.approx(0.5 * c.start_slack, rel=1e-15)
    assert c.start_slack >= 0.3 * (1 - 1e-15)
    player = PFS.drifting(
        c, rounds, problem.domain, drift=drift, common_slack=c.start_slack,
        common_reach=c.start_reach,
    )  # fmt: skip
    trace = play(player, problem, watch="raise")
    assert (trace.constraint <= 0).all()
    assert (trace.regret().upper <= player.guarantee.regret_bound(trace.rounds)).all()


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 5])
def test_thirty_times_the_drift_that_is_allowed_violates(d):
    # A half each for the step and the drift. The set is at rest until a corner is reached.
    rest, ramp, rho = 4_000, 60, 0.05
    sigma = 1 / math.sqrt(d)
    xi = polyak_rate(sigma, 1.0)
    player = PFS(eta=xi * rho / (2 * 1.5), rho=rho, domain=Ball(0.5 * math.sqrt(d)))
    allowed = xi * sigma * rho / 2
    made = adversarial_cube("uncut", horizon=rest + ramp, dimension=d, size=1.5)
    for times, held in ((1, True), (30, False)):
        rise = np.minimum(times * allowed * np.arange(1, ramp + 1), 0.3)
        moving = Drifting(made.constraint, np.append(np.zeros(rest), rise))
        problem = Problem.of(made.costs, moving, made.domain, np.zeros(d), G_f=1.5)
        trace = play(player, problem, watch="off")
        assert trace.constraint[rest - 1] > -1.1 * rho
        assert bool((trace.constraint <= 0).all()) is held


def test_a_constraint_that_turns_slowly_is_followed():
    # Two faces that turn by an angle a round: sup |g_{t+1} - g_t| is at most angle R on the ball.
    rounds, R = 400, 0.8
    normals = np.array([[1.0, 0.0], [-0.6, 0.8], [-0.6, -0.8]])
    closed = Affine(normals, [0.3, 0.3, 0.3])
    known = closed.constants(Ball(R), np.zeros(2)).with_origin("given", G_f=1.5)
    # The common point gives all: 0 has a slack of 0.3 in every round.
    lone = Constants(R=R, G_f=1.5, G_g=known.G_g, start_slack=0.3)
    slowest = SlowDrift(lone, rounds, 0.0, 0.3, R)
    angle = 0.9 * polyak_rate(slowest.sigma, known.G_g) * slowest.sigma * slowest.level / R
    turns = angle * np.arange(rounds)
    Q = np.array([[np.cos(turns), -np.sin(turns)], [np.sin(turns), np.cos(turns)]])
    moving = AffineStream(np.einsum("ijt,kj->tki", Q, normals), np.full((rounds, 3), 0.3))
    player = PFS.drifting(lone, rounds, drift=angle * R, common_slack=0.3, common_reach=R)
    made = adversarial_cube("random", horizon=rounds, size=1.5)
    problem = Problem(
        costs=made.costs, constraint=moving, domain=Ball(R), start=np.zeros(2), constants=lone
    )
    trace = play(player, problem, watch="raise")
    assert (trace.constraint <= 0).all()
