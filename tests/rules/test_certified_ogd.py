"""Descent in steps that the curvature certifies: Theorem C."""

import numpy as np
import pytest

from surefoot import Controller, Feedback
from surefoot.core.constants import Constants
from surefoot.guarantees import PremiseError
from surefoot.knowledge import Curvature, CurvatureRows
from surefoot.rules import CertifiedOGD, TheoremC
from surefoot.sets import Box
from surefoot.sets._active_set import project_halfspaces

from ._curved import HEAT, bent, heat, play, quadratics


def test_one_step_worked_by_hand():
    player = CertifiedOGD(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0)
    seen = Feedback(np.array([-1.0, -3.0]), -0.5, np.array([0.0, 1.0]))
    state, info = player.step(player.init(np.zeros(2)), seen)
    # 1/eta = sqrt 5 from the costs, 2 sqrt 10/sqrt 2 from nu = sqrt 2, which is more.
    assert state.learner.inverse_eta == pytest.approx(2 * np.sqrt(5))
    assert state.x == pytest.approx([0.2236068, 0.396424], abs=1e-6)
    assert info.cut
    assert info.certificate.cut
    assert info.certificate.bound <= 0


def test_the_heat_of_the_readme_has_the_regret_of_the_reference():
    player = CertifiedOGD(knowledge=Curvature(beta=1.6, reach=0.9), radius=0.9)
    prices = np.random.default_rng(3).uniform([0.2, 0.6], [0.8, 1.3], size=(2_000, 2))
    actions, bound, worst, _ = play(player, heat, -prices, np.zeros(2))
    best = np.sqrt(0.4 * (prices.sum(0) ** 2 / HEAT).sum())
    regret = best - float((prices * actions[:-1]).sum())
    assert regret == pytest.approx(2.3089, abs=1e-4)
    assert -1e-6 < worst <= 0
    assert regret <= bound


@pytest.mark.parametrize("rows", [1, 3])
def test_theorem_c_holds_against_every_comparator_on_every_stream(rows):
    rng, d, T = np.random.default_rng(7), 4, 300 if rows == 1 else 100
    query, R = quadratics(rng, d, rows), 2.5
    comparators = [u for u in rng.normal(size=(4_000, d)) if np.max(query(u)[0]) <= 0]
    e = np.ones(d)
    streams = {
        "constant": np.tile(e, (T, 1)),
        "alternating": np.where(np.arange(T) % 2, 1, -1)[:, None] * e,
        "random": rng.normal(size=(T, d)),
        "growing": np.linspace(0, 5, T)[:, None] * rng.normal(size=d),
    }

    def narrow(info):
        if rows == 1 and info.cut:  # (iii): |s| >= nu/2 and P <= 1.0353 eta |grad|
            assert info.region.slope_norm >= 0.5 * info.region.nu * (1 - 1e-9)
            step = np.linalg.norm(info.x - info.region.x)
            assert step <= 1.0353 * info.note.size / info.note.inverse_eta * (1 + 1e-3)

    for gradients in streams.values():
        player = CertifiedOGD(knowledge=bent(rows, R), radius=R)
        actions, bound, worst, infos = play(player, query, gradients, np.zeros(d))
        for info in infos:
            narrow(info)
        assert worst <= 0
        total = gradients.sum(0)
        paid = float((gradients * actions[:-1]).sum())
        assert paid - min(float(total @ u) for u in comparators) <= bound
        if rows == 1:
            slack = -query(np.zeros(d))[0]
            L = np.linalg.norm(gradients, axis=1).max()
            constants = Constants(R=R, G_f=L, beta=2.0, start_slack=slack, start_reach=R)
            assert bound <= TheoremC(constants).regret_bound(T)


def test_with_a_curvature_of_zero_all_rows_are_projection_from_the_second_round_on():
    rng, d = np.random.default_rng(9), 5
    A = np.vstack([np.eye(d), -np.eye(d), rng.normal(size=(6, d))])
    b = rng.uniform(0.2, 0.4, len(A))
    known = CurvatureRows(beta=0.0, rows=len(A), reach=1.0)
    player = CertifiedOGD(knowledge=known, radius=1.0)
    state = player.init(np.zeros(d))
    gradients = rng.normal(size=(200, d)) + np.array([1.0, 0, 0, 0, 0])
    squares, x = 0.0, np.zeros(d)
    for t, gradient in enumerate(gradients):
        state = player.update(state, Feedback(gradient, A @ state.x - b, A))
        squares += gradient @ gradient
        y = x - np.sqrt(2) / np.sqrt(squares) * gradient
        x = y + project_halfspaces(A @ y - b, A, 1e-14, 100.0)[0]
        assert (A @ state.x - b).max() <= 0
        assert t == 0 or np.abs(state.x - x).max() < 1e-12


