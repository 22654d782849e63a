"""The bases of rules: what a subclass gets for naming its state and its fields."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from typing import NamedTuple

import numpy as np
import pytest

from surefoot import OGD, Ball, Feedback
from surefoot.core.algorithm import CostsOnly
from surefoot.core.parameters import Declared, positive, projectable, share
from surefoot.core.types import Array, Number, needs_of


class CountedState(NamedTuple):
    """An action, and numbers with the defaults of round 1."""

    x: Array
    total: Number = 0.0
    t: Number = 1.0


class Counted(Declared, CostsOnly):
    """Adds up the first entries of gradients."""

    state = CountedState
    share: float = share()
    domain: Ball = projectable()

    def next_state(self, state: CountedState, grad: Array) -> CountedState:
        x, total, t = state
        return CountedState(x, total + self.share * grad[..., :1], t + 1.0)


def test_the_first_state_has_the_numbers_of_round_1_in_the_form_of_its_run():
    player = Counted(share=0.5, domain=Ball(1.0))
    one, many = player.init(np.zeros(2)), player.init(np.zeros((3, 2)))
    assert (one.total, one.t) == (0.0, 1.0)
    np.testing.assert_array_equal(many.t, np.ones((3, 1)))


def test_what_a_rule_sees_is_said_by_its_base():
    assert needs_of(Counted).constraint_values == 0
    state = Counted(share=0.5, domain=Ball(1.0)).init(np.zeros(2))
    after = Counted(share=0.5, domain=Ball(1.0)).update(
        state, Feedback(np.array([3.0, 0.0]), None, None)
    )
    assert (float(after.total[0]), after.t) == (1.5, 2.0)


@pytest.mark.parametrize("share", [0.0, 1.0, float("nan")])
def test_fields_are_checked_by_their_declarations(share):
    with pytest.raises(ValueError, match="share must be strictly between 0 and 1"):
        Counted(share=share, domain=Ball(1.0))


def test_a_rule_may_be_derived():
    class Mine(OGD):
        more: float = positive(default=2.0)

    mine = Mine(eta=0.1, domain=Ball(1.0))
    assert [field.name for field in fields(mine)] == ["eta", "domain", "more"]
    assert mine == Mine(eta=0.1, domain=Ball(1.0)) != Mine(eta=0.1, domain=Ball(1.0), more=3.0)
    assert Mine.tunings == OGD.tunings
    with pytest.raises(FrozenInstanceError):
        mine.eta = 0.2
    with pytest.raises(FrozenInstanceError):
        del mine.eta
