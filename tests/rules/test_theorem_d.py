"""Theorem D: its bounds by hand, against every stream, and the figures they lead to."""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from tests.rules._observed import observed_regret_bound

from surefoot import PFS, Ball, Constants, Feedback, Problem, play, problems
from surefoot.guarantees import ObservedRegret
from surefoot.problems import ADVERSARIES
from surefoot.problems.constraints import LinfNorm
from surefoot.problems.costs import Linear
from surefoot.rules import CertifiedPFS, TheoremD
from surefoot.sets import project_halfspace

from ._held import STREAMS, stream
from ._slack import assert_bounds_hold

KNOWN = Constants(R=1.5, G_f=7.0, G_g=2.5, start_slack=0.3, start_reach=1.75)
XI = 1 - math.sqrt(1 - (0.15 / 1.75 / 2.5) ** 2)


# --- by hand -------------------------------------------------------------------------------------


def test_the_explicit_bound_by_hand_with_a_falling_tightening():
    T, c = 400, 0.6
    root_s, last = 7.0 * 20, 0.03
    first = max(math.sqrt(2) * 1.5 * root_s, 2 * 1.5**2 * 2.5 * 7 / (XI * last))
    second = math.sqrt(2) * 1.5 * root_s
    # The smaller of 2 L sqrt(T) = 280 and sqrt(S (1 + ln T)) = 370.
    tight = 1.75 * c / 0.3 * 280
    assert math.sqrt(root_s**2 * (1 + math.log(T))) > 280
    bracket = 2.5 / XI * math.log(0.15 / last) + c * (1 + math.log(T)) / (2 * math.sqrt(2) * 1.5)
    wanted = first + second + tight + 2 * 1.5 * 1.75 * 7 / 0.3 * bracket
    bound = TheoremD(KNOWN, c).regret_bound(T)
    assert bound == pytest.approx(wanted, rel=1e-9)  # xi by hand loses digits


def test_the_explicit_bound_by_hand_with_a_fixed_tightening():
    T = 400
    first = max(math.sqrt(2) * 1.5 * 140, 2 * 1.5**2 * 2.5 * 7 / (XI * 0.02))
    wanted = first + math.sqrt(2) * 1.5 * 140 + 1.75 * 0.02 / 0.3 * 7 * T
    bound = TheoremD(KNOWN, 0.02, decreasing=False, horizon=T).regret_bound(T)
    assert bound == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("eta", [1e-9, 0.5])  # so small that it decides, and so large that not
def test_the_explicit_bound_by_hand_with_a_fixed_limit_on_the_step(eta):
    T, c = 400, 0.6
    first = 2 * 1.5**2 * max(1 / eta, 2.5 * 7 / (XI * 0.03))
    wanted = first + eta / 2 * 49 * T + 1.75 * c / 0.3 * 280
    slow = 2.5 * 7 / XI * math.log(5)
    wanted += 2 * 1.5 * 1.75 / 0.3 * (slow + (0.15 - 0.03) / eta)
    assert TheoremD(KNOWN, c, eta=eta).regret_bound(T) == pytest.approx(wanted, rel=1e-9)


def test_a_round_in_which_nothing_moved_costs_the_diameter_times_its_gradient():
    player = CertifiedPFS(G_g=1.0, domain=Ball(1.5), rho=0.2)
    begun = player.update(player.init(np.zeros(2)), Feedback(np.zeros(2), -0.5, np.eye(2)[0]))
    assert ObservedRegret(stayed=7.0).bound(player, begun) == 2 * 1.5 * 7.0
    assert ObservedRegret().bound(player, begun) == 0.0


def test_the_bound_in_terms_of_what_was_observed_by_hand():
    # The first round has no gradient: its step size and its moves count for nothing.
    sizes, etas = [0.0, 2.0, 3.0], [math.nan, 0.5, 0.25]
    rhos, moves = [0.3, 0.2, 0.1], [9.0, 0.4, 0.2]
    wanted = 2 * 4 / 0.25 + 0.5 * (0.5 * 4 + 0.25 * 9)
    wanted += 1.5 / 0.6 * (0.2 * 2 + 0.1 * 3) + 2 * 2 * 1.5 / 0.6 * (0.1 / 0.5)
    wanted -= 0.4 / (2 * 0.5) + 0.2 / (2 * 0.25)
    found = observed_regret_bound(sizes, etas, rhos, moves, R=2.0, slack=0.6, reach=1.5)
    assert found == pytest.approx(wanted, rel=1e-14)


def test_without_any_gradient_there_is_no_regret():
    assert observed_regret_bound([0.0], [1.0], [0.1], [2.0], R=1.0, slack=1.0, reach=1.0) == 0.0


def test_without_G_f_feasibility_is_promised_and_regret_is_not_put_in_numbers():
    theorem = TheoremD(Constants(R=1.5, G_g=2.5, start_slack=0.3, start_reach=1.75), 0.6)
    assert theorem.regret_bound(np.array([1, 10])).tolist() == [math.inf] * 2
    assert theorem.bounds(np.array([1, 10]))["round"].tolist() == [0.0] * 2
    assert (theorem.kind, theorem.first_feasible) == ("every round", 1)
    assert [p.constant for p in theorem.premises] == ["G_g", "the slack counted on"]


