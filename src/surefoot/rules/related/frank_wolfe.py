"""Online Frank-Wolfe: one linear minimisation per round, and its regret in two forms."""

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Self

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import COSTS_ONLY, CostsOnly, tuning
from surefoot.core.arrays import minimum, number_like, sqrt, where
from surefoot.core.constants import Constants
from surefoot.core.forms import Counts
from surefoot.core.parameters import Declared, flag, minimising, positive
from surefoot.core.points import snap_inside
from surefoot.core.types import Array, Needs, Number, Real, Set, Source
from surefoot.guarantees.bounds import as_floats
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.inside import OnBounded

__all__ = ["FrankWolfe", "FrankWolfeTheorem"]


class FrankWolfeState(NamedTuple):
    """The action to play, the first one, the sum of the gradients and the number of rounds."""

    x: Array
    start: Array
    gradients: Array
    rounds: Counts


class FrankWolfe(Declared, CostsOnly):
    r"""Online Frank-Wolfe (conditional gradients).

    .. math::
        c_t     &= \eta \sum_{s \le t} \nabla f_s(x_s) + \omega(x_t - x_1) \\
        v_t     &= \arg\min_{v \in X} \langle c_t, v \rangle \\
        x_{t+1} &= (1 - \sigma_t) x_t + \sigma_t v_t

    The action is a convex combination of points of X, hence in X up to rounding, which is
    corrected. The textbook has :math:`\omega = 2` and :math:`\sigma_t = \min(1, 2/\sqrt t)`; the
    tuned form :math:`\omega = 1` and a fixed step.

    Args:
        eta: weight of the gradients, :math:`\eta > 0`.
        domain: the feasible set :math:`X`, which must minimise linear functions.
        step_size: :math:`\sigma`, if it is fixed; the textbook's form otherwise.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.sets import Box
        >>> player = FrankWolfe(eta=0.1, domain=Box([-1.0, -0.5], [1.0, 0.5]), step_size=0.25)
        >>> state = player.init(np.array([0.2, 0.0]))
        >>> player.update(state, Feedback(np.array([-1.0, 3.0]), None, None)).x
        array([ 0.4  , -0.125])

    Reference: Hazan and Kale, "Projection-free online learning", ICML 2012; the textbook's form is
    as recalled. The tuned form is that of Weibel, Gaillard, Koolen and Taylor, 2025, as found in
    the examples of PEPit.
    """

    state = FrankWolfeState
    needs: ClassVar[Needs] = COSTS_ONLY._replace(linear_minimisations=1)
    source: ClassVar[Source] = Source("Hazan and Kale, ICML 2012", "from memory")
    sources: ClassVar[Mapping[str, Source]] = {
        "tuned": Source("Weibel, Gaillard, Koolen and Taylor, 2025", "from memory")
    }

    eta: Real = positive()
    domain: Set = minimising()
    step_size: Real | None = positive(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step_size is not None:
            checks.at_most(1.0, "a whole step", step_size=self.step_size)

    def first_state(self, x1: Array) -> FrankWolfeState:
        return FrankWolfeState(x1, x1, 0.0 * x1, number_like(x1, 0.0))

    def next_state(self, state: FrankWolfeState, grad: Array) -> FrankWolfeState:
        x, start, gradients, played = state
        t = played + 1.0
        gradients = gradients + grad
        pull, step = 1.0, self.step_size
        if step is None:
            pull, step = 2.0, minimum(number_like(x, 1.0), 2.0 / sqrt(t))
        v = self.domain.minimize_linear(self.eta * gradients + pull * (x - start))
        mixed = where(step < 1.0, x + step * (v - x), v)
        return FrankWolfeState(snap_inside(self.domain, mixed), start, gradients, t)

    @classmethod
    @tuning(lambda: FrankWolfeTheorem)
    def tuned(cls, constants: Constants, horizon: int, domain: Set | None = None) -> Tuned[Self]:
        """Never infeasible with one linear minimisation a round; the tuned step."""
        return Tuned.of(
            cls,
            FrankWolfeTheorem(
                constants,
                horizon=horizon,
                is_tuned=True,
                **FrankWolfeTheorem.from_set(constants, domain),
            ),
            domain,
        )

    @classmethod
    @tuning(lambda: FrankWolfeTheorem)
    def textbook(cls, constants: Constants, horizon: int, domain: Set | None = None) -> Tuned[Self]:
        """Never infeasible with one linear minimisation a round; the textbook's step."""
        return Tuned.of(
            cls,
            FrankWolfeTheorem(
                constants,
                horizon=horizon,
                is_tuned=False,
                **FrankWolfeTheorem.from_set(constants, domain),
            ),
            domain,
        )


class FrankWolfeTheorem(OnBounded):
    r"""Online Frank-Wolfe, in the form of the textbook or tuned.

    .. math::
        \text{book: } \eta = \frac{D}{2G_fT^{3/4}},\ \sigma_t = \min(1, 2/\sqrt t):
          \quad \mathrm{Reg}_T \le 8DG_fT^{3/4} \\
        \text{tuned: } \eta = \frac{D}{2G_f}\Big(\frac3T\Big)^{3/4},\ \sigma = \min(1, \sqrt{3/T}):
          \quad \mathrm{Reg}_T \le \frac{4}{3^{3/4}}DG_fT^{3/4}

    The first as recalled from Hazan's book, the second from Weibel, Gaillard, Koolen and Taylor
    2025 (as found in the examples of PEPit). The bounds are for t = T, and hold for fewer rounds
    too: with costs of 0 in the others nothing is different but the number of rounds.
    """

    regret_exponent: ClassVar[float] = 0.75

    is_tuned: bool = flag()

    @property
    def name(self) -> str:
        """The source of the form."""
        source = "Weibel et al. 2025), tuned" if self.is_tuned else "Hazan and Kale 2012), textbook"
        return f"Online Frank-Wolfe ({source}"

    @property
    def eta(self) -> float:
        """The weight of the gradients against the distance from the start."""
        scale = self.diameter / (2 * self._G_f)
        power = (3.0 if self.is_tuned else 1.0) / self.horizon
        return scale * float(power**0.75)

    @property
    def step_size(self) -> float | None:
        """The fixed step of the tuned form; None for the textbook's decaying one."""
        return min(1.0, math.sqrt(3.0 / self.horizon)) if self.is_tuned else None

    def regret_bound(self, t: Number) -> Array:
        """Return the bound at the horizon."""
        factor = 4 / 3**0.75 if self.is_tuned else 8.0
        bound = factor * self.diameter * self._G_f * self.horizon**0.75
        return np.full_like(as_floats(t), bound)
