"""Playing a cell: plain data in, plain data out, wherever it runs."""

from __future__ import annotations

import platform
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

import numpy as np

from surefoot._extras import need
from surefoot.constants import Constants
from surefoot.costs import Adversarial, ArrayCosts
from surefoot.experiments.players import build_player
from surefoot.experiments.problems import BLOCK, build_problem
from surefoot.experiments.seeds import canonical, stream_seed
from surefoot.experiments.versions import versions
from surefoot.games import Trace, play
from surefoot.games.judging import judge
from surefoot.hindsight import Comparator, best_action, has_closed_form
from surefoot.metrics import Regret, regret_of
from surefoot.problems import Problem
from surefoot.results import CellResult, Facts
from surefoot.results.record import (
    BreachFacts,
    ComparatorFacts,
    GuaranteeFacts,
    OracleFacts,
    ProblemFacts,
    Sourced,
    VerdictFacts,
    finite,
)
from surefoot.theory import Guarantee, Premise
from surefoot.types import Array

__all__ = ["play_cell", "play_cells"]

TOLERANCE = 1e-5
"""Relative gap at which a comparator without a closed form is good enough."""

_KEPT_BYTES = 256 << 20
"""What a worker may keep of problems, so that algorithms that meet the same streams share them."""

_BREACHES, _BOUNDARY, _PROGRAM, _SHORT = 8, 360, 2_048, 4

V = TypeVar("V")


def play_cell(address: str, spec: Mapping[str, Any]) -> CellResult:
    """Play one cell.

    What is the cell's own never raises: a theorem or a constructor that says no makes it
    "refused", any other error "failed", both with the sentence.

    Args:
        address: the cell's.
        spec: what to play, as :class:`surefoot.experiments.grid.Cell` has it.
    """
    began = time.perf_counter()

    def result(status: Any, note: str = "", **parts: Any) -> CellResult:
        provenance = {
            "seconds": time.perf_counter() - began,
            "microseconds_a_round": None,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
            "platform": platform.platform(),
        } | parts.pop("provenance", {})
        return CellResult(
            address=address,
            spec=dict(spec),
            status=status,
            note=note,
            provenance=provenance,
            **parts,
        )

    try:
        try:
            problem = _problem(spec)
            player, parameters, constants = build_player(spec["algorithm"], problem, _T(spec))
        except ValueError as error:
            return result("refused", str(error))
        trace = _play(player, problem, spec)
        facts, arrays = _record(trace, spec, parameters, constants)
    except Exception as error:
        told = traceback.format_exc(limit=-8)
        return result("failed", _sentence(error), provenance={"traceback": told})
    took = {
        "microseconds_a_round": trace.ledger.microseconds_a_round,
        "compile_seconds": trace.ledger.compile_seconds,
    }
    return result("done", facts=facts, arrays=arrays, provenance=took)


def play_cells(cells: Iterable[tuple[str, Mapping[str, Any]]]) -> list[CellResult]:
    """Play neighbours, each by itself: its bits do not depend on the company."""
    with _ONE_AT_A_TIME:
        return [play_cell(address, spec) for address, spec in cells]


# A cluster's worker may have several threads; two cells at once would only share one interpreter.
_ONE_AT_A_TIME = threading.Lock()


# --- what neighbours share ------------------------------------------------------------------------


class _Kept(Generic[V]):
    """What was used last, up to a number of bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: OrderedDict[str, tuple[V, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: str, make: Callable[[], V], size: Callable[[V], int]) -> V:
        """What is kept under a key, made if it is not."""
        if key in self._items:
            self._items.move_to_end(key)
            return self._items[key][0]
        value = make()
        if size(value) <= self._most:
            self._items[key] = (value, size(value))
            self._bytes += size(value)
        while self._bytes > self._most:
            self._bytes -= self._items.popitem(last=False)[1][1]
        return value


_problems: _Kept[Problem] = _Kept(_KEPT_BYTES)
_comparators: _Kept[Comparator] = _Kept(_KEPT_BYTES // 4)


def _T(spec: Mapping[str, Any]) -> int:
    return int(spec["horizon"])


def _key(spec: Mapping[str, Any], *more: Any) -> str:
    """What the streams of a cell depend on."""
    return canonical([spec[k] for k in ("problem", "horizon", "trials", "seed", "block")] + [*more])


def _problem(spec: Mapping[str, Any]) -> Problem:
    compiled = spec["engine"] == "scan"

    def made(horizon: int) -> Problem:
        seed = stream_seed(spec["seed"], spec["problem"], spec["block"])
        return build_problem(spec["problem"], horizon, spec["trials"], seed, spec["block"])

    def make() -> Problem:
        problem = made(_T(spec))
        if compiled and _T(spec) < _PROGRAM and isinstance(problem.costs, ArrayCosts):
            # A stream at least as long as a block of rounds is, so that games of all lengths run
            # one program. The first rounds of more are the same; what is known of them is kept.
            return replace(problem, costs=made(_PROGRAM).costs)
        return problem

    return _problems.get(_key(spec, compiled), make, _bytes_of)


def _bytes_of(problem: Problem) -> int:
    """What a problem's streams take; the rest is small."""
    costs = problem.costs
    series = (getattr(costs, name) for name in getattr(costs, "series", ()))
    return 4096 + sum(int(getattr(s, "nbytes", 0)) for s in series)


