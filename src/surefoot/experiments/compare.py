"""Compare players of any kind on one problem, from Python, in memory."""

import contextlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, get_args

from surefoot.core import checks
from surefoot.core.algorithm import (
    call_constructor,
    constructors_of,
    is_algorithm,
)
from surefoot.core.display import RESULT_HEAD, RESULT_RIGHT, Style, Table
from surefoot.core.errors import InvalidTypeError, InvalidValueError, suggest, warn_caller
from surefoot.core.optional import MissingExtraError
from surefoot.core.types import Player
from surefoot.experiments.build import BLOCK, check_problem, numbers_of
from surefoot.experiments.cells import Job, Parts, job_at, play_cell, stream_seed, time_now
from surefoot.experiments.executors import InProcess
from surefoot.experiments.export import write
from surefoot.experiments.record import FILE_NAME, CellResult, CellSpec, Place, ProblemTable
from surefoot.experiments.rows import Fit, Row, fit_rates, gather, notes_of
from surefoot.experiments.store import Results
from surefoot.experiments.sweep import Event, Outcome, Stop, Sweep, missing_extras
from surefoot.games import Engine
from surefoot.guarantees import Tuned, unpack
from surefoot.problems import Problem
from surefoot.rules import domain_of


class Comparison(Results):
    """The results of players on the same streams; made by :func:`surefoot.compare`.

    It is a results file in memory: functions that read one take a comparison, too.

    Attributes:
        outcome: how many cells were played, were rejected or failed.
        rows: one per player and horizon.
    """

    outcome: Outcome
    rows: list[Row]

    def __repr__(self) -> str:
        players = len({row.algorithm for row in self.rows})
        horizons = sorted({row.horizon for row in self.rows})
        trials = max((row.trials for row in self.rows), default=0)
        failed = self.outcome.failed
        bad = f", {failed} cell{'s' * (failed > 1)} failed" if failed else ""
        end = ", interrupted" if self.outcome.interrupted else ""
        return (
            f"<Comparison of {players} players on {self.places()[0].problem!r}: {trials} trials of "
            f"{' and '.join(f'{h:,}' for h in horizons)} rounds{bad}{end}>"
        )

    def __str__(self) -> str:
        return "\n".join([str(self.table()), *notes_of(self.rows)])

    def table(self, style: Style | None = None) -> Any:
        """Return one row per player and horizon: regret, promise, violations, verdict.

        ``print(comparison)`` also gives the reasons of those that were not played.

        Args:
            style: "markdown", "latex" (for booktabs), "text" or "html"; without one, an object
                that prints as text and that a notebook shows.
        """
        if style is not None:
            checks.one_of(("text", "markdown", "latex", "html"), style=style)
        ordered = sorted(self.rows, key=lambda row: (row.number, row.horizon))
        table = Table(RESULT_HEAD, [row.cells for row in ordered], RESULT_RIGHT)
        return table if style is None else table.as_(style)

    def plot(self, kind: str = "path") -> Any:
        """Return a figure of :mod:`surefoot.experiments.figures`, which a notebook shows.

        Args:
            kind: "path" for the regret over the rounds, with error bands and bounds; "regret" for
                that against the horizon; "violation" and "instant" for sums of g and g round by
                round; "cost" for the time of a round.
        """
        from surefoot.experiments.figures import FIGURES

        checks.one_of(tuple(FIGURES), kind=kind)
        return FIGURES[kind](self.rows, width="page")

    def rates(self) -> list[Fit]:
        """Return the exponent of the regret in the horizon, with its interval, of each player."""
        return fit_rates(self.rows)

    def save(self, path: str | Path) -> Path:
        """Write an ordinary results file, which ``surefoot report`` reads; return where it is.

        Args:
            path: of a folder, made if it is not there; or of the file, if it ends in .sqlite.
        """
        file = Path(path) if Path(path).suffix == ".sqlite" else Path(path) / FILE_NAME
        file.parent.mkdir(parents=True, exist_ok=True)
        with Results.write(file) as results:
            now = time_now()
            results.set_header(**self.header(), created=now, updated=now)
            results.set_plan(self.places())
            for _, cell in self.cells():
                results.put(cell)
        return file

    def report(self, folder: str | Path) -> Path:
        """Save to a folder, make the figures and the page, and return where the page is."""
        from surefoot.experiments.page import write_report

        return write_report(self, self.save(folder).parent, self.rows)[0]

    def export(self, path: str | Path) -> Path:
        """Write a table with one row per trial (.csv), or all arrays (.nc)."""
        write(self, Path(path))
        return Path(path)


