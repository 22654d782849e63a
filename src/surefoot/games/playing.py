"""Play an algorithm against a problem."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from surefoot.algorithms import Guarantee, Measure, name_of, unpack
from surefoot.algorithms.premises import ROUNDING
from surefoot.core import checks
from surefoot.core.arrays import to_numpy
from surefoot.core.errors import InvalidValueError, warn_caller
from surefoot.core.types import Array, ArrayLike, needs_of
from surefoot.games._tree import columns
from surefoot.games.agreement import EngineWarning, branches, mixes_runs, where
from surefoot.games.batch import play_batch
from surefoot.games.engine_choice import Choice, choose
from surefoot.games.ledger import tally
from surefoot.games.loop import play_loop
from surefoot.games.record import Progress, Recorder
from surefoot.games.scan import compile_scan
from surefoot.games.setup import Directions, Game, Played
from surefoot.games.trace import Trace
from surefoot.games.watch import BlockWatch, Mode, Observed
from surefoot.problems import Problem
from surefoot.problems.constraints import ConstraintStream
from surefoot.sets import Ball

__all__ = ["Engine", "play", "play_all"]

Engine: TypeAlias = Literal["auto", "loop", "batch", "scan"]


def play(
    player: Any,
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
        engine: "loop" plays run by run, round by round, on any backend; "batch" plays all runs
            in one NumPy program; "scan" compiles that with JAX. The traces agree up to
            rounding. "auto" chooses the loop for one run and the batch for several; and, if JAX is
            installed, the scan for games of the library's own parts that are long enough to save
            seconds (more than 200,000 rounds of one run, 15,000 of several). The trace's
            ``engine_note`` says which engine played, and why.
        start: the first action, if not the problem's; its backend is used by the loop.
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
        Theorem 1 for T = 2000 (every round) held: outside in 0 of 6,000 rounds,
        largest g = -0.0437; regret not compared
    """
    how = _How(engine, start, every, keep_actions, watch, callback, seed)
    (trace,) = _play_all([player], problem, None if horizon is None else [horizon], how)
    return trace


def _instead(problem: Any, players: Any) -> str:
    """Return what was given for a problem, and whether it was given for a player."""
    swapped = any(isinstance(player, Problem) for player in players)
    return f"{checks.shown(problem)}{': the player comes first' * swapped}"


def play_all(
    players: Sequence[Any],
    problem: Problem,
    *,
    horizons: Sequence[int] | None = None,
    engine: Engine = "auto",
    start: ArrayLike | None = None,
    every: int | None = 1,
    keep_actions: bool = True,
    watch: Mode = "warn",
    callback: Callable[[Progress], None] | None = None,
    seed: int = 0,
) -> list[Trace]:
    """Play several algorithms of one type at once, each in all of the problem's runs.

    Each may have its own parameters and horizon; the batch and scan engines play all of them as
    one array program. The other arguments are the same as for :func:`play`.

    Returns:
        One trace per player, in order.
    """
    how = _How(engine, start, every, keep_actions, watch, callback, seed)
    return _play_all(players, problem, horizons, how)


class _How(NamedTuple):
    """The arguments of :func:`play` that do not depend on the player."""

    engine: Engine
    start: ArrayLike | None
    every: int | None
    keep_actions: bool
    watch: Mode
    callback: Callable[[Progress], None] | None
    seed: int

    def check(self) -> None:
        """Raise for what is none of the values that an argument may have."""
        checks.one_of(("auto", "loop", "batch", "scan"), engine=self.engine)
        checks.one_of(("off", "record", "warn", "raise"), watch=self.watch)
        every, seed = self.every, self.seed
        if every is not None and (type(every) is not int or every < 1):
            raise InvalidValueError(f"every must be a whole number >= 1 or None, got {every!r}")
        if self.callback is not None:
            checks.function(callback=self.callback)
        checks.whole(seed + 1 if type(seed) is int else seed, "seed", "a whole number >= 0")


