"""Other units: the same steps, feasibility, what a matrix and a bound per row are worth."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot import OGD, Ball, Constants, Feedback, Problem, kernel, play
from surefoot.certified import Certified
from surefoot.controller import Controller, replay
from surefoot.core.errors import InvalidValueError
from surefoot.guarantees import NoClaim
from surefoot.knowledge import Curvature, CurvatureRows, Errors, LipschitzHull, Together
from surefoot.problems.constraints import Affine
from surefoot.problems.costs import Linear
from surefoot.rules import (
    CertifiedDualAveraging,
    CertifiedOGD,
    CertifiedPFS,
    CostProbing,
    EvenRows,
    InOtherUnits,
    LeaderFollower,
    RegionFilter,
    Stretched,
    ValuesFollower,
)
from surefoot.rules.wrappers import uneven
from surefoot.sets import Box, Polytope

SEEDS = st.integers(0, 2**32 - 1)
ROUND = Curvature(beta=1.0, reach=1.0 + 1e-6)
BASES = {
    "averaging": CertifiedDualAveraging(knowledge=ROUND, radius=1.0),
    "descent": CertifiedOGD(knowledge=ROUND, radius=1.0),
    "rows": CertifiedOGD(knowledge=CurvatureRows(beta=1.0, rows=1, reach=1.1), radius=1.0),
    "follower": LeaderFollower(G_g=1.0 + 1e-6, domain=Ball(1.0 + 1e-6)),
    "together": Certified(
        proposer=OGD(eta=0.1, domain=Ball(2.0)), knowledge=Together(rows=(ROUND,))
    ),
    "values": CostProbing(base=LeaderFollower(G_g=1.1, domain=Ball(1.1)), length=0.01),
}


class Bowl:
    """The convex quadratic (x'Px - 1)/2."""

    def __init__(self, rng, d, condition):
        Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        P = Q @ np.diag(np.geomspace(1.0, condition, d)[::-1]) @ Q.T
        self.P = 0.5 * (P + P.T)
        self.stretch = np.linalg.cholesky(self.P * (1 + 1e-9)).T

    def seen(self, player, x, grad):
        g, s = 0.5 * (float(x @ self.P @ x) - 1.0), self.P @ x
        if player.needs.separately:
            return Feedback(grad, np.array([g]), s[None])
        cost = float(grad @ x) if player.needs.cost_values else None
        return Feedback(None if cost is not None else grad, g, s, cost_value=cost)


def test_where_the_map_is_exact_the_steps_are_those_of_the_base():
    L, base = np.diag([4.0, 0.5]), BASES["averaging"]
    player = Stretched(base=base, stretch=L)
    rng, P = np.random.default_rng(3), L @ L
    state, z = player.init(np.array([0.01, -0.2])), base.init(np.array([0.04, -0.1]))
    for _ in range(50):
        grad = rng.normal(size=2)
        x = state.x
        np.testing.assert_array_equal(L @ x, z.x)
        g, s = 0.5 * (float(x @ P @ x) - 1.0), P @ x
        state = player.update(state, Feedback(grad, g, s))
        wide = base.step_in_python(z, Feedback(grad / np.diag(L), g, s / np.diag(L)))[0]
        np.testing.assert_allclose(L @ state.x, wide.x, rtol=0, atol=1e-12)
        z = state.base


@pytest.mark.slow
@pytest.mark.parametrize("kind", BASES)
@given(seed=SEEDS, d=st.integers(1, 5), power=st.floats(0.0, 5.0))
@settings(max_examples=6, deadline=None)
def test_every_action_is_feasible(kind, seed, d, power):
    rng = np.random.default_rng(seed)
    bowl = Bowl(rng, d, 10.0**power)
    player = Stretched(base=BASES[kind], stretch=bowl.stretch)
    state, aim = player.init(np.zeros(d)), rng.normal(size=d)
    for _ in range(50):
        if rng.random() < 0.1:
            aim = rng.normal(size=d)
        state, info = player.step(state, bowl.seen(player, state.x, aim))
        x = state.x
        assert 0.5 * (float(x @ bowl.P @ x) - 1.0) <= 0.0
        assert info.certificate.bound <= 0.0
        assert info.contradictions == ()


def test_a_matrix_bound_removes_the_price_of_the_condition():
    rng, d, T = np.random.default_rng(5), 3, 600
    bowl = Bowl(rng, d, 300.0)
    gradients = np.array([1.0, 0.3, -0.5]) + rng.normal(size=(T, d))
    R, total = 1.01, gradients.sum(axis=0)
    best = -math.sqrt(float(total @ np.linalg.solve(bowl.P, total)))
    known = Curvature(beta=300.0 * (1 + 1e-9), reach=R)
    players = [CertifiedDualAveraging(knowledge=known, radius=R)]
    players.append(Stretched(base=BASES["averaging"], stretch=bowl.stretch))
    regrets = []
    for player in players:
        state, paid = player.init(np.zeros(d)), 0.0
        for grad in gradients:
            paid += float(grad @ state.x)
            state = player.update(state, bowl.seen(player, state.x, grad))
        regrets.append(paid - best)
    assert regrets[1] < 0.6 * regrets[0]


def test_errors_and_drift_are_those_of_the_base():
    rng, L = np.random.default_rng(0), np.array([[3.0, 1.0], [0.0, 0.5]])
    errors = Errors(value=0.01, slope=0.02, drift=1e-3)
    base = CertifiedOGD(knowledge=Curvature(beta=1.0, reach=1.5, errors=errors), radius=1.5)
    player = Stretched(base=base, stretch=L)
    state, level = player.init(np.zeros(2)), 1.0
    for t in range(150):
        x = state.x
        z = L @ x
        assert 0.5 * (float(z @ z) - level) <= 0.0
        tilt = rng.normal(size=2)
        slope = L.T @ (z + 0.02 * tilt / np.linalg.norm(tilt))  # off by 0.02 in z
        reading = 0.5 * (float(z @ z) - level) + 0.01 * rng.uniform(-1, 1)
        state = player.update(state, Feedback(np.array([-1.0, 0.4]), reading, slope))
        level -= 2e-3 * (-1 if t % 50 > 25 else 1)


def test_what_is_told_in_x_is_stretched():
    told = []

    class Recording(LipschitzHull):
        def learn(self, memory, reading):
            told.append(reading)
            return super().learn(memory, reading)

    L = np.array([[2.0, 0.0], [0.0, 4.0]])
    base = RegionFilter(knowledge=Recording(G_g=1.0, reach=2.0, errors=Errors(slope=0.1)))
    player = Stretched(base=base, stretch=L)
    state = player.init(np.array([0.1, 0.0]))
    seen = Feedback(
        None,
        -0.5,
        np.array([0.5, 2.0]),
        slope_error=0.3,
        proposal=np.array([0.2, 0.1]),
        action=np.array([0.2, 0.0]),
    )
    state, info = player.step(state, seen)
    (reading,) = told
    np.testing.assert_allclose(reading.x, [0.4, 0.0])
    np.testing.assert_allclose(reading.s, [0.25, 0.5])
    assert reading.errors.slope == pytest.approx(0.3 / 2)  # the longest of L^-1
    np.testing.assert_allclose(info.proposal, [0.2, 0.1])
    np.testing.assert_allclose(state.x, [0.2, 0.1])


def test_a_live_loop_is_journalled_held_and_derived_again(tmp_path):
    bowl = Bowl(np.random.default_rng(2), 2, 50.0)
    path, player = tmp_path / "run.jsonl", Stretched(base=BASES["follower"], stretch=bowl.stretch)
    loop = Controller(player, [0.0, 0.0], journal=path)
    for t in range(60):
        x = loop.ask()
        if t == 20:
            loop.tell(missing=True)
            continue
        seen = bowl.seen(player, x, np.array([-1.0, 0.2]))
        assert seen.constraint_value <= 0
        loop.tell(
            cost_gradient=seen.cost_gradient,
            constraint_value=seen.constraint_value,
            constraint_subgradient=seen.constraint_subgradient,
        )
    loop.close()
    with Controller.open(path) as again:
        assert (again.ask() == loop.state.x).all()
    assert "bit for bit" in str(replay(path))


def test_the_guarantee_is_that_of_the_base():
    known = Constants(R=1.0, G_f=2.0, G_g=1.0, start_slack=0.5, start_reach=1.0)
    tuned = LeaderFollower.default(known)
    player = Stretched.of(tuned, stretch=np.diag([1.0, 9.0]))
    theorem = player.guarantee
    assert isinstance(theorem, InOtherUnits)
    assert theorem.name == "Theorem E (hulls of certified balls), in other units"
    assert theorem.regret_bound(50) == tuned.guarantee.regret_bound(50)
    assert (theorem.regret_exponent, theorem.horizon, theorem.changing) == (None, None, False)
    assert theorem.premises == ()
    assert EvenRows.of(tuned, slopes=[1.0, 9.0]).guarantee == theorem
    with pytest.raises(InvalidValueError, match="the guarantee must be one for every round"):
        InOtherUnits(known, NoClaim(known))


def test_what_does_not_fit_is_refused_in_a_sentence():
    base = BASES["follower"]
    for wrong in (np.ones((2, 3)), np.zeros((2, 2)), np.diag([0.0, 1e-12]) + 1.0, np.ones((2, 2))):
        with pytest.raises(InvalidValueError, match="stretch must be a square matrix with an inv"):
            Stretched(base=base, stretch=wrong)
    with pytest.raises(InvalidValueError, match="base must be a certified rule"):
        Stretched(base=OGD(eta=0.1, domain=Ball(1.0)), stretch=np.eye(2))
    lengths = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.05)
    with pytest.raises(InvalidValueError, match="whose knowledge has a reach of its own"):
        Stretched(base=lengths, stretch=np.eye(2))
    player = Stretched(base=base, stretch=np.eye(2))
    with pytest.raises(InvalidValueError, match="x1 must be a vector of 2 numbers"):
        player.init(np.zeros(3))
    with pytest.raises(InvalidValueError, match="within must not be announced"):
        player.step(player.init(np.zeros(2)), Feedback(within=Box([0.0] * 2, [1.0] * 2)))
    with pytest.raises(InvalidValueError, match="base must be a certified rule that learns"):
        CostProbing(base=player, length=0.1)
    for bad in (np.zeros(3), np.array([math.nan, 0.0])):
        with pytest.raises(InvalidValueError, match="cost_gradient"):
            player.step(player.init(np.zeros(2)), Feedback(bad, -0.5, np.ones(2)))


