r"""Fallback actions: hold, and the return path to a certified point.

**Holding.** For a fixed g an action that was certified, or measured feasible, stays feasible,
whatever a sensor says later. If g may rise by v per round, it is feasible while
:math:`b + kv \le 0`, with b the bound on g there and k the age of the bound.

**The return path.** g convex, :math:`g(x) \le b` and :math:`g(a) \le -\alpha` at a point a that was
measured: then for every share :math:`\theta \in [0, 1]`

.. math:: g(x + \theta(a - x)) \le (1-\theta)b - \theta\alpha ,

which is at most -c from :math:`\theta = (b+c)/(b+\alpha)` on, for :math:`c \le \alpha`: also from
an x that is not feasible, at any speed, and without any constant. Under drift b and
:math:`\alpha` age by v per round, each from the round that it was measured in, and nothing is
proved when :math:`\alpha` is used up. If g is not convex the return path may leave the feasible
set: then, and between choices, a itself is played at once, and no speed is accepted.
"""

import math
from typing import Annotated, Literal, NamedTuple, TypeAlias

from surefoot.core.arrays import norm, round_up
from surefoot.core.forms import POSITIVE
from surefoot.core.types import Array
from surefoot.knowledge import Anchor, pull_share

__all__ = ["Fallback", "FallbackQuery", "Halt", "How", "ReturnPath", "risen"]

How: TypeAlias = Literal["stepped", "held", "retreated"]
"""How the next action came about: by the rule, by staying, or by the return path."""

# The share of the anchor's slack that the return path keeps once drift used up the bound.
_KEPT = 2.0**-20
# Of bound and slack, what a point between them is rounded by: it is not quite on the way.
_ROUNDED = 2.0**-30


def risen(bound: float, drift: float) -> float:
    """Return a bound on g a round later, rounded up, so that many rounds do not add up to less."""
    return round_up(bound + drift) if drift else bound


class Halt(NamedTuple):
    """Why nothing moves, or only back, until the controller resumes.

    Attributes:
        how: "held" or "retreated".
        reason: in words.
        round: since which it is so.
        speed: the distance per round on the return path; None for all of it at once.
        is_order: whether an operator ordered it, and not a contradiction.
    """

    how: How
    reason: str
    round: int
    speed: Annotated[float | None, POSITIVE] = None
    is_order: bool = False


class ReturnPath(NamedTuple):
    """The certificate of a fallback action.

    Attributes:
        round: the round that was played.
        how: "held" or "retreated".
        reason: in words.
        share: of the path from the last action to the anchor.
        anchor_round: in which the anchor was measured; 0 without an anchor, and for a start with
            a ``start_bound``.
        slack: of the anchor, in the round that comes.
        drift: by which g may rise per round.
        bound: the next g is at most this; infinite if it is unbounded.
        cut: always false: no half-space was involved.
    """

    round: int
    how: How
    reason: str
    share: float
    anchor_round: int
    slack: float
    drift: float
    bound: float
    cut: bool = False

    def __str__(self) -> str:
        if self.share == 0.0:
            how = "the action stays"
        elif self.share == 1.0:
            how = f"back to {self._where}, with slack {self.slack:.3g}"
        else:
            how = (
                f"{self.share:.3g} of the return path to {self._where}, "
                f"which has slack {self.slack:.3g}"
            )
        if not self.bound < math.inf:
            return f"round {self.round}: {self.reason}: {how}; the next g is unbounded"
        if self.share == 1.0 and not self.anchor_round:
            return (
                f"round {self.round}: {self.reason}: {how}; the next g is at most "
                f"{self.bound:.3g}, by its start_bound"
            )
        rests = [] if self.share in (0.0, 1.0) else ["convex"]
        rests += [f"rises by at most {self.drift:g} per round" if self.drift else "does not change"]
        return (
            f"round {self.round}: {self.reason}: {how}; the next g is at most {self.bound:.3g} "
            f"if g {'is ' if rests[0] == 'convex' else ''}{' and '.join(rests)}"
        )

    @property
    def _where(self) -> str:
        """The end of the return path, in words."""
        return f"the action of round {self.anchor_round}" if self.anchor_round else "the start"


