"""A filter that takes any proposal to the nearest action that is certainly feasible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from surefoot.algorithms._allowing import AllowingForKnown, errors_in
from surefoot.core import checks
from surefoot.core.arrays import number_like, owned, record, to_numpy
from surefoot.core.constants import Constants, as_constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Certificate, Feedback, Number, Region
from surefoot.regions import CertifiedRegion, Knowledge, LipschitzHull
from surefoot.regions.aging import aged
from surefoot.sets import Ball

__all__ = ["RegionFilter", "RegionFilterState", "RegionStep"]


class RegionFilterState(NamedTuple):
    """What the next proposal is judged by.

    Attributes:
        x: the action to play.
        rounds: how many rounds have been played.
        memory: what the region is made of.
    """

    x: Array
    rounds: Number
    memory: Any


class RegionStep(NamedTuple):
    """What a step of one run knew.

    Attributes:
        x: the next action.
        proposal: what was wanted.
        region: what it was taken from.
        rounds: how many rounds have been played.
    """

    x: Array
    proposal: Array
    region: CertifiedRegion
    rounds: Number

    @property
    def cut(self) -> bool:
        """Whether the next action differs from the proposed one."""
        return bool((to_numpy(self.x) != to_numpy(self.proposal)).any())

    @property
    def certificate(self) -> Certificate:
        """Why the next action is feasible."""
        found = self.region.certificate(self.x, int(self.rounds))
        # A certificate is a named tuple; it says whether the proposal was changed.
        changed: Certificate = found._replace(cut=self.cut) if "cut" in found._fields else found
        return changed

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What is impossible if the constants are right; one sentence each."""
        return self.region.contradictions


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionFilter(AllowingForKnown):
    r"""Takes any proposal to the nearest point that is certainly feasible.

    .. math:: x_{t+1} = \text{the point of the certified region nearest to the proposal } z_t

    What is known about g is one object of :mod:`surefoot.regions`: a bound on the subgradients
    (:class:`~surefoot.regions.LipschitzHull`), on the curvature, or rows apart. Feasibility never
    depends on the proposal. There is no regret bound; that is the proposer's affair.

    It has nothing to tune, and moves slowly along a face: an action on the boundary has no ball of
    its own, and gets ahead by way of the inside. :class:`~surefoot.algorithms.SafetyFilter`, which
    keeps a margin rho, is quicker there if rho is chosen well.

    Args:
        known: what is known about g, with the errors and drift to allow for.

    Example:
        >>> import numpy as np
        >>> safe = RegionFilter(known=LipschitzHull(G_g=1.0, reach=1.0))
        >>> state = safe.init(np.array([0.0, 0.0]))  # g(x) = x[1] - 0.5
        >>> state, info = safe.admit(state, np.array([0.0, 9.0]), -0.5, np.array([0.0, 1.0]))
        >>> state.x.round(6), info.cut
        (array([0. , 0.5]), True)
    """

    constructors: ClassVar[tuple[str, ...]] = ("default",)

    known: Knowledge[Any]

    def __post_init__(self) -> None:
        for name in ("init", "see"):
            if not callable(getattr(self.known, name, None)):
                raise InvalidValueError(
                    f"known must be an object of surefoot.regions, got {self.known!r}"
                )

    def init(self, x1: Array) -> RegionFilterState:
        """Start at x1; its slack comes with the first round."""
        x1 = checks.action(x1)
        return RegionFilterState(x1, number_like(x1, 0.0), self.known.init(x1))

    def moved(self, state: RegionFilterState, x: Array, missed: int = 0) -> RegionFilterState:
        """Return the state that starts from another action: its region is that of what is seen.

        Args:
            state: the last one.
            x: the action that was, or will be, played instead of its own.
            missed: how many rounds have passed without a measurement.
        """
        if not state.rounds:
            return self.init(x)
        memory = aged(self.known, state.memory, missed)
        return RegionFilterState(x, state.rounds + missed, memory)

    def admit(
        self,
        state: RegionFilterState,
        proposal: Array,
        g: Number,
        s: Array | None,
        value_error: Number | None = None,
        within: Region | None = None,
    ) -> tuple[RegionFilterState, RegionStep]:
        """Return the state whose ``x`` may be played, and what the step there knew.

        Args:
            state: the last one.
            proposal: the next action that somebody wants.
            g: the constraint's value at the last action; one per row where rows are apart.
            s: one subgradient there; one per row where rows are apart. A ``LipschitzHull`` needs
                none, and takes None.
            value_error: a bound on the error of g in this round, instead of that of ``known``.
            within: a set that was announced for the next round, which holds the next action.
        """
        x, rounds, seen = state
        checks.like_action(proposal, x, "proposal")
        if s is None and isinstance(self.known, LipschitzHull):
            g = checks.constraint_value(g, x)
        else:
            apart = getattr(s, "ndim", 0) > x.ndim
            read = checks.feedback_apart if apart else checks.feedback
            _, g, s = read(x, Feedback(proposal, g, s))
        memory, region = self.known.see(seen, x, g, s, value_error)
        if within is not None:
            if not hasattr(region, "within"):
                raise InvalidValueError(
                    "within must come with known = CurvatureRows(...) or Together(...), "
                    f"got known = {type(self.known).__name__}(...)"
                )
            region = region.within(within)
        x, rounds = region.nearest(proposal), rounds + 1.0
        # A proposal inside the region is the caller's own array.
        x = owned(x.copy() if x is proposal else x)
        after, info = (x, rounds, memory), (x, proposal, region, rounds)
        return record(RegionFilterState, after), record(RegionStep, info)

    @classmethod
    def default(cls, constants: Constants, domain: Ball | None = None) -> RegionFilter:
        """Return the filter that G_g, the ball around the feasible set and g's rounding allow."""
        (G_g,) = as_constants(constants).require("G_g", by="the filter")
        ball = Ball(constants.R) if domain is None else domain
        error, reach = constants.evaluation_error, ball.reach_from_origin
        errors: dict[str, Any] = errors_in(constants)
        return cls(known=LipschitzHull(G_g=G_g, reach=reach, evaluation_error=error, **errors))
