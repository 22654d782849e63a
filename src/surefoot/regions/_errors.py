r"""Bounds on what a reading and a slope err by, and on how fast g changes: one text for regions.

With :math:`|\hat g - g| \le \nu`, :math:`\|\hat s - s\| \le \tau` for some subgradient s, and
:math:`|g_{t+1}(p) - g_t(p)| \le v` for every p, what was seen in round i at x says

.. math:: \hat g - \nu \le g_i(x) \le \hat g + \nu, \qquad g_{i+k}(x) \le \hat g + \nu + kv .

A region keeps the upper bound where a larger g is the careful choice, and the lower one for what
it calls impossible.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Number

__all__ = ["ERRORS", "Errors", "allowed", "causes", "check_errors", "error_of"]

ERRORS = ("value_error", "slope_error", "drift")
"""The names of the three bounds, on every certified rule and on the constants."""


class Errors(NamedTuple):
    """What one round allows for; 0 where nothing was told.

    Attributes:
        value: the error of the value that was observed.
        slope: the error of the slope.
        drift: the change of g from one round to the next.
    """

    value: Number = 0.0
    slope: Number = 0.0
    drift: Number = 0.0


def check_errors(owner: Any) -> None:
    """Raise unless the three bounds of a frozen dataclass are None or at least 0."""
    for name in ERRORS:
        if getattr(owner, name) is not None:
            checks.nonnegative(**{name: getattr(owner, name)})
            checks.plain(owner, name)


def error_of(known: Any, value_error: Number | None) -> Errors | None:
    """Return what a round allows for; None where nothing was told, and nothing is computed.

    Args:
        known: what has the three bounds.
        value_error: the round's own bound on the error of its value.
    """
    nu = known.value_error if value_error is None else value_error
    tau, v = known.slope_error, known.drift
    if nu is None and tau is None and v is None:
        return None
    if isinstance(value_error, (float, int)) and not 0 <= value_error < math.inf:
        raise InvalidValueError(f"value_error must be a finite number >= 0, got {value_error!r}")
    return Errors(*(0.0 if bound is None else bound for bound in (nu, tau, v)))


def allowed(errors: Errors | None) -> str:
    """Return the part of a sentence that says what a certificate allows for; empty for nothing.

    Example:
        >>> allowed(Errors(0.05, 0.0, 1e-4))
        ', for values off by up to 0.05 and a drift of 0.0001 per round'
    """
    if errors is None:
        return ""
    words = ("values off by up to {:g}", "slopes off by up to {:g}", "a drift of {:g} per round")
    parts = [
        word.format(float(bound)) for word, bound in zip(words, errors, strict=True) if bound > 0
    ]
    return f", for {' and '.join(parts)}" if parts else ""


def causes(errors: Errors | None, constant: str, *, convex: bool = True) -> str:
    """Return why something impossible may have been seen, the most likely reason first.

    Args:
        errors: what was allowed for.
        constant: what is said of the constant of the certificate.
        convex: whether g must be convex.

    Example:
        >>> causes(None, "G_g = 1 is too small")
        'G_g = 1 is too small, a reading errs by more than 0, g is not convex, or it changed'
    """
    value, _, drift = (float(bound) for bound in errors or Errors())
    moved = f"changes by more than {drift:g} per round" if drift > 0 else "changed"
    shape = "g is not convex, or it " if convex else "or g "
    return f"{constant}, a reading errs by more than {value:g}, {shape}{moved}"
