"""Play an algorithm against a problem."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from surefoot import kernel
from surefoot.core import checks
from surefoot.core.arrays import is_foreign_array, to_numpy
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import parts_of
from surefoot.core.types import Array, ArrayLike, Index, Player, needs_of
from surefoot.games.compiled import describe, play_compiled
from surefoot.games.game import Directions, Game, Played
from surefoot.games.record import BlockWatch, Mode, Observed, Progress, Recorder, bounds
from surefoot.games.rounds import play_batch, play_loop
from surefoot.games.scan import play_scan
from surefoot.games.trace import Trace, ledger_of
from surefoot.guarantees import Guarantee, Tuned, promises_of, safety_of, unpack
from surefoot.guarantees.premise import ROUNDING
from surefoot.problems import Problem
from surefoot.problems.constraints import ConstraintStream
from surefoot.sets import Ball

__all__ = ["Engine", "play"]

Engine: TypeAlias = Literal["auto", "loop", "batch", "kernel", "scan"]


def play(
    player: Player | Tuned[Any],
    problem: Problem,
    *,
    horizon: int | None = None,
    engine: Engine = "auto",
    start: ArrayLike | None = None,
    every: int | None = 1,
    keep_actions: bool = True,
    watch: Mode = "warn",
    callback: Callable[[Progress], None] | None = None,
    seed: int = 0,
) -> Trace:
    """Play one algorithm against a problem, in all of the problem's runs.

    Args:
        player: an algorithm, or one with its guarantee (``Tuned``).
        problem: what is played.
        horizon: number of rounds; default: the guarantee's, else all rounds of the costs.
        engine: "kernel" plays in C, for quadratic or linear costs, the commonest constraints and
            many rules; "loop" plays run by run, round by round, on any backend; "batch" plays all
            runs in one NumPy program; "scan" compiles that with JAX. The traces agree up to
            rounding. "auto" chooses the kernel where it was built and supports the game; else
            the loop for one run and the batch for several. A scan takes seconds to compile, which
            pays from 200,000 rounds of one run on, from 15,000 of several. The trace's
            ``engine_note`` says which engine played, and why. A run without a next action is an
            error of the loop; the others report it in the trace's ``status``.
        start: the first action, if not the problem's; the loop uses its backend.
        every: store every k-th round, and the last; None stores only the last. Sums, extremes and
            counts always cover all rounds.
        keep_actions: whether the actions of the stored rounds are stored.
        watch: what to do when a premise of the guarantee breaks: "off" does not look, "record"
            stores it in the trace, "warn" also warns, "raise" ends the game.
        callback: called with a :class:`Progress` every few thousand rounds.
        seed: for the random directions of algorithms with bandit feedback; others use none.

    Example:
        >>> from surefoot import PFS, problems
        >>> toy = problems.paper_toy(horizon=2_000, trials=3)
        >>> trace = play(PFS.tuned(toy.constants, 2_000), toy)
        >>> print(trace.verdict())
        Theorem 1 for T = 2000 (every round) held: 0 violations in 6,000 rounds of 3 trials,
        largest g = -0.0437; (regret was not computed: call final_regret())
    """
    _check_problem(problem, player)
    checks.one_of(get_args(Engine), engine=engine)
    checks.one_of(("off", "record", "warn", "raise"), watch=watch)
    if every is not None:
        checks.positive_int(every, "every", "a whole number >= 1 or None")
    if callback is not None:
        checks.function(callback=callback)
    checks.positive_int(seed, "seed", "a whole number >= 0", 0)
    algorithm, guarantee = unpack(player)
    _check_player(algorithm, guarantee, problem)
    rounds = _horizon(guarantee, problem, horizon)
    runs, d = problem.costs.runs or 1, problem.costs.dimension
    first = problem.start if start is None else start
    choice, each_row = Choice(engine, "as asked"), bounds("rows", guarantee)
    if engine == "auto":
        choice = choose(algorithm, problem, rounds, first, each_row=each_row)
    curvature = None
    if guarantee is not None and guarantee.constraint_form == "linear":
        curvature = float(np.max(problem.constraint.row_curvatures(problem.domain)))
    block_watch = BlockWatch(guarantee, runs, watch, curvature)
    rows = problem.constraint.rows if each_row else 0
    game = Game(
        algorithm,
        problem,
        _start(first, d, choice.engine),
        Recorder(runs, rounds, d, every, keep_actions, block_watch, rows, callback),
        Directions(seed, runs, d),
    )
    began = time.perf_counter()
    played = _run(game, choice.engine)
    seconds = time.perf_counter() - began - (played.compile_seconds or 0.0)
    return _trace(game, guarantee, choice, played, seconds / runs)


def _check_problem(problem: object, player: object) -> None:
    if not isinstance(problem, Problem):
        swapped = ": the player comes first" * isinstance(player, Problem)
        raise InvalidValueError(
            "problem must be a Problem, as Problem.of(costs, constraint, domain, start) makes one, "
            f"got {checks.repr_line(problem)}{swapped}"
        )


def _run(game: Game, engine: str) -> Played:
    """Play the game by an engine; reject an engine that does not support it."""
    name = type(game.algorithm).__name__
    if engine == "batch" and needs_of(game.algorithm).one_run:
        raise InvalidValueError(
            f"{name} is written for one run, not for a batch: play it with engine='loop' or 'auto'"
        )
    if engine == "kernel":
        each_row = game.recorder.rows > 0
        described = describe(game.algorithm, game.problem, game.start, each_row=each_row)
        if described is None:
            raise InvalidValueError(
                f"{kernel.sentence()}; it must support rule, costs and constraint of the game, got "
                f"{name}, {type(game.problem.costs).__name__} and "
                f"{type(game.problem.constraint).__name__}: play it with engine='auto'"
            )
        with _quiet():
            return play_compiled(game, described)
    engines = {"loop": play_loop, "batch": play_batch, "scan": play_scan}
    with _quiet():
        return engines[engine](game)


def _quiet() -> np.errstate:
    """Silence warnings of NaN: the status of a lost run, which becomes NaN, reports it."""
    return np.errstate(invalid="ignore", over="ignore")


def _check_player(algorithm: Player, guarantee: Guarantee | None, problem: Problem) -> None:
    """Raise for a player that cannot learn from costs, and for a claim that was not proved."""
    if needs_of(algorithm).proposals:
        raise InvalidValueError(
            f"player must learn from costs, got the filter {algorithm!r}, which is given proposals"
        )
    if guarantee is None:
        return
    if not guarantee.changing and isinstance(problem.constraint, ConstraintStream):
        raise InvalidValueError(
            f"{guarantee.name} must have one constraint for all rounds, got a "
            f"{type(problem.constraint).__name__}: play the algorithm without the guarantee"
        )
    _reject_other_ball(algorithm, guarantee, problem)


def _reject_other_ball(algorithm: object, guarantee: Guarantee, problem: Problem) -> None:
    """Raise for a ball around another centre that does not contain the problem's ball.

    Constants have a radius and no centre, so a constructor that is given no domain takes the ball
    around 0. A smaller ball around the same centre is accepted: the user chose it.
    """
    domain, ball = getattr(algorithm, "domain", None), problem.domain
    around = needs_of(algorithm).domain == "ball"
    if not isinstance(domain, Ball) or (not around and domain == problem.benchmark.region):
        return  # a method that projects onto the feasible set has that for its domain
    centre, other_centre = (0.0 if b.centre is None else to_numpy(b.centre) for b in (domain, ball))
    distance = float(np.linalg.norm(centre - other_centre))
    if distance > 0 and distance + float(ball.radius) > np.min(domain.radius) * (1 + ROUNDING):
        movable = around and "domain" in parts_of(algorithm)
        cure = "give the problem's domain to the constructor"
        raise InvalidValueError(
            f"the player's domain must hold the problem's {ball!r} for {guarantee.name}, got "
            f"{domain!r}: {cure if movable else 'its ball is around 0, so move the problem there'}"
        )


def _horizon(guarantee: Guarantee | None, problem: Problem, horizon: int | None) -> int:
    """Return the number of rounds."""
    available = problem.costs.horizon
    if horizon is None:
        horizon = None if guarantee is None else guarantee.horizon
    rounds = available if horizon is None else checks.check_horizon(horizon)
    if rounds > available:
        raise InvalidValueError(
            f"horizon must be at most {available}, the rounds of the costs, got {horizon}"
        )
    return rounds


def _start(x1: Array, dimension: int, engine: str) -> Array:
    """Return the first action; for the loop of any backend, else NumPy."""
    if engine != "loop" or not is_foreign_array(x1):
        return checks.to_vector(x1, "start", length=dimension)
    if tuple(x1.shape) != (dimension,):
        raise InvalidValueError(f"start.shape must be ({dimension},), got {tuple(x1.shape)}")
    return x1


def _trace(
    game: Game, guarantee: Guarantee | None, choice: Choice, played: Played, seconds: float
) -> Trace:
    """Return what was recorded; one run of a problem without a run axis has none either."""
    recorder, watch = game.recorder, game.recorder.watch
    runs: Index = 0 if game.problem.costs.runs is None else slice(None)
    with _quiet():
        status = tuple(game.status(run, played.final) for run in range(recorder.runs))
    region, compiled = game.problem.benchmark.region, played.compile_seconds or 0.0
    return Trace(
        problem=game.problem,
        guarantee=guarantee,
        engine=choice.engine,
        engine_note=f"{choice.engine}: {choice.reason}",
        horizon=recorder.horizon,
        rounds=recorder.rounds,
        kept_actions=None if recorder.actions is None else recorder.actions[:, runs],
        cost=recorder.cost[:, runs],
        cost_sum=recorder.cost_sum[:, runs],
        constraint=recorder.constraint[:, runs],
        peak=recorder.peak[:, runs],
        total_cost=recorder.total[runs],
        violations=recorder.meter.read().of(runs),
        row_sums=None if recorder.meter.row_sums is None else recorder.meter.row_sums[runs],
        excess=None if watch.excess is None else watch.excess[runs],
        next_action=played.final[runs],
        observed=Observed(*(o[runs] for o in watch.extremes())) if watch.is_on else None,
        breaches=tuple(sorted(watch.breaches, key=lambda b: (b.round, b.run))),
        status=status[0] if runs == 0 else status,
        ledger=ledger_of(game.algorithm, recorder.horizon, region, seconds, compiled),
        player=type(game.algorithm).__name__,
        promises=promises_of(game.algorithm, guarantee),
        safety=safety_of(game.algorithm) if guarantee is None else None,
    )


# --- which engine ---------------------------------------------------------------------------------


class Choice(NamedTuple):
    """An engine, and the reason for it."""

    engine: str
    reason: str


def choose(
    algorithm: Player, problem: Problem, rounds: int, start: Array, *, each_row: bool = False
) -> Choice:
    """Choose the kernel where it supports all parts of the game, else the loop or the batch.

    Several runs of rules, constraints and costs from outside the library are played in a loop,
    unless these have an attribute ``batches`` that is true.

    Args:
        algorithm: what plays.
        problem: what is played.
        rounds: of every run.
        start: the first action.
        each_row: whether the values of all constraints are recorded.
    """
    runs = problem.costs.runs or 1
    size = "one run" if runs == 1 else f"{runs:,} runs"
    size += f" of {rounds:,} rounds" if rounds > 1 else " of one round"
    if describe(algorithm, problem, start, each_row=each_row) is not None:
        return Choice("kernel", size)
    if runs == 1:
        return Choice("loop", size)
    single = type(algorithm).__name__ if needs_of(algorithm).one_run else None
    if single := single or _find_outsider((algorithm, problem.constraint, problem.costs)):
        return Choice("loop", f"{size}, with {single}, which plays one at a time")
    return Choice("batch", size)


def _find_outsider(part: object) -> str | None:
    """Return the name of a function from outside the library, or of what holds one, if any."""
    if part is None or isinstance(part, (bool, int, float, str, np.ndarray, np.generic)):
        return None
    if isinstance(part, tuple):
        return next(filter(None, map(_find_outsider, part)), None)
    if getattr(part, "batches", False):
        return None
    ours = getattr(part, "__module__", "").split(".")[0] == __name__.split(".")[0]
    if ours:
        return _find_outsider(tuple(parts_of(part).values()))
    return getattr(part, "__name__", type(part).__name__)
