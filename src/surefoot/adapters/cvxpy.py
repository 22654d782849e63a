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
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError, warn_caller
from surefoot.core.optional import need
from surefoot.core.points import to_dense
from surefoot.core.types import Array
from surefoot.problems import constraints as kinds
from surefoot.problems.constraints import Constraint, max_of

if TYPE_CHECKING:
    from cvxpy import Expression, Variable
    from cvxpy.constraints import SOC, Inequality

_cp = need("cvxpy", "cvxpy", "surefoot.adapters.cvxpy")

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
            convex programming. Equalities have no interior and are rejected.
        variables: the order of the variables, if there are several.
        bound: a bound on the subgradients of what CVXPY has to evaluate; without one no certified
            rule can be tuned for it.

    Example:
        >>> import cvxpy as cp
        >>> x = cp.Variable(2)
        >>> limit = from_cvxpy([x <= 1.0, cp.norm(x - np.array([0.5, 0.0])) <= 2.0])
        >>> [type(part).__name__ for part in limit.parts]
        ['Affine', 'L2Norm']
        >>> limit.query(np.array([3.5, 0.0]))
        (2.5, array([1., 0.]))
    """
    if not isinstance(constraints, Iterable):
        raise checks.invalid("constraints", "a list of CVXPY's constraints", constraints)
    limits = list(constraints)
    by_id = {v.id: v for c in limits for v in _check(c).variables()}
    order = list(by_id.values()) if variables is None else list(variables)
    if variables is None and len(order) > 1:
        raise InvalidValueError(
            "variables must give the order in which they make up an action if there are several, "
            f"got {', '.join(v.name() for v in order)}"
        )
    if not order or set(by_id) - {v.id for v in order}:
        raise InvalidValueError("variables must be those of the constraints, got others or none")
    return _Reader(order, bound).read([*limits, *(c for v in order for c in _domain(v))])


def _domain(variable: Variable) -> list[Inequality]:
    """Return the signs and bounds of a variable as constraints; reject other attributes."""
    attributes = {
        n for n, value in variable.attributes.items() if not (value is None or value is False)
    }
    if strangers := attributes - {"nonneg", "pos", "nonpos", "neg", "bounds"}:
        raise InvalidValueError(
            f"{variable.name()} must be a variable with no attributes but signs and bounds, got "
            f"{', '.join(sorted(strangers))}"
        )
    return list(variable.domain)


def _check(constraint: Inequality | SOC) -> Inequality | SOC:
    if not isinstance(constraint, (_cp.constraints.Inequality, _cp.constraints.SOC)):
        raise InvalidValueError(
            "constraints must have an interior: inequalities or second-order cones, got "
            f"{constraint!r}"
        )
    if not constraint.is_dcp():
        raise InvalidValueError(f"constraints must be convex by CVXPY's rules, got {constraint}")
    if any(p.value is None for p in constraint.parameters()):
        raise InvalidValueError(f"the parameters of {constraint} must have values, got None")
    return constraint


class _Reader:
    """Reads expressions of variables as rows and other parts.

    Copies of the variables are parts of one vector, the action; the variables keep their values.
    """

    def __init__(self, variables: list[Variable], bound: float | None) -> None:
        self.bound, self.size = bound, sum(v.size for v in variables)
        self.action = _cp.Variable(self.size)
        ends = np.cumsum([v.size for v in variables]).tolist()
        self.parts_of_action = {
            id(v): _cp.reshape(self.action[end - v.size : end], v.shape, order="C")
            for v, end in zip(variables, ends, strict=True)
        }
        self.rows: list[Array] = []
        self.limits: list[float] = []
        self.parts: list[Constraint] = []

    def read(self, constraints: list[Inequality | SOC]) -> Constraint:
        for constraint in constraints:
            left, right = (one.tree_copy(self.parts_of_action) for one in constraint.args)
            if isinstance(constraint, _cp.constraints.SOC):
                if left.size != 1:
                    raise InvalidValueError(
                        f"a second-order cone must have one bound, got {left.size}"
                    )
                left, right = _cp.norm(_cp.vec(right, order="C"), 2), _cp.sum(left)
            entries = _cp.vec(left - right, order="C")
            if entries.is_affine():
                self._add_rows(*self._affine(entries))
            else:
                for i in range(entries.size):
                    self._scalar(entries[i], str(constraint))
        affine = [kinds.Affine(np.array(self.rows), np.array(self.limits))] if self.rows else []
        parts = [*affine, *self.parts]
        if not parts:
            raise InvalidValueError("constraints must depend on the variables, got none that does")
        return parts[0] if len(parts) == 1 else max_of(*parts)

    def _affine(self, expression: Expression, *others: Variable) -> tuple[Array, Array]:
        """Return A, row by row of the expression, and b of Ax + b."""
        variables = (self.action, *others)
        b, A = _evaluate(_cp.vec(expression, order="C"), variables)
        return A, b

    def _add_rows(self, A: Array, b: Array) -> None:
        for row, offset in zip(A, b, strict=True):
            if row.any():
                self.rows.append(row)
                self.limits.append(-float(offset))
            elif offset > 0:
                raise InvalidValueError(f"constraints must be possible, got {offset:g} <= 0")

    def _scalar(self, expression: Expression, text: str) -> None:
        """Recognise one function: affine, quadratic, or a multiple of an atom and an affine one."""
        if expression.is_affine():
            self._add_rows(*self._affine(expression))
        elif expression.is_quadratic() and _cp.huber not in expression.atoms():
            # A quadratic program may have Huber's function, which CVXPY counts as quadratic.
            samples = [_evaluate(expression, [self.action], e) for e in (None, *np.eye(self.size))]
            (value, (q,)), *others = samples
            Q = np.array([slope[0] - q for _, slope in others])
            self.parts.append(kinds.QuadraticForm(0.5 * (Q + Q.T), q, -float(value[0])))
        elif not self._atom(expression, text):
            self._by_cvxpy(expression, text)

    def _atom(self, expression: Expression, text: str) -> bool:
        """Return whether it was one atom, with positive weights, plus an affine function."""
        atoms = _curved_atoms(expression)
        if len(atoms) != 1:
            return False
        (atom,) = atoms
        # With variables in its place the rest is affine, and shows the weights of its entries.
        entries = _cp.Variable(atom.size)
        rest = expression.tree_copy({id(atom): _cp.reshape(entries, atom.shape, order="C")})
        (row,), (beta,) = self._affine(rest, entries)
        a, k = np.split(row, [self.size])
        if not (k >= 0).all():
            return False
        kind = type(atom).__name__
        if kind == "maximum" and np.count_nonzero(k) == 1:
            for one in atom.args:
                whole = one + np.zeros(atom.shape)
                self._scalar(expression.tree_copy({id(atom): whole}), text)
            return True
        if kind not in _ATOMS or not atom.args[0].is_affine() or (atom.size > 1 and kind != "abs"):
            return False
        part = _ATOMS[kind](self, k, atom, a, float(beta))
        if isinstance(part, Constraint):
            self.parts.append(part)
        return part is not None

    # --- an atom of an affine argument, times k, plus a'x + beta; None if not recognised

    def _norm2(self, k: Array, atom: Expression, a: Array, beta: float) -> Constraint | None:
        if float(atom.p) != 2.0:
            return None
        A, b = self._affine(atom.args[0])
        if _is_action(k, A, a):
            return kinds.L2Norm(-beta, -b)
        return kinds.SecondOrderCone(k * A, k * b, -a, -beta)

    def _polyhedral(
        self, k: Array, atom: Expression, a: Array, beta: float
    ) -> Constraint | bool | None:
        """Return a norm of the variable itself, or add rows: the largest over some signs."""
        kind, (A, b) = type(atom).__name__, self._affine(atom.args[0])
        weights = np.broadcast_to(k, b.shape)
        if kind in _NORMS and len(b) > 1 and _is_action(weights, A, a):
            return _NORMS[kind](-beta, self.size, -b)
        signs = np.diag(weights)
        if kind == "norm_inf":
            signs = np.vstack([signs, -signs])
        elif kind != "max":  # the sum of absolute values is the largest of sums with any signs
            if np.count_nonzero(weights) > _MOST_SIGNS:
                return None
            signs = np.array(list(product(*((w, -w) if w else (w,) for w in weights.tolist()))))
        self._add_rows(signs @ A + a, signs @ b + beta)
        return True

    def _sum_largest(self, k: Array, atom: Expression, a: Array, beta: float) -> Constraint | None:
        A, b = self._affine(atom.args[0])
        if b.any() or atom.k != int(atom.k) or not 0 < atom.k < len(b):
            return None
        # The sum of the j largest is j times their mean, the tail of equally likely losses.
        j = int(atom.k)
        return kinds.CVaR(k * j * A + a, 1 - j / len(b), -beta)

    def _singular(self, k: Array, atom: Expression, a: Array, beta: float) -> Constraint | None:
        A, b = self._affine(atom.args[0])
        if b.any() or not _is_action(k, A, a):
            return None
        kind = kinds.SpectralNorm if type(atom).__name__ == "sigma_max" else kinds.NuclearNorm
        return kind(atom.args[0].shape, -beta)

    def _by_cvxpy(self, expression: Expression, text: str) -> None:
        price = "some milliseconds per call"
        if self.bound is None:
            price += ", and no G_g: give a bound for certified rules"
        warn_caller(
            f"{text} has no counterpart here and is evaluated by CVXPY: {price}",
            SlowConstraintWarning,
        )
        at = partial(_evaluate, expression, [self.action])
        part = kinds.FunctionConstraint(
            lambda x: float(at(x)[0][0]), lambda x: at(x)[1][0], bound=self.bound
        )
        self.parts.append(part)


_ATOMS = {
    **dict.fromkeys(("Pnorm", "PnormApprox"), _Reader._norm2),
    **dict.fromkeys(("norm1", "norm_inf", "abs", "max"), _Reader._polyhedral),
    **dict.fromkeys(("sigma_max", "normNuc"), _Reader._singular),
    "sum_largest": _Reader._sum_largest,
}
_NORMS = {"norm1": kinds.L1Norm, "abs": kinds.L1Norm, "norm_inf": kinds.LinfNorm}


def _is_action(k: Array, A: Array, a: Array) -> bool:
    """Return whether an atom with weights of 1 is of the action itself, without other terms."""
    return bool((k == 1).all()) and not a.any() and np.array_equal(A, np.eye(len(a)))


def _curved_atoms(expression: Expression) -> list[Expression]:
    """Return the atoms that are not affine, and under none that is not."""
    if expression.is_affine():
        return []
    if not isinstance(expression, _cp.atoms.affine.affine_atom.AffAtom):
        return [expression]
    return [atom for one in expression.args for atom in _curved_atoms(one)]


def _evaluate(
    expression: Expression, variables: Sequence[Variable], x: Array | None = None
) -> tuple[Array, Array]:
    """Return values ``(m,)`` and gradients ``(m, d)`` at x, else at 0."""
    for v in variables:
        v.save_value(np.zeros(v.size) if x is None else np.array(x))
    try:
        with np.errstate(all="ignore"):
            values, gradients = expression.value, expression.grad
    except NotImplementedError as error:
        raise InvalidValueError(
            f"CVXPY must have a gradient of {expression}, and has none"
        ) from error
    if values is None or any(slope is None for slope in gradients.values()):
        raise InvalidValueError(f"{expression} must have a gradient at {x}, got none")
    # A variable that an expression does not depend on has no gradient.
    slopes = [to_dense(gradients.get(v, np.zeros((v.size, expression.size)))) for v in variables]
    rows = [np.reshape(part, (v.size, -1)) for v, part in zip(variables, slopes, strict=True)]
    return np.atleast_1d(np.asarray(values, dtype=np.float64)), np.vstack(rows).T
