"""Tightening for any base algorithm: from a bounded sum of g to one of at most 0.

The paper's Appendix A, corrected. With DPP as its base it is DPP-T.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import NOTHING, Algorithm, counts_rounds, move_to, tuning
from surefoot.core.constants import Constants, as_constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.parameters import (
    Declared,
    algorithm,
    instance_of,
    nonnegative,
    parameters_of,
    share,
)
from surefoot.core.types import Array, Info, Needs, Number, Real, Set, Source, needs_of
from surefoot.guarantees.bounds import as_floats, at_least, first_horizon
from surefoot.guarantees.guarantee import (
    ConstraintForm,
    Guarantee,
    Kind,
    KnownHorizon,
    Measure,
    Summed,
)
from surefoot.guarantees.premise import Premise
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.related.dpp import ScalarDPP

__all__ = ["Tighten", "Tightened", "tightened_constants"]


class Tighten(Declared, Algorithm):
    r"""A base algorithm that sees :math:`g(x_t) + \rho` instead of :math:`g(x_t)`.

    Nothing else changes: the gradients, the state and the work are the base's. A base whose sum
    of g is bounded has a sum of at most 0 when rho is that bound spread over the rounds
    (:meth:`tuned`). ``Tighten(base=ScalarDPP(...), rho=...)`` is the DPP-T of the paper's
    experiments.

    Args:
        base: any algorithm that asks for the constraint's value.
        rho: the tightening, :math:`\rho \ge 0`.

    Example:
        >>> import numpy as np
        >>> from surefoot.sets import Ball
        >>> player = Tighten(base=ScalarDPP(V=2.0, alpha=5.0, domain=Ball(1.0)), rho=0.25)
        >>> state = player.init(np.array([0.0, 0.25]))
        >>> seen = Feedback(np.array([-1.0, -2.5]), -0.75, np.array([0.0, 2.0]))
        >>> player.update(state, seen)  # -0.75 + 0.25, and 2 * 0.5 for the move
        QueueState(x=array([0.2 , 0.75]), queue=0.5)

    Reference: Hutchinson and Alizadeh, ICML 2025, Appendix A, corrected; the idea is that of
    Mahdavi, Jin and Yang, JMLR 2012.
    """

    source: ClassVar[Source] = Source("Hutchinson and Alizadeh, ICML 2025", "derived here")

    base: Any = algorithm()
    rho: Real = nonnegative()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.needs.constraint_values:
            raise InvalidValueError(
                f"base must ask for the value of the constraint, got {self.base!r}, "
                "which would not notice"
            )

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        """The needs of the base algorithm."""
        needs = needs_of(self.base)
        return needs._replace(fields=needs.fields & {"hint"})

    def init(self, x1: Array) -> Any:
        """Return the base's first state."""
        return self.base.init(x1)

    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Info]:
        """Return the base's state after a round with rho added to g."""
        tighter = feedback._replace(constraint_value=feedback.constraint_value + self.rho)
        return self.base.step(state, tighter)[0], NOTHING

    def move_to(self, state: Any, x: Array) -> Any:
        """Return the base's state, of the same round, whose action is x."""
        return move_to(self.base, state, x)

    @property
    def counts_rounds(self) -> bool:
        """Whether the base counts rounds; the wrapper only passes them on."""
        return counts_rounds(self.base)

    @classmethod
    @tuning(share=share())
    def tuned(
        cls,
        constants: Constants,
        horizon: int,
        domain: Set | None = None,
        *,
        base: Callable[..., Tuned[Any]] = ScalarDPP.tuned,
        share: float = 0.5,
        **options: Any,
    ) -> Tuned[Self]:
        """Tune with the smallest rho, within a few percent, that brings the base's bound to 0.

        Args:
            constants: the constants of the problem, with a slack: ``start_slack`` or ``epsilon``.
            horizon: T; an error for one that is too short names the shortest.
            domain: as the base wants it.
            base: a theorem-tuned constructor, called with constants, horizon and domain.
            share: of the slack, what tightening may take at most; the base is tuned for what it
                leaves.
            options: for the base.
        """
        checks.between(0, 1, share=share)
        constants = as_constants(constants)
        slack = max(constants.start_slack or 0.0, constants.epsilon or 0.0)
        if not slack > 0:
            raise InvalidValueError(
                "tightening needs a point with g < 0: start_slack or epsilon must be > 0, "
                f"got {constants}"
            )
        room = share * slack
        while True:
            inner = base(tightened_constants(constants, room), horizon, domain, **options)
            theorem = Tightened(constants, horizon, inner.guarantee)
            # Less tightening leaves more slack, and more slack needs less tightening. One hundredth
            # above the fixed point, rounding cannot put rho beyond its room.
            needed = 1.01 * theorem.rho
            if needed > 0.99 * room:
                return Tuned(cls(base=inner.algorithm, rho=theorem.rho), theorem)
            room = needed


