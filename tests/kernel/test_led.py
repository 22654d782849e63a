"""The kernel against the Python text: the same actions, bounds and alarms, told the same rounds."""

import numpy as np
import pytest

from surefoot import kernel
from tests.kernel.players import Limit, players

pytestmark = pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")

SIZES = (1, 2, 5, 20)
NAMES = list(players(2))


@pytest.mark.parametrize("name", NAMES)
def test_the_kernel_has_every_player(name):
    assert players(2)[name].engine == "kernel"


def play_led(player, d, rounds):
    """Tell both engines what was read at Python's actions; return the largest differences."""
    limit, x1 = Limit(player, d), np.zeros(d)
    ours = theirs = player.init(x1)
    worst = bound = 0.0
    for t in range(rounds):
        told = limit.told(t, theirs.x)
        if t % 17 == 9:  # nobody measured
            told = told._replace(constraint_value=None, constraint_subgradient=None)
        if t % 13 == 7:
            told = told._replace(cost_gradient=None, value_error=2.0 * player.errors.value)
        ours, known = player.step(ours, told)
        theirs, info = player.step_in_python(theirs, told)
        assert type(ours).__name__ == "KernelState", t
        worst = max(worst, float(abs(ours.x - theirs.x).max()))
        one, other = known.certificate, info.certificate
        assert (type(one), one.round, one.cut) == (type(other), other.round, known.cut)
        bound = max(bound, abs(one.bound - other.bound), abs(known.bound - other.bound))
        assert known.contradictions == info.contradictions == (), t
        assert known.region.contains(ours.x)
        assert known.cut == (ours.x != known.wish).any()
        note = info.note
        if note is not None:
            assert note[:2] == pytest.approx(known.note[:2], rel=1e-9)
    return worst, bound


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_actions_and_bounds_are_python_s_up_to_rounding(name, d):
    player = players(d)[name]
    assert max(play_led(player, d, 150)) <= 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("d", SIZES[1:])
@pytest.mark.parametrize("name", NAMES)
def test_they_stay_so_for_2000_rounds(name, d):
    # Noisy slopes fill the memory with nearly parallel cuts, and no engine follows another for
    # long there: neither does Python, told gradients that differ in the last bit.
    rounds = 300 if 0 < players(d)[name].errors.slope < np.inf else 2_000
    assert max(play_led(players(d)[name], d, rounds)) <= 1e-12
