"""Numbers, times and lists in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# What HTML does not allow in a document in any form: C0 and C1 controls but tab and newline. A
# carriage return is one, too: parsers turn it into a newline.
_CONTROLS = {c: "\ufffd" for c in (*range(32), *range(127, 160)) if c not in (9, 10)}


def number(value: Any, digits: int = 4) -> str:
    """Return a number with the digits that matter; in words if it is not finite.

    >>> number(0.00251), number(20_000), number(-61.2345), number(1.5e-9), number(float("nan"))
    ('0.00251', '20,000', '−61.23', '1.5×10⁻⁹', 'not a number')
    """
    if value is None:
        return "–"
    if isinstance(value, bool | str):
        return str(value)
    x = float(value)
    if not math.isfinite(x):
        return "not a number" if math.isnan(x) else "infinite" if x > 0 else "minus infinity"
    if x == int(x) and abs(x) < 1e7:
        return f"{int(x):,}".replace("-", "−")
    if not 1e-4 <= abs(x) < 1e7:
        mantissa, _, power = f"{x:.{digits - 1}e}".partition("e")
        text = f"{_trim(mantissa)}×10{str(int(power)).translate(_SUPERSCRIPTS)}"
        return text.replace("-", "−")
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(x))))
    return _trim(f"{x:,.{decimals}f}").replace("-", "−")


def _trim(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def mean_and_spread(mean: float, spread: float | None) -> str:
    """Return a mean with its standard deviation over the trials, where they differ.

    >>> mean_and_spread(61.2345, 2.345), mean_and_spread(61.2345, None)
    ('61.23 ± 2.3', '61.23')
    """
    if not spread or not math.isfinite(mean) or not math.isfinite(spread):
        return number(mean)
    return f"{number(mean)} ± {number(spread, 2)}"


def seconds(value: float | None) -> str:
    """Return a time in a convenient unit.

    >>> seconds(0.0042), seconds(12.3), seconds(4000)
    ('4.2 ms', '12.3 s', '1 h 7 min')
    """
    if value is None or not math.isfinite(float(value)):
        return number(value)
    s = float(value)
    if s < 1:
        return f"{number(1000 * s, 3)} ms"
    if s < 60:
        return f"{number(s, 3)} s"
    minutes = round(s / 60)
    return f"{minutes // 60} h {minutes % 60} min" if s >= 3600 else f"{number(s / 60, 3)} min"


def horizons(values: Iterable[int]) -> str:
    """Return a list of horizons.

    >>> horizons([2000, 20000])
    'T = 2,000, 20,000'
    """
    return "T = " + ", ".join(f"{T:,}" for T in values)


def enumerate_words(parts: Sequence[str]) -> str:
    """Return parts with commas between them, and an "and" before the last.

    >>> enumerate_words(["1a", "1b", "2"])
    '1a, 1b and 2'
    """
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def clean(text: Any) -> str:
    """Return text without control characters and lone surrogates."""
    kept = str(text).replace("\r\n", "\n").translate(_CONTROLS)
    return kept.encode("utf-8", "replace").decode("utf-8")
