import math
import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from surefoot import Ball, Constants, Feedback, Problem, play, sets
from surefoot.core.points import snap_inside
from surefoot.problems import constraints
from surefoot.problems.costs import Linear
from surefoot.rules import FrankWolfe, FrankWolfeTheorem
from surefoot.rules.related.frank_wolfe import FrankWolfeState

from ._gradients import actions_of, told

BOX = sets.Box([-1.0, -0.5], [1.25, 0.75])
X = np.array([0.5, -0.25])
KNOWN = Constants(R=1.5, G_f=7.0)


def test_the_tuned_form_by_hand():
    player = FrankWolfe(eta=0.5, domain=BOX, step_size=0.25)
    x = actions_of(player, X, [[2.0, -1.0], [-2.5, 1.5]])
    # c = (1, -0.5): a quarter of the way to (-1, 0.75).
    assert x[1].tolist() == [0.125, 0.0]
    # c = 0.5 (-0.5, 0.5) + (-0.375, 0.25), the sum with the gradient just seen: to (1.25, -0.5).
    assert x[2].tolist() == [0.40625, -0.125]


def test_the_textbooks_form_by_hand():
    gradients = [[2.0, -1.0]] * 3 + [[-17.5, 4.0], [0.0, -3.0]]
    x = actions_of(FrankWolfe(eta=4.0, domain=BOX), X, gradients)
    assert x[1:4].tolist() == [[-1.0, 0.75]] * 3  # whole steps in the first four rounds
    # c = 4 (-11.5, 1) + 2 (-1.5, 1) = (-49, 6)
    assert x[4].tolist() == [1.25, -0.5]
    # c = 4 (-11.5, -2) + 2 (0.75, -0.25) = (-44.5, -8.5), and the fifth step is 2/sqrt 5.
    assert x[5] == pytest.approx([1.25, -0.5 + 2 / math.sqrt(5) * 1.25], rel=1e-15)


def test_the_pull_to_the_start_is_twice_as_strong_in_the_textbook():
    # One gradient of (-1.5, 0), then none: c = (-0.75, 0) + pull (x - x_1), x at the right edge
    # after a whole step, half way there after half of one.
    textbook = actions_of(FrankWolfe(eta=0.5, domain=BOX), X, [[-1.5, 0.0], [0.0, 0.0]])
    assert textbook[1:, 0].tolist() == [1.25, -1.0]  # -0.75 + 2 * 0.75 > 0
    tuned = actions_of(FrankWolfe(eta=0.5, domain=BOX, step_size=0.5), X, [[-1.5, 0.0], [0.0, 0.0]])
    assert tuned[1:, 0].tolist() == [0.875, 1.0625]  # -0.75 + 0.375 < 0


def test_a_whole_step_is_the_corner_itself():
    third = sets.Box([-1 / 3, -0.1], [0.7, 0.2])
    x = actions_of(
        FrankWolfe(eta=1.0, domain=third, step_size=1.0), np.array([0.3, 0.1]), [[-1.0, 2.0]]
    )
    assert x[1].tolist() == [0.7, -0.1]


def test_one_dimension_and_columns():
    player = FrankWolfe(
        eta=1.0, domain=sets.Box([-1.0], [3.0]), step_size=np.array([[0.25], [0.5]])
    )
    x = actions_of(player, np.array([[0.0], [0.0]]), [[[-1.0], [2.0]]])
    assert x[1].tolist() == [[0.75], [-0.5]]


# g, for the sets that are some constraint's; all of them in three dimensions.
CONSTRAINTS = {
    "cube": constraints.LinfNorm(0.3, 3),
    "cube around a point": constraints.LinfNorm(0.7, 3, centre=[0.1, -1 / 3, 1e3]),
    "ball": constraints.L2Norm(0.7),
    "ball around a point": constraints.L2Norm(0.7, centre=[0.1, -1 / 3, 10.0]),
    "l1 ball": constraints.L1Norm(0.7, 3),
    "l1 ball around a point": constraints.L1Norm(0.7, 3, centre=[0.1, -1 / 3, 10.0]),
    "ellipsoid": constraints.EllipsoidNorm([[2.0, 0.3, 0.1], [0.3, 1.0, 0.0], [0.1, 0.0, 0.7]]),
    "polytope": constraints.Affine(np.vstack([np.eye(3), -np.ones((1, 3))]), [1.0, 0.7, 0.3, 0.2]),
}
SETS = {name: g.region for name, g in CONSTRAINTS.items()} | {
    "simplex": sets.Simplex(3, 0.7),
    "filled simplex": sets.Simplex(3, 0.7, filled=True),
    "nuclear": sets.NuclearBall((1, 3), 0.7),
    "spectral": sets.SpectralBall((3, 1), 0.7),
    "product": sets.Product([sets.Simplex(2, 0.3), Ball(0.2, [0.7])]),
}


