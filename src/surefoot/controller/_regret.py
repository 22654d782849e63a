"""Theorem D's regret bound in terms of what was observed, kept up round by round."""

from __future__ import annotations

from typing import NamedTuple

from surefoot._array import norm
from surefoot.algorithms import CertifiedPFS, CertifiedState
from surefoot.types import Feedback

__all__ = ["ObservedRegret"]


class ObservedRegret(NamedTuple):
    r"""The sums of :func:`surefoot.theory.observed_regret_bound`, over the rounds so far.

    A round without room, in which nothing moved, is not in the theorem. Leaving it out leaves the
    proof for the others as it is, with :math:`\rho_t - \rho_{t+1}` taken between neighbours that
    are left, and it costs at most :math:`\|\nabla_t\|` times the diameter :math:`2R` itself.

    Attributes:
        steps: :math:`\sum_t \eta_t\|\nabla_t\|^2`.
        tightened: :math:`\sum_t \rho_t\|\nabla_t\|`.
        falls: :math:`\sum_t (\rho_t - \rho_{t+1})/\eta_t`.
        moved: :math:`\sum_t (\|y_t-p_t\|^2 + \|p_t-x_{t+1}\|^2)/\eta_t`, or less.
        stayed: :math:`\sum \|\nabla_t\|` over the rounds without room.
        rho: the last :math:`\rho_t` but for those.
        inverse_eta: the last :math:`1/\eta_t`; 0 before the first gradient.
    """

    steps: float = 0.0
    tightened: float = 0.0
    falls: float = 0.0
    moved: float = 0.0
    stayed: float = 0.0
    rho: float = 0.0
    inverse_eta: float = 0.0

    def after(
        self,
        player: CertifiedPFS,
        before: CertifiedState,
        seen: Feedback,
        after: CertifiedState,
    ) -> ObservedRegret:
        """The sums with one round more."""
        x, new = before.x, after.x
        size = norm(seen.cost_gradient)
        if new is x:  # no room: only then is the action the very same object
            return self._replace(stayed=self.stayed + size)
        rho = player.tightening(after.rounds, after.start_slack)
        inverse = after.inverse_eta if size > 0 or self.inverse_eta > 0 else 0.0
        falls = self.falls + (self.rho - rho) * self.inverse_eta
        if not inverse > 0:
            return self._replace(falls=falls, rho=rho)
        left = x - seen.cost_gradient / inverse - new
        moved = float(left.dot(left))
        z = new if player.domain.centre is None else new - player.domain.centre
        if z.dot(z) > ((1 - 1e-9) * player.domain.radius) ** 2:
            # The ball may have moved it too: |y-p|^2 + |p-x|^2 is at least half of |y-x|^2.
            moved *= 0.5
        return ObservedRegret(
            self.steps + size * size / inverse,
            self.tightened + rho * size,
            falls,
            self.moved + moved * inverse,
            self.stayed,
            rho,
            inverse,
        )

    def bound(self, player: CertifiedPFS, state: CertifiedState) -> float:
        """No regret of the rounds so far is larger."""
        if not (self.inverse_eta > 0 or self.stayed > 0):
            return 0.0
        R = float(player.domain.radius)
        per_slack = player.domain.reach(state.start) / state.start_slack
        return float(
            2 * R**2 * self.inverse_eta
            + 0.5 * self.steps
            + per_slack * self.tightened
            + 2 * R * per_slack * self.falls
            - 0.5 * self.moved
            + 2 * R * self.stayed
        )
