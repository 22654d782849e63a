"""The record of a game: sums and violations always exact, paths thinned, premises watched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from surefoot.core.display import mean_and_spread, of_runs
from surefoot.core.errors import InvalidValueError, warn_caller
from surefoot.core.types import Array, Index
from surefoot.guarantees import Breach, Guarantee, Measure, Policy, PremiseError, PremiseWarning

__all__ = ["Observed", "Progress", "ViolationMeter", "Violations", "violations"]

Mode: TypeAlias = Literal["off"] | Policy
"""What a game does when a premise breaks; "off" does not look."""


class Block(NamedTuple):
    """Consecutive rounds of the first few runs, as an engine hands them over.

    Attributes:
        start: how many rounds came before.
        cost: ``(rounds, runs)``.
        constraint: values of g, same shape.
        actions: those of the rounds that :meth:`Recorder.find_kept` asks for, ``(kept, runs, d)``.
        gradient_norm: norms of the cost gradients, where the watch is on.
        subgradient_norm: norms of the constraint subgradients, likewise.
        row_sums: each constraint summed over the rounds, ``(runs, m)``, where a guarantee bounds
            these sums.
    """

    start: int
    cost: Array
    constraint: Array
    actions: Array | None
    gradient_norm: Array | None
    subgradient_norm: Array | None
    row_sums: Array | None = None

    def columns(self, runs: slice) -> Block:
        """Return the share of some runs, as views."""
        share: list[Array] = [None if array is None else array[:, runs] for array in self[1:-1]]
        share.append(None if self.row_sums is None else self.row_sums[runs])
        return Block(self.start, *share)


class Progress(NamedTuple):
    """What a callback receives between blocks of rounds.

    Attributes:
        round: rounds played.
        horizon: rounds to be played.
        cost_sum: cost so far, one entry a run.
        largest: largest g so far, one entry a run.
        x: the last actions played that are kept, ``(runs, d)``; None where none are kept.
    """

    round: int
    horizon: int
    cost_sum: Array
    largest: Array
    x: Array | None


# --- violations -----------------------------------------------------------------------------------


class Violations(NamedTuple):
    r"""The violation measures of a run; arrays over the runs of a batch.

    Attributes:
        sum: :math:`\sum g(x_t)`; may be negative.
        positive_sum: :math:`[\sum g(x_t)]_+`, what cumulative guarantees bound.
        sum_positive: :math:`\sum [g(x_t)]_+`.
        sum_squared: :math:`\sum [g(x_t)]_+^2`.
        largest: :math:`\max_t g(x_t)`.
        count: how many rounds had :math:`g(x_t) > 0`; exactly, no tolerance. A round without a
            value (NaN, of a run that was lost) counts: no measurement shows it feasible.
        feasible_from: the first round from which no round has :math:`g(x_t) > 0`;
            one more than the horizon if the last round has.
        first_violation: the first round that counts; 0 if none does.
    """

    sum: Array
    positive_sum: Array
    sum_positive: Array
    sum_squared: Array
    largest: Array
    count: Array
    feasible_from: Array
    first_violation: Array

    def __repr__(self) -> str:
        count = int(np.max(self.count))
        violations = f"{count:,} violation{'s' * (count != 1)}"
        return (
            f"<Violations{of_runs(self.count)}: at most {violations}, largest g = "
            f"{np.max(self.largest):.3g}, sum of [g]+ {mean_and_spread(self.sum_positive)}>"
        )

    def of(self, runs: Index) -> Violations:
        """Return the measures of one run, or of some of them."""
        return Violations(*(measure[runs] for measure in self))


class ViolationMeter:
    """Accumulate the measures from constraint values, in blocks of rounds.

    Blocks are summed and the sums added up, so a long run needs no memory of its rounds and loses
    fewer digits than one running sum.

    Args:
        runs: how many runs there are.
        rows: the number of separate constraints; 0 if there is one g.

    Attributes:
        row_sums: the sum of each separate constraint, ``(runs, m)``; None if there is one g.
    """

    def __init__(self, runs: int, rows: int = 0) -> None:
        self.row_sums: Array | None = np.zeros((runs, rows)) if rows else None
        self._sum, self._sum_positive, self._sum_squared = np.zeros((3, runs))
        self._largest = np.full(runs, -np.inf)
        self._count, self._last, self._first = np.zeros((3, runs), dtype=np.int64)

    def add(self, start: int, g: Array, rows: Array | None = None) -> None:
        """Add the values ``(rounds, runs)`` of the rounds after the first ``start``.

        Args:
            start: how many rounds came before.
            g: the largest constraint of each round.
            rows: for separate constraints, the sums of each over these rounds,
                ``(runs, m)``.
        """
        if self.row_sums is not None and rows is not None:
            self.row_sums += rows
        largest = g.max(axis=0)
        self._sum += g.sum(axis=0)
        self._largest = np.maximum(self._largest, largest)
        if (largest <= 0).all():
            return  # the common case: nothing is added to the others
        positive = np.maximum(g, 0.0)
        above = ~(g <= 0)
        self._sum_positive += positive.sum(axis=0)
        self._sum_squared += (positive * positive).sum(axis=0)
        self._count += above.sum(axis=0)
        rounds = start + 1 + np.arange(len(g))[:, None]
        self._last = np.maximum(self._last, (above * rounds).max(axis=0))
        fresh = above.any(axis=0) & (self._first == 0)
        self._first = np.where(fresh, start + 1 + above.argmax(axis=0), self._first)

    def read(self) -> Violations:
        """Return the measures of all rounds so far, one entry per run."""
        return Violations(
            sum=self._sum.copy(),
            positive_sum=np.maximum(self._sum, 0.0),
            sum_positive=self._sum_positive.copy(),
            sum_squared=self._sum_squared.copy(),
            largest=self._largest.copy(),
            count=self._count.copy(),
            feasible_from=self._last + 1,
            first_violation=self._first.copy(),
        )


def violations(g: Array) -> Violations:
    """Return the measures of the values of all rounds, ``(T,)`` or ``(T, B)``.

    Example:
        >>> measures = violations(np.array([0.5, -1.0, 0.25, -2.0]))
        >>> float(measures.sum), float(measures.sum_positive), int(measures.count)
        (-2.25, 0.75, 2)
    """
    g = np.asarray(g, dtype=np.float64)
    if g.ndim not in (1, 2) or g.size == 0:
        raise InvalidValueError(f"g.shape must be (T,) or (T, B) with no empty axis, got {g.shape}")
    meter = ViolationMeter(1 if g.ndim == 1 else g.shape[1])
    meter.add(0, g.reshape(len(g), -1))
    measures = meter.read()
    return measures.of(0) if g.ndim == 1 else measures


# --- the recorder ---------------------------------------------------------------------------------


@dataclass
class Recorder:
    """Take in blocks from any engine, so that all engines leave the same trace.

    Attributes:
        runs: how many there are.
        horizon: rounds of each.
        dimension: the length of an action.
        every: keep every k-th round, and the last; None for the last only.
        keep_actions: whether the kept rounds' actions are kept.
        watch: what compares each block with the premises and with the bounds on its rounds.
        rows: how many constraints are summed each by itself; 0 for none.
        callback: called with the progress after every block.
    """

    runs: int
    horizon: int
    dimension: int
    every: int | None
    keep_actions: bool
    watch: BlockWatch
    rows: int = 0
    callback: Callable[[Progress], None] | None = None

    def __post_init__(self) -> None:
        runs, horizon, step = self.runs, self.horizon, self.every or self.horizon
        self.rounds: Array = np.unique(np.append(np.arange(step, horizon + 1, step), horizon))
        shape = (len(self.rounds), runs)
        self.cost: Array = np.full(shape, np.nan)
        self.cost_sum: Array = np.full(shape, np.nan)
        self.constraint: Array = np.full(shape, np.nan)
        self.peak: Array = np.full(shape, np.nan)  # largest g since the kept round before
        self._peak = np.full(runs, -np.inf)  # the same of the rounds since the last one kept
        self.actions: Array | None = None
        if self.keep_actions:
            self.actions = np.full((*shape, self.dimension), np.nan)
        self.total: Array = np.zeros(runs)
        self.meter: ViolationMeter = ViolationMeter(runs, self.rows)
        self.lost: Array = np.zeros(runs, dtype=np.int64)  # first round with no finite g; 0 if none

    def find_kept(self, start: int, stop: int) -> Array:
        """Return which of the rounds after ``start``, up to ``stop``, are kept: offsets from 0."""
        low, high = np.searchsorted(self.rounds, [start + 1, stop + 1])
        return self.rounds[low:high] - start - 1

    def block(self, start: int, stop: int, *, by_run: bool = False) -> Block:
        """Return an empty block for an engine to fill in.

        Args:
            start: how many rounds came before.
            stop: rounds with it.
            by_run: whether the numbers of a run, rather than those of a round, are neighbours.
        """

        def empty(rounds: int, *shape: int) -> Array:
            if by_run:
                return np.empty((self.runs, rounds, *shape)).swapaxes(0, 1)
            return np.empty((rounds, self.runs, *shape))

        length = stop - start
        actions = None
        if self.actions is not None:
            actions = empty(len(self.find_kept(start, stop)), self.actions.shape[2])
        gradient, subgradient = (empty(length) if self.watch.is_on else None for _ in range(2))
        sums = np.zeros((self.runs, self.rows)) if self.rows else None
        return Block(start, empty(length), empty(length), actions, gradient, subgradient, sums)

    def add(self, block: Block) -> None:
        """Add a block."""
        start, cost, g, actions = block[:4]
        if not np.isfinite(g.sum()):
            missing = ~np.isfinite(g)
            fresh = missing.any(axis=0) & (self.lost == 0)
            self.lost = np.where(fresh, start + 1 + missing.argmax(axis=0), self.lost)
        self.meter.add(start, g, block.row_sums)
        # Summed the same way whether rounds of this block are kept or not: thinning must not
        # change a total, not even its last bit.
        before, sums = self.total, np.cumsum(cost, axis=0)
        self.total = before + sums[-1]
        offsets = self.find_kept(start, start + len(cost))
        low = int(np.searchsorted(self.rounds, start + 1))
        at = slice(low, low + len(offsets))
        self.cost[at] = cost[offsets]
        self.cost_sum[at] = before + sums[offsets]
        self.constraint[at] = g[offsets]
        self._add_peaks(g, offsets, at)
        if self.actions is not None:
            self.actions[at] = actions
        self.watch.compare(start, g)
        if self.watch.is_on:
            self.watch.add(start, g, block.gradient_norm, block.subgradient_norm)
        if self.callback is not None:
            self.callback(self._progress(start + len(cost)))

    def _add_peaks(self, g: Array, offsets: Array, at: slice) -> None:
        """Record the largest g up to each stored round, and carry the rest to the next block."""
        begins = np.append(0, offsets + 1)
        rest = begins[-1] < len(g)  # rounds after the last one kept
        # With every round kept the peaks are the values.
        peaks = (
            g if len(offsets) == len(g) else np.maximum.reduceat(g, begins[: len(offsets) + rest])
        )
        carried = np.maximum(peaks[0], self._peak)
        if len(offsets):
            self.peak[at] = peaks[: len(offsets)]
            self.peak[at.start] = carried
            carried = peaks[-1] if rest else np.full(self.runs, -np.inf)
        self._peak = carried

    def _progress(self, done: int) -> Progress:
        low = int(np.searchsorted(self.rounds, done, side="right"))
        x = None if self.actions is None or low == 0 else self.actions[low - 1].copy()
        return Progress(done, self.horizon, self.total.copy(), self.meter.read().largest, x)


def block_length(runs: int, dimension: int, longest: int = 2_048) -> int:
    """Return the rounds per block: about 4 MB of actions, short enough for callbacks."""
    return int(np.clip(500_000 // (runs * (dimension + 4)), 16, longest))


class Observed(NamedTuple):
    """The extremes observed, one entry per run.

    Attributes:
        cost_gradient: largest norm of a cost gradient.
        constraint_subgradient: largest norm of a constraint subgradient.
    """

    cost_gradient: Array
    constraint_subgradient: Array


class BlockWatch:
    """Compare what a game observes with what its guarantee assumes.

    Args:
        guarantee: of all runs; None where there is none.
        runs: how many there are.
        mode: "off" looks at nothing; "record" keeps breaches; "warn" also warns of the first of
            each kind; "raise" ends the game at it.
        curvature: a bound on that of the constraints; inf where it is unknown.

    Attributes:
        breaches: premises that broke.
        excess: the largest g less the bound of its round, of each run, in every mode; None where
            the guarantee does not bound each round.
    """

    def __init__(
        self, guarantee: Guarantee | None, runs: int, mode: Mode, curvature: float | None = None
    ) -> None:
        self.mode, self._guarantee, self._curvature = mode, guarantee, curvature
        self.breaches: list[Breach] = []
        self._gradient, self._subgradient = np.zeros((2, runs))
        premises = () if guarantee is None else guarantee.premises
        # Each with the runs in which it has not been broken.
        self._open = [(premise, np.arange(runs)) for premise in premises]
        self.excess: Array | None = np.full(runs, -np.inf) if bounds("round", guarantee) else None

    @property
    def is_on(self) -> bool:
        """Whether norms are needed."""
        return self.mode != "off"

    def compare(self, start: int, g: Array) -> None:
        """Compare each g of a block, ``(rounds, runs)``, with the bound of its round."""
        if self.excess is not None and self._guarantee is not None:
            t = start + 1 + np.arange(len(g))
            over = g - self._guarantee.bounds(t)["round"][:, None]
            # The sign is exact: a difference of two floats is rounded to 0 only where it is 0.
            self.excess = np.maximum(self.excess, over.max(axis=0))

    def add(self, start: int, g: Array, gradient: Array, subgradient: Array) -> None:
        """Watch a block: ``(rounds, runs)``, after ``start`` rounds."""
        self._gradient = np.maximum(self._gradient, gradient.max(axis=0))
        self._subgradient = np.maximum(self._subgradient, subgradient.max(axis=0))
        t = start + 1.0 + np.arange(len(g))[:, None]
        new: list[Breach] = []
        for i, (premise, runs) in enumerate(self._open):
            observed, counts = premise.observe(
                t, gradient[:, runs], g[:, runs], subgradient[:, runs], self._curvature
            )
            bad = np.broadcast_to(counts & premise.is_broken_by(observed), (len(g), len(runs)))
            observed = np.broadcast_to(observed, bad.shape)
            broken = bad.any(axis=0)
            for k in np.flatnonzero(broken):
                row = int(bad[:, k].argmax())
                new.append(premise.breach(start + row + 1, float(observed[row, k]), int(runs[k])))
            self._open[i] = premise, runs[~broken]
        self._open = [(premise, runs) for premise, runs in self._open if len(runs)]
        self._report(new)

    def _report(self, new: list[Breach]) -> None:
        reported = {(b.constant, b.limit) for b in self.breaches}
        self.breaches += new
        for breach in sorted(new, key=lambda b: b.round):
            premise = breach.constant, breach.limit
            if premise in reported:
                continue
            reported.add(premise)
            if self.mode == "raise":
                raise PremiseError(str(breach))
            if self.mode == "warn":
                warn_caller(str(breach), PremiseWarning)

    def extremes(self) -> Observed:
        """Return the extremes so far."""
        return Observed(self._gradient.copy(), self._subgradient.copy())


def bounds(measure: Measure, guarantee: Guarantee | None) -> bool:
    """Return whether a guarantee bounds a measure."""
    return guarantee is not None and measure in guarantee.bounds(1)
