"""The trace: the result of a game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.types import (
    Array,
    ArrayLike,
    CostStream,
    FloatArray,
    Player,
    Set,
    Solving,
    needs_of,
)
from surefoot.games.record import Observed, Violations
from surefoot.games.regret import (
    DynamicRegret,
    MovingComparator,
    Regret,
    best_moving,
    moving_comparator,
    must_be_feasible,
    regret_of,
)
from surefoot.games.verdict import judge
from surefoot.guarantees import Breach, Guarantee, Promises, Safety
from surefoot.guarantees.promise import NO_PROMISES
from surefoot.problems import Problem
from surefoot.problems.costs import Adversarial
from surefoot.problems.hindsight import has_closed_form

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Ledger", "Trace"]


class Ledger(NamedTuple):
    """Calls and seconds of one run, summed over all rounds.

    Calls are those of a round that the algorithm declares (its ``needs``), times the rounds. Tests
    compare the declaration with the calls of every algorithm of the library; for one whose loops
    depend on data it is an upper bound.

    Attributes:
        rounds: rounds played.
        cost_gradients: gradients of costs that the player receives.
        constraint_values: values of g, likewise; those of m separate constraints count as one.
        constraint_subgradients: subgradients of g, likewise.
        projections: projections onto the feasible set.
        linear_minimisations: minimisations of a linear function over it.
        separations: calls of its separation oracle.
        gauges: calls of its gauge.
        proxes: proximal steps with the violation of the constraint.
        smooth_queries: values and gradients of a smooth constraint at points that are not played.
        inner_solves: how many projections and linear minimisations call a solver, at most.
        seconds: wall time, with the game's bookkeeping, without compilation.
        compile_seconds: what the scan took to compile, for all runs of the game together; 0 where
            nothing was compiled.
    """

    rounds: int
    cost_gradients: int
    constraint_values: int
    constraint_subgradients: int
    projections: int
    linear_minimisations: int
    separations: int
    gauges: int
    proxes: int
    smooth_queries: int
    inner_solves: int
    seconds: float
    compile_seconds: float = 0.0

    @property
    def microseconds_a_round(self) -> float:
        """Time per round."""
        return 1e6 * self.seconds / self.rounds


def ledger_of(
    algorithm: Player, rounds: int, feasible: Set | None, seconds: float, compile_seconds: float
) -> Ledger:
    """Return the ledger of one run of an algorithm on a problem with this feasible set."""
    needs = needs_of(algorithm)
    over_sets = needs.projections + needs.linear_minimisations
    solves = any(isinstance(s, Solving) for s in (feasible, getattr(algorithm, "domain", None)))
    calls = {name: rounds * calls for name, calls in needs._asdict().items() if name in _CALLS}
    return Ledger(
        rounds,
        **calls,
        inner_solves=over_sets * rounds if solves else 0,
        seconds=seconds,
        compile_seconds=compile_seconds,
    )


_CALLS = Ledger._fields[1 : Ledger._fields.index("inner_solves")]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Trace:
    """The rounds of a game, thinned as requested; totals and violations are exact regardless.

    Arrays have time first, then runs where there are several, then the entries of an action.

    Attributes:
        problem: what was played.
        guarantee: what the player was tuned for, if anything.
        promises: what is promised of it, in three parts.
        safety: what its knowledge certifies, where no theorem tunes it; else None.
        engine: which engine played: "kernel", "loop", "batch" or "scan".
        engine_note: the same with the reason, and the time that it took to compile.
        horizon: rounds played.
        rounds: which rounds are kept, ``(n,)``, counted from 1.
        kept_actions: the actions of those rounds, ``(n, d)`` or ``(n, B, d)``; None if not kept.
        cost: the costs of those rounds, ``(n,)`` or ``(n, B)``.
        cost_sum: the costs up to and with those rounds.
        constraint: the values of g in those rounds.
        peak: the largest values of g since the kept round before.
        total_cost: the sum of all costs, of each run.
        violations: the eight measures over all rounds, of each run.
        row_sums: the sum of each constraint by itself, of each run, where the guarantee bounds
            those; else None.
        excess: the largest g less the bound of its round, of each run, where the guarantee
            bounds each round; else None.
        next_action: what would be played next.
        observed: extremes of the gradients, where the watch was on.
        breaches: premises that broke, the first round of each run, in order of the rounds.
        status: "ok", or why a run has no more actions; one for each run of several.
        ledger: oracle calls of one run, and the time it took.
        player: the name of the algorithm.
    """

    problem: Problem
    guarantee: Guarantee | None
    engine: str
    engine_note: str
    horizon: int
    rounds: np.ndarray[Any, np.dtype[np.int64]]
    kept_actions: FloatArray | None
    cost: FloatArray
    cost_sum: FloatArray
    constraint: FloatArray
    peak: FloatArray
    total_cost: Array
    violations: Violations
    row_sums: FloatArray | None
    excess: Array | None
    next_action: FloatArray
    observed: Observed | None
    breaches: tuple[Breach, ...]
    status: str | tuple[str, ...]
    ledger: Ledger
    player: str = "player"
    promises: Promises = NO_PROMISES
    safety: Safety | None = None

    def __repr__(self) -> str:
        runs = "one run" if self.runs is None else f"{self.runs:,} runs"
        return (
            f"<Trace of {self.problem.name!r}: {runs} of {self.horizon:,} rounds, "
            f"{len(self.rounds):,} kept, by {self.engine}; {self.verdict()}>"
        )

    @property
    def actions(self) -> FloatArray:
        """The actions of the kept rounds, ``(n, d)`` or ``(n, B, d)``.

        Raises:
            InvalidValueError: if they were not kept.
        """
        if self.kept_actions is None:
            raise InvalidValueError("actions must be kept to be read, got keep_actions=False")
        return self.kept_actions

    @property
    def runs(self) -> int | None:
        """The number of runs; None for a trace without run axis."""
        return self.cost.shape[1] if self.cost.ndim == 2 else None

    def regret(self, rounds: ArrayLike | None = None) -> Regret:
        """Return the regret after some kept rounds, each against the best action up to then.

        Args:
            rounds: which of the kept rounds; all of them where the best action has a closed
                form, else only the last one, since each takes a bundle.
        """
        problem, costs = self.problem, self.costs()
        if rounds is None:
            closed = has_closed_form(costs, problem.benchmark.region)
            rounds = self.rounds if closed else self.rounds[-1:]
        rounds = np.atleast_1d(np.asarray(rounds))
        at = np.searchsorted(self.rounds, rounds)
        if (at >= len(self.rounds)).any() or (self.rounds[at] != rounds).any():
            raise InvalidValueError(f"rounds must be among those kept, got {rounds!r}")
        once = costs is problem.costs and len(rounds) == 1  # the same of every trace of these costs
        best = problem.best(int(rounds[0])) if once else problem.best_after(rounds, costs)
        return regret_of(self.cost_sum[at], best)

    def final_regret(self) -> Array:
        """Return the regret over all rounds, of each run; the upper end where it is an interval."""
        return self.regret(self.rounds[-1:]).upper[0]

    def dynamic_regret(
        self, path: ArrayLike | None = None, *, changes: int | Sequence[int] | None = None
    ) -> DynamicRegret:
        """Return the regret over all rounds against comparators that move.

        Args:
            path: the comparators, feasible, ``(T, d)`` or ``(T, B, d)``.
            changes: instead of them, the rounds in which the best comparators in hindsight may
                change, or the number of pieces of equal length.

        Example:
            >>> from surefoot import OGD, problems
            >>> from surefoot.games import play
            >>> toy = problems.binding_toy(horizon=100, trials=1)
            >>> trace = play(OGD.fixed(toy.constants, 100, toy.benchmark.region), toy)
            >>> bool(trace.dynamic_regret(changes=4).upper >= trace.final_regret())
            True
        """
        if (path is None) == (changes is None):
            got = "neither" if path is None else "both"
            raise InvalidValueError(f"dynamic_regret must have either a path or changes, got {got}")
        if path is None:
            best = self._best_moving(1, self.horizon, 1 if changes is None else changes)
        else:
            best = moving_comparator(self.costs().rounds(0, self.horizon), path)
            if len(best.actions) != self.horizon:
                raise InvalidValueError(
                    f"path must have a comparator for each of the {self.horizon} rounds, "
                    f"got {len(best.actions)}"
                )
            must_be_feasible(self.problem.benchmark, best.actions)
        guarantee = self.guarantee
        bound = None if guarantee is None else guarantee.dynamic_bound(self.horizon, best.length)
        return self._compare(1, self.horizon, best, bound)

    def interval_regret(self, first: int, last: int) -> DynamicRegret:
        """Return the regret over rounds first to last against the best fixed action of these.

        ``last`` and the round before ``first`` must be among the rounds kept.

        Args:
            first: the first round, from 1.
            last: the last round.
        """
        if not 1 <= first <= last <= self.horizon:
            raise InvalidValueError(
                f"first and last must be rounds from 1 to {self.horizon}, got {first} and {last}"
            )
        guarantee = self.guarantee
        bound = None if guarantee is None else guarantee.interval_bound(last - first + 1)
        return self._compare(first, last, self._best_moving(first, last, 1), bound)

    def _best_moving(self, first: int, last: int, changes: int | Sequence[int]) -> MovingComparator:
        costs, problem = self.costs().rounds(first - 1, last), self.problem
        return best_moving(
            costs, problem.benchmark, changes, domain=problem.domain, interior=problem.interior
        )

    def _compare(
        self, first: int, last: int, best: MovingComparator, bound: Array | None
    ) -> DynamicRegret:
        cost = self._cost_until(last) - self._cost_until(first - 1)
        return DynamicRegret(first, last, cost - best.lower, cost - best.value, best, bound)

    def _cost_until(self, t: int) -> Array:
        if t == 0:
            return 0.0 * self.total_cost
        at = int(np.searchsorted(self.rounds, t))  # the last round is always kept
        if self.rounds[at] != t:
            raise InvalidValueError(f"the ends of an interval must be kept rounds, got {t}")
        return self.cost_sum[at]

    def costs(self) -> CostStream:
        """Return the costs that were played; an adversary's as they turned out."""
        costs = self.problem.costs
        if isinstance(costs, Adversarial):
            if self.kept_actions is None or len(self.rounds) != self.horizon:
                raise InvalidValueError(
                    "every action must be kept to know the costs of an adversary, "
                    f"got {0 if self.kept_actions is None else len(self.rounds)} of "
                    f"{self.horizon} rounds: play with every=1"
                )
            return costs.realise(self.kept_actions)
        return costs

    def verdict(self) -> str:
        """Return in one sentence whether the guarantee held; its regret bound is not compared."""
        return judge(self).sentence

    def to_pandas(self) -> DataFrame:
        """Return a pandas frame with one line per run and kept round.

        Example:
            >>> from surefoot import PFS, play, problems
            >>> toy = problems.paper_toy(horizon=20, trials=2)
            >>> frame = play(PFS.tuned(toy.constants, 20), toy).to_pandas()
            >>> list(frame.columns), len(frame)
            (['run', 'round', 'cost', 'cost_sum', 'constraint', 'peak', 'x0', 'x1'], 40)
        """
        pandas = need("pandas", "export", "trace.to_pandas")
        runs = self.runs or 1
        columns = {
            "run": np.repeat(np.arange(runs), len(self.rounds)),
            "round": np.tile(self.rounds, runs),
            "cost": self.cost.T.ravel(),
            "cost_sum": self.cost_sum.T.ravel(),
            "constraint": self.constraint.T.ravel(),
            "peak": self.peak.T.ravel(),
        }
        if self.kept_actions is not None:
            entries = np.reshape(self.kept_actions, (len(self.rounds), runs, -1)).T
            columns |= {f"x{i}": entry.ravel() for i, entry in enumerate(entries)}
        frame = pandas.DataFrame(columns)
        return frame.drop(columns="run") if self.runs is None else frame
