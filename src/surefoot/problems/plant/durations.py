"""Times of a plant file, such as "15 min": a number, a blank, and one of s, min, h and d."""

from __future__ import annotations

import re
from fractions import Fraction

__all__ = ["duration_text", "parse_duration"]

SECONDS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}
_DURATION = re.compile(r"(\d{1,20}(?:\.\d{1,30})?(?:e[+-]?\d{1,2})?) +(s|min|h|d)", re.ASCII)


def parse_duration(text: str) -> Fraction | None:
    """Return a time in seconds, exactly; None for a text that is none.

    >>> parse_duration("15 min"), parse_duration("0.5 h"), parse_duration("15m")
    (Fraction(900, 1), Fraction(1800, 1), None)
    """
    match = _DURATION.fullmatch(text)
    return None if match is None else Fraction(match[1]) * SECONDS[match[2]]


def duration_text(value: float, unit: str = "min") -> str:
    """Return a time as text with a short number; parsing it gives the same time.

    Args:
        value: the time.
        unit: its unit.

    >>> duration_text(15.0), duration_text(1 / 6), duration_text(90.0), duration_text(1440.0)
    ('15 min', '10 s', '90 min', '1 d')
    """
    texts = [(number_text(value), unit)]
    for other, seconds in SECONDS.items():
        number = number_text(float(f"{value * SECONDS[unit] / seconds:.15g}"))
        time = parse_duration(f"{number} {other}")
        if time is not None and float(time / SECONDS[unit]) == value:
            texts.append((number, other))
    number, name = min(texts, key=lambda text: len(text[0]))
    return f"{number} {name}"


def number_text(number: float) -> str:
    """Return a number as a person writes it, exactly: whole ones without a point.

    >>> number_text(25.0), number_text(0.1), number_text(1e-7), number_text(1e300)
    ('25', '0.1', '1e-07', '1e+300')
    """
    is_whole = abs(number) < 1e15 and number == int(number)
    return str(int(number)) if is_whole else repr(number)
