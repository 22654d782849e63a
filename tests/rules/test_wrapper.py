"""Wrappers whose constructor makes the base: a subclass of one's own is one of them."""

import pytest

from surefoot import Ball, Constants
from surefoot.knowledge import Curvature, Errors
from surefoot.rules import ValuesAveraging, ValuesFollower

KNOWN = Constants(R=1.0, G_g=1.0, start_slack=0.5, beta=0.1)


class Follower(ValuesFollower):
    """One that inherits the constructor."""


class Averaging(ValuesAveraging):
    """Likewise."""


class Unit(ValuesFollower):
    """One with a constructor of its own."""

    def __init__(self) -> None:
        super().__init__(G_g=1.0, domain=Ball(1.0))


MADE = {
    Follower: lambda: Follower(G_g=1.0, domain=Ball(1.0)),
    Averaging: lambda: Averaging(
        knowledge=Curvature(beta=0.1, reach=1.0), radius=1.0, start_slope=1.0
    ),
    Unit: Unit,
}


@pytest.mark.parametrize("kind", MADE, ids=lambda kind: kind.__name__)
def test_a_subclass_is_made_tuned_and_changed_as_the_class_is(kind):
    player = MADE[kind]()
    other = player.allowing(Errors(value=0.1))
    assert type(other) is type(kind.default(KNOWN).algorithm) is kind
    assert other.errors.value == 0.1
    assert player.with_base(player.base) == player