def _play_all(
    players: Sequence[Any], problem: Problem, horizons: Sequence[int] | None, how: _How
) -> list[Trace]:
    if not isinstance(problem, Problem):
        raise InvalidValueError(
            "problem must be a Problem, as Problem.of(costs, constraint, domain, start) makes one, "
            f"got {_instead(problem, players)}"
        )
    how.check()
    if not players:
        raise InvalidValueError("players must not be empty, got []")
    algorithms, guarantees = zip(*(unpack(p) for p in players), strict=True)
    if (told := next((a for a in algorithms if needs_of(a).proposals), None)) is not None:
        raise InvalidValueError(
            f"player must learn from costs, got the filter {told!r}, which is told proposals"
        )
    for algorithm, guarantee in zip(algorithms, guarantees, strict=True):
        if guarantee is not None:
            _refuse_changing(guarantee, problem)
            _refuse_other_ball(algorithm, guarantee, problem)
    lengths = _horizons(guarantees, problem, horizons)
    trials = problem.costs.runs
    rows = max(columns(a) for a in algorithms)
    per_player = trials or rows
    if rows > 1 and (len(players) > 1 or rows != per_player):
        raise InvalidValueError(
            f"an algorithm with columns must have one row for each of the {per_player} runs, "
            f"got {rows} rows and {len(players)} players"
        )
    # A run is a player and a stream; runs are ordered by falling horizon.
    player_of = np.repeat(np.arange(len(players)), per_player)
    order = np.argsort(-lengths[player_of], kind="stable")
    run_horizons = lengths[player_of][order]
    start = problem.start if how.start is None else how.start
    choice = Choice(how.engine, "as asked")
    if how.engine == "auto":
        choice = choose(algorithms, problem, run_horizons, start)
    curvature = None
    if any(g is not None and g.constraint_form == "linear" for g in guarantees):
        curvature = float(np.max(problem.constraint.row_curvatures(problem.domain)))
    several = len(players) > 1
    streams = np.tile(np.arange(per_player), len(players))[order]

    def fresh(engine: str) -> Game:
        return Game(
            algorithms=[algorithms[player_of[r]] for r in order] if several else algorithms,
            problem=problem,
            streams=streams,
            start=_start(start, problem.costs.dimension, engine),
            horizons=run_horizons,
            recorder=Recorder(
                run_horizons,
                problem.costs.dimension,
                how.every,
                how.keep_actions,
                BlockWatch([guarantees[player_of[r]] for r in order], how.watch, curvature),
                problem.constraint.rows if any(_bounds("rows", g) for g in guarantees) else 0,
            ),
            directions=Directions(how.seed, streams, problem.costs.dimension),
            callback=how.callback,
        )

    began = time.perf_counter()
    game, choice, played = _run(fresh, choice, may_change=how.engine == "auto")
    seconds = time.perf_counter() - began - (played.compile_seconds or 0.0)
    seconds_a_round = seconds / float(run_horizons.sum())
    place = np.argsort(order)
    traces = []
    for i, guarantee in enumerate(guarantees):
        mine = place[player_of == i]
        # One run of a problem that has no run axis has none in its trace either.
        runs = int(mine[0]) if trials is None and rows == 1 else mine
        traces.append(_trace(game, guarantee, choice, runs, played, seconds_a_round))
    return traces


def _run(
    fresh: Callable[[str], Game], choice: Choice, *, may_change: bool
) -> tuple[Game, Choice, Played]:
    """Play the game; fall back if the engine chosen by "auto" cannot play what it was given.

    A scan that does not compile becomes a batch or a loop. A batch of a rule that is written for
    one run becomes a loop, with a warning; where the batch was asked for, that is an error.
    """
    game = fresh(choice.engine)
    # A lost run is reported by its status; NumPy need not warn of the NaN it has become.
    with np.errstate(invalid="ignore", over="ignore"):
        if choice.engine == "scan":
            try:
                play_scan = compile_scan(game)
            except Exception:
                if not may_change:
                    raise
                # Not a round has been played. An error that is not JAX's own is raised again.
                engine = "loop" if len(game.horizons) == 1 else "batch"
                choice = Choice(engine, f"{choice.reason}; a scan of it does not compile")
            else:
                played = play_scan()
        if choice.engine == "batch":
            why, played = _batch(game)
            if why and not may_change:
                raise InvalidValueError(f"{why}: play it with engine='loop' or 'auto'")
            if why:
                told = f"{why}: its {len(game.horizons):,} runs are played one by one"
                warn_caller(told, EngineWarning)
                choice, game = Choice("loop", f"{choice.reason}; {why}"), fresh("loop")
        if choice.engine == "loop":
            played = play_loop(game)
    took = played.compile_seconds
    if took is not None:
        made = f"compiled in {took:.2g} s" if took else "compiled"
        choice = choice._replace(reason=f"{choice.reason}, {made}")
    return game, choice, played


def _batch(game: Game) -> tuple[str, Played]:
    """Return why the game cannot be a batch, empty if it can, and what it leaves."""
    nothing = Played(np.empty(0))
    alone = (name_of(a) for a in game.algorithms if needs_of(a).one_run)
    mixed = next(alone, None) or mixes_runs(game)
    if mixed is not None:
        return f"{mixed} is written for one run, not for a batch", nothing
    try:
        return "", play_batch(game)
    except (ValueError, TypeError) as error:
        rule = where(error)
        if not rule or not branches(error):
            raise
        return f"{rule} takes the numbers of all runs of a batch for one, as in an `if`", nothing


def _bounds(measure: Measure, guarantee: Guarantee | None) -> bool:
    """Return whether a guarantee bounds a measure."""
    return guarantee is not None and measure in guarantee.bounds(1)