PlayerLike: TypeAlias = Player | Tuned[Any] | Callable[..., Tuned[Any]] | tuple[type[Any], str]
"""An algorithm; one with its guarantee (``Tuned``); a constructor of one (``PFS.anytime``); or a
class and the name of its constructor (``(PFS, "anytime")``)."""

Progress: TypeAlias = Callable[[Event], None]

_POINTS = 200
"""Rounds of a path that are kept by default."""


def compare(
    players: Sequence[PlayerLike] | Mapping[str, PlayerLike],
    problem: Problem | Callable[..., Problem],
    *,
    horizon: int | Sequence[int] | None = None,
    trials: int | None = None,
    seed: int = 0,
    engine: Engine = "auto",
    every: int | None = None,
    progress: bool | Progress = True,
) -> Comparison:
    """Play several players, of any kinds, on the same streams, and return their results.

    This process plays all of it in memory: ``comparison.save(folder)`` writes a results file, which
    ``surefoot report`` reads. Ctrl-C ends it with a warning, and keeps the finished cells.

    Args:
        players: algorithms, with or without guarantee; constructors, such as ``PFS.anytime``,
            which get constants, horizon and set from the problem; or pairs of a class and the name
            of its constructor. As a mapping, by the labels of tables and figures.
        problem: what is played, its runs are the trials; or a function of ``horizon``, ``trials``
            and ``streams``, the seed of its random numbers, that makes it.
        horizon: number of rounds, or several; all rounds of a problem's costs unless given.
        trials: how many; all runs of a problem, 30 of a function unless given.
        seed: root of the random numbers.
        engine: as for :func:`surefoot.games.play`.
        every: keep every so many rounds of the paths; so that about 200 are kept unless given.
        progress: whether to show a bar, in a terminal or a notebook; or what is called after each
            cell instead.

    Raises:
        MissingExtraError: a player needs an extra that is not installed; nothing was played.

    Example:
        >>> from surefoot import OGD, LeaderFollower, problems
        >>> toy = problems.binding_toy(horizon=200, trials=3)
        >>> comparison = compare([LeaderFollower.default, (OGD, "fixed")], toy)
        >>> comparison
        <Comparison of 2 players on 'binding toy': 3 trials of 200 rounds>
        >>> [row.violations for row in comparison.rows]
        [0.0, 0.0]
    """
    source = _Source(_label_players(players), problem, trials, seed)
    horizons = _horizons(horizon, problem)
    checks.one_of(get_args(Engine), engine=engine)
    if every is not None:
        checks.positive_int(every, "every")
    jobs = list(source.jobs(horizons, engine, every))
    if missing := missing_extras(jobs, engine, source):
        raise MissingExtraError("; ".join(missing))

    def work(chosen: Sequence[tuple[str, CellSpec]]) -> list[CellResult]:
        return [play_cell(address, spec, source) for address, spec in chosen]

    comparison, places = Comparison(), [place for place, _ in jobs]
    comparison.set_plan(places)
    comparison.set_header(
        name=re.sub(r"[^A-Za-z0-9]+", "-", source.title).strip("-")[:64] or "comparison",
        seed=source.seed,
        specification="",
        data={
            "call": f"sf.compare([{', '.join(source.players)}], {source.title})",
            "trials": source.trials,
            "horizons": horizons,
        },
    )
    before = Event(0, len(jobs), 0, sum(job.rounds for _, job in jobs), "")
    with Stop() as stop, show_progress(progress) as report:
        sweep = Sweep(comparison.put, before, stop, report, work)
        sweep.play((job for _, job in jobs), InProcess())
    comparison.outcome, comparison.rows = sweep.outcome(Path()), gather(comparison)
    if comparison.outcome.interrupted:
        sentence = f"{sweep.now.done} of {len(jobs)} cells were played, the others are missing"
        warn_caller(f"interrupted: {sentence}", UserWarning)
    elif failed := comparison.outcome.failed:
        sentence = f"{failed} of {len(jobs)} cells failed: {comparison.outcome.notes[0]}"
        warn_caller(sentence, UserWarning)
    return comparison


