r"""A constant for each column of a log: the least that explains how far its values are apart.

Let z have the columns of actions and contexts, and let a value change by at most :math:`K_k` per
unit of column k, in either direction, and be read with an error of at most e.

.. math:: \min_{K\ge0} \sum_k w_kK_k \quad\text{subject to}\quad \sum_kK_k|z_{tk} - z_{sk}| \ge
          |y_t - y_s| - 2e \text{ for all rows } t, s,

with :math:`w_k` the range of column k in the log.

**Lemma (columns of a log).** *Let* :math:`K^*` *be a solution, and let every column have moved.
(a) Any other K with* :math:`0 \le K_k \le K^*_k` *for all k is contradicted by two rows. (b) The
true constants have* :math:`\sum w_kK_k \ge \sum w_kK^*_k`. *Proof.* (a) Its sum is smaller, so that
it is not feasible. (b) They are feasible: :math:`|y_t - y_s| \le 2e + \sum K_k|z_{tk} - z_{sk}|`. ∎

So the log proves no single constant, only that all of them together are not smaller. Whoever writes
them down must look at three things more:

*Columns that moved together.* Fans that were always equally fast have one constant in sum, and a
solution may give all of it to one of them. Column k is exchangeable if its constant can grow by
five times what it would cost by itself while the sum grows by 1 % only, others falling. Then it has
the largest value of such an explanation: each of the fans has the whole. That is enough if they do
not work against each other.

*Columns that worked against each other.* A controller that cools more where it is warmer keeps the
value where it is, and no two rows are far apart. Nor are they where an effect is below two errors.
The slope of a least-squares plane through the log has a sign, and averages what pairs cannot show:
no constant is below the size of its slope plus three standard errors.

*Columns of no effect.* A constant of 0 would say that there is none, and no factor would raise it.
The least constant is 1 % of the sum over the range of the column.

The program has a row per pair. It is solved for few of them, and for those that its solution lacks
most, until none is lacking.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.types import Array

__all__ = ["ColumnConstants", "UnexplainedError", "explain_by_contexts", "find_columns"]

_TOLERANCE = 1e-8  # of the range of the values
_ROUNDS, _ADDED, _BLOCK = 200, 60, 400
_SLACK = 0.01  # by how much another explanation may cost more
_TRADE = 5.0  # times that is no slack: then other columns fall
_ERRORS, _ALIKE = 3.0, 0.999  # standard errors of a slope, and the correlation of one column twice


class UnexplainedError(InvalidValueError):
    """A log with two rows that no constants explain beside those that are given.

    Attributes:
        rows: the two, counted from 0.
        apart: how far their values are apart.
    """

    def __init__(self, rows: tuple[int, int], apart: float) -> None:
        self.rows, self.apart = rows, apart
        super().__init__(
            f"the log must have constants that explain it, got rows {rows[0] + 1} and "
            f"{rows[1] + 1}, whose values are {apart:.6g} apart: the columns without a given "
            "constant are the same"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return UnexplainedError, (self.rows, self.apart)


@dataclass(frozen=True, slots=True)
class ColumnConstants:
    """The constants of the columns of a log.

    Attributes:
        constants: one per column.
        proofs: per column two rows whose difference it explains; None where no pair needs it.
        likes: per column the others that the log cannot tell it from; such a column has the whole.
        are_slopes: which constants are the slope of the plane, and not of two rows.
        are_faint: which columns have no effect in the log, and so the least constant.
        rows: how many rows were compared.
    """

    constants: Array
    proofs: tuple[tuple[int, int] | None, ...]
    likes: tuple[tuple[int, ...], ...]
    are_slopes: tuple[bool, ...]
    are_faint: tuple[bool, ...]
    rows: int


def find_columns(
    z: Array,
    y: Array,
    error: float,
    *,
    given: Mapping[int, float] | None = None,
    most: int = 2_500,
    seed: int = 0,
    on_step: Callable[[str], None] = lambda _: None,
) -> ColumnConstants:
    """Return the least constants, one per column, that explain a log.

    Args:
        z: actions and contexts, one row each; every column moves.
        y: the value of each.
        error: a bound on the errors of the values.
        given: constants that are known, by the number of their column.
        most: rows that are compared, all pairs of them; of a longer log so many are drawn.
        seed: for drawing them.
        on_step: is told how far it is.

    Raises:
        UnexplainedError: if no constants explain the log beside those that are given.
        InvalidValueError: if none are needed.

    Example:
        >>> z = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
        >>> found = find_columns(z, np.array([0.0, 3.0, 1.0]), 0.0)
        >>> found.constants.round(9).tolist(), found.proofs
        ([3.0, 0.5], ((0, 1), (0, 2)))
    """
    checks.nonnegative(error=error)
    checks.positive_int(most, "most")
    rows = _draw(z, y, most, seed)
    program = _Program(z, y, rows, error, given or {}, on_step)
    least, marks = program.solve(np.ones(z.shape[1]))
    if not least.any() and len(program.given) < z.shape[1]:
        raise InvalidValueError(
            f"the log must show an effect, got values at most {np.ptp(y[rows]):.6g} apart, which "
            "an error of the meter explains"
        )
    free = [k for k in range(z.shape[1]) if k not in program.given]
    proofs = [program.proof_of(k, marks) for k in range(z.shape[1])]
    best = least.copy()
    likes: list[tuple[int, ...]] = [()] * z.shape[1]
    for k in free:
        best[k], likes[k] = program.raise_column(k, least)
    slopes = _find_slopes(z, y) * program.ranges / program.unit
    steep = [k in free and bool(slopes[k] > best[k] * (1 + 1e-6)) for k in range(z.shape[1])]
    best = np.where(steep, slopes, best)
    floor = _SLACK * float(least.sum())
    faint = [k in free and bool(best[k] < floor) for k in range(z.shape[1])]
    best = np.where(faint, floor, best)
    return ColumnConstants(
        constants=best * program.unit / program.ranges,
        proofs=tuple(proofs),
        likes=tuple(likes),
        are_slopes=tuple(steep),
        are_faint=tuple(faint),
        rows=len(rows),
    )


def _find_slopes(z: Array, y: Array) -> Array:
    """Return the size of each slope of a plane through a log, plus three standard errors.

    Columns that are nearly the same, or each other's opposite, have the sum of theirs each.
    """
    ranges = np.ptp(z, axis=0)
    u = (z - z.mean(axis=0)) / ranges
    fit, _, rank, _ = np.linalg.lstsq(u, y - y.mean(), rcond=None)
    freedom = len(y) - int(rank) - 1
    if freedom <= 0:
        return np.zeros(z.shape[1])
    left = y - y.mean() - u @ fit
    spread = np.sqrt(np.diag(np.linalg.pinv(u.T @ u)).clip(0) * float(left @ left) / freedom)
    alike = np.abs(np.corrcoef(u, rowvar=False).reshape(z.shape[1], -1)) > _ALIKE
    return (alike @ (np.abs(fit) + _ERRORS * spread)) / ranges


def _draw(z: Array, y: Array, most: int, seed: int) -> Array:
    """Return the rows to compare: the ends of every column, and as many others as there is room."""
    n = len(y)
    if n <= most:
        return np.arange(n)
    columns = np.column_stack([z, y])
    ends = np.unique([columns.argmin(axis=0), columns.argmax(axis=0)])
    others = np.setdiff1d(np.arange(n), ends)
    size = max(most - len(ends), 0)
    return np.sort(np.append(ends, np.random.default_rng(seed).choice(others, size, replace=False)))


class _Program:
    """The linear program, in ranges of the columns and of the values, with the pairs so far."""

    def __init__(
        self,
        z: Array,
        y: Array,
        rows: Array,
        error: float,
        given: Mapping[int, float],
        on_step: Callable[[str], None],
    ) -> None:
        self.rows = rows
        z, y = z[rows], y[rows]
        self.ranges = np.ptp(z, axis=0)
        if (still := np.flatnonzero(self.ranges == 0)).size:
            raise InvalidValueError(f"every column must move, got column {still[0] + 1} that rests")
        self.unit = float(np.ptp(y)) or 1.0
        self.u, self.v = z / self.ranges, y / self.unit
        self.allowance = 2 * error / self.unit
        self.given = {k: value * self.ranges[k] / self.unit for k, value in given.items()}
        self.pairs: list[tuple[int, int]] = []
        self.on_step = on_step

    def solve(self, cost: Array, cap: float | None = None) -> tuple[Array, Array]:
        """Return the solution, and how much each pair of it is worth.

        Args:
            cost: the coefficients to minimise.
            cap: the largest sum of all; None for any.
        """
        d = self.u.shape[1]
        # Only lacking pairs are added: at first those that nothing explains but what is given.
        known = np.array([self.given.get(k, 0.0) for k in range(d)])
        solution, marks = known, np.zeros(len(self.pairs))
        if self.pairs:
            solution, marks = self._solve_once(cost, cap)
        for step in range(_ROUNDS):
            lacking = self._lacking(solution)
            if not lacking:
                return solution, marks
            self.pairs += lacking
            if len(self.given) == d:
                raise self._contradiction()
            self.on_step(f"{len(self.pairs)} pairs of rows after step {step + 1}")
            solution, marks = self._solve_once(cost, cap)
        raise InvalidValueError(
            f"the log must have constants that {_ROUNDS} steps find, got none: give it fewer rows"
        )

    def _solve_once(self, cost: Array, cap: float | None) -> tuple[Array, Array]:
        first, second = np.array(self.pairs).T
        matrix = -np.abs(self.u[first] - self.u[second])
        right = self.allowance - np.abs(self.v[first] - self.v[second])
        if cap is not None:
            matrix, right = np.vstack([matrix, np.ones(len(cost))]), np.append(right, cap)
        bounds = [(self.given.get(k, 0.0), self.given.get(k)) for k in range(len(cost))]
        optimize = need("scipy.optimize", "solve", "finding a constant for each column")
        answer = optimize.linprog(cost, matrix, right, bounds=bounds, method="highs")
        if answer.status:
            raise self._contradiction()
        return answer.x, np.abs(answer.ineqlin.marginals[: len(self.pairs)])

    def _contradiction(self) -> UnexplainedError:
        """Return the error that names the two rows that no constants explain."""
        first, second = np.array(self.pairs).T
        way = np.abs(self.u[first] - self.u[second])
        lack = np.abs(self.v[first] - self.v[second]) - self.allowance
        for k, value in self.given.items():
            lack -= value * way[:, k]
            way[:, k] = 0.0
        worst = int(np.where(way.any(axis=1), -np.inf, lack).argmax())
        i, j = self.pairs[worst]
        apart = abs(float(self.v[i] - self.v[j])) * self.unit
        return UnexplainedError((int(self.rows[i]), int(self.rows[j])), apart)

    def _lacking(self, solution: Array) -> list[tuple[int, int]]:
        """Return the pairs that a solution explains least, one for each row."""
        worst = []
        for at in range(0, len(self.v), _BLOCK):
            block = slice(at, at + _BLOCK)
            lack = np.abs(self.v[block, None] - self.v[None, :])
            lack -= self.allowance
            for k in np.flatnonzero(solution):
                lack -= solution[k] * np.abs(self.u[block, k, None] - self.u[None, :, k])
            others = lack.argmax(axis=1)
            least = lack[np.arange(len(lack)), others]
            worst += [
                (float(least[i]), at + int(i), int(others[i]))
                for i in np.flatnonzero(least > _TOLERANCE)
            ]
        worst.sort(reverse=True)
        pairs = dict.fromkeys((min(i, j), max(i, j)) for _, i, j in worst)
        return list(pairs)[:_ADDED]

    def raise_column(self, k: int, least: Array) -> tuple[float, tuple[int, ...]]:
        """Return the constant of a column, and the others that it can stand for."""
        cost, total = np.zeros(len(least)), float(least.sum())
        if not self.pairs:
            return float(least[k]), ()
        cost[k] = -1.0
        cap, bar = total * (1 + _SLACK), float(least[k]) + _TRADE * _SLACK * total
        largest, _ = self._solve_once(cost, cap)
        if largest[k] <= bar:  # pairs that are not there yet would make it smaller still
            return float(least[k]), ()
        largest, _ = self.solve(cost, cap)
        if largest[k] <= bar:
            return float(least[k]), ()
        fallen = np.flatnonzero(least - largest > _SLACK * total)
        return float(largest[k]), tuple(fallen.tolist())

    def proof_of(self, k: int, marks: Array) -> tuple[int, int] | None:
        """Return the rows of the pair that holds the constant of a column up most."""
        if k in self.given or not self.pairs:
            return None
        first, second = np.array(self.pairs).T
        worth = marks * np.abs(self.u[first, k] - self.u[second, k])
        i, j = self.pairs[int(worth.argmax())]
        return (int(self.rows[i]), int(self.rows[j])) if worth.max() > 0 else None


def explain_by_contexts(actions: Array, contexts: Array) -> list[float]:
    """Return the share of the variance of each action's entry that a plane in contexts explains.

    Near 1 somebody has set it by the contexts: what cancels in the log has no trace in it.
    """
    if not contexts.shape[1]:
        return [0.0] * actions.shape[1]
    plane = np.column_stack([np.ones(len(actions)), contexts])
    left = actions - plane @ np.linalg.lstsq(plane, actions, rcond=None)[0]
    whole = actions.var(axis=0)
    shares: list[float] = (1 - left.var(axis=0) / np.where(whole > 0, whole, 1.0)).tolist()
    return shares
