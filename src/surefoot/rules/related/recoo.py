"""Rectified penalties with a proximal step (RECOO): violations O(1) or slow (Guo et al. 2022)."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import maximum, to_numpy
from surefoot.core.checks import check_possible_horizon
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.forms import Counts
from surefoot.core.parameters import flag, nonnegative, positive
from surefoot.core.types import Array, Number, Real, Source
from surefoot.guarantees.bounds import as_floats, harmonic, power_sum
from surefoot.guarantees.guarantee import Kind, Measure
from surefoot.guarantees.premise import ROUNDING
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.related.lagrangian import Lagrangian
from surefoot.rules.related.yi import Proximal
from surefoot.sets import Ball, LinearProx

__all__ = ["RECOO", "RecooTheorem"]


class RECOOState(NamedTuple):
    """The action to play, the multiplier of the violations and the round."""

    x: Array
    queue: Number = 0.0
    t: Counts = 1.0


class RECOO(Proximal):
    r"""A proximal step on a rectified penalty whose multiplier is never small.

    .. math::
        Q_t     &= \max(Q_{t-1} + \gamma_t[g_t(x_t)]_+,\ \eta_t), \qquad Q_0 = 0 \\
        x_{t+1} &= \arg\min_{x \in R\mathbb{B}}\ \langle\nabla_t, x\rangle
                   + \gamma_tQ_t[g_t(x)]_+ + \alpha_t\|x - x_t\|^2 \\
        \alpha_t &= \alpha t^p, \qquad \eta_t = w_0t^p, \qquad \gamma_t = t^q

    with :math:`p = \tfrac12` for convex costs and 1 for strongly convex ones; :math:`q = \tfrac32`
    for a fixed constraint and 0 where it changes from round to round. NumPy only.

    Args:
        prox: the oracle for the minimisation; :class:`~surefoot.sets.LinearProx` for
            constraints that change, which it linearises.
        domain: a ball around 0 that holds the feasible set.
        alpha: :math:`\alpha`, the weight of a move in round 1.
        power: p.
        growth: q.
        floor: :math:`w_0`, the least multiplier of round 1.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> player = RECOO(prox=LinearProx(), domain=Ball(2.0), alpha=1.0, growth=0.0)
        >>> state = player.init(np.array([0.8]))  # x <= 0.5
        >>> player.update(state, Feedback(np.array([0.0]), 0.3, np.array([1.0])))
        RECOOState(x=array([0.5]), queue=1.0, t=2.0)

    Reference: Guo, Liu, Wei and Ying, "Online convex optimization with hard constraints: towards
    the best of two worlds and beyond", NeurIPS 2022. Constants derived here; theirs has the
    changing constraint itself in the step, where it is linearised here.
    """

    state = RECOOState
    source: ClassVar[Source] = Source("Guo, Liu, Wei and Ying, NeurIPS 2022", "as published")
    on_ball: ClassVar[tuple[str, ...]] = ("changing", "changing_strongly_convex")
    sources: ClassVar[Mapping[str, Source]] = dict.fromkeys(
        on_ball, Source("Guo, Liu, Wei and Ying, NeurIPS 2022", "derived here")
    )

    alpha: Real = positive()
    power: Real = positive(default=0.5)
    growth: Real = nonnegative(default=1.5)
    floor: Real = positive(default=1.0)

    @classmethod
    def from_set(cls, domain: object, theorem: "RecooTheorem") -> dict[str, Any]:
        """Return the prox of the set, or of the round's constraint in a ball where that changes."""
        if not theorem.changing:
            return super().from_set(domain, theorem)
        R = theorem.constants.R
        if domain is not None and not _is_around_zero(domain, R):
            raise InvalidValueError(
                f"domain must be a ball around 0 of radius at most R = {R:g}: the step "
                f"uses no other set than that and its prox, got {checks.describe(domain)}"
            )
        return {"prox": LinearProx(), "domain": domain}

    def next_state(self, state: RECOOState, gradient: Array, g: Number, s: Array) -> RECOOState:
        x, queue, t = state
        gamma, alpha = t**self.growth, self.alpha * t**self.power
        queue = maximum(queue + gamma * maximum(g, 0.0 * g), self.floor * t**self.power)
        return RECOOState(self._step(x, gradient, g, s, gamma * queue, alpha), queue, t + 1.0)

    @classmethod
    @tuning(lambda: RecooTheorem)
    def fixed(
        cls,
        constants: Constants,
        horizon: int | None = None,
        domain: Any = None,
        *,
        distance: float | None = None,
    ) -> Tuned[Self]:
        """Bounds on regret and hard violations for a fixed constraint."""
        check_possible_horizon(horizon)
        theorem = RecooTheorem(constants, distance=distance)
        return Tuned.of(cls, theorem, **cls.from_set(domain, theorem))

    @classmethod
    @tuning(lambda: RecooTheorem)
    def fixed_strongly_convex(
        cls,
        constants: Constants,
        horizon: int | None = None,
        domain: Any = None,
        *,
        distance: float | None = None,
    ) -> Tuned[Self]:
        """Bounds for a fixed constraint and strongly convex costs."""
        check_possible_horizon(horizon)
        theorem = RecooTheorem(constants, strong=True, distance=distance)
        return Tuned.of(cls, theorem, **cls.from_set(domain, theorem))

    @classmethod
    @tuning(lambda: RecooTheorem)
    def changing(
        cls,
        constants: Constants,
        horizon: int | None = None,
        domain: Any = None,
        *,
        distance: float | None = None,
    ) -> Tuned[Self]:
        """Bounds on regret and hard violations for constraints that change."""
        check_possible_horizon(horizon)
        theorem = RecooTheorem(constants, changing=True, distance=distance)
        return Tuned.of(cls, theorem, **cls.from_set(domain, theorem))

    @classmethod
    @tuning(lambda: RecooTheorem)
    def changing_strongly_convex(
        cls,
        constants: Constants,
        horizon: int | None = None,
        domain: Any = None,
        *,
        distance: float | None = None,
    ) -> Tuned[Self]:
        """Bounds for constraints that change and strongly convex costs."""
        check_possible_horizon(horizon)
        theorem = RecooTheorem(constants, strong=True, changing=True, distance=distance)
        return Tuned.of(cls, theorem, **cls.from_set(domain, theorem))


