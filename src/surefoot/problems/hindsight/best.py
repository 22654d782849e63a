"""The best fixed action in hindsight: by a closed form if there is one, else by a bundle method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from surefoot.core.checks import invalid
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, CostStream
from surefoot.problems.constraints import Constraint, max_of
from surefoot.problems.costs import Adversarial, Linear, Quadratic
from surefoot.problems.hindsight.closed_form import Comparator, closed_form, has_closed_form
from surefoot.problems.hindsight.level_bundle import Bracket, level_bundle
from surefoot.sets import Ball

__all__ = ["best_action"]


def best_action(
    costs: CostStream,
    constraint: Constraint | Sequence[Constraint],
    rounds: Any,
    *,
    domain: Ball | None = None,
    interior: Array | None = None,
    tolerance: float = 1e-6,
    progress: Callable[[Bracket], None] | None = None,
) -> Comparator:
    """Return the best fixed action over the first t rounds, for each t in ``rounds``, with its gap.

    Sums of quadratics over a set that projects and sums of linear costs over one that minimises
    linear functions have closed forms. Everything else goes to :func:`level_bundle`, once for
    each t and run, and comes back as an interval.

    Args:
        costs: the cost stream.
        constraint: g; or the constraints of the rounds, and then the action is feasible in all.
        rounds: the t's, from 1 to the horizon.
        domain: a ball that contains the feasible set; needed where there is no closed form.
        interior: a strictly feasible point; needed there too.
        tolerance: relative gap at which a bundle stops.
        progress: called with the bounds after each query of a bundle.

    Example:
        >>> from surefoot.problems.constraints import LinfNorm
        >>> costs = Linear([[1.0, -2.0], [1.0, 3.0]])
        >>> best = best_action(costs, LinfNorm(0.5, 2), [1, 2])
        >>> best.value
        array([-1.5, -1.5])
    """
    try:
        rounds = np.atleast_1d(np.asarray(rounds, dtype=np.int64))
    except (OverflowError, TypeError, ValueError) as error:
        raise invalid("rounds", "whole numbers", rounds) from error
    if rounds.size == 0 or rounds.min() < 1 or rounds.max() > costs.horizon:
        raise InvalidValueError(
            f"rounds must be from 1 to the horizon {costs.horizon}, got {rounds!r}"
        )
    if isinstance(costs, Adversarial):
        raise InvalidValueError(
            "costs of an adversary are known only after the game: "
            "keep every action and compare with costs.realised(actions)"
        )
    g = constraint if isinstance(constraint, Constraint) else max_of(*constraint)
    if has_closed_form(costs, g.region):
        return closed_form(costs, g.region, rounds)  # type: ignore[arg-type]
    if domain is None or interior is None:
        raise InvalidValueError(
            "domain and interior must be given where there is no closed form, got "
            f"domain = {domain!r} and interior = {interior!r}"
        )
    runs = [None] if costs.runs is None else list(range(costs.runs))
    brackets = [
        level_bundle(
            _total(costs.rounds(0, int(t)) if r is None else costs.rounds(0, int(t)).run(r)),
            g,
            domain,
            interior,
            tolerance=tolerance,
            progress=progress,
        )
        for t in rounds
        for r in runs
    ]
    shape = (len(rounds),) if costs.runs is None else (len(rounds), costs.runs)
    return Comparator(
        rounds,
        np.array([b.action for b in brackets]).reshape(*shape, -1),
        np.array([b.value for b in brackets]).reshape(shape),
        np.array([b.lower for b in brackets]).reshape(shape),
    )


@singledispatch
def _total(costs: Any) -> Callable[[Array], tuple[float, Array]]:
    """Return the summed cost as an oracle."""
    return costs.summed  # type: ignore[no-any-return]


@_total.register
def _(costs: Quadratic) -> Callable[[Array], tuple[float, Array]]:
    # One quadratic around the mean of the targets: a query does not depend on the horizon.
    mean, h, T = costs.targets.mean(axis=0), costs.curvature, costs.horizon
    spread, _ = costs.summed(mean)
    return lambda x: (spread + 0.5 * h * T * float((x - mean) @ (x - mean)), h * T * (x - mean))


@_total.register
def _(costs: Linear) -> Callable[[Array], tuple[float, Array]]:
    slope = costs.slopes.sum(axis=0)
    return lambda x: (float(slope @ x), slope)
