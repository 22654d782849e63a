"""Table 1, measured: every algorithm by its own theorem, on the same problems and streams.

Run ``python -m surefoot.experiments.table1`` for the whole of it, or call :func:`measure`.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surefoot.algorithms import ALGORITHMS, Entry, tuned_for
from surefoot.games import Trace, play
from surefoot.games.judging import kept_promise
from surefoot.hindsight import Comparator, best_action
from surefoot.metrics import Rate, fit_rate
from surefoot.problems import Problem, binding_toy, paper_toy, random_polytope

__all__ = ["Fit", "Record", "describe", "fits", "measure", "problems_of", "save"]

HORIZONS = (1_000, 3_162, 10_000, 31_623, 100_000)
SOLVER_HORIZON, SOLVER_TRIALS = 10_000, 5
"""Rows that call a solver every round are played this far and this often."""


class Record(NamedTuple):
    """One algorithm on one problem for one horizon, over the trials.

    Attributes:
        problem: its name.
        algorithm: class and theorem-tuned constructor.
        guarantee: the theorem.
        kind: what it promises of the constraint.
        horizon: T.
        trials: how many were played.
        note: why nothing was played, or what was cut short; else empty.
        regret: mean over the trials; the upper end where the comparator is an interval.
        regret_std: standard deviation over the trials.
        comparator_gap: largest length of the comparator's interval.
        regret_bound: the theorem's.
        regret_share: largest regret of a trial over the bound.
        regret_exponent: the theorem's power of T; nan if it has none.
        violation_exponent: the same of the violations that its kind speaks of.
        total: mean of the sum of g.
        soft: mean of its positive part.
        hard: mean sum of the positive parts of g.
        squared: mean sum of their squares.
        worst: largest g of all trials.
        violating: mean number of rounds with g > 0.
        feasible_from: latest first-feasible-for-ever round of a trial.
        violation_share: largest summed violation over its bound, where one is promised.
        held: whether the constraint did what the kind of guarantee says; empty if not played.
        microseconds: per round of one run.
        projections: per round, onto the feasible set.
        linear_minimisations: per round.
        inner_solves: per round.
    """

    problem: str
    algorithm: str
    guarantee: str
    kind: str
    horizon: int
    trials: int
    note: str
    regret: float = math.nan
    regret_std: float = math.nan
    comparator_gap: float = math.nan
    regret_bound: float = math.nan
    regret_share: float = math.nan
    regret_exponent: float = math.nan
    violation_exponent: float = math.nan
    total: float = math.nan
    soft: float = math.nan
    hard: float = math.nan
    squared: float = math.nan
    worst: float = math.nan
    violating: float = math.nan
    feasible_from: float = math.nan
    violation_share: float = math.nan
    held: bool | None = None
    microseconds: float = math.nan
    projections: float = math.nan
    linear_minimisations: float = math.nan
    inner_solves: float = math.nan


class Fit(NamedTuple):
    """Growth of an algorithm's regret and violation on a problem.

    Attributes:
        problem: its name.
        algorithm: class and constructor.
        regret: fitted exponent with its interval; None where a regret was not positive.
        hard: fitted exponent of the summed violations; None where there were none.
    """

    problem: str
    algorithm: str
    regret: Rate | None
    hard: Rate | None


def problems_of(horizon: int, trials: int = 30) -> list[Problem]:
    """The paper's toy, its binding sibling, and a random polytope with d = 20 and m = 60."""
    return [
        paper_toy(horizon, trials),
        binding_toy(horizon, trials),
        random_polytope(20, 60, horizon=horizon, trials=trials),
    ]


def measure(
    problems: Sequence[Problem] | None = None,
    horizons: Sequence[int] = HORIZONS,
    *,
    algorithms: Sequence[type[Any]] = ALGORITHMS,
    engine: Any = "scan",
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Record]:
    """Play every algorithm, tuned by each of its theorems, on every problem for every horizon.

    All meet the same streams. A theorem that does not apply, for want of a constant or of a
    longer horizon, is recorded with its own words.

    Args:
        problems: those of :func:`problems_of` unless given; each with at least the longest
            horizon's rounds.
        horizons: the T's.
        algorithms: classes with theorem-tuned constructors.
        engine: as :func:`surefoot.play` takes it; rows with a solver go through the loop.
        progress: called with a name, how many are done and how many there are.
    """
    problems = problems_of(max(horizons)) if problems is None else problems
    jobs = [(k, t) for k in algorithms for t in k.tunings]
    records: list[Record] = []
    for number, problem in enumerate(problems):
        best = _comparator(problem, horizons)
        for place, (kind, tuning) in enumerate(jobs):
            if progress is not None:
                done = number * len(jobs) + place
                name = f"{problem.name}: {kind.__name__}.{tuning}"
                progress(name, done, len(problems) * len(jobs))
            records += _play(problem, kind, tuning, horizons, best, engine)
    return records


