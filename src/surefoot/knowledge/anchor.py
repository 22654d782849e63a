r"""A point where g was measured: how its bound ages, and the pull towards it.

Under a drift of at most v per round, :math:`g(a) \le h` in round i is :math:`g(a) \le h + (t-i)v`
in round t.

**The pull.** If g is convex, with :math:`g(x) \le h` and :math:`g(a) \le -\alpha < 0` in the next
round, then for :math:`\theta \in [0, 1]`

.. math:: g(x + \theta(a-x)) \le (1-\theta)h - \theta\alpha ,

which is at most -c from :math:`\theta = (h+c)/(h+\alpha)` on, for :math:`c \le \alpha`: also from
an x that is not feasible, and without a slope or a constant.
"""

from typing import NamedTuple

from surefoot.core.arrays import round_up, where
from surefoot.core.forms import Moment
from surefoot.core.types import Array, Number
from surefoot.knowledge.errors import is_zero

__all__ = ["ANCHORS", "Anchor", "StandingAnchor", "pull_share"]


class Anchor(NamedTuple):
    """A point, a bound on g there, and the round of the bound.

    Attributes:
        x: the point.
        value: an upper bound on g there; one number per constraint if they are seen separately.
        round: the round of the bound.
    """

    x: Array
    value: Number
    round: Moment

    @property
    def ages(self) -> bool:
        """Whether the bound rises with the drift of every round."""
        return True

    def level(self, t: Number, drift: Number) -> Number:
        """Return the bound on g there in round t, rounded up.

        >>> import numpy as np
        >>> Anchor(np.zeros(2), -0.5, 3.0).level(5.0, 0.125) >= -0.25
        True
        """
        if is_zero(drift):
            return self.value
        rise = round_up(drift * abs(t - self.round))
        return where(rise > 0, round_up(self.value + rise), self.value)


class StandingAnchor(Anchor):
    """A point where the bound on g holds in every round, however g drifts elsewhere."""

    __slots__ = ()

    @property
    def ages(self) -> bool:
        """Whether the bound rises with the drift of every round: it does not."""
        return False

    def level(self, t: Number, drift: Number) -> Number:
        """Return the bound, which does not age."""
        return self.value


ANCHORS: tuple[type[Anchor], ...] = (Anchor, StandingAnchor)
"""The kinds of anchors that a stored state may have."""


def pull_share(here: Number, there: Number, keep: Number = 0.0) -> Number:
    """Return the share of the way to an anchor from which on g is at most -keep.

    It is above 1 if there is none: then the anchor itself may violate.

    Args:
        here: the bound on the next g at the action.
        there: the bound at the anchor.
        keep: how far below 0.

    Example:
        >>> pull_share(0.25, -0.75)
        0.25
        >>> pull_share(-0.5, -0.75), pull_share(0.25, 0.0)
        (0.0, 2.0)
    """
    over = here + keep
    some = (over > 0) & (there < -keep)
    share = over / where(some, here - there, 1.0)
    return where(some, share, where(over > 0, 2.0 + 0.0 * over, 0.0 * over + 0.0))
