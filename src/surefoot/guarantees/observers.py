r"""Sums over the rounds played, which bound the regret from observations."""

from __future__ import annotations

import math
from operator import add
from typing import Any, NamedTuple

from surefoot.core.arrays import norm
from surefoot.core.points import reach_from
from surefoot.core.types import Info
from surefoot.knowledge.base import Knowledge

__all__ = ["CutCost", "LeaderRegret", "ObservedRegret"]


class ObservedRegret(NamedTuple):
    r"""The sums of Theorem C (i) and Theorem D (i) over the rounds so far, of steps that are cut.

    .. math::
        \mathrm{Reg}_T \le \frac{2R^2}{\eta_T} + \frac12\sum_t\eta_t\|\nabla_t\|^2
        + \sum_t\frac{C_t}{\eta_t} + \frac{D_0}\alpha\Big(\sum_t\rho_t\|\nabla_t\|
        + 2R\sum_t\frac{\rho_t - \rho_{t+1}}{\eta_t}\Big) .

    By curvature there is no tightening :math:`\rho`, and
    :math:`C_t = \frac12\|S_t^\top\mu_t\|^2 - \mu_t^\top(g_t + S_tw_t)` for any
    :math:`\mu_t \ge 0`, with :math:`w_t` the step before the cut, because
    :math:`s_i^\top(x_t-u) \ge g_i(x_t)` for all feasible u; a point that was drawn nearer, by d,
    adds :math:`d(4R+d)/2`. By length :math:`C_t` is below 0,
    :math:`-\frac12(\|y_t-p_t\|^2 + \|p_t-x_{t+1}\|^2)`.

    A round without a certified step, in which nothing moved, is not in the theorems. Leaving it out
    leaves the proofs for the others as they are, with :math:`\rho_t - \rho_{t+1}` taken between
    neighbours that remain, and it costs at most :math:`\|\nabla_t\|` times the diameter
    :math:`2R`.

    Attributes:
        steps: :math:`\sum_t \eta_t\|\nabla_t\|^2`.
        cuts: :math:`\sum_t C_t/\eta_t`.
        tightened: the sum in brackets.
        stayed: :math:`\sum \|\nabla_t\|` over the rounds in which nothing moved.
        rho: :math:`\rho_t` of the last round in which something moved.
        inverse_eta: the last :math:`1/\eta_t`; 0 before the first gradient.
    """

    steps: float = 0.0
    cuts: float = 0.0
    tightened: float = 0.0
    stayed: float = 0.0
    rho: float = 0.0
    inverse_eta: float = 0.0

    @staticmethod
    def theorem_by(knowledge: Knowledge) -> str:
        """Return the statement that bounds the regret by these sums, for a kind of cuts."""
        return "Theorem D (3)" if knowledge.observer_kind == "length" else "Theorem C (1)"

    def after(self, info: Info) -> ObservedRegret | None:
        """Return the sums with one more round, given its details; None without a region."""
        note = info.note
        if note is None:
            return self
        size, inverse, R = float(note.size), float(note.inverse_eta), float(note.radius)
        if not note.moves:
            return self._replace(stayed=self.stayed + size)
        cost = note.cost
        if cost is None:
            if (region := info.region) is None:
                return None
            cost = CutCost(*region.base.price_cut(note.wanted, note.found, info.x, R))
        rho, price = cost
        tightened = self.tightened + 2 * R * (self.rho - rho) * self.inverse_eta
        if not inverse > 0 or not (size > 0 or self.inverse_eta > 0):
            return self._replace(tightened=tightened, rho=rho)
        return ObservedRegret(
            self.steps + size * size / inverse,
            self.cuts + price * inverse,
            tightened + rho * size,
            self.stayed,
            rho,
            max(inverse, self.inverse_eta),
        )

    def bound(self, algorithm: Any, state: Any) -> float:
        """Return an upper bound on the regret of the rounds so far.

        Args:
            algorithm: the rule that was played, whose ball the actions are in.
            state: its state after these rounds.
        """
        R, memory, tightened = float(algorithm.proposer.radius), state.memory, 0.0
        if self.tightened:
            distance = reach_from(algorithm.knowledge.domain, memory.anchor)
            tightened = distance / memory.slack * self.tightened if memory.slack > 0 else math.inf
        first = 2 * R**2 * self.inverse_eta
        return float(first + 0.5 * self.steps + self.cuts + tightened + 2 * R * self.stayed)


