"""The margin for a host that plays rounded copies of certified points."""

from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot import Ball, Feedback, SafetyFilter
from surefoot.adapters._keeper import (
    Keeper,
    cast_length,
    check_rounded,
    grow_state,
    pack_state,
    unpack_state,
)
from surefoot.certified import Certified
from surefoot.core.errors import InvalidValueError
from surefoot.guarantees import PremiseWarning
from surefoot.knowledge import (
    AverageLimit,
    Curvature,
    CurvatureRows,
    Errors,
    EstimatedCurvature,
    EstimatedHull,
    LipschitzHull,
    Together,
)
from surefoot.knowledge.base import Reading
from surefoot.problems.constraints import L2Norm, QuadraticForm
from surefoot.proposers.proposals import Proposals
from surefoot.rules import LeaderFollower, RegionFilter
from surefoot.sets import Box

D = 5
G = QuadraticForm(np.diag([1.0, 2.0, 3.0, 4.0, 5.0]), 0.1 * np.ones(D), 0.3)
BALL = Ball(1.0)
STEEP = G.subgradient_bound(BALL)
HULL = LipschitzHull(G_g=STEEP, reach=1.0)
FILTERS = {
    "safety": SafetyFilter(G_g=STEEP, domain=BALL, rho=0.2, decreasing=True),
    "tiny rho": SafetyFilter(G_g=STEEP, domain=BALL, rho=1e-9),
    "hull": RegionFilter(knowledge=HULL),
    "curvature": RegionFilter(knowledge=Curvature(beta=5.0, reach=1.0)),
    "rows": RegionFilter(knowledge=CurvatureRows(beta=(5.0, 0.0), reach=1.0)),
    "together": RegionFilter(
        knowledge=Together(
            rows=(HULL, Curvature(beta=0.0, reach=1.0)), domain=Box([-0.2] * D, [0.2] * D)
        )
    ),
}
ROW = np.array([1.0, -1.0, 0.0, 0.5, 0.0])


def measured(safe, x):
    g, s = G.query(x)
    if safe.needs.separately:
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
    for t in range(60):
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
    safe, random = RegionFilter(knowledge=Curvature(beta=0.0, reach=1.0)), np.random.default_rng(0)
    state, worst = safe.init(np.zeros(D)), -1.0
    for _ in range(100):
        q = state.x.astype(np.float32).astype(np.float64)
        g, s = float(ROW @ q) - 0.05, ROW
        worst = max(worst, g)
        if g > 0:
            break
        state = safe.update(
            state, Feedback(None, g, s, action=q, proposal=5 * random.normal(size=D))
        )
    assert worst > 0


def test_the_margin_of_a_curvature_covers_the_move_by_hand():
    # beta 2, M = 1, |s| = 5, c = 0.5: (5 + 2 (2 + 0.5)) 0.5.
    known, slope = Curvature(beta=2.0, reach=1.0), np.array([3.0, 4.0])
    assert known.rise(slope, 0.5) == 5.0
    assert known.rise(np.zeros(2), 0.5, ahead=True) == 4.5  # no later slope is above 2 beta M = 4
    # A true slope may be longer than the one that was read, by 0.25.
    off = Curvature(beta=2.0, reach=1.0, errors=Errors(slope=0.25))
    assert off.rise(slope, 0.5) == 5.125
    slopes = np.array([[3.0, 4.0], [0.0, 2.0]])
    rows = CurvatureRows(beta=(2.0, 0.0), reach=1.0)
    assert rows.rise(slopes, 0.5).tolist() == [5.0, 1.0]
    rows = CurvatureRows(beta=(2.0, 0.0), reach=1.0, errors=Errors(slope=0.25))
    assert rows.rise(slopes, 0.5).tolist() == [5.125, 1.125]
    mixed = Together(rows=(LipschitzHull(G_g=3.0, reach=1.0), off))
    assert mixed.rise(slopes[::-1], 0.5).tolist() == [1.5, 5.125]