def test_what_it_rests_on():
    premises = {p.constant: p for p in TheoremD(KNOWN, 0.02, decreasing=False, horizon=9).premises}
    assert list(premises) == ["G_g", "the slack counted on", "G_f", "the horizon"]
    assert premises["G_f"].only_regret
    assert not premises["G_g"].only_regret
    assert (premises["G_g"].limit, premises["the slack counted on"].limit) == (2.5, 0.3)


def test_the_bound_grows_as_the_root_of_the_horizon():
    T = np.array([1e8, 1e10])
    for theorem in (TheoremD(KNOWN, 1.875), TheoremD(KNOWN, 1.875, eta=1e-4)):
        ratio = np.divide(*theorem.regret_bound(T)[::-1])
        assert 9.9 < ratio < (10.5 if theorem.eta is None else 101)
    assert theorem.regret_exponent == 0.5
    assert theorem.violation_exponent is None


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: TheoremD(Constants(R=1.0, G_g=1.0), 0.1), "needs start_slack, which is unknown"),
        (
            lambda: TheoremD(Constants(R=1.0, G_g=1.0, start_slack=0.0, start_reach=1.0), 0.1),
            "Theorem D (certified steps) needs a strictly feasible start: start_slack = -g(x_1) "
            "must be > 0, got 0",
        ),
        (lambda: TheoremD(KNOWN, 0.0), "rho must be a finite number > 0, got 0.0"),
        (lambda: TheoremD(KNOWN, 0.1, eta=-1.0), "eta must be a finite number > 0, got -1.0"),
        (lambda: TheoremD(KNOWN, 0.1, horizon=0), "horizon must be a whole number of rounds >= 1"),
    ],
)
def test_what_it_cannot_hold_for_is_refused(make, sentence):
    with pytest.raises(ValueError) as raised:
        make()
    assert sentence in str(raised.value)


# --- against every stream ------------------------------------------------------------------------


class Observed(NamedTuple):
    """What Theorem D (iii) speaks of, round by round, and the regret against one comparator."""

    sizes: np.ndarray
    etas: np.ndarray
    rhos: np.ndarray
    moves: np.ndarray
    rooms: np.ndarray
    slopes: np.ndarray
    actions: np.ndarray


def observe(player, problem, horizon):
    """Play one run and keep what (iii) needs; cuts and balls are computed again."""
    state, costs, rows = player.init(problem.start), problem.costs, []
    for t in range(horizon):
        g, s = problem.constraint.query(state.x)
        gradient = costs.gradient(t, state.x)
        seen = Feedback(gradient, g, s)
        after, info = player.step(state, seen)
        certificate, inverse_eta = info.certificate, after.learner.inverse_eta
        assert certificate.rule != "stayed"
        eta = 1 / inverse_eta if inverse_eta else math.nan
        y = state.x - (eta * gradient if inverse_eta else 0.0)
        p = project_halfspace(y, g + float(s @ (y - state.x)) + certificate.rho, s)
        moved = float((y - p) @ (y - p) + (p - after.x) @ (p - after.x))
        size = float(np.linalg.norm(gradient))
        rows.append((size, eta, certificate.rho, moved, certificate.length, gradient, state.x))
        state = after
    return Observed(*(np.array(column) for column in zip(*rows, strict=True)))


def drifting(horizon):
    """Linear costs that turn steadily from one corner to the opposite one."""
    share = np.linspace(-1.0, 1.0, horizon)[:, None]
    slopes = share * np.array([1.2, 0.3, -0.6]) + (1 - abs(share)) * np.array([0.1, -0.8, 0.4])
    return Problem.of(
        Linear(slopes), LinfNorm(0.4, 3), Ball(0.4 * math.sqrt(3)), np.zeros(3), name="cube, drift"
    )


CUBES = (*ADVERSARIES, "drift")


def cube(name, horizon):
    return drifting(horizon) if name == "drift" else stream(name, horizon)


@pytest.mark.slow
@pytest.mark.parametrize("name", CUBES)
@pytest.mark.parametrize("tuning", ["default", "known_horizon"])
def test_the_observed_bound_holds_after_every_number_of_rounds(name, tuning):
    horizon = 1_500
    problem = cube(name, horizon)
    player, guarantee = getattr(CertifiedPFS, tuning)(problem.constants, horizon)
    seen = observe(player, problem, horizon)
    slack, R = 0.4, problem.domain.radius
    for T in (1, 2, 3, 10, 40, 150, 500, horizon):
        total = seen.slopes[:T].sum(axis=0)
        best = np.where(total > 0, -0.4, 0.4)
        regret = float((seen.slopes[:T] * seen.actions[:T]).sum() - total @ best)
        sharp = observed_regret_bound(
            *(column[:T] for column in seen[:4]), R=R, slack=slack, reach=np.linalg.norm(best)
        )
        explicit = float(guarantee.regret_bound(T))
        assert regret <= sharp <= explicit