class CutCost(NamedTuple):
    r"""What the cut of a step costs in :class:`ObservedRegret`.

    Attributes:
        rho: :math:`\rho_t`; 0 without tightening.
        price: :math:`C_t`.
    """

    rho: float
    price: float


class LeaderRegret(NamedTuple):
    r"""The sums that bound the regret of leaders and follower from observations.

    With :math:`z^k` leader k, :math:`\eta_0 := \eta_1`, and a comparator within D of the start,
    each of these is a bound, and :meth:`bound` returns the smallest:

    * of the leader that adds up all gradients (Theorem F): :math:`\frac{D^2}{2\eta_T} +
      \sum_t\min(\tfrac12\eta_{t-1}\|\nabla_t\|^2, 4D\|\nabla_t\|) +
      \sum_t\nabla_t^\top(x_t-z^0_t)`;
    * of the multipliers :math:`\mu \ge 0` of its cuts :math:`u_i^\top U \le o_i`:
      :math:`\sum_t\nabla_t^\top(x_t-x_1) + \sum_i\mu_io_i + D\|\sum_t\nabla_t + \sum_i\mu_iu_i\|`;
    * of a leader that descends with :math:`c\eta_t`: :math:`\frac{2D^2}{c\eta_T} +
      \sum_t\tfrac c2\eta_t\|\nabla_t\|^2 + \sum_t\nabla_t^\top(x_t-z^k_t)`; and for H-strongly
      convex costs with :math:`\eta_t = 2/(Ht)` the same with
      :math:`\tfrac H2\sum_t\|x_t-z_t\|^2` for the first term.

    Attributes:
        multiples: the c of each leader; 0 for the one that adds up all gradients.
        paid: :math:`\sum_t\nabla_t^\top(x_t-x_1)`.
        lags: :math:`\sum_t\nabla_t^\top(x_t-z^k_t)` of each leader.
        apart: :math:`\sum_t\|x_t-z^0_t\|^2`.
        lazy_steps: :math:`\sum_t\min(\tfrac12\eta_{t-1}\|\nabla_t\|^2, 4D\|\nabla_t\|)`.
        steps: :math:`\sum_t\tfrac12\eta_t\|\nabla_t\|^2`.
    """

    multiples: tuple[float, ...]
    paid: float
    lags: tuple[float, ...]
    separately: float
    lazy_steps: float
    steps: float

    @property
    def theorem(self) -> str:
        """The statement that bounds the regret by these sums."""
        return "Theorem F"

    @classmethod
    def first(cls, multiples: tuple[float, ...]) -> LeaderRegret:
        """Return the sums before the first round."""
        return cls(multiples, 0.0, (0.0,) * len(multiples), 0.0, 0.0, 0.0)

    def after(self, info: Info) -> LeaderRegret:
        """Return the sums with one more round.

        Args:
            info: what the step of leader and follower knew.
        """
        multiples, paid, lags, separately, lazy_steps, steps = self
        size, more, behind, product, before, scale, reach = info.note
        if size > 0 and scale > 0:
            first = 0.5 * size * size / (before if before > 0 else scale)
            lazy_steps += min(first, 4 * reach * size)
            steps += 0.5 * size * size / scale
        elif size > 0:
            # Squares so small are 0 and no leader moves. Comparator and leader are at most 3D
            # apart, so the round adds at most this to any bound; the least multiple is 1/4.
            lazy_steps += 4 * reach * size
            steps += 16 * reach * size
        lags = tuple(map(add, lags, more))
        separately += behind * behind
        return LeaderRegret(multiples, paid + product, lags, separately, lazy_steps, steps)

    def bound(self, algorithm: Any, state: Any) -> float:
        """Return the smallest of the bounds that the leaders have.

        Args:
            algorithm: the leaders and follower.
            state: its state after the rounds of the sums.
        """
        leader, learnt = algorithm.proposer, state.learner
        D, scale = float(learnt.reach), float(learnt.inverse_eta)
        if leader.strong_convexity is not None:
            first = 0.5 * float(leader.strong_convexity) * self.separately
            return self.steps + self.lags[0] + first
        # The multipliers of the state are eta times those of the dual.
        mu = learnt.cuts.pulls[0] * scale
        distance = float(norm(learnt.gradients + mu @ learnt.cuts.normals))
        bounds = [self.paid + float(mu @ learnt.cuts.offsets) + D * distance]
        for multiple, lag in zip(self.multiples, self.lags, strict=True):
            steps = multiple * self.steps if multiple else self.lazy_steps
            first = (2.0 / multiple if multiple else 0.5) * D * D * scale
            bounds.append(first + steps + lag)
        return min(bounds)