def _play(player: Any, problem: Problem, spec: Mapping[str, Any]) -> Trace:
    recording = spec["recording"]
    every, actions = recording["every"], recording["actions"]
    compiled = spec["engine"] == "scan"
    if compiled:
        need("jax", "jax", "the scan engine")  # the time of a round is not that of an import
    # What an adversary did is known from what it answered to.
    whole = isinstance(problem.costs, Adversarial)
    # Short actions are handed over for nothing, and games with and without run one program.
    short = compiled and problem.costs.dimension <= _SHORT
    return play(
        player,
        problem,
        horizon=_T(spec),
        engine=spec["engine"],
        every=1 if whole else every,
        keep_actions=whole or short or bool(actions),
        watch="record",
    )


# --- what is kept ---------------------------------------------------------------------------------


def _record(
    trace: Trace,
    spec: Mapping[str, Any],
    parameters: Mapping[str, tuple[Any, str]],
    constants: Constants,
) -> tuple[Facts, dict[str, np.ndarray]]:
    """Return the facts and arrays of a game."""
    problem, guarantee = trace.problem, trace.guarantee
    kept, begins = _kept_rounds(trace, spec["recording"]["every"])
    costs = trace.costs()
    closed = has_closed_form(costs, problem.benchmark.region)
    path = spec["recording"]["every"] is not None and closed
    regret = _regret(trace, costs, spec, kept if path else kept[-1:])
    upper, lower = _runs(regret.upper)[-1], _runs(regret.lower)[-1]
    verdict = judge(trace, lower)
    bound = None if guarantee is None else float(guarantee.regret_bound(trace.horizon))
    rows = getattr(problem.constraint, "rows", None)
    replaced = spec["algorithm"].get("constants") or {}
    comparator = regret.comparator
    dimension = problem.costs.dimension
    facts = Facts(
        problem=ProblemFacts(
            name=problem.name,
            dimension=dimension,
            rows=None if rows is None else int(rows),
            start=tuple(problem.start.tolist()) if dimension == 2 else None,
        ),
        constants={
            name: Sourced(getattr(constants, name), "specification" if name in replaced else origin)
            for name, origin in constants.origins.items()
        },
        parameters={
            name: Sourced(_plain(value), origin) for name, (value, origin) in parameters.items()
        },
        guarantee=None if guarantee is None else _guarantee(guarantee, trace.horizon),
        verdict=VerdictFacts(word=verdict.word, sentence=verdict.sentence),
        breaches=_breaches(trace, BLOCK * spec["block"]),
        comparator=ComparatorFacts(
            gap=finite(np.max(comparator.value[-1] - comparator.lower[-1])), exact=closed
        ),
        regret_share=None if not bound else finite(np.max(upper) / bound),
        engine=trace.engine,
        oracle=OracleFacts(**{f.name: getattr(trace.ledger, f.name) for f in fields(OracleFacts)}),
    )
    return facts, _arrays(trace, spec, regret, kept, begins, path)


def _kept_rounds(trace: Trace, every: int | None) -> tuple[Array, Array]:
    """Which of the trace's rounds are to be kept, and where the rounds since the one before begin.

    All of them, unless the game had to keep more than was asked for.
    """
    rounds = trace.rounds
    wanted = rounds % (every or trace.horizon) == 0
    at = np.flatnonzero(wanted | (rounds == trace.horizon))
    return at, np.append(0, at[:-1] + 1)


def _regret(trace: Trace, costs: Any, spec: Mapping[str, Any], at: Array) -> Regret:
    """Regret after some of the trace's rounds."""
    problem, rounds = trace.problem, trace.rounds[at]

    def make() -> Comparator:
        return best_action(
            costs,
            problem.benchmark,
            rounds,
            domain=problem.domain,
            interior=problem.interior,
            tolerance=TOLERANCE,
        )

    if costs is not problem.costs:
        best = make()  # an adversary's costs are those of this game
    else:
        key = _key(spec, "comparator", rounds.tolist())
        best = _comparators.get(key, make, lambda c: sum(np.asarray(part).nbytes for part in c))
    return regret_of(trace.cost_sum[at], best)