@contextlib.contextmanager
def show_progress(progress: bool | Progress = True) -> Iterator[Progress | None]:
    """Yield a function that reports progress: a bar in a terminal or notebook, with rich."""
    if callable(progress):
        yield progress
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress as Bar, TextColumn, TimeRemainingColumn
    except ImportError:
        yield None
        return
    # A notebook rewrites a line as a terminal does; rich's way needs widgets.
    notebook = True if "ipykernel" in sys.modules else None
    console = Console(file=sys.stderr, force_jupyter=False, force_terminal=notebook)
    hidden = not (progress and console.is_terminal)
    columns = (
        BarColumn(30),
        TextColumn("{task.description}", markup=False),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[what]}", markup=False),
    )
    with Bar(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("starting", total=None, what="")

        def report(now: Event) -> None:
            done, total = now.rounds_done, now.rounds_total
            cells = f"{now.done}/{now.total} cells"
            bar.update(task, description=cells, completed=done, total=total, what=now.label)

        yield report


# --- who plays what -------------------------------------------------------------------------------


class _Source:
    """Makes problem and player of a cell from the objects of the call."""

    def __init__(self, players: Mapping[str, Any], problem: Any, trials: Any, seed: Any) -> None:
        self.players = players
        self._whole = problem if isinstance(problem, Problem) else None
        self._make = problem
        if trials is not None:
            checks.positive_int(trials, "trials")
        self.seed = checks.positive_int(seed, "seed", least=0)
        if self._whole is not None:
            runs = self._whole.costs.runs or 1
            if (trials or 1) > runs:
                raise InvalidValueError(
                    f"trials must be at most {runs}, the runs of the problem's costs, got "
                    f"{trials}: give a function of horizon, trials and streams instead"
                )
            self.title, self.trials = self._whole.name, trials or runs
        elif callable(problem):
            self.title = getattr(problem, "__name__", type(problem).__name__)
            self.trials = trials or BLOCK
        else:
            raise InvalidTypeError(
                "problem must be a Problem, or a function of horizon, trials and streams that "
                f"returns one, got {checks.repr_line(problem)}"
            )
        self.problem = cache(self._problem)

    @property
    def named(self) -> ProblemTable:
        """The problem as the cells name it, for the seeds of its streams."""
        return {"name": self.title, "arguments": {}}

    def _problem(self, horizon: int, block: int, trials: int) -> Problem:
        if self._whole is None:
            streams = stream_seed(self.seed, self.named, block)
            result = self._make(horizon=horizon, trials=trials, streams=streams)
            return check_problem(result, self.title, trials)
        if self._whole.costs.runs is None:
            return self._whole
        first = BLOCK * block
        costs = self._whole.costs.run(slice(first, first + trials))
        return replace(self._whole, costs=costs)

    def __call__(self, spec: CellSpec) -> Parts:
        """Return what a cell is played with."""
        horizon = spec["horizon"]
        problem = self.problem(horizon, spec["block"], spec["trials"])
        player = self.player(spec["algorithm"]["label"], problem, horizon)
        algorithm, guarantee = unpack(player)
        origin = "given" if guarantee is None else guarantee.name
        try:
            numbers = numbers_of(algorithm, origin)
        except TypeError:  # not a dataclass: its numbers cannot be listed
            numbers = {}
        return problem, player, numbers, problem.constants

    def player(self, label: str, problem: Problem, horizon: int) -> Any:
        """Return a player for a problem; a constructor gets the constants of the problem."""
        player = self.players[label]
        if inspect.ismethod(player) and isinstance(rule := player.__self__, type):
            place = domain_of(rule, problem.domain, problem.benchmark.region, player.__name__)
            return call_constructor(player, problem.constants, horizon, place)
        return player

    def jobs(
        self, horizons: Sequence[int], engine: str, every: int | None
    ) -> Iterator[tuple[Place, Job]]:
        """Yield the cells, one per horizon, block of trials and player."""
        for horizon in horizons:
            for first in range(0, self.trials, BLOCK):
                for label, player in self.players.items():
                    spec: CellSpec = {
                        "problem": self.named,
                        "algorithm": {"name": _title(player), "label": label},
                        "horizon": horizon,
                        "block": first // BLOCK,
                        "trials": min(BLOCK, self.trials - first),
                        "seed": self.seed,
                        "recording": {"every": every or max(1, horizon // _POINTS), "actions": 0},
                        "engine": engine,
                    }
                    yield job_at(self.title, label, spec)


def _horizons(horizon: Any, problem: Any) -> list[int]:
    if horizon is None:
        if not isinstance(problem, Problem):
            raise InvalidValueError("horizon must be given with a function as problem, got None")
        return [problem.costs.horizon]
    horizons = [horizon] if isinstance(horizon, int) else list(horizon)
    if not horizons:
        raise InvalidValueError("horizon must not be empty, got []")
    return sorted({checks.check_horizon(h) for h in horizons})


def _label_players(players: Any) -> dict[str, Any]:
    """Return players by label; numbers distinguish those of one name."""
    if not isinstance(players, Mapping):
        several = isinstance(players, (list, tuple)) and not isinstance(players, Tuned)
        if not several or _is_pair(players):
            players = [players]
        titles = [_title(_resolve(player)) for player in players]
        players = {
            title if titles.count(title) == 1 else f"{title} ({titles[:i].count(title) + 1})": p
            for i, (title, p) in enumerate(zip(titles, players, strict=True))
        }
    if not players:
        raise InvalidValueError("players must not be empty, got none")
    labelled: dict[Any, Any] = {label: _resolve(player) for label, player in players.items()}
    for label, player in labelled.items():
        _title(player)
        if not isinstance(label, str) or not label or not label.isprintable():
            raise InvalidValueError(f"the label of a player must be a line of text, got {label!r}")
    return labelled


def _resolve(player: Any) -> Any:
    """Return a player, of a pair the constructor that it names."""
    if not _is_pair(player):
        return player
    rule, tuning = player
    if tuning not in (have := constructors_of(rule)):
        raise InvalidValueError(f"{rule.__name__} has no {tuning!r}{suggest(tuning, have)}")
    return getattr(rule, tuning)


def _is_pair(player: object) -> bool:
    return isinstance(player, tuple) and len(player) == 2 and isinstance(player[0], type)


def _title(player: Any) -> str:
    """Return the name of a player, or raise what one must be."""
    if isinstance(player, Tuned):
        return type(player.algorithm).__name__
    if inspect.ismethod(player) and isinstance(rule := player.__self__, type):
        return f"{rule.__name__}.{player.__name__}"
    if is_algorithm(player):
        return type(player).__name__
    if isinstance(player, type):
        tunings = [*constructors_of(player), "default"]
        raise InvalidTypeError(
            f"a player that is a class must come with a tuning, as ({player.__name__}, "
            f"{tunings[0]!r}), got {player.__name__} without one"
        )
    raise InvalidTypeError(
        "a player must be an algorithm, one with its guarantee, a constructor such as PFS.anytime, "
        f"or a class with the name of its constructor, got {checks.repr_line(player)}"
    )
