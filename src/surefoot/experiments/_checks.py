"""Check what must fit together across the tables of a specification.

The checks read a draft: the rows as their models, without the values that are known to be wrong.
So each rule about a row is written once, on its model, and one mistake does not hide another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

from surefoot.experiments._mistakes import KeyPath, Mistake, shown, unknown
from surefoot.experiments._player_checks import mistakes_in_row
from surefoot.experiments.problems import BLOCK, PROBLEMS, ProblemRow
from surefoot.experiments.tables import AlgorithmRow, Recording, TomlTable

__all__ = ["MOST_CELLS", "mistakes_of"]

LARGEST = 2_000_000_000
"""Numbers in the streams of a cell: 16 GB of them."""

MOST_CELLS = 1_000_000
"""Cells of a specification: their places alone take a gigabyte."""

T = TypeVar("T", bound=TomlTable)
Told = Collection[KeyPath]


def mistakes_of(data: Any, told: Told) -> list[Mistake]:
    """Return what does not fit together, in the order of the tables.

    Args:
        data: the specification as plain data, of whatever types.
        told: paths of the values whose wrong types or limits are reported already.
    """
    if not isinstance(data, dict):
        return []
    draft = Draft.of(data, told)
    found = [
        *_labels(draft.problems, "problems"),
        *_labels(draft.algorithms, "algorithms"),
        *_recording(data.get("recording"), draft),
    ]
    titles = [p.title for p in draft.problems.values()]
    for i, table in _tables(data.get("algorithms")).items():
        path = ("algorithms", i)
        row = draft.algorithms.get(i)
        horizons = (row.horizons if row else None) or draft.horizons or [1]
        # An amount rises or falls with the horizon, so the ends stand for all between them.
        found += mistakes_in_row(table, path, sorted({min(horizons), max(horizons)}))
        found += _only(table.get("only"), path, titles)
    for i, row in draft.algorithms.items():
        found += _trials_within_limit(row.trials, ("algorithms", i), draft)
    for i, problem in draft.problems.items():
        found += _trials_within_limit(problem.trials, ("problems", i), draft)
        found += _offered(problem, ("problems", i), draft)
    return found + list(_few_enough(draft))


# --- what can be read -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Draft:
    """A specification as far as it can be read; rows by their position in the file."""

    trials: int
    horizons: list[int]
    recording: Recording
    problems: dict[int, ProblemRow]
    algorithms: dict[int, AlgorithmRow]

    @classmethod
    def of(cls, data: Mapping[str, Any], told: Told) -> Self:
        """Return the draft of plain data, without the values that were found wrong."""
        problems, algorithms = _tables(data.get("problems")), _tables(data.get("algorithms"))
        recording, horizons = data.get("recording"), data.get("horizons")
        return cls(
            trials=data["trials"] if "trials" in data and ("trials",) not in told else 30,
            horizons=_right(horizons, ("horizons",), told) if isinstance(horizons, list) else [],
            recording=_row(
                Recording, recording if isinstance(recording, dict) else {}, ("recording",), told
            ),
            problems={
                i: _row(_model(table, told, i), table, ("problems", i), told)
                for i, table in problems.items()
                if isinstance(table.get("name"), str)
            },
            algorithms={
                i: _row(AlgorithmRow, table, ("algorithms", i), told)
                for i, table in algorithms.items()
                if isinstance(table.get("name"), str)
            },
        )

    def games(self, problem: ProblemRow) -> Iterator[tuple[Collection[int], int]]:
        """Yield horizons and trials of each row that plays a problem."""
        for row in self.algorithms.values():
            if row.plays(problem.title):
                yield row.horizons or self.horizons, trials_of(self, problem, row)


class _WithTrials(Protocol):
    @property
    def trials(self) -> int | None: ...


def trials_of(*tables: _WithTrials) -> int:
    """Return the fewest trials that a specification, a problem and a row ask for."""
    return min(t for table in tables if (t := table.trials) is not None)


def _tables(value: Any) -> dict[int, dict[str, Any]]:
    """Return the tables in a list, by position."""
    listed = value if isinstance(value, list) else []
    return {i: v for i, v in enumerate(listed) if isinstance(v, dict)}


def _model(table: dict[str, Any], told: Told, place: int) -> type[ProblemRow]:
    """Return a problem's own model, if its name and all that it requires are there."""
    entry = PROBLEMS.get(table["name"])
    required = (n for n, f in entry.model.model_fields.items() if f.is_required()) if entry else ()
    sound = all(n in table and ("problems", place, n) not in told for n in required)
    return entry.model if entry and sound else ProblemRow


