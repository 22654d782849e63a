"""Constraints that change from round to round: values, games, comparators, theorems."""

import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from surefoot import OGD, PFS, Ball, Constants, Feedback, Problem, play
from surefoot.problems.constraints import (
    Affine,
    AffineStream,
    ConstraintStream,
    Drifting,
    L2Norm,
    LinfNorm,
    max_of,
)
from surefoot.problems.costs import Linear, Quadratic
from surefoot.problems.hindsight import best_action
from surefoot.rules import DPP, AdaGradOGD, DualAveraging, FrankWolfe, ScalarDPP, SinhaVaze, Tighten
from surefoot.sets import Box, Polytope
from surefoot.testing import asarray, double_precision, why_missing

X = np.array([0.375, -0.25])
A = np.array([[[1.0, 2.0], [-3.0, 0.5]], [[0.0, -1.0], [1.0, 2.0]], [[2.0, 1.0], [0.25, -4.0]]])
B = np.array([[0.5, 0.375], [0.5, 0.25], [1.0, 2.0]])
OFFSETS = [0.125, -0.5, 0.0625]


def streams():
    return {
        "cube": Drifting(LinfNorm(0.5, 2), OFFSETS),
        "ball": Drifting(L2Norm(0.75), OFFSETS),
        "rows": Drifting(Affine(A[0], B[0]), OFFSETS),
        "parts": Drifting(max_of(L2Norm(0.75), LinfNorm(0.5, 2)), OFFSETS),
        "affine": AffineStream(A, B),
    }


EACH = pytest.mark.parametrize("name", list(streams()))


def round_of(stream, t):
    """The constraint of one round, made the other way."""
    if isinstance(stream, AffineStream):
        return Affine(A[t], B[t])

    class Moved:
        def query(self, x):
            g, s = stream.constraint.query(x)
            return g + OFFSETS[t], s

        def query_all(self, x):
            g, s = stream.constraint.query_all(x)
            return g + OFFSETS[t], s

    return Moved()


def test_a_drifting_constraint_by_hand():
    g = Drifting(LinfNorm(0.5, 2), OFFSETS)
    assert [g.query(t, X)[0] for t in range(3)] == [0.0, -0.625, -0.0625]
    assert g.query(1, X)[1].tolist() == [1.0, 0.0]
    values, slopes = g.query_all(0, X)
    assert values.tolist() == [0.0, -0.625, -0.75, -0.125]
    assert slopes.shape == (4, 2)


def test_an_affine_stream_by_hand():
    g = AffineStream(A, B)
    assert [g.query(t, X)[0] for t in range(3)] == [-0.625, -0.25, -0.5]
    assert [g.query(t, X)[1].tolist() for t in range(3)] == [[1.0, 2.0], [0.0, -1.0], [2.0, 1.0]]
    values, rows = g.query_all(2, X)
    assert values.tolist() == [-0.5, -0.90625]
    np.testing.assert_array_equal(rows, A[2])


def test_of_rows_that_tie_the_first_counts():
    g = AffineStream([[[1.0, 0.0], [0.0, 1.0]]], [[0.5, 0.5]])
    assert g.query(0, np.array([0.25, 0.25]))[1].tolist() == [1.0, 0.0]


@EACH
def test_every_round_has_the_values_of_its_own_constraint(name):
    g = streams()[name]
    batch = np.array([X, -2 * X, [0.0, 0.5]])
    for t in range(3):
        one = round_of(g, t)
        for x in (X, batch):
            for seen, wanted in zip(g.query(t, x), one.query(x), strict=True):
                np.testing.assert_array_equal(seen, wanted)
            for seen, wanted in zip(g.query_all(t, x), one.query_all(x), strict=True):
                np.testing.assert_array_equal(seen, wanted)
        assert type(g.query(t, X)[0]) is float
        assert g.query(t, batch)[0].shape == (3, 1)
        assert g.query_all(t, batch)[0].shape == (3, g.rows)
        assert g.query_all(t, batch)[1].shape == (3, g.rows, 2)


@EACH
def test_sizes(name):
    g = streams()[name]
    assert isinstance(g, ConstraintStream)
    assert g.horizon == 3
    assert g.dimension == (None if name == "ball" else 2)
    assert g.rows == {"cube": 4, "ball": 1, "rows": 2, "parts": 5, "affine": 2}[name]


