"""Actions on a grid: certified, on the grid to the last bit, and as far as the grid allows."""

import numpy as np
import pytest

from surefoot import OGD, Constants, Controller, Feedback
from surefoot.certified import Certified
from surefoot.controller.check import check
from surefoot.knowledge import (
    AnnouncedDrift,
    AverageLimit,
    Column,
    Columns,
    ContextHull,
    Curvature,
    CurvatureRows,
    EmptyRegionError,
    Errors,
    Grid,
    LipschitzHull,
    Reading,
)
from surefoot.proposers import Leader
from surefoot.rules import CertifiedDualAveraging, CertifiedOGD, MovingBalls, RegionFilter
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
    known = LipschitzHull(G_g=1.0, domain=Grid(0.25, BOX))
    memory = known.observe(known.init(np.zeros(2)), Reading(np.zeros(2), -0.5, None, known.errors))
    region = known.region(memory, known.errors)
    assert region.nearest(np.array([1.0, 1.0])).tolist() == [0.25, 0.25]
    assert region.nearest(np.array([0.25, -0.25])).tolist() == [0.25, -0.25]
    assert region.nearest(np.array([3.0, 0.1])).tolist() == [0.25, 0.0]


def test_the_grid_of_a_box_by_hand():
    # Multiples of 0.1 from 0.05 to 0.95, of 0.25 from -0.6 to 0.8.
    grid = Grid([0.1, 0.25], Box([0.05, -0.6], [0.95, 0.8]))
    assert grid.project(np.array([9.0, 9.0])) == pytest.approx([0.9, 0.75])
    assert grid.project(np.array([-9.0, -9.0])) == pytest.approx([0.1, -0.5])
    assert grid.project(np.array([0.33, 0.1])) == pytest.approx([0.3, 0.0])
    assert grid.minimize_linear(np.array([1.0, -1.0])) == pytest.approx([0.1, 0.75])
    assert grid.contains(grid.project(np.array([0.7, 0.3])))
    assert not grid.contains(np.array([0.7, 0.3]))
    ends = Grid(0.25, Box([-0.5], [0.75]))  # the ends are on it
    assert ends.project(np.array([-9.0])) == ends.project(np.array([-0.5])) == [-0.5]
    assert ends.project(np.array([9.0])) == [0.75]
    dimensions = (Grid(0.1), Grid([0.1, 0.2]), grid, Grid(0.1, Box([0.0] * 3, [1.0] * 3)))
    assert [each.dimension for each in dimensions] == [None, 2, 2, 3]
    ball = grid.bounding_ball()
    assert all(ball.contains(np.array(p)) for p in ([0.1, -0.5], [0.9, 0.75]))
    with pytest.raises(ValueError, match="reach must be given"):
        Grid(0.1).minimize_linear(np.ones(2))


def test_the_points_that_are_tried_by_hand():
    grid = Grid([0.5, 0.25], Box([-1.0, -1.0], [1.0, 1.0]))
    found = grid.around(np.array([0.6, -0.1]), np.array([0.0, 1.0]))
    corners = {(0.5, -0.25), (0.5, 0.0), (1.0, -0.25), (1.0, 0.0)}
    neighbours = {(0.5, 1.0), (-0.5, 1.0), (0.0, 0.75), (0.0, 1.0)}  # none beyond the box
    assert {tuple(p) for p in found.tolist()} == corners | neighbours


@pytest.mark.parametrize("d", [1, 8, 9])
def test_the_furthest_grid_point_of_a_ball_by_hand(d):
    # A ball of radius 0.72 holds 0.5, and not 0.75; in nine dimensions not all corners are tried.
    known = LipschitzHull(G_g=1.0, reach=4.0, domain=Grid(0.25))
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
    grid = Grid(step, BOX)
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

    grid = Grid(0.15, BOX)
    hull, tangent = LipschitzHull(G_g=1.0, domain=grid), Curvature(beta=0.0, domain=grid)
    assert rest(hull) < rest(tangent) <= 0


@pytest.mark.slow
def test_a_leader_learns_in_the_box_and_the_follower_keeps_to_the_grid():
    grid = Grid(0.05, BOX)
    player = Certified(proposer=Leader(domain=BOX), knowledge=LipschitzHull(G_g=1.0, domain=grid))
    state = player.init(np.zeros(2))
    for _ in range(100):
        g, s = tilted(state.x)
        assert g <= 0
        assert grid.contains(state.x)
        state = player.update(state, Feedback(np.array([-1.0, -1.0]), g, s))
    assert state.x.sum() > 0.6  # of 0.8 at (1, -0.125), the best


