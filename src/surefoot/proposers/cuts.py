r"""Half-spaces that leaders remember, with the multipliers of an inexact projection onto them.

A cut is :math:`\{Z : u_i^\top Z \le o_i\}` with a unit normal, relative to the first action. A
leader minimises :math:`\|Z - F\|^2/2` over the cuts, F where it would be without them, by its dual:
with multipliers :math:`\mu \ge 0` and the projection :math:`\Pi` onto a convex set that is known,
the minimiser is :math:`Z(\mu) = \Pi(F - \sum\mu_iu_i)`; and with
:math:`v_i = u_i^\top Z(\mu) - o_i` and U the matrix of the normals, a change d of :math:`\mu`
raises the dual by at least :math:`d^\top v - \|U^\top d\|^2/2`. All steps of a round together raise
that number, which is all that the regret of a leader needs; that a projection is not exact costs a
smaller rise, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import norm
from surefoot.core.forms import Axes, Gaps, Same
from surefoot.core.kernel_constants import DIRECTIONS, FLAT, TIMES, UNIT, VALUE_TERMS
from surefoot.core.types import Array

Onto: TypeAlias = Callable[[Array], Array]
"""A projection."""


class Cuts(NamedTuple):
    """Remembered half-spaces, a row or an entry for each.

    Attributes:
        normals: unit vectors u_i.
        offsets: o_i.
        inverses: 1/|s_i| of the subgradient that the cut came from; what a tightening of g by rho
            tightens the cut by is rho times it.
        pulls: a row for each leader, what each cut holds it back by: the multipliers of the first,
            the averages of those of the others.
        places: the contexts that they were read in, NaN for a sum of several; None without any.
        shares: how steep the row of each may be, as a share of the steepest; None for one row.
    """

    normals: Annotated[Array, Axes("cuts", None)]
    offsets: Annotated[Array, Axes("cuts")]
    inverses: Annotated[Array, Axes("cuts")]
    pulls: Annotated[Array, Axes(None, "cuts")]
    places: Annotated[Array | None, Axes("cuts", Same("place")), Gaps] = None
    shares: Annotated[Array | None, Axes("cuts")] = None

    @property
    def rises(self) -> Array:
        """How far a cut is tightened per unit of a margin on the row with the largest constant."""
        return self.inverses if self.shares is None else self.shares * self.inverses

    def loosen(self, rise: float) -> Cuts:
        """Return the cuts for a g that is smaller by ``rise``."""
        return self._replace(offsets=self.offsets + rise * self.inverses)

    def let_through(self, X: Array, fall: Array | float = 0.0, upper: float = 0.0) -> Cuts:
        """Return the cuts, with those that say more of g at a point than a bound moved outwards.

        Args:
            X: the point.
            fall: how much larger g may be in the contexts of the cuts than in that of the point;
                NaN for a cut that is a sum of several, which stays.
            upper: an upper bound on g at the point.
        """
        reached = self.normals @ X - (fall + upper) * self.inverses
        return self._replace(offsets=np.fmax(self.offsets, reached))

    def move(self, fall: Callable[[Array], Array]) -> Cuts:
        """Return the cuts moved to another context.

        Args:
            fall: how much larger g may be in the contexts of the cuts than in that one.
        """
        assert self.places is not None
        cuts = self.keep(np.isfinite(self.places).all(axis=1))
        return cuts._replace(offsets=cuts.offsets + fall(cuts.places) * cuts.inverses)

    def exceed(self, z: Array) -> float:
        """Return by how much a point exceeds the cut that it exceeds most; 0 if none."""
        return max(0.0, float((self.normals @ z - self.offsets).max(initial=0.0)))

    def slack(self, z: Array) -> float:
        """Return an upper bound on -g at a point, by the cuts.

        Of rows it is the least, each as if it were as steep as the steepest.
        """
        return float(((self.offsets - self.normals @ z) / self.rises).min(initial=math.inf))

    def dual(self, mu: Array, free: Array, onto: Onto) -> float:
        """Return the dual at multipliers: the least that the leader's objective can be.

        Args:
            mu: the multipliers.
            free: F, where the leader would be without cuts.
            onto: the projection onto a convex set, which it is kept in.
        """
        z = onto(free - mu @ self.normals)
        return 0.5 * float((z - free) @ (z - free)) + float(mu @ (self.normals @ z - self.offsets))

    def keep(self, which: Array) -> Cuts:
        """Return some of the cuts."""
        normals, offsets, inverses, pulls, places, shares = self
        places = None if places is None else places[which]
        shares = None if shares is None else shares[which]
        return Cuts(
            normals[which], offsets[which], inverses[which], pulls[:, which], places, shares
        )


def empty_cuts(dimension: int, leaders: int) -> Cuts:
    """Return no cuts."""
    none = np.zeros(0)
    return Cuts(np.zeros((0, dimension)), none, none, np.zeros((leaders, 0)))


def add_cut(
    cuts: Cuts,
    X: Array,
    g: float,
    s: Array,
    noise: float,
    z: Array,
    most: int,
    place: Array | None = None,
    share: float | None = None,
) -> tuple[Cuts, int | None]:
    """Return the memory with the half-space of a round, and which cut it is.

    Of rows with the same normal the tightest is stored. Where the memory is full, the idle cut with
    most room at z is dropped; where none is idle, the two with the smallest multipliers of the
    first leader become one. A subgradient of 0 has no half-space.

    Args:
        cuts: the memory.
        X: where g and s were read, relative to the start.
        g: the value.
        s: the subgradient.
        noise: a bound on their joint error at any point of the domain.
        z: the leader, for the choice of what to forget.
        most: how many cuts are remembered.
        place: the context of the reading; None without contexts.
        share: the Lipschitz constant of the row, relative to the largest; None for one row.
    """
    if place is not None and cuts.places is None:
        cuts = cuts._replace(places=np.zeros((0, len(place))))
    if share is not None and cuts.shares is None:
        cuts = cuts._replace(shares=np.ones_like(cuts.offsets))
    row_share = 1.0 if share is None else share
    slope_norm = norm(s)
    if slope_norm == 0.0:
        return cuts, None
    if not slope_norm < math.inf:
        checks.refuse_unfinite(s, "constraint_subgradient")
    inverse = 1.0 / slope_norm
    u = inverse * s
    offset = float(u @ X) - (g - noise) * inverse
    same = _find_row(cuts.normals, u)
    if same is not None:
        if offset >= cuts.offsets[same]:
            return cuts, same
        at = np.arange(len(cuts.offsets)) == same
        offsets, inverses = np.where(at, [[offset], [inverse]], cuts[1:3])
        places = None if cuts.places is None else np.where(at[:, None], place, cuts.places)
        shares = None if cuts.shares is None else np.where(at, row_share, cuts.shares)
        tighter = cuts._replace(offsets=offsets, inverses=inverses, places=places, shares=shares)
        return tighter, same
    if len(cuts.offsets) >= most:
        cuts = _forget(cuts, z)
    after = Cuts(
        np.vstack([cuts.normals, u]),
        np.append(cuts.offsets, offset),
        np.append(cuts.inverses, inverse),
        np.pad(cuts.pulls, ((0, 0), (0, 1))),
        None if cuts.places is None else np.append(cuts.places, [place], axis=0),
        None if cuts.shares is None else np.append(cuts.shares, row_share),
    )
    return after, len(after.offsets) - 1


def _find_row(normals: Array, u: Array) -> int | None:
    """Return which normal is that of the same row, up to rounding.

    A norm of d entries errs by (d/2 + 1) u of itself, u = 2^-53, and a division by one more.
    """
    if not len(normals):
        return None
    i = int((normals @ u).argmax())
    return i if float(np.abs(normals[i] - u).max()) <= (len(u) + VALUE_TERMS) * UNIT else None


def _forget(cuts: Cuts, z: Array) -> Cuts:
    """Return the memory with one cut less: an idle one, or two become their sum."""
    every, weights = np.arange(len(cuts.offsets)), cuts.pulls[0]
    idle = weights == 0.0
    if idle.any():
        # The idle cut with the largest slack.
        room = np.where(idle, cuts.offsets - cuts.normals @ z, -np.inf)
        return cuts.keep(every != room.argmax())
    # The two with the smallest multipliers become their sum: the first leader's dual is the same.
    into, drop = (int(k) for k in np.argpartition(weights, 1)[:2])
    a, b = float(weights[into]), float(weights[drop])
    both = a * cuts.normals[into] + b * cuts.normals[drop]
    size = float(np.sqrt(both @ both))
    if size == 0.0:  # they cancel: without them the dual is higher
        return cuts.keep((every != into) & (every != drop))
    normals, offsets, inverses, pulls = (part.copy() for part in cuts[:4])
    places, shares = (None if part is None else part.copy() for part in cuts[4:])
    rise = (a * cuts.rises[into] + b * cuts.rises[drop]) / size
    normals[into] = both / size
    offsets[into] = (a * offsets[into] + b * offsets[drop]) / size
    inverses[into] = (a * inverses[into] + b * inverses[drop]) / size
    pulls[:, into] += pulls[:, drop]
    pulls[0, into] = size
    if places is not None:
        places[into] = math.nan
    if shares is not None:
        shares[into] = rise / inverses[into]
    return Cuts(normals, offsets, inverses, pulls, places, shares).keep(every != drop)


def ascend(
    cuts: Cuts, free: Array, mu: Array, newest: int | None, enough: float, onto: Onto
) -> tuple[Array, Array]:
    r"""Return multipliers and :math:`Z(\mu)`, near the point of the cuts that is nearest to free.

    First the newest cut alone, exactly. Then, twice: a step of all multipliers,
    :math:`d = [\mu + v]_+ - \mu`, as long as the dual rises but no longer than d; and those that
    are positive together, by conjugate gradients. Cuts of a smooth set are nearly parallel, and
    steps of the first kind alone would take hundreds for what the second finds in a few directions.

    Args:
        cuts: the cuts.
        free: F.
        mu: the multipliers to begin with.
        newest: the newest cut; None without one.
        enough: the change of a multiplier below which nothing is to be done.
        onto: the projection onto a convex set, which Z is kept in.
    """
    normals, offsets = cuts.normals, cuts.offsets
    z = onto(free - mu @ normals)
    if newest is not None and (over := float(normals[newest] @ z) - offsets[newest]) > 0.0:
        mu = mu.copy()
        mu[newest] += over
        z = z - over * normals[newest]
    for _ in range(TIMES):
        v = normals @ z - offsets
        step = np.maximum(v, -mu)
        push = step @ normals
        bend = float(push @ push)
        if not bend > 0.0 or max(float(step.max()), -float(step.min())) <= enough:
            break
        share = min(float(step @ v) / bend, 1.0)
        mu, z = np.maximum(mu + share * step, 0.0), z - share * push
        mu, z = _ascend_together(cuts, mu, z, enough)
    return mu, onto(free - mu @ normals)


def _ascend_together(cuts: Cuts, mu: Array, z: Array, enough: float) -> tuple[Array, Array]:
    """Return the multipliers after conjugate gradients of the positive ones, and z.

    It ends where one of them would become negative.
    """
    active = np.flatnonzero(mu > 0.0)
    normals, weights = cuts.normals[active], mu[active]
    v = normals @ z - cuts.offsets[active]
    way, squared = v, float(v @ v)
    for _ in range(min(len(active), DIRECTIONS) if len(active) > 1 else 0):
        push = way @ normals
        bend = float(push @ push)
        if not bend > FLAT * float(way @ way):
            break
        falls = np.flatnonzero(way < 0.0)
        first, most = -1, math.inf
        if len(falls):
            limits = weights[falls] / -way[falls]
            i = int(limits.argmin())
            first, most = int(falls[i]), float(limits[i])
        share = min(squared / bend, most)
        ends = share == most
        weights, z = np.maximum(weights + share * way, 0.0), z - share * push
        if ends:
            weights[first] = 0.0
        v = v - share * (normals @ push)
        after = float(v @ v)
        if ends or after <= enough * enough:
            break
        way, squared = v + (after / squared) * way, after
    mu = mu.copy()
    mu[active] = weights
    return mu, z


def push_from_cuts(cuts: Cuts, w: Array, rho: float) -> Array:
    r"""Return w moved towards all the cuts tightened by rho that it exceeds.

    With :math:`e_i = [u_i^\top w - o_i + \rho/\|s_i\|]_+` it is one projection onto their mean:

    .. math:: w - \frac{\sum e_i^2}{\|\sum e_iu_i\|^2}\sum e_iu_i
    """
    over = np.maximum(cuts.normals @ w - cuts.offsets + rho * cuts.rises, 0.0)
    back = over @ cuts.normals
    squared = float(back @ back)
    return w - (float(over @ over) / squared) * back if squared > 0.0 else w


def shorten(z: Array, radius: float) -> Array:
    """Return the point, shortened to a length."""
    squared = float(z @ z)  # without norm's care for over- and underflow
    return z if squared <= radius * radius else (radius / math.sqrt(squared)) * z
