"""Known sets: boxes, balls and choices, exactly; whether an action is in another is not judged."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from .exact import Point, UnjudgedError, WrongError, distance, norm, number, vector

__all__ = ["CHOICES", "draw", "is_inside", "reach_of", "refuse_outside"]

_KEYS = {
    "Box": {"lower", "upper"},
    "Ball": {"radius", "centre"},
    "Grid": {"step", "inside"},
    "OffOr": {"least", "most", "step"},
}
CHOICES = {"Grid": "on its grid", "OffOr": "off, or from least to most"}
"""The kinds of choices, with what an action must be."""


def refuse_outside(known_set: Any, p: Point) -> None:
    """Raise unless an action is in a set."""
    if not is_inside(known_set, p):
        what = CHOICES.get(_kind_of(known_set), "in its set")
        raise WrongError(f"its action is not {what}")


def is_inside(known_set: Any, p: Point) -> bool:
    """Return whether a point is in a box or a choice, or, up to rounding, in a ball."""
    kind = _kind_of(known_set)
    if kind in CHOICES:
        return _is_on_grid(known_set, p) if kind == "Grid" else _is_off_or(known_set, p)
    off = distance(p, draw(known_set, p)[0])
    return off <= (0 if kind == "Box" else number(known_set["radius"], "radius") / 2**40)


def _kind_of(known_set: Any) -> str:
    kind = known_set.get("class")
    if kind not in _KEYS:
        raise UnjudgedError("whether it is in its set is not judged")
    if set(known_set) != {"class", *_KEYS[kind]}:
        raise WrongError(f"a {kind} must have {' and '.join(sorted(_KEYS[kind]))}")
    return str(kind)


def _is_on_grid(known_set: Any, p: Point) -> bool:
    """Return whether entries are whole multiples of the steps, as float64 multiplies them."""
    each = zip(p, _entries(known_set, "step", len(p)), strict=True)
    if not all(_is_multiple(float(a), 0.0, float(h)) for a, h in each):
        return False
    return known_set["inside"] is None or is_inside(known_set["inside"], p)


def _is_off_or(known_set: Any, p: Point) -> bool:
    """Return whether entries are 0, or between the bounds and whole steps above the lower one."""
    least, most = (_entries(known_set, name, len(p)) for name in ("least", "most"))
    on = [low <= a <= high for a, low, high in zip(p, least, most, strict=True)]
    if known_set["step"] is not None:
        each = zip(p, least, _entries(known_set, "step", len(p)), on, strict=True)
        on = [held and _is_multiple(float(a), float(b), float(h)) for a, b, h, held in each]
    return all(a == 0 or held for a, held in zip(p, on, strict=True))


def _is_multiple(a: float, low: float, step: float) -> bool:
    """Return whether a float64 is low and a whole number of steps, as float64 adds them up."""
    count = (a - low) / step if step > 0 else math.inf
    return abs(count) <= 2.0**60 and low + round(count) * step == a


def _entries(known_set: Any, name: str, d: int) -> Point:
    """Return a number for each entry, of one for all or one for each."""
    given = known_set[name]
    if not isinstance(given, list):
        return [number(given, name)] * d
    return vector(given * d if len(given) == 1 else given, d, name)


def draw(known_set: Any, q: Point) -> tuple[Point, Fraction]:
    """Return a point drawn into a box or a ball, and what that loses by rounding."""
    if _kind_of(known_set) == "Box":
        low, high = (vector(known_set[name], len(q), name) for name in ("lower", "upper"))
        return [min(max(a, b), c) for a, b, c in zip(q, low, high, strict=True)], Fraction(0)
    centre = _centre_of(known_set, len(q))
    size = number(known_set["radius"], "radius", 0)
    share = size / max(size, distance(q, centre)) if size else Fraction(0)
    return [c + share * (a - c) for a, c in zip(q, centre, strict=True)], size / 2**100


def _centre_of(ball: Any, d: int) -> Point:
    return [Fraction(0)] * d if ball["centre"] is None else vector(ball["centre"], d, "centre")


def reach_of(known_set: Any, d: int) -> Fraction:
    """Return a bound on the norm of every point of a set."""
    kind = _kind_of(known_set)
    if kind == "Box":
        low, high = (vector(known_set[name], d, name) for name in ("lower", "upper"))
        return norm([max(abs(a), abs(b)) for a, b in zip(low, high, strict=True)])
    if kind == "Ball":
        return norm(_centre_of(known_set, d)) + number(known_set["radius"], "radius", 0)
    raise UnjudgedError("the reach of its set is not judged")
