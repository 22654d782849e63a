"""Remark 1 (Slater's condition is enough, and a sharper form of it), Remark 2 (weaker premises)."""

import math

import numpy as np
import pytest

from surefoot import PFS, Ball, Constants, Feedback, Problem, play
from surefoot.problems import ADVERSARIES, adversarial_cube, paper_toy
from surefoot.problems.constraints import Affine, FunctionConstraint, L2Norm, LinfNorm, max_of
from surefoot.problems.costs import Adversarial
from surefoot.rules.states import ActionState
from surefoot.sets import EmptyTighteningError

from ._cases import CASES, EXACT, Greedy, fan, greedy, random_slopes, shortest_in_hull

cases = pytest.mark.parametrize("case", CASES, ids=str)


# Remark 1 -------------------------------------------------------------------------------------


def on_level(case, level):
    """Points with g = -level: projections of points outside (the appendix lemma, 1)."""
    sphere = case.points(n=60, seed=41)[60:120]
    return case.project(sphere[case.value(sphere) > -level], level)


@cases
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_slater_point_gives_epsilon_and_sigma(case, share):
    slack = -case.constraint.value(case.start)
    c = Constants.from_slater(slack, R=case.domain.radius, share=share)
    assert c.epsilon == pytest.approx(share * slack)
    assert c.sigma == pytest.approx((1 - share) * slack / (2 * case.domain.radius))
    assert c.origins["sigma"] == "slater"
    level = on_level(case, c.epsilon)
    assert case.value(level) == pytest.approx(-c.epsilon, abs=EXACT)
    assert min(shortest_in_hull(case.gradients(x)) for x in level) >= c.sigma


@cases
@pytest.mark.parametrize("share", [0.0, 0.2, 0.7, 0.99])
def test_the_local_form_bounds_the_distance(case, share):
    # (*): dist(x, X_rho) <= (g(x) + rho)/(g(x) + alpha) |x - x_0| wherever g(x) > -rho.
    x = case.points(n=120)
    alpha = -case.constraint.value(case.start)
    rho = share * alpha
    g = case.value(x)
    x, g = x[g > -rho], g[g > -rho]
    assert len(x) > 50
    reach = np.linalg.norm(x - case.start, axis=1)
    bound = (g + rho) / (g + alpha) * reach
    assert (case.distance(x, rho) <= bound + EXACT).all()
    # And what becomes of it with D_0 for |x - x_0|: Lemmas 1 and 2 at this rho.
    sigma = case.constants.local_sigma(rho)
    assert (case.distance(x, rho) <= (g + rho) / sigma + EXACT).all()


@cases
@pytest.mark.parametrize("share", [0.2, 0.7])
def test_the_local_form_is_a_sigma_of_assumption_4(case, share):
    rho = -share * case.constraint.value(case.start)
    sigma = case.constants.local_sigma(rho)
    assert min(shortest_in_hull(case.gradients(x)) for x in on_level(case, rho)) >= sigma
    assert sigma <= case.constants.G_g
    # It gives away less than the proposition at the same level: D_0 <= 2R instead of 2R.
    slater = Constants.from_slater(rho / share, R=case.domain.radius, share=share)
    assert sigma >= slater.sigma * (1 - 1e-15)


def test_the_local_form_is_attained_by_a_cone():
    # g = |x| - 1 from its apex: dist = |x| - 1 + rho = (g + rho)/(g + alpha)|x| for every x.
    g, x, rho = L2Norm(1.0), np.array([1.2, -0.9]), 0.3
    distance = 1.5 - (1.0 - rho)
    bound = (g.value(x) + rho) / (g.value(x) + 1.0) * np.linalg.norm(x)
    assert bound == pytest.approx(distance, rel=1e-15)
    # The constant that Lemmas 1 and 2 get from it gives away that |x| may be smaller than D_0.
    c = g.constants(Ball(2.0), [0.0, 0.0])
    assert c.local_sigma(rho) == pytest.approx((1 - rho) / 2.0, rel=1e-15)


def test_the_local_form_needs_rho_strictly_below_the_slack():
    c = L2Norm(1.0).constants(Ball(1.0), [0.25, 0.0])
    assert c.local_sigma(0.74) > 0
    with pytest.raises(ValueError, match=r"rho must be >= 0 and below start_slack = 0\.75"):
        c.local_sigma(0.75)