@pytest.mark.parametrize("name", CUBES)
def test_certified_lengths_are_never_below_what_the_theorem_says(name):
    problem = cube(name, 600)
    player, _ = CertifiedPFS.default(problem.constants)
    seen = observe(player, problem, 600)
    reach = np.linalg.norm(seen.actions - problem.start, axis=1).max()
    sigma = np.minimum((0.4 - seen.rhos) / reach, 1.0)
    xi = 1 - np.sqrt(1 - sigma**2)
    # The root of the margin, 4 (d + 8) u, is a share of about 1e-7.
    assert (seen.rooms >= xi * seen.rhos * (1 - 1e-6)).all()
    gradients = np.maximum.accumulate(seen.sizes)
    root = np.sqrt(np.cumsum(seen.sizes**2))
    lowest = np.minimum(
        math.sqrt(2) * problem.domain.radius / root, xi.min() * seen.rhos / gradients
    )
    assert (seen.etas >= lowest * (1 - 1e-6)).all()


TUNINGS = ("default", "known_horizon")


@pytest.mark.slow
@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("horizon", [1, 300, 3_000])
def test_no_bound_is_exceeded_in_any_round(name, horizon):
    problem = stream(name, horizon)
    for tuning in TUNINGS:
        (trace,) = assert_bounds_hold(
            [getattr(CertifiedPFS, tuning)(problem.constants, horizon)], problem, horizon
        )
        assert (trace.violations.largest <= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", CUBES)
def test_the_default_is_no_worse_than_corollary_1_with_true_constants(name):
    horizon = 2_000
    problem = cube(name, horizon)
    certified = play(CertifiedPFS.default(problem.constants), problem, horizon=horizon)
    corollary = play(PFS.anytime(problem.constants, horizon), problem)
    allowed = 0.05 * float(corollary.guarantee.regret_bound(horizon))
    assert certified.final_regret() <= corollary.final_regret() + allowed
    assert certified.violations.largest <= 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: problems.random_polytope(5, 16, horizon=400, trials=4),
        lambda: problems.rotated_box(4, horizon=400, trials=4, costs="linear"),
        lambda: problems.ellipsoid(4, 100.0, horizon=400, trials=4),
        lambda: problems.spectral_ball((3, 2), horizon=400, trials=4),
        lambda: problems.fair_logistic(4, horizon=400, trials=4),
    ],
    ids=["polytope", "turned box", "ellipsoid", "matrices", "logistic"],
)
def test_feasible_in_every_round_of_every_other_problem(make):
    problem = make()
    for tuning in TUNINGS:
        trace = play(getattr(CertifiedPFS, tuning)(problem.constants, 400, problem.domain), problem)
        assert (trace.violations.largest <= 0).all()
        assert trace.breaches == ()


# --- the figures ---------------------------------------------------------------------------------


@cache
def published(make, tuning):
    """Regret of the 30 trials of the published streams, and the largest g, at T = 20,000."""
    toy = make()
    constants = Constants(R=1.0, G_g=1.0, start_slack=0.5, start_reach=1.0)  # nothing else
    if tuning in TUNINGS:
        player = getattr(CertifiedPFS, tuning)(constants, 20_000).algorithm
    else:
        root = math.sqrt(20_000)
        player = CertifiedPFS(
            G_g=1.0, domain=toy.domain, rho=tuning / root, decreasing=False, eta=0.5 / root
        )
    trace = play(player, toy, every=None, keep_actions=False)
    return trace.final_regret(), trace.violations.largest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "tuning", "mean", "limit"),
    [
        (problems.paper_toy, 1.0, 84.09, 85),
        (problems.paper_toy, 0.5, 59.49, 62),
        (problems.paper_toy, "default", 43.83, 50),
        (problems.paper_toy, "known_horizon", 51.99, 70),
        (problems.binding_toy, "default", 536.52, 560),
        (problems.binding_toy, "known_horizon", 307.42, 330),
    ],
)
def test_mean_regret_on_the_published_streams(make, tuning, mean, limit):
    regret, worst = published(make, tuning)
    assert len(regret) == 30
    assert regret.mean() == pytest.approx(mean, abs=5.1e-3)
    assert regret.mean() <= limit
    assert (worst <= 0).all()


@pytest.mark.slow
def test_where_the_constraint_binds_corollary_1_costs_nine_times_as_much():
    toy = problems.binding_toy()
    on_set = toy.constants.with_origin("given", G_f=6 * 2 * math.sqrt(2))
    published_setting = problems.SETTINGS[0].parameters(20_000)
    players = [
        PFS.anytime(on_set, 20_000),
        PFS.anytime(toy.constants.with_origin("given", G_f=18.73), 20_000),
        PFS(eta=published_setting[0], rho=published_setting[1], domain=toy.domain),
    ]
    kept = {"every": None, "keep_actions": False}
    traces = [play(player, toy, horizon=20_000, **kept) for player in players]
    found = [round(float(trace.final_regret().mean())) for trace in traces]
    assert found == [6780, 7462, 1142]
    assert published(problems.binding_toy, "default")[0].mean() < found[0] / 8
