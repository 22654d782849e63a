"""CVXPY: state constraints as there, play them here.

Three lines::

    x = cp.Variable(3)
    limit = from_cvxpy([cp.norm(A @ x) <= 1.0, x >= 0, cp.sum_largest(x, 2) <= 1.5])
    problem = sf.Problem.of(costs, limit, domain, start)

Affine functions, quadratics, cones, norms, maxima and sums of the largest entries become the
constraints of :mod:`surefoot.problems.constraints`, with their constants and their speed.
Everything else that is convex is evaluated by CVXPY: some milliseconds per call, and no constants
but those given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from surefoot.core.arrays import is_sparse
from surefoot.core.errors import InvalidValueError, warn_caller
from surefoot.core.optional import need
from surefoot.core.types import Array
from surefoot.problems.constraints import (
    Affine,
    Constraint,
    CVaR,
    FunctionConstraint,
    L1Norm,
    L2Norm,
    LinfNorm,
    NuclearNorm,
    QuadraticForm,
    SecondOrderCone,
    SpectralNorm,
    max_of,
)

if TYPE_CHECKING:
    from cvxpy import Expression, Variable
    from cvxpy.constraints import SOC, Inequality

_cp = need("cvxpy", "cvxpy", "surefoot.adapters.cvxpy")

Terms: TypeAlias = "tuple[list[tuple[float, Expression]], Expression]"
"""Multiples of atoms, and an affine rest."""
_MOST_SIGNS = 8  # entries of a 1-norm that become rows: 2 to this power of them

__all__ = ["SlowConstraintWarning", "from_cvxpy"]


class SlowConstraintWarning(UserWarning):
    """Warn that a constraint is evaluated by CVXPY, slowly and without constants."""


def from_cvxpy(
    constraints: Iterable[Inequality | SOC],
    variables: Sequence[Variable] | None = None,
    *,
    bound: float | None = None,
) -> Constraint:
    """Return constraints of CVXPY as one constraint: the largest of left minus right.

    An action is the variable, a matrix row by row; several variables one after the other.

    Args:
        constraints: inequalities and second-order cones that follow the rules of disciplined
            convex programming. Equalities have no inside and are refused.
        variables: the order of the variables, where there are several.
        bound: a bound on the subgradients of what has to be evaluated by CVXPY; without one no
            certified rule can be tuned for it.

    Example:
        >>> import cvxpy as cp
        >>> x = cp.Variable(2)
        >>> limit = from_cvxpy([x <= 1.0, cp.norm(x - np.array([0.5, 0.0])) <= 2.0])
        >>> [type(part).__name__ for part in limit.parts]
        ['Affine', 'L2Norm']
        >>> limit.query(np.array([3.5, 0.0]))
        (2.5, array([1., 0.]))
    """
    given = list(constraints)
    found = {v.id: v for c in given for v in _check(c).variables()}
    order = list(found.values()) if variables is None else list(variables)
    if variables is None and len(order) > 1:
        raise InvalidValueError(
            "variables must say in which order they make up an action where there are several, "
            f"got {', '.join(v.name() for v in order)}"
        )
    if not order or set(found) - {v.id for v in order}:
        raise InvalidValueError("variables must be those of the constraints, got others or none")
    return _Reader(order, bound).read([*given, *(c for v in order for c in _attributes(v))])


def _attributes(variable: Variable) -> list[Inequality]:
    """Return what a variable says of itself as constraints; refuse what is no such thing."""
    said = {
        name for name, value in variable.attributes.items() if not (value is None or value is False)
    }
    if strangers := said - {"nonneg", "pos", "nonpos", "neg", "bounds"}:
        raise InvalidValueError(
            f"{variable.name()} must be a variable with no attributes but signs and bounds, got "
            f"{', '.join(sorted(strangers))}"
        )
    found = [variable >= 0] if said & {"nonneg", "pos"} else []
    found += [variable <= 0] if said & {"nonpos", "neg"} else []
    if "bounds" in said:
        flat = _cp.vec(variable, order="C")
        lower, upper = (
            np.ravel(np.broadcast_to(b, variable.shape)) for b in variable.attributes["bounds"]
        )
        found += [flat[int(i)] >= lower[i] for i in np.flatnonzero(np.isfinite(lower))]
        found += [flat[int(i)] <= upper[i] for i in np.flatnonzero(np.isfinite(upper))]
    return found


def _check(constraint: Inequality | SOC) -> Inequality | SOC:
    if isinstance(constraint, (_cp.constraints.Equality, _cp.constraints.Zero)):
        raise InvalidValueError(
            f"constraints must have an inside, which an equality has not, got {constraint}"
        )
    if not isinstance(constraint, (_cp.constraints.Inequality, _cp.constraints.SOC)):
        raise InvalidValueError(
            f"constraints must be inequalities or second-order cones, got {constraint!r}"
        )
    if not constraint.is_dcp():
        raise InvalidValueError(f"constraints must be convex by CVXPY's rules, got {constraint}")
    if any(p.value is None for p in constraint.parameters()):
        raise InvalidValueError(f"the parameters of {constraint} must have values, got None")
    return constraint


class _Reader:
    """Reads expressions of given variables; what it finds are rows and other parts."""

    def __init__(self, variables: list[Variable], bound: float | None) -> None:
        self.variables, self.bound = variables, bound
        self.size = sum(v.size for v in variables)
        self.rows: list[Array] = []
        self.limits: list[float] = []
        self.parts: list[Constraint] = []

    def read(self, constraints: list[Inequality | SOC]) -> Constraint:
        for constraint in constraints:
            if isinstance(constraint, _cp.constraints.SOC):
                self._cone(constraint)
                continue
            expression = constraint.args[0] - constraint.args[1]
            if expression.is_affine():
                self._add_rows(*self._affine(expression))
            else:
                for one in _entries(expression):
                    self._scalar(one)
        affine = [Affine(np.array(self.rows), np.array(self.limits))] if self.rows else []
        parts = [*affine, *self.parts]
        if not parts:
            raise InvalidValueError("constraints must depend on the variables, got none that does")
        return parts[0] if len(parts) == 1 else max_of(*parts)

    def _affine(self, expression: Expression) -> tuple[Array, Array]:
        """Return A, row by row of the expression, and b of Ax + b."""
        if expression.is_constant():
            value = np.ravel(expression.value)
            return np.zeros((len(value), self.size)), value
        b, A = _Evaluated(expression, self.variables).at(np.zeros(self.size))
        return A, b

    def _add_rows(self, A: Array, b: Array) -> None:
        for row, offset in zip(A, b, strict=True):
            if row.any():
                self.rows.append(row)
                self.limits.append(-float(offset))
            elif offset > 0:
                raise InvalidValueError(f"constraints must be possible, got {offset:g} <= 0")

    def _cone(self, cone: SOC) -> None:
        t, X = cone.args
        if t.size != 1:
            raise InvalidValueError(f"a second-order cone must have one bound, got {t.size}")
        self._scalar(_cp.norm(_cp.vec(X, order="C"), 2) - _cp.sum(t))

    def _scalar(self, expression: Expression) -> None:
        """Recognise one function: affine, quadratic, or a multiple of an atom and an affine one."""
        if expression.is_affine():
            self._add_rows(*self._affine(expression))
        elif expression.is_quadratic():
            self.parts.append(self._quadratic(expression))
        elif not self._atom(expression):
            self._by_cvxpy(expression)

    def _quadratic(self, expression: Expression) -> Constraint:
        seen = _Evaluated(expression, self.variables)
        value, slope = seen.at(np.zeros(self.size))
        Q = np.array([seen.at(e)[1][0] - slope[0] for e in np.eye(self.size)])
        return QuadraticForm(0.5 * (Q + Q.T), slope[0], -float(value[0]))

    def _atom(self, expression: Expression) -> bool:
        """Return whether it was one atom times a positive number, plus an affine function."""
        atoms, rest = _terms(expression)
        if len(atoms) != 1 or not atoms[0][0] > 0:
            return False
        k, atom = atoms[0]
        (a,), (beta,) = self._affine(rest)
        kind = type(atom).__name__
        if kind == "maximum":
            for one in atom.args:
                self._scalar(k * (one if one.is_scalar() else _cp.sum(one)) + rest)
            return True
        if kind not in _ATOMS or not atom.args[0].is_affine():
            return False
        part = _ATOMS[kind](self, k, atom, a, float(beta))
        if isinstance(part, Constraint):
            self.parts.append(part)
        return part is not None

    # --- k times an atom of an affine argument, plus a'x + beta; None where not recognised

    def _norm2(self, k: float, atom: Expression, a: Array, beta: float) -> Constraint | None:
        if float(atom.p) != 2.0 or getattr(atom, "axis", None) is not None:
            return None
        A, b = self._affine(atom.args[0])
        if k == 1.0 and not a.any() and _is_identity(A):
            return L2Norm(-beta, -b)
        return SecondOrderCone(k * A, k * b, -a, -beta)

    def _polyhedral(
        self, k: float, atom: Expression, a: Array, beta: float
    ) -> Constraint | bool | None:
        """Return a norm of the variable itself, or add rows: the largest over some signs."""
        kind, (A, b) = type(atom).__name__, self._affine(atom.args[0])
        if k == 1.0 and not a.any() and _is_identity(A):
            if kind == "norm1":
                return L1Norm(-beta, self.size, -b)
            if kind != "max" and len(b) > 1:
                return LinfNorm(-beta, self.size, -b)
        if kind == "norm1" and len(b) > _MOST_SIGNS:
            return None
        one = np.eye(len(b))
        signs = one if kind == "max" else np.vstack([one, -one])
        if kind == "norm1":  # the sum of absolute values is the largest of sums with any signs
            signs = np.array(list(product((1.0, -1.0), repeat=len(b))))
        self._add_rows(k * signs @ A + a, k * signs @ b + beta)
        return True

    def _sum_largest(self, k: float, atom: Expression, a: Array, beta: float) -> Constraint | None:
        A, b = self._affine(atom.args[0])
        if b.any() or atom.k != int(atom.k) or not 0 < atom.k < len(b):
            return None
        # The sum of the j largest is j times their mean, the tail of equally likely losses.
        j = int(atom.k)
        return CVaR(k * j * A + a, 1 - j / len(b), -beta)

    def _singular(self, k: float, atom: Expression, a: Array, beta: float) -> Constraint | None:
        X = atom.args[0]
        A, b = self._affine(X)
        if k != 1.0 or a.any() or b.any() or not _is_identity(A):
            return None
        kind = SpectralNorm if type(atom).__name__ == "sigma_max" else NuclearNorm
        return kind(X.shape, -beta)

    def _by_cvxpy(self, expression: Expression) -> None:
        price = "some milliseconds per call"
        if self.bound is None:
            price += ", and no G_g: give a bound for certified rules"
        warn_caller(
            f"{expression} <= 0 has no counterpart here and is evaluated by CVXPY: {price}",
            SlowConstraintWarning,
        )
        seen = _Evaluated(expression, self.variables)
        self.parts.append(FunctionConstraint(seen.value, seen.slope, self.bound))


_ATOMS = {
    "Pnorm": _Reader._norm2,
    "PnormApprox": _Reader._norm2,
    **dict.fromkeys(("norm1", "norm_inf", "abs", "max"), _Reader._polyhedral),
    "sum_largest": _Reader._sum_largest,
    "sigma_max": _Reader._singular,
    "normNuc": _Reader._singular,
}


def _entries(expression: Expression) -> list[Expression]:
    """Return the entries of an expression, each a scalar, with their structure to be seen."""
    if expression.size == 1:
        return [_cp.sum(expression) if expression.shape else expression]
    kind, parts = type(expression).__name__, [_entries(one) for one in expression.args]
    size = expression.size
    parts = [part * size if len(part) == 1 else part for part in parts]
    if kind in _BY_ENTRY and all(len(part) == size for part in parts):
        return [_BY_ENTRY[kind](*entry) for entry in zip(*parts, strict=True)]
    flat = _cp.vec(expression, order="C")
    return [flat[i] for i in range(size)]


def _terms(expression: Expression) -> Terms:
    """Split a scalar expression into multiples of atoms and an affine rest."""
    kind = type(expression).__name__
    if expression.is_affine():
        return [], expression
    if kind == "AddExpression":
        atoms: list[tuple[float, Expression]] = []
        rest: Expression = _cp.Constant(0.0)
        for one in expression.args:
            more, affine = _terms(one)
            atoms, rest = atoms + more, rest + affine
        return atoms, rest
    if kind == "NegExpression":
        return _scale_terms(-1.0, expression.args[0])
    if (factored := _split_factor(expression)) is not None:
        return _scale_terms(*factored)
    if kind in ("Sum", "Promote", "reshape", "index") and expression.args[0].size == 1:
        return _terms(expression.args[0])
    if kind == "Sum" and type(expression.args[0]).__name__ == "abs":
        return [(1.0, _cp.norm1(expression.args[0].args[0]))], _cp.Constant(0.0)
    return [(1.0, expression)], _cp.Constant(0.0)


def _split_factor(expression: Expression) -> tuple[float, Expression] | None:
    """Return a constant factor and the rest of a product or quotient of scalars."""
    if type(expression).__name__ not in ("multiply", "MulExpression", "DivExpression"):
        return None
    left, right = expression.args
    if left.size > 1 or right.size > 1:
        return None
    if type(expression).__name__ == "DivExpression":
        return (1.0 / float(right.value), left) if right.is_constant() else None
    if left.is_constant():
        return float(left.value), right
    return (float(right.value), left) if right.is_constant() else None


_BY_ENTRY = {
    "AddExpression": lambda *terms: sum(terms[1:], terms[0]),
    "NegExpression": lambda one: -one,
    "Promote": lambda one: one,
    "abs": _cp.abs,
    "maximum": _cp.maximum,
    "multiply": _cp.multiply,
}


def _scale_terms(k: float, expression: Expression) -> Terms:
    atoms, rest = _terms(expression)
    return [(k * weight, atom) for weight, atom in atoms], k * rest


def _is_identity(A: Array) -> bool:
    return A.shape[0] == A.shape[1] and np.array_equal(A, np.eye(len(A)))


class _Evaluated:
    """Values and gradients of an expression, by CVXPY.

    Args:
        expression: any expression of the variables.
        variables: in the order in which they make up an action, each row by row.
    """

    def __init__(self, expression: Expression, variables: list[Variable]) -> None:
        self.expression, self.variables = expression, variables

    def value(self, x: Array) -> float:
        """Return the value of a scalar expression."""
        return float(self.at(x)[0][0])

    def slope(self, x: Array) -> Array:
        """Return one subgradient of a scalar expression."""
        return self.at(x)[1][0]

    def at(self, x: Array) -> tuple[Array, Array]:
        """Return the values ``(m,)`` and the gradients ``(m, d)``, entries row by row."""
        before, first = [v.value for v in self.variables], 0
        try:
            for v in self.variables:
                v.save_value(np.asarray(x[first : first + v.size]).reshape(v.shape))
                first += v.size
            with np.errstate(all="ignore"):
                values, found = self.expression.value, self.expression.grad
        except NotImplementedError as error:
            raise InvalidValueError(
                f"CVXPY must know the gradient of {self.expression}, and does not"
            ) from error
        finally:
            for v, value in zip(self.variables, before, strict=True):
                v.save_value(value)
        if values is None or any(slope is None for slope in found.values()):
            raise InvalidValueError(f"{self.expression} must have a gradient at {x}, got none")
        slopes = [self._rows(found.get(v), v) for v in self.variables]
        return np.ravel(np.asarray(values, dtype=np.float64)), np.hstack(slopes)

    def _rows(self, gradient: Array, variable: Variable) -> Array:
        """Turn CVXPY's columns, which go down matrices first, into rows that go along them."""
        size = self.expression.size
        if gradient is None:  # of a variable that the expression does not have
            return np.zeros((size, variable.size))
        dense = gradient.toarray() if is_sparse(gradient) else np.asarray(gradient)
        dense = dense.reshape(variable.size, size)
        return dense[_row_by_row(variable.shape)][:, _row_by_row(self.expression.shape)].T


def _row_by_row(shape: tuple[int, ...]) -> Array:
    """Return where the entries of an array, row by row, are when it is read down its columns."""
    size = int(np.prod(shape, dtype=int))
    return np.ravel(np.arange(size).reshape(shape, order="F"))
