"""A premise that breaks is told with its round and value, in every engine."""

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

from surefoot import PFS, Ball, play, problems
from surefoot.games import PremiseError, PremiseWarning
from surefoot.guarantees import Tuned
from surefoot.problems import Problem
from surefoot.problems.constraints import (
    Affine,
    FunctionConstraint,
    L2Norm,
    LinfNorm,
    QuadraticForm,
    max_of,
)
from surefoot.problems.costs import Linear
from surefoot.rules import MahdaviLinear, Theorem1

ENGINES = pytest.mark.parametrize("engine", ["loop", "batch", "scan"])
T = 60


def pushing(late=(), size=1.0, d=2):
    """Small slopes, and from some round on one that is larger, a different one for each run."""
    slopes = np.full((T, max(1, len(late)), d), 0.1)
    for run, t in enumerate(late):
        slopes[t - 1, run, 0] = size + run
    return Linear(slopes)


def tuned(problem, horizon=None, **constants):
    known = problem.constants.with_origin("given", **constants)
    theorem = Theorem1(known, eta=0.001, rho=0.01, horizon=horizon)
    return Tuned(PFS(eta=0.001, rho=0.01, domain=problem.domain), theorem)


@pytest.fixture
def late():
    """Runs whose cost gradient breaks G_f = 1 in rounds 17 and 5."""
    costs = pushing(late=(17, 5), size=3.0)
    return Problem.of(costs, LinfNorm(0.5, 2), Ball(1.0), [0.0, 0.1], G_f=1.0)


@ENGINES
def test_a_gradient_above_G_f_is_told_with_the_round_and_the_value_of_each_run(late, engine):
    trace = play(tuned(late), late, engine=engine, watch="record")
    found = [(b.run, b.round, b.constant) for b in trace.breaches]
    assert found == [(1, 5, "G_f"), (0, 17, "G_f")]
    assert trace.breaches[0].observed == pytest.approx(math.hypot(4.0, 0.1), rel=1e-15)
    assert str(trace.breaches[1]) == (
        "round 17: |grad f| = 3.00167 exceeds G_f = 1: "
        "the regret bound and the feasibility guarantee no longer apply"
    )
    assert trace.verdict() == (
        f"premise broken, {trace.breaches[0]}; "
        "0 violations in 120 rounds of 2 trials, largest g = -0.4"
    )


@ENGINES
def test_each_premise_is_warned_of_once_with_its_first_round(late, engine):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        trace = play(tuned(late), late, engine=engine, watch="warn")
    assert [str(w.message) for w in said] == [str(trace.breaches[0])]
    assert said[0].category is PremiseWarning
    assert Path(said[0].filename) == Path(__file__)  # the line of the user, not of the library


@ENGINES
def test_raise_ends_the_game_at_the_first_round(late, engine):
    rounds = []
    with pytest.raises(PremiseError, match=r"^round 5: \|grad f\| = 4.00125 exceeds G_f = 1: "):
        play(tuned(late), late, engine=engine, watch="raise", callback=rounds.append)
    assert rounds == []


@ENGINES
def test_off_looks_at_nothing_and_no_guarantee_claims_nothing(late, engine):
    off = play(tuned(late), late, engine=engine, watch="off")
    assert (off.breaches, off.observed) == ((), None)
    bare = play(tuned(late).algorithm, late, engine=engine, watch="raise")
    assert bare.breaches == ()
    assert bare.verdict().startswith("no guarantee was claimed: 0 violations in ")
    np.testing.assert_allclose(bare.observed.cost_gradient, np.hypot([3.0, 4.0], 0.1))


@ENGINES
def test_a_short_subgradient_near_the_boundary_breaks_sigma(engine):
    # g is flat: |s| = 1/2 in round 1, where g = -0.4 is near the boundary at epsilon = 0.45.
    g = FunctionConstraint(
        lambda x: 0.5 * abs(x).max(axis=-1, keepdims=x.ndim > 1) - 0.45,
        lambda x: 0.5 * LinfNorm(1.0, 2).subgradient(x),
        bound=1.0,
    )
    problem = Problem.of(pushing((3, 4)), g, Ball(1.0), [0.0, 0.1], epsilon=0.2)
    player = tuned(problem, sigma=0.6, epsilon=0.42)
    trace = play(player, problem, engine=engine, watch="record")
    assert [(b.run, b.round, b.constant) for b in trace.breaches] == [
        (0, 1, "sigma"),
        (1, 1, "sigma"),
    ]
    assert "|s| = 0.5 where g >= -0.42 is below sigma = 0.6" in str(trace.breaches[0])
    far = tuned(problem, sigma=0.6, epsilon=0.2)  # g stays below -0.2: nothing to see
    assert play(far, problem, engine=engine, watch="raise").breaches == ()


@ENGINES
def test_a_start_with_less_slack_than_counted_on_is_told_in_round_1(engine):
    problem = Problem.of(pushing((3, 4)), LinfNorm(0.5, 2), Ball(1.0), [0.0, 0.1])
    player = tuned(problem)
    with pytest.raises(PremiseError) as raised:
        play(player, problem, start=[0.495, 0.1], engine=engine, watch="raise")
    assert str(raised.value) == (
        "round 1: the slack -g(x_1) = 0.005 is below the slack counted on = 0.01: "
        "the feasibility guarantee does not apply"
    )
    assert play(player, problem, start=[0.49, 0.1], engine=engine, watch="raise").breaches == ()


