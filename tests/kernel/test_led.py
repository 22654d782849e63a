"""The kernel against the Python text: the same actions, bounds and alarms, told the same rounds."""

import numpy as np
import pytest

from surefoot import kernel
from tests.kernel.players import Limit, players

pytestmark = pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")

SIZES = (1, 2, 20)
NAMES = list(players(2))
# The others differ from these in what their constants are, not in what is done.
LONG = ("leader, default", "leader, drift", "length, fixed", "length, drift")
LONG += ("filter, hull in a box", "descent, ball", "descent, rows", "averaging, ball, in a ball")


@pytest.mark.parametrize("name", NAMES)
def test_the_kernel_has_every_player(name):
    assert players(2)[name].engine == "kernel"


def compare_notes(one, other):
    """Compare what the bounds on the regret are made of."""
    for ours, theirs in zip(one or (), other or (), strict=True):
        if isinstance(ours, tuple) and theirs is not None:
            compare_notes(ours, theirs)
        elif theirs is not None:  # what the kernel alone has is compared by the sums
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)


def play_led(player, d, rounds, look=1):
    """Tell both engines what was read at Python's actions; return the largest differences."""
    limit, x1 = Limit(player, d), np.zeros(d)
    ours = theirs = player.init(x1)
    worst = bound = 0.0
    # Where cuts are merged, or noisy slopes fill the memory with nearly parallel ones, a last bit
    # grows to something within a hundred rounds, in Python alone too: both begin anew, alike.
    parts = player.proposer.cuts == 2 if hasattr(player.proposer, "cuts") else False
    parts = parts or 0 < player.errors.slope < np.inf
    for t in range(rounds):
        if parts and t % 5 == 0:
            ours = theirs
        told = limit.told(t, theirs.x)
        if limit.separately:
            told = told._replace(action=theirs.x)
        if t % 17 == 9:  # nobody measured
            told = told._replace(constraint_value=None, constraint_subgradient=None)
        if t % 13 == 7:
            told = told._replace(cost_gradient=None, value_error=2.0 * player.errors.value)
        ours, known = player.step(ours, told)
        theirs, info = player.step_in_python(theirs, told)
        assert ours.kernel is not None, t
        worst = max(worst, float(abs(ours.x - theirs.x).max()))
        if t % look:
            continue
        one, other = known.certificate, info.certificate
        assert (type(one), one.round, one.cut) == (type(other), other.round, known.cut)
        assert one.bound == known.kernel.bound
        # Where nothing moved, to the last bit, half of the margin for rounding is not in it.
        bound = max(bound, abs(one.bound - other.bound) - info.region.noise)
        assert known.contradictions == info.contradictions == (), t
        assert known.region.contains(ours.x) or not info.region.contains(theirs.x)
        assert known.cut == (ours.x != known.proposal).any()
        assert type(known.note) is type(info.note)
        sums = player.observer()
        if not limit.separately:  # where several rows meet, multipliers are not unique
            compare_notes(known.note, info.note)
        if not limit.separately and sums is not None:
            compare_notes(sums.after(known), sums.after(info))
    return worst, bound


@pytest.mark.parametrize(
    ("name", "d"),
    [
        pytest.param(n, d, marks=() if d == 2 and n in LONG else pytest.mark.slow)
        for n in NAMES
        for d in SIZES
    ],
)
def test_actions_and_bounds_are_python_s_up_to_rounding(name, d):
    player = players(d)[name]
    assert max(play_led(player, d, 40)) <= 1e-12


@pytest.mark.parametrize("d", [2, 20])
@pytest.mark.parametrize("name", ["probing, default", "probing, drift"])
def test_probes_are_python_s_in_400_rounds(name, d):
    # A difference of values divides a last bit by the length of a probe: each step is led.
    player, probes = players(d)[name], 0
    limit, state = Limit(player, d), player.init(np.zeros(d))
    for t in range(400):
        told = limit.told(t, state.x)
        led, _ = player.step(state, told)
        state, _ = player.step_in_python(state, told)
        assert led.kernel is not None, t
        ours, theirs = led.learner, state.learner
        assert abs(led.x - state.x).max() <= 1e-12, t
        assert (ours.probes, ours.length) == (theirs.probes, pytest.approx(theirs.length, 1e-12))
        np.testing.assert_allclose(ours.slopes, theirs.slopes, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(ours.leader.Z, theirs.leader.Z, rtol=0, atol=1e-12)
        probes += theirs.probes > 0
    assert probes >= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_they_stay_so_for_1000_rounds(name):
    rounds = 1_000 if name in LONG else 60
    assert max(play_led(players(5)[name], 5, rounds, look=50)) <= 1e-12
