r"""Is a column missing from a log? Values at the same action tell, where it was held or repeated.

Let row t have the action :math:`x_t`, the value :math:`y_t` and the contexts :math:`c_t`, and let r
be what is left of y within each action: y less its mean, less a least-squares fit on the contexts.
The fit may bend in each of them, and has their products with each other and with the action.

**T0, certain.** Two rows of the same action and contexts differ by more than two errors of the
meter. What the rounding of a context in the log does to y is part of that error.

**T1, by time.** :math:`S = \sum(r_{t+1} - r_t)^2` over neighbours in time with one action. Permute
r within each action; p is how often S becomes as small. A column is missing where :math:`p \le
0.001` and what neighbours do not show is large: :math:`\text{hidden} = \sqrt{\text{deviation}^2 -
\text{neighbours}^2}` is above half of the deviation of neighbours, and above 1 % of the range of y.

**T2, by size.** Without a known error: r deviates by more than 2 % of the range of y.

**Proposition T.** *Let no context be named,* :math:`y_t = h(x_t) + \text{error}_t`\ *, and let the
errors of rows of one action be exchangeable, given all actions. Then* :math:`P(p \le \alpha) \le
\alpha` *for every h and* :math:`\alpha`. *Proof.* r is the error less its mean, at each action.
Given the actions, the pairs of neighbours are fixed, and r is a uniform draw of its own
permutations. So S and its values at l independent permutations are l + 1 independent draws of one
distribution: the chance that at most h - 1 of these l are as small as S is at most h/(l + 1), ties
raising the number alone. The draws end at the h-th that is as small, with p = h/l where that is
draw l, else after B, with p = (1 + number)/(1 + B). Then :math:`p \le h/l` says that at most h - 1
of the first l - 1 were as small, which has probability h/l at most. ∎

*What it rests on.* With contexts the fit makes p approximate: an h that bends sharply where several
columns meet can be taken for one that is missing. Set points that somebody changed because of a
reading make errors and actions depend on each other: the last reading at each is then not like the
others.
*What it cannot see.* A column that is independent from row to row is noise to anybody, and a pair
of rows has no order in time: there T0 alone finds it, and needs the error of the meter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from surefoot.core.types import Array

__all__ = ["Finding", "Repeats", "compare_repeats", "label_groups"]

Finding: TypeAlias = Literal["certain", "time", "size"]
"""By which test a column is missing."""

_DRAWS, _ENOUGH = 999, 20  # permutations at most, and as small ones after which they end
_LEVEL = 0.001
_GAP = 1.5  # rows further apart than so many median intervals are no neighbours
_COEFFICIENTS = 200  # of the fit, at most: it takes a second then for a year of quarters
_KNOTS = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the rows: where the fit may bend in a context
_SHARE, _LOUD = 0.01, 0.02  # of the range of the values: what is hidden, what deviates
_ROUND = 2.0**-48  # the rounding of a sum, as a share of its largest terms


@dataclass(frozen=True, slots=True)
class Repeats:
    """What the values at one action say of a log.

    Attributes:
        rows: how many there are.
        repeats: how many rows repeat an action, less the coefficients of the fit.
        pairs: how many rows repeat the action of the row before, one interval later.
        spread: the largest range at one action, after the fit.
        deviation: the standard deviation at one action, after the fit.
        neighbours: the standard deviation that neighbours in time show.
        jump: the largest difference of neighbours of the same contexts.
        noise: the standard deviation that these show; None without any.
        hidden: the deviation that neighbours do not show.
        p: the share of permutations whose neighbours are as near.
        twins: the two rows of one action and the same contexts that differ most; None without any.
        difference: by how much they differ.
        finding: by which test a column is missing; None where no test finds one.
    """

    rows: int
    repeats: int
    pairs: int
    spread: float
    deviation: float
    neighbours: float
    jump: float
    noise: float | None
    hidden: float
    p: float
    twins: tuple[int, int] | None
    difference: float
    finding: Finding | None

    @property
    def is_slow(self) -> bool:
        """Whether what neighbours do not show is no chance."""
        return self.p <= _LEVEL and self.hidden > self.neighbours / 2

    def explain(self, value: str, unit: str, rows: str, numbers: Array) -> str:
        """Return what the finding rests on, in a sentence without its advice.

        Args:
            value: what a value is called.
            unit: that of the values, with a blank in front.
            rows: what rows are called.
            numbers: of the rows.
        """
        unknown = f"{value} depends on something that is not in the log"
        about = f", which moves it by about {self.hidden:.3g}{unit}" if self.is_slow else ""
        if self.finding == "certain" and self.twins is not None:
            first, second = numbers[list(self.twins)].tolist()
            return (
                f"{value} differs by {self.difference:.3g}{unit} in {rows} {first} and {second}, "
                f"where all columns are the same, by more than twice the error: {unknown}{about}"
            )
        if self.finding == "time":
            return (
                f"{value} at one action deviates by {self.deviation:.3g}{unit} over the log, but "
                f"by {self.neighbours:.3g}{unit} between neighbours in time (p = {self.p:.3g}): "
                f"{unknown}{about}"
            )
        return (
            f"{value} at one action deviates by {self.deviation:.3g}{unit}, more than "
            f"{100 * _LOUD:g} % of its range: {unknown}, or readings err"
        )


def compare_repeats(
    x: Array,
    y: Array,
    contexts: Array,
    *,
    error: float | None = None,
    actions: Array | None = None,
    times: Array | None = None,
    seed: int = 0,
) -> Repeats:
    """Return what values at one action say: whether a column is missing, and by which test.

    Args:
        x: the actions, one row each.
        y: the value of each.
        contexts: the columns that are named, one row each.
        error: a bound on the errors of the values; None if nobody knows one.
        actions: the number of the action of each row, where several x count as one.
        times: of each row; default: one apart.
        seed: for the permutations.

    Example:
        >>> load = np.repeat([0.2, 0.7], 3)[:, None]
        >>> warm = np.array([0.0, 0.1, 0.2, 0.0, 0.1, 0.2])
        >>> found = compare_repeats(load, load[:, 0] + warm, np.zeros((6, 0)), error=0.05)
        >>> found.finding, found.twins
        ('certain', (0, 2))
        >>> compare_repeats(load, load[:, 0] + warm, warm[:, None], error=0.05).finding is None
        True
    """
    which = label_groups(x) if actions is None else actions
    same = label_groups(np.hstack([x, contexts]))
    if contexts.shape[1] > _room(which):
        which = same  # so few repeats tell nothing of the contexts: those of the same one are left
    count = np.bincount(which)
    extent = float(np.ptp(y))
    left, rank = _residual(x, y, contexts, which)
    repeats = max(int((count - 1).clip(0).sum()) - rank, 0)
    deviation = float(np.sqrt(left @ left / repeats)) if repeats else 0.0
    near = _neighbours(which, times)
    jumps = left[near + 1] - left[near]
    neighbours = float(np.sqrt(jumps @ jumps / (2 * len(near)))) if len(near) else 0.0
    p = _permute(left, which, near, seed) if repeats and deviation > _ROUND * extent else 1.0
    twins, difference = _widest(y, same)
    exact = near[same[near] == same[near + 1]]
    steps = y[exact + 1] - y[exact]
    facts = Repeats(
        rows=len(y),
        repeats=repeats,
        pairs=len(near),
        spread=_widest(left, which)[1],
        deviation=deviation,
        neighbours=neighbours,
        jump=float(np.abs(steps).max(initial=0.0)),
        noise=float(np.sqrt(steps @ steps / (2 * len(steps)))) if len(steps) else None,
        hidden=float(np.sqrt(max(deviation**2 - neighbours**2, 0.0))),
        p=p,
        twins=twins,
        difference=difference,
        finding=None,
    )
    size = _ROUND * float(np.abs(y).max(initial=0.0))
    finding = next(_findings(facts, error, extent, size), None)
    return replace(facts, finding=finding)


def _findings(facts: Repeats, error: float | None, extent: float, size: float) -> Iterator[Finding]:
    """Yield the tests that find a column, the most certain first."""
    if error is not None and facts.difference > 2 * error + size:
        yield "certain"
    is_within = error is not None and facts.spread <= 2 * error + size
    if facts.is_slow and facts.hidden > _SHARE * extent and not is_within:
        yield "time"
    if error is None and facts.deviation > _LOUD * extent:
        yield "size"


def label_groups(rows: Array) -> Array:
    """Return the number of the group of equal rows to which each one belongs."""
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)


def _residual(x: Array, y: Array, contexts: Array, which: Array) -> tuple[Array, int]:
    """Return what actions and contexts leave of the values, and how many coefficients they took."""
    count = np.bincount(which)

    def centre(values: Array) -> Array:
        return values - (np.bincount(which, values) / count)[which]

    left = centre(y)
    room = _room(which)
    regressors: list[Array] = []
    for family in _families(_standardise(x), _standardise(contexts)):
        if len(regressors) + len(family) > room:
            break  # a fit with as many coefficients as readings hides everything
        regressors += family
    if not regressors:
        return left, 0
    matrix = np.stack([centre(column) for column in regressors], axis=1)
    fit, _, rank, _ = np.linalg.lstsq(matrix, left, rcond=None)
    return left - matrix @ fit, int(rank)


def _room(which: Array) -> int:
    """Return how many coefficients a fit may have: a quarter of the rows that repeat an action."""
    return min((len(which) - len(np.unique(which))) // 4, _COEFFICIENTS)


def _families(u: Array, z: Array) -> Iterator[list[Array]]:
    """Yield the columns of the fit: contexts, products with actions and contexts, and bends."""
    some = range(z.shape[1])
    yield [z[:, k] for k in some]
    yield [z[:, k] * u[:, i] for k in some for i in range(u.shape[1])]
    yield [z[:, k] * z[:, j] for k in some for j in range(k, z.shape[1])]
    knots = np.quantile(z, _KNOTS, axis=0) if len(z) else np.zeros((0, z.shape[1]))
    hinges = [np.maximum(z[:, k] - knot, 0.0) for k in some for knot in knots[:, k]]
    yield hinges
    yield [hinge * u[:, i] for hinge in hinges for i in range(u.shape[1])]


def _standardise(columns: Array) -> Array:
    deviation = columns.std(axis=0)
    return (columns - columns.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


def _neighbours(which: Array, times: Array | None) -> Array:
    """Return the rows after which the same action follows, one interval later."""
    same = which[1:] == which[:-1]
    if times is not None:
        steps = np.diff(times)
        forward = steps > 0
        if forward.any():
            same = same & forward & (steps <= _GAP * np.median(steps[forward]))
    return np.flatnonzero(same)


def _permute(left: Array, which: Array, near: Array, seed: int) -> float:
    """Return how often neighbours of permuted rows are as near, as a probability."""
    if not len(near):
        return 1.0
    # What never has a neighbour has no part in the sum, whatever it is permuted to.
    inside = np.isin(which, which[near])
    place = np.cumsum(inside) - 1
    values, groups, first = left[inside], which[inside], place[near]
    by_group = np.argsort(groups, kind="stable")
    jumps = values[first + 1] - values[first]
    bound = float(jumps @ jumps) * (1 + 1e-12)  # a tie may be rounded
    rng, small = np.random.default_rng(seed), 0
    shuffle = np.empty_like(values)
    for draw in range(1, _DRAWS + 1):
        shuffle[by_group] = values[np.argsort(groups + rng.random(len(groups)))]
        jumps = shuffle[first + 1] - shuffle[first]
        small += float(jumps @ jumps) <= bound
        if small == _ENOUGH:
            return _ENOUGH / draw
    return (1 + small) / (1 + _DRAWS)


def _widest(values: Array, which: Array) -> tuple[tuple[int, int] | None, float]:
    """Return the two rows of one group that differ most, and by how much."""
    order = np.lexsort((values, which))
    count = np.bincount(which)
    ends = np.cumsum(count)
    ranges = values[order][ends - 1] - values[order][ends - count]
    if not (count > 1).any():
        return None, 0.0
    widest = int(np.where(count > 1, ranges, -1.0).argmax())
    low, high = order[ends[widest] - count[widest]], order[ends[widest] - 1]
    first, second = sorted((int(low), int(high)))
    return (first, second), float(ranges[widest])