def _comparator(problem: Problem, horizons: Sequence[int]) -> Comparator:
    """The best actions, once for all algorithms: they depend on the problem alone."""
    return best_action(
        problem.costs,
        problem.benchmark,
        sorted(horizons),
        domain=problem.domain,
        interior=problem.interior,
        tolerance=1e-5,
    )


def _play(
    problem: Problem,
    kind: type[Any],
    tuning: str,
    horizons: Sequence[int],
    best: Comparator,
    engine: Any,
) -> list[Record]:
    region = problem.benchmark.region
    entries = {
        T: tuned_for(kind, tuning, problem.constants, T, problem.domain, region)
        for T in sorted(horizons)
    }
    trials = problem.costs.runs or 1
    refused = [_refused(problem, e, T) for T, e in entries.items() if e.tuned is None]
    playable = {T: e.tuned for T, e in entries.items() if e.tuned is not None}
    needs = getattr(kind, "needs", None)
    solver = bool(
        hasattr(region, "nearest")
        and needs is not None
        and (getattr(needs, "projections", 0) or getattr(needs, "linear_minimisations", 0))
    )
    note = ""
    if solver:
        long = [T for T in playable if T > SOLVER_HORIZON]
        refused += [
            _refused(
                problem, entries[T], T, f"a solver a round: not played beyond {SOLVER_HORIZON}"
            )
            for T in long
        ]
        playable = {T: t for T, t in playable.items() if T <= SOLVER_HORIZON}
        trials = min(trials, SOLVER_TRIALS)
        note = f"a solver a round: {trials} trials"
        problem = _fewer_trials(problem, trials)
    if not playable:
        return refused
    # One horizon at a time: a compiled program would carry the short ones along to the end.
    played = [
        _record(
            entries[T],
            play(
                tuned,
                problem,
                horizon=T,
                engine="loop" if solver else engine,
                every=None,
                keep_actions=False,
                watch="record",
            ),
            best,
            trials,
            note,
        )
        for T, tuned in playable.items()
    ]
    return sorted(refused + played, key=lambda r: r.horizon)


def _fewer_trials(problem: Problem, trials: int) -> Problem:
    if problem.costs.runs is None:
        return problem
    return Problem(
        costs=problem.costs.run(slice(0, trials)),
        constraint=problem.constraint,
        domain=problem.domain,
        start=problem.start,
        constants=problem.constants,
        name=problem.name,
    )


def _refused(problem: Problem, entry: Entry, horizon: int, note: str = "") -> Record:
    guarantee = "" if entry.tuned is None else entry.tuned.guarantee.name
    kind = "" if entry.tuned is None else entry.tuned.guarantee.kind
    return Record(problem.name, entry.name, guarantee, kind, horizon, 0, note or entry.note)


def _record(entry: Entry, trace: Trace, best: Comparator, trials: int, note: str) -> Record:
    T, guarantee, seen = trace.horizon, trace.guarantee, trace.violations
    assert guarantee is not None
    row = int(np.searchsorted(best.rounds, T))
    lower, upper = best.lower[row], best.value[row]
    if np.ndim(lower):
        lower, upper = lower[:trials], upper[:trials]
    regret = np.atleast_1d(trace.total_cost - lower)
    bound = float(guarantee.regret_bound(T))
    ledger = trace.ledger
    return Record(
        problem=trace.problem.name,
        algorithm=entry.name,
        guarantee=guarantee.name,
        kind=guarantee.kind,
        horizon=T,
        trials=trials,
        note=note,
        regret=float(regret.mean()),
        regret_std=float(regret.std(ddof=1)) if trials > 1 else math.nan,
        comparator_gap=float(np.max(upper - lower)),
        regret_bound=bound,
        regret_share=float(regret.max()) / bound,
        regret_exponent=_or_nan(guarantee.regret_exponent),
        violation_exponent=_or_nan(guarantee.violation_exponent),
        total=float(np.mean(seen.total)),
        soft=float(np.mean(seen.soft)),
        hard=float(np.mean(seen.hard)),
        squared=float(np.mean(seen.squared)),
        worst=float(np.max(seen.worst)),
        violating=float(np.mean(seen.count)),
        feasible_from=float(np.max(seen.feasible_from)),
        violation_share=_violation_share(guarantee, trace),
        held=kept_promise(guarantee, trace),
        microseconds=ledger.microseconds_a_round,
        projections=ledger.projections / T,
        linear_minimisations=ledger.linear_minimisations / T,
        inner_solves=ledger.inner_solves / T,
    )


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _violation_share(guarantee: Any, trace: Trace) -> float:
    """The largest of the summed violations over its bound; nan where none is promised."""
    shares = []
    for measure_name, bound in guarantee.sum_bounds(trace.horizon).items():
        observed = float(np.max(getattr(trace.violations, measure_name)))
        limit = float(bound)
        if math.isfinite(limit):
            shares.append(observed / limit if limit > 0 else (0.0 if observed <= 0 else math.inf))
    return max(shares, default=math.nan)


