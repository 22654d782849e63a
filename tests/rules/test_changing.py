"""Methods for constraints that change: worked examples, identities, bounds on a stream."""

import math

import numpy as np
import pytest

from surefoot import Ball, Constants, Feedback, Problem, play
from surefoot.core.errors import InvalidValueError
from surefoot.problems import binding_toy
from surefoot.problems.constraints import Drifting, L2Norm
from surefoot.problems.costs import Quadratic
from surefoot.rules import ScalarDPP
from surefoot.rules.related.cvv_pro import CVVPro
from surefoot.rules.related.garber_kretzu import GarberKretzu, PenalisedBlocks
from surefoot.rules.related.primal_dual import PrimalDual
from surefoot.rules.related.recoo import RECOO
from surefoot.sets import Box, Polytope

SQUARE = Box.cube(1.0, 2)


class Stream:
    """Half-spaces a_t'x <= b_t in three directions, all met by 0 with a margin of 0.2."""

    def __init__(self, T, trial):
        rng = np.random.default_rng(3 + trial)
        pick = rng.integers(0, 3, T)
        self.b = rng.uniform(0.2, 0.6, T)
        angles = np.pi * np.array([1.0, 1.25, 1.5])[pick]
        self.a = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        self.targets = binding_toy(T, trials=3).costs.targets[:, trial]
        limits = [self.b[pick == k].min() for k in range(3)]
        rows = np.stack(
            [
                np.cos(np.pi * np.array([1.0, 1.25, 1.5])),
                np.sin(np.pi * np.array([1.0, 1.25, 1.5])),
            ],
            axis=1,
        )
        everywhere = np.vstack([rows, np.eye(2), -np.eye(2)])
        meets_all = Polytope(everywhere, [*limits, 9.0, 9.0, 9.0, 9.0])
        self.best = meets_all.project(self.targets.mean(axis=0))

    def play(self, player):
        """Return regret, and the constraints of all rounds."""
        state, paid, values = player.init(np.zeros(2)), 0.0, []
        for a, b, target in zip(self.a, self.b, self.targets, strict=True):
            x = state.x
            g = float(a @ x) - b
            values.append(g)
            away = x - target
            paid += 3 * float(away @ away)
            seen = (np.array([g]), a[None]) if player.needs.separately else (g, a)
            state = player.update(state, Feedback(6 * away, *seen))
        best = 3 * float(((self.best - self.targets) ** 2).sum())
        return paid - best, np.array(values)