def attack_turned_rows(seed):
    """The largest g of a run on affine rows in units that are turned and uneven."""
    rng, d = np.random.default_rng([seed, 99]), 3
    turn, back = (np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2))
    stretch = turn @ np.diag(np.geomspace(1.0, 1e5, d)) @ back
    A, b = np.vstack([np.eye(d), -np.eye(d)]) @ stretch, rng.uniform(0.1, 1.0, 2 * d)
    known = CurvatureRows(beta=0.0, rows=2 * d, reach=2.0)
    base = CertifiedDualAveraging(knowledge=known, radius=2.0)
    player, worst = Stretched(base=base, stretch=stretch), -math.inf
    state = player.init(np.zeros(d))
    for _ in range(30):
        g = A @ state.x - b
        worst = max(worst, float(g.max()))
        state = player.update(state, Feedback(stretch.T @ rng.normal(size=d), g, A))
    return worst


@pytest.mark.slow
def test_without_the_rounding_of_the_map_an_attack_is_outside(monkeypatch):
    assert max(attack_turned_rows(seed) for seed in range(20)) <= 0
    monkeypatch.setattr(uneven, "_with_reach", lambda algorithm, times: algorithm)
    assert max(attack_turned_rows(seed) for seed in range(20)) > 0


# --- rows, each with its own bound ---------------------------------------------------------------


