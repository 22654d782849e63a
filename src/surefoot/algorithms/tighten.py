"""Tightening for any base algorithm (the paper's Appendix A); with DPP it is DPP-T."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from surefoot.algorithms.scalar_dpp import ScalarDPP
from surefoot.core.algorithm import NOTHING, Algorithm, tuning
from surefoot.core.constants import Constants, as_constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import anything, nonnegative, share
from surefoot.core.player import can_play
from surefoot.core.types import Array, Feedback, Info, Needs, Real, Region, Source, needs_of
from surefoot.theory import Tightened, Tuned, tightened_constants

__all__ = ["Tighten"]


class Tighten(Algorithm):
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
        ScalarDPPState(x=array([0.2 , 0.75]), queue=0.5)

    Reference: Hutchinson and Alizadeh, ICML 2025, Appendix A, corrected; the idea is that of
    Mahdavi, Jin and Yang, JMLR 2012.
    """

    source = Source("Hutchinson and Alizadeh, ICML 2025", "derived here")

    base: Any = anything("an algorithm")
    rho: Real = nonnegative()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not can_play(self.base):
            raise InvalidValueError(
                f"base must be an algorithm with init and update, got {self.base!r}"
            )
        if not self.needs.constraint_values:
            raise InvalidValueError(
                f"base must ask for the value of the constraint, got {self.base!r}, "
                "which would not notice"
            )

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        """The needs of the base algorithm."""
        return needs_of(self.base)

    def init(self, x1: Array) -> Any:
        """Return the base's first state."""
        return self.base.init(x1)

    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Info]:
        """Return the base's state after a round with rho added to g."""
        told = feedback._replace(constraint_value=feedback.constraint_value + self.rho)
        return self.base.update(state, told), NOTHING

    @classmethod
    @tuning(share=share())
    def tuned(
        cls,
        constants: Constants,
        horizon: int,
        domain: Region | None = None,
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
        if not 0 < share < 1:
            raise InvalidValueError(f"share must be strictly between 0 and 1, got {share!r}")
        constants = as_constants(constants)
        known = [v for v in (constants.start_slack, constants.epsilon) if v is not None]
        slack = max([0.0, *known])
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
