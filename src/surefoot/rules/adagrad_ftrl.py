"""AdaGrad per coordinate on a box, in the form of a regularised leader; and its regret."""

import math
from typing import Annotated, ClassVar, NamedTuple, Self

import numpy as np

from surefoot.core.algorithm import COSTS_ONLY, CostsOnly, tuning
from surefoot.core.arrays import number_like, sqrt, where
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.forms import Span
from surefoot.core.parameters import Declared, instance_of, positive
from surefoot.core.types import Array, Needs, Number, Real, Source
from surefoot.guarantees.bounds import as_floats
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.inside import Anytime
from surefoot.sets import Box

__all__ = ["AdaGradFTRL", "AddedUp", "DiagonalAdaGrad"]


class AdaGradFTRLState(NamedTuple):
    """The action to play, the first one, the sums of the gradients and of their squares."""

    x: Array
    start: Array
    gradients: Array
    squares: Annotated[Array, Span(0)]


class AdaGradFTRL(Declared, CostsOnly):
    r"""Follow the regularised leader with a step for each coordinate: AdaGrad on a box.

    .. math::
        S_{t,i} &= S_{t-1,i} + \nabla_i f_t(x_t)^2 \\
        x_{t+1,i} &= \Pi_{[l_i, u_i]}\Big(x_{1,i}
            - \frac{\eta}{\sqrt{S_{t,i}}}\sum_{s \le t}\nabla_i f_s(x_s)\Big)

    A coordinate without a nonzero gradient does not move. The objective over a box is a sum over
    coordinates, so clipping minimises it; on other sets it would not.

    Args:
        eta: :math:`\eta > 0`, a length.
        domain: the box :math:`[l, u]`. For a leader with a follower take a wide box: the cuts of
            the follower contain the leader, and clipping hides information from them.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> player = AdaGradFTRL(eta=1.0, domain=Box([-1.0, -2.0], [1.0, 2.0]))
        >>> state = player.init(np.array([0.5, 0.0]))
        >>> state = player.update(state, Feedback(np.array([3.0, 0.0])))
        >>> state.x
        array([-0.5,  0. ])
        >>> player.update(state, Feedback(np.array([-4.0, 0.1]))).x
        array([ 0.7, -1. ])

    Reference: McMahan and Streeter, COLT 2010; Duchi, Hazan and Singer, JMLR 2011.
    """

    state = AdaGradFTRLState
    needs: ClassVar[Needs] = COSTS_ONLY._replace(projections=1)
    source: ClassVar[Source] = Source("Duchi, Hazan and Singer, JMLR 2011", "derived here")

    eta: Real = positive()
    domain: Box = instance_of(Box)

    def first_state(self, x1: Array) -> AdaGradFTRLState:
        return AdaGradFTRLState(x1, x1, 0.0 * x1, 0.0 * x1)

    def next_state(self, state: AdaGradFTRLState, grad: Array) -> AdaGradFTRLState:
        start, gradients = state.start, state.gradients + grad
        squares = state.squares + grad * grad
        roots = sqrt(where(squares > 0, squares, number_like(start, 1.0)))
        x = self.domain.project(start - self.eta * (gradients / roots))
        return AdaGradFTRLState(x, start, gradients, squares)

    @classmethod
    @tuning()
    def adaptive(cls, constants: Constants, horizon: int | None, domain: Box) -> Tuned[Self]:
        r"""Tune with the longest side over :math:`\sqrt2`; G_f and T enter only the bound."""
        if not isinstance(domain, Box):
            raise InvalidValueError(f"domain must be a Box, got a {type(domain).__name__}")
        longest = float((domain.upper - domain.lower).max())
        theorem = DiagonalAdaGrad(constants, math.sqrt(domain.dimension) * longest)
        return Tuned.of(cls, theorem, domain, eta=longest / math.sqrt(2))


