"""The margin for a host that plays rounded copies of certified points."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot import Ball, SafetyFilter
from surefoot.adapters._cast import cast_length, cast_margin, caveat, drift_of, reach_of
from surefoot.adapters._keeper import Keeper, grown, packed, unpacked
from surefoot.algorithms import RegionFilter
from surefoot.core.errors import InvalidValueError
from surefoot.problems.constraints import L2Norm, QuadraticForm
from surefoot.regions import Curvature, CurvatureHull, CurvatureRows, LipschitzHull, Together
from surefoot.sets import Box

D = 5
G = QuadraticForm(np.diag([1.0, 2.0, 3.0, 4.0, 5.0]), 0.1 * np.ones(D), 0.3)
BALL = Ball(1.0)
STEEP = G.subgradient_bound(BALL)
HULL = LipschitzHull(G_g=STEEP, reach=1.0)
FILTERS = {
    "safety": SafetyFilter(G_g=STEEP, domain=BALL, rho=0.2, decreasing=True),
    "tiny rho": SafetyFilter(G_g=STEEP, domain=BALL, rho=1e-9),
    "hull": RegionFilter(known=HULL),
    "curvature": RegionFilter(known=Curvature(beta=5.0, reach=1.0)),
    "curvature hull": RegionFilter(known=CurvatureHull(beta=5.0, reach=1.0)),
    "rows": RegionFilter(known=CurvatureRows(beta=(5.0, 0.0), reach=1.0)),
    "together": RegionFilter(
        known=Together(
            rows=(HULL, Curvature(beta=0.0, reach=1.0)), domain=Box([-0.2] * D, [0.2] * D)
        )
    ),
}
ROW = np.array([1.0, -1.0, 0.0, 0.5, 0.0])


def measured(safe, x):
    g, s = G.query(x)
    if isinstance(getattr(safe, "known", None), (CurvatureRows, Together)):
        return np.array([g, ROW @ x - 0.05]), np.stack([s, ROW])
    return g, s


@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=8))
@settings(max_examples=60)
def test_rounding_to_float32_moves_a_point_by_no_more_than_the_length(values):
    p = np.array(values)
    moved = np.linalg.norm(p.astype(np.float32).astype(np.float64) - p)
    assert moved <= cast_length(np.float32, len(p), np.linalg.norm(p))


@pytest.mark.slow
@pytest.mark.parametrize("box", [None, (np.full(D, -0.25), np.full(D, 0.15625))], ids=["", "box"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FILTERS)
def test_every_point_that_is_played_is_feasible_and_representable(name, dtype, box):
    random = np.random.default_rng(3)
    keeper = Keeper(FILTERS[name], np.zeros(D), dtype, box)
    for t in range(150):
        x = keeper.action().astype(np.float64)
        g, s = measured(FILTERS[name], x)
        assert np.max(g) <= 0
        if box is not None:
            assert (box[0] <= x).all()
            assert (x <= box[1]).all()
        info = keeper.offer(3 * random.normal(size=D) if t % 5 else 10 * np.ones(D), g, s)
        assert info.contradictions == ()
        np.testing.assert_array_equal(keeper.played, keeper.action())


def test_without_the_margin_a_rounded_point_is_outside():
    safe, random = RegionFilter(known=Curvature(beta=0.0, reach=1.0)), np.random.default_rng(0)
    state, worst = safe.init(np.zeros(D)), -1.0
    for _ in range(100):
        q = state.x.astype(np.float32).astype(np.float64)
        g, s = float(ROW @ q) - 0.05, ROW
        worst = max(worst, g)
        if g > 0:
            break
        state, _ = safe.admit(state._replace(x=q), 5 * random.normal(size=D), g, s)
    assert worst > 0


def test_the_margin_of_a_curvature_covers_the_move_by_hand():
    # beta 2, M = 1, |s| = 5, c = 0.5: (5 + 2 (2 + 0.5)) 0.5.
    assert cast_margin(Curvature(beta=2.0, reach=1.0), np.array([3.0, 4.0]), 0.5) == 5.0
    ahead = cast_margin(Curvature(beta=2.0, reach=1.0), np.zeros(2), 0.5, ahead=True)
    assert ahead == 4.5  # 2 (4 + 0.5) 0.5: no later slope is above 2 beta M = 4
    rows = CurvatureRows(beta=(2.0, 0.0), reach=1.0)
    slopes = np.array([[3.0, 4.0], [0.0, 2.0]])
    assert cast_margin(rows, slopes, 0.5).tolist() == [5.0, 1.0]


def test_rounding_is_not_taken_for_a_wrong_curvature():
    # The first slope is 0, later ones are not: the margin must not grow with them. The curvature
    # is exact, so that nothing hides a difference.
    g = QuadraticForm([[1.5]], [0.0], 0.7)
    keeper = Keeper(RegionFilter(known=Curvature(beta=1.5, reach=1.0)), [0.0], np.float32)
    for _ in range(200):
        info = keeper.offer(keeper.played + 1e-3, *g.query(keeper.played))
        assert info.contradictions == ()


def test_a_start_with_less_slack_than_the_margin_is_refused():
    g = L2Norm(1.0)
    x = np.array([1.0 - 2.0**-24, 0.0])
    keeper = Keeper(SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1), x, np.float32)
    with pytest.raises(InvalidValueError, match="start"):
        keeper.offer([0.0, 0.0], *g.query(x))
    np.testing.assert_array_equal(keeper.played, x)


def test_words_say_where_rho_is_below_the_margin():
    tight = Keeper(SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=1e-9), [0.0], np.float32)
    assert "rho = 1e-09 is below that" in tight.guarantee
    assert caveat(tight.filter, np.float64, 0.0) == ""
    assert "float32" not in Keeper(tight.filter, [0.0], np.float64).guarantee


QUIET = SimpleNamespace(contradictions=())


class Seen(NamedTuple):
    x: np.ndarray
    distance: float


class Echo:
    """A filter that certifies everything and remembers what it was told."""

    G_g, domain = 4.0, Ball(2.0)

    def init(self, x1):
        return Seen(x1, 0.25)

    def admit(self, state, proposal, g, s):
        self.told = state, proposal, g
        return Seen(proposal, 0.125), QUIET


def test_the_filter_is_told_of_the_rounded_action_its_distance_and_a_larger_g():
    echo = Echo()
    keeper = Keeper(echo, [0.0], np.float32)
    c = keeper.length
    assert c == pytest.approx(2.0**-24 * 2.0, rel=2e-3)
    keeper.offer([0.1], -1.0, [1.0])
    keeper.offer([0.3], -0.5, [1.0])
    state, proposal, g = echo.told
    assert state.x.tolist() == [float(np.float32(0.1))]  # not the 0.1 that was certified
    assert state.distance == 0.125 + c
    assert g == -0.5 + 4.0 * c
    assert proposal.tolist() == [0.3]


def test_a_step_out_of_the_box_ends_on_its_way_there():
    echo = Echo()
    echo.admit = lambda state, proposal, g, s: (Seen(np.array([2.0, 0.8]), 0.125), QUIET)
    box = np.array([-1.0, -1.0]), np.array([1.0, 1.0])
    keeper = Keeper(echo, [0.0, 0.0], np.float64, box)
    keeper.offer([9.0, 9.0], -1.0, [1.0, 0.0])
    np.testing.assert_allclose(keeper.played, [1.0, 0.4], rtol=1e-15)
    # The distance to a convex set is at most the larger of those of the ends.
    assert keeper.state.distance == pytest.approx(0.25, abs=1e-14)


def test_a_drifting_filter_is_not_drawn_back_to_an_action_that_may_be_infeasible_by_now():
    echo = Echo()
    echo.drift = 0.1
    keeper = Keeper(echo, [0.0], np.float64, (np.array([-1.0]), np.array([0.5])))
    echo.admit = lambda state, proposal, g, s: (Seen(np.array([0.9]), 0.0), QUIET)
    with pytest.raises(InvalidValueError, match="must know the box of the actions"):
        keeper.offer([0.4], -1.0, [1.0])
    assert keeper.played.tolist() == [0.0]


def test_what_cannot_be_cast_is_refused_in_one_sentence():
    with pytest.raises(InvalidValueError, match="dtype must be float32 or float64, got float16"):
        cast_length(np.float16, 1, 1.0)
    with pytest.raises(InvalidValueError, match="filter must be a SafetyFilter"):
        Keeper(G, [0.0])
    with pytest.raises(InvalidValueError, match="a bound on the slope"):
        cast_margin(object(), np.zeros(1), 0.1)
    with pytest.raises(InvalidValueError, match="how long a feasible action is"):
        reach_of(object())
    with pytest.raises(InvalidValueError, match="start must be an action that the host accepts"):
        Keeper(FILTERS["hull"], [2.0], np.float64, (np.zeros(1), np.ones(1)))


def test_a_drift_that_the_filter_is_not_told_is_none():
    assert all(drift_of(one) is None for one in FILTERS.values())


@pytest.mark.parametrize("name", FILTERS)
def test_a_stored_state_continues_bit_by_bit(name):
    def rounds(keeper, n, seed):
        random = np.random.default_rng(seed)
        for _ in range(n):
            keeper.offer(random.normal(size=D), *measured(FILTERS[name], keeper.played))
        return keeper.action()

    keeper = Keeper(FILTERS[name], np.zeros(D), np.float32)
    rounds(keeper, 20, 0)
    other = Keeper(FILTERS[name], np.zeros(D), np.float32)
    other.load(keeper.vector())
    np.testing.assert_array_equal(rounds(keeper, 20, 1), rounds(other, 20, 1))
    np.testing.assert_array_equal(keeper.vector(), other.vector())
    with pytest.raises(InvalidValueError, match="the stored state must have"):
        other.load(np.zeros(3))


def test_nothing_that_is_returned_or_given_is_shared():
    keeper = Keeper(FILTERS["hull"], start := np.zeros(D))
    start += 7.0
    proposal, (g, s) = np.full(D, 0.01), G.query(np.zeros(D))
    keeper.offer(proposal, g, s)
    before = keeper.vector()
    proposal += 5.0
    s += 5.0
    keeper.action()[:] = 9.0
    np.testing.assert_array_equal(keeper.action(), np.full(D, 0.01))
    np.testing.assert_array_equal(keeper.vector(), before)


def test_states_are_packed_and_grow_with_their_actions():
    state = (np.arange(2.0), 5.0, (np.ones((2, 2)), None))
    again = unpacked(state, packed(state))
    assert again[1:2] == (5.0,)
    assert again[2][1] is None
    np.testing.assert_array_equal(again[2][0], np.ones((2, 2)))
    longer = grown(state, (np.zeros(3), 0.0, (np.zeros((2, 3)), None)))
    assert longer[0].tolist() == [0.0, 1.0, 0.0]
    assert longer[2][0].tolist() == [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]]
    with pytest.raises(InvalidValueError, match="must have 7 numbers, got 9"):
        unpacked(state, np.zeros(9))
