"""Results as rows: one per problem, algorithm and horizon, with its blocks of trials joined."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from surefoot.core.display import PROMISES, mean_and_spread
from surefoot.core.errors import StoreError
from surefoot.experiments.record import (
    VERDICTS,
    BreachFacts,
    CellResult,
    ComparatorFacts,
    Facts,
    GuaranteeFacts,
    Provenance,
    axes_of,
)
from surefoot.experiments.store import DamagedCellError, Results
from surefoot.games.rates import Rate, fit_rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The results of one algorithm on one problem at one horizon.

    Attributes:
        problem: the problem's label.
        algorithm: the algorithm's label.
        horizon: number of rounds.
        trials: how many trials were played to their end.
        status: "done" if every block in the file is; else the status of the first that is not.
        note: what is missing and why; else empty.
        facts: of the first block; verdict, breaches, comparator and bounds are those of all.
        arrays: the blocks' arrays, joined along their trials; actions are those of the first block.
        provenance: of the first block; the seconds are those of all.
        number: the algorithm's place in the plan, from 0; it determines the colour.
        damaged: the reasons of damaged cells, by address.
        blocks: how many blocks of trials were joined; the sentence of the verdict is that of one.
    """

    problem: str
    algorithm: str
    horizon: int
    trials: int
    status: str
    note: str = ""
    facts: Facts = field(default_factory=Facts)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    provenance: Provenance = field(default_factory=Provenance)
    number: int = 0
    damaged: dict[str, str] = field(default_factory=dict)
    blocks: int = 1

    @property
    def played(self) -> bool:
        """Whether there are numbers to show."""
        return self.trials > 0

    @property
    def verdict(self) -> str:
        """The verdict's word; empty where nothing was played."""
        return "" if self.facts.verdict is None else self.facts.verdict.word

    @property
    def claims(self) -> bool:
        """Whether there is a guarantee and none of its premises broke."""
        return bool(self.guarantee.name) and self.verdict in ("held", "not checked", "failed")

    @property
    def guarantee(self) -> GuaranteeFacts:
        """What is promised; an empty one if nothing is."""
        return self.facts.guarantee or GuaranteeFacts(name="", kind="")

    @property
    def promise(self) -> str:
        """What the guarantee promises about the constraint, in words; empty if nothing."""
        return PROMISES.get(self.guarantee.kind, self.guarantee.kind)

    @property
    def share(self) -> str:
        """The regret over the bound in advance; "trivial" or "-" where that cannot be exceeded."""
        if self.guarantee.worth:
            return "-" if self.guarantee.in_advance is None else "trivial"
        share = self.facts.regret_share
        return "-" if share is None else f"{share:.3f}"

    @property
    def violations(self) -> float | None:
        """The number of rounds of a trial with g > 0, averaged over the trials."""
        counts = self.arrays.get("violations") if self.played else None
        return None if counts is None else float(counts.mean())

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of a table of results, below ``RESULT_HEAD``."""
        place = (self.algorithm, str(self.horizon))
        if not self.played:
            return *place, "", "", self.promise, "", "", self.status
        violations = self.violations or 0.0
        count = f"{violations:.4g}" if violations < 1_000 else f"{violations:.0f}"
        return (
            *place,
            mean_and_spread(self.arrays["regret"]),
            self.share,
            self.promise,
            f"{count} of {self.horizon}",
            f"{self.arrays['largest'].max():.3g}",
            self.verdict,
        )


# --- reading -------------------------------------------------------------------------------------


def gather(results: Results) -> list[Row]:
    """Read the rows of an experiment, in the order of its plan; every cell is read once.

    Missing cells are left out, and so is a row without any. A damaged cell
    counts as failed, with a note that names the damage.

    Args:
        results: the open file.
    """
    numbers: dict[str, int] = {}
    damaged: dict[str, str] = {}
    blocks: dict[tuple[str, str, int], list[CellResult | None]] = {}
    for place in results.places():
        numbers.setdefault(place.algorithm, len(numbers))
        try:
            cell = results.get(place.address)
        except StoreError as error:
            why = error.why if isinstance(error, DamagedCellError) else str(error)
            damaged[place.address] = why
            cell = CellResult(address=place.address, spec={}, status="failed", note=str(error))
        blocks.setdefault((place.problem, place.algorithm, place.horizon), []).append(cell)
    return [
        _row(key, numbers[key[1]], cells, len(group), damaged)
        for key, group in blocks.items()
        if (cells := [cell for cell in group if cell is not None])
    ]


def _row(
    key: tuple[str, str, int],
    number: int,
    cells: Sequence[CellResult],
    planned: int,
    damaged: Mapping[str, str],
) -> Row:
    done = [cell for cell in cells if cell.status == "done"]
    bad = [cell for cell in cells if cell.status != "done"]
    notes = [cell.note for cell in (*bad[:1], *done) if cell.note][:1]
    if done and len(done) < planned:
        notes.append(f"{len(done)} of {planned} blocks of trials")
    problem, algorithm, horizon = key
    return Row(
        problem=problem,
        algorithm=algorithm,
        horizon=horizon,
        trials=sum(cell.trials for cell in done),
        status=bad[0].status if bad else "done",
        note="; ".join(notes),
        facts=join_facts([cell.facts for cell in done or cells[:1]]),
        arrays=join_arrays([cell.arrays for cell in done]),
        provenance=_provenance(done or cells),
        number=number,
        damaged={c.address: damaged[c.address] for c in bad if c.address in damaged},
        blocks=len(done),
    )


# --- joining blocks ------------------------------------------------------------------------------


def join_arrays(blocks: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the arrays of all blocks, joined along their trials.

    An array without an axis of trials is the same in every block; actions are kept of the first
    trials of a block only, so those of the first block stay, and action i is of trial i.
    """
    joined = dict(blocks[0]) if blocks else {}
    for name in joined:
        axes = axes_of(name)
        if "trial" in axes and name != "actions":
            joined[name] = np.concatenate([b[name] for b in blocks], axis=axes.index("trial"))
    return joined


