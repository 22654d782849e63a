"""What the paper prints and what is true: each slip that can be checked, checked both ways."""

import math
import re

import numpy as np
import pytest

from surefoot import PFS, Ball, Constants, Feedback, Problem, play
from surefoot.problems import SETTINGS, paper_toy
from surefoot.problems.constraints import LinfNorm
from surefoot.problems.costs import Linear, Quadratic
from surefoot.rules import Corollary2
from surefoot.rules.states import ActionState
from surefoot.sets import Box

AS_PLOTTED, AS_WRITTEN, AS_RELEASED = SETTINGS


# 1. Corollary 2's regret bound -------------------------------------------------------------------


def test_the_printed_corollary_2_fails_and_the_corrected_one_holds():
    # g = |x| - 1, f_t = x, from the worse end: the first term of the bound is 2R^2/eta at
    # eta = xi epsilon/(2 G_f G_g sqrt T), so 4 G_f G_g R^2/(xi epsilon), printed without the 4.
    T, epsilon = 16, 0.9
    g = LinfNorm(1.0, 1)
    problem = Problem.of(Linear(np.ones((T, 1))), g, Ball(1.0), [1.0], epsilon=epsilon)
    c = problem.constants
    assert (c.R, c.G_f, c.G_g, c.sigma, c.xi) == (1, 1, 1, 1, 1)
    trace = play(PFS.eventually(c, T), problem, watch="raise")

    regret = float(trace.final_regret())
    printed = (1 / epsilon + epsilon / 4 + epsilon) * math.sqrt(T)
    corrected = float(Corollary2(c, T).regret_bound(T))
    assert regret == pytest.approx(16.8375)
    assert printed == pytest.approx(8.944, abs=5e-4)
    assert corrected == pytest.approx(22.28, abs=5e-3)
    assert printed < regret <= corrected
    assert corrected - printed == pytest.approx(3 / epsilon * math.sqrt(T))


def test_the_name_of_the_guarantee_says_that_it_is_corrected():
    c = Constants(R=1.0, G_f=1.0, G_g=1.0, sigma=1.0, epsilon=0.9)
    assert str(Corollary2(c, 16)) == "Corollary 2 (corrected) for T = 16 (after t0)"


# 2. Appendix A: the cost of tightening -----------------------------------------------------------


def test_tightening_costs_the_gradient_bound_of_the_costs_not_of_the_constraint():
    # Printed: Reg <= Reg^rho + T G_g dist(x*, X_rho). The difference of two costs is bounded by
    # G_f times a distance; with G_f = 10 and G_g = 1 the printed inequality fails.
    T, rho, G_f, G_g = 50, 0.25, 10.0, 1.0
    total = np.array([T * G_f])  # the sum of T costs f_t(x) = G_f x
    on_X, on_X_rho = (Box([-r], [r]).minimize_linear(total) for r in (1.0, 1.0 - rho))
    paid = float(total @ (on_X_rho - on_X))
    distance = float(np.linalg.norm(on_X - on_X_rho))
    assert distance == rho
    assert paid > T * G_g * distance
    assert paid == pytest.approx(T * G_f * distance)
    # Likewise the constant that follows from it: G_f C_V/sigma, where G_g C_V/sigma is printed.
    sigma, C_V = 1.0, rho * math.sqrt(T)
    assert G_g * C_V / sigma * math.sqrt(T) < paid <= G_f * C_V / sigma * math.sqrt(T) * (1 + 1e-12)


# 3. Appendix B: the rival's alpha ----------------------------------------------------------------


def constrained_gradient_step(x, grad, g, s, eta, alpha):
    """The rival's update as Appendix B writes it: one step, alpha still to be chosen."""
    cut = max(alpha * g - grad @ s, 0.0)
    return x - eta * grad - eta * cut / (s @ s) * s


def pfs_step(x, grad, g, s, eta, alpha=None):
    """The paper's own update in the same form: rho = 0, and no alpha."""
    player = PFS(eta=eta, rho=0.0, domain=Ball(100.0))
    return player.update(ActionState(x), Feedback(grad, g, s)).x


def test_the_form_of_algorithm_1_in_appendix_b_is_algorithm_1():
    x, grad, s = np.array([0.4, -0.2]), np.array([1.0, -2.0]), np.array([0.6, 1.5])
    for g in (-0.3, 0.2):
        cut = max(g - 0.05 * grad @ s, 0.0)
        expected = x - 0.05 * grad - cut / (s @ s) * s
        assert pfs_step(x, grad, g, s, 0.05) == pytest.approx(expected, abs=1e-15)