G_F = 18.728
KNOWN = Constants(R=1.0, G_f=G_F, G_g=1.0, D_g=1.6, rows=1, start_reach=2.0, start_slack=0.2)
MARGIN = Constants(R=1.0, G_f=G_F, G_g=1.0, D_g=1.6, rows=1, slater_margin=0.2, slater_cost=13.5)
SYSTEMS = {
    "Neely and Yu": (lambda T, u: ScalarDPP.changing(KNOWN, T), (-5482, 334, 384)),
    "primal and dual": (lambda T, u: PrimalDual.known_margin(MARGIN, T), (-3050, -86.7, 94)),
    "RECOO": (
        lambda T, u: RECOO.changing(KNOWN, T, distance=1 + u),
        (-2369, -183, 47.6),
    ),
    "velocities": (
        lambda T, u: CVVPro.tuned(Constants(R=1.0, G_f=6 * (2.71 + 1.5 * math.sqrt(2))), T),
        (-4603, 134, 196),
    ),
    "penalised blocks": (
        lambda T, u: PenalisedBlocks.known_horizon(
            Constants(R=math.sqrt(2), G_f=21.21, G_g=1.0), T, SQUARE
        ),
        (-5058, 307, 425),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_reference_numbers_of_the_stream_are_met(name):
    T, (tune, wanted) = 2000, SYSTEMS[name]
    found = []
    for trial in range(3):
        stream = Stream(T, trial)
        tuned = tune(T, float(np.linalg.norm(stream.best)))
        regret, g = stream.play(tuned.algorithm)
        found.append((regret, g.sum(), np.maximum(g, 0).sum()))
        assert regret <= tuned.guarantee.regret_bound(T)
        measures = {
            "positive_sum": g.sum(),
            "rows": g.sum(),
            "sum_positive": np.maximum(g, 0).sum(),
            "sum_squared": (np.maximum(g, 0) ** 2).sum(),
        }
        for measure, bound in tuned.guarantee.bounds(T).items():
            assert measures[measure] <= bound
    np.testing.assert_allclose(np.mean(found, axis=0), wanted, rtol=8e-3)


def test_drift_plus_penalty_with_windows_of_one_and_the_root_is_that_for_changing_constraints():
    a = ScalarDPP.changing(KNOWN, 400)
    b = ScalarDPP.windows(KNOWN, 400, V=math.sqrt(400), window=1)
    tuned = ScalarDPP.tuned(KNOWN, 400)
    assert a.algorithm == b.algorithm == tuned.algorithm
    for t in (1, 100, 400):
        assert a.guarantee.regret_bound(t) == b.guarantee.regret_bound(t)
    wider = ScalarDPP.windows(KNOWN, 400, V=20.0, window=3)
    assert wider.guarantee.regret_bound(400) > b.guarantee.regret_bound(400)


@pytest.mark.parametrize("T", [2000, 20000])
def test_windows_allow_a_comparator_that_is_feasible_on_average(T):
    # f = -x with limits 0.8 and -0.2 in turn: 0.3 is feasible over every two rounds.
    c = Constants(R=1.0, G_f=1.0, G_g=1.0, D_g=1.8, start_reach=1.0)
    tuned = ScalarDPP.windows(c, T, V=math.sqrt(T), window=2)
    state, paid, total = tuned.algorithm.init(np.zeros(1)), 0.0, 0.0
    for t in range(T):
        x = float(state.x[0])
        g = x - (0.8 if t % 2 == 0 else -0.2)
        paid, total = paid - x, total + g
        state = tuned.algorithm.update(state, Feedback(np.array([-1.0]), g, np.ones(1)))
    assert paid + 0.3 * T <= tuned.guarantee.regret_bound(T)
    assert paid + 0.3 * T == pytest.approx(2.85 if T == 2000 else -47.9, abs=0.1)
    assert total <= tuned.guarantee.bounds(T)["positive_sum"]


def test_primal_and_dual_take_the_steps_of_the_worked_example():
    c = Constants(R=1.0, G_f=1.0, G_g=1.0, D_g=1.0, rows=1, slater_margin=1.0, slater_cost=1.0)
    tuned = PrimalDual.known_margin(c, 100)
    player = tuned.algorithm
    assert (player.primal_step, player.dual_step, player.cap) == (0.04, 0.08, 4.0)
    state = player.init(np.zeros(1))
    for wanted in ((0.04, 0.04), (0.0784, 0.08)):
        state = player.update(state, Feedback(np.array([-1.0]), np.array([0.5]), np.ones((1, 1))))
        assert (state.x[0], state.multipliers[0]) == pytest.approx(wanted)


def test_the_cap_of_the_multipliers_is_never_reached():
    stream = Stream(2000, 0)
    tuned = PrimalDual.known_margin(MARGIN, 2000)
    player, state, most = tuned.algorithm, tuned.algorithm.init(np.zeros(2)), 0.0
    for a, b, target in zip(stream.a, stream.b, stream.targets, strict=True):
        x = state.x
        seen = Feedback(6 * (x - target), np.array([a @ x - b]), a[None])
        state = player.update(state, seen)
        most = max(most, float(np.linalg.norm(state.multipliers)))
    assert 0 < most < 0.2 * player.cap


def test_cvv_pro_takes_the_step_of_the_worked_example_and_stays_within_reach():
    player = CVVPro(alpha=0.4, radius=5.0)
    seen = Feedback(np.array([-1.0, 0.3]), np.array([0.1]), np.array([[1.0, 0.0]]))
    after = player.update(player.init(np.array([0.6, 0.1])), seen)
    np.testing.assert_allclose(after.x, [0.575, -0.0875], atol=1e-12)
    c = Constants(R=1.0, G_f=3.0, G_g=1.0, beta=0.0)
    tuned = CVVPro.fixed(c, 500)
    rng, state = np.random.default_rng(0), tuned.algorithm.init(np.zeros(2))
    bound = tuned.guarantee.bounds(np.arange(1, 501))["round"]
    for t, gradient in enumerate(rng.normal(size=(500, 2))):
        gradient *= 3 / np.linalg.norm(gradient)
        x = state.x
        assert np.linalg.norm(x) <= 2.71
        assert x[0] - 0.3 <= bound[t]
        seen = Feedback(gradient, np.array([x[0] - 0.3]), np.array([[1.0, 0.0]]))
        state = tuned.algorithm.update(state, seen)


def test_constraints_without_a_common_point_are_named():
    player = CVVPro(alpha=1.0, radius=5.0)
    seen = Feedback(np.zeros(1), np.array([1.0, 1.0]), np.array([[1.0], [-1.0]]))
    with pytest.raises(InvalidValueError, match="must have a common feasible point"):
        player.update(player.init(np.zeros(1)), seen)


def test_penalised_blocks_without_a_violation_are_blocks():
    c = Constants(R=2.0, G_f=1.0, G_g=1.0)
    tuned = PenalisedBlocks.known_horizon(c, 16, SQUARE)
    base = tuned.algorithm.base
    assert (base.block, tuned.algorithm.theta) == (4, pytest.approx(4.0))
    assert (base.eta, base.closeness) == pytest.approx((0.25, math.sqrt(2)))
    plain = GarberKretzu(eta=base.eta, block=base.block, closeness=base.closeness, domain=SQUARE)
    a, b = tuned.algorithm.init(np.zeros(2)), plain.init(np.zeros(2))
    for gradient in np.random.default_rng(0).normal(size=(100, 2)):
        a = tuned.algorithm.update(a, Feedback(gradient, -0.1, np.ones(2)))
        b = plain.update(b, Feedback(gradient, None, None))
        np.testing.assert_array_equal(a.x, b.x)


def test_the_budget_of_penalised_blocks_is_kept():
    stream, T = Stream(1000, 1), 1000
    tuned = PenalisedBlocks.known_horizon(Constants(R=math.sqrt(2), G_f=21.21, G_g=1.0), T, SQUARE)
    calls = []

    class Counted:
        def minimize_linear(self, c):
            calls.append(c)
            return SQUARE.minimize_linear(c)

        def __getattr__(self, name):
            return getattr(SQUARE, name)

    base = tuned.algorithm.base
    player = PenalisedBlocks(
        base=GarberKretzu(
            eta=base.eta, block=base.block, closeness=base.closeness, domain=Counted()
        ),
        theta=tuned.algorithm.theta,
    )
    _, g = stream.play(player)
    assert 0 < len(calls) <= tuned.guarantee.linear_minimisations(max(float(g.max()), 1e-9))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: PrimalDual.known_margin(KNOWN.with_origin("given", start_slack=None), 100),
            "without one use drift plus penalty",
        ),
        (
            lambda: PrimalDual.known_margin(
                Constants(
                    R=1.0, G_f=1.0, G_g=1.0, D_g=1.0, rows=1, slater_margin=0.01, slater_cost=0.01
                ),
                2,
            ),
            "needs a horizon of at least",
        ),
        (
            lambda: CVVPro(alpha=1.0, radius=1.0).init(np.array([2.0])),
            "x1 must be in the domain Ball",
        ),
        (lambda: ScalarDPP.windows(KNOWN, 10, window=0), "window must be a whole number"),
        (
            lambda: PenalisedBlocks(base=Ball(1.0), theta=1.0),
            "base must be a GarberKretzu",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, message):
    with pytest.raises(InvalidValueError, match=message):
        make()


@pytest.mark.parametrize("tune", [RECOO.changing, RECOO.changing_strongly_convex])
def test_linearisations_of_round_constraints_keep_the_bounds(tune):
    # Discs that breathe: convex and not linear, so that the step sees less than the constraint.
    T, rng = 800, np.random.default_rng(5)
    targets = np.array([0.9, 0.6]) + rng.uniform(-0.5, 0.5, size=(T, 2))
    discs = Drifting(L2Norm(0.5, [0.0, 0.0]), rng.uniform(-0.2, 0.2, T))
    problem = Problem.of(Quadratic(targets, 6.0), discs, Ball(1.0), [0.0, 0.0])
    tuned = tune(problem.constants, T)
    trace = play(tuned, problem, watch="raise")
    assert trace.violations.count > 0
    assert trace.violations.sum_positive <= tuned.guarantee.bounds(T)["sum_positive"]
    assert trace.final_regret() <= tuned.guarantee.regret_bound(T)
