r"""The guarantees of a leader that learns and a follower that is certified.

Notation: D the largest distance from the start to a point of the ball (``start_reach``),
:math:`\alpha` the start's slack, :math:`\kappa = G_gD/\alpha \ge 1`, L the largest norm of a cost
gradient.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from surefoot.core import checks
from surefoot.core.constants import Constants
from surefoot.core.types import Array
from surefoot.theory._from_start import StrictStart

__all__ = ["LeaderRegret", "TheoremG", "crawl_lower_bound"]


class LeaderRegret(NamedTuple):
    r"""The sums that bound the regret of a run of leader and follower by what was observed.

    Three bounds hold, and :meth:`bound` returns the smallest that the leader has. With z the
    leader, :math:`\eta_0 := \eta_1`, and a comparator within D of the start:

    * lazy (Theorem F): :math:`\frac{D^2}{2\eta_T} +
      \sum_t\min(\tfrac12\eta_{t-1}\|\nabla_t\|^2, 4D\|\nabla_t\|) +
      \sum_t\|\nabla_t\|\|x_t-z_t\|`;
    * lazy, for the multipliers :math:`\mu \ge 0` of the leader's cuts :math:`u_i^\top U \le o_i`:
      :math:`\sum_t\nabla_t^\top(x_t-x_1) + \sum_i\mu_io_i + D\|\sum_t\nabla_t + \sum_i\mu_iu_i\|`;
    * not lazy: :math:`\frac{2D^2}{\eta_T} + \sum_t\tfrac12\eta_t\|\nabla_t\|^2 +
      \sum_t\|\nabla_t\|\|x_t-z_t\|`, and for H-strongly convex costs with
      :math:`\eta_t = 2/(Ht)` the same with :math:`\tfrac H2\sum_t\|x_t-z_t\|^2` for the first term.

    Attributes:
        paid: :math:`\sum_t\nabla_t^\top(x_t-x_1)`.
        lag: :math:`\sum_t\|\nabla_t\|\|x_t-z_t\|`.
        apart: :math:`\sum_t\|x_t-z_t\|^2`.
        lazy_steps: :math:`\sum_t\min(\tfrac12\eta_{t-1}\|\nabla_t\|^2, 4D\|\nabla_t\|)`.
        steps: :math:`\sum_t\tfrac12\eta_t\|\nabla_t\|^2`.
    """

    paid: float = 0.0
    lag: float = 0.0
    apart: float = 0.0
    lazy_steps: float = 0.0
    steps: float = 0.0

    def after(self, info: Any) -> LeaderRegret:
        """Return the sums with one more round.

        Args:
            info: what the step of leader and follower knew.
        """
        paid, lag, apart, lazy_steps, steps = self
        note = info.note
        size, behind, before, scale = note.size, note.behind, note.before, note.scale
        if size > 0:
            first = 0.5 * size * size / (before if before > 0 else scale)
            lazy_steps += min(first, 4 * note.reach * size)
            steps += 0.5 * size * size / scale
        return LeaderRegret(
            paid + note.paid, lag + size * behind, apart + behind * behind, lazy_steps, steps
        )

    def bound(self, algorithm: Any, state: Any) -> float:
        """Return the smallest of the bounds that the leader has.

        Args:
            algorithm: the leader and follower.
            state: its state after the rounds of the sums.
        """
        leader, learnt = algorithm.proposer, state.learner
        D, scale = float(learnt.reach), float(learnt.inverse_eta)
        if leader.strong_convexity is not None:
            return self.steps + self.lag + 0.5 * float(leader.strong_convexity) * self.apart
        if not leader.lazy:
            return 2 * D * D * scale + self.steps + self.lag
        # In the careful mode the newest cut comes before the gradient: the lag is another.
        known = 0.5 * D * D * scale + self.lazy_steps + self.lag
        observed = math.inf if learnt.is_careful else known
        # The multipliers of the state are eta times those of the dual.
        mu = learnt.cuts.weights * scale
        far = float(np.linalg.norm(learnt.gradients + mu @ learnt.cuts.normals))
        return min(observed, self.paid + float(mu @ learnt.cuts.offsets) + D * far)


@final
@dataclass(frozen=True)
class TheoremG(StrictStart):
    r"""Leader and follower: feasible in every round, from G_g and a strictly feasible start alone.

    If G_f is known and given to the rule, there is a regret bound in advance:

    .. math::
        g(x_t) &\le 0 \ \forall t, \\
        \mathrm{Reg}_T &\le 31\kappa^2DG_f\sqrt T + \kappa^2DG_f(\ln T + 22), \qquad
        \kappa = G_gD/\alpha .

    It is a bound for the worst case; what is observed (:class:`LeaderRegret`) is some hundred times
    less. Derived here; the proof is in docs/certified.md. For strongly convex costs only the
    observed bound is known.

    Args:
        constants: needs R, G_g, start_slack; uses start_reach; G_f for the regret bound.
        horizon: the number of rounds, if the step was chosen for one.
        in_advance: whether the rule keeps to the bound; without it nothing better is known in
            advance than that the costs of feasible points differ by at most :math:`2RG_f`.
    """

    name: ClassVar[str] = "Theorem G (leader and follower)"

    constants: Constants
    horizon: int | None = None
    in_advance: bool = True

    def __post_init__(self) -> None:
        self._check_start("R", "G_g")
        if self.horizon is not None:
            checks.horizon(self.horizon)

    @property
    def regret_exponent(self) -> float:
        """One half; 1, as for every feasible rule, if nothing better is known in advance."""
        return 0.5 if self.in_advance else 1.0

    @property
    def kappa(self) -> float:
        r"""The condition number :math:`\kappa = \max(1, G_gD/\alpha)`."""
        G_g, slack = self.constants.require("G_g", "start_slack", by=self.name)
        return max(1.0, G_g * self.constants.reach / slack)

    def regret_bound(self, t: Any) -> Array:
        """Return the bound in advance, at most :math:`2RG_fT`; inf where G_f is not known."""
        T = np.asarray(t, dtype=np.float64)
        R, G_f, D = self.constants.R, self.constants.G_f, self.constants.reach
        if G_f is None:
            return np.full_like(T, math.inf)
        plain = 2 * R * G_f * T  # the costs of two feasible points differ by no more
        if not self.in_advance:
            return plain
        return np.minimum(plain, self.kappa**2 * D * G_f * (31 * np.sqrt(T) + np.log(T) + 22))


def crawl_lower_bound(t: Any, *, G_f: float, D: float, kappa: float) -> Array:
    r"""Return the regret that no safe rule stays below on the instance of Theorem H.

    .. math:: G_fD\kappa\big(1 - (1 - 1/\kappa)^T\big)

    Args:
        t: T, a number of rounds or an array of them.
        G_f: the norm of the cost gradients.
        D: the largest distance from the start to a feasible point.
        kappa: :math:`G_gD/\alpha`, at least 1.

    Example:
        >>> float(crawl_lower_bound(2, G_f=1.0, D=1.0, kappa=2.0))
        1.5
    """
    checks.positive(kappa=kappa)
    T = np.asarray(t, dtype=np.float64)
    return G_f * D * kappa * (1 - (1 - 1 / kappa) ** T)