@EACH
def test_later_rounds_are_a_stream_of_their_own(name):
    g = streams()[name]
    later = g.rounds(1, 3)
    assert type(later) is type(g)
    assert later.horizon == 2
    for t in range(2):
        np.testing.assert_array_equal(later.query(t, X)[0], g.query(t + 1, X)[0])
    assert later.rounds(1, 2).query(0, X)[0] == g.query(2, X)[0]


@EACH
def test_the_worst_is_the_largest_of_all_rounds_everywhere(name):
    g = streams()[name]
    worst = g.worst()
    for x in np.random.default_rng(2).normal(size=(200, 2)):
        largest = max(g.query(t, x)[0] for t in range(3))
        assert worst.value(x) == pytest.approx(largest, abs=1e-15)


@given(st.integers(1, 5), st.integers(1, 3), st.integers(1, 3), st.integers(0, 10**6))
def test_the_worst_of_rows_is_the_largest_of_all_rounds_everywhere(T, m, d, seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, size=(T, m, d)) / 2
    rows[~rows.any(axis=2)] = 1.0
    sides = rng.integers(-4, 5, size=(T, m)) / 4
    g = AffineStream(rows, sides)
    worst, batch = g.worst(), rng.integers(-8, 9, size=(20, d)) / 4
    largest = np.max([g.query(t, batch)[0] for t in range(T)], axis=0)
    np.testing.assert_array_equal(worst.value(batch), largest)  # binary fractions: no rounding
    assert worst.rows == len(np.unique(rows.reshape(-1, d), axis=0))


def test_rows_that_differ_in_the_right_hand_side_alone_are_one():
    T = 50
    sides = 0.5 + np.random.default_rng(1).random((T, 4))
    g = AffineStream(np.broadcast_to(np.vstack([np.eye(2), -np.eye(2)]), (T, 4, 2)), sides)
    assert g.worst().rows == 4
    low = sides.min(axis=0)
    assert g.worst().region == Box(-low[2:], low[:2])


@EACH
@pytest.mark.parametrize("centre", [None, [0.3, -0.4]])
def test_no_value_in_the_ball_is_beyond_the_bound(name, centre):
    g, domain = streams()[name], Ball(0.9, centre)
    bound = g.value_bound(domain, X)
    rng = np.random.default_rng(3)
    directions = rng.normal(size=(400, 2))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    directions[200:] *= rng.random((200, 1))  # half of them on the sphere
    points = (0.0 if centre is None else np.array(centre)) + 0.9 * directions
    seen = max(np.abs(g.query_all(t, points)[0]).max() for t in range(3))
    assert seen <= bound
    assert seen > 0.4 * bound


def test_a_constraint_that_was_looser_once_counts_with_that_value():
    # The tightest round alone has values of at most 0.9 here.
    g = Drifting(Affine([[1.0, 0.0]], [0.4]), [-3.0, 0.0])
    assert g.value_bound(Ball(0.5), X) == pytest.approx(0.9 + 3.0)
    rows = AffineStream([[[1.0, 0.0]], [[1.0, 0.0]]], [[3.4], [0.4]])
    assert rows.value_bound(Ball(0.5), X) == pytest.approx(3.9)
    assert rows.worst().value_bound(Ball(0.5)) == pytest.approx(0.9)


def test_what_is_given_is_copied_and_cannot_be_changed():
    offsets, rows, sides = np.array(OFFSETS), A.copy(), B.copy()
    drifting, affine = Drifting(LinfNorm(0.5, 2), offsets), AffineStream(rows, sides)
    offsets[0] = rows[0] = sides[0] = 9.0
    assert drifting.query(0, X)[0] == 0.0
    assert affine.query(0, X)[0] == -0.625
    for held in (drifting.offsets, affine.A, affine.b, affine.rounds(0, 1).A):
        with pytest.raises(ValueError, match="read-only"):
            held[0] = 1.0


