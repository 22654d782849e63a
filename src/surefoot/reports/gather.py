"""Saved results as rows: one for each problem, algorithm and horizon, its blocks put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from surefoot._sqlite import StoreError
from surefoot.metrics import Rate, fit_rate
from surefoot.results import CellResult, Place

if TYPE_CHECKING:
    from surefoot.results import Results

__all__ = [
    "VERDICTS",
    "Fit",
    "Row",
    "algorithms",
    "arrange",
    "fit_rates",
    "gather",
    "mean_std",
    "problems",
    "verdict_counts",
]

VERDICTS = ("failed", "stopped", "premise broken", "not claimed", "held")
"""The words of a verdict, the gravest first."""

# Paths have rounds before trials; everything else of a trial stands on the first axis.
_PATHS = ("cost_sum", "constraint", "peak", "regret_path")
# The same for every block; or kept of the first trials only, so that action i is of trial i.
_SHARED = ("rounds", "bound_path", "boundary", "actions")

Paths: TypeAlias = Literal["longest", "all", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What came of one algorithm on one problem at one horizon.

    Attributes:
        problem: the problem's label.
        algorithm: the algorithm's label.
        horizon: number of rounds.
        trials: how many trials were played to their end.
        status: "done" if every block that is there is; else what became of the first that is not.
        note: what is missing and why; else empty.
        facts: of the first block; verdict, breaches, comparator and bounds are those of all.
        arrays: the blocks' arrays, joined along their trials; actions are those of the first block.
        provenance: of the first block; the seconds are those of all.
        number: the algorithm's place in the plan, from 0: what its colour hangs on.
    """

    problem: str
    algorithm: str
    horizon: int
    trials: int
    status: str
    note: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    number: int = 0

    @property
    def played(self) -> bool:
        """Whether there are numbers to show."""
        return self.trials > 0

    @property
    def verdict(self) -> str:
        """The verdict's word; empty where nothing was played."""
        return str(self.facts.get("verdict", {}).get("word", ""))

    @property
    def claims(self) -> bool:
        """Whether there is a guarantee and all that it rests on held."""
        return bool(self.facts.get("guarantee")) and self.verdict in ("held", "failed")

    @property
    def regret_bound(self) -> float | None:
        """What the theorem says of the regret, whether or not its premises held."""
        bound = (self.facts.get("guarantee") or {}).get("regret_bound")
        return None if bound is None else float(bound)


class Fit(NamedTuple):
    """The rate at which an algorithm's regret grows on a problem, or why there is none.

    Attributes:
        problem: the problem's label.
        algorithm: the algorithm's label.
        horizons: the horizons that were fitted.
        rate: slope, its interval of 95 % and scale; None where nothing could be fitted.
        reason: why there is no rate, or what it was fitted to; one sentence without a full stop.
    """

    problem: str
    algorithm: str
    horizons: tuple[int, ...]
    rate: Rate | None
    reason: str


def gather(results: Results, paths: Paths = "longest") -> list[Row]:
    """The rows of an experiment, in the order of its plan.

    Args:
        results: the open file.
        paths: of which rows the paths over the rounds are read: of the longest horizon that an
            algorithm finished on a problem, of all, or of none.

    Cells that are not there yet have no part in this; a row without any is left out. A damaged cell
    counts as failed, with a note that names the damage.
    """
    have = results.have()
    plan = results.places()
    done = [p for p in plan if have.get(p.address) == "done"]
    longest: dict[tuple[str, str], int] = {}
    for place in done:
        key = place.problem, place.algorithm
        longest[key] = max(place.horizon, longest.get(key, 0))

    def keeps(place: Place) -> bool:
        if paths == "longest":
            return place.horizon == longest.get((place.problem, place.algorithm))
        return paths == "all"

    def read(place: Place) -> CellResult:
        try:
            cell = results.get(place.address)
        except StoreError as error:
            return CellResult(address=place.address, spec={}, status="failed", note=str(error))
        return cell if keeps(place) else _without_paths(cell)

    return arrange(plan, ((p, read(p)) for p in plan if p.address in have))