def join_facts(blocks: Sequence[Facts]) -> Facts:
    """Return the facts of all blocks: the first's, with the gravest verdict and largest bounds."""
    if len(blocks) == 1:
        return blocks[0]
    verdicts = [facts.verdict for facts in blocks if facts.verdict is not None]
    comparators = [facts.comparator for facts in blocks if facts.comparator is not None]
    guarantees = [facts.guarantee for facts in blocks if facts.guarantee is not None]
    return replace(
        blocks[0],
        verdict=min(verdicts, key=lambda v: VERDICTS.index(v.word)) if verdicts else None,
        breaches=_join_breaches(blocks),
        comparator=ComparatorFacts(
            gap=_largest([c.gap for c in comparators]), exact=all(c.exact for c in comparators)
        )
        if comparators
        else None,
        regret_share=_largest([facts.regret_share for facts in blocks]),
        guarantee=_join_guarantees(guarantees) if guarantees else None,
    )


def _join_breaches(blocks: Sequence[Facts]) -> tuple[BreachFacts, ...]:
    """Return the earliest breach of each premise; trials are counted over all blocks already."""
    first: dict[str, BreachFacts] = {}
    for breach in (breach for facts in blocks for breach in facts.breaches):
        earliest = first.setdefault(breach.constant, breach)
        if breach.round < earliest.round:
            first[breach.constant] = breach
    return tuple(first.values())


def _join_guarantees(guarantees: Sequence[GuaranteeFacts]) -> GuaranteeFacts:
    # Constants taken from a block's own stream may differ from block to block.
    measures = dict.fromkeys(measure for g in guarantees for measure in g.bounds)
    return replace(
        guarantees[0],
        regret_bound=_largest([g.regret_bound for g in guarantees]),
        worth=next((g.worth for g in guarantees if g.worth), ""),
        bounds={m: max(g.bounds[m] for g in guarantees if m in g.bounds) for m in measures},
    )