def test_rounding_is_not_taken_for_a_wrong_curvature():
    # The first slope is 0, later ones are not: the margin must not grow with them. The curvature
    # is exact, so that nothing hides a difference.
    g = QuadraticForm([[1.5]], [0.0], 0.7)
    keeper = Keeper(RegionFilter(knowledge=Curvature(beta=1.5, reach=1.0)), [0.0], np.float32)
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
    assert "float32" not in Keeper(tight.filter, [0.0], np.float64).guarantee


class Listening(Proposals):
    """Proposals that are written down, with what was told."""

    heard: ClassVar[list[Feedback]] = []

    def propose(self, learner, x, feedback, region):
        self.heard.append(feedback)
        return super().propose(learner, x, feedback, region)


def test_the_filter_is_told_of_the_rounded_action_and_a_larger_g():
    known = LipschitzHull(G_g=4.0, reach=2.0)
    keeper = Keeper(Certified(proposer=Listening(), knowledge=known), [0.0], np.float32)
    c = keeper.length
    assert c == pytest.approx(2.0**-24 * 2.0, rel=2e-3)
    keeper.offer([0.1], -1.0, [3.0])
    keeper.offer([0.3], -0.7, [3.0])
    told = Listening.heard[-1]
    assert told.action.tolist() == [float(np.float32(0.1))]  # not the 0.1 that was certified
    assert told.constraint_value == -0.7 + 4.0 * c
    assert told.proposal.tolist() == [0.3]


@pytest.mark.parametrize("drift", [0.0, 0.001])
@pytest.mark.parametrize("name", ["hull", "safety"])
def test_a_proposal_out_of_the_box_is_taken_to_the_box_also_under_drift(name, drift):
    errors = Errors(drift=drift)
    safe = SafetyFilter(G_g=1.0, domain=Ball(3.0), rho=0.1).allowing(errors)
    if name == "hull":
        safe = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=3.0, errors=errors))
    box = np.array([-1.0, -1.0]), np.array([1.0, 0.5])
    keeper = Keeper(safe, [0.0, 0.0], np.float64, box)
    for _ in range(30):
        g, s = float(keeper.played[0]) - 0.5, np.array([1.0, 0.0])
        assert g <= 0
        keeper.offer([9.0, 9.0], g, s)
        assert (box[0] <= keeper.played).all()
        assert (keeper.played <= box[1]).all()
    assert keeper.played[0] > 0.3
    assert keeper.played[1] > 0.49


def test_what_cannot_be_cast_is_refused_in_one_sentence():
    with pytest.raises(InvalidValueError, match="dtype must be float32 or float64, got float16"):
        cast_length(np.float16, 1, 1.0)
    with pytest.raises(InvalidValueError, match="filter must be a SafetyFilter"):
        Keeper(G, [0.0])
    with pytest.raises(InvalidValueError, match="filter must be a SafetyFilter"):
        Keeper(LeaderFollower(G_g=1.0, domain=BALL), [0.0])
    with pytest.raises(InvalidValueError, match="start must be an action that the host accepts"):
        Keeper(FILTERS["hull"], [2.0], np.float64, (np.zeros(1), np.ones(1)))


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
    again = unpack_state(state, pack_state(state))
    assert again[1:2] == (5.0,)
    assert again[2][1] is None
    np.testing.assert_array_equal(again[2][0], np.ones((2, 2)))
    longer = grow_state(state, (np.zeros(3), 0.0, (np.zeros((2, 3)), None)))
    assert longer[0].tolist() == [0.0, 1.0, 0.0]
    assert longer[2][0].tolist() == [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]]
    with pytest.raises(InvalidValueError, match="must have 7 numbers, got 9"):
        unpack_state(state, np.zeros(9))


def test_after_a_contradiction_the_guarantee_promises_nothing():
    keeper = Keeper(RegionFilter(knowledge=LipschitzHull(G_g=1.0, domain=Ball(2.0))), [0.0])
    assert keeper.guarantee.startswith("g <= 0 in every round")
    keeper.offer([0.25], -0.5, [1.0])
    with pytest.warns(PremiseWarning, match="G_g"):
        keeper.offer([0.25], 3.0, [9.0])
    assert keeper.guarantee.startswith("nothing: ")


