"""Widen the constants of a rule after a contradiction: an estimate from then on, never a proof."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from surefoot.controller._causes import Cause, Evidence
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.core.player import parts_of, value_in
from surefoot.theory import Guarantee

__all__ = ["can_widen", "widened"]

_CONSTANTS = ("G_g", "beta")
_ERRORS = {"noise": "value_error", "drift": "drift"}


def can_widen(algorithm: Any) -> bool:
    """Return whether a rule, or what it knows, has a constant that can be widened."""
    return any(_has(part, name) for part in _parts(algorithm) for name in _CONSTANTS)


def widened(
    algorithm: Any, guarantee: Guarantee | None, cause: Cause, seen: Evidence, factor: float
) -> tuple[Any, Guarantee | None, dict[str, float]]:
    r"""Return the rule with what probably was too small made :math:`\kappa\max(c, c_t)`.

    Args:
        algorithm: the rule.
        guarantee: what it was tuned for.
        cause: the most likely one.
        seen: the evidence, which gives the least that would have been enough.
        factor: :math:`\kappa > 1`.

    Returns:
        The rule, the guarantee for the same constants (marked as estimated), and the new values.

    Example:
        >>> from surefoot import Ball
        >>> from surefoot.algorithms import SafetyFilter
        >>> safe = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)
        >>> cause = Cause("constant", "G_g = 1 is too small")
        >>> widened(safe, None, cause, Evidence(steepness=1.5), 2.0)[2]
        {'G_g': 3.0}
    """
    if cause.kind == "ball":
        raise InvalidValueError(f"on_contradiction='widen' cannot widen a ball: {cause}")
    error = _ERRORS.get(cause.kind, "")
    if error and any(_has(part, error) for part in _parts(algorithm)):
        least = {error: max(seen.over, seen.shift)}
    else:
        least = {"G_g": seen.steepness, "beta": seen.curvature}
    new: dict[str, float] = {}
    wider = _wider(algorithm, least, factor, new)
    if not new:
        raise InvalidValueError(
            f"on_contradiction='widen' needs a rule with G_g or beta above 0, got {algorithm!r}"
        )
    if guarantee is not None:
        known = {n: v for n, v in new.items() if value_in(guarantee.constants, n) is not None}
        try:
            constants = guarantee.constants.with_origin("estimated", **known)
            guarantee = replace(guarantee, constants=constants)  # type: ignore[type-var]
        except (SurefootError, TypeError):  # it does not hold for such constants
            guarantee = None
    return wider, guarantee, new


def _wider(part: Any, least: dict[str, float], factor: float, new: dict[str, float]) -> Any:
    """Replace the constants of a part, and of its parts; say what they are now."""
    if type(part) is tuple:
        return tuple(_wider(one, least, factor, new) for one in part)
    if not is_dataclass(part) or isinstance(part, type):
        return part
    changed: dict[str, Any] = {}
    for name, enough in least.items():
        if not _has(part, name):
            continue
        old = getattr(part, name)
        one = tuple(factor * max(b, enough) for b in old) if isinstance(old, tuple) else None
        value = factor * max(float(old or 0.0), enough) if one is None else one
        if value != old:
            changed[name] = value
            new[name] = max(value) if isinstance(value, tuple) else value
    for field in fields(part):
        if field.name in ("known", "base", "rows"):
            inner = getattr(part, field.name)
            wider = _wider(inner, least, factor, new)
            if wider is not inner and wider != inner:
                changed[field.name] = wider
    return replace(part, **changed) if changed else part


def _has(part: Any, name: str) -> bool:
    """Return whether a part has a field of a name, which may be None for errors alone."""
    if not is_dataclass(part) or name not in {f.name for f in fields(part)}:
        return False
    return name not in _CONSTANTS or getattr(part, name) is not None


def _parts(algorithm: Any) -> list[Any]:
    return [part for _, part in parts_of(algorithm)]