def _arrays(
    trace: Trace,
    spec: Mapping[str, Any],
    regret: Regret,
    kept: Array,
    begins: Array,
    path: bool,
) -> dict[str, np.ndarray]:
    seen, observed, comparator = trace.violations, trace.observed, regret.comparator
    assert observed is not None  # the watch is on
    upper, lower = _runs(regret.upper), _runs(regret.lower)
    runs = upper.shape[1]
    best = comparator.action[-1]
    arrays = {
        "total_cost": np.atleast_1d(trace.total_cost),
        "regret": upper[-1],
        "regret_lower": lower[-1],
        "sum_g": np.atleast_1d(seen.total),
        "soft": np.atleast_1d(seen.soft),
        "hard": np.atleast_1d(seen.hard),
        "squared": np.atleast_1d(seen.squared),
        "worst": np.atleast_1d(seen.worst),
        "count": np.atleast_1d(seen.count),
        "first_violation": np.atleast_1d(seen.first_violation),
        "feasible_from": np.atleast_1d(seen.feasible_from),
        "largest_cost_gradient": np.atleast_1d(observed.cost_gradient),
        "largest_subgradient": np.atleast_1d(observed.constraint_subgradient),
        "best": np.broadcast_to(best, (runs, best.shape[-1])),
    }
    recording = spec["recording"]
    if recording["every"] is not None:
        rounds = trace.rounds[kept]
        arrays |= {
            "rounds": rounds,
            "cost_sum": _runs(trace.cost_sum)[kept],
            "constraint": _runs(trace.constraint)[kept],
            "peak": np.maximum.reduceat(_runs(trace.peak), begins, axis=0),
        }
        if path:
            arrays["regret_path"] = upper
        if path and trace.guarantee is not None:
            bound = np.asarray(trace.guarantee.regret_bound(rounds), dtype=np.float64)
            arrays["bound_path"] = np.broadcast_to(bound, rounds.shape)
    if recording["actions"] and trace.actions is not None:
        actions = trace.actions[kept]
        actions = actions[:, None] if trace.runs is None else actions
        arrays["actions"] = actions[:, : recording["actions"]]
        edge = _boundary(trace.problem) if actions.shape[-1] == 2 else None
        if edge is not None:
            arrays["boundary"] = edge
    return {name: np.array(value) for name, value in arrays.items()}


def _runs(values: Array) -> Array:
    """Values over rounds with an axis of runs, also for a game of one run that has none."""
    return np.reshape(values, (len(values), -1))


def _boundary(problem: Problem) -> Array | None:
    """Points of the feasible set's boundary in the plane, around a point inside, by bisection."""
    inside = problem.interior
    if inside is None:
        return None
    angle = np.linspace(0, 2 * np.pi, _BOUNDARY, endpoint=False)
    way = np.column_stack([np.cos(angle), np.sin(angle)])
    low = np.zeros((_BOUNDARY, 1))
    high = np.full((_BOUNDARY, 1), problem.domain.reach(inside))
    g = problem.benchmark
    for _ in range(60):
        middle = 0.5 * (low + high)
        feasible = np.asarray(g.value(inside + middle * way)).reshape(-1, 1) <= 0
        low, high = np.where(feasible, middle, low), np.where(feasible, high, middle)
    return inside + low * way


def _guarantee(guarantee: Guarantee, T: int) -> GuaranteeFacts:
    bounds = {str(measure): finite(b) for measure, b in guarantee.bounds(T).items()}
    return GuaranteeFacts(
        name=guarantee.name,
        kind=guarantee.kind,
        text=str(guarantee),
        regret_bound=finite(guarantee.regret_bound(T)),
        bounds={measure: limit for measure, limit in bounds.items() if limit is not None},
        regret_exponent=guarantee.regret_exponent,
        violation_exponent=guarantee.violation_exponent,
        premises=tuple(_premise(p) for p in guarantee.premises),
    )


def _premise(premise: Premise) -> str:
    """What must be true, in words."""
    limit = f"{premise.constant} = {premise.limit:.6g}"
    words = {
        "cost gradient": f"no cost gradient is longer than {limit}",
        "constraint subgradient": f"no subgradient of g is longer than {limit}",
        "subgradient near the boundary": (
            f"no subgradient of g is shorter than {limit} where g >= -{premise.level:g}"
        ),
        "start": f"the slack of the start is at least {limit}",
        "horizon": f"no more rounds are played than {limit}",
    }[premise.quantity]
    return f"{words} (for the regret bound only)" if premise.only_regret else words


def _breaches(trace: Trace, before: int) -> tuple[BreachFacts, ...]:
    """Return the first breach of each premise; ``before`` trials are in earlier blocks."""
    first: dict[Premise, Any] = {}
    for breach in trace.breaches:  # in order of the rounds
        first.setdefault(breach.premise, breach)
    return tuple(
        BreachFacts(
            constant=premise.constant,
            limit=finite(premise.limit),
            observed=finite(breach.observed),
            round=int(breach.round),
            trial=before + int(breach.run),
            sentence=str(breach),
        )
        for premise, breach in list(first.items())[:_BREACHES]
    )


def _plain(value: Any) -> Any:
    """A number as Python has it, None for one that is not finite; a word as it is."""
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    return finite(value)


def _sentence(error: BaseException) -> str:
    told = str(error).strip()
    return f"{type(error).__name__}: {told}" if told else type(error).__name__
