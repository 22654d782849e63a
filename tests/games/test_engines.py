"""One game, three engines, any backend: the same trace."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from surefoot import OGD, PFS, Ball, kernel, play, problems
from surefoot.core.types import Info
from surefoot.games import rounds, scan
from surefoot.problems import ADVERSARIES, Problem, adversarial_cube
from surefoot.problems.constraints import Affine, FunctionConstraint, L2Norm, LinfNorm, max_of
from surefoot.problems.costs import FromChunks, Linear, Quadratic
from surefoot.testing import asarray, double_precision, why_missing

from ._compare import assert_same_trace

pytestmark = pytest.mark.compiled

T = 700  # no power of two, so that the compiled blocks do not end with the game

GAMES = {
    "paper toy": lambda: problems.paper_toy(T, trials=3),
    "binding toy": lambda: problems.binding_toy(T, trials=2),
    **{
        f"{name}, d = {d}": lambda name=name, d=d: adversarial_cube(name, horizon=T, dimension=d)
        for name, d in [*((n, 2 if n == "out" else 5) for n in ADVERSARIES), ("uncut", 1)]
    },
}
# A compilation each, hence not all with OGD.
PAIRS = [(game, "PFS") for game in GAMES] + [
    (game, "OGD") for game in ("paper toy", "corners, d = 5", "random, d = 5")
]


def tuned(name, problem):
    if name == "PFS":
        return PFS.tuned(problem.constants, T)
    return OGD.fixed(problem.constants, T, problem.constraint.region)


@pytest.mark.slow
@pytest.mark.parametrize(("game", "player"), PAIRS)
def test_loop_batch_and_scan_leave_the_same_trace(game, player):
    problem = GAMES[game]()
    player = tuned(player, problem)
    loop, batch, scan = (play(player, problem, engine=e) for e in ("loop", "batch", "scan"))
    assert np.ptp(loop.actions) > 0.01  # it went somewhere
    assert_same_trace(batch, loop)
    assert_same_trace(scan, loop)
    assert [t.engine for t in (loop, batch, scan)] == ["loop", "batch", "scan"]


@pytest.mark.parametrize("engine", ["batch", "scan"])
def test_parameters_and_horizons_of_their_own_give_what_separate_games_give(engine):
    toy = problems.binding_toy(300, trials=2)
    players = [
        PFS(eta=0.002, rho=0.01, domain=Ball(1.0)),
        PFS(eta=0.02, rho=0.03, domain=Ball(0.6)),
        PFS(eta=0.01, rho=0.02, domain=Ball(1.0)),
    ]
    horizons = [70, 300, 128]
    for player, horizon in zip(players, horizons, strict=True):
        trace = play(player, toy, horizon=horizon, engine=engine)
        assert_same_trace(trace, play(player, toy, horizon=horizon, engine="loop"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "backend", ["array-api-strict", "jax", pytest.param("torch", marks=pytest.mark.torch)]
)
@pytest.mark.parametrize("game", ["binding toy", "uncut, d = 5", "corners, d = 5"])
def test_the_loop_plays_the_same_game_on_every_backend(game, backend):
    if reason := why_missing(backend):
        pytest.skip(reason)
    problem = GAMES[game]()
    player = PFS.tuned(problem.constants, T)
    with double_precision(backend):
        start = asarray(problem.start, backend)
    # Outside JAX's 64-bit mode: the game sees to its own precision.
    seen = play(player, problem, horizon=30, engine="loop", start=start, watch="record")
    assert_same_trace(seen, play(player, problem, horizon=30, engine="loop", watch="record"))
    assert type(seen.actions) is np.ndarray
    assert seen.actions.dtype == np.float64


def test_a_start_of_another_backend_is_taken_by_the_batch_too():
    start = asarray([0.1, -0.3], "array-api-strict")
    toy = problems.paper_toy(5, trials=2)
    player = PFS(eta=0.01, rho=0.01, domain=Ball(1.0))
    first = play(player, toy, start=start).actions[0]
    np.testing.assert_array_equal(first, [[0.1, -0.3]] * 2)


@pytest.mark.parametrize("engine", ["loop", "batch", "scan"])
def test_a_run_axis_of_one_stays_and_none_is_not_added(engine):
    targets = np.random.default_rng(3).normal(size=(9, 2))
    g = LinfNorm(0.5, 2)
    player = PFS(eta=0.1, rho=0.01, domain=Ball(1.0))
    flat = Problem.of(Quadratic(targets, 1.0), g, Ball(1.0), [0.0, 0.1])
    deep = Problem.of(Quadratic(targets[:, None], 1.0), g, Ball(1.0), [0.0, 0.1])
    one, row = play(player, flat, engine=engine), play(player, deep, engine=engine)
    assert one.actions.shape == (9, 2)
    assert one.violations.largest.shape == one.total_cost.shape == ()
    assert (one.runs, one.status) == (None, "ok")
    assert row.actions.shape == (9, 1, 2)
    assert row.regret().upper.shape == (9, 1)
    assert (row.runs, row.status) == (1, ("ok",))
    np.testing.assert_array_equal(row.actions[:, 0], one.actions)


def test_auto_takes_the_loop_for_one_run_and_the_batch_for_several():
    cube = adversarial_cube("constant", horizon=3)
    player = PFS(eta=0.1, rho=0.01, domain=Ball(1.0))
    with kernel.engine("python"):
        assert play(player, cube).engine == "loop"
        assert play(player, problems.paper_toy(3, trials=1)).engine == "loop"
        assert play(player, problems.paper_toy(3, trials=2)).engine == "batch"


@pytest.mark.slow
def test_one_compilation_serves_all_horizons_and_parameters(monkeypatch):
    kept = {}  # another test of this process may have compiled the same
    monkeypatch.setattr(scan, "_PROGRAMS", kept)
    toy = problems.paper_toy(3_000, trials=2, seed=5)
    for horizon, eta in ((3_000, 0.01), (1, 0.02), (2_049, 0.03), (77, 0.04)):
        play(PFS(eta=eta, rho=0.1 * eta, domain=Ball(1.0)), toy, horizon=horizon, engine="scan")
    other = problems.binding_toy(2_500, trials=2)  # another problem of the same shape
    play(PFS(eta=0.1, rho=0.01, domain=Ball(1.5)), other, engine="scan")
    assert len(kept) == 1


@pytest.mark.parametrize("size", [1, 2, 5])
def test_groups_of_runs_leave_what_one_batch_leaves(monkeypatch, size):
    toy = problems.binding_toy(300, trials=3)
    player = PFS(eta=0.01, rho=0.05, domain=Ball(1.0))
    wanted = play(player, toy, engine="batch", every=7)
    monkeypatch.setattr(rounds, "_group_size", lambda game: size)
    seen = play(player, toy, engine="batch", every=7)
    for name in ("actions", "cost_sum", "constraint", "next_action", "total_cost"):
        np.testing.assert_array_equal(getattr(seen, name), getattr(wanted, name))
    np.testing.assert_array_equal(seen.violations, wanted.violations)


@pytest.mark.parametrize(
    ("d", "rows", "size"),
    [(2, 4, 65_536), (100, 4, 1_296), (10_000, 4, 13), (200_000, 4, 1), (10, 30_000, 10)],
)
def test_a_group_fits_in_the_cache_or_shares_a_large_constraint(d, rows, size):
    g = LinfNorm(0.5, d) if rows == 4 else Affine(np.ones((rows, d)), np.ones(rows))
    game = SimpleNamespace(
        algorithm=PFS(eta=0.1, rho=0.1, domain=Ball(1.0)),
        problem=SimpleNamespace(costs=SimpleNamespace(dimension=d), constraint=g),
    )
    assert rounds._group_size(game) == size


class Averaging(NamedTuple):
    x: Any
    t: Any
    mean: Any
    inner: Any


class Inner(NamedTuple):
    weight: Any


@dataclass(frozen=True)
class Averager:
    """A state with a shared counter, a vector, and a column in a state of its own."""

    eta: Any

    def init(self, x1):
        return Averaging(x1, 0.0, 0.0 * x1, Inner(x1[..., :1] if x1.ndim > 1 else float(x1[0])))

    def step(self, state, feedback):
        t = state.t + 1.0
        mean = state.mean + (feedback.cost_gradient - state.mean) / t
        weight = 0.9 * state.inner.weight + 0.1 * feedback.constraint_value
        return Averaging(state.x - self.eta * mean - 0.01 * weight, t, mean, Inner(weight)), Info()


@pytest.mark.slow
def test_a_state_may_hold_a_counter_and_other_states():
    toy = problems.paper_toy(60, trials=2)
    loop, batch, scan = (
        play(Averager(0.03), toy, engine=e, start=[0.2, -0.1]) for e in ("loop", "batch", "scan")
    )
    assert_same_trace(batch, loop)
    assert_same_trace(scan, loop)


class Undecorated:
    """No dataclass: it can be played, but its numbers cannot become columns."""

    def __init__(self, eta):
        self.inner = PFS(eta=eta, rho=0.01, domain=Ball(1.0))

    def init(self, x1):
        return self.inner.init(x1)

    def step(self, state, feedback):
        return self.inner.step(state, feedback)


@pytest.mark.parametrize("engine", ["loop", "batch", "scan"])
def test_any_object_with_init_and_update_can_play(engine):
    toy = problems.paper_toy(20, trials=2)
    wanted = play(Undecorated(0.02).inner, toy, engine="loop")
    assert_same_trace(play(Undecorated(0.02), toy, engine=engine), wanted)


@pytest.mark.parametrize("engine", ["loop", "batch", "scan"])
def test_costs_in_chunks_play_the_same_game(engine):
    targets = np.random.default_rng(8).normal(size=(50, 2, 3))
    held = Problem.of(Quadratic(targets, 1.0), L2Norm(0.7), Ball(1.0), [0.1, 0.0, 0.0], G_f=6.0)
    chunked = FromChunks(held.costs.rounds, horizon=50, dimension=3, runs=2)
    live = replace(held, costs=chunked)
    player = PFS(eta=0.1, rho=0.05, domain=Ball(1.0))
    assert_same_trace(play(player, live, engine=engine), play(player, held, engine="loop"))


@pytest.mark.parametrize("engine", ["batch", "scan"])
def test_constraints_in_parts_play_the_same_game(engine):
    rng = np.random.default_rng(9)
    g = max_of(L2Norm(0.8), Affine([[1.0, 2.0], [-1.0, 0.3]], [0.4, 0.7]))
    costs = Linear(rng.normal(size=(120, 2, 2)))
    problem = Problem.of(costs, g, Ball(1.0), [0.05, -0.1])
    player = PFS(eta=0.1, rho=0.05, domain=Ball(1.0))
    wanted = play(player, problem, engine="loop")
    assert wanted.violations.largest.max() > 0
    assert_same_trace(play(player, problem, engine=engine), wanted)


def test_a_users_functions_see_one_action_in_the_loop_and_all_in_the_batch():
    shapes = set()

    def value(x):
        shapes.add(x.shape)
        return np.sum(x * x, axis=-1, keepdims=x.ndim > 1) - 0.25

    g = FunctionConstraint(value, lambda x: 2 * x, bound=2.0)
    toy = replace(problems.paper_toy(30, trials=3), constraint=g)
    player = PFS(eta=0.02, rho=0.01, domain=Ball(1.0))
    loop = play(player, toy, engine="loop")
    assert shapes == {(2,)}
    assert_same_trace(play(player, toy, engine="batch"), loop)
    assert shapes == {(2,), (3, 2)}
