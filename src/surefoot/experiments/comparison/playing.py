"""Compare players on a problem from Python; results are kept and resumed as an experiment's."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from surefoot.algorithms import Tuned, domain_of, name_of, unpack
from surefoot.core import checks
from surefoot.core.algorithm import is_algorithm
from surefoot.core.errors import InvalidTypeError, InvalidValueError, warn_caller
from surefoot.experiments.comparison.content import content_hash
from surefoot.experiments.comparison.result import Comparison
from surefoot.experiments.driver import play_jobs
from surefoot.experiments.executors import Here
from surefoot.experiments.grid import Job, placed
from surefoot.experiments.play_cell import Parts, play_cell
from surefoot.experiments.players import numbers_of
from surefoot.experiments.plugins import checked_problem
from surefoot.experiments.problems import BLOCK
from surefoot.experiments.record import CellResult, Place
from surefoot.experiments.seeds import canonical, stream_seed
from surefoot.experiments.sweep import Event
from surefoot.games import Engine, Trace, play
from surefoot.problems import Problem

__all__ = ["compare_players"]

Player: TypeAlias = Any
"""An algorithm; one with its guarantee (``Tuned``); a constructor of one (``PFS.anytime``); or a
class and the name of its constructor (``(PFS, "anytime")``)."""

_POINTS = 200
"""Rounds of a path that are kept unless told otherwise."""


def compare_players(
    players: Sequence[Player] | Mapping[str, Player],
    problem: Problem | Callable[..., Problem],
    horizon: int | Sequence[int] | None,
    trials: int | None,
    folder: str | Path | None,
    seed: int,
    engine: Engine,
    every: int | None,
    force: bool,
    progress: Callable[[Event], None] | None,
) -> Comparison:
    """Play what is not in the folder yet; see :func:`surefoot.compare`."""
    named = _labelled(players)
    played = _source(problem, trials)
    horizons = _horizons(horizon, problem)
    checks.one_of(("auto", "loop", "batch", "scan"), engine=engine)
    if every is not None:
        checks.positive_int(every, "every")
    root = (
        checks.positive_int(seed + 1 if type(seed) is int else seed, "seed", "a whole number >= 0")
        - 1
    )
    parts = _Parts(named, played, root)
    home = Path(tempfile.mkdtemp(prefix="surefoot-") if folder is None else folder)
    jobs = partial(_jobs, parts, horizons, engine, every, resumable=folder is not None)

    def work(cells: Sequence[tuple[str, Mapping[str, Any]]]) -> list[CellResult]:
        return [play_cell(address, spec, parts) for address, spec in cells]

    outcome = play_jobs(
        jobs,
        home,
        name=_file_name(played.title if folder is None else home.resolve().name),
        seed=root,
        text="",
        data={
            "call": f"sf.compare([{', '.join(named)}], {played.title})",
            "trials": played.trials,
            "horizons": horizons,
        },
        workers=Here,
        work=work,
        force=force,
        progress=progress,
    )
    if outcome.failed:
        told = next((n for n in outcome.notes if "failed" in n), "")
        warn_caller(f"{outcome.failed} of {outcome.cells} cells failed: {told}", UserWarning)
    found = Comparison(home, outcome, partial(_replay, parts, every))
    if folder is None:  # it lives as long as what reads it
        weakref.finalize(found, shutil.rmtree, home, ignore_errors=True)
    return found


# --- who plays what -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Source:
    """The problem, or what makes it, with its title and its number of trials."""

    title: str
    trials: int
    make: Callable[[int, int, int], Problem]
    content: Any


def _source(problem: Any, trials: int | None) -> _Source:
    if trials is not None:
        checks.positive_int(trials, "trials")
    if isinstance(problem, Problem):
        runs = problem.costs.runs
        if (trials or 1) > (runs or 1):
            raise InvalidValueError(
                f"trials must be at most {runs or 1}, the runs of the problem's costs, got "
                f"{trials}: give a function of horizon, trials and streams instead"
            )
        whole = problem

        def share(horizon: int, first: int, count: int) -> Problem:
            if runs is None:
                return whole
            return replace(whole, costs=whole.costs.run(slice(first, first + count)))

        return _Source(problem.name, trials or runs or 1, share, problem)
    if not callable(problem):
        raise InvalidTypeError(
            "problem must be a Problem, or a function of horizon, trials and streams that returns "
            f"one, got {checks.repr_line(problem)}"
        )
    title = getattr(problem, "__name__", type(problem).__name__)
    return _Source(title, trials or BLOCK, problem, problem)


def _horizons(horizon: Any, problem: Any) -> list[int]:
    if horizon is None:
        if not isinstance(problem, Problem):
            raise InvalidValueError("horizon must be given with a function as problem, got None")
        return [problem.costs.horizon]
    wanted = [horizon] if isinstance(horizon, int) else list(horizon)
    if not wanted:
        raise InvalidValueError("horizon must not be empty, got []")
    return sorted({checks.check_horizon(h) for h in wanted})


def _labelled(players: Any) -> dict[str, Player]:
    """Return players by label; those of one name are told apart by guarantees and numbers."""
    if not isinstance(players, Mapping):
        several = isinstance(players, (list, tuple)) and not isinstance(players, Tuned)
        if not several or _is_pair(players):
            players = [players]
        titles = [_title(player) for player in players]
        players = {
            title if titles.count(title) == 1 else f"{title} ({titles[:i].count(title) + 1})": p
            for i, (title, p) in enumerate(zip(titles, players, strict=True))
        }
    if not players:
        raise InvalidValueError("players must not be empty, got none")
    for label, player in players.items():
        _title(player)
        if not isinstance(label, str) or not label or not label.isprintable():
            raise InvalidValueError(f"the label of a player must be a line of text, got {label!r}")
    return dict(players)


def _is_pair(player: Any) -> bool:
    return isinstance(player, tuple) and len(player) == 2 and isinstance(player[0], type)


def _title(player: Any) -> str:
    """Return the name of a player, or raise what one must be."""
    if isinstance(player, Tuned):
        return name_of(player.algorithm)
    if _is_pair(player) and callable(getattr(player[0], str(player[1]), None)):
        return f"{player[0].__name__}.{player[1]}"
    rule = getattr(player, "__self__", None)
    if isinstance(rule, type) and callable(player):
        return f"{rule.__name__}.{player.__name__}"
    if is_algorithm(player):
        return name_of(player)
    if isinstance(player, type):
        raise InvalidTypeError(
            f"a player that is a class must come with a tuning, as ({player.__name__}, 'default'), "
            f"got {player.__name__} alone"
        )
    raise InvalidTypeError(
        "a player must be an algorithm, one with its guarantee, a constructor such as PFS.anytime, "
        f"or a class with the name of its constructor, got {checks.repr_line(player)}"
    )


class _Parts:
    """Makes problem and player of a cell from the objects of the call."""

    def __init__(self, players: Mapping[str, Player], source: _Source, seed: int) -> None:
        self.players = players
        self.source = source
        self.seed = seed
        self.problem = cache(self._problem)

    def named(self) -> dict[str, Any]:
        """Return the problem as the cells name it, for the seeds of its streams."""
        return {"name": self.source.title, "arguments": {}}

    def _problem(self, horizon: int, block: int, trials: int) -> Problem:
        source, first = self.source, BLOCK * block
        if isinstance(source.content, Problem):
            return source.make(horizon, first, trials)
        streams = stream_seed(self.seed, self.named(), block)
        made: Any = source.content(horizon=horizon, trials=trials, streams=streams)
        return checked_problem(made, source.title, trials)

    def __call__(self, spec: Mapping[str, Any]) -> Parts:
        """Return what a cell is played with."""
        horizon = int(spec["horizon"])
        problem = self.problem(horizon, spec["block"], spec["trials"])
        player = self.player(spec["algorithm"]["label"], problem, horizon)
        algorithm, guarantee = unpack(player)
        origin = "given" if guarantee is None else guarantee.name
        try:
            numbers = numbers_of(algorithm, origin)
        except TypeError:  # not a dataclass: its numbers are its own affair
            numbers = {}
        return problem, player, numbers, problem.constants

    def player(self, label: str, problem: Problem, horizon: int) -> Any:
        """Return a player for a problem; a constructor is called with what the problem knows."""
        player = self.players[label]
        if _is_pair(player):
            player = getattr(*player)
        rule = getattr(player, "__self__", None)
        if isinstance(rule, type):
            place = domain_of(rule, problem.domain, problem.benchmark.region, player.__name__)
            return player(problem.constants, horizon, place)
        return player


# --- the cells ------------------------------------------------------------------------------------


def _jobs(
    parts: _Parts,
    horizons: Sequence[int],
    engine: str,
    every: int | None,
    *,
    resumable: bool,
) -> Iterator[tuple[Place, Job]]:
    contents = _contents(parts) if resumable else {}
    source = parts.source
    for horizon in horizons:
        recording = {"every": _thinned(every, horizon), "actions": 0}
        starts = [*range(0, source.trials, BLOCK), source.trials]
        for block, (first, stop) in enumerate(pairwise(starts)):
            for label, player in parts.players.items():
                spec = {
                    "problem": {**parts.named(), "content": contents.get("", "")},
                    "algorithm": {
                        "name": _title(player),
                        "label": label,
                        "content": contents.get(label, ""),
                    },
                    "horizon": horizon,
                    "block": block,
                    "trials": stop - first,
                    "seed": parts.seed,
                    "recording": recording,
                    "engine": engine,
                }
                # A label is a name for tables: with another one the cell is the same.
                plain = {**spec, "algorithm": {**spec["algorithm"], "label": ""}}
                # Without a content the label stands for it.
                content = canonical(plain) + ("" if resumable else label)
                yield placed(source.title, label, spec, content)


def _contents(parts: _Parts) -> dict[str, str]:
    """Return the hash of every player by label, and of the problem under the empty one."""
    contents = {label: content_hash(player) for label, player in parts.players.items()}
    return contents | {"": content_hash(parts.source.content)}


def _thinned(every: int | None, horizon: int) -> int:
    return every if every is not None else max(1, horizon // _POINTS)


def _replay(parts: _Parts, every: int | None, label: str, horizon: int) -> Trace:
    """Return the trace of a player on the first block of trials, played again."""
    trials = min(parts.source.trials, BLOCK)
    problem = parts.problem(horizon, 0, trials)
    return play(
        parts.player(label, problem, horizon),
        problem,
        horizon=horizon,
        every=_thinned(every, horizon),
        watch="record",
        seed=stream_seed(parts.seed, parts.named(), 0),
    )


def _file_name(title: str) -> str:
    kept = "".join(c if c.isalnum() and c.isascii() else "-" for c in title)
    return kept.strip("-")[:64] or "comparison"