def test_a_set_that_is_announced_is_kept_too():
    player = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=2.0, domain=Grid(0.1)))
    state = player.init(np.zeros(2))
    small = Box([-1.0, -1.0], [0.15, 0.25])
    seen = Feedback(None, *tilted(state.x), proposal=np.array([0.4, 0.4]), within=small)
    np.testing.assert_allclose(player.update(state, seen).x, [0.1, 0.2], rtol=1e-12)


def test_an_average_limit_is_kept_on_a_grid_and_in_an_announced_set():
    grid, small = Grid(0.1, BOX), Box([-1.0, -1.0], [0.65, 1.0])
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
    known = LipschitzHull(G_g=1.0, reach=2.0, domain=Grid(0.5), errors=Errors(drift=0.1))
    player = RegionFilter(knowledge=known)
    state, far = player.init(np.zeros(1)), np.array([9.0])
    state = player.update(state, Feedback(None, -0.3, np.ones(1), proposal=far))
    state = player.update(state, Feedback(None, -0.15, np.ones(1), proposal=far))
    with pytest.raises(EmptyRegionError):
        player.update(state, Feedback(None, -0.05, np.ones(1), proposal=far))


@pytest.mark.parametrize("kind", [Column(adds=1.0), Column(G_c=1.0), AnnouncedDrift()], ids=repr)
def test_in_a_harsher_context_an_action_of_the_grid_does_not_stay(kind):
    grid = Grid(0.25, Box([0.0], [2.0]))
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
    known = ContextHull(G_g=1.0, domain=Grid(0.25, Box([0.0], [2.0])), context=Column(adds=1.0))
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
    known = AverageLimit(G_g=40.0, domain=Grid(0.5, Box([0.0, 0.0], [2.0, 2.0])), most=1.0)
    player, s = RegionFilter(knowledge=known), np.array([0.6, 0.6])
    state = player.init(np.zeros(2))
    state = player.update(state, Feedback(None, -0.75, s, proposal=np.zeros(2)))
    seen = Feedback(None, 0.75, s, proposal=np.array([2.0, 3.0]), action=np.array([1.0, 1.5]))
    assert player.update(state, seen).x.tolist() == [0.0, 0.0]


def test_a_journal_keeps_the_grid(tmp_path):
    path = tmp_path / "steps.jsonl"
    known = LipschitzHull(G_g=1.0, domain=Grid([0.1, 0.2], BOX))
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
        (lambda: Grid(0.0), "step must be above 0"),
        (lambda: Grid([0.1, np.nan]), "step"),
        (lambda: Grid(True), "step must be a number, or a vector of numbers, got True"),
        (lambda: Grid([0.1] * 3, BOX), "step must be one number, or 2 as the box has, got"),
        (lambda: Grid(0.1, 3.0), "inside must be a Box"),
        (lambda: Grid(0.5, Box([0.1], [0.4])), "step must leave a point in"),
        (lambda: LipschitzHull(G_g=1.0, domain=Grid(0.1)), "reach must be given"),
        (lambda: OGD(eta=0.1, domain=Grid(0.1, BOX)), "domain must be convex"),
        (lambda: CertifiedOGD.default(SMOOTH, None, Grid(0.1, BOX)), "domain must be convex"),
        (
            lambda: CertifiedDualAveraging.default(SMOOTH, None, Grid(0.1, BOX)),
            "domain must be convex",
        ),
        (
            lambda: MovingBalls.default(SMOOTH, None, Grid(0.1, BOX), cost_curvature=1.0),
            "domain must be convex",
        ),
        (
            lambda: LipschitzHull(G_g=1.0, domain=Grid(0.1, BOX)).init(np.array([0.05, 0.0])),
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
    known = CurvatureRows(beta=0.0, rows=2, domain=Grid(0.2, BOX))
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
        grid = Grid(rng.uniform(0.01, 0.3, size=d), Box(np.full(d, -2.0), np.full(d, 2.0)))
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
    known = ContextHull(G_g=1.0, domain=Grid(0.25, BOX), context=Column(adds=1.0))
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
    known = LipschitzHull(G_g=1.0, domain=Grid(0.05, BOX), errors=Errors(drift=0.02))
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
        grid = Grid(0.1, Box(np.full(d, -1.0), np.full(d, 1.0)))
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
    grid = Grid(0.0625, BOX)
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
