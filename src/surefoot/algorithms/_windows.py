r"""Averages of the last noisy readings, and what they say about g at the last action.

For each size :math:`2^j` the readings are cut into blocks of that many; kept are the sums over
the last full block and over the one being filled. Together they are a window of between
:math:`2^j` and :math:`2^{j+1} - 1` readings that ends with the last one. Which readings a window
has depends on their number alone, not on what was read, which is what the proof needs.
The memory has :math:`2\lfloor\log_2 n\rfloor + 2` rows for windows of up to 2n readings.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from surefoot.core.types import Array

__all__ = ["Windows", "no_windows"]

_UNIT = 2.0**-53
# Columns of the sums: how many, round numbers, readings, |X|^2, s'X; then X and s.
_COUNT, _ROUND, _VALUE, _SQUARE, _PRODUCT, _REST = range(6)


class Windows(NamedTuple):
    """Sums over blocks of 1, 2, 4, ... readings.

    Attributes:
        readings: how many there were.
        full: sums over the last full block of each size, a row per size.
        filling: sums over the block that is being filled.
        scale: the largest size of a term so far, which rounding scales with.
        latest: the last round that was read.
    """

    readings: float
    full: Array
    filling: Array
    scale: float
    latest: float

    def add(self, X: Array, g: float, s: Array | None, when: float) -> Windows:
        """Return the sums with one more reading.

        Args:
            X: the action, relative to the first.
            g: the reading.
            s: the slope; None where there is none.
            when: the round that was read.
        """
        n, d = self.readings + 1.0, len(X)
        row = np.zeros(_REST + 2 * d)
        row[:_PRODUCT] = 1.0, when, g, X @ X
        row[_REST : _REST + d] = X
        size = abs(g) + float(np.sqrt(X @ X))
        if s is not None:
            row[_PRODUCT], row[_REST + d :] = s @ X, s
            size += float(np.sqrt((X @ X) * (s @ s)))
        filling = self.filling + row
        done = (n % 2.0 ** np.arange(len(filling)) == 0)[:, None]
        full, filling = np.where(done, filling, self.full), np.where(done, 0.0, filling)
        return Windows(n, full, filling, max(self.scale, size), max(self.latest, when))

    def bounds(
        self,
        X: Array,
        s: Array | None,
        when: float,
        *,
        sigma: float,
        failure: float,
        steep: float,
        drift: float,
    ) -> tuple[float, float]:
        r"""Return a lower and an upper bound on g at the last action, in the round it was read.

        With k of t readings in a window, m windows, and means over a window:

        .. math::
            c &= \sigma\sqrt{2\ln(2t(t+1)m/\delta)/k} \\
            g(x_t) &\le \bar g + s_t^\top(x_t - \bar x) + c + \tau\bar d + v\bar a \\
            g(x_t) &\ge \bar g + \overline{s_i^\top(x_t - x_i)} - c - \tau\bar d - v\bar a

        where :math:`\bar d` is the root of the mean squared distance to :math:`x_t` and
        :math:`\bar a` the mean age; without slopes :math:`\tau` is :math:`G_g` and s is 0. A
        reading that comes after later ones is as far from these as both are from the latest.

        Args:
            X: the last action, relative to the first.
            s: the slope there; None where there is none.
            when: the round of the last reading.
            sigma: of the noise.
            failure: :math:`\delta`.
            steep: :math:`\tau`, the error of slopes; without slopes, G_g.
            drift: v.
        """
        t, d = self.readings, len(X)
        many = min(int(math.log2(t)) + 1, len(self.full))
        sums = (self.full + self.filling)[:many]
        count = sums[:, _COUNT]
        means = sums / count[:, None]
        where, slopes = means[:, _REST : _REST + d], means[:, _REST + d :]
        g, age = means[:, _VALUE], (self.latest - means[:, _ROUND]) + (self.latest - when)
        c = sigma * np.sqrt(2 * math.log(2 * t * (t + 1) * many / failure) / count)
        # A sum of n terms, and what is made of it, errs by at most so much.
        unit = 8 * (2 * len(sums[0]) + 2.0 ** len(self.full)) * _UNIT * self.scale
        far = np.maximum(X @ X - 2 * (where @ X) + means[:, _SQUARE], 0.0)
        far = np.sqrt(far + unit * self.scale)
        spread = c + (steep * far if steep else 0.0) + drift * age + unit
        up = down = 0.0
        if s is not None:
            up, down = (X - where) @ s, slopes @ X - means[:, _PRODUCT]
        return float((g + down - spread).max()), float((g + up + spread).min())


def no_windows(dimension: int, longest: int) -> Windows:
    """Return the sums before the first reading, of blocks of up to so many."""
    empty = np.zeros((int(math.log2(longest)) + 1, _REST + 2 * dimension))
    return Windows(0.0, empty, empty, 0.0, -math.inf)
