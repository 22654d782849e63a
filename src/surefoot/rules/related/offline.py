r"""Offline ancestors of Polyak feasibility steps, as steps with their inequalities.

These methods minimise a fixed convex f over :math:`Y \cap \{g_\omega \le 0\ \forall\omega\}`, where
Y is a simple set and one constraint is looked at per step. They play no game: each function below
is one step, and the bounds are functions of the number k of steps. D is the diameter of Y, G
bounds the subgradients of f, :math:`G_g` those of the constraints.

===========================  ==================================================================
step                         source
===========================  ==================================================================
:func:`polyak_step`          Polyak 1969, for a known optimal value
:func:`deep_cut`             Polyak 2001, random constraints with an interior of known radius
:func:`correct`              Nedic 2011; the correction that the following share
:func:`correct_all`          Nedic and Necoara 2019, several constraints per step
:func:`proximal_step`        Necoara and Singh 2022, a forward step with a prox
:func:`linearised_step`      Singh and Necoara 2025, the constraint linearised where it was seen
:func:`velocity_step`        Zhang, He and Muehlebach 2025, one constraint as a velocity
===========================  ==================================================================

With :math:`\beta = 1`, the constraint seen at x and Y a ball, :func:`linearised_step` is the rule
of :class:`~surefoot.rules.PFS` with :math:`\rho = 0`.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import dot, maximum, norm, where
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Number, Set

__all__ = [
    "correct",
    "correct_all",
    "corrections_bound",
    "deep_cut",
    "gap_bound",
    "linearised_step",
    "polyak_bound",
    "polyak_step",
    "proximal_step",
    "velocity_step",
]


def polyak_step(x: Array, value: Number, s: Array, best: Number) -> Array:
    r"""Step to where the linearised cost is optimal: :math:`x - \frac{f(x) - f^*}{\|s\|^2}s`.

    For every minimiser x*, :math:`\|x_+ - x^*\|^2 \le \|x - x^*\|^2 - (f(x) - f^*)^2/\|s\|^2`.

    Args:
        x: the point.
        value: f(x).
        s: a subgradient of f at x.
        best: f*, the optimal value; a value at or below it leaves x where it is.

    Example:
        >>> polyak_step(np.array([3.0]), 3.0, np.array([1.0]), 0.0)
        array([0.])
    """
    squared = dot(s, s)
    excess = maximum(value - best, 0.0 * value)
    if isinstance(squared, float) and excess > 0 and not squared > 0:
        raise InvalidValueError(
            f"s must not be 0 where f is above its optimal value, got f - f* = {excess!r}"
        )
    return x - excess / where(squared > 0, squared, 1.0) * s


def polyak_bound(k: Number, G_f: float, distance: float) -> Array:
    r"""Bound :math:`\min_{j \le k}f(x_j) - f^*` by :math:`G_f\|x_1 - x^*\|/\sqrt k`."""
    checks.positive(G_f=G_f, distance=distance)
    return G_f * distance / np.sqrt(np.asarray(k, dtype=np.float64))


def deep_cut(x: Array, g: Number, s: Array, radius: float, domain: Set) -> Array:
    r"""Step beyond a violated constraint: :math:`\Pi_Y\big(x - \frac{g + r\|s\|}{\|s\|^2}s\big)`.

    Every step taken with g > 0 brings x nearer to a point whose ball of radius r is feasible, by
    more than :math:`r^2` squared; so there are finitely many. A constraint that is met changes
    nothing.

    Args:
        x: the point.
        g: the value of the constraint at x.
        s: a subgradient there.
        radius: r, of a feasible ball.
        domain: Y.

    Example:
        >>> from surefoot.sets import Ball
        >>> deep_cut(np.array([2.0, 0.0]), 1.0, np.array([1.0, 0.0]), 0.5, Ball(9.0))
        array([0.5, 0. ])
    """
    checks.positive(radius=radius)
    size = norm(s)
    share = (g + radius * size) / where(size > 0, size * size, 1.0)
    return domain.project(x - where(g > 0, share, 0.0 * share) * s)


def corrections_bound(distance: float, radius: float) -> float:
    r"""Bound the number of steps of :func:`deep_cut` ever taken: :math:`\|x_1 - x^*\|^2/r^2`."""
    checks.positive(distance=distance, radius=radius)
    return (distance / radius) ** 2


def correct(v: Array, excess: Number, d: Array, domain: Set, beta: float = 1.0) -> Array:
    r"""Move against a violation: :math:`\Pi_Y\big(v - \beta\frac{[e]_+}{\|d\|^2}d\big)`.

    After a forward step :math:`v = \Pi_Y(x - \alpha s_f)`, for every feasible u

    .. math:: \|x_+ - u\|^2 \le \|x - u\|^2 - 2\alpha(f(x) - f(u)) + \alpha^2G^2
              - \beta(2 - \beta)\frac{[e]_+^2}{\|d\|^2}.

    Args:
        v: the point after the forward step.
        excess: e, the value of a constraint at v, or of its linearisation.
        d: its subgradient.
        domain: Y.
        beta: relaxation, strictly between 0 and 2.

    Example:
        >>> from surefoot.sets import Ball
        >>> correct(np.array([2.0, 0.0]), 1.0, np.array([2.0, 0.0]), Ball(9.0))
        array([1.5, 0. ])
    """
    checks.between(0, 2, beta=beta)
    squared = dot(d, d)
    over = maximum(excess, 0.0 * excess)
    return domain.project(v - beta * over / where(squared > 0, squared, 1.0) * d)


def correct_all(
    v: Array,
    constraints: Sequence[Callable[[Array], tuple[Number, Array]]],
    domain: Set,
    beta: float = 1.0,
    order: Literal["parallel", "sequential"] = "parallel",
) -> Array:
    """Correct by several constraints: the mean of their corrections, or one after the other.

    Args:
        v: the point after the forward step.
        constraints: functions that give a constraint's value and a subgradient.
        domain: Y.
        beta: relaxation, strictly between 0 and 2.
        order: whether every correction starts from v, or from the one before.

    Example:
        >>> from surefoot.sets import Ball
        >>> right = lambda x: (float(x[0]) - 1.0, np.array([1.0, 0.0]))
        >>> above = lambda x: (float(x[1]) - 1.0, np.array([0.0, 1.0]))
        >>> correct_all(np.array([2.0, 2.0]), [right, above], Ball(9.0))
        array([1.5, 1.5])
        >>> correct_all(np.array([2.0, 2.0]), [right, above], Ball(9.0), order="sequential")
        array([1., 1.])
    """
    checks.one_of(("parallel", "sequential"), order=order)
    if not constraints:
        raise InvalidValueError("constraints must not be empty, got none")
    if order == "sequential":
        for constraint in constraints:
            v = correct(v, *constraint(v), domain, beta)
        return v
    points = [correct(v, *constraint(v), domain, beta) for constraint in constraints]
    return domain.project(sum(points[1:], points[0]) / len(points))


def proximal_step(
    x: Array, gradient: Array, alpha: float, prox: Callable[[Array, float], Array]
) -> Array:
    r"""Take the forward step of f + h, :math:`v = \mathrm{prox}_{\alpha h}(x - \alpha\nabla f)`.

    Followed by :func:`correct`, its inequality holds with f + h for f and :math:`G_f + G_h` for G.

    Args:
        x: the point.
        gradient: of f at x.
        alpha: the step size.
        prox: the proximal operator of h: a point and a weight.

    Example:
        >>> soft = lambda y, a: np.sign(y) * np.maximum(abs(y) - a, 0.0)  # h = |x|
        >>> proximal_step(np.array([2.0]), np.array([1.0]), 0.5, soft)
        array([1.])
    """
    checks.positive(alpha=alpha)
    return prox(x - alpha * gradient, alpha)


def linearised_step(
    x: Array, gradient: Array, g: Number, s: Array, alpha: float, domain: Set, beta: float = 1.0
) -> Array:
    r"""Take a gradient step, then correct by the constraint linearised at x itself.

    :math:`v = x - \alpha\nabla f(x)`, :math:`e = g(x) + \langle s, v - x\rangle`, then
    :func:`correct`.

    Args:
        x: the point.
        gradient: of f at x.
        g: the value of a constraint at x.
        s: a subgradient there.
        alpha: the step size.
        domain: Y.
        beta: relaxation, strictly between 0 and 2.

    Example:
        >>> from surefoot.sets import Ball
        >>> one = np.array([0.0, 0.4])
        >>> linearised_step(one, np.array([-1.0, -3.0]), -0.1, np.array([0.0, 1.0]), 0.1, Ball(1.0))
        array([0.1, 0.5])
    """
    checks.positive(alpha=alpha)
    v = x - alpha * gradient
    return correct(v, g + dot(s, v - x), s, domain, beta)


def velocity_step(
    x: Array,
    gradient: Array,
    g: Number,
    s: Array,
    eta: float,
    alpha: float,
    *,
    always: bool = False,
) -> Array:
    r"""Step along the velocity nearest to the descent under which a violation falls.

    :math:`x - \eta\nabla f - \eta\frac{[\alpha g - \nabla f^\top s]_+}{\|s\|^2}s` where g is at
    least 0, and the gradient step elsewhere. With g :math:`\beta`-smooth, :math:`\eta\alpha \le 1`
    and V a bound on the velocity, :math:`g(x_+) \le \max\{(1 - \eta\alpha)g(x) +
    \tfrac\beta2\eta^2V^2,\ G_g\eta V\}`, and for every feasible u the velocity v has
    :math:`\langle\nabla f, x - u\rangle \le (\|x - u\|^2 - \|x_+ - u\|^2)/(2\eta) +
    \tfrac\eta2\|v\|^2`.

    The paper on Polyak feasibility steps prints the formula for every sign of g (``always``). The
    first entry of the maximum then holds alone, and the second inequality needs
    :math:`\eta\alpha = 1`, where the step is that of PFS: for :math:`\eta\alpha < 1` and g < 0 a
    feasible u may be cut off.

    Args:
        x: the point.
        gradient: of f at x.
        g: the value of the constraint at x.
        s: its gradient there.
        eta: the step size.
        alpha: how fast a violation must fall; :math:`G_f/R` by the dimensions.
        always: whether the constraint acts where it is met, too.

    Example:
        >>> velocity_step(
        ...     np.array([1.0, 0.0]), np.array([-1.0, 1.0]), 0.5, np.array([2.0, 0.0]), 0.1, 2.0
        ... )
        array([ 0.95, -0.1 ])
    """
    checks.positive(eta=eta, alpha=alpha)
    squared = dot(s, s)
    push = maximum(alpha * g - dot(gradient, s), 0.0 * squared) / where(squared > 0, squared, 1.0)
    if not always:
        push = where(g >= 0, push, 0.0 * push)
    return x - eta * (gradient + push * s)


def gap_bound(
    k: Number, D: float, G: float, regularity: float, G_g: float, beta: float = 1.0
) -> Any:
    r"""Bound the expected gap and distance of the mean of the forward steps after k of them.

    With :math:`\mathrm{dist}^2(v, X) \le \kappa\,\mathbb{E}_\omega[g_\omega(v)]_+^2` on Y,
    :math:`q = \beta(2-\beta)/(G_g^2\kappa)` and the step :math:`D/(G\sqrt{k(3 + 2/q)})`,

    .. math:: \mathbb{E}f(\bar v) - f^* \le \frac{DG}{\sqrt k}\Big(\sqrt{3 + \tfrac2q}
              + \tfrac2{\sqrt q}\Big), \qquad
              \mathbb{E}\,\mathrm{dist}(\bar v, X) \le \frac{2D}{\sqrt{qk}}.

    Args:
        k: number of steps.
        D: diameter of Y.
        G: bound on the subgradients of f.
        regularity: :math:`\kappa`; for uniform sampling of m rows with a point of slack
            :math:`\alpha` it is :math:`m(D/\alpha)^2`.
        G_g: bound on the subgradients of the constraints.
        beta: relaxation, strictly between 0 and 2.

    Returns:
        The step size, the bound on the gap and the bound on the distance.

    Example:
        >>> step, gap, distance = gap_bound(10000, 1.0, 1.0, 1.0, 1.0)
        >>> round(step, 6), round(float(gap), 6), round(float(distance), 6)
        (0.004472, 0.042361, 0.02)
    """
    checks.positive(D=D, G=G, regularity=regularity, G_g=G_g)
    checks.between(0, 2, beta=beta)
    q = beta * (2 - beta) / (G_g**2 * regularity)
    root = np.sqrt(np.asarray(k, dtype=np.float64))
    weight = math.sqrt(3 + 2 / q)
    step = D / (G * root * weight)
    return (
        float(step) if step.ndim == 0 else step,
        D * G * (weight + 2 / math.sqrt(q)) / root,
        2 * D / (math.sqrt(q) * root),
    )
