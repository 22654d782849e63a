"""What a cell stores about its game: facts, and arrays over trials and rounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from surefoot.algorithms import Breach, Guarantee
from surefoot.core.checks import finite_or_none
from surefoot.core.constants import Constants
from surefoot.core.types import Array
from surefoot.experiments.cache import best_of, sum_best
from surefoot.experiments.problems import BLOCK
from surefoot.experiments.record import (
    BreachFacts,
    ComparatorFacts,
    Facts,
    GuaranteeFacts,
    OracleFacts,
    ProblemFacts,
    Sourced,
    VerdictFacts,
)
from surefoot.games import Regret, Trace, regret_of
from surefoot.games.verdict import judge
from surefoot.problems import Problem
from surefoot.problems.hindsight import has_closed_form

_BREACHES, _BOUNDARY = 8, 360


def summarise(
    trace: Trace,
    spec: Mapping[str, Any],
    parameters: Mapping[str, tuple[Any, str]],
    constants: Constants,
) -> tuple[Facts, dict[str, np.ndarray]]:
    """Return the facts and arrays of a game.

    Args:
        trace: the game.
        spec: of its cell.
        parameters: the player's numbers, each with its origin.
        constants: that the player's theorem was given.
    """
    problem, guarantee = trace.problem, trace.guarantee
    kept, begins = _kept_rounds(trace, spec["recording"]["every"])
    costs = trace.costs()
    closed = has_closed_form(costs, problem.benchmark.region)
    best = best_of(spec, problem, costs, trace.rounds[-1:])
    regret = regret_of(trace.cost_sum[-1:], best)
    upper, lower = _runs(regret.upper)[-1], _runs(regret.lower)[-1]
    verdict = judge(trace, lower)
    bound = None if guarantee is None else float(guarantee.regret_bound(trace.horizon))
    replaced = spec["algorithm"].get("constants") or {}
    dimension = problem.costs.dimension
    facts = Facts(
        problem=ProblemFacts(
            name=problem.name,
            dimension=dimension,
            rows=int(problem.constraint.rows),
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
            gap=finite_or_none(np.max(best.value[-1] - best.lower[-1])), exact=closed
        ),
        regret_share=None if not bound else finite_or_none(np.max(upper) / bound),
        engine=trace.engine,
        oracle=OracleFacts(**{f.name: getattr(trace.ledger, f.name) for f in fields(OracleFacts)}),
    )
    return facts, _arrays(trace, spec, regret, kept, begins)


def _kept_rounds(trace: Trace, every: int | None) -> tuple[Array, Array]:
    """Return which of the trace's rounds are kept, and where the rounds since the last one begin.

    All of them, unless the game had to keep more than was asked for.
    """
    rounds = trace.rounds
    wanted = rounds % (every or trace.horizon) == 0
    at = np.flatnonzero(wanted | (rounds == trace.horizon))
    return at, np.append(0, at[:-1] + 1)


def _arrays(
    trace: Trace,
    spec: Mapping[str, Any],
    regret: Regret,
    kept: Array,
    begins: Array,
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
        spent = sum_best(spec, trace, best)[rounds - 1]
        gap = upper[-1] - (arrays["cost_sum"][-1] - spent[-1])  # of the comparator, and rounding
        arrays["regret_path"] = arrays["cost_sum"] - spent + gap
        if trace.guarantee is not None:
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
    """Return values over rounds with an axis of runs, also for a game of one run."""
    return np.reshape(values, (len(values), -1))


def _boundary(problem: Problem) -> Array | None:
    """Return points of the feasible set's boundary in the plane, found by bisection."""
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
    bounds = {str(measure): finite_or_none(b) for measure, b in guarantee.bounds(T).items()}
    return GuaranteeFacts(
        name=guarantee.name,
        kind=guarantee.kind,
        text=str(guarantee),
        regret_bound=finite_or_none(guarantee.regret_bound(T)),
        bounds={measure: limit for measure, limit in bounds.items() if limit is not None},
        regret_exponent=guarantee.regret_exponent,
        violation_exponent=guarantee.violation_exponent,
        premises=tuple(p.requirement for p in guarantee.premises),
    )


def _breaches(trace: Trace, before: int) -> tuple[BreachFacts, ...]:
    """Return the first breach of each premise; ``before`` trials are in earlier blocks."""
    first: dict[tuple[str, float | None], Breach] = {}
    for breach in trace.breaches:  # in order of the rounds
        first.setdefault((breach.constant, breach.limit), breach)
    return tuple(
        BreachFacts(
            constant=breach.constant,
            limit=finite_or_none(breach.limit),
            observed=finite_or_none(breach.observed),
            round=int(breach.round),
            trial=before + int(breach.run),
            sentence=str(breach),
        )
        for breach in list(first.values())[:_BREACHES]
    )


def _plain(value: Any) -> Any:
    """Return a number as Python has it, None if it is not finite; a word as it is."""
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    return finite_or_none(value)
