r"""How wrong readings may be, and how fast g changes: one record, owned by the knowledge of g.

With :math:`|\hat g - g| \le \nu`, :math:`\|\hat s - s\| \le \tau` for some subgradient s, and
:math:`|g_{t+1}(p) - g_t(p)| \le v` for every p, what was read in round i at x says

.. math:: \hat g - \nu \le g_i(x) \le \hat g + \nu, \qquad g_{i+k}(x) \le \hat g + \nu + kv .

A region uses the upper bound to certify, and the lower one to find contradictions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.core.feedback import Feedback
from surefoot.core.parameters import Declared, nonnegative
from surefoot.core.types import Array, Number, Set

__all__ = [
    "CertificateError",
    "EmptyRegionError",
    "Errors",
    "describe_errors",
    "is_zero",
    "list_causes",
]


class Errors(Declared):
    """Bounds on the errors of readings and on the drift of g; 0 means exact, and fixed.

    Args:
        value: of a value of g that was read.
        slope: of a subgradient that was read; infinite if subgradients only steer proposers.
        drift: of g itself, at any point, from one round to the next.
        evaluation: of the computation of g, where that is larger than the rounding of a linear one
            (``constraint.evaluation_error(ball)``).

    Example:
        >>> Errors(value=0.05).every(3)
        Errors(value=0.05, slope=0.0, drift=0.0, evaluation=0.0)
        >>> Errors(drift=0.01).every(3).drift
        0.03
    """

    value: Number = nonnegative(default=0.0)
    slope: Number = nonnegative(default=0.0, infinite=True)
    drift: Number = nonnegative(default=0.0)
    evaluation: Number = nonnegative(default=0.0)

    @classmethod
    def of(cls, constants: Constants) -> Errors:
        """Return the errors and the drift of constants."""
        return cls(
            value=constants.value_error or 0.0,
            slope=constants.slope_error or 0.0,
            drift=constants.drift or 0.0,
            evaluation=constants.evaluation_error or 0.0,
        )

    @classmethod
    def largest_of(cls, many: Sequence[Errors]) -> Errors:
        """Return the largest of each bound."""
        each = [vars(errors) for errors in many]
        return cls(**{name: max(bounds[name] for bounds in each) for name in each[0]})

    @property
    def is_exact(self) -> bool:
        """Whether the readings in use are exact, up to rounding, and g is fixed."""
        exact_slope = is_zero(self.slope) or (
            isinstance(self.slope, float) and self.slope == math.inf  # it does not count
        )
        return is_zero(self.value) and exact_slope and not self.drifts

    @property
    def drifts(self) -> bool:
        """Whether g may change from round to round."""
        return not is_zero(self.drift)

    def of_round(self, feedback: Feedback) -> Errors:
        """Return the errors of a round, which may report its own bounds."""
        changes = {"value": feedback.value_error, "slope": feedback.slope_error}
        bounds = {name: bound for name, bound in changes.items() if bound is not None}
        for name, bound in bounds.items():
            if isinstance(bound, (float, int)) and not 0 <= bound < math.inf:
                raise InvalidValueError(f"{name}_error must be a finite number >= 0, got {bound!r}")
        return replace(self, **bounds) if bounds else self

    def every(self, rounds: int) -> Errors:
        """Return the errors if so many rounds pass between two readings."""
        return replace(self, drift=rounds * self.drift)

    def __str__(self) -> str:
        steer = "; slopes only steer" if np.ndim(self.slope) == 0 and self.slope == math.inf else ""
        parts = [*self.in_words(), "rounding"] if self.in_words() else ["rounding alone"]
        return f"allows for {', '.join(parts)}{steer}"

    def conditions(self, slopes: bool = True) -> list[str]:
        """Return the assumptions on readings and on g, one phrase each.

        Args:
            slopes: whether readings of subgradients count.

        Example:
            >>> Errors(value=0.05, drift=0.1).conditions(slopes=False)
            ['values err by at most 0.05', 'g drifts by at most 0.1 per round']
        """
        value, slope, drift = (float(np.max(e)) for e in (self.value, self.slope, self.drift))
        read = [f"values err by at most {value:g}"]
        read += [f"slopes err by at most {slope:g}"] if slopes and slope < math.inf else []
        return [*read, f"g drifts by at most {drift:g} per round"]

    def in_words(self) -> list[str]:
        """Return the errors beyond rounding that are allowed for, each in a few words."""
        words = {
            "values off by up to {:g}": self.value,
            "slopes off by up to {:g}": self.slope,
            "a drift of {:g} per round": self.drift,
        }
        return [word.format(float(size)) for word, size in words.items() if 0 < size < math.inf]


def is_zero(bound: Number) -> bool:
    """Return whether a bound is the number 0; False for columns and tracers."""
    return isinstance(bound, (int, float)) and bound == 0


def describe_errors(errors: Errors) -> str:
    """Return the part of a sentence on the errors that a certificate allows for; may be empty.

    Example:
        >>> describe_errors(Errors(value=0.05, drift=1e-4))
        ', for values off by up to 0.05 and a drift of 0.0001 per round'
    """
    parts = errors.in_words()
    return f", for {' and '.join(parts)}" if parts else ""


def list_causes(errors: Errors, constant: str, *, convex: bool = True) -> str:
    """Return likely causes of a contradiction, most likely first.

    Args:
        errors: the errors that were allowed for.
        constant: the phrase on the constant of the certificate.
        convex: whether g must be convex.

    Example:
        >>> list_causes(Errors(), "G_g = 1 is too small")
        'G_g = 1 is too small, a reading errs by more than 0, g is not convex, or it changed'
    """
    value, drift = float(errors.value), float(errors.drift)
    change = f"changes by more than {drift:g} per round" if drift > 0 else "changed"
    shape = "g is not convex, or it " if convex else "or g "
    return f"{constant}, a reading errs by more than {value:g}, {shape}{change}"


class CertificateError(SurefootError, ValueError):
    """A region returned an action that it does not certify: its class has a defect.

    Attributes:
        region: the region.
        point: the action, which is not played.
    """

    region: Any
    point: Array

    def __init__(self, region: Any, point: Array, is_inside: bool) -> None:
        fault = "that it does not certify" if is_inside else "that is outside of the domain"
        super().__init__(
            f"{type(region).__name__} returned an action {fault}: "
            f"{np.array2string(point, separator=', ')} is not played"
        )
        self.region, self.point = region, point


class EmptyRegionError(SurefootError, ValueError):
    """No certified action was found: none in the announced sets, or none at all under drift.

    Attributes:
        point: the certified action nearest to the sets; under drift the one with the smallest
            bound on g, which is above 0.
    """

    def __init__(self, sentence: str, point: Array) -> None:
        super().__init__(sentence)
        self.point = point

    @classmethod
    def of_set(cls, domain: Set, point: Array, distance: float) -> EmptyRegionError:
        """Return the error for a set without a certified action."""
        return cls(
            f"no certified action is in {domain!r}: the nearest certified one is "
            f"{np.array2string(point, separator=', ')}, {distance:.3g} away",
            point,
        )

    @classmethod
    def of_drift(cls, t: Number, point: Array, bound: Number, drift: Number) -> EmptyRegionError:
        """Return the error for a round after which no action is certified.

        Without drift the remaining slack is within the margin for rounding.
        """
        why = f"with a drift of {float(drift):g} per round " if drift else ""
        return cls._of_bound(t, point, bound, why)

    @classmethod
    def of_context(cls, t: Number, point: Array, bound: Number) -> EmptyRegionError:
        """Return the error for a context in which no action is certified."""
        return cls._of_bound(t, point, bound, "in the next context ")

    @classmethod
    def _of_bound(cls, t: Number, point: Array, bound: Number, why: str) -> EmptyRegionError:
        bound = float(np.max(bound))  # of several rows
        after = "" if bound > 0 else ", which is within rounding"
        return cls(
            f"round {int(t)}: no next action is certified: {why}the smallest bound on g is "
            f"{bound:.3g}, at {np.array2string(point, separator=', ')}{after}",
            point,
        )