Fallback: TypeAlias = tuple[Array, ReturnPath]
"""A fallback action and its certificate."""


class FallbackQuery(NamedTuple):
    """What a fallback action is found from.

    Attributes:
        t: the round that was played.
        x: the action, of that round or planned for the next.
        bound: of g at x in the next round; infinite if it is unbounded.
        anchor: the end of the return path; None without one.
        drift: by which g may rise per round.
        reason: in words.
        convex: whether g is; if not, or with choices, no point between x and the anchor is played.
        pace: how far an actuator goes in a round; None for any distance.
        refuted: whether a reading contradicts a premise of feasibility: then no bound counts that
            a drift carried from round to round.
    """

    t: int
    x: Array
    bound: float
    anchor: Anchor | None
    drift: float
    reason: str
    convex: bool = True
    refuted: bool = False
    pace: float | None = None

    def follow(self, halt: Halt, keep: float = 0.0) -> Fallback:
        """Return the next action: x, or a point of the return path, as a halt orders.

        If a drift is refuted, only a start with a ``start_bound`` is certain.
        """
        stands_alone = self.refuted and self.drift and self._is_standing
        goes_back = halt.how == "retreated" or stands_alone
        return self.back(halt.speed) if goes_back else self.held(keep)

    def stay(self) -> Fallback:
        """Return x for the next round, proved or not."""
        return (self.x, self._way("held", 0.0, self.bound))

    def held(self, keep: float = 0.0) -> Fallback:
        """Return x for the next round while its bound allows that, else the shortest return.

        Args:
            keep: the share of the anchor's slack that the return path restores.
        """
        bound, slack = self.bound, self._slack
        unknown = not bound < math.inf and not self.drift
        if self.anchor is None or unknown or bound <= 0:
            return self.stay()
        # Without slack nothing is proved: fall back to the anchor.
        share = 1.0
        if bound < math.inf and self.convex:
            share = min(pull_share(bound, -slack, max(keep, _KEPT) * slack), 1.0)
        return self._at(self.anchor, share)

    def back(self, speed: float | None = None) -> Fallback:
        """Return a point of the return path for the next round, at most ``speed`` along it.

        If drift needs more than the speed allows, the step is longer.
        """
        if self.anchor is None:
            return self.stay()
        far, least = float(norm(self.anchor.x - self.x)), self.held()[1].share
        share = 1.0 if speed is None or far <= speed else speed / far
        return self._at(self.anchor, max(share, least))

    @property
    def _is_standing(self) -> bool:
        """Whether the bound at the anchor holds in every round."""
        return self.anchor is not None and not self.anchor.ages

    @property
    def _slack(self) -> float:
        """The slack of the anchor in the next round; 0 without one."""
        return 0.0 if self.anchor is None else -self.anchor.level(self.t + 1, self.drift)

    def _at(self, anchor: Anchor, share: float) -> Fallback:
        slack, far = self._slack, float(norm(anchor.x - self.x))
        share = share if self.convex else 1.0
        if self.pace is not None and share * far > self.pace:  # proved or not, it goes no further
            if not self.convex:  # nor is there a point on the way
                far_away = self._replace(reason=f"{self.reason}, further than the ramp allows")
                return (anchor.x, far_away._way("retreated", 1.0, math.inf))
            share = self.pace / far
        if share == 1.0 or (anchor.x == self.x).all():
            return (anchor.x, self._way("retreated", 1.0, -slack))
        below = (1.0 - share) * self.bound - share * slack
        below += _ROUNDED * (abs(self.bound) + abs(slack))
        point = self.x + share * (anchor.x - self.x)
        return (point, self._way("retreated", share, below))

    def _way(self, how: How, share: float, bound: float) -> ReturnPath:
        since = 0 if self.anchor is None else int(self.anchor.round)
        slack, drift = self._slack, self.drift
        is_aged = drift and not (self._is_standing and share == 1.0)
        if self.refuted and is_aged:
            bound = math.inf
        return ReturnPath(self.t, how, self.reason, share, since, slack, drift, float(bound))