@pytest.mark.parametrize(
    ("knowledge", "words"),
    [
        (AverageLimit(G_g=1.0, reach=2.0, most=0.5), "the sum of g over the rounds is <= 0"),
        (EstimatedHull(domain=Ball(2.0)), "g <= 0 but in rounds from which G_g is learnt"),
    ],
)
def test_the_guarantee_is_that_of_the_knowledge(knowledge, words):
    assert Keeper(RegionFilter(knowledge=knowledge), [0.0]).guarantee.startswith(words)


# --- unknown constants ---------------------------------------------------------------------------


def wall(steep):
    """Return g(x) = max(|x|^2 - 1, steep (x[0] - 0.5)), with a slope; no G_g is known."""

    def query(x):
        rows = float(x @ x) - 1.0, steep * (float(x[0]) - 0.5)
        slopes = 2 * x, steep * np.eye(len(x))[0]
        return rows[rows[1] > rows[0]], slopes[rows[1] > rows[0]]

    return query


def bend(sharp):
    """Return g(x) = |x|^2 - 0.3 + sin(sharp x[0])/sharp^2: beta is at most 3, and not convex."""

    def query(x):
        value = float(x @ x) - 0.3 + np.sin(sharp * x[0]) / sharp**2
        slope = 2 * x
        slope[0] += np.cos(sharp * x[0]) / sharp
        return float(value), slope

    return query


UNKNOWN = {
    "slope": (lambda **told: RegionFilter.unknown(Ball(1.5), **told), wall),
    "curvature": (lambda **told: RegionFilter.unknown_curvature(Ball(1.5), **told), bend),
}


def play_unknown(keeper, query, rounds, wish):
    """Return g where it was played, and each action, in rounds of hostile wishes."""
    played, values = [], []
    for t in range(rounds):
        x = keeper.action().astype(np.float64)
        g, s = query(x)
        played.append(x)
        values.append(g)
        keeper.offer(wish(t, x), g, s)
    return values, played


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("told", [{}, {"violations": 1}], ids=["any", "one"])
@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_constant_counts_every_violation_in_float32(name, told, seed):
    make, limit = UNKNOWN[name]
    random, query = np.random.default_rng(seed), limit(30.0)
    keeper = Keeper(make(**told).algorithm, [-0.05, 0.02], np.float32)
    values, played = play_unknown(
        keeper, query, 200, lambda t, x: (3 if t % 3 else 0.4) * random.normal(size=2) + x
    )
    outside = [t for t, g in enumerate(values) if g > 0]
    estimate = keeper.filter.knowledge.estimate(keeper.state.memory)
    # A last round outside is offered as well, so that all of them are counted.
    assert estimate.outside == len(outside)
    assert not told or len(outside) <= 1
    assert all(b - a > 1 for a, b in pairwise(outside))
    for t in outside:  # what follows was played before, to the last bit
        assert any((played[t + 1] == before).all() for before in played[:t])
        assert values[t + 1] <= 0
    steepest = {"slope": 30.0 if name == "slope" else 0.0, "curvature": 3.0}[name]
    assert estimate.proved <= steepest * (1 + 1e-6)
    assert seed or name == "curvature" or outside


@pytest.mark.parametrize("room", [True, False])
@pytest.mark.parametrize("name", UNKNOWN)
def test_only_with_room_for_rounding_is_nothing_outside_where_the_estimate_is_right(name, room):
    # Affine, so that the limit is reached to the last bit; what is used is above |s| and 0.
    slope = np.array([1.0, -1.0, 0.25, 0.5, 0.0])
    rule, worst = UNKNOWN[name][0](theta=1.0001).algorithm, -1.0
    for seed in range(5):
        random = np.random.default_rng(seed)
        keeper = Keeper(rule, np.zeros(5), np.float32)
        keeper.filter = keeper.filter if room else rule
        values, _ = play_unknown(
            keeper,
            lambda x: (float(slope @ x) - 0.05, slope),
            200,
            lambda t, x: x + (slope if t % 6 else 0.01 * random.normal(size=5)),  # noqa: B023
        )
        worst = max(worst, *values)
    assert (worst <= 0) is room
    assert worst > -1e-5


