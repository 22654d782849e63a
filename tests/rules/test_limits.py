"""Several limits, each with its own bound on the slopes: a hull per row, one leader over all."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot import Ball, Feedback, LeaderFollower, Problem, play
from surefoot.certified import Certified
from surefoot.controller import Controller, replay
from surefoot.controller.check import check
from surefoot.core.errors import InvalidValueError
from surefoot.knowledge import (
    Choices,
    Column,
    Curvature,
    Errors,
    LipschitzHull,
    Reading,
    Together,
)
from surefoot.problems.constraints import Affine
from surefoot.problems.costs import Linear
from surefoot.proposers import Leader
from surefoot.proposers.cuts import add_cut, empty_cuts
from surefoot.rules import ValuesFollower
from surefoot.sets import Box, Polytope

SEEDS = st.integers(0, 2**32 - 1)


def uneven_box(rng, d):
    """A turned box around 0 whose rows have norms from 0.1 to 100."""
    Q, norms = np.linalg.qr(rng.normal(size=(d, d)))[0], 10.0 ** rng.uniform(-1, 2, 2 * d)
    return Affine(np.vstack([Q, -Q]) * norms[:, None], rng.uniform(0.3, 0.6, 2 * d) * norms), norms


class Bowls:
    """Convex rows, quadratic and affine, that are below 0 at 0; slopes are bounded on a ball."""

    def __init__(self, rng, d, rows, reach):
        self.P = [self._bend(rng, d) * (i % 2) for i in range(rows)]
        self.q = rng.normal(size=(rows, d)) * 10.0 ** rng.uniform(-1, 1, (rows, 1))
        self.b = rng.uniform(0.05, 0.5, rows) * np.linalg.norm(self.q, axis=1)
        steep = [np.linalg.norm(P, 2) * reach for P in self.P]
        self.G = (np.linalg.norm(self.q, axis=1) + steep) * (1 + 1e-9)

    @staticmethod
    def _bend(rng, d):
        root = rng.normal(size=(d, d))
        return root @ root.T

    def query(self, x):
        bent = np.array([P @ x for P in self.P])
        return 0.5 * bent @ x + self.q @ x - self.b, bent + self.q


def together_of(G, reach=2.0):
    return Together(rows=tuple(LipschitzHull(G_g=float(one), reach=reach) for one in G))


def regions_of(actions, wall, G):
    """The region of h = max g_i/G_i, and that of all rows together, after some actions."""
    one, rows = LipschitzHull(G_g=1.0, reach=2.0), together_of(G)
    first, second = one.init(actions[0]), rows.init(actions[0])
    for x in actions:
        g, s = wall.query_all(x)
        i = int(np.argmax(g / G))
        first = one.observe(first, Reading(x, float(g[i] / G[i]), s[i] / G[i], one.errors))
        second = rows.observe(second, Reading(x, g, s, rows.errors))
    return one.region(first, one.errors), rows.region(second, rows.errors)


# --- the region and the cuts ---------------------------------------------------------------------


def test_a_step_by_hand():
    player = LeaderFollower(G_g=[1.0, 4.0], domain=Ball(2.0))
    state = player.init(np.zeros(2))  # the limits are x[0] <= 0.5 and 4 x[1] <= 4
    g, s = np.array([-0.5, -4.0]), np.diag([1.0, 4.0])
    state, info = player.step(state, Feedback(np.array([-1.0, -1.0]), g, s))
    # The balls around 0 have the radii 0.5/1 and 4/4; what both hold is the smaller one.
    assert float(info.region.radius) == pytest.approx(0.5)
    assert info.region.slope_norm == 4.0
    np.testing.assert_allclose(info.region.nearest(np.array([3.0, 4.0])), [0.3, 0.4])
    # The row with the least way left comes last.
    cuts = state.learner.cuts
    np.testing.assert_allclose(cuts.normals, [[0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_allclose(cuts.offsets, [1.0, 0.5])
    np.testing.assert_allclose(cuts.inverses, [0.25, 1.0])
    np.testing.assert_allclose(cuts.shares, [1.0, 0.25])
    # A margin of h is G_i h/|s_i| = h for either row, and is told as that of the steepest, 4h.
    np.testing.assert_allclose(4.0 * cuts.rises, [1.0, 1.0])
    assert cuts.slack(np.zeros(2)) / 4.0 == pytest.approx(0.5)


def test_cuts_that_become_one_keep_what_a_margin_costs():
    cuts = empty_cuts(2, 1)
    for g, s, share in ((-1.0, [2.0, 0.0], 0.5), (-1.0, [0.0, 1.0], 0.1)):
        cuts, _ = add_cut(cuts, np.zeros(2), g, np.array(s), 0.0, np.zeros(2), 2, None, share)
    cuts = cuts._replace(pulls=np.array([[3.0, 4.0]]))
    before = float(cuts.pulls[0] @ cuts.rises)
    third = np.array([-1.0, 0.0])
    after, newest = add_cut(cuts, np.zeros(2), -1.0, third, 0.0, np.zeros(2), 2, None, 1.0)
    assert (len(after.offsets), newest) == (2, 1)
    assert float(after.pulls[0] @ after.rises) == pytest.approx(before)
    np.testing.assert_allclose(after.rises[0], (3.0 * 0.25 + 4.0 * 0.1) / 5.0)
    assert after.shares[1] == 1.0


@pytest.mark.slow
@given(seed=SEEDS, d=st.integers(1, 4), m=st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_what_is_certified_is_feasible_for_every_row(seed, d, m):
    rng = np.random.default_rng(seed)
    bowls = Bowls(rng, d, m, 2.0)
    known, x = Together(rows=together_of(bowls.G).rows, domain=Ball(2.0)), np.zeros(d)
    memory = known.init(x)
    for _ in range(12):
        g, s = bowls.query(x)
        assert g.max() <= 0
        reading = Reading(x, g, s, known.errors)
        assert known.contradictions(memory, reading) == ()
        memory = known.observe(memory, reading)
        region = known.region(memory, known.errors)
        for _ in range(5):
            x = region.nearest(rng.normal(size=d) * rng.choice([0.1, 1.0, 10.0]))
            assert bowls.query(x)[0].max() <= 0
            assert region.contains(x)
            assert bowls.query(x)[0].max() <= region.certificate(x).bound + 1e-12


@given(seed=SEEDS, d=st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_two_actions_certify_no_less_by_rows_than_by_the_largest_row(seed, d):
    rng = np.random.default_rng(seed)
    wall, norms = uneven_box(rng, d)
    first, second = (0.25 * rng.uniform(-1, 1, d) / math.sqrt(d) for _ in range(2))
    by_largest, by_rows = regions_of([first, second], wall, norms * (1 + 1e-9))
    for _ in range(10):
        assert by_rows.contains(by_largest.nearest(rng.normal(size=d)))


def test_what_three_actions_certify_is_a_matter_of_which_are_remembered():
    wall, G = Affine(np.diag([1.0, 4.0]), np.array([0.5, 2.0])), np.array([1.0, 4.0])
    actions = [np.zeros(2), np.array([0.25, -0.375]), np.array([0.375, -0.125])]
    by_largest, by_rows = regions_of(actions, wall, G)
    # The start is the deepest action; of the second row alone, the second is, by 0.875.
    point = np.array([-0.478, 0.146])
    assert by_largest.contains(point)
    assert not by_rows.contains(point)
    assert by_rows.contains(by_largest.nearest(np.array([0.5, 0.0])))


# --- what it is worth ----------------------------------------------------------------------------


def regret_of(player, wall, gradients, G=None):
    """The regret of a player that sees all rows, the largest, or the largest g_i/G_i as one."""
    total, paid = gradients.sum(axis=0), 0.0
    state = player.init(np.zeros(gradients.shape[1]))
    for grad in gradients:
        g, s = wall.query_all(state.x)
        assert (g <= 0).all()
        paid += float(grad @ state.x)
        if not player.needs.separately:
            scale = np.ones(len(g)) if G is None else G
            i = int(np.argmax(g / scale))
            g, s = float(g[i] / scale[i]), s[i] / scale[i]
        state = player.update(state, Feedback(grad, g, s))
    return paid - float(Polytope(wall.A, wall.b).minimize_linear(total) @ total)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "T"), [(2, 400), (5, 150)])
def test_a_bound_for_each_row_does_what_the_same_units_do(d, T):
    """docs/units.md has the measurement: one G_i each is that of one limit max g_i/G_i, or less."""
    rng = np.random.default_rng([d, 30, 7])
    Q, norms = np.linalg.qr(rng.normal(size=(d, d)))[0], np.geomspace(1.0, 30.0, 2 * d)
    rng.shuffle(norms)
    wall, R = Affine(np.vstack([Q, -Q]) * norms[:, None], 0.5 * norms), 0.5 * math.sqrt(d) + 1e-6
    gradients, G = -Q.sum(axis=0) / math.sqrt(d) + rng.normal(size=(T, d)), norms * (1 + 1e-12)
    each = regret_of(LeaderFollower(G_g=G.tolist(), domain=Ball(R)), wall, gradients)
    even = regret_of(LeaderFollower(G_g=1 + 1e-12, domain=Ball(R)), wall, gradients, G)
    one = regret_of(LeaderFollower(G_g=float(G.max()), domain=Ball(R)), wall, gradients)
    assert each <= 1.05 * even
    assert each < 0.5 * one


def test_the_observed_bound_is_above_the_regret_and_says_something():
    rng, d = np.random.default_rng(1), 2
    wall, norms = uneven_box(rng, d)
    player = LeaderFollower(G_g=(norms * (1 + 1e-12)).tolist(), domain=Ball(1.0))
    state, sums, paid, total = player.init(np.zeros(d)), player.observer(), 0.0, np.zeros(d)
    known, seen = Polytope(wall.A, wall.b), []
    for _ in range(150):
        grad = np.array([1.0, -0.4]) + rng.normal(size=d)
        paid, total = paid + float(grad @ state.x), total + grad
        state, info = player.step(state, Feedback(grad, *wall.query_all(state.x)))
        sums = sums.after(info)
        regret = paid - float(known.minimize_linear(total) @ total)
        seen.append((regret, sums.bound(player, state)))
    assert all(regret <= bound for regret, bound in seen)
    assert seen[-1][1] < 0.1 * 150  # a round can cost about 1
    assert sums.theorem == "Theorem F"


# --- safety --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("domain", ["ball", "box"])
@given(seed=SEEDS, d=st.integers(1, 4))
@settings(max_examples=10, deadline=None)
def test_every_row_is_kept_in_every_round(domain, seed, d):
    rng = np.random.default_rng(seed)
    wall, norms = uneven_box(rng, d)
    known = Ball(math.sqrt(d)) if domain == "ball" else Box([-0.4] * d, [1.0] * d)
    player = LeaderFollower(G_g=(norms * (1 + 1e-12)).tolist(), domain=known)
    state, aim = player.init(np.zeros(d)), rng.normal(size=d)
    for _ in range(40):
        if rng.random() < 0.1:
            aim = rng.normal(size=d)
        g, s = wall.query_all(state.x)
        assert (g <= 0).all()
        assert known.contains(state.x)
        seen = Feedback(aim, g, None if rng.random() < 0.2 else s)
        state, info = player.step(state, seen if rng.random() > 0.1 else Feedback(aim))
        assert info.contradictions == ()


@pytest.mark.slow
@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_errors_and_drift_are_those_of_every_row(seed):
    rng, d, error, drift = np.random.default_rng(seed), 2, 0.02, 1e-3
    Q, norms = np.linalg.qr(rng.normal(size=(d, d)))[0], np.array([1.0, 9.0, 3.0, 30.0])
    A, b, least = np.vstack([Q, -Q]) * norms[:, None], 0.5 * norms, 0.25 * norms
    player = LeaderFollower(
        G_g=(norms * (1 + 1e-9)).tolist(), domain=Ball(2.0), value_error=error, drift=drift
    )
    state, way = player.init(np.zeros(d)), rng.choice([-1.0, 1.0], size=4)
    for _ in range(80):
        g = A @ state.x - b
        assert g.max() <= 0
        read = g + error * rng.choice([-1.0, 1.0], size=4)
        state, info = player.step(state, Feedback(rng.normal(size=d) - 0.5, read, A))
        assert info.contradictions == ()
        b = np.maximum(b + drift * way, least)
        way = np.where(rng.random(4) < 0.05, -way, way)


def test_a_bound_that_is_too_small_names_its_row():
    player = LeaderFollower(G_g=[1.0, 2.0], domain=Ball(1.0))
    seen = Feedback(np.zeros(2), np.array([-0.5, -0.5]), np.diag([1.0, 5.0]))
    _, info = player.step(player.init(np.zeros(2)), seen)
    (sentence,) = info.contradictions
    assert "5" in sentence
    assert sentence.endswith("(constraint 1)")


# --- in the library ------------------------------------------------------------------------------


def test_several_numbers_make_one_hull_each():
    errors = {"value_error": 0.1, "slope_error": 0.2, "drift": 0.01, "evaluation_error": 1e-9}
    player = LeaderFollower(G_g=(1.0, 30.0), domain=Ball(2.0), start_bound=-0.5, **errors)
    each = Errors(value=0.1, slope=0.2, drift=0.01, evaluation=1e-9)
    rows = tuple(
        LipschitzHull(G_g=steep, reach=2.0, start_bound=-0.5, errors=each) for steep in (1.0, 30.0)
    )
    assert player.knowledge == Together(rows=rows, domain=Ball(2.0))
    assert player == LeaderFollower.of(Leader(domain=Ball(2.0)), player.knowledge)
    assert (player.needs.separately, player.needs.work) == (True, "m K d")
    near = LeaderFollower(G_g=np.array([1.0, 3.0]), domain=Ball(2.0), reach=1.5)
    assert near.knowledge.rows[1] == LipschitzHull(G_g=3.0, reach=1.5)


def test_what_is_promised_says_of_which_row():
    needs = LeaderFollower(G_g=[1.0, 30.0], domain=Ball(1.0)).knowledge.premises
    assert "g is convex" in needs
    assert "no subgradient of g is longer than G_g = 1 (constraint 0)" in needs
    assert "no subgradient of g is longer than G_g = 30 (constraint 1)" in needs


def test_one_row_is_told_as_a_row_or_as_a_number():
    alone = LeaderFollower(G_g=1.0, domain=Ball(1.0))
    player = LeaderFollower(G_g=[1.0], domain=Ball(1.0))
    pull, s = np.array([-1.0, 0.3]), np.array([0.0, 1.0])
    wanted = alone.update(alone.init(np.zeros(2)), Feedback(pull, -0.5, s)).x
    for g, slope in ((-0.5, s), (np.array([-0.5]), s[None])):
        state = player.init(np.zeros(2))
        np.testing.assert_allclose(player.update(state, Feedback(pull, g, slope)).x, wanted)


def test_a_curvature_beside_a_slope():
    rows = (LipschitzHull(G_g=30.0, reach=1.0), Curvature(beta=1.0, reach=1.0))
    known = Together(rows=rows, domain=Ball(1.0))
    player = Certified(proposer=Leader(domain=Ball(1.0)), knowledge=known)
    state = player.init(np.zeros(2))  # 30 x[0] <= 15 and |x|^2 <= 1/2
    for _ in range(60):
        x = state.x
        g, s = np.array([30 * x[0] - 15, 0.5 * x @ x - 0.25]), np.array([[30.0, 0.0], x])
        assert (g <= 0).all()
        state = player.update(state, Feedback(np.array([-1.0, -0.2]), g, s))
    np.testing.assert_allclose(state.x, [0.5, 0.5], atol=0.02)


def test_a_grid_keeps_its_points():
    grid = Choices([-1.0, -1.0], [1.0, 1.0], step=0.125)
    known = Together(rows=together_of([1.0, 30.0]).rows, domain=grid)
    player = LeaderFollower.of(Leader(domain=grid.inside), known)
    state = player.init(np.zeros(2))
    for _ in range(20):
        assert grid.contains(state.x)
        g = np.array([state.x[0] - 0.55, 30 * state.x[1] - 16.5])
        assert (g <= 0).all()
        state = player.update(state, Feedback(-np.ones(2), g, np.diag([1.0, 30.0])))
    assert state.x.min() >= 0.375
    assert state.x.max() == 0.5


def test_a_game_plays_rows():
    rng = np.random.default_rng(4)
    wall, norms = uneven_box(rng, 2)
    problem = Problem.of(Linear(rng.normal(size=(30, 2, 2)) - 0.5), wall, Ball(2.0), [0.0, 0.0])
    player = LeaderFollower(G_g=(norms * (1 + 1e-12)).tolist(), domain=Ball(2.0))
    assert (play(player, problem).violations.largest <= 0).all()


def test_a_live_loop_takes_all_rows_and_is_derived_again(tmp_path):
    path, player = tmp_path / "run.jsonl", LeaderFollower(G_g=[1.0, 30.0], domain=Ball(1.0))
    rows, limits = np.diag([1.0, 30.0]), np.array([0.5, 15.0])
    with Controller(player, [0.0, 0.0], journal=path) as live:
        for t in range(40):
            x = live.ask()
            g = rows @ x - limits
            if t == 12:
                live.tell(missing=True)
                continue
            if t:
                why = live.explain()
                assert why.is_proven
                assert g.max() <= why.bound <= 0
            live.tell(cost_gradient=[-1.0, -0.5], constraint_value=g, constraint_subgradient=rows)
        np.testing.assert_allclose(live.ask(), [0.5, 0.5], atol=0.02)
        assert "certified by Together" in str(live.explain())
        with pytest.raises(InvalidValueError, match=r"constraint_value.shape must be \(2,\)"):
            live.tell(cost_gradient=[0.0, 0.0], constraint_value=-0.5, constraint_subgradient=rows)
        last = str(live.explain())
    assert replay(path).is_same
    with Controller.open(path) as again:
        assert str(again.explain()) == last
    assert check(str(path)).said == ["certified: 39 of 40 rounds; the first is the start"]


@pytest.mark.parametrize(
    ("G_g", "sentence"),
    [
        ([], "G_g.shape must be that of a vector that is not empty"),
        ([1.0, 0.0], r"G_g\[1\] must be a finite number > 0, got 0.0"),
        ([-2.0, 1.0], r"G_g\[0\] must be a finite number > 0, got -2.0"),
        ([1.0, math.nan], "G_g must be finite, got nan"),
        ([[1.0], [2.0]], "G_g.shape must be that of a vector"),
        ("several", "G_g must be a finite number > 0, got 'several'"),
    ],
)
def test_a_bound_that_is_none_is_rejected_in_a_sentence(G_g, sentence):
    with pytest.raises(InvalidValueError, match=sentence):
        LeaderFollower(G_g=G_g, domain=Ball(1.0))


def test_several_limits_in_contexts_hold_in_every_one(tmp_path):
    # x[0] <= 0.4 - c/10 and 30 x[1] <= 12 + 3c, in contexts c from -1 to 1; the rows share them.
    rows = np.diag([1.0, 30.0])
    columns = [Column(adds=0.1), Column(G_c=3.0)]
    player = LeaderFollower(
        G_g=[1.0, 30.0], domain=Ball(1.0), context=columns, start_bound=-0.2, value_error=0.01
    )
    rng, path, reached = np.random.default_rng(4), tmp_path / "limits.jsonl", []
    place = np.zeros(2)
    with Controller(player, [0.0, 0.0], journal=path, context=place) as live:
        for _ in range(120):
            x = live.ask()
            c = Fraction(float(place[0])), Fraction(float(place[1]))
            g = [
                Fraction(float(x[0])) - Fraction(2, 5) + c[0] * Fraction(0.1),
                30 * Fraction(float(x[1])) - 12 - 3 * c[1] + Fraction(0.1) * c[0],
            ]
            assert max(g) <= 0
            reached.append(float(max(g)))
            place = rng.uniform(-1.0, 1.0, size=2)
            told = [float(part) + 0.01 * rng.uniform(-1, 1) for part in g]
            live.tell(
                cost_gradient=[-1.0, -1.0],
                constraint_value=told,
                constraint_subgradient=rows,
                context=place,
            )
    assert max(reached) > -0.1  # and the limits were near
    assert replay(path).is_same
    assert check(str(path)).is_right


def test_what_is_unsupported_is_rejected_in_a_sentence():
    known = {"G_g": [1.0, 2.0], "domain": Ball(1.0)}
    context = {"context": Column(adds=1.0, changes=0.1), "start_bound": -0.1}
    with pytest.raises(InvalidValueError, match="Theorem R has no return path for several limits"):
        LeaderFollower(**known, **context, ramp=0.1)
    with pytest.raises(InvalidValueError, match="ramp must be that of a LipschitzHull"):
        LeaderFollower(**known, ramp=0.1, drift=1e-3)
    with pytest.raises(InvalidValueError, match="G_g must be one number for ValuesFollower, which"):
        ValuesFollower(**known)
    player = LeaderFollower(**known)
    for g, s in ((-0.5, np.eye(2)), (np.full(3, -0.5), np.ones((3, 2))), (np.full(3, -0.5), None)):
        with pytest.raises(InvalidValueError, match=r"constraint_value\.shape must be"):
            player.step(player.init(np.zeros(2)), Feedback(np.zeros(2), g, s))
    with pytest.raises(InvalidValueError, match="strictly feasible"):
        player.step(player.init(np.zeros(2)), Feedback(np.zeros(2), np.array([-1.0, 0.0]), None))