# Remark 2 -------------------------------------------------------------------------------------


class Cliff:
    """Linear costs that rise a million times as steeply outside the set: G_f holds on X only."""

    def __init__(self, costs, constraint):
        self.costs, self.constraint = costs, constraint

    horizon = property(lambda self: self.costs.horizon)
    dimension = property(lambda self: self.costs.dimension)
    runs = None

    def value(self, t, x):
        return self.costs.value(t, x) + 1e6 * max(self.constraint.value(x), 0.0)

    def gradient(self, t, x):
        g, s = self.constraint.query(x)
        return self.costs.gradient(t, x) + (1e6 * s if g > 0 else 0.0)

    def rounds(self, start, stop):
        return Cliff(self.costs.rounds(start, stop), self.constraint)

    def run(self, index):
        return self


@cases
def test_gradients_need_be_bounded_on_the_set_only(case):
    T, size = 150, 1.1
    calm = random_slopes(case.dimension, T, size)
    player = PFS.anytime(case.problem(calm, G_f=size).constants, T)
    steep_costs = Cliff(calm, case.constraint)
    plain = play(player, case.problem(calm, G_f=size), watch="raise", engine="loop")
    steep = play(player, case.problem(steep_costs, G_f=size), watch="raise", engine="loop")
    assert (steep.constraint <= 0).all()
    assert np.array_equal(steep.actions, plain.actions)


def test_the_toy_has_a_smaller_gradient_bound_on_the_set_and_may_use_it():
    # On X |grad f| <= 6(sqrt 2 + sqrt(1/2)) = 12.73; on the ball 6(sqrt 2 + 1) = 14.49.
    toy = paper_toy(horizon=3_000, trials=4)
    on_set = 6 * 1.5 * math.sqrt(2)
    player = PFS.anytime(toy.constants.with_origin("given", G_f=on_set), 3_000)
    trace = play(player, toy, watch="raise")
    assert (trace.constraint <= 0).all()
    assert (trace.observed.cost_gradient <= on_set).all()
    assert (player.guarantee.regret_bound(trace.rounds) >= trace.regret().upper.T).all()


def steeper_outside():
    """Sets whose subgradients are longer outside than on X: (constraint, ball, G_g on X)."""
    square = LinfNorm(0.5, 2)
    A = 50 * np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    # At g = 0 both parts tie and the first, the flat one, answers: F2's kinks on the boundary.
    cliff = max_of(square, Affine(A, np.full(4, 25.0)))
    flat = square.constants(Ball(2.0), [0.05, -0.1])

    def value(x):
        return np.sum(x * x, axis=-1, keepdims=x.ndim > 1) - 0.36

    bowl = FunctionConstraint(value, lambda x: 2 * x)
    slope = Constants(R=3.0, G_g=1.2, sigma=2 * math.sqrt(0.36 - 0.15), epsilon=0.15)
    slope = slope.with_origin("derived", start_slack=0.36, start_reach=3.0)
    return {"cliff": (cliff, Ball(2.0), flat), "bowl": (bowl, Ball(3.0), slope)}


@pytest.mark.parametrize("name", ["cliff", "bowl"])
@pytest.mark.parametrize("adversary", ["random", "greedy"])
def test_subgradients_need_be_bounded_on_the_set_only(name, adversary):
    constraint, ball, known = steeper_outside()[name]
    T, size = 300, 1.9
    outside = constraint.subgradient(np.array([0.0, -0.9 * ball.radius]))
    assert np.linalg.norm(outside) > 2 * known.G_g
    constants = known.with_origin("given", G_f=size)
    player = PFS.anytime(constants, T, domain=ball)
    start = np.array([0.05, -0.1]) if name == "cliff" else np.zeros(2)
    greedy_rule = Greedy(player.algorithm, constraint, fan(2), size)
    costs = {
        "random": random_slopes(2, T, size),
        "greedy": Adversarial(greedy_rule, horizon=T, dimension=2, bound=size),
    }[adversary]
    problem = Problem(
        costs=costs, constraint=constraint, domain=ball, start=start, constants=constants
    )
    trace = play(player, problem, watch="raise")
    assert (trace.constraint <= 0).all()
    assert trace.observed.constraint_subgradient <= known.G_g * (1 + 1e-15)