def test_what_a_rounding_leaves_room_for_by_hand():
    # D = 2.5 from 0.5: 1.12 is proved, 2.24 used, and M = 2: m = (1 + 2.24 (4 + c)) c.
    known = EstimatedCurvature(domain=Ball(2.0), rounding=0.01)
    state = known.observe(
        known.init(np.array([0.5])), Reading(np.array([0.5]), -1.0, np.ones(1), known.errors)
    )
    region, margin = known.region(state, known.errors), (1 + 2.24 * 4.01) * 0.01
    p = region.nearest(np.array([3.0]))
    d = float(p[0]) - 0.5
    assert -1.0 + d + 1.12 * d * d == pytest.approx(-margin, abs=1e-9)
    hull = EstimatedHull(domain=Ball(2.0), rounding=0.01)  # 1 is proved, 2 used: 0.5 - 0.01
    state = hull.observe(
        hull.init(np.zeros(1)), Reading(np.zeros(1), -1.0, np.ones(1), hull.errors)
    )
    assert hull.region(state, hull.errors).nearest(np.array([3.0]))[0] == pytest.approx(0.49)


def test_a_host_that_cannot_play_an_action_again_refuses_an_unknown_constant():
    unknown = RegionFilter.unknown_curvature(Ball(1.0)).algorithm
    check_rounded(unknown, np.float32, repeats=True)
    with pytest.raises(InvalidValueError, match="whose beta is unknown"):
        check_rounded(unknown, np.float32)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            SafetyFilter(G_g=1.5, domain=Ball(1.0), rho=0.1),
            "if g is convex, no subgradient of g is longer than G_g = 1.5 (given) and the start is "
            "strictly feasible",
        ),
        (
            RegionFilter(knowledge=Curvature(beta=0.5, reach=1.0)),
            "if no curvature of g exceeds beta = 0.5 (given) and the start is strictly feasible",
        ),
        (
            RegionFilter(knowledge=Curvature(beta=0.5, reach=1.0, errors=Errors(drift=0.25))),
            "if g is convex, no curvature of g exceeds beta = 0.5 (given), the start is strictly "
            "feasible and g drifts by at most 0.25 per round",
        ),
        (
            RegionFilter.unknown(Ball(1.0)).algorithm,
            "learnt, if g is convex and the start is strictly feasible",
        ),
        (
            RegionFilter.unknown_curvature(Ball(1.0), largest_beta=3.0).algorithm,
            "learnt, if no curvature of g exceeds largest_beta = 3 (given) and the start is",
        ),
    ],
    ids=["safety", "curvature", "drift", "unknown", "largest"],
)
def test_the_guarantee_names_what_it_rests_on(made, words):
    assert words in Keeper(made, [0.0]).guarantee


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "known",
    [LipschitzHull(G_g=1.0, reach=2.0), Curvature(beta=0.0, reach=2.0)],
    ids=["slope", "curvature"],
)
def test_a_violation_is_named_wherever_rounding_has_moved_the_action(known, dtype):
    # Flat as far as was seen, and a wall behind it: each start leads to another rounding.
    named = 0
    for start in np.linspace(0.01, 0.09, 9):
        keeper = Keeper(RegionFilter(knowledge=known), [start], dtype)
        x = float(keeper.played[0])
        assert not keeper.offer([9.0], x - 0.5, [1.0]).contradictions
        q = float(keeper.played[0])
        assert q > 0.49
        with pytest.warns(PremiseWarning, match="G_g = 1|beta"):
            info = keeper.offer([9.0], 10 * (q - 0.25), [10.0])
        named += bool(info.contradictions)
        assert keeper.guarantee.startswith("nothing")
    assert named == 9


def test_an_action_that_the_host_has_moved_is_no_violation_of_ours():
    keeper = Keeper(RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=2.0)), [0.0], np.float32)
    keeper.offer([0.2], -0.5, [1.0])
    keeper.played = np.array([1.0])
    assert keeper.find_violation(0.4) == ""
    keeper.played = keeper.state.x.astype(np.float32).astype(np.float64)
    assert "g = 0.4 where at most 0 was certified: G_g = 1 is too" in keeper.find_violation(0.4)
    assert keeper.find_violation(0.4, 0.5) == ""  # which may be an error
