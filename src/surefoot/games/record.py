"""The record of a game: exact sums always, paths thinned as requested, premises watched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from surefoot.algorithms import Breach, Guarantee, Policy, Premise, PremiseError, PremiseWarning
from surefoot.core.errors import warn_caller
from surefoot.core.types import Array
from surefoot.games.violations import ViolationMeter

__all__ = [
    "Block",
    "BlockWatch",
    "Mode",
    "Observed",
    "Progress",
    "Recorder",
    "block_length",
    "segments",
]

Mode: TypeAlias = Literal["off"] | Policy
"""What a game does when a premise breaks; "off" does not look."""


class Block(NamedTuple):
    """Consecutive rounds of the first few runs, as an engine hands them over.

    Attributes:
        start: how many rounds came before.
        cost: ``(rounds, runs)``.
        constraint: values of g, same shape.
        actions: those of the rounds that :meth:`Recorder.kept` asks for, ``(kept, runs, d)``.
        gradient_norm: norms of the cost gradients, where the watch is on.
        subgradient_norm: norms of the constraint subgradients, likewise.
        row_sums: each constraint summed over the rounds, ``(runs, m)``, where that is wanted.
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
        worst: largest g so far, one entry a run.
        x: the last actions played that are kept, ``(runs, d)``, NaN for runs that have ended;
            None where none are kept.
    """

    round: int
    horizon: int
    cost_sum: Array
    worst: Array
    x: Array | None


class Recorder:
    """Take in blocks from any engine, so that all engines leave the same trace.

    Runs are ordered by falling horizon: those still playing are always the first ones.

    Args:
        horizons: rounds of each run.
        dimension: the length of an action.
        every: keep every k-th round, and the last; None for the last only.
        keep_actions: whether the kept rounds' actions are kept.
        watch: what compares each block with the premises and with the bounds on its rounds.
        rows: how many constraints are summed each by itself; 0 for none.
    """

    def __init__(
        self,
        horizons: Array,
        dimension: int,
        every: int | None,
        keep_actions: bool,
        watch: BlockWatch,
        rows: int = 0,
    ) -> None:
        runs, last = len(horizons), int(horizons[0])
        self._step = last if every is None else every
        thinned = np.arange(self._step, last + 1, self._step)
        self.rounds = np.unique(np.append(thinned, horizons))
        self.watch = watch
        self.horizons = horizons
        shape = (len(self.rounds), runs)
        self.cost = np.full(shape, np.nan)
        self.cost_sum = np.full(shape, np.nan)
        self.constraint = np.full(shape, np.nan)
        self.peak = np.full(shape, np.nan)  # largest g since the kept round before
        self._peak = np.full(runs, -np.inf)  # the same of the rounds since the last one kept
        self.actions = np.full((*shape, dimension), np.nan) if keep_actions else None
        self.total = np.zeros(runs)
        self.rows = rows
        self.meter = ViolationMeter(runs, rows)
        self.lost = np.zeros(runs, dtype=np.int64)  # first round with no finite g; 0 if none
        self.status = ["ok"] * runs  # or why a run has no more actions

    def rounds_of(self, horizon: int) -> Array:
        """Return which of the kept rounds are meant for a run: every k-th one, and its last."""
        mine = (self.rounds % self._step == 0) & (self.rounds <= horizon)
        return mine | (self.rounds == horizon)

    def peaks_of(self, horizon: int) -> Array:
        """Return the largest g since the round before that is kept for a run of this horizon."""
        at = np.flatnonzero(self.rounds_of(horizon))
        begins = np.append(0, at[:-1] + 1)  # rounds between may be kept for other runs
        return np.maximum.reduceat(self.peak[: at[-1] + 1], begins, axis=0)

    def kept(self, start: int, stop: int) -> Array:
        """Return which of the rounds after ``start``, up to ``stop``, are kept: offsets from 0."""
        low, high = np.searchsorted(self.rounds, [start + 1, stop + 1])
        return self.rounds[low:high] - start - 1

    def block(self, start: int, stop: int, runs: int, *, by_run: bool = False) -> Block:
        """Return an empty block for an engine to fill in.

        Args:
            start: how many rounds came before.
            stop: rounds with it.
            runs: how many play.
            by_run: whether the numbers of a run, rather than those of a round, are neighbours.
        """

        def empty(*shape: int) -> Array:
            return (
                np.empty((runs, *shape)).swapaxes(0, 1)
                if by_run
                else np.empty((shape[0], runs, *shape[1:]))
            )

        length = stop - start
        actions = None
        if self.actions is not None:
            actions = empty(len(self.kept(start, stop)), self.actions.shape[2])
        gradient, subgradient = (empty(length) if self.watch.is_on else None for _ in range(2))
        sums = np.zeros((runs, self.rows)) if self.rows else None
        return Block(start, empty(length), empty(length), actions, gradient, subgradient, sums)

    def add(self, block: Block) -> None:
        """Add a block."""
        start, cost, g, actions = block[:4]
        runs = slice(cost.shape[1])
        if not np.isfinite(g.sum()):
            lost = ~np.isfinite(g)
            first = start + 1 + lost.argmax(axis=0)
            fresh = lost.any(axis=0) & (self.lost[runs] == 0)
            self.lost[runs] = np.where(fresh, first, self.lost[runs])
        self.meter.add(start, g, runs, block.row_sums)
        # Summed the same way whether rounds of this block are kept or not: thinning must not
        # change a total, not even its last bit.
        before, sums = self.total[runs].copy(), np.cumsum(cost, axis=0)
        self.total[runs] = before + sums[-1]
        kept = self.kept(start, start + len(cost))
        at = np.searchsorted(self.rounds, start + 1 + kept)
        self.cost[at, runs] = cost[kept]
        self.cost_sum[at, runs] = before + sums[kept]
        self.constraint[at, runs] = g[kept]
        self._add_peaks(start, g, kept)
        if self.actions is not None:
            self.actions[at, runs] = actions
        self.watch.compare(start, g)
        if self.watch.is_on:
            self.watch.add(start, g, block.gradient_norm, block.subgradient_norm)

    def _add_peaks(self, start: int, g: Array, kept: Array) -> None:
        """Record the largest g up to each stored round, and carry the rest to the next block."""
        runs = slice(g.shape[1])
        begins = np.append(0, kept + 1)
        rest = begins[-1] < len(g)  # rounds after the last one kept
        # With every round kept the peaks are the values.
        peaks = g if len(kept) == len(g) else np.maximum.reduceat(g, begins[: len(kept) + rest])
        carried = np.maximum(peaks[0], self._peak[runs])
        if len(kept):
            low = int(np.searchsorted(self.rounds, start + 1 + kept[0]))
            self.peak[low : low + len(kept), runs] = peaks[: len(kept)]
            self.peak[low, runs] = carried
            carried = peaks[-1] if rest else -np.inf
        self._peak[runs] = carried

    def progress(self, done: int) -> Progress:
        """Return what a callback receives."""
        low = int(np.searchsorted(self.rounds, done, side="right"))
        x = None if self.actions is None or low == 0 else self.actions[low - 1].copy()
        worst = self.meter.read().worst
        return Progress(done, int(self.horizons[0]), self.total.copy(), worst, x)


def block_length(runs: int, dimension: int, longest: int = 2_048) -> int:
    """Return the rounds per block: about 4 MB of actions, short enough for callbacks."""
    return int(np.clip(500_000 // (runs * (dimension + 4)), 16, longest))


def segments(horizons: Array, length: int) -> Iterator[tuple[int, int, int]]:
    """Yield blocks ``(start, stop, active runs)`` with the same runs playing throughout each."""
    last = int(horizons[0])
    stops = set(range(length, last, length)) | {int(h) for h in horizons}
    start = 0
    for stop in sorted(stops):
        yield start, stop, int((horizons > start).sum())
        start = stop


class Observed(NamedTuple):
    """The extremes observed, one entry per run.

    Attributes:
        cost_gradient: largest norm of a cost gradient.
        constraint_subgradient: largest norm of a constraint subgradient.
    """

    cost_gradient: Array
    constraint_subgradient: Array


class BlockWatch:
    """Compare what a game observes with what its guarantees assume.

    Args:
        guarantees: one for each run, or None where there is none.
        mode: "off" looks at nothing; "record" keeps breaches; "warn" also warns of the first of
            each kind; "raise" ends the game at it.
        curvature: of the constraints, at most; inf where it is not known.

    Attributes:
        breaches: premises that broke.
        excess: the largest g less the bound of its round, of each run, in every mode; -inf where
            the guarantee does not bound each round.
    """

    def __init__(
        self, guarantees: Sequence[Guarantee | None], mode: Mode, curvature: float | None = None
    ) -> None:
        self.mode = mode
        self._curvature = curvature
        self.breaches: list[Breach] = []
        self._gradient = np.zeros(len(guarantees))
        self._subgradient = np.zeros(len(guarantees))
        # Runs that share a guarantee are checked together.
        groups: dict[int, tuple[Guarantee, list[int]]] = {}
        for run, guarantee in enumerate(guarantees):
            if guarantee is not None:
                groups.setdefault(id(guarantee), (guarantee, []))[1].append(run)
        self._open = [
            (premise, np.array(runs))
            for guarantee, runs in groups.values()
            for premise in guarantee.premises
        ]
        self._bounded = [
            (guarantee, np.array(runs))
            for guarantee, runs in groups.values()
            if "round" in guarantee.bounds(1)
        ]
        self.excess = np.full(len(guarantees), -np.inf)

    @property
    def is_on(self) -> bool:
        """Whether norms are needed."""
        return self.mode != "off"

    def compare(self, start: int, g: Array) -> None:
        """Hold each g of a block, ``(rounds, runs)``, against the bound of its own round."""
        t = start + 1 + np.arange(len(g))
        for guarantee, watched in self._bounded:
            here = watched[watched < g.shape[1]]
            over = g[:, here] - guarantee.bounds(t)["round"][:, None]
            # The sign is exact: a difference of two floats is rounded to 0 only where it is 0.
            self.excess[here] = np.maximum(self.excess[here], over.max(axis=0))

    def add(self, start: int, g: Array, gradient: Array, subgradient: Array) -> None:
        """Watch a block of the first runs: ``(rounds, runs)``, after ``start`` rounds."""
        runs = slice(g.shape[1])
        self._gradient[runs] = np.maximum(self._gradient[runs], gradient.max(axis=0))
        self._subgradient[runs] = np.maximum(self._subgradient[runs], subgradient.max(axis=0))
        t = start + 1.0 + np.arange(len(g))[:, None]
        new: list[Breach] = []
        still: list[tuple[Premise, Array]] = []
        for premise, watched in self._open:
            here = watched[watched < g.shape[1]]
            seen, counts = premise.observe(
                t, gradient[:, here], g[:, here], subgradient[:, here], self._curvature
            )
            bad = np.broadcast_to(counts & premise.is_broken_by(seen), (len(g), len(here)))
            seen = np.broadcast_to(seen, bad.shape)
            broken = bad.any(axis=0)
            for k in np.flatnonzero(broken):
                row = int(bad[:, k].argmax())
                new.append(premise.breach(start + row + 1, float(seen[row, k]), int(here[k])))
            left = np.setdiff1d(watched, here[broken])
            if len(left):
                still.append((premise, left))
        self._open = still
        self._tell(new)

    def _tell(self, new: list[Breach]) -> None:
        told = {(b.constant, b.limit) for b in self.breaches}
        self.breaches += new
        for breach in sorted(new, key=lambda b: b.round):
            premise = breach.constant, breach.limit
            if premise in told:
                continue
            told.add(premise)
            if self.mode == "raise":
                raise PremiseError(str(breach))
            if self.mode == "warn":
                warn_caller(str(breach), PremiseWarning)

    def observed(self) -> Observed:
        """Return the extremes so far."""
        return Observed(self._gradient.copy(), self._subgradient.copy())