def uneven_box(rng, d):
    Q, norms = np.linalg.qr(rng.normal(size=(d, d)))[0], 10.0 ** rng.uniform(-1, 2, 2 * d)
    return Affine(np.vstack([Q, -Q]) * norms[:, None], rng.uniform(0.3, 0.6, 2 * d) * norms), norms


def test_the_base_is_told_the_row_with_the_least_way_left():
    base = LeaderFollower(G_g=1.0, domain=Ball(1.0))
    player = EvenRows(base=base, slopes=[1.0, 10.0])
    # The second row is larger, and further away: -4/10 is below -0.3.
    g, s = np.array([-0.3, -4.0]), np.array([[0.6, 0.8], [0.0, 10.0]])
    seen = Feedback(np.array([-1.0, 0.0]), g, s, value_error=0.02)
    after, info = player.step(player.init(np.zeros(2)), seen)
    alone = Feedback(np.array([-1.0, 0.0]), -0.3, s[0], value_error=0.02)
    wanted, _ = base.step(base.init(np.zeros(2)), alone)
    np.testing.assert_array_equal(after.x, wanted.x)
    assert info.certificate.bound <= 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["follower", "values", "costs by value", "stretched"])
@given(seed=SEEDS, d=st.integers(1, 5))
@settings(max_examples=12, deadline=None)
def test_every_row_is_kept_in_every_round(kind, seed, d):
    rng = np.random.default_rng(seed)
    wall, norms = uneven_box(rng, d)
    rule = ValuesFollower if kind == "values" else LeaderFollower
    base = rule(G_g=1 + 1e-12, domain=Ball(math.sqrt(d)))
    if kind == "costs by value":
        base = CostProbing(base=base, length=0.01)
    if kind == "stretched":
        base = Stretched(base=base, stretch=np.eye(d))
    player = EvenRows(base=base, slopes=norms * (1 + 1e-12))
    state, aim = player.init(np.zeros(d)), rng.normal(size=d)
    for _ in range(60):
        if rng.random() < 0.1:
            aim = rng.normal(size=d)
        g, s = wall.query_all(state.x)
        assert (g <= 0).all()
        seen = Feedback(aim, g, None if kind == "values" else s)
        if player.needs.cost_values:
            seen = seen._replace(cost_gradient=None, cost_value=float(aim @ state.x))
        state, info = player.step(state, seen)
        assert info.contradictions == ()


