"""A new player that starts where the anchor is has the anchor's proof, and nothing else has one."""

import numpy as np
import pytest

from surefoot import Ball, Controller
from surefoot.rules import LeaderFollower

A = np.array([0.6, 0.8])
B, DRIFT = 0.5, 2.0**-7


def player(drift):
    return LeaderFollower(G_g=1.0, domain=Ball(2.0), drift=drift)


def tell(controller, x):
    controller.tell(
        cost_gradient=[-1.0, -1.0],
        constraint_value=float(A @ np.array(x)) - B,
        constraint_subgradient=A,
    )


def play(controller, rounds):
    for _ in range(rounds):
        tell(controller, controller.ask())


@pytest.mark.parametrize("drift", [0.0, DRIFT])
@pytest.mark.parametrize("start", [None, [0.0, 0.0]])
def test_a_fresh_start_at_the_anchor_is_proved_by_what_was_read_there(drift, start):
    controller = Controller(player(drift), [0.0, 0.0])
    play(controller, 1)  # g = -B was read at the start, in round 1
    play(controller, 2)
    controller.resume(player(drift), start=start)
    assert controller.ask().tolist() == [0.0, 0.0]
    explained = controller.explain()
    assert explained.is_proven
    # Round 4 is three rounds after the reading.
    assert explained.bound == pytest.approx(-B + 3 * drift, abs=1e-12)
    assert explained.bound >= -B + 3 * drift
    play(controller, 5)
    assert controller.explain().is_proven


@pytest.mark.parametrize("start", [[0.0, 0.125], [0.125, 0.0], [-0.25, 0.25]])
def test_a_fresh_start_elsewhere_is_not_proved_before_it_is_read(start):
    controller = Controller(player(0.0), [0.0, 0.0])
    play(controller, 3)
    controller.resume(player(0.0), start=start)
    assert not controller.explain().is_proven
    assert controller.explain().bound is None
    assert controller.ask().tolist() == start
    tell(controller, start)
    assert controller.explain().is_proven
