"""Known sets: boxes, balls and grids, exactly; whether an action is in another is not judged."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .exact import Point, UnjudgedError, WrongError, distance, norm, number, vector

__all__ = ["draw", "is_inside", "reach_of", "refuse_outside"]

_KEYS = {"Box": {"lower", "upper"}, "Ball": {"radius", "centre"}, "Grid": {"step", "inside"}}


def refuse_outside(known_set: Any, p: Point) -> None:
    """Raise unless an action is in a set."""
    if not is_inside(known_set, p):
        what = "on its grid" if _kind_of(known_set) == "Grid" else "in its set"
        raise WrongError(f"its action is not {what}")


def is_inside(known_set: Any, p: Point) -> bool:
    """Return whether a point is in a box or on a grid, or, up to rounding, in a ball."""
    kind = _kind_of(known_set)
    if kind == "Grid":
        return _is_on_grid(known_set, p)
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
    steps = known_set["step"]
    steps = steps * len(p) if isinstance(steps, list) and len(steps) == 1 else steps
    each = zip(p, vector(steps, len(p), "step"), strict=True)
    if any(round(float(a) / float(h)) * float(h) != a for a, h in each):
        return False
    return known_set["inside"] is None or is_inside(known_set["inside"], p)


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
