r"""How long the next step may be so that the action it leads to is certainly feasible.

Let A bound the distance of :math:`x_t` to the tightened set :math:`X_\rho = \{g \le -\rho\}`.
After a step of length :math:`\ell` and the projection onto the half-space
:math:`H_t = \{g_t + s_t^\top(p - x_t) + \rho \le 0\} \supseteq X_\rho`, the distance is at most
:math:`B + \ell`, where B bounds what :math:`x_t` itself has left after that projection:

* :math:`g_t \le -\rho`: the action is in :math:`X_\rho`, deeper than the boundary by at least
  :math:`(-\rho - g_t)/G_g`, because g rises by at most G_g a unit of length. Keep the distance
  signed: :math:`B = (g_t + \rho)/G_g \le 0`.
* :math:`g_t > -\rho`: projecting onto :math:`H_t` moves by :math:`d = (g_t + \rho)/\|s_t\|` and
  brings every point of :math:`X_\rho` closer, so :math:`B = \sqrt{A^2 - d^2}`. Convexity and the
  start's slack :math:`\alpha` bound A afresh:
  :math:`A \le \frac{g_t+\rho}{g_t+\alpha}\|x_t - x_1\|`.

In both cases :math:`g(x_{t+1}) \le G_g(B + \ell) - \rho`, which is at most 0 for every
:math:`\ell \le r = \rho/G_g - B`. That inequality is the certificate.

Rounding. A full-length step ends on the boundary, and the root loses half of the digits where
:math:`d \approx A`; so computed numbers need a margin. With u = 2^-53, n the dimension, M the
largest norm of a point of the ball, :math:`\delta` a bound on the evaluation error of g with
:math:`8uG_gM` to spare, :math:`\kappa = 4(n+8)u` and :math:`e = 24(n+8)uM + \delta/G_g`: g is taken
as :math:`g + \delta` wherever a larger g is the careful choice, the half-space as
:math:`g_t + s_t^\top(p - x_t) + \rho - \delta \le 0`, d as :math:`(g_t+\rho-2\delta)_+/\|s_t\|`,
the root as :math:`\sqrt{(A-d)_+(A+d) + \kappa A^2}`, and r as :math:`\rho/G_g - B - e`. Then the
true g and the computed one are at most 0 in every round; docs/certified.md has the proof. Where r
comes out as 0 or less the tightening is below the rounding level, and the action stays where it is,
which is feasible.
"""

from __future__ import annotations

import math
from abc import ABC
from typing import NamedTuple

from surefoot import _check
from surefoot._array import dot, maximum, minimum, norm, sqrt, where
from surefoot.errors import InvalidValueError
from surefoot.sets import Ball
from surefoot.types import Array, Number

__all__ = ["Certificate", "Certifying", "Room", "stay_unless"]

_UNIT = 2.0**-53
# The constructor of a named tuple is written in Python, and costs as much as three roots.
new_tuple = tuple.__new__


class Room(NamedTuple):
    """What is known before a move.

    Attributes:
        start_slack: alpha, the slack of the first action.
        rho: the tightening of this round.
        distance: A, a bound on the distance to the tightened set.
        left: B, what is left of it after the half-space projection; negative is depth.
        length: r, the longest step that is certified; 0 or less if there is none.
        noise: delta, the bound on the evaluation error of g.
        error: e, the bound on the rounding of a step.
        squared: the squared norm of s, where it was needed; else None.
    """

    start_slack: Number
    rho: Number
    distance: Number
    left: Number
    length: Number
    noise: Number
    error: Number
    squared: Number | None


class Certificate(NamedTuple):
    """Why the next action is feasible, with the numbers, all known before it is played.

    Attributes:
        round: the round that was played.
        rule: "slack" where the action was inside the tightened set and g rises by at most G_g a
            unit of length; "contraction" where the half-space brought it back towards that set;
            "stayed" where there was no room above the rounding level and nothing moved.
        slack: -g at the action played.
        rho: the tightening of the round.
        length: r, the longest step that is certified.
        wanted: the step that was proposed.
        taken: the step that was taken, never longer than ``length``.
        cut: whether the half-space then moved it.
        bound: the next g is at most this; never above 0.
        G_g: the constant that it rests on.
    """

    round: int
    rule: str
    slack: float
    rho: float
    length: float
    wanted: float
    taken: float
    cut: bool
    bound: float
    G_g: float

    @property
    def shortened(self) -> bool:
        """Whether less was taken than was wanted."""
        return self.taken < self.wanted

    def __str__(self) -> str:
        step = f"step {self.taken:.3g}"
        if self.shortened:
            step += f" of {self.wanted:.3g} wanted"
        if self.cut:
            step += ", then cut by the half-space"
        why = {
            "slack": f"slack {self.slack:.3g} and g rises by at most G_g = {self.G_g:g}",
            "contraction": f"slack {self.slack:.3g} below rho = {self.rho:.3g}, moving back",
            "stayed": f"no room above rounding at slack {self.slack:.3g}, so nothing moved",
        }[self.rule]
        return (
            f"round {self.round}: {why}: certified length {max(self.length, 0.0):.3g}, {step}; "
            f"the next g is at most {self.bound:.3g}"
        )