def _largest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _provenance(cells: Sequence[CellResult]) -> Provenance:
    seconds = [s for cell in cells if (s := cell.provenance.get("seconds")) is not None]
    first = cells[0].provenance
    return {**first, "seconds": sum(seconds)} if len(seconds) == len(cells) else first


# --- over several rows ---------------------------------------------------------------------------


def mean_std(row: Row, name: str) -> tuple[float, float]:
    """Return mean and standard deviation over a row's trials of one of its arrays of trials.

    A trial that was lost (NaN) makes both NaN: the mean of the others is not the algorithm's.
    """
    values = np.asarray(row.arrays[name], dtype=np.float64)
    return float(values.mean()), float(values.std())


def notes_of(rows: Iterable[Row]) -> list[str]:
    """Return why rows were not played or not to their end, one line per problem and player."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.note:
            groups.setdefault((row.algorithm, row.problem), []).append(row)
    return [
        f"{algorithm} on {problem}, T = {', '.join(str(r.horizon) for r in rows)}: {rows[-1].note}"
        for (algorithm, problem), rows in groups.items()
    ]


def algorithms(rows: Iterable[Row]) -> list[str]:
    """Return the algorithms' labels in the order of the plan, whatever the order of the rows."""
    return sorted(numbers := {row.algorithm: row.number for row in rows}, key=numbers.__getitem__)


def problems(rows: Iterable[Row]) -> list[str]:
    """Return the problems' labels, in the order in which they appear."""
    return list(dict.fromkeys(row.problem for row in rows))


class Fit(NamedTuple):
    """The rate at which an algorithm's regret grows on a problem, or why there is none.

    Attributes:
        problem: the problem's label.
        algorithm: the algorithm's label.
        horizons: the horizons that were fitted.
        rate: slope, its 95 % interval and scale; None where nothing could be fitted.
        reason: why there is no rate, or what it was fitted to; one sentence without a full stop.
    """

    problem: str
    algorithm: str
    horizons: tuple[int, ...]
    rate: Rate | None
    reason: str


def fit_rates(rows: Sequence[Row]) -> list[Fit]:
    """Return the exponent of the regret in the horizon for each problem and algorithm.

    Trials are fitted one by one where every regret is positive, which gives the interval of the
    mean slope; else their mean is fitted. Where the mean has no logarithm either, or fewer than
    three horizons were played, there is a reason instead of a rate.
    """
    grouped: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.played and "regret" in row.arrays:
            grouped.setdefault((row.problem, row.algorithm), []).append(row)
    return [_fit(*key, group) for key, group in grouped.items()]


def _fit(problem: str, algorithm: str, rows: list[Row]) -> Fit:
    rows = sorted(rows, key=lambda row: row.horizon)
    horizons, rate = tuple(row.horizon for row in rows), None
    # Trial i of every horizon meets the same stream, so trials can be followed across horizons.
    common = min(row.trials for row in rows)
    trials = np.array([row.arrays["regret"][:common] for row in rows], dtype=np.float64)
    means = np.array([mean_std(row, "regret")[0] for row in rows])
    if len(set(horizons)) < 3:
        reason = f"a rate needs three horizons, there are {len(set(horizons))}"
    elif (trials > 0).all():
        rate, reason = fit_rate(horizons, trials), f"{common} trials"
    elif (means > 0).all():
        reason = f"mean of the trials: the smallest regret of a trial is {trials.min():.3g}"
        rate = fit_rate(horizons, means)
    else:
        reason = f"no logarithm: the smallest mean regret is {means.min():.3g}"
    return Fit(problem, algorithm, horizons, rate, reason)
