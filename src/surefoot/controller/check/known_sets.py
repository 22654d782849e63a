"""Known sets: boxes, balls and choices, exactly; whether an action is in another is not judged."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .exact import Point, UnjudgedError, WrongError, distance, norm, number, numbers, vector

__all__ = ["draw", "is_inside", "reach_of", "refuse_outside"]

_KEYS = {
    "Box": {"lower", "upper"},
    "Ball": {"radius", "centre"},
    "Choices": {"least", "most", "step", "off"},
}


def refuse_outside(known_set: Any, p: Point) -> None:
    """Raise unless an action is in a set."""
    if not is_inside(known_set, p):
        raise WrongError("its action is not in its set")


def is_inside(known_set: Any, p: Point) -> bool:
    """Return whether a point is in a box or of choices, or, up to rounding, in a ball."""
    kind = _kind_of(known_set)
    if kind == "Choices":
        return _is_choice(known_set, p)
    off = distance(p, draw(known_set, p)[0])
    return off <= (0 if kind == "Box" else number(known_set["radius"], "radius") / 2**40)


def _kind_of(known_set: Any) -> str:
    kind = known_set.get("class")
    if kind not in _KEYS:
        raise UnjudgedError("whether it is in its set is not judged")
    if set(known_set) != {"class", *_KEYS[kind]}:
        raise WrongError(f"a {kind} must have {' and '.join(sorted(_KEYS[kind]))}")
    return str(kind)


def _is_choice(known_set: Any, p: Point) -> bool:
    """Return whether every entry is off, or in its range and a whole multiple of its step."""
    step, off = _entries(known_set, "step", len(p)), _flags(known_set["off"], len(p))
    inside = [True] * len(p)
    if known_set["least"] is not None:
        least, most = (_entries(known_set, name, len(p)) for name in ("least", "most"))
        inside = [low <= a <= high for a, low, high in zip(p, least, most, strict=True)]
    on = [
        held and _is_multiple(float(a), float(h))
        for a, h, held in zip(p, step, inside, strict=True)
    ]
    return all(held or (a == 0 and may) for a, may, held in zip(p, off, on, strict=True))


def _is_multiple(a: float, step: float) -> bool:
    """Return whether a float64 is a whole number of steps, as float64 multiplies them."""
    if step <= 0:
        return step == 0
    count = a / step
    return abs(count) <= 2.0**60 and round(count) * step == a


def _entries(known_set: Any, name: str, d: int) -> Point:
    """Return a number for each entry, of one for all or one for each."""
    given = known_set[name]
    if not isinstance(given, list):
        return [number(given, name)] * d
    return vector(given, d, name)


def _flags(given: Any, d: int) -> list[bool]:
    """Return whether each entry may be off, of one for all or one for each."""
    flags = [given] * d if isinstance(given, bool) else numbers(given, "off")
    if len(flags) != d or not all(isinstance(flag, bool) for flag in flags):
        raise WrongError(f"off must be true or false, or a list of {d} of them")
    return flags


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