@ENGINES
def test_rounds_beyond_the_horizon_of_the_guarantee_are_told(engine):
    problem = Problem.of(pushing((3, 4)), LinfNorm(0.5, 2), Ball(1.0), [0.0, 0.1])
    player = tuned(problem, horizon=40)
    assert play(player, problem, engine=engine, watch="raise").horizon == 40
    trace = play(player, problem, horizon=50, engine=engine, watch="record")
    assert [(b.run, b.round, b.observed) for b in trace.breaches] == [(0, 41, 41.0), (1, 41, 41.0)]
    assert "the round = 41 exceeds the horizon = 40" in str(trace.breaches[0])


@ENGINES
def test_a_long_subgradient_breaks_G_g(engine):
    g = FunctionConstraint(
        lambda x: 2 * x[..., :1] - 1 if x.ndim > 1 else 2 * x[0] - 1,
        lambda x: 0 * x + np.array([2.0, 0.0]),
        bound=1.5,
    )
    problem = Problem.of(pushing((3, 4)), g, Ball(1.0), [0.0, 0.1])
    trace = play(tuned(problem), problem, engine=engine, watch="record")
    names = {(b.round, b.constant, b.observed) for b in trace.breaches}
    assert names == {(1, "G_g", 2.0)}


@pytest.mark.parametrize("T", [300, 5_000])
@pytest.mark.slow
def test_the_first_round_is_exact_across_blocks(T):
    slopes = np.full((T, 1, 2), 0.1)
    slopes[T - 3, 0] = 5.0
    problem = Problem.of(Linear(slopes), LinfNorm(0.5, 2), Ball(1.0), [0.0, 0.1], G_f=1.0)
    for engine in ("loop", "batch", "scan"):
        trace = play(tuned(problem), problem, engine=engine, watch="record")
        assert [b.round for b in trace.breaches] == [T - 2]


def test_runs_are_watched_each_by_itself(late):
    strict, loose = tuned(late), tuned(late, G_f=3.5)
    first = play(loose, late, watch="record", horizon=T)
    second = play(strict, late, watch="record", horizon=20)
    assert [(b.run, b.round) for b in first.breaches] == [(1, 5)]
    assert [(b.run, b.round) for b in second.breaches] == [(1, 5), (0, 17)]


def test_the_text_of_the_paper_breaks_its_own_G_f():
    toy = problems.paper_toy(200, trials=3)
    eta, rho = problems.SETTINGS[1].parameters(200)
    text = toy.constants.with_origin("given", G_f=math.sqrt(2))
    player = Tuned(PFS(eta=eta, rho=rho, domain=Ball(1.0)), Theorem1(text, eta, rho, 200))
    with pytest.warns(PremiseWarning, match=r"^round 1: \|grad f\| = .* exceeds G_f = 1.41421: "):
        trace = play(player, toy)
    assert trace.observed.cost_gradient.max() > 5 * math.sqrt(2)
    true = PFS.anytime(toy.constants, 200)
    assert play(true, toy, watch="raise").breaches == ()


ROWS = Affine([[1.0, 0.0], [0.0, 1.0]], [0.3, 0.4])


@pytest.mark.parametrize(
    ("constraint", "broken"),
    [
        (ROWS, False),
        (LinfNorm(0.4, 2), False),
        (L2Norm(0.5), True),
        (max_of(ROWS, L2Norm(0.5)), True),
        (
            FunctionConstraint(
                lambda x: x[..., 0] - 0.3, lambda x: np.array([1.0, 0.0]), bound=1.0
            ),
            True,
        ),
    ],
)
def test_a_theorem_about_linear_constraints_is_blamed_on_others(constraint, broken):
    costs = Linear(np.tile([-1.0, 0.5], (30, 1)))
    problem = Problem.of(costs, constraint, Ball(1.0), [0.0, 0.0])
    trace = play(MahdaviLinear.balanced(problem.constants, 30), problem, watch="record")
    assert bool(trace.breaches) == broken
    assert ("not known to be linear" in trace.verdict()) == broken


@ENGINES
def test_the_longest_slopes_are_observed_over_all_blocks(engine):
    # From x = (0.6, 0) to 0 and on to -0.3: |s| = |2 x| is longest in the first of 3,000 rounds.
    horizon, disc = 3_000, QuadraticForm(2 * np.eye(2), [0.0, 0.0], 0.49)
    costs = Linear(np.tile([[[3.0, 0.0], [1.5, 0.0]]], (horizon, 1, 1)))
    toy = Problem.of(costs, disc, Ball(0.7), [0.6, 0.0])
    trace = play(PFS(eta=1e-4, rho=0.0, domain=Ball(0.7)), toy, engine=engine, watch="record")
    lengths = 2 * np.linalg.norm(trace.actions, axis=-1)
    assert trace.observed.constraint_subgradient == pytest.approx(lengths.max(axis=0), rel=1e-12)
    assert (lengths.max(axis=0) > lengths[-1] + 0.1).all()