def slopes(stream, T):
    rng = np.random.default_rng(6)
    if stream == "constant":
        return np.broadcast_to([0.6, -0.5, 0.1], (T, 3))
    if stream == "corners":  # there and back: the sum changes its sign
        return np.where((np.arange(T)[:, None] + 30) // 60 % 2, -1.0, 1.0) * [0.7, -0.6, 0.2]
    return rng.normal(size=(T, 3))


@pytest.mark.parametrize("stream", ["constant", "corners", "random"])
@pytest.mark.parametrize("form", ["tuned", "textbook"])
@pytest.mark.parametrize("name", SETS)
@pytest.mark.slow
def test_every_action_is_in_the_set_exactly(name, form, stream):
    # Means of points of a simplex or an l1 ball leave it by rounding within a few rounds.
    domain, T = SETS[name], 60 if name == "polytope" else 300
    player = getattr(FrankWolfe, form)(Constants(R=1.0, G_f=2.0), T, domain).algorithm
    corner = domain.minimize_linear(np.array([-1.0, 0.3, 0.2]))
    x = actions_of(player, corner, slopes(stream, T))
    assert all(domain.contains(point) is True for point in x)
    assert np.ptp(x, axis=0).max() > 0.02
    if name in CONSTRAINTS:
        assert max(CONSTRAINTS[name].value(point) for point in x) <= 0


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["loop", "batch", "scan"])
@pytest.mark.parametrize("name", ["cube", "ball around a point", "l1 ball"])
def test_no_game_has_a_violation(name, engine):
    T, g = 500, CONSTRAINTS[name]
    corner = g.region.minimize_linear(np.array([-1.0, -0.3, 0.2]))
    costs = Linear(np.stack([slopes(s, T) for s in ("corners", "random")], axis=1))
    problem = Problem.of(costs, g, Ball(20.0), corner)
    trace = play(FrankWolfe.tuned(problem.constants, T, g.region), problem, engine=engine)
    assert (trace.violations.largest <= 0).all()
    assert (trace.violations.count == 0).all()


@given(st.sampled_from(list(SETS)), st.floats(0, 1), st.integers(0, 10**6))
def test_a_mean_of_points_of_a_set_is_settled_next_to_where_it_is(name, share, seed):
    domain, rng = SETS[name], np.random.default_rng(seed)
    x, v = (domain.minimize_linear(rng.normal(size=(4, 3)).round(1)) for _ in range(2))
    mean = x + share * (v - x)
    p = domain.snap_inside(mean)
    assert domain.contains(p).all()
    size = np.abs(x).max() + np.abs(v).max()
    assert np.abs(p - mean).max() <= 1e-13 * size
    for point in mean:
        assert domain.contains(domain.snap_inside(point)) is True


def test_a_polytope_settles_without_a_solver(monkeypatch):
    domain = sets.Polytope(np.vstack([np.eye(3), -np.ones((1, 3))]), [1.0, 0.7, 0.3, 0.2])
    corner = domain.minimize_linear(np.array([-1.0, -2.0, -0.5]))  # the interior is solved for once
    monkeypatch.setattr(sets.Polytope, "nearest", None)
    outside = corner + 1e-13
    assert not domain.contains(outside)
    assert domain.contains(domain.snap_inside(outside)) is True


class Segment:
    """From (1, 0) to (0, 2), and no projection onto it."""

    diameter = math.sqrt(5)
    ends = np.array([[1.0, 0.0], [0.0, 2.0]])

    def contains(self, x):
        return bool(abs(2 * x[0] + x[1] - 2) <= 1e-12)

    def minimize_linear(self, c):
        return self.ends[int(np.argmin(self.ends @ c))]