def test_a_known_box_is_kept_and_used_from_the_first_round():
    rng = np.random.default_rng(11)
    box = Box([-0.1, 0.0], [0.25, 2.0])
    known = CurvatureRows(beta=1.6, rows=1, reach=2.0, domain=box)
    player = CertifiedOGD(knowledge=known, radius=0.9)
    prices = rng.uniform([0.2, 0.6], [0.8, 1.3], size=(150, 2))
    actions, bound, worst, _ = play(player, heat, -prices, np.array([0.0, 0.1]))
    assert worst <= 0
    assert all(box.contains(x) for x in actions)
    assert actions[-1] == pytest.approx([0.25, np.sqrt(0.7)], abs=2e-3)
    best = max(prices.sum(0) @ np.array([a, np.sqrt(0.8 - 1.6 * a**2)]) for a in (0.25, 0.249))
    assert best - (prices * actions[:-1]).sum() <= bound


def test_an_announced_set_holds_the_next_action():
    known = CurvatureRows(beta=1.6, rows=1, reach=1.0)
    player = CertifiedOGD(knowledge=known, radius=0.9)
    state = player.init(np.zeros(2))
    seen = Feedback(np.array([-1.0, -1.0]), *heat(state.x))
    shut = Box([0.0, 0.0], [0.0, 1.0])
    state, _info = player.step(state, seen._replace(within=shut))
    assert state.x[0] == 0.0
    assert state.x[1] > 0.1
    assert heat(state.x)[0] <= 0
    one = CertifiedOGD(knowledge=Curvature(beta=1.6, reach=1.0), radius=0.9)
    alone, _ = one.step(one.init(np.zeros(2)), seen._replace(within=shut))
    assert shut.contains(alone.x)
    assert heat(alone.x)[0] <= 0


def test_the_default_reads_the_constants_and_says_what_is_missing():
    known = Constants(R=0.9, beta=1.6, start_slack=0.4, start_reach=0.9, G_f=1.6)
    tuned = CertifiedOGD.default(known)
    assert tuned.algorithm == CertifiedOGD(knowledge=Curvature(beta=1.6, reach=0.9), radius=0.9)
    assert tuned.guarantee.regret_bound(10_000) < 1_000
    several = CertifiedOGD.default(Constants(**{**_plain(known), "rows": 3}))
    assert several.algorithm.needs.separately
    assert np.isinf(several.guarantee.regret_bound(10))
    with pytest.raises(ValueError, match="beta"):
        CertifiedOGD.default(Constants(R=1.0, start_slack=0.4, start_reach=0.9))
    with pytest.raises(ValueError, match=r"knowledge must be .*, got 1\.0"):
        CertifiedOGD(knowledge=1.0, radius=1.0)


def _plain(constants):
    return {"R": 0.9, "beta": constants.beta, "start_slack": 0.4, "start_reach": 0.9}


def test_a_controller_explains_each_step_and_stops_at_a_curvature_that_is_too_small():
    prices = np.random.default_rng(3).uniform([0.2, 0.6], [0.8, 1.3], size=(20, 2))

    def run(beta):
        known = Constants(R=0.9, beta=beta, start_slack=0.4, start_reach=0.9)
        controller = Controller(CertifiedOGD.default(known), start=[0.0, 0.0])
        for price in prices:
            g, s = heat(controller.ask())
            controller.tell(cost_gradient=-price, constraint_value=g, constraint_subgradient=s)
        return controller.explain()

    why = run(1.6)
    assert why.bound <= 0
    assert why.regret_bound is not None
    assert "its curvature is at most 1.6" in str(why)
    with pytest.raises(PremiseError, match=r"round 2: .* more than beta = 0\.3"):
        run(0.3)


@pytest.mark.parametrize("rows", [1, 2])
def test_a_caller_who_writes_over_his_arrays_changes_nothing_and_bad_gradients_are_refused(rows):
    known = CurvatureRows(beta=1.6, rows=rows, reach=0.9)
    player = CertifiedOGD(knowledge=known, radius=0.9)

    def query(x):
        g, s = heat(x)
        return (g, s) if rows == 1 else (np.array([g, g - 0.1]), np.array([s, s]))

    state, alone = player.init(np.zeros(2)), player.init(np.zeros(2))
    gradient = np.array([-0.5, -1.0])
    for _ in range(20):
        mine, (g, s) = gradient.copy(), query(state.x)
        s = s.copy()
        state, info = player.step(state, Feedback(mine, g, s))
        mine[:], s[:] = np.nan, 1e9
        alone = player.update(alone, Feedback(gradient, *query(alone.x)))
        assert info.contradictions == ()
        assert (state.x == alone.x).all()
        assert not state.x.flags.writeable
    with pytest.raises(ValueError, match="cost_gradient must have a finite square"):
        player.update(state, Feedback(np.array([1e200, 0.0]), *query(state.x)))
    with pytest.raises(ValueError, match="cost_gradient must be finite, got nan"):
        player.update(state, Feedback(np.array([np.nan, 0.0]), *query(state.x)))