class Certifying(ABC):
    """What rules with certified steps share: their constants and the length they give."""

    __slots__ = ()
    G_g: Number
    domain: Ball
    rho: Number
    decreasing: bool
    sigma: Number | None
    evaluation_error: Number | None

    def _check_fields(self) -> None:
        _check.positive(G_g=self.G_g, rho=self.rho)
        _check.plain(self, "G_g", "rho")
        for name in ("sigma", "evaluation_error"):
            if getattr(self, name) is not None:
                _check.positive(**{name: getattr(self, name)})
                _check.plain(self, name)

    def tightening(self, t: Number, start_slack: Number) -> Number:
        r""":math:`\rho_t = \min(\alpha/2, \rho)`, or :math:`\min(\alpha/2, \rho/\sqrt t)`."""
        rho, half = self.rho / sqrt(t) if self.decreasing else self.rho, 0.5 * start_slack
        if type(half) is float and type(rho) is float:  # spelt out: it is asked for twice a round
            return rho if rho < half else half
        return minimum(half, rho)

    def room(
        self,
        x: Array,
        start: Array,
        rounds: Number,
        start_slack: Number,
        distance: Number,
        g: Number,
        s: Array,
        *,
        rounding: Number = 0.0,
    ) -> Room:
        """How long the next step may be; the formulas of the module.

        Args:
            x: the action played.
            start: the first one.
            rounds: how many were played before.
            start_slack: the slack of the first.
            distance: A as the last round left it.
            g: the value observed.
            s: the subgradient observed.
            rounding: what a step is rounded by beyond one half-space and the ball, as a length.
        """
        d, unit = x.shape[-1], _UNIT * self.domain.reach_from_origin
        if self.evaluation_error is None:
            # For g = max(a_i'x - b_i) the error is at most 4(d+4)u(|a_i||x| + |b_i|), and the row
            # that counts has |b_i| <= |a_i||x| + |g| with |g| <= 2 G_g R on the feasible set.
            noise = 16 * (d + 4) * unit * self.G_g
        else:
            # The bound is on g as the oracle rounds it; adding it to g, and rho, rounds once more.
            noise = self.evaluation_error + 8 * unit * self.G_g
        noise = noise + self.G_g * rounding
        error = 24 * (d + 8) * unit + noise / self.G_g
        kappa, seen = 4 * (d + 8) * _UNIT, g + noise
        if type(seen) is not float:
            return self._room_of_each(
                x - start, rounds, start_slack, distance, g, s, noise, error, kappa
            )
        # The short way, for one run: branches, and nothing computed that is not needed.
        if rounds == 0:
            start_slack = -seen
        if not start_slack > 0:
            raise InvalidValueError(
                "the start must be strictly feasible, by more than the rounding of g, "
                f"got g(x_1) = {g:g}"
            )
        rho = self.tightening(rounds + 1.0, start_slack)
        over, squared = seen + rho, None
        if seen <= -rho:
            left = over / self.G_g
        else:
            above = seen + start_slack
            near = over / (above if above > 0 else 1.0) * norm(x - start)
            if self.sigma is not None:
                near = minimum(near, over / self.sigma)
            if near < distance:
                distance = near
            squared = dot(s, s)
            # From g itself, so that the difference loses no digits, and by one noise less than the
            # half-space moves: then its relative error is that of a quotient, whatever g is.
            cut = g + rho - 2 * noise
            cut = cut / math.sqrt(squared) if cut > 0 and squared > 0 else 0.0
            short = (distance - cut) * (distance + cut) if cut < distance else 0.0
            left = math.sqrt(short + kappa * distance * distance)
        length = rho / self.G_g - left - error

        return new_tuple(Room, (start_slack, rho, distance, left, length, noise, error, squared))

    def _room_of_each(
        self,
        away: Array,
        rounds: Number,
        start_slack: Number,
        distance: Number,
        g: Number,
        s: Array,
        noise: Number,
        error: Number,
        kappa: float,
    ) -> Room:
        """The same for every run of a batch, or of another backend: both ways, and a choice."""
        seen = g + noise
        start_slack = where(rounds == 0, -seen, start_slack)
        rho = self.tightening(rounds + 1.0, start_slack)
        over, above, zero = seen + rho, seen + start_slack, 0.0 * rho  # seen may be infinite
        # Inside, and from a start that is refused, the denominator may be anything: make it 1.
        near = maximum(over, zero) / where(above > 0, above, 1.0) * norm(away)
        if self.sigma is not None:
            near = minimum(near, maximum(over, zero) / self.sigma)
        near = minimum(distance, near)
        squared = dot(s, s)
        cut = maximum(g + rho - 2 * noise, zero) / where(squared > 0, sqrt(squared), 1.0)
        short = maximum(near - cut, zero) * (near + cut)
        root = sqrt(short + kappa * near * near)
        left = where(seen <= -rho, over / self.G_g, root)
        length = rho / self.G_g - left - error
        return Room(start_slack, rho, near, left, length, noise, error, squared)

    def distance_after(self, room: Room, rounds: Number, taken: Number) -> Number:
        r"""A for the next round: :math:`[B + \ell + e]_+`, less what a smaller rho brings nearer.

        :math:`X_{\rho'}` with :math:`\rho' < \rho` holds every point within
        :math:`(\rho - \rho')/G_g` of :math:`X_\rho`.
        """
        reached = room.left + taken + room.error
        if self.decreasing:
            nearer = room.rho - self.tightening(rounds + 2.0, room.start_slack)
            reached = reached - nearer / self.G_g
        # Without room nothing moves, and what is known stays as it is: less rho, less distance.
        if type(reached) is float:
            reached = reached if room.length > 0 else room.distance
            return reached if reached > 0 else 0.0
        reached = where(room.length > 0, reached, room.distance)
        return maximum(reached, 0.0 * reached)

    def next_bound(self, room: Room, taken: float, g: float) -> float:
        r"""The certified bound on the next g of one run: :math:`G_g(B + \ell + e) - \rho`.

        Without room nothing moves, and the next g is this one.
        """
        if room.length > 0:
            # At the full length this is 0, up to a rounding that the error has room for.
            return min(float(self.G_g * (room.left + taken + room.error) - room.rho), 0.0)
        return g

    def contradictions(
        self, room: Room, rounds: float, distance: float, g: float, s: Array
    ) -> list[str]:
        """What one run has seen that cannot be if the constants are right; one sentence each.

        Args:
            room: the round's.
            rounds: how many were played before.
            distance: A as the last round left it.
            g: the value observed.
            s: the subgradient observed.
        """
        found, t, steep = [], int(rounds) + 1, float(norm(s))
        if steep > self.G_g * (1 + 1e-12):
            found.append(f"round {t}: |s| = {steep:.6g} exceeds G_g = {self.G_g:.6g}")
        limit = self.G_g * distance - room.rho + 2 * room.noise
        if g > limit:
            found.append(
                f"round {t}: g = {g:.6g} is above its certified bound {limit:.3g}: G_g = "
                f"{self.G_g:.6g} is too small, or g is not convex or not the one of round 1"
            )
        cut = max(g + room.rho - room.noise, 0.0) / steep if steep > 0 else 0.0
        # Computed distances err by the root of the rounding unit relative to themselves.
        if cut > room.distance * (1 + 1e-7) + room.error and g + room.noise > -room.rho:
            found.append(
                f"round {t}: the cut moves by {cut:.6g}, more than the distance "
                f"{room.distance:.6g} to the tightened set: G_g, sigma or the start is wrong"
            )
        return found


def stay_unless(room: Room, moved: Array, x: Array) -> Array:
    """The moved action where there is room, else x; NaN where the start was not feasible."""
    if type(room.length) is float:
        return moved if room.length > 0 else x
    # Not "> 0": where the length is NaN so is the moved action, which the game must see.
    kept = where(room.length <= 0, x, moved)
    return where(room.start_slack > 0, kept, math.nan)