def test_a_set_of_yours_needs_no_projection_and_is_trusted_with_rounding():
    tuned = FrankWolfe.textbook(KNOWN, 20, Segment())
    x = actions_of(tuned.algorithm, np.array([1.0, 0.0]), [[0.0, -1.0]] * 20)
    assert x[1].tolist() == [0.0, 2.0]
    assert all(map(Segment().contains, x))
    assert snap_inside(Segment(), X) is X


@pytest.mark.parametrize(("form", "is_tuned"), [("tuned", True), ("textbook", False)])
def test_the_parameters_are_the_theorems(form, is_tuned):
    algorithm, guarantee = getattr(FrankWolfe, form)(KNOWN, 48, BOX)
    assert guarantee == FrankWolfeTheorem(KNOWN, 48, BOX.diameter, is_tuned)
    scale = math.hypot(2.25, 1.25) / 14
    assert algorithm.eta == pytest.approx(scale * ((3 if is_tuned else 1) / 48) ** 0.75, rel=1e-15)
    assert algorithm.step_size == (0.25 if is_tuned else None)


@pytest.mark.parametrize("horizon", [1, 2, 3])
def test_few_rounds_have_whole_steps(horizon):
    assert FrankWolfe.tuned(KNOWN, horizon, BOX).algorithm.step_size == 1.0


@pytest.mark.parametrize("eta", [0.0, -0.1, math.nan, math.inf, None, "0.1", True])
def test_a_weight_out_of_range(eta):
    sentence = f"^eta must be a finite number > 0, got {re.escape(repr(eta))}$"
    with pytest.raises(ValueError, match=sentence):
        FrankWolfe(eta=eta, domain=BOX)


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (0.0, "step_size must be a finite number > 0, got 0.0"),
        (-1.0, "step_size must be a finite number > 0, got -1.0"),
        (math.nan, "step_size must be a finite number > 0, got nan"),
        (1.5, "step_size must be at most a whole step = 1, got 1.5"),
    ],
)
def test_a_step_out_of_range(step, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        FrankWolfe(eta=0.1, domain=BOX, step_size=step)


class OnlyProjects:
    def project(self, x):
        return x

    def contains(self, x):
        return True


@pytest.mark.parametrize("domain", [None, 1.0, sets.Box, OnlyProjects()])
def test_a_set_that_minimises_nothing_is_refused(domain):
    sentence = f"domain must be a set that minimises linear functions, got {domain!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        FrankWolfe(eta=0.1, domain=domain)


def test_a_set_without_end_is_refused():
    half = sets.Halfspace([1.0, 2.0], 0.5)
    with pytest.raises(ValueError, match=r"^domain must be bounded, got Halfspace"):
        FrankWolfe.tuned(KNOWN, 10, half)
    player = FrankWolfe(eta=0.1, domain=half)
    with pytest.raises(ValueError, match="must be given a bounded set"):
        player.update(player.init(np.array([0.0, 0.0])), told([1.0, 1.0]))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("domain", [BOX, Ball(1.0), sets.L1Ball(1.0), sets.Simplex(2, filled=True)])
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_a_gradient_that_is_not_finite(domain, bad):
    # A box has a corner against an infinite slope, and would hide it.
    player, x = FrankWolfe(eta=0.1, domain=domain, step_size=0.5), np.array([0.25, 0.5])
    with pytest.raises(ValueError, match=rf"^c must be finite, got {bad} at index 1$"):
        player.update(player.init(x), told([1.0, bad]))
    state = player.update(player.init(np.array([x, x])), told([[1.0, 0.5], [1.0, bad]]))
    for _ in range(2):
        assert np.isfinite(state.x[0]).all()
        assert np.isnan(state.x[1]).any()
        state = player.update(state, told(np.ones((2, 2))))


def test_the_textbook_pulls_twice_as_hard_towards_the_start():
    # 0.1 * -7.5 + 2 * 0.5 > 0 leads to -1, and half of the way there in round 16; with a pull of 1
    # the sum is negative and leads to 1.
    player = FrankWolfe(eta=0.1, domain=sets.Box([-1.0], [1.0]))
    state = FrankWolfeState(np.array([0.5]), np.array([0.0]), np.array([-7.0]), 15.0)
    after = player.update(state, Feedback(np.array([-0.5]), None, None))
    assert after.x.tolist() == [-0.25]
