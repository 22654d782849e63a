"""What rules with a certified region of bounded curvature have in common."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

from surefoot.algorithms._allowing import AllowingForKnown, errors_in
from surefoot.algorithms._following import Remembering
from surefoot.core import checks
from surefoot.core.arrays import dot, to_numpy
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Feedback, Needs, Number, Region
from surefoot.regions import (
    Curvature,
    CurvatureCertificate,
    CurvatureRows,
    HullOfBallsCertificate,
    RowsRegion,
)
from surefoot.sets import Ball

__all__ = [
    "Curved",
    "CurvedStep",
    "curvature_of",
    "finite_square",
]

S = TypeVar("S")


class Curved(AllowingForKnown, Remembering[S]):
    """A rule that knows bounds on the curvature, and the radius of a ball around the set."""

    __slots__ = ()
    known: Curvature | CurvatureRows
    radius: Number

    def _check_known(self) -> None:
        if not isinstance(self.known, (Curvature, CurvatureRows)):
            raise InvalidValueError(
                f"known must be a Curvature or CurvatureRows, got {self.known!r}"
            )
        checks.positive(radius=self.radius)
        checks.plain(self, "radius")

    @property
    def needs(self) -> Needs:
        """One value and slope per round, or those of all rows separately."""
        return Needs(apart=True, work="m d") if self._is_apart else Needs()

    @property
    def _is_apart(self) -> bool:
        return isinstance(self.known, CurvatureRows) and self.known.rows > 1

    def _known(self) -> Curvature | CurvatureRows:
        return self.known

    def _see(
        self, x: Array, seen: Any, feedback: Feedback, within: Region | None
    ) -> tuple[Array, Any, Any]:
        """Return the cost gradient, the memory with the round, and the region for the next action.

        Args:
            x: the action played.
            seen: the memory before.
            feedback: of the round.
            within: a set that was announced for the next round, which holds the next action.
        """
        check = checks.feedback_apart if self._is_apart else checks.feedback
        grad, g, s = check(x, feedback)
        after, region = self.known.see(seen, x, g, s, feedback[4])
        if within is not None:
            if not isinstance(region, RowsRegion):
                raise InvalidValueError(
                    "within must come with known = CurvatureRows(...), got known = Curvature(...)"
                )
            region = region.within(within)
        return grad, after, region


class CurvedStep:
    """A step with the fields region, rounds, wanted and found."""

    __slots__ = ()

    @property
    def cut(self: Any) -> bool:
        """Whether the region changed the proposed action."""
        return self.found.point is not self.wanted

    @property
    def certificate(self: Any) -> CurvatureCertificate | HullOfBallsCertificate:
        """Why the next action is feasible."""
        found = self.region.certificate(self.found.point, int(self.rounds) + 1)
        changed: CurvatureCertificate | HullOfBallsCertificate = found._replace(cut=self.cut)
        return changed

    @property
    def contradictions(self: Any) -> tuple[str, ...]:
        """What is impossible if the curvature is right; one sentence each."""
        found: tuple[str, ...] = self.region.contradictions
        return found


def curvature_of(
    constants: Constants, domain: Region | None = None, *, exact: bool = False
) -> Curvature | CurvatureRows:
    """Return what constants say of the curvature, with a known set if the domain is no ball."""
    R, beta = constants.require("R", "beta", by="a region certified by curvature")
    rows = int(constants.rows or 1)
    ball = domain is None or isinstance(domain, Ball)
    reach = R if domain is None else float(getattr(domain, "reach_from_origin", R))
    shared: dict[str, Any] = errors_in(constants)
    shared |= {"beta": beta, "reach": reach, "evaluation_error": constants.evaluation_error}
    if rows == 1 and ball:
        return Curvature(**shared)
    return CurvatureRows(rows=rows, domain=None if ball else domain, exact=exact, **shared)


def finite_square(grad: Array) -> Number:
    """Return the squared norm of a cost gradient; one run refuses one that is not finite."""
    with np.errstate(over="ignore"):
        squared = dot(grad, grad)
    if type(squared) is float and not squared < math.inf:
        checks.refuse_unfinite(to_numpy(grad), "cost_gradient")
        raise InvalidValueError(f"cost_gradient must have a finite square, got {grad!r}")
    return squared