class AddedUp(Anytime):
    r"""Regularised leaders whose step size follows from the gradients so far.

    Both theorems that derive from this class use one lemma. With a regulariser
    :math:`\psi_t(x) = \sqrt{S_t}\,\|x - x_1\|^2/(2cD)`, :math:`S_t = \sum_{s \le t} e_s^2` and a
    set X of diameter D, let :math:`x_t` minimise
    :math:`\langle\theta_{t-1} + m_t, x\rangle + \psi_{t-1}(x)` over X, where :math:`\theta` is the
    sum of the gradients, :math:`m_t` anything that is known by then, 0 while S is 0, and
    :math:`e_t = \|\nabla_t - m_t\|`.

    **Lemma.** For every u in X and :math:`c = 1/\sqrt2`,
    :math:`\sum\langle\nabla_t, x_t - u\rangle \le \frac{3}{\sqrt2}D\sqrt{S_T}`.

    Proof: let :math:`H_t = \min_X\langle\theta_t, x\rangle + \psi_t(x)`; :math:`H_0 = 0` and
    :math:`H_T \le \langle\theta_T, u\rangle + \psi_T(u)`, so that the left-hand side is at most
    :math:`\psi_T(u) + \sum(\langle\nabla_t, x_t\rangle + H_{t-1} - H_t)`. Regularisers only grow,
    and what :math:`x_t` minimises is :math:`\sqrt{S_{t-1}}/(cD)`-strongly convex: with
    :math:`r = \|x - x_t\| \le D`,

    .. math::
        H_t \ge \min_x \langle\theta_{t-1} + m_t, x\rangle + \psi_{t-1}(x)
                + \langle\nabla_t - m_t, x\rangle
            \ge H_{t-1} + \langle\nabla_t, x_t\rangle
                - \max_{0 \le r \le D}\Big(e_tr - \frac{\sqrt{S_{t-1}}}{2cD}r^2\Big),

    where the last term is at most :math:`D\min(e_t, ce_t^2/(2\sqrt{S_{t-1}}))`. That is at most
    :math:`CD(\sqrt{S_t} - \sqrt{S_{t-1}})` with :math:`C = (c + \sqrt{c^2 + 4})/2`: in units of
    :math:`S_{t-1} = 1`, the quotient :math:`\min(e, ce^2/2)(\sqrt{1 + e^2} + 1)/e^2` is largest
    where both are equal, at :math:`e = 2/c`; for :math:`S_{t-1} = 0` it is 1. In all
    :math:`D\sqrt{S_T}(1/(2c) + C)`, and :math:`C = \sqrt2` for :math:`c = 1/\sqrt2`.
    """

    largest: ClassVar[float] = 1.0
    """The largest e, as a multiple of G_f."""

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`\frac{3}{\sqrt2}D\sqrt t` times the largest error of a forecast."""
        e = self.largest * self._G_f
        return 3 / math.sqrt(2) * self.diameter * e * np.sqrt(as_floats(t))


class DiagonalAdaGrad(AddedUp):
    r"""AdaGrad for each coordinate of a box whose longest side is W, :math:`\eta = W/\sqrt2`.

    .. math:: \mathrm{Reg}_t \le \frac{3}{\sqrt2}W\sum_i\sqrt{\textstyle\sum_{s \le t}
              \nabla_{s,i}^2} \le \frac{3}{\sqrt2}W\sqrt d\,G_f\sqrt t

    Proof: :math:`\langle\nabla_s, x_s - u\rangle` is a sum over coordinates, each of which is the
    lemma of :class:`~surefoot.rules.AddedUp` on an interval of length W at most, without
    forecasts. Then Cauchy and Schwarz. The first bound is smaller where a few coordinates have most
    of the gradient. The diameter is that of a cube, :math:`W\sqrt d`.
    """

    name: ClassVar[str] = "AdaGrad per coordinate (Duchi, Hazan and Singer 2011)"