def arrange(plan: Iterable[Place], cells: Iterable[tuple[Place, CellResult]]) -> list[Row]:
    """Rows from cells in memory; ``plan`` says in which order, and what there should be."""
    numbers: dict[str, int] = {}
    blocks: dict[tuple[str, str, int], int] = {}
    for place in plan:
        numbers.setdefault(place.algorithm, len(numbers))
        key = place.problem, place.algorithm, place.horizon
        blocks[key] = blocks.get(key, 0) + 1
    found: dict[tuple[str, str, int], list[CellResult]] = {key: [] for key in blocks}
    for place, cell in cells:
        found[place.problem, place.algorithm, place.horizon].append(cell)
    return [_row(key, numbers[key[1]], there, blocks[key]) for key, there in found.items() if there]


def _row(key: tuple[str, str, int], number: int, cells: Sequence[CellResult], planned: int) -> Row:
    done = [cell for cell in cells if cell.status == "done"]
    bad = [cell for cell in cells if cell.status != "done"]
    notes = [cell.note for cell in bad[:1] if cell.note]
    if done and len(done) < planned:
        notes.append(f"{len(done)} of {planned} blocks of trials")
    problem, algorithm, horizon = key
    return Row(
        problem=problem,
        algorithm=algorithm,
        horizon=horizon,
        trials=sum(map(_trials, done)),
        status=bad[0].status if bad else "done",
        note="; ".join(notes),
        facts=_facts(done) if done else dict(cells[0].facts),
        arrays=_arrays([cell.arrays for cell in done]),
        provenance=_provenance(done or cells),
        number=number,
    )


def _trials(cell: CellResult) -> int:
    return len(cell.arrays["regret"]) if "regret" in cell.arrays else 0


def _without_paths(cell: CellResult) -> CellResult:
    arrays = {n: a for n, a in cell.arrays.items() if n not in (*_PATHS, *_SHARED)}
    return CellResult(
        address=cell.address,
        spec=cell.spec,
        status=cell.status,
        note=cell.note,
        facts=cell.facts,
        arrays=arrays,
        provenance=cell.provenance,
    )