@pytest.mark.parametrize(
    ("constraint", "offsets", "sentence"),
    [
        (3, [0.0], "constraint must be a Constraint, got 3"),
        (LinfNorm, [0.0], "constraint must be a Constraint, got <class"),
        (LinfNorm(0.5, 2), [], "offsets.shape must be that of a vector that is not empty, got (0,"),
        (LinfNorm(0.5, 2), 1.0, "offsets.shape must be that of a vector that is not empty, got ()"),
        (LinfNorm(0.5, 2), [[0.0]], "offsets.shape must be that of a vector that is not empty"),
        (LinfNorm(0.5, 2), [0.0, np.nan], "offsets must be finite, got nan at index 1"),
        (LinfNorm(0.5, 2), "ab", "offsets must be a vector of numbers, got 'ab'"),
        (LinfNorm(0.5, 2), None, "offsets must be a vector of numbers, got None"),
    ],
)
def test_a_bad_drift_is_named(constraint, offsets, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        Drifting(constraint, offsets)


@pytest.mark.parametrize(
    ("rows", "sides", "sentence"),
    [
        (A[0], B[0], "A.shape must be (T, m, d) and b.shape (T, m), got (2, 2) and (2,)"),
        (A, B[:2], "A.shape must be (T, m, d) and b.shape (T, m), got (3, 2, 2) and (2, 2)"),
        (A, B[:, :1], "A.shape must be (T, m, d) and b.shape (T, m), got (3, 2, 2) and (3, 1)"),
        (np.ones((0, 1, 2)), np.ones((0, 1)), "A.shape must be (T, m, d) and b.shape (T, m), got"),
        (np.ones((1, 0, 2)), np.ones((1, 0)), "A.shape must be (T, m, d) and b.shape (T, m), got"),
        ([[[1.0, np.inf]]], [[1.0]], "A must be finite, got inf at index (0, 0, 1)"),
        ([[[1.0, 0.0]]], [[np.nan]], "b must be finite, got nan at index (0, 0)"),
        ([[[1.0]], [[0.0]]], [[1.0], [1.0]], "A must have no zero row, got zeros in row 0 of rou"),
        ("rows", B, "A must be an array of numbers, got 'rows'"),
        (A, None, "b must be an array of numbers, got None"),
        ([[[1.0], [1.0, 2.0]]], [[1.0]], "A must be an array of numbers, got "),
    ],
)
def test_bad_rows_are_named(rows, sides, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        AffineStream(rows, sides)


def test_an_action_of_another_length_is_named():
    for x in (np.zeros(3), np.zeros((2, 1))):
        with pytest.raises(ValueError, match=r"^x must have 2 entries"):
            AffineStream(A, B).query(0, x)
        with pytest.raises(ValueError, match=r"^x must have 2 entries"):
            Drifting(LinfNorm(0.5, 2), OFFSETS).query(0, x)


# Problems.


def moving(name, T):
    """Constraints of the plane; all of a ball of radius 0.2 is feasible in every round."""
    rng = np.random.default_rng(5)
    t = np.arange(T)
    if name == "cube":
        return Drifting(LinfNorm(0.5, 2), 0.3 * np.sin(t / 7))
    if name == "rows":
        slanted = Affine([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.2], [1.0, -0.8]], [0.6, 0.5, 0.5, 0.5])
        return Drifting(slanted, 0.1 * np.sin(t / 7) - 0.1)
    if name == "box":  # faces in turn, each with a slope and a limit of its own
        sides = np.array([[1.0, 0.0], [0.0, -1.5], [-0.5, 0.0], [0.0, 1.2]])
        pair = np.stack([sides[t % 4], sides[(t + 1) % 4]], axis=1)
        return AffineStream(pair, 0.3 + 0.4 * rng.random((T, 2)))
    angle = rng.choice([0.3, 1.9, 3.0, 5.1], size=(T, 2))
    rows = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return AffineStream(rows, 0.2 + 0.2 * rng.random((T, 2)))


MOVING = ("cube", "rows", "box", "polygon")


def problem(name, T, runs=None, kind="linear"):
    rng = np.random.default_rng(6)
    noise = rng.normal(size=(T, 2) if runs is None else (T, runs, 2)) + np.array([-0.6, 0.5])
    costs = Linear(noise / 4) if kind == "linear" else Quadratic(-noise, 0.8)
    return Problem.of(costs, moving(name, T), Ball(1.0), [0.05, -0.1])


def test_constants_are_those_of_all_rounds():
    T = 30
    made = problem("box", T)
    known, worst = made.constants, made.constraint.worst()
    assert made.benchmark == worst
    assert known.rows == 2  # of a round; all rounds have 4 faces
    assert worst.rows == 4
    assert known.D_g == made.constraint.value_bound(Ball(1.0), made.start)
    assert known.G_g == pytest.approx(1.5)
    assert known.start_slack == -worst.value(made.start) > 0
    np.testing.assert_array_equal(made.interior, made.start)


def test_a_stream_must_last_as_long_as_the_costs():
    costs = Linear(np.ones((4, 2)))
    with pytest.raises(
        ValueError, match=r"^constraint must have a round for each of the 4 of the costs, got 3$"
    ):
        Problem.of(costs, AffineStream(A, B), Ball(1.0), [0.0, 0.0])
    longer = Problem.of(Linear(np.ones((2, 2))), AffineStream(A, B), Ball(1.0), [0.0, 0.0])
    assert play(OGD(eta=0.1, domain=Ball(0.1)), longer).horizon == 2


def test_a_stream_must_have_the_costs_dimension():
    with pytest.raises(
        ValueError, match=r"^constraint.dimension must be 3, that of the costs, got 2"
    ):
        Problem.of(Linear(np.ones((2, 3))), AffineStream(A, B), Ball(1.0), [0.0, 0.0, 0.0])


# Games.

PLAYERS = {
    "PFS": lambda p: PFS(eta=0.05, rho=0.02, domain=Ball(1.0)),
    "OGD": lambda p: OGD(eta=0.1, domain=Ball(0.15)),
    "SinhaVaze": lambda p: SinhaVaze.convex(p.constants, p.costs.horizon),
    "ScalarDPP": lambda p: ScalarDPP.tuned(p.constants, p.costs.horizon),
    "DPP": lambda p: DPP.tuned(p.constants, p.costs.horizon),
}
# A compilation each, hence not all.
GAMES = [("cube", "PFS"), ("cube", "DPP"), ("rows", "DPP"), ("rows", "OGD"), ("box", "ScalarDPP")]
GAMES += [("polygon", "DPP"), ("polygon", "SinhaVaze"), ("polygon", "PFS")]


def near(seen, wanted):
    np.testing.assert_allclose(seen.actions, wanted.actions, atol=1e-12)
    np.testing.assert_allclose(seen.next_action, wanted.next_action, atol=1e-12)
    np.testing.assert_allclose(seen.constraint, wanted.constraint, atol=1e-12)
    np.testing.assert_allclose(seen.cost_sum, wanted.cost_sum, atol=1e-10)
    np.testing.assert_allclose(
        seen.violations.sum_positive, wanted.violations.sum_positive, atol=1e-10
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "player", "runs"), [(*game, (None, 2)[i % 2]) for i, game in enumerate(GAMES)]
)
def test_loop_batch_and_scan_leave_the_same_trace(name, player, runs):
    made = problem(name, 75, runs)  # no power of two: the last compiled block starts early
    player = PLAYERS[player](made)
    loop, batch, scan = (play(player, made, engine=e) for e in ("loop", "batch", "scan"))
    assert np.ptp(loop.actions) > 0.02
    assert np.ptp(loop.constraint) > 0.02
    near(batch, loop)
    near(scan, loop)