def _refuse_changing(guarantee: Guarantee, problem: Problem) -> None:
    """Raise for a claim that was not proved: a verdict on it would mean nothing."""
    if not guarantee.changing and isinstance(problem.constraint, ConstraintStream):
        raise InvalidValueError(
            f"{guarantee.name} must have one constraint for all rounds, got a "
            f"{type(problem.constraint).__name__}: play the algorithm without the guarantee"
        )


def _refuse_other_ball(algorithm: Any, guarantee: Guarantee, problem: Problem) -> None:
    """Raise for a ball around another centre that does not contain the problem's ball.

    Constants have a radius and no centre, so that a constructor which is told no domain takes
    the ball around 0. One around the same point may well be smaller: that is the user's word.
    """
    mine, ball = getattr(algorithm, "domain", None), problem.domain
    around = needs_of(algorithm).domain == "ball"
    if not isinstance(mine, Ball) or (not around and mine == problem.benchmark.region):
        return  # a method that projects onto the feasible set has that for its domain
    movable = around and "domain" in {f.name for f in fields(algorithm)}
    here, there = (0.0 if b.centre is None else to_numpy(b.centre) for b in (mine, ball))
    apart = float(np.linalg.norm(here - there))
    if apart > 0 and apart + float(ball.radius) > np.min(mine.radius) * (1 + ROUNDING):
        cure = "give the problem's domain to the constructor"
        raise InvalidValueError(
            f"the player's domain must hold the problem's {ball!r} for {guarantee.name}, got "
            f"{mine!r}: {cure if movable else 'its ball is around 0, so move the problem there'}"
        )


def _horizons(
    guarantees: Sequence[Guarantee | None], problem: Problem, horizons: Sequence[int] | None
) -> Array:
    """Return the number of rounds of each player."""
    available = problem.costs.horizon
    if horizons is None:
        horizons = [available if g is None or g.horizon is None else g.horizon for g in guarantees]
    if len(horizons) != len(guarantees):
        raise InvalidValueError(
            f"horizons must be one for each of the {len(guarantees)} players, got {len(horizons)}"
        )
    for horizon in horizons:
        if checks.horizon(horizon) > available:
            raise InvalidValueError(
                f"horizon must be at most {available}, the rounds of the costs, got {horizon}"
            )
    return np.array(horizons, dtype=np.int64)


def _start(x1: Any, dimension: int, engine: str) -> Array:
    """Return the first action; for the loop of any backend, else NumPy."""
    if engine != "loop" or type(x1) is np.ndarray or not hasattr(x1, "shape"):
        return checks.vector(x1, "start", length=dimension)
    if tuple(x1.shape) != (dimension,):
        raise InvalidValueError(f"start.shape must be ({dimension},), got {tuple(x1.shape)}")
    return x1


def _trace(
    game: Game,
    guarantee: Guarantee | None,
    choice: Choice,
    runs: Any,
    played: Played,
    seconds_a_round: float,
) -> Trace:
    """Return one player's share of the record; an int as ``runs`` gives a trace of one run."""
    recorder, watch = game.recorder, game.recorder.watch
    mine = np.atleast_1d(runs)
    first = int(mine[0])
    algorithm, horizon = game.algorithm(first), int(game.horizons[first])
    kept = recorder.rounds_of(horizon)
    number = {int(r): k for k, r in enumerate(mine)}
    breaches = [b._replace(run=number[b.run]) for b in watch.breaches if b.run in number]
    status = [recorder.status[r] for r in mine]
    return Trace(
        problem=game.problem,
        guarantee=guarantee,
        engine=choice.engine,
        engine_note=f"{choice.engine}: {choice.reason}",
        horizon=horizon,
        rounds=recorder.rounds[kept],
        actions=None if recorder.actions is None else recorder.actions[kept][:, runs],
        cost=recorder.cost[kept][:, runs],
        cost_sum=recorder.cost_sum[kept][:, runs],
        constraint=recorder.constraint[kept][:, runs],
        peak=recorder.peaks_of(horizon)[:, runs],
        total_cost=recorder.total[runs],
        violations=recorder.meter.read().of(runs),
        row_sums=None if recorder.meter.row_sums is None else recorder.meter.row_sums[runs],
        excess=watch.excess[runs] if _bounds("round", guarantee) else None,
        next_action=played.final[runs],
        observed=Observed(*(o[runs] for o in watch.observed())) if watch.is_on else None,
        breaches=tuple(sorted(breaches, key=lambda b: (b.round, b.run))),
        status=status[0] if isinstance(runs, int) else tuple(status),
        ledger=tally(
            algorithm,
            horizon,
            seconds_a_round * horizon,
            game.problem.benchmark.region,
            None if played.calls is None else played.calls[first],
            played.compile_seconds or 0.0,
        ),
        player=name_of(algorithm),
    )