def _arrays(blocks: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    if not blocks:
        return {}
    joined = {}
    for name, first in blocks[0].items():
        parts = [block[name] for block in blocks if name in block]
        if name in _SHARED:
            joined[name] = first
        elif len(parts) == len(blocks):
            joined[name] = np.concatenate(parts, axis=1 if name in _PATHS else 0)
    return joined


def _facts(cells: Sequence[CellResult]) -> dict[str, Any]:
    facts = dict(cells[0].facts)
    if len(cells) == 1:
        return facts
    every = [cell.facts for cell in cells]
    verdicts = [f["verdict"] for f in every if f.get("verdict")]
    if verdicts:
        facts["verdict"] = min(verdicts, key=lambda v: _gravity(v["word"]))
    facts["breaches"] = _breaches(cells)
    comparators = [f["comparator"] for f in every if f.get("comparator")]
    if comparators:
        facts["comparator"] = {
            "gap": _largest([c.get("gap") for c in comparators]),
            "exact": all(c.get("exact") for c in comparators),
        }
    facts["regret_share"] = _largest([f.get("regret_share") for f in every])
    guarantees = [f["guarantee"] for f in every if f.get("guarantee")]
    if guarantees:
        # Constants taken from a block's own stream may differ from block to block.
        bounds = {
            n: _largest([g.get(n) for g in guarantees]) for n in ("regret_bound", "violation_bound")
        }
        facts["guarantee"] = {**guarantees[0], **bounds}
    return facts


def _gravity(word: str) -> int:
    """0 for the gravest; a word of another version is as grave as any."""
    return VERDICTS.index(word) if word in VERDICTS else 0


def _breaches(cells: Sequence[CellResult]) -> list[dict[str, Any]]:
    """The earliest breach of each premise, its trial counted over all blocks."""
    first: dict[str, dict[str, Any]] = {}
    offset = 0
    for cell in cells:
        for breach in cell.facts.get("breaches") or []:
            trial = breach.get("trial")
            moved = {**breach, "trial": None if trial is None else trial + offset}
            known = first.setdefault(breach["constant"], moved)
            if breach["round"] < known["round"]:
                first[breach["constant"]] = moved
        offset += _trials(cell)
    return list(first.values())


def _largest(values: Sequence[Any]) -> float | None:
    known = [float(v) for v in values if v is not None]
    return max(known) if known else None


def _provenance(cells: Sequence[CellResult]) -> dict[str, Any]:
    merged = dict(cells[0].provenance)
    if len(cells) > 1:
        seconds = [cell.provenance.get("seconds") for cell in cells]
        if None not in seconds and seconds:
            merged["seconds"] = sum(float(s) for s in seconds if s is not None)
    return merged


def mean_std(row: Row, name: str) -> tuple[float, float]:
    """Mean and standard deviation over a row's trials of one of its arrays of trials.

    A trial that was lost (NaN) makes both NaN: the mean of the others is not the algorithm's.
    """
    values = np.asarray(row.arrays[name], dtype=np.float64)
    return float(values.mean()), float(values.std())


def algorithms(rows: Iterable[Row]) -> list[str]:
    """The algorithms' labels in the order of the plan, in whatever order the rows are."""
    return sorted(known := {row.algorithm: row.number for row in rows}, key=known.__getitem__)


def problems(rows: Iterable[Row]) -> list[str]:
    """The problems' labels, in the order in which they appear."""
    return list(dict.fromkeys(row.problem for row in rows))


def verdict_counts(rows: Iterable[Row]) -> dict[str, int]:
    """How many rows have which verdict, the gravest first; words that do not occur are left out."""
    seen = Counter(row.verdict for row in rows if row.verdict)
    return {word: seen[word] for word in VERDICTS if seen[word]}


def fit_rates(rows: Sequence[Row], name: str = "regret") -> list[Fit]:
    """For each problem and algorithm, the exponent of its regret in the horizon.

    Trials are fitted one by one where each has a positive regret at every horizon, which gives the
    interval of the mean slope; else their mean is fitted. Where that has no logarithm either, or
    fewer than three horizons were played, there is a reason instead of a rate.
    """
    grouped: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.played and name in row.arrays:
            grouped.setdefault((row.problem, row.algorithm), []).append(row)
    return [_fit(*key, group, name) for key, group in grouped.items()]


def _fit(problem: str, algorithm: str, rows: list[Row], name: str) -> Fit:
    rows = sorted(rows, key=lambda row: row.horizon)
    horizons = tuple(row.horizon for row in rows)
    if len(set(horizons)) < 3:
        reason = f"a rate needs three horizons, there are {len(set(horizons))}"
        return Fit(problem, algorithm, horizons, None, reason)
    # Trial i of every horizon meets the same stream, so trials can be followed across horizons.
    common = min(row.trials for row in rows)
    trials = np.array([row.arrays[name][:common] for row in rows], dtype=np.float64)
    if (trials > 0).all():
        return Fit(problem, algorithm, horizons, fit_rate(horizons, trials), f"{common} trials")
    means = np.array([mean_std(row, name)[0] for row in rows])
    if (means > 0).all():
        reason = f"mean of the trials: the smallest {name} of a trial is {trials.min():.3g}"
        return Fit(problem, algorithm, horizons, fit_rate(horizons, means), reason)
    reason = f"no logarithm: the smallest mean {name} is {means.min():.3g}"
    return Fit(problem, algorithm, horizons, None, reason)