def test_alpha_must_have_the_units_of_a_cost_gradient_over_a_length():
    # Measuring g in other units leaves the set {g <= 0} alone, so it must leave the step alone.
    # It does with alpha = G_f/R, and does not with the printed G_g/R.
    x, grad, s, g = np.array([0.4, -0.2]), np.array([1.0, -2.0]), np.array([0.6, 1.5]), 0.2
    R, G_f, G_g, eta = 2.0, 3.0, 1.8, 0.05
    for unit in (0.1, 7.0):
        printed = [
            constrained_gradient_step(x, grad, k * g, k * s, eta, k * G_g / R) for k in (1.0, unit)
        ]
        consistent = [
            constrained_gradient_step(x, grad, k * g, k * s, eta, G_f / R) for k in (1.0, unit)
        ]
        own = [pfs_step(x, grad, k * g, k * s, eta) for k in (1.0, unit)]
        assert np.linalg.norm(printed[0] - printed[1]) > 1e-3
        assert consistent[0] == pytest.approx(consistent[1], abs=1e-15)
        assert own[0] == pytest.approx(own[1], abs=1e-15)


# 4. The experiment's G_f -------------------------------------------------------------------------


def test_the_gradient_bound_of_the_experiment_is_attained_and_is_not_root_2():
    toy = paper_toy(horizon=1, trials=1)
    assert toy.constants.G_f == pytest.approx(6 * (1 + math.sqrt(2)))
    # The farthest target of the unit square from the farthest point of the ball, and of X.
    farthest = Quadratic(np.array([[-1.0, -1.0]]), curvature=6.0)
    on_ball = np.linalg.norm(farthest.gradient(0, np.array([1.0, 1.0]) / math.sqrt(2)))
    on_set = np.linalg.norm(farthest.gradient(0, np.array([0.5, 0.5])))
    assert on_ball == pytest.approx(14.485, abs=5e-4)
    assert on_set == pytest.approx(12.728, abs=5e-4)
    assert AS_WRITTEN.G_f == math.sqrt(2)


def test_the_watch_reports_the_round_and_the_gradient_that_break_the_printed_bound():
    toy = paper_toy(horizon=2_000, trials=3)
    claimed = toy.constants.with_origin("given", G_f=AS_WRITTEN.G_f)
    player = PFS.anytime(claimed, 2_000)
    # These are the parameters of the text, up to the hair by which steps are shortened.
    assert (player.algorithm.eta, player.algorithm.rho) == pytest.approx(
        AS_WRITTEN.parameters(2_000), rel=1e-8
    )
    trace = play(player, toy, watch="record")
    assert len(trace.breaches) == 3
    for breach in trace.breaches:
        x, v = trace.actions[:, breach.run], toy.costs.targets[:, breach.run]
        seen = 6 * np.linalg.norm(x - v, axis=1)
        first = int((seen > math.sqrt(2)).argmax())
        assert breach.round == first + 1
        assert breach.observed == pytest.approx(seen[first])
        assert breach.constant == "G_f"
        assert str(breach) == (
            f"round {breach.round}: |grad f| = {breach.observed:.6g} exceeds G_f = 1.41421: "
            "the regret bound and the feasibility guarantee no longer apply"
        )
    # Not by a little: some gradients are more than five times what the text allows.
    assert (trace.observed.cost_gradient > 5 * math.sqrt(2)).all()
    assert trace.verdict().startswith("premise broken, round 1: |grad f| = ")


def test_the_true_gradient_bound_is_never_broken():
    toy = paper_toy(horizon=2_000, trials=3)
    trace = play(PFS.anytime(toy.constants, 2_000), toy, watch="raise")
    assert trace.breaches == ()
    assert re.fullmatch(
        r"Corollary 1 for T = 2000 \(every round\) held: 0 violations in [\d,]+ rounds "
        r"of 3 trials, largest g = -0\.\d+; \(regret was not computed: call final_regret\(\)\)",
        trace.verdict(),
    )


# 6. The parameters of the figure -----------------------------------------------------------------


@pytest.mark.parametrize("T", [2_000, 20_000])
def test_the_figure_has_a_gradient_bound_of_1_and_four_times_the_tightening(T):
    toy = paper_toy(horizon=1, trials=1)
    at_1 = PFS.anytime(toy.constants.with_origin("given", G_f=1.0), T).algorithm
    eta, rho = AS_PLOTTED.parameters(T)
    assert eta == pytest.approx(at_1.eta, rel=1e-8)
    assert rho == pytest.approx(4 * at_1.rho)
    # The released script has the true G_f, and the same tightening as the figure.
    released = PFS.anytime(toy.constants, T).algorithm
    assert AS_RELEASED.parameters(T) == pytest.approx((released.eta, rho), rel=1e-8)


def test_the_tightening_of_the_figure_leaves_theorem_1_for_short_horizons():
    # rho = 1/sqrt T is at most epsilon = 1/4 from T = 16 on only; the text's 0.25/sqrt T always.
    assert AS_PLOTTED.parameters(15)[1] > 0.25 >= AS_PLOTTED.parameters(16)[1]
    assert AS_WRITTEN.parameters(1)[1] == 0.25
