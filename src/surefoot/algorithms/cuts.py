r"""Half-spaces that a leader remembers, with the multipliers of an inexact projection onto them.

A cut is :math:`\{Z : u_i^\top Z \le o_i\}` with a unit normal, relative to the first action. The
leader minimises :math:`\theta^\top Z + \|Z\|^2/(2\eta)` over the cuts, by its dual: with
multipliers :math:`\mu \ge 0` (times :math:`\eta`) and the projection :math:`\Pi` onto a convex set
that is known, the minimiser is :math:`Z(\mu) = \Pi(-\eta\theta - \sum\mu_iu_i)`; and with
:math:`v_i = u_i^\top Z - o_i` and U the matrix of the normals, a change d of :math:`\mu` raises the
dual by at least :math:`d^\top v - \|U^\top d\|^2/2`. No step here lowers that number, which is all
that the regret of the leader needs; that a projection is not exact costs a smaller rise, and
nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import norm
from surefoot.core.types import Array

Onto: TypeAlias = Callable[[Array], Array]
"""A projection."""

__all__ = ["Cuts", "add_cut", "empty_cuts", "project", "push_from_cuts", "shorten"]


class Cuts(NamedTuple):
    """Remembered half-spaces, a row or an entry for each.

    Attributes:
        normals: unit vectors u_i.
        offsets: o_i.
        inverses: 1/|s_i| of the subgradient that the cut came from; what a tightening of g by rho
            tightens the cut by is rho times it.
        weights: mu_i.
    """

    normals: Array
    offsets: Array
    inverses: Array
    weights: Array

    def loosen(self, rise: float) -> Cuts:
        """Return the cuts for a g that is so much smaller."""
        return self._replace(offsets=self.offsets + rise * self.inverses)

    def let_through(self, X: Array) -> Cuts:
        """Return the cuts, those that a point has passed moved to that point."""
        return self._replace(offsets=np.maximum(self.offsets, self.normals @ X))


def empty_cuts(dimension: int) -> Cuts:
    """Return no cuts."""
    none = np.zeros(0)
    return Cuts(np.zeros((0, dimension)), none, none, none)


def add_cut(
    cuts: Cuts, X: Array, g: float, s: Array, noise: float, z: Array, most: int
) -> tuple[Cuts, int | None]:
    """Return the memory with the half-space of a round, and which cut it is.

    A row that was seen before is not stored twice. Where the memory is full, the idle cut with
    most room at z is dropped; where none is idle, the two with the smallest weights become one. A
    subgradient of 0 has no half-space.

    Args:
        cuts: the memory.
        X: where g and s were read, relative to the start.
        g: the value.
        s: the slope.
        noise: what they may err by, together, at any point of the domain.
        z: the leader, for the choice of what to forget.
        most: how many cuts are remembered.
    """
    steep = norm(s)
    if steep == 0.0:
        return cuts, None
    if not steep < math.inf:
        checks.refuse_unfinite(s, "constraint_subgradient")
    inverse = 1.0 / steep
    u = inverse * s
    offset = float(u @ X) - (g - noise) * inverse
    same = _find_row(cuts.normals, u)
    if same is not None:
        offsets = cuts.offsets.copy()
        offsets[same] = min(offset, offsets[same])
        return cuts._replace(offsets=offsets), same
    if len(cuts.offsets) >= most:
        cuts = _forget(cuts, z)
    after = Cuts(
        np.vstack([cuts.normals, u]),
        np.append(cuts.offsets, offset),
        np.append(cuts.inverses, inverse),
        np.append(cuts.weights, 0.0),
    )
    return after, len(after.offsets) - 1


def _find_row(normals: Array, u: Array) -> int | None:
    """Return which normal is that of the same row, up to rounding.

    A norm of d entries errs by (d/2 + 1) u of itself, u = 2^-53, and a division by one more.
    """
    if not len(normals):
        return None
    i = int((normals @ u).argmax())
    return i if float(np.abs(normals[i] - u).max()) <= (len(u) + 4) * 2.0**-53 else None


def _forget(cuts: Cuts, z: Array) -> Cuts:
    """Return the memory with one cut less: an idle one, or two become their sum."""
    normals, offsets, inverses, weights = cuts
    idle = weights == 0.0
    if idle.any():
        # The cut that does nothing, and is furthest from doing something.
        drop = int(np.where(idle, offsets - normals @ z, -np.inf).argmax())
        return Cuts(*(np.delete(part, drop, axis=0) for part in cuts))
    # The two that do least become their sum: no term of the dual changes.
    into, drop = (int(k) for k in np.argpartition(weights, 1)[:2])
    a, b = float(weights[into]), float(weights[drop])
    both = a * normals[into] + b * normals[drop]
    size = float(np.sqrt(both @ both))
    if size == 0.0:  # opposed, and they cancel: without them the dual is higher
        return Cuts(*(np.delete(part, [into, drop], axis=0) for part in cuts))
    normals, offsets, inverses, weights = (part.copy() for part in cuts)
    normals[into] = both / size
    offsets[into] = (a * offsets[into] + b * offsets[drop]) / size
    inverses[into] = (a * inverses[into] + b * inverses[drop]) / size
    weights[into] = size
    return Cuts(*(np.delete(p, drop, axis=0) for p in (normals, offsets, inverses, weights)))


def project(
    cuts: Cuts, free: Array, weights: Array, newest: int | None, onto: Onto, sweeps: int
) -> tuple[Array, Array]:
    r"""Return multipliers and :math:`Z(\mu)`, near the point of the cuts that is nearest to free.

    First the newest cut alone, exactly; then, so many times, a step of all multipliers,
    :math:`d = [\mu + v]_+ - \mu` with :math:`v_i = u_i^\top Z(\mu) - o_i`, as long as the model
    rises but no longer than d.

    Args:
        cuts: the cuts.
        free: where the leader would be without them.
        weights: :math:`\mu` to begin with.
        newest: the newest cut; None if there is none.
        onto: the projection onto a convex set, which Z is kept in.
        sweeps: how many times.
    """
    normals = cuts.normals
    mu = weights
    v = normals @ onto(free - mu @ normals) - cuts.offsets
    if newest is not None and v[newest] > 0.0:
        mu = mu.copy()
        mu[newest] += v[newest]
        v = v - v[newest] * (normals @ normals[newest])
    for _ in range(sweeps):
        step = np.maximum(v, -mu)
        push = step @ normals
        bend = float(push @ push)
        if bend <= 0.0:
            break
        share = min(float(step @ v) / bend, 1.0)
        mu = mu + share * step
        v = v - share * (normals @ push)
    return mu, onto(free - mu @ normals)


def push_from_cuts(cuts: Cuts, w: Array, rho: float) -> Array:
    r"""Return w moved towards all the cuts tightened by rho that it exceeds.

    With :math:`e_i = [u_i^\top w - o_i + \rho/\|s_i\|]_+` it is one projection onto their mean:

    .. math:: w - \frac{\sum e_i^2}{\|\sum e_iu_i\|^2}\sum e_iu_i
    """
    over = np.maximum(cuts.normals @ w - cuts.offsets + rho * cuts.inverses, 0.0)
    back = over @ cuts.normals
    squared = float(back @ back)
    return w - (float(over @ over) / squared) * back if squared > 0.0 else w


def shorten(z: Array, radius: float) -> Array:
    """Return the point, shortened to a length."""
    squared = float(z @ z)  # without norm's care for over- and underflow: it may be anywhere
    return z if squared <= radius * radius else (radius / math.sqrt(squared)) * z