def _is_around_zero(domain: object, radius: float) -> bool:
    """Return whether a set is a ball around 0 of at most some radius."""
    if not isinstance(domain, Ball) or not domain.radius <= radius * (1 + ROUNDING):
        return False
    return domain.centre is None or not to_numpy(domain.centre).any()


class RecooTheorem(Lagrangian):
    r"""A proximal step on a rectified penalty whose multiplier is at least :math:`w_0t^p`.

    With D = 2R unless given, :math:`w_0 = 1` and F as in the module of constants,

    ==================  =====================================  ============================
    costs               :math:`\alpha_t`                       :math:`\mathrm{Reg}_t \le`
    ==================  =====================================  ============================
    convex              :math:`\tfrac{G_f}{\sqrt2D}\sqrt t`    :math:`\sqrt2G_fD\sqrt t`
    strongly convex     :math:`\mu t/2`                        :math:`\tfrac{G_f^2}{2\mu}(1+\ln t)`
    ==================  =====================================  ============================

    For a fixed constraint (:math:`\gamma_t = t^{3/2}`)

    .. math:: \sum_{s \le t}[g(x_s)]_+ \le [g(x_1)]_+ + \sum_{s<t}
        \frac{F + G_f^2/(4\alpha_s) + \alpha_sD^2}{w_0s^{p+3/2}} = O(1),

    and for constraints that change (:math:`\gamma_t = 1`), with
    :math:`B_t = Ft + \sum_{s \le t}\tfrac{G_f^2}{2\alpha_s} + \alpha_tD^2` (the last term not for
    strongly convex costs),

    .. math:: \sum_{s \le t}[g_s(x_s)]_+ \le \frac{B_t}{w_0t^p}
        + \sum_{s<t}B_s\Big(\frac1{w_0s^p} - \frac1{w_0(s+1)^p}\Big)
        + G_g\sqrt{2B_t\textstyle\sum_{s \le t}1/\alpha_s}.

    Sums of powers are bounded by integrals. Comparators are feasible in every round.

    Proof. The step minimises a :math:`2\alpha_t`-strongly convex function, so for feasible u
    :math:`\langle\nabla_t, x_t - u\rangle + w_t[g_t(x_{t+1})]_+ \le G_f^2/(4\alpha_t)
    + \alpha_t(\|u - x_t\|^2 - \|u - x_{t+1}\|^2)`, where :math:`w_t \ge \gamma_tw_0t^p`; keeping
    half of :math:`\alpha_t\|x_{t+1} - x_t\|^2` on the left, the same with
    :math:`G_f^2/(2\alpha_t)`. Fixed: every round by itself, with
    :math:`\langle\nabla_t, x_t - u\rangle \ge -F`. Changing: sum, then
    :math:`[g_t(x_t)]_+ \le [g_t(x_{t+1})]_+ + G_g\|x_{t+1} - x_t\|`, Abel summation for the first
    and Cauchy-Schwarz for the second.

    Where constraints change, their linearisations
    :math:`\hat g_t(x) = g_t(x_t) + \langle s_t, x - x_t\rangle` may stand for them in the step:
    :math:`\hat g_t(u) \le g_t(u) \le 0` and :math:`\hat g_t(x_t) = g_t(x_t)` are all that is used.

    Args:
        constants: needs R, G_f, G_g; strong_convexity for strongly convex costs. Uses F and
            start_slack.
        strong: whether the costs are strongly convex.
        changing: whether the constraint changes from round to round.
        distance: D, of any action played to any feasible one; 2R unless a smaller one is known.
    """

    kind: ClassVar[Kind] = "sum_positive"
    floor: ClassVar[float] = 1.0
    horizon = None

    strong: bool = flag(default=False)
    changing: bool = flag(default=False)
    distance: float | None = positive(default=None)

    @property
    def name(self) -> str:
        """The source and the case."""
        constraint = "changing constraints" if self.changing else "a fixed constraint"
        costs = ", strongly convex" if self.strong else ""
        return f"Guo et al. 2022, RECOO, {constraint}{costs}"

    @property
    def regret_exponent(self) -> float:
        """The exponent 1/2, or 0 for strongly convex costs."""
        return 0.0 if self.strong else 0.5

    @property
    def violation_exponent(self) -> float:
        """The exponent 0 for a fixed constraint; 3/4, or 1/2 for strongly convex costs."""
        return 0.0 if not self.changing else 0.5 if self.strong else 0.75

    @property
    def power(self) -> float:
        """The power p of t in the weights of a move and of the penalty."""
        return 1.0 if self.strong else 0.5

    @property
    def growth(self) -> float:
        """The power q of t in the weight of a violation."""
        return 0.0 if self.changing else 1.5

    @property
    def _D(self) -> float:
        return 2 * self.constants.R if self.distance is None else self.distance

    @property
    def alpha(self) -> float:
        r"""The first weight of a move; :math:`\alpha_1 = G_f/(\sqrt2D)`, or :math:`\mu/2`."""
        if self.strong:
            return 0.5 * self.constants.require("strong_convexity", by=self.name)[0]
        return self._G_f / (math.sqrt(2) * self._D)

    def regret_bound(self, t: Number) -> Array:
        """Return the bound of the table."""
        if self.strong:
            return self._G_f**2 / (4 * self.alpha) * harmonic(t)
        return math.sqrt(2) * self._G_f * self._D * np.sqrt(as_floats(t))

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return the bound on the summed violations, and hence on the sum of g."""
        hard = self._changing_bound(t) if self.changing else self._fixed_bound(t)
        return {"positive_sum": hard, "sum_positive": hard}

    def _fixed_bound(self, t: Number) -> Array:
        p, q, a, G = self.power, self.growth, self.alpha, self._G_f
        before = np.maximum(as_floats(t) - 1, 1.0)
        total = (
            self._F * power_sum(before, p + q)
            + G**2 / (4 * a) * power_sum(before, 2 * p + q)
            + a * self._D**2 * power_sum(before, q)
        )
        slack = self.constants.start_slack
        first = self._G_g * self._D if slack is None else max(-slack, 0.0)
        return first + np.where(as_floats(t) > 1, total / self.floor, 0.0)

    def _changing_bound(self, t: Number) -> Array:
        p, a, G, F, T = self.power, self.alpha, self._G_f, self._F, as_floats(t)
        moves = harmonic(T) if self.strong else power_sum(T, p)
        end = 0.0 if self.strong else a * T**p * self._D**2
        budget = F * T + G**2 / (2 * a) * moves + end
        if self.strong:
            # p = 1: the terms are F/s, and (1 + ln s)/s^2 whose sum over all s is below 2.59.
            by_parts = F * harmonic(T) + G**2 / (2 * a) * 2.59
        else:
            # p = 1/2: the terms are F/(2 sqrt s), G_f^2/(2 alpha s) and alpha D^2/(2 s).
            by_parts = 0.5 * F * power_sum(T, 0.5)
            by_parts = by_parts + (G**2 / (2 * a) + 0.5 * a * self._D**2) * harmonic(T)
        separately = self._G_g * np.sqrt(2 * budget * moves / a)
        return (budget / T**p + by_parts) / self.floor + separately
