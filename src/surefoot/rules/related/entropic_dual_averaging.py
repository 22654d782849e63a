"""Dual averaging with the entropy on a simplex: exponentiated gradients, and their regret."""

import math
from typing import Any, ClassVar, NamedTuple, Self

from surefoot.core.algorithm import CostsOnly, tuning
from surefoot.core.arrays import exp, namespace
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, anything, count, positive
from surefoot.core.points import clean
from surefoot.core.types import Array, Needs, Number, Real, Source
from surefoot.guarantees.bounds import as_floats
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.inside import ForHorizon
from surefoot.sets import Simplex

__all__ = ["EntropicDualAveraging", "EntropicTheorem"]


class EntropicState(NamedTuple):
    """The action to play, and the sum of the gradients."""

    x: Array
    gradients: Array


class EntropicDualAveraging(Declared, CostsOnly):
    r"""Dual averaging with the entropy on a simplex: exponentiated gradients.

    .. math:: x_{t+1,i} \propto \exp\Big(-\eta \sum_{s \le t} \nabla_i f_s(x_s)\Big),
              \qquad \sum_i x_{t+1,i} = s

    The centre of the simplex is where no gradient would lead; the first action may be another.

    Args:
        eta: step size, :math:`\eta > 0`.
        domain: the simplex.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> player = EntropicDualAveraging(eta=1.0, domain=Simplex(2))
        >>> state = player.init(np.array([0.5, 0.5]))
        >>> player.update(state, Feedback(np.array([0.0, np.log(3.0)]), None, None)).x
        array([0.75, 0.25])

    Reference: Kivinen and Warmuth, Information and Computation 1997.
    """

    state = EntropicState
    needs: ClassVar[Needs] = Needs(constraint_values=0, constraint_subgradients=0, domain="simplex")
    source: ClassVar[Source] = Source(
        "Kivinen and Warmuth, Information and Computation 1997", "as published"
    )

    eta: Real = positive()
    domain: Simplex = anything("a Simplex that is not filled")

    def __post_init__(self) -> None:
        super().__post_init__()
        domain: Any = self.domain
        if not isinstance(domain, Simplex) or domain.filled:
            raise InvalidValueError(f"domain must be a Simplex that is not filled, got {domain!r}")

    def first_state(self, x1: Array) -> EntropicState:
        return EntropicState(x1, 0.0 * x1)

    def next_state(self, state: EntropicState, grad: Array) -> EntropicState:
        gradients = state.gradients + grad
        gradients = clean(gradients, self.domain.dimension, "the sum of the gradients")
        xp = namespace(gradients)
        # The largest weight is made 1: a common factor that the total takes out again.
        best = xp.min(gradients, axis=-1, keepdims=True)
        weights = exp(-self.eta * (gradients - best))
        total = xp.sum(weights, axis=-1, keepdims=True)
        return EntropicState(self.domain.total * (weights / total), gradients)

    @classmethod
    @tuning(lambda: EntropicTheorem)
    def fixed(
        cls, constants: Constants, horizon: int, domain: Simplex | None = None
    ) -> Tuned[Self]:
        """Regret of order sqrt(T log d) on a simplex, for a given horizon."""
        return Tuned.of(
            cls,
            EntropicTheorem(
                constants, horizon=horizon, **EntropicTheorem.from_set(constants, domain)
            ),
            domain,
        )


class EntropicTheorem(ForHorizon):
    r"""Exponentiated gradients on a simplex of total s.

    .. math:: \mathrm{Reg}_t \le \frac{s\ln d}{\eta} + \frac{\eta s}{2} G_\infty^2 t
              + 2s\Big(1 - \frac1d\Big)G_\infty,
              \qquad \eta = \frac{1}{G_\infty}\sqrt{\frac{2\ln d}{T}}

    with :math:`G_\infty` the largest entry of a gradient, at most G_f. Proof: dual averaging with
    the entropy, which is 1/s-strongly convex in the 1-norm on the simplex and has range
    :math:`s\ln d` from its centre c. Had the first action been c, the last term would not be
    there; it is :math:`\langle\nabla_1, x_1 - c\rangle`, at most :math:`G_\infty` times
    :math:`\|x_1 - c\|_1`, which is largest at a corner.
    """

    name: ClassVar[str] = "Entropic dual averaging"
    regret_exponent: ClassVar[float] = 0.5

    dimension: int = count(2)
    total: float = positive()

    @classmethod
    def from_set(cls, constants: Constants, domain: object) -> dict[str, Any]:
        """Return the dimension and the total of a simplex."""
        if not isinstance(domain, Simplex):
            raise InvalidValueError(f"domain must be a Simplex, got a {type(domain).__name__}")
        return {"dimension": domain.dimension, "total": float(domain.total)}

    @property
    def eta(self) -> float:
        r"""The step size :math:`\sqrt{2\ln d/T}/G_\infty`."""
        return math.sqrt(2 * math.log(self.dimension) / self.horizon) / self._G_f

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`s\ln d/\eta + (\eta s/2)G_\infty^2 t + 2s(1 - 1/d)G_\infty`."""
        t, s, G = as_floats(t), self.total, self._G_f
        first = s * math.log(self.dimension) / self.eta + 2 * s * (1 - 1 / self.dimension) * G
        return first + self.eta * s / 2 * G**2 * t