def test_one_bound_for_each_row_is_worth_a_factor():
    rng, d = np.random.default_rng(1), 3
    wall, norms = uneven_box(rng, d)
    gradients = rng.normal(size=d) + 0.5 * rng.normal(size=(300, d))
    one = LeaderFollower(G_g=float(norms.max()) * (1 + 1e-12), domain=Ball(2.0))
    each = EvenRows(base=LeaderFollower(G_g=1 + 1e-12, domain=Ball(2.0)), slopes=norms)
    paid = []
    for player in (one, each, None):
        if player is None:
            total = gradients.sum(axis=0)
            paid.append(float(Polytope(wall.A, wall.b).minimize_linear(total) @ total))
            continue
        state, costs = player.init(np.zeros(d)), 0.0
        for grad in gradients:
            costs += float(grad @ state.x)
            told = wall.query_all(state.x) if player.needs.separately else wall.query(state.x)
            state = player.update(state, Feedback(grad, *told))
        paid.append(costs)
    assert paid[1] - paid[2] < 0.35 * (paid[0] - paid[2])


def test_a_game_plays_other_units():
    rng = np.random.default_rng(4)
    wall, norms = uneven_box(rng, 2)
    costs = Linear(rng.normal(size=(60, 2, 2)) - 0.5)
    problem = Problem.of(costs, wall, Ball(2.0), [0.0, 0.0])
    base = LeaderFollower(G_g=1 + 1e-9, domain=Ball(2.0))
    steep = LeaderFollower(G_g=float(norms.max()), domain=Ball(4.0))
    for player in (EvenRows(base=base, slopes=norms), Stretched(base=steep, stretch=2 * np.eye(2))):
        assert (play(player, problem).violations.largest <= 0).all()