def fits(records: Sequence[Record]) -> list[Fit]:
    """Fitted exponents of each algorithm on each problem, from means over the trials."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for r in records:
        if r.trials:
            groups.setdefault((r.problem, r.algorithm), []).append(r)
    found = []
    for (problem, algorithm), rows in groups.items():
        T = [r.horizon for r in rows]
        regret = _rate(T, [r.regret for r in rows])
        found.append(Fit(problem, algorithm, regret, _rate(T, [r.hard for r in rows])))
    return found


def _rate(T: list[int], values: list[float]) -> Rate | None:
    good = np.array(values) > 0
    return fit_rate(T, values) if good.all() and len(T) >= 3 else None


def save(records: Sequence[Record], path: Path) -> None:
    """Write the records as a tidy table (CSV), one row each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Record._fields)
        writer.writerows(records)


def describe(records: Sequence[Record]) -> str:
    """The table as text: one block a problem, one line an algorithm, at its longest horizon."""
    growth = {(f.problem, f.algorithm): f for f in fits(records)}
    lines = []
    for problem in dict.fromkeys(r.problem for r in records):
        rows = [r for r in records if r.problem == problem]
        lines += ["", problem, _HEAD]
        for name in dict.fromkeys(r.algorithm for r in rows):
            mine = [r for r in rows if r.algorithm == name]
            played = [r for r in mine if r.trials]
            if played:
                lines.append(_line(played[-1], growth[problem, name]))
            else:
                lines.append(f"{name:<34} not played: {mine[-1].note}")
    return "\n".join(lines)


_HEAD = (
    f"{'algorithm':<34} {'kind':<12} {'T':>7} {'regret':>10} {'+-':>8} {'of bound':>8} "
    f"{'exponent':>20} {'theory':>6} {'sum [g]+':>9} {'max g':>9} {'held':>5} {'us':>7}  note"
)


def _line(r: Record, fit: Fit) -> str:
    rate = "" if fit.regret is None else "{:.2f} [{:.2f}, {:.2f}]".format(*fit.regret[:3])
    theory = "" if math.isnan(r.regret_exponent) else f"{r.regret_exponent:.2f}"
    return (
        f"{r.algorithm:<34} {r.kind:<12} {r.horizon:>7} {r.regret:>10.1f} {r.regret_std:>8.1f} "
        f"{r.regret_share:>8.3f} {rate:>20} {theory:>6} {r.hard:>9.3g} {r.worst:>9.2g} "
        f"{'yes' if r.held else 'NO':>5} {r.microseconds:>7.2f}  {r.note}"
    ).rstrip()


def main() -> None:
    """Measure the whole table, print it and save it as out/table1.csv."""
    from rich.console import Console
    from rich.progress import Progress, TimeElapsedColumn, TimeRemainingColumn

    console = Console()
    with Progress(
        *Progress.get_default_columns()[:2],
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("", total=None)

        def tell(name: str, done: int, total: int) -> None:
            bar.update(task, description=name, completed=done, total=total)
            if not console.is_terminal:
                print(f"{done + 1}/{total} {name}", flush=True)

        records = measure(progress=tell)
    path = Path("out/table1.csv")
    save(records, path)
    print(describe(records))
    failed = [r for r in records if r.held is False or r.regret_share > 1]
    for r in failed:
        print(f"BOUND EXCEEDED: {r.algorithm} on {r.problem}, T = {r.horizon}")
    print(f"\n{len(records)} rows saved in {path}")
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
