"""Wrappers whose constructor makes the base: a subclass of one's own is one of them."""

import pytest

from surefoot import Constants
from surefoot.knowledge import Curvature, Errors
from surefoot.rules import ValuesAveraging

SMOOTH = {"knowledge": Curvature(beta=0.1, reach=1.0), "radius": 1.0, "start_slope": 1.0}


class Averaging(ValuesAveraging):
    """One that inherits the constructor."""


class Unit(ValuesAveraging):
    """One with a constructor of its own."""

    def __init__(self) -> None:
        super().__init__(**SMOOTH)


MADE = {Averaging: lambda: Averaging(**SMOOTH), Unit: Unit}


@pytest.mark.parametrize("kind", MADE, ids=lambda kind: kind.__name__)
def test_a_subclass_is_made_and_changed_as_the_class_is(kind):
    player = MADE[kind]()
    other = player.allowing(Errors(value=0.1))
    assert type(other) is kind
    assert other.errors.value == 0.1
    assert player.with_base(player.base) == player


def test_a_subclass_is_tuned_as_the_class_is():
    tuned = Averaging.default(Constants(R=1.0, G_g=1.0, start_slack=0.5, beta=0.1))
    assert type(tuned.algorithm) is Averaging
