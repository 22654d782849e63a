"""Choices: certified, choices to the last bit, and as far as they allow."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from surefoot import OGD, Constants, Controller, Feedback, LeaderFollower
from surefoot.certified import Certified
from surefoot.controller import Fleet
from surefoot.controller.check import check
from surefoot.controller.check.known_sets import is_inside
from surefoot.core.plain import encode
from surefoot.knowledge import (
    AnnouncedDrift,
    AverageLimit,
    Choices,
    Column,
    Columns,
    ContextHull,
    Curvature,
    CurvatureRows,
    EmptyRegionError,
    Errors,
    LipschitzHull,
    Reading,
    Together,
)
from surefoot.proposers import Leader
from surefoot.rules import (
    CertifiedDualAveraging,
    CertifiedOGD,
    MovingBalls,
    RegionFilter,
    ValuesFollower,
)
from surefoot.sets import Box

BOX = Box([-1.0, -1.0], [1.0, 1.0])
SMOOTH = Constants(R=1.5, beta=1.0, start_slack=0.1)


def tilted(x):
    """Return 0.6 x + 0.8 y - 0.5 and its slope, of length 1."""
    s = np.array([0.6, 0.8])
    return float(s @ x) - 0.5, s


def test_one_step_by_hand():
    # The ball of radius 0.5 around 0: of the corners (0.25, 0.25) ... (0.5, 0.5) around its
    # nearest point (0.354, 0.354) only the first is in it.
    known = LipschitzHull(G_g=1.0, domain=Choices(-1.0, [1.0, 1.0], step=0.25))
    memory = known.observe(known.init(np.zeros(2)), Reading(np.zeros(2), -0.5, None, known.errors))
    region = known.region(memory, known.errors)
    assert region.nearest(np.array([1.0, 1.0])).tolist() == [0.25, 0.25]
    assert region.nearest(np.array([0.25, -0.25])).tolist() == [0.25, -0.25]
    assert region.nearest(np.array([3.0, 0.1])).tolist() == [0.25, 0.0]


def test_the_grid_of_a_box_by_hand():
    # Multiples of 0.1 from 0.05 to 0.95, of 0.25 from -0.6 to 0.8.
    grid = Choices([0.05, -0.6], [0.95, 0.8], step=[0.1, 0.25])
    assert grid.project(np.array([9.0, 9.0])) == pytest.approx([0.9, 0.75])
    assert grid.project(np.array([-9.0, -9.0])) == pytest.approx([0.1, -0.5])
    assert grid.project(np.array([0.33, 0.1])) == pytest.approx([0.3, 0.0])
    assert grid.minimize_linear(np.array([1.0, -1.0])) == pytest.approx([0.1, 0.75])
    assert grid.contains(grid.project(np.array([0.7, 0.3])))
    assert not grid.contains(np.array([0.7, 0.3]))
    ends = Choices([-0.5], [0.75], step=0.25)  # the ends are on it
    assert ends.project(np.array([-9.0])) == ends.project(np.array([-0.5])) == [-0.5]
    assert ends.project(np.array([9.0])) == [0.75]
    dimensions = (
        Choices(step=0.1),
        Choices(step=[0.1, 0.2]),
        grid,
        Choices([0.0] * 3, [1.0] * 3, step=0.1),
    )
    assert [each.dimension for each in dimensions] == [None, 2, 2, 3]
    ball = grid.bounding_ball()
    assert all(ball.contains(np.array(p)) for p in ([0.1, -0.5], [0.9, 0.75]))
    with pytest.raises(ValueError, match="reach must be given"):
        Choices(step=0.1).minimize_linear(np.ones(2))


def test_the_points_that_are_tried_by_hand():
    grid = Choices([-1.0, -1.0], [1.0, 1.0], step=[0.5, 0.25])
    found = grid.around(np.array([0.6, -0.1]), np.array([0.0, 1.0]))
    corners = {(0.5, -0.25), (0.5, 0.0), (1.0, -0.25), (1.0, 0.0)}
    neighbours = {(0.5, 1.0), (-0.5, 1.0), (0.0, 0.75), (0.0, 1.0)}  # none beyond the box
    assert {tuple(p) for p in found.tolist()} == corners | neighbours


@pytest.mark.parametrize("d", [1, 8, 9])
def test_the_furthest_grid_point_of_a_ball_by_hand(d):
    # A ball of radius 0.72 holds 0.5, and not 0.75; in nine dimensions not all corners are tried.
    known = LipschitzHull(G_g=1.0, reach=4.0, domain=Choices(step=0.25))
    x, far = np.full(d, 1.0), 9.0 * np.eye(d)[0]
    memory = known.observe(known.init(x), Reading(x, -0.72, None, known.errors))
    region = known.region(memory, known.errors)
    for sign in (1.0, -1.0):
        found = region.nearest(x + sign * far)
        assert (found - x).tolist() == (sign * 0.5 * np.eye(d)[0]).tolist()
        assert region.contains(found)
        assert not region.contains(found + 0.01)
        assert not region.contains(x + sign * 0.75 * np.eye(d)[0])


@pytest.mark.parametrize("step", [0.05, [0.1, 0.03]])
def test_it_stops_where_the_slack_is_below_the_step_and_not_before(step):
    grid = Choices(-1.0, [1.0, 1.0], step=step)
    player = RegionFilter(knowledge=LipschitzHull(G_g=1.0, domain=grid))
    state = player.init(np.zeros(2))
    for _ in range(200):
        g, s = tilted(state.x)
        assert g <= 0
        assert grid.contains(state.x)
        state = player.update(state, Feedback(None, g, s, proposal=np.array([2.0, 2.0])))
    last = state.x
    g, s = tilted(last)
    state = player.update(state, Feedback(None, g, s, proposal=np.array([2.0, 2.0])))
    assert (state.x == last).all()
    assert 0 <= -g <= np.max(step) + 1e-12


def test_curvature_goes_nearer_on_the_same_grid():
    def rest(knowledge):
        player = RegionFilter(knowledge=knowledge)
        state = player.init(np.zeros(2))
        for _ in range(100):
            g, s = tilted(state.x)
            state = player.update(state, Feedback(None, g, s, proposal=np.array([2.0, 2.0])))
        return tilted(state.x)[0]

    grid = Choices(-1.0, [1.0, 1.0], step=0.15)
    hull, tangent = LipschitzHull(G_g=1.0, domain=grid), Curvature(beta=0.0, domain=grid)
    assert rest(hull) < rest(tangent) <= 0


@pytest.mark.slow
def test_a_leader_learns_in_the_box_and_the_follower_keeps_to_the_grid():
    grid = Choices(-1.0, [1.0, 1.0], step=0.05)
    player = Certified(proposer=Leader(domain=BOX), knowledge=LipschitzHull(G_g=1.0, domain=grid))
    state = player.init(np.zeros(2))
    for _ in range(100):
        g, s = tilted(state.x)
        assert g <= 0
        assert grid.contains(state.x)
        state = player.update(state, Feedback(np.array([-1.0, -1.0]), g, s))
    assert state.x.sum() > 0.6  # of 0.8 at (1, -0.125), the best


def test_a_set_that_is_announced_is_kept_too():
    player = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=2.0, domain=Choices(step=0.1)))
    state = player.init(np.zeros(2))
    small = Box([-1.0, -1.0], [0.15, 0.25])
    seen = Feedback(None, *tilted(state.x), proposal=np.array([0.4, 0.4]), within=small)
    np.testing.assert_allclose(player.update(state, seen).x, [0.1, 0.2], rtol=1e-12)


def test_an_average_limit_is_kept_on_a_grid_and_in_an_announced_set():
    grid, small = Choices(-1.0, [1.0, 1.0], step=0.1), Box([-1.0, -1.0], [0.65, 1.0])
    known = AverageLimit(G_g=1.0, domain=grid, most=0.5)
    player, total = RegionFilter(knowledge=known), 0.0
    state = player.init(np.zeros(2))
    for _ in range(30):
        g, s = tilted(state.x)
        total += g
        assert total <= 0
        assert grid.contains(state.x)
        assert small.contains(state.x)
        seen = Feedback(None, g, s, proposal=np.array([2.0, 2.0]), within=small)
        state = player.update(state, seen)


def test_under_drift_a_grid_may_hold_nothing_that_is_certified():
    known = LipschitzHull(G_g=1.0, reach=2.0, domain=Choices(step=0.5), errors=Errors(drift=0.1))
    player = RegionFilter(knowledge=known)
    state, far = player.init(np.zeros(1)), np.array([9.0])
    state = player.update(state, Feedback(None, -0.3, np.ones(1), proposal=far))
    state = player.update(state, Feedback(None, -0.15, np.ones(1), proposal=far))
    with pytest.raises(EmptyRegionError):
        player.update(state, Feedback(None, -0.05, np.ones(1), proposal=far))


@pytest.mark.parametrize("kind", [Column(adds=1.0), Column(G_c=1.0), AnnouncedDrift()], ids=repr)
def test_in_a_harsher_context_an_action_of_the_grid_does_not_stay(kind):
    grid = Choices([0.0], [2.0], step=0.25)
    player = RegionFilter(knowledge=ContextHull(G_g=1.0, domain=grid, context=kind))
    state, far, harsher = player.init(np.zeros(1)), np.array([2.0]), (0.0, 0.0, 0.5, 0.0)
    if not isinstance(kind, AnnouncedDrift):
        state, _ = player.announce(state, player.read_context(state, 0.0, current=True))
    added = 0.0
    for change in harsher:  # g = x - 1 + c
        c = added + change
        g = float(state.x[0]) - 1.0 + added
        assert g <= 0
        told = change if isinstance(kind, AnnouncedDrift) else c
        seen = Feedback(None, g, np.ones(1), proposal=far)
        state = player.update(state, seen._replace(context=player.read_context(state, told)))
        added = c
    assert state.x.tolist() == [0.25]


def test_in_a_context_no_harsher_an_action_of_the_grid_stays():
    known = ContextHull(G_g=1.0, domain=Choices([0.0], [2.0], step=0.25), context=Column(adds=1.0))
    player = RegionFilter(knowledge=known)
    state, far = player.init(np.zeros(1)), np.array([2.0])
    state, _ = player.announce(state, player.read_context(state, 0.0, current=True))
    for _ in range(5):  # g = x - 0.75, and 0.75 is a grid point: the margin keeps it from there
        g = float(state.x[0]) - 0.75
        seen = Feedback(None, g, np.ones(1), proposal=far, context=player.read_context(state, 0.0))
        state = player.update(state, seen)
    seen = Feedback(None, 0.0, np.ones(1), proposal=far, action=np.array([0.75]))
    state = player.update(state, seen._replace(context=player.read_context(state, 0.0)))
    assert state.x.tolist() == [0.75]


def test_where_nothing_near_is_certified_the_deepest_action_of_the_grid_is():
    # With G_g far too large the hull is nearly the segment from 0 to (1, 1.5), and half of it is
    # left once the budget is spent: no grid point is next to its end.
    known = AverageLimit(G_g=40.0, domain=Choices([0.0, 0.0], [2.0, 2.0], step=0.5), most=1.0)
    player, s = RegionFilter(knowledge=known), np.array([0.6, 0.6])
    state = player.init(np.zeros(2))
    state = player.update(state, Feedback(None, -0.75, s, proposal=np.zeros(2)))
    seen = Feedback(None, 0.75, s, proposal=np.array([2.0, 3.0]), action=np.array([1.0, 1.5]))
    assert player.update(state, seen).x.tolist() == [0.0, 0.0]


def test_a_journal_keeps_the_grid(tmp_path):
    path = tmp_path / "steps.jsonl"
    known = LipschitzHull(G_g=1.0, domain=Choices(-1.0, [1.0, 1.0], step=[0.1, 0.2]))
    controller = Controller(RegionFilter(knowledge=known), start=[0.0, 0.0], journal=path)
    g, s = tilted(controller.ask())
    controller.tell(constraint_value=g, constraint_subgradient=s, proposal=[0.33, 0.33])
    x = controller.ask()
    controller.close()
    again = Controller.open(path)
    assert again.algorithm.knowledge == known
    np.testing.assert_array_equal(again.ask(), x)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: Choices(0.0, 1.0),
            "choices must have a step, or an entry that can be off: take a",
        ),
        (lambda: Choices(step=[0.1, np.nan]), "step"),
        (lambda: Choices(step=True), "step must be a number, or a vector of numbers, got True"),
        (
            lambda: Choices(-1.0, [1.0, 1.0], step=[0.1] * 3),
            "step must be one, or as many as the others have, got",
        ),
        (lambda: Choices(-1.0, step=0.1), "most must be given where the other bound is"),
        (
            lambda: Choices(step=[0.1, 0.0]),
            "least must be given for an entry that can be off or tak",
        ),
        (lambda: Choices(step=0.1, off=True), "least must be given for an entry that can be off"),
        (lambda: Choices(0.5, 1.0, off=1), "off must be True or False, or one per entry, got 1"),
        (lambda: Choices(0.5, 1.0, off=[]), "off must be True or False, or one per entry"),
        (
            lambda: Choices([0.1], [0.4], step=0.5),
            r"step must be such that a multiple is from least = array\(\[0.1\]\) to most",
        ),
        (lambda: LipschitzHull(G_g=1.0, domain=Choices(step=0.1)), "reach must be given"),
        (lambda: OGD(eta=0.1, domain=Choices(-1.0, [1.0, 1.0], step=0.1)), "domain must be convex"),
        (
            lambda: CertifiedOGD.default(SMOOTH, None, Choices(-1.0, [1.0, 1.0], step=0.1)),
            "domain must be convex",
        ),
        (
            lambda: CertifiedDualAveraging.default(
                SMOOTH, None, Choices(-1.0, [1.0, 1.0], step=0.1)
            ),
            "domain must be convex",
        ),
        (
            lambda: MovingBalls.default(
                SMOOTH, None, Choices(-1.0, [1.0, 1.0], step=0.1), cost_curvature=1.0
            ),
            "domain must be convex",
        ),
        (
            lambda: LipschitzHull(G_g=1.0, domain=Choices(-1.0, [1.0, 1.0], step=0.1)).init(
                np.array([0.05, 0.0])
            ),
            "x1 must be in the domain",
        ),
    ],
)
def test_bad_input_is_one_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize("rule", [CertifiedOGD, CertifiedDualAveraging])
def test_rows_on_a_grid_are_played_and_their_regret_is_below_what_was_observed(rule):
    # The best feasible action is (0.5, 0.3); of those on the grid it is (0.4, 0.2).
    known = CurvatureRows(beta=0.0, rows=2, domain=Choices(-1.0, [1.0, 1.0], step=0.2))
    controller = Controller(rule(knowledge=known, radius=1.5), start=[0.0, 0.0])
    paid = 0.0
    for _ in range(50):
        x = controller.ask()
        assert known.domain.contains(x)
        assert (x <= [0.5, 0.3]).all()
        paid -= float(x.sum())
        controller.tell(
            cost_gradient=[-1.0, -1.0],
            constraint_value=x - [0.5, 0.3],
            constraint_subgradient=np.eye(2),
        )
    assert controller.ask() == pytest.approx([0.4, 0.2])
    assert paid + 50 * 0.8 <= controller.explain().regret_bound < np.inf


@pytest.mark.slow
def test_attacked_on_50_grids_every_action_is_a_feasible_grid_point():
    attack(np.random.default_rng(31), 50)


def attack(rng, grids, turns=120):
    """Proposal for points anywhere on grids of several dimensions, near the boundary, too."""
    for _ in range(grids):
        d = int(rng.integers(1, 5))
        a = rng.normal(size=(6, d))
        a /= np.linalg.norm(a, axis=1)[:, None]
        b = rng.uniform(0.1, 1.0, size=6)
        grid = Choices(np.full(d, -2.0), np.full(d, 2.0), step=rng.uniform(0.01, 0.3, size=d))
        player = RegionFilter(knowledge=LipschitzHull(G_g=1.0, domain=grid))
        state = player.init(np.zeros(d))
        for proposal in rng.normal(size=(turns, d)) * 10.0 ** rng.uniform(-1, 1, size=(turns, 1)):
            i = int((a @ state.x - b).argmax())
            g = float(a[i] @ state.x - b[i])
            assert g <= 0
            assert grid.contains(state.x)
            state = player.update(state, Feedback(None, g, a[i], proposal=proposal))


def test_an_action_that_was_feasible_does_not_stay_in_a_harsher_context():
    # g(0.5; 0) = -0.05 was read; in the context 0.1 that may be +0.05, and 0.25 is certified.
    known = ContextHull(
        G_g=1.0, domain=Choices(-1.0, [1.0, 1.0], step=0.25), context=Column(adds=1.0)
    )
    player = RegionFilter(knowledge=known)
    state = player.init(np.zeros(2))
    state, _ = player.announce(state, player.read_context(state, 0.0, current=True))
    for context, end in ((0.0, 0.5), (0.0, 0.5), (0.1, 0.25)):
        seen = Feedback(None, float(state.x[0]) - 0.55, np.eye(2)[0], proposal=np.array([0.5, 0.0]))
        told = player.read_context(state, context)
        state, info = player.step(state, seen._replace(context=told))
        assert state.x.tolist() == [end, 0.0]
        assert info.certificate.bound <= 0


def test_no_way_back_leads_between_grid_points(tmp_path):
    known = LipschitzHull(
        G_g=1.0, domain=Choices(-1.0, [1.0, 1.0], step=0.05), errors=Errors(drift=0.02)
    )
    path = tmp_path / "steps.jsonl"
    controller = Controller(RegionFilter(knowledge=known), start=[0.0, 0.0], journal=path)
    hows = set()
    for t in range(14):
        g, s = tilted(controller.ask())
        if t < 5:
            controller.tell(constraint_value=g, constraint_subgradient=s, proposal=[0.3, 0.3])
        else:  # until the bound of what is held is used up
            controller.tell(missing=True)
            hows.add(controller.explain().certificate.how)
        assert known.domain.contains(controller.ask())
    assert hows == {"held", "retreated"}
    with pytest.raises(ValueError, match=r"speed must be None between choices: .* got 0.03"):
        controller.retreat("slowly", speed=0.03)
    controller.close()
    assert check(str(path))[0]


@pytest.mark.parametrize(
    "kind", [Column(adds=1.0), Column(G_c=1.0), Columns([Column(G_c=1.0)], joint=True)]
)
def test_in_every_context_that_the_start_bears_there_is_a_grid_point(kind):
    # Regions may be so thin that no corner near the nearest point is in them; the start is.
    rng, worst = np.random.default_rng(11), -np.inf
    for d in (1, 2, 3):
        a = rng.normal(size=(4, d))
        a /= np.linalg.norm(a, axis=1)[:, None]
        b = rng.uniform(0.15, 0.9, size=4)
        grid = Choices(np.full(d, -1.0), np.full(d, 1.0), step=0.1)
        known = ContextHull(G_g=1.0, domain=grid, context=kind, start_bound=-0.05)
        controller, now = Controller(RegionFilter(knowledge=known), np.zeros(d), context=0.0), 0.0
        for proposal in rng.normal(size=(60, d)) * 3.0:
            x = controller.ask()
            i = int((a @ x - b).argmax())
            g = float(a[i] @ x - b[i]) + now
            assert grid.contains(x)
            worst, now = max(worst, g), float(rng.uniform(-0.5, b.min() - 0.05))
            told = {"constraint_value": g, "constraint_subgradient": a[i], "proposal": proposal}
            controller.tell(**told, context=now)
            assert controller.explain().is_proven
    assert -0.1 < worst <= 0


@pytest.mark.parametrize("own", [[-0.01, 0.03], [0.5, 0.249]])
@pytest.mark.parametrize("order", ["hold", "retreat", "missing", "go on"])
@pytest.mark.parametrize("drift", [0.0, 0.001])
def test_after_an_action_of_ones_own_off_the_grid_the_next_is_on_it(drift, order, own):
    grid = Choices(-1.0, [1.0, 1.0], step=0.0625)
    known = LipschitzHull(G_g=1.0, domain=grid, errors=Errors(drift=drift))
    live = Controller(RegionFilter(knowledge=known), [0.0, 0.0], on_contradiction="record")
    for t in range(8):
        x = live.ask()
        assert grid.contains(x)
        if t:
            assert live.explain().is_proven
        played = np.array(own) if t in (3, 4) else x
        if order == "missing" and t > 4:
            live.tell(missing=True)
            continue
        g, s = tilted(played)
        more = {"action": played} if t in (3, 4) else {}
        live.tell(proposal=own, constraint_value=g, constraint_subgradient=s, **more)
        if order in ("hold", "retreat") and t == 2:
            getattr(live, order)("somebody is at the machine")


# --- off, or from a least to a largest value ------------------------------------------------------


def test_off_or_by_hand():
    # Off below 3, at least 6, at most 32; of multiples of 5 the least is 10, the largest 30.
    each, steps = Choices([6.0] * 4, 32.0, off=True), Choices(6.0, [32.0] * 4, step=5.0, off=True)
    x = np.array([2.9, 3.0, 33.0, -8.0])
    assert each.project(x).tolist() == [0.0, 6.0, 32.0, 0.0]
    assert steps.project(x).tolist() == [0.0, 0.0, 30.0, 0.0]
    assert steps.project(np.array([12.6, 4.9, 5.0, 1.0])).tolist() == [15.0, 0.0, 10.0, 0.0]
    x = np.array([2.0, 7.0, 40.0, 0.0])
    assert [ends.tolist() for ends in each.bracket(x)] == [[0, 7, 32, 0], [6, 7, 32, 0]]
    assert [ends.tolist() for ends in steps.bracket(x)] == [[0, 0, 30, 0], [10, 10, 30, 0]]
    assert each.minimize_linear(np.array([1.0, -1.0, 0.0, -1.0])).tolist() == [0, 32, 0, 32]
    assert each.inside == steps.inside == Box([0.0] * 4, [32.0] * 4)
    assert Choices(6.0, 32.0, off=True).inside is None
    assert Choices(6.0, 32.0, off=True).dimension is None
    assert each.contains(np.array([-0.0, 0.0, 6.0, 32.0]))
    for wrong in (5.9, 32.1, -6.0, np.nan, np.inf):
        assert not each.contains(np.array([wrong, 0.0, 0.0, 0.0]))
    assert Choices([3.0], 3.0, off=True).project(np.array([2.0])) == [3.0]
    with pytest.raises(ValueError, match="the point must have 4 entries, got shape \\(3,\\)"):
        each.contains(np.zeros(3))


def test_the_points_that_are_tried_of_off_or_by_hand():
    # Two entries are between off and 6; x, and x with one entry off, are tried, too.
    found = Choices([6.0] * 3, 32.0, off=True).around(
        np.array([2.0, 4.0, 9.0]), np.array([7.0, 0.0, 8.0])
    )
    corners = {(a, b, 9.0) for a in (0.0, 6.0) for b in (0.0, 6.0)}
    others = {(7.0, 0.0, 8.0), (0.0, 0.0, 8.0), (7.0, 0.0, 0.0), (7.0, 6.0, 8.0)}
    found = {tuple(p) for p in found.tolist()}
    assert corners | others <= found
    assert all(Choices(6.0, 32.0, off=True).contains(np.array(p)) for p in found)


def test_one_step_of_off_or_by_hand():
    # The ball of radius 0.5 around 0 holds 0.5 of one entry, and not 0.4 of both.
    known = LipschitzHull(G_g=1.0, domain=Choices([0.4, 0.4], 1.0, off=True))
    memory = known.observe(known.init(np.zeros(2)), Reading(np.zeros(2), -0.5, None, known.errors))
    region = known.region(memory, known.errors)
    found = region.nearest(np.array([1.0, 0.5]))
    assert found == pytest.approx([0.5, 0.0], abs=1e-9)  # one off, the other as far as the ball
    assert region.nearest(np.array([0.45, 0.1])).tolist() == [0.45, 0.0]
    assert not region.contains(np.array([0.3, 0.0]))


CHOICES = [
    Choices(6.0, 32.0, off=True),
    Choices([0.1, 0.7, 0.2], 1.0, step=0.3, off=True),
    Choices(1e-300, 1e150, off=True),
    Choices(5e-324, 1.0, off=True),
    Choices(1e-300, 1e-298, step=1e-301, off=True),
    Choices(1e150, 1e151, step=1e149, off=True),
    Choices(3.0, 3.0, off=True),
    Choices(5e-324, 1e-322, step=5e-324, off=True),
    Choices(step=0.1),
    Choices(step=1e-300),
    Choices(step=5e-324),
    Choices(step=1e150),
    Choices([-1.0] * 3, [1.0] * 3, step=0.3),
    Choices([-1e-290] * 3, [1e-290] * 3, step=1e-300),
    Choices([-1.0, 0.3, 0.2], 1.0, step=[0.0, 0.1, 0.0], off=[False, False, True]),
    Choices(0.25, [1.0, 1.0, 1e150], step=[0.1, 0.0, 1e148], off=[True, True, False]),
    Choices([0.0, 5e-324, -1e150], 1e150, step=[1e140, 0.0, 0.0], off=[False, True, False]),
]


@pytest.mark.parametrize("choices", CHOICES, ids=repr)
def test_what_is_projected_is_a_choice_and_the_nearest(choices):
    rng = np.random.default_rng(5)
    for _ in range(60):
        x = rng.normal(size=3) * 10.0 ** rng.uniform(-320, 150, size=3)
        low, high = choices.bracket(x)
        near = choices.project(x)
        for p in (near, low, high, *choices.around(x, near)):
            assert choices.contains(p)
            assert (choices.project(p) == p).all()
        inside = (low <= x) & (x <= high)
        off = np.minimum(np.abs(x - low), np.abs(high - x))
        assert (np.abs(x - near) <= off * (1 + 1e-9))[inside].all()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: Choices(0.0, 1.0, off=True),
            "least must be above 0 for an entry that can be off, got 0.0",
        ),
        (lambda: Choices([1.0, -1.0], 3.0, off=True), "least must be above 0 for an entry"),
        (lambda: Choices(2.0, 1.0, off=True), "least must be at most most = 1.0, got 2.0"),
        (lambda: Choices([1.0, 3.0], [2.0, 2.0], off=True), "least must be at most most"),
        (
            lambda: Choices([1.0, 2.0], [3.0] * 3, off=True),
            "most must be one, or as many as the others",
        ),
        (
            lambda: Choices([1.0, 1.0], 3.0, step=-0.1, off=True),
            "step must be at least 0, got -0.1",
        ),
        (
            lambda: Choices(1.0, 3.0, step=1e-20, off=True),
            r"step must be 0, or at least 2\*\*-50 of least and of most, got 1e-20",
        ),
        (lambda: Choices(1.0, np.inf, off=True), "most must be finite"),
        (
            lambda: Choices(None, 1.0, off=True),
            "least must be given where the other bound is, got None",
        ),
        (
            lambda: Choices([0.0], [1.0], step=1e-30),
            r"step must be 0, or at least 2\*\*-50 of least",
        ),
        (
            lambda: LeaderFollower(G_g=1.0, domain=Choices(6.0, 32.0, off=True), reach=64.0),
            "domain must be of known dimension, for a proposer to learn in the box",
        ),
        (
            lambda: LipschitzHull(G_g=1.0, domain=Choices(6.0, 32.0, off=True)),
            "reach must be given",
        ),
        (
            lambda: RegionFilter(
                knowledge=LipschitzHull(G_g=1.0, domain=Choices([2.0, 6.0], 9.0, off=True)),
                ramp=5.0,
            ),
            "ramp must be at least 6, because entry 1 leaves 0 in one step of 6",
        ),
        (
            lambda: RegionFilter(
                knowledge=LipschitzHull(G_g=1.0, domain=Choices([2.0, 6.0], 9.0, off=True)),
                ramp=[7.0] * 3,
            ),
            "ramp must be one number, or 2 as the domain has",
        ),
        (
            lambda: Curvature(
                beta=2.0, domain=Choices(-1.0, [1.0, 1.0], step=1.0), errors=Errors(drift=0.1)
            ),
            "domain must be convex for Curvature, which under drift may certify no choice",
        ),
        (
            lambda: Together(
                rows=[LipschitzHull(G_g=1.0, reach=2.0, errors=Errors(drift=0.1))],
                domain=Choices(-1.0, [1.0, 1.0], step=1.0),
            ),
            "domain must be convex for Together, which under drift may certify no choice",
        ),
        (
            lambda: ContextHull(
                G_g=1.0,
                domain=Choices(-1.0, [1.0, 1.0], step=1.0),
                context=Columns([Column(G_c=1.0)], joint=True),
            ),
            "domain must be convex for ContextHull, which in joint contexts",
        ),
    ],
)
def test_bad_choices_are_one_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_under_drift_a_curvature_may_leave_no_choice_and_a_region_that_is_not_empty():
    # g(x) = (x - 1/2)^2 - 1/2 + v t: 0 and 1 are infeasible from t = 5 on, and 1/2 is not.
    known = Curvature(beta=2.0, reach=2.0, errors=Errors(drift=0.05))
    memory = known.init(np.zeros(1))
    for t in range(5):
        g = 0.25 - 0.5 + 0.05 * t
        memory = known.observe(memory, Reading(np.zeros(1), g, np.array([-1.0]), known.errors))
    region = known.region(memory, known.errors)
    assert region.contains(np.array([0.5]))
    assert not region.contains(np.array([0.0]))
    assert not region.contains(np.array([1.0]))


@pytest.mark.parametrize(
    "choices",
    [Choices([0.0, 0.0], [1.0, 1.0], step=0.25), Choices([0.25, 0.25], 1.0, off=True)],
    ids=repr,
)
@pytest.mark.parametrize("start_bound", [None, -0.2])
def test_under_drift_there_is_a_choice_whenever_the_hull_is_not_empty(choices, start_bound):
    rng, empty, rounds = np.random.default_rng(3), 0, 0
    for _ in range(12):
        known = LipschitzHull(
            G_g=1.0, domain=choices, errors=Errors(drift=0.03), start_bound=start_bound
        )
        player, shift, most = RegionFilter(knowledge=known), 0.0, 0.3 if start_bound else 1.0
        state, s = player.init(np.zeros(2)), np.array([0.6, 0.8])
        for _ in range(40):
            g = float(s @ state.x) - 0.5 + shift
            assert g <= 0
            assert choices.contains(state.x)
            seen = Feedback(None, g, s, proposal=rng.normal(size=2) * 3.0)
            memory = known.observe(state.memory, Reading(state.x, g, s, known.errors))
            try:
                state = player.update(state, seen)
            except EmptyRegionError:
                with pytest.raises(EmptyRegionError):
                    replace(known, domain=choices.inside).region(memory, known.errors).nearest(
                        state.x
                    )
                empty += 1
                break
            rounds += 1
            shift = min(shift + 0.03 * float(rng.uniform(0.0, 1.0)), most)
    assert rounds > 100
    assert (empty > 0) is (start_bound is None)


def test_probes_are_played_on_choices_and_measure_slopes():
    # The slope of g = 0.6 x + 0.8 y - 0.5 is measured by steps of the grid alone.
    for choices in (
        Choices(-1.0, [1.0, 1.0], step=0.0625),
        Choices([0.125, 0.125], 1.0, step=0.0625, off=True),
    ):
        live = Controller(ValuesFollower(G_g=1.0, domain=choices), [0.0, 0.0])
        for _ in range(60):
            x = live.ask()
            g, _ = tilted(x)
            assert g <= 0
            assert choices.contains(x)
            live.tell(cost_gradient=[-1.0, -1.0], constraint_value=g)
        slopes = live.state.learner.slopes
        assert (np.isclose(slopes, [0.6, 0.8]) | (slopes == 0.0)).all()
        assert slopes.any()
        assert x.sum() > 0.55


@pytest.mark.parametrize("rule", [LeaderFollower, ValuesFollower])
@pytest.mark.parametrize(
    "choices",
    [Choices(-1.0, [1.0, 1.0], step=0.125), Choices([0.25, 0.25], 1.0, off=True)],
    ids=repr,
)
@pytest.mark.parametrize(
    "need", ["value_error", "start_bound", "missing", "within", "context", "context and drift"]
)
def test_choices_go_with_every_need(need, choices, rule, tmp_path):
    rng, error, now, shift, best = np.random.default_rng(9), 0.0, 0.0, 0.0, 0.0
    options = {"value_error": {"value_error": 0.02}, "start_bound": {"start_bound": -0.2}}
    more = options.get(need, {})
    if need.startswith("context"):
        more = {"context": Column(adds=1.0), "start_bound": -0.1}
    if need.endswith("drift"):
        more["drift"] = 0.005
    if need == "value_error":
        error = 0.02
    path = tmp_path / "run.jsonl"
    first = {"context": 0.0} if need.startswith("context") else {}
    live = Controller(
        rule(G_g=1.0, domain=choices, **more), [0.0, 0.0], journal=path, on_missing="hold", **first
    )
    for t in range(80):
        x = live.ask()
        g, s = tilted(x)
        g += now + shift
        assert g <= 0
        assert choices.contains(x)
        best = max(best, float(x.sum()))
        told = {"cost_gradient": [-1.0, -1.0]}
        if need == "missing" and t % 3 == 2:
            told = {"missing": True}
        else:
            told["constraint_value"] = g + error * float(rng.uniform(-1, 1))
            if rule is LeaderFollower:
                told["constraint_subgradient"] = s
        if need == "within":
            told["within"] = Box([0.0, 0.0], [0.3 + 0.3 * (t % 2), 0.7])
            # x stays in it: what is announced holds it
            told["within"] = Box(np.minimum(x, 0.0), np.maximum(x, told["within"].upper))
        if need.endswith("drift"):
            shift = min(shift + 0.005 * float(rng.uniform(-0.5, 1)), 0.1)
        if first:
            now = float(rng.uniform(-0.2, 0.25))
            told["context"] = now
        live.tell(**told)
    live.close()
    assert best > 0.45
    report = check(str(path))
    assert report[0], report[1]


def test_a_fleet_reopens_on_choices(tmp_path):
    choices = Choices([0.25, 0.25], 1.0, step=0.125, off=True)
    player = LeaderFollower(G_g=1.0, domain=choices)
    path = tmp_path / "fleet.jsonl"
    fleet = Fleet(player, [[0.0, 0.0], [0.25, 0.0]], journal=path)
    for _ in range(6):
        X = fleet.ask()
        g = X @ [0.6, 0.8] - 0.5
        assert (g <= 0).all()
        slopes = np.tile([0.6, 0.8], (2, 1))
        costs = -np.ones((2, 2))
        fleet.tell(cost_gradient=costs, constraint_value=g, constraint_subgradient=slopes)
    last = np.array(fleet.ask())
    assert all(choices.contains(x) for x in last)
    fleet.close()
    again = Fleet.open(path)
    np.testing.assert_array_equal(np.array(again.ask()), last)
    assert check(str(path))[0]


def test_a_set_without_a_choice_is_refused_in_a_sentence():
    known = LipschitzHull(G_g=1.0, domain=Choices([0.25, 0.25], 1.0, off=True))
    live = Controller(RegionFilter(knowledge=known), [0.25, 0.25])
    live.ask()
    with pytest.raises(EmptyRegionError, match="no certified action is in Choices"):
        live.tell(
            constraint_value=-0.2,
            constraint_subgradient=[0.6, 0.8],
            proposal=[0.3, 0.3],
            within=Box([0.1, 0.1], [0.2, 0.4]),
        )


@pytest.mark.parametrize("d", [20, 60])
def test_in_many_dimensions_choices_are_found_without_trying_all(d):
    a, least = np.full(d, d**-0.5), 0.2
    choices = Choices(np.full(d, least), 1.0, off=True)
    player = RegionFilter(knowledge=LipschitzHull(G_g=1.0, domain=choices))
    state, room = player.init(np.zeros(d)), 0.25 * d**0.5
    assert len(choices.around(np.full(d, 0.1), np.zeros(d))) <= 256 + 5 * d + 2
    for _ in range(40):
        g = float(a @ state.x) - room
        assert g <= 0
        assert choices.contains(state.x)
        state = player.update(state, Feedback(None, g, a, proposal=np.linspace(0.5, 2.0, d)))
    assert float(a @ state.x) > 0.9 * room


@pytest.mark.slow
def test_four_chargers_are_never_between_off_and_6_amperes():
    # Two phases with 40 A and 36 A; what is wanted changes in every round.
    lines, ratings = np.array([[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0]]), np.array([40.0, 36.0])
    steep, between, used = 3.0**0.5, 0, []
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        chargers = Choices([6.0] * 4, 32.0, off=True)
        live = Controller(LeaderFollower(G_g=steep, domain=chargers), np.zeros(4))
        for t in range(1500):
            x = live.ask()
            g = lines @ x - ratings
            i = int(g.argmax())
            assert g[i] <= 0
            between += int(((x > 0) & (x < 6)).sum())
            if t >= 500:
                used.append(1.0 + g[i] / ratings[i])
            costs = -1.0 - 0.5 * rng.uniform(size=4)
            told = {"constraint_value": float(g[i]), "constraint_subgradient": lines[i]}
            live.tell(cost_gradient=costs, **told)
    assert between == 0
    assert np.mean(used) > 0.9


# --- entries of different kinds ------------------------------------------------------------------

MIXED = Choices([-1.0, 0.25, -1.0], 1.0, step=[0.25, 0.0, 0.0], off=[False, True, False])
"""A tap in steps, a machine that is off or from 0.25 to 1, and a valve."""


def test_entries_of_different_kinds_by_hand():
    x = np.array([0.3, 0.1, 0.37])
    assert MIXED.project(x).tolist() == [0.25, 0.0, 0.37]
    assert [ends.tolist() for ends in MIXED.bracket(x)] == [[0.25, 0.0, 0.37], [0.5, 0.25, 0.37]]
    assert MIXED.contains(np.array([0.25, 0.3, 0.37]))
    for wrong in ([0.3, 0.0, 0.0], [0.25, 0.1, 0.0], [0.25, 0.0, 1.1], [0.25, -0.3, 0.0]):
        assert not MIXED.contains(np.array(wrong))
    assert [ends.tolist() for ends in MIXED.find_pieces(MIXED.project(x))] == [
        [0.25, 0.0, -1.0],
        [0.25, 0.0, 1.0],
    ]
    assert [ends.tolist() for ends in MIXED.find_pieces(np.array([0.5, 0.3, 0.0]))] == [
        [0.5, 0.25, -1.0],
        [0.5, 1.0, 1.0],
    ]
    assert [gap.tolist() for gap in MIXED.gaps] == [[0.25, 0.25, 0.0], [0.25, 0.0, 0.0]]
    assert MIXED.inside == Box([-1.0, 0.0, -1.0], [1.0] * 3)
    assert MIXED.minimize_linear(np.array([1.0, -1.0, -1.0])).tolist() == [-1.0, 1.0, 1.0]


def test_a_free_entry_moves_as_far_as_the_steps_beside_it_leave_it_room():
    # The ball of radius 0.3 around 0: no step of 1 is in it, and the valve goes to its end.
    steps = Choices([-2.0, -2.0], 2.0, step=[1.0, 0.0])
    known = LipschitzHull(G_g=1.0, domain=steps)
    memory = known.observe(known.init(np.zeros(2)), Reading(np.zeros(2), -0.3, None, known.errors))
    region = known.region(memory, known.errors)
    for proposal, end in (([2.0, 2.0], 0.3), ([1.2, 0.1], 0.1), ([5.0, -0.25], -0.25)):
        found = region.nearest(np.array(proposal))
        assert found[0] == 0.0
        assert found[1] == pytest.approx(end, abs=1e-9)
    wide = known.observe(memory, Reading(np.zeros(2), -1.25, None, known.errors))
    found = known.region(wide, known.errors).nearest(np.array([1.5, 2.0]))
    assert found == pytest.approx([1.0, 0.75], abs=1e-6)  # of the ball of radius 1.25


@pytest.mark.parametrize("kind", ["hull", "curvature", "together", "drift", "context"])
def test_a_free_entry_is_not_stuck_beside_steps_that_are_infeasible(kind):
    # 0.6 x + 0.8 y <= 0.5, in steps of 1 for x: the best is (0, 0.625).
    steps, more = Choices([-1.0, -1.0], 1.0, step=[1.0, 0.0]), {}
    drift = Errors(drift=0.001)
    known = {
        "hull": lambda: LipschitzHull(G_g=1.0, domain=steps),
        "curvature": lambda: Curvature(beta=0.5, domain=steps),
        "together": lambda: Together(
            rows=[LipschitzHull(G_g=1.0, reach=2.0), Curvature(beta=0.0, reach=2.0)], domain=steps
        ),
        "drift": lambda: LipschitzHull(G_g=1.0, domain=steps, errors=drift, start_bound=-0.4),
        "context": lambda: ContextHull(G_g=1.0, domain=steps, context=Column(adds=1.0)),
    }[kind]()
    more = {"context": 0.0} if kind == "context" else {}
    live = Controller(RegionFilter(knowledge=known), [0.0, 0.0], **more)
    for _ in range(60):
        x = live.ask()
        g, s = tilted(x)
        assert g <= 0
        assert steps.contains(x)
        if kind == "together":
            g, s = [g, 0.3 * g], np.array([s, 0.3 * s])
        live.tell(constraint_value=g, constraint_subgradient=s, proposal=[0.9, 0.9], **more)
    assert live.ask()[0] == 0.0
    assert live.ask()[1] > 0.61


def test_in_a_ball_the_nearest_choice_of_every_piece_is_found():
    # Of all pieces, by hand: the ball of a reading and a box have one multiplier.
    rng, far = np.random.default_rng(0), 0
    for _ in range(120):
        d = int(rng.integers(1, 5))
        kinds = rng.integers(0, 3, size=d)
        kinds[0] = max(kinds[0], 1)
        size = rng.uniform(0.1, 0.4, size=d)
        choices = Choices(
            np.where(kinds == 2, size, -3.0), 3.0, np.where(kinds == 1, size, 0.0), kinds == 2
        )
        x, radius = choices.project(rng.normal(size=d)), float(rng.uniform(0.1, 0.8))
        known = LipschitzHull(G_g=1.0, domain=choices)
        memory = known.observe(known.init(x), Reading(x, -radius, None, known.errors))
        region = known.region(memory, known.errors)
        w = x + rng.normal(size=d) * 10.0 ** rng.uniform(-1, 1.5)
        found = region.nearest(w)
        assert choices.contains(found)
        assert region.contains(found)
        best = min(_distances(choices, kinds, x, radius, w))
        far += float(np.linalg.norm(found - w)) > best + 1e-3
        assert float(np.linalg.norm(found - w)) <= best + 0.1
    assert far <= 6  # where the piece of the best is next to neither


def _distances(choices, kinds, x, radius, w):
    """Yield how far the nearest point of a ball in each piece of choices is from w."""
    each = []
    for i, kind in enumerate(kinds):
        turns = range(-10, 11) if kind == 1 else (0,)
        fixed = [x[i] + k * np.broadcast_to(choices.step, len(x))[i] for k in turns if kind == 1]
        fixed = [part for part in fixed if abs(part) <= 3.0]
        each.append(fixed + [0.0] * int(kind == 2) + [None] * int(kind != 1))
    for piece in itertools.product(*each):
        fixed = np.array([part is not None for part in piece])
        point = np.array([0.0 if part is None else part for part in piece])
        low = np.where(fixed, point, choices.least)
        high = np.where(fixed, point, choices.most)
        more, less = 1e9, 0.0
        if np.linalg.norm(np.clip(x, low, high) - x) > radius:
            continue
        for _ in range(200):  # the nearest is on the way from w to x, drawn into the piece
            share = 0.5 * (more + less) if less else 0.5 * more
            point = np.clip((w + share * x) / (1.0 + share), low, high)
            more, less = (share, less) if np.linalg.norm(point - x) <= radius else (more, share)
        yield float(np.linalg.norm(np.clip((w + more * x) / (1.0 + more), low, high) - w))


@pytest.mark.parametrize("kind", ["hull", "rows", "rows, drift", "curvature", "context", "ramp"])
def test_attacked_on_entries_of_different_kinds_every_action_is_a_feasible_choice(kind):
    rng, moved = np.random.default_rng(12), 0.0
    for _ in range(6):
        d, m = int(rng.integers(2, 5)), 1 if kind == "curvature" else 2
        a = rng.normal(size=(m, d))
        a /= np.linalg.norm(a, axis=1)[:, None]
        b, kinds = rng.uniform(0.2, 1.0, size=m), rng.integers(0, 3, size=d)
        kinds[:2] = (1, 0)
        size = rng.uniform(0.02, 0.2, size=d)
        choices = Choices(
            np.where(kinds == 2, size, -2.0), 2.0, np.where(kinds == 1, size, 0.0), kinds == 2
        )
        hull = LipschitzHull(G_g=1.0, domain=choices)
        known = {
            "rows": Together(rows=[LipschitzHull(G_g=1.0, reach=8.0)] * m, domain=choices),
            "rows, drift": Together(
                rows=[
                    LipschitzHull(
                        G_g=1.0, reach=8.0, start_bound=0.1 - b.min(), errors=Errors(drift=0.02)
                    )
                ]
                * m,
                domain=choices,
            ),
            "curvature": Curvature(beta=0.3, domain=choices),
            "context": ContextHull(G_g=1.0, domain=choices, context=Column(G_c=1.0)),
        }.get(kind, hull)
        ramp = 0.25 if kind == "ramp" else None
        first = {"context": 0.0} if kind == "context" else {}
        live = Controller(RegionFilter(knowledge=known, ramp=ramp), np.zeros(d), **first)
        now, x = 0.0, np.zeros(d)
        for proposal in rng.normal(size=(40, d)) * 10.0 ** rng.uniform(-1.5, 1, size=(40, 1)):
            before, x = x, live.ask()
            values = a @ x - b - now
            i = int(values.argmax())
            assert values[i] <= 0
            assert choices.contains(x)
            assert ramp is None or np.linalg.norm(x - before) <= ramp * (1 + 1e-12)
            moved += float(np.linalg.norm(x - before))
            told = (values, a) if kind.startswith("rows") else (float(values[i]), a[i])
            if kind == "rows, drift":
                now = float(np.clip(now + rng.uniform(-0.02, 0.01), -0.1, 0.0))
            if kind == "context":  # what gets milder
                now += float(rng.uniform(0.0, 0.02))
                first = {"context": -now}
            live.tell(
                constraint_value=told[0], constraint_subgradient=told[1], proposal=proposal, **first
            )
    assert moved > 20.0


def test_the_checker_knows_choices_by_hand():
    off_or = {"class": "Choices", "least": [6.0, 3.0], "most": 32.0, "step": 0.0, "off": True}
    steps = {"class": "Choices", "least": 6.0, "most": [32.0, 20.0], "step": 5.0, "off": True}
    grid = {"class": "Choices", "least": None, "most": None, "step": [0.1, 0.1], "off": False}
    mixed = {"class": "Choices", "least": [0.0, -1.0], "most": 1.0, "step": [0.0, 0.5]}
    mixed["off"] = {"tuple": [False, False]}
    for known, good, bad in (
        (off_or, [(0.0, -0.0), (6.0, 3.0), (32.0, 31.9)], [(5.9, 3.0), (6.0, 32.1), (0.0, -3.0)]),
        (steps, [(0.0, 10.0), (30.0, 20.0)], [(8.0, 10.0), (35.0, 10.0), (5.0, 0.0), (10.0, 25.0)]),
        (mixed, [(0.37, -0.5), (1.0, 1.0)], [(0.37, 0.25), (1.1, 0.0), (-0.1, 0.5), (0.0, -1.5)]),
        (grid, [(0.1, 0.2), (-0.0, -0.7000000000000001)], [(0.1, 0.25), (1e300, 0.0)]),
    ):
        for points, is_good in ((good, True), (bad, False)):
            for p in points:
                assert is_inside(known, [Fraction(a) for a in p]) is is_good, (known, p)
    for choices in CHOICES:
        rng = np.random.default_rng(2)
        encoded = encode(choices)
        for x in rng.uniform(-0.5, 40.0, size=(20, 3)):
            p = choices.project(x)
            assert is_inside(encoded, [Fraction(float(a)) for a in p])
            assert is_inside(encoded, [Fraction(a) for a in x]) == choices.contains(x)