@pytest.mark.parametrize(
    "backend", ["array-api-strict", "jax", pytest.param("torch", marks=pytest.mark.torch)]
)
@pytest.mark.parametrize(("name", "player"), [("cube", "PFS"), ("polygon", "DPP")])
def test_the_loop_plays_the_same_game_on_every_backend(name, player, backend):
    if reason := why_missing(backend):
        pytest.skip(reason)
    made = problem(name, 40)
    player = PLAYERS[player](made)
    with double_precision(backend):
        start = asarray(made.start, backend)
    near(
        play(player, made, engine="loop", start=start, watch="record"),
        play(player, made, engine="loop", watch="record"),
    )


@pytest.mark.parametrize("engine", ["loop", "batch"])
@pytest.mark.parametrize("name", MOVING)
def test_violations_are_those_of_the_rounds_own_constraints(name, engine):
    made = problem(name, 60, runs=2)
    trace = play(PLAYERS["ScalarDPP"](made), made, engine=engine)
    g = np.array(
        [[made.constraint.query(t, x)[0] for x in xs] for t, xs in enumerate(trace.actions)]
    )
    np.testing.assert_allclose(trace.constraint, g, atol=1e-15)
    np.testing.assert_allclose(trace.violations.sum, g.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(
        trace.violations.sum_positive, np.maximum(g, 0).sum(axis=0), atol=1e-12
    )
    np.testing.assert_array_equal(trace.violations.largest, trace.constraint.max(axis=0))
    # The constraint of all rounds at once is another one.
    worst = made.constraint.worst().value(trace.actions.reshape(-1, 2)).reshape(g.shape)
    assert (worst >= g - 1e-15).all()
    assert (worst - g).max() > 0.1


@pytest.mark.slow
def test_long_games_go_through_blocks_of_rounds():
    made = problem("polygon", 9_000)
    player = PLAYERS["SinhaVaze"](made)
    loop, scan = (play(player, made, engine=e) for e in ("loop", "scan"))
    near(scan, loop)
    for t in (0, 4_095, 4_096, 8_191, 8_999):
        assert loop.constraint[t] == made.constraint.query(t, loop.actions[t])[0]


# The comparator.


@pytest.mark.parametrize("kind", ["linear", "quadratic"])
@pytest.mark.parametrize("name", ["cube", "box"])
def test_regret_is_against_the_best_action_that_is_feasible_in_all_rounds(name, kind):
    T = 50
    made = problem(name, T, kind=kind)
    trace = play(PLAYERS["SinhaVaze"](made), made)
    if name == "cube":
        half = 0.5 - made.constraint.offsets.max()
        lower, upper = np.full(2, -half), np.full(2, half)
    else:
        rows, sides = made.constraint.A.reshape(-1, 2), made.constraint.b.ravel()
        lower, upper = np.full(2, -np.inf), np.full(2, np.inf)
        for a, b in zip(rows, sides, strict=True):
            i = np.flatnonzero(a)[0]
            if a[i] > 0:
                upper[i] = min(upper[i], b / a[i])
            else:
                lower[i] = max(lower[i], b / a[i])
    for t in (1, 20, T):
        if kind == "linear":
            total = made.costs.slopes[:t].sum(axis=0)
            best = np.where(total > 0, lower, upper)
            cost = total @ best
        else:
            best = np.clip(made.costs.targets[:t].mean(axis=0), lower, upper)
            cost = 0.4 * ((best - made.costs.targets[:t]) ** 2).sum()
        regret = trace.regret()
        assert regret.upper[t - 1] == pytest.approx(trace.cost_sum[t - 1] - cost, abs=1e-10)
        found = regret.comparator.action[t - 1]
        assert found == pytest.approx(best, abs=1e-12)
        # Feasible in every round, not only in those that were compared.
        assert max(made.constraint.query(s, found)[0] for s in range(T)) <= 0


@pytest.mark.parametrize("name", ["rows", "polygon"])
def test_a_bundle_finds_it_where_there_is_no_closed_form(name):
    from scipy.optimize import linprog

    T = 40
    made = problem(name, T)
    worst = made.benchmark
    assert isinstance(worst.region, Polytope)
    trace = play(PLAYERS["SinhaVaze"](made), made)
    rows, sides = worst.query_all(np.zeros(2))[1], -worst.query_all(np.zeros(2))[0]
    total = made.costs.slopes.sum(axis=0)
    exact = linprog(total, rows, sides, bounds=[(-1, 1)] * 2).fun
    regret = trace.regret([T])
    assert regret.lower[0] - 1e-9 <= trace.total_cost - exact <= regret.upper[0] + 1e-9
    assert regret.gap[0] <= 1e-5 * abs(exact)
    direct = best_action(made.costs, worst, [T], domain=made.domain, interior=made.interior)
    assert regret.comparator.value == pytest.approx(direct.value)
    found = regret.comparator.action[0]
    assert max(made.constraint.query(s, found)[0] for s in range(T)) <= 0


# Theorems.


def test_a_theorem_for_one_constraint_is_not_claimed_of_many():
    made = problem("cube", 60)
    player = PFS.tuned(made.constants, 60)
    assert not player.guarantee.changing
    sentence = (
        "Theorem 1 must have one constraint for all rounds, got a Drifting: "
        "play the algorithm without the guarantee"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        play(player, made)
    trace = play(player.algorithm, made)
    assert re.match(r"no guarantee was claimed: \d+ violations? in ", trace.verdict())


@pytest.mark.slow
@pytest.mark.parametrize("name", MOVING)
@pytest.mark.parametrize(
    "choose", [OGD.fixed, AdaGradOGD.adaptive, DualAveraging.fixed, FrankWolfe.tuned]
)
def test_methods_that_stay_inside_stay_inside_all_rounds(choose, name):
    T = 30 if name in ("rows", "polygon") else 200  # a solver a round
    made = problem(name, T)
    trace = play(choose(made.constants, T, made.benchmark.region), made, watch="raise")
    assert trace.violations.largest <= 0
    assert "(every round) held" in trace.verdict()
    assert trace.final_regret() <= trace.guarantee.regret_bound(T)


def row_sums(trace):
    """The sum of each of the constraints kept apart, after every round."""
    g = trace.problem.constraint
    return np.cumsum([g.query_all(t, x)[0] for t, x in enumerate(trace.actions)], axis=0)


@pytest.mark.parametrize("kind", ["linear", "quadratic"])
@pytest.mark.parametrize("name", ["cube", "box"])
@pytest.mark.parametrize("horizon", [300, pytest.param(3_000, marks=pytest.mark.slow)])
def test_the_bounds_of_drift_plus_penalty_hold_for_constraints_that_change(name, kind, horizon):
    made = problem(name, horizon, kind=kind)
    for choose in (ScalarDPP.tuned, DPP.tuned):
        player = choose(made.constants, horizon)
        trace, t = play(player, made, watch="raise"), np.arange(1, horizon + 1)
        assert (trace.regret().upper <= player.guarantee.regret_bound(t)).all()
        if choose == ScalarDPP.tuned:
            sums = np.cumsum(trace.constraint)
            assert (sums <= player.guarantee.bounds(t)["positive_sum"]).all()
        else:
            assert (row_sums(trace) <= player.guarantee.bounds(t)["rows"][:, None]).all()
        assert trace.violations.sum_positive > 0


def adaptive(player, separately, T, known):
    """A cost and constraints that are picked after the action is seen, as they were picked.

    The first constraint cuts off the action just played, the second the way it came from; the
    cost pulls out through both. Everything within 0.2 of 0 is feasible in all rounds.
    """
    state, rows, slopes = player.init(np.array([0.6, -0.3])), np.empty((T, 2, 2)), np.empty((T, 2))
    for t in range(T):
        x = state.x
        out = x / np.linalg.norm(x) if x.any() else np.array([1.0, 0.0])
        rows[t] = [out, np.array([-out[1], out[0]])]
        slopes[t] = -0.8 * rows[t, 0] - 0.6 * rows[t, 1]
        g = rows[t] @ x - 0.2
        worst = int(g.argmax())
        told = (g, rows[t]) if separately else (float(g[worst]), rows[t, worst])
        state = player.update(state, Feedback(slopes[t], *told))
    return Problem(
        costs=Linear(slopes),
        constraint=AffineStream(rows, np.full((T, 2), 0.2)),
        domain=Ball(1.0),
        start=np.array([0.6, -0.3]),
        constants=known,
    )


@pytest.mark.parametrize("horizon", [300, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("separately", [False, True])
def test_drift_plus_penalty_against_an_adversary_who_picks_the_constraints_too(separately, horizon):
    # D_g: rows of norm 1, 0.2 to the right; the slack is that of 0.
    known = Constants(R=1.0, G_f=1.0, G_g=1.0, D_g=1.2, F=2.0, epsilon=0.2, rows=2)
    player = (DPP if separately else ScalarDPP).tuned(known, horizon)
    made = adaptive(player.algorithm, separately, horizon, known)
    trace, t = play(player, made, watch="raise"), np.arange(1, horizon + 1)
    # Every action of the disc of radius 0.2 is feasible in all rounds: the best of them counts.
    total = np.cumsum(made.costs.slopes, axis=0)
    best = -0.2 * np.linalg.norm(total, axis=1)
    assert (trace.cost_sum - best <= player.guarantee.regret_bound(t)).all()
    if separately:
        assert (row_sums(trace) <= player.guarantee.bounds(t)["rows"][:, None]).all()
    else:
        assert (np.cumsum(trace.constraint) <= player.guarantee.bounds(t)["positive_sum"]).all()
    assert trace.violations.sum_positive > 0.05 * horizon  # it did hurt


def test_tightened_it_sums_to_nothing_also_where_the_constraint_changes():
    # Against the faces: a drift that is the tightest now and then, a cost that always pulls out.
    T = 2_000
    g = Drifting(LinfNorm(0.5, 2), 0.1 * np.sin(np.arange(T) / 9) - 0.1)
    made = Problem.of(Linear(np.full((T, 2), -0.1)), g, Ball(0.75), [0.0, 0.1])
    player = Tighten.tuned(made.constants, T)
    assert player.guarantee.changing
    trace = play(player, made, watch="raise")
    assert trace.violations.sum <= 0
    assert "(cumulative) held" in trace.verdict()