def tightened_constants(constants: Constants, rho: float) -> Constants:
    r"""Return the constants of a problem whose constraint is :math:`g + \rho`.

    A point has rho less slack, any one constraint is larger by at most rho, and the subgradients
    stay: the level :math:`-\epsilon` of g is the level :math:`-(\epsilon - \rho)` of
    :math:`g + \rho`. If rho is at least epsilon, epsilon and sigma become unknown.

    Example:
        >>> c = Constants(R=1.0, G_f=3.0, sigma=0.5, epsilon=0.25, start_slack=0.5, D_g=1.5)
        >>> print(tightened_constants(c, 0.125))
        R = 1 (given), G_f = 3 (given), sigma = 0.5 (derived), epsilon = 0.125 (derived),
        start_slack = 0.375 (derived), D_g = 1.625 (derived)
    """
    checks.nonnegative(rho=rho)
    changes: dict[str, float | None] = {}
    if constants.D_g is not None:
        changes["D_g"] = constants.D_g + rho
    if constants.start_slack is not None:
        changes["start_slack"] = constants.start_slack - rho
    if constants.epsilon is not None:
        is_positive = constants.epsilon > rho
        changes["epsilon"] = constants.epsilon - rho if is_positive else None
        changes["sigma"] = constants.sigma if is_positive else None
    return constants.with_origin("derived", **changes)