def test_a_live_loop_takes_all_rows():
    base = LeaderFollower(G_g=1.0, domain=Ball(1.0))
    loop = Controller(EvenRows(base=base, slopes=[1.0, 30.0]), [0.0, 0.0])
    rows, limits = np.diag([1.0, 30.0]), np.array([0.5, 15.0])
    for _ in range(40):
        x = loop.ask()
        assert (rows @ x <= limits).all()
        loop.tell(
            cost_gradient=[-1.0, -0.5],
            constraint_value=rows @ x - limits,
            constraint_subgradient=rows,
        )
    np.testing.assert_allclose(loop.ask(), [0.5, 0.5], atol=0.02)
    with pytest.raises(InvalidValueError, match=r"constraint_value.shape must be \(2,\)"):
        loop.tell(cost_gradient=[0.0, 0.0], constraint_value=-0.5, constraint_subgradient=rows)


def test_rows_that_do_not_fit_are_refused_in_a_sentence():
    base = LeaderFollower(G_g=1.0, domain=Ball(1.0))
    with pytest.raises(InvalidValueError, match="slopes must be above 0"):
        EvenRows(base=base, slopes=[1.0, 0.0])
    several = CertifiedOGD(knowledge=CurvatureRows(beta=0.0, rows=2, reach=1.0), radius=1.0)
    drifting = LeaderFollower(G_g=1.0, domain=Ball(1.0), drift=1e-3)
    for wrong in (several, OGD(eta=0.1, domain=Ball(1.0)), drifting):
        with pytest.raises(InvalidValueError, match="base must be a certified rule for one const"):
            EvenRows(base=wrong, slopes=[1.0, 2.0])
    player = EvenRows(base=base, slopes=[1.0, 2.0])
    for g in (np.array([-0.5]), -0.5, np.full(3, -0.5)):
        with pytest.raises(InvalidValueError, match="must have 2 rows"):
            player.step(player.init(np.zeros(2)), Feedback(np.zeros(2), g, np.eye(2)))


@pytest.mark.parametrize("engine", kernel.engines())
def test_the_bound_of_even_rows_is_one_on_each_row_in_its_own_unit(engine, tmp_path):
    G, limit, path = np.array([0.1, 3.0]), np.array([0.05, 0.9]), tmp_path / "run.jsonl"
    base = LeaderFollower(G_g=1.0, domain=Ball(1.0))
    rng, near = np.random.default_rng(4), 0
    with (
        kernel.engine(engine),
        Controller(EvenRows(base=base, slopes=G), [0.0, 0.0], journal=path) as live,
    ):
        for t in range(30):
            x = live.ask()
            g = G * x - limit
            if t:
                why = live.explain()
                assert why.is_proven
                assert g.max() <= why.bound <= 0
                assert f"so no row of g is above {why.bound:.3g}" in str(why)
                near += why.bound - g.max() < 1e-3
            pull = rng.normal(size=2) - 1.0
            live.tell(cost_gradient=pull, constraint_value=g, constraint_subgradient=np.diag(G))
        live.retreat("order")
        assert live.explain().bound == pytest.approx(-0.05)  # as it was read
    assert near > 10  # so it is no empty bound
    assert replay(path).is_same
    with Controller.open(path) as again:
        assert str(again.explain()) == str(live.explain())