def _row(model: type[T], table: dict[str, Any], path: KeyPath, told: Told) -> T:
    known = {k: v for k, v in table.items() if k in model.model_fields}
    # A name that nobody knows still is what its row is called.
    named = {"name": table["name"]} if "name" in table else {}
    return model.model_construct(**_right(known, path, told) | named)


def _right(data: Any, path: KeyPath, told: Told) -> Any:
    """Return data without the values that were found wrong."""
    if isinstance(data, dict):
        return {k: _right(v, (*path, k), told) for k, v in data.items() if (*path, k) not in told}
    if isinstance(data, list):
        return [_right(v, (*path, i), told) for i, v in enumerate(data) if (*path, i) not in told]
    return data


# --- what is compared -----------------------------------------------------------------------------


def _labels(rows: Mapping[int, ProblemRow | AlgorithmRow], what: str) -> Iterator[Mistake]:
    seen: set[str] = set()
    for i, row in rows.items():
        if row.title in seen:
            key = () if row.label is None else ("label",)
            words = f"the label {shown(row.title)} is taken: give each of the {what} its own"
            yield Mistake((what, i, *key), words)
        seen.add(row.title)


def _recording(table: Any, draft: Draft) -> Iterator[Mistake]:
    if not isinstance(table, dict):
        return
    played = {h for row in draft.algorithms.values() for h in row.horizons or ()}
    played.update(draft.horizons)
    for i, horizon in enumerate(draft.recording.horizons or ()):
        if horizon not in played:
            yield Mistake(("recording", "horizons", i), f"nothing is played for {horizon} rounds")
    if "every" not in table and draft.recording.actions:
        words = "keeps nothing without every: set every = 1 or more"
        yield Mistake(("recording", "actions"), words)


def _only(only: Any, path: KeyPath, titles: list[str]) -> Iterator[Mistake]:
    for k, title in enumerate(only if isinstance(only, list) else ()):
        if isinstance(title, str) and title not in titles:
            yield Mistake((*path, "only", k), unknown("problem", title, titles))


def _trials_within_limit(trials: int | None, path: KeyPath, draft: Draft) -> Iterator[Mistake]:
    if trials is not None and trials > draft.trials:
        words = f"must be at most the experiment's {draft.trials}, got {trials}"
        yield Mistake((*path, "trials"), words)


def _offered(problem: ProblemRow, path: KeyPath, draft: Draft) -> Iterator[Mistake]:
    """Yield what a problem does not offer to the rows that play it."""
    games = list(draft.games(problem))
    trials = max((t for _, t in games), default=1)
    rounds = max((max(horizons, default=1) for horizons, _ in games), default=1)
    if problem.adaptive and trials > 1:
        words = f"{problem.adaptive!r} answers the actions, so all its trials are the same"
        yield Mistake((*path, "adversary"), f"{words}: set trials = 1 beside it")
    if problem.longest is not None and rounds > problem.longest:
        words = f"the published streams have {problem.longest} rounds, and {rounds} are played"
        yield Mistake((*path, "published"), words)
    numbers = rounds * min(trials, BLOCK) * problem.entries
    if numbers > LARGEST:
        words = f"{rounds} rounds of {min(trials, BLOCK)} trials need {8e-9 * numbers:.0f} GB"
        yield Mistake(path, f"{words} of memory; {8e-9 * LARGEST:.0f} are allowed")


def _few_enough(draft: Draft) -> Iterator[Mistake]:
    cells = sum(
        len(set(horizons)) * -(-trials // BLOCK)
        for problem in draft.problems.values()
        for horizons, trials in draft.games(problem)
    )
    if cells > MOST_CELLS:
        words = f"has {cells:,} cells (problem, algorithm, horizon and block of {BLOCK} trials)"
        yield Mistake((), f"{words}; {MOST_CELLS:,} are allowed")