class Tightened(KnownHorizon, Summed):
    r"""The sum of g is at most 0 when a base algorithm plays with :math:`g + \rho`.

    Let the base guarantee, on the tightened problem, a regret of at most :math:`A_t` and
    :math:`\sum_{s \le t}(g(x_s) + \rho) \le S_t`. With :math:`\rho = S_T/T`

    .. math::
        \sum_{t \le T} g(x_t) \le S_T - \rho T = 0, \qquad
        \mathrm{Reg}_t \le A_t + G_f\rho\kappa t

    where :math:`\rho\kappa` bounds the distance of a feasible action to one with
    :math:`g \le -\rho`: :math:`\kappa = 1/\sigma` if :math:`\rho \le \epsilon` (the paper's Lemma
    1), or :math:`\kappa = D_0/\alpha` if :math:`\rho \le \alpha`, the start's slack, because
    :math:`(1 - \rho/\alpha)x + (\rho/\alpha)x_1` is such an action. The smaller is taken.

    Two things differ from the printed appendix. It has G_g for G_f: the regret lost is a
    difference of costs. And it takes the base's constants for granted, which depend on the slack
    that rho leaves; here the base must be tuned for :func:`tightened_constants` constants with some
    tightening, :attr:`room`, and rho must turn out no larger, which it does for T large enough.
    The sum of :math:`[g]_+` cannot be cancelled this way; what the base promises of it stays.

    Where the base bounds the sums of each of several constraints and not of their maximum
    (measure "rows"), so does this guarantee: each sum is at most 0.

    Args:
        constants: the constants of the problem itself.
        horizon: T.
        base: the guarantee of the base for constants of :func:`tightened_constants`.

    Example:
        >>> from surefoot.rules.related.dpp import DriftPlusPenalty
        >>> c = Constants(R=0.5, G_f=1.0, G_g=1.0, D_g=1.0, sigma=1.0, epsilon=0.5)
        >>> bound = Tightened(c, 10_000, DriftPlusPenalty(tightened_constants(c, 0.25), 10_000))
        >>> round(bound.rho, 4), float(bound.bounds(10_000)["positive_sum"])
        (0.0703, 0.0)
        >>> Tightened(c, 500, DriftPlusPenalty(tightened_constants(c, 0.25), 500))
        Traceback (most recent call last):
        surefoot.core.errors.InvalidValueError: horizon must be at least 879 rounds for ...
    """

    kind: ClassVar[Kind] = "cumulative"
    needed: ClassVar[tuple[str, ...]] = ("G_f",)

    base: Guarantee = instance_of(Guarantee)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.base.horizon not in (None, self.horizon):
            raise InvalidValueError(
                f"base must be tuned for the horizon {self.horizon}, got one for "
                f"{self.base.horizon}"
            )
        if not self.room > 0:
            raise InvalidValueError(
                "base must be tuned for tightened constants: of a slack or D_g it must leave "
                f"room for rho, got {self.room:g}"
            )
        if not self._enough(self.horizon):
            raise InvalidValueError(
                f"horizon must be {self._enough_words()} for {self.name}: it has to tighten by "
                f"{self.rho:.3g}, more than the {self.room:.3g} that the base allows for, "
                f"got {self.horizon}"
            )
        _ = self.tightening_cost

    @property
    def name(self) -> str:
        """The base's name, tightened."""
        return f"{self.base.name}, tightened"

    @property
    def changing(self) -> bool:
        """Whether the base's constraint may change."""
        return self.base.changing

    @property
    def constraint_form(self) -> ConstraintForm:
        """The form that the base needs."""
        return self.base.constraint_form

    @property
    def rho(self) -> float:
        r"""The tightening :math:`S_T/T`, rounded up."""
        return float(_bound_sum(self.base, self.horizon)[1]) / self.horizon * (1 + 2.0**-50)

    @property
    def room(self) -> float:
        """The largest tightening that the base's constants cover."""
        plain, base = self.constants, self.base.constants
        pairs = [(base.D_g, plain.D_g), (plain.start_slack, base.start_slack)]
        pairs.append((plain.epsilon, base.epsilon))
        rooms = (more - less for more, less in pairs if more is not None and less is not None)
        return float(min(rooms, default=np.inf))

    def _enough(self, horizon: int) -> bool:
        """Return whether the tightening that a horizon needs is within the limit."""
        base: Any = self.base
        if horizon != self.horizon and base.horizon is not None:
            base = replace(base, horizon=horizon)  # theorems choose their parameters by it
        return float(_bound_sum(base, horizon)[1]) * (1 + 2.0**-50) <= self.room * horizon

    def _enough_words(self) -> str:
        """Return the smallest horizon that is large enough, in words: S_T/T falls as T grows."""
        base: Any = self.base
        if base.horizon is not None and "horizon" not in parameters_of(type(base)):
            return "larger"  # its value for another rho is unknown
        # Further than anyone plays the bounds need not be finite numbers any more.
        first = first_horizon(lambda T: T > 2**64 or self._enough(T), self.horizon)
        return "more than 2^64 rounds" if first is None or first > 2**64 else at_least(first)

    @property
    def tightening_cost(self) -> float:
        r"""How far the best action may move per unit of rho, :math:`\kappa`."""
        c = self.constants
        costs = []
        if c.sigma is not None and c.epsilon is not None and self.rho <= c.epsilon:
            costs.append(1 / c.sigma)
        if c.start_slack is not None and self.rho <= c.start_slack:
            costs.append(c.reach / c.start_slack)
        if not costs:
            raise InvalidValueError(
                f"{self.name} needs sigma with epsilon >= {self.rho:.3g}, or a start_slack of at "
                f"least {self.rho:.3g}, to say what tightening costs, got {c}"
            )
        return min(costs)

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`A_t + G_f\rho\kappa t`."""
        each = self._G_f * self.rho * self.tightening_cost
        return self.base.regret_bound(t) + each * as_floats(t)

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return the base's, less rho per round; the sum of g is then at most 0 at the horizon."""
        bounds = self.base.bounds(t)
        measure, total = _bound_sum(self.base, t)
        bounds[measure] = total
        for part in {"rows", measure} & bounds.keys():
            bounds[part] = np.maximum(bounds[part] - self.rho * as_floats(t), 0.0)
        if "round" in bounds:
            bounds["round"] = bounds["round"] - self.rho
        return bounds

    @property
    def regret_exponent(self) -> float | None:
        """The larger of the base's two exponents; tightening costs as much as the sum of g."""
        regret, violation = self.base.regret_exponent, self.base.violation_exponent or 0.0
        if self.base.kind == "sum_squared":
            violation = (1 + violation) / 2  # Cauchy-Schwarz, see _bound_sum
        return None if regret is None else max(regret, violation)

    @property
    def premises(self) -> tuple[Premise, ...]:
        r"""The base's premises, for g instead of :math:`g + \rho`."""
        return tuple(
            replace(p, limit=p.limit + self.rho)
            if p.quantity == "start"
            else replace(p, level=p.level + self.rho)
            if p.quantity == "subgradient near the boundary"
            else p
            for p in self.base.premises
        )


def _bound_sum(base: Guarantee, t: Number) -> tuple[Measure, Array]:
    r"""Return the smallest bound on the sum of g that a guarantee gives, or on each row's sum.

    A sum of g is at most that of :math:`[g]_+`, which is at most
    :math:`\sqrt{t\sum[g]_+^2}`.
    """
    promised = base.bounds(t)
    sums = [promised[m] for m in ("positive_sum", "sum_positive") if m in promised]
    if "sum_squared" in promised:
        sums.append(np.sqrt(as_floats(t) * promised["sum_squared"]))
    if sums:
        return "positive_sum", np.min(sums, axis=0)
    if "rows" in promised:
        return "rows", promised["rows"]
    raise InvalidValueError(f"base must bound a sum of g over the rounds, got {base}")