def assert_the_ball_is_never_needed(constants, problem, T):
    # Where X touches the sphere rounding may put an action of X 1e-16 outside the ball: with a
    # radius larger by 1e-12 no action moves; with one larger by a factor of 1000 none could.
    tight, loose = (
        play(PFS.anytime(constants, T, domain=Ball(R)), problem, watch="off")
        for R in (constants.R * (1 + 1e-12), constants.R * 1_000)
    )
    assert np.array_equal(tight.actions, loose.actions)
    assert np.array_equal(tight.next_action, loose.next_action)
    assert (tight.constraint <= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_the_ball_projection_is_never_active_under_corollary_1(adversary, d):
    # The cube's corners are on the sphere, so a step beyond a corner would be projected back.
    problem = adversarial_cube(adversary, horizon=600, dimension=d)
    start = np.array([0.45, -0.46, 0.44, 0.1, -0.2])[:d]
    problem = Problem.of(problem.costs, problem.constraint, problem.domain, start, G_f=1.0)
    assert_the_ball_is_never_needed(problem.constants, problem, 600)


@pytest.mark.slow
@cases
def test_the_ball_projection_is_never_active_on_any_set(case):
    T, size = 150, 0.8
    calm = case.problem(random_slopes(case.dimension, T, size), G_f=size)
    player = PFS.anytime(calm.constants, T).algorithm
    for costs in (calm.costs, greedy(player, case, T, size)):
        problem = case.problem(costs, G_f=size)
        assert_the_ball_is_never_needed(problem.constants, problem, T)


def test_the_ball_projection_is_active_under_corollary_3():
    # The negative control: without tightening, and with long steps, actions do leave the ball.
    problem = adversarial_cube("uncut", horizon=600)
    player = PFS.nearly(problem.constants, 600).algorithm
    loose = PFS(eta=player.eta, rho=player.rho, domain=Ball(1_000.0))
    played, free = (play(a, problem, watch="off").actions for a in (player, loose))
    assert not np.array_equal(played, free)


# The footnote of Algorithm 1 --------------------------------------------------------------------


def test_a_zero_subgradient_leaves_the_cost_step_and_the_ball():
    g = L2Norm(0.5)
    at = np.zeros(2)
    value, s = g.query(at)
    assert value == -0.5
    assert not s.any()
    player = PFS(eta=0.125, rho=0.2, domain=Ball(1.0))
    grad = np.array([-1.0, 3.0])
    assert player.update(ActionState(at), Feedback(grad, value, s)).x.tolist() == [0.125, -0.375]
    player = PFS(eta=10.0, rho=0.2, domain=Ball(1.0))
    far = player.update(ActionState(at), Feedback(grad, value, s)).x
    assert far == pytest.approx(np.array([1.0, -3.0]) / math.sqrt(10))


def test_a_zero_subgradient_is_met_only_where_the_tightened_constraint_holds():
    # s = 0 means that x minimises g, so g <= -epsilon <= -rho there: nothing to cut, and a game
    # that starts at the bottom of a cone plays on.
    g = L2Norm(0.6, [0.2, -0.3])
    c = g.constants(Ball(1.0), [0.2, -0.3])
    costs = random_slopes(2, 200, 1.0)
    problem = Problem.of(costs, g, Ball(1.0), [0.2, -0.3])
    trace = play(PFS.anytime(problem.constants, 200), problem, watch="raise")
    assert trace.constraint[0] == -0.6 <= -c.epsilon
    assert (trace.constraint <= 0).all()


def test_a_zero_subgradient_where_it_is_violated_proves_the_tightened_set_empty():
    # g = |x| - 1/2 is never below -1/2: X_rho is empty for rho = 0.6, and the minimiser shows it.
    player = PFS(eta=0.1, rho=0.6, domain=Ball(1.0))
    seen = Feedback(np.array([1.0, -2.0]), *L2Norm(0.5).query(np.zeros(2)))
    with pytest.raises(EmptyTighteningError, match=r"0\.1"):
        player.update(ActionState(np.zeros(2)), seen)
