"""Costs by value: a pair by hand, unbiased estimates, feasibility, the bound, a live loop."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot import OGD, Ball, Constants, Feedback, Problem, play
from surefoot.certified import Certified
from surefoot.controller import Controller, Fleet, PremiseError, replay
from surefoot.core.errors import InvalidValueError
from surefoot.experiments.build import build_player
from surefoot.guarantees import NoClaim
from surefoot.knowledge import (
    Choices,
    Curvature,
    CurvatureRows,
    EmptyRegionError,
    Errors,
    LipschitzHull,
    Together,
)
from surefoot.problems.constraints import Affine, L2Norm
from surefoot.problems.costs import Linear, Quadratic
from surefoot.rules import (
    Averaged,
    CertifiedDualAveraging,
    CertifiedOGD,
    CertifiedPFS,
    CostProbing,
    InPairs,
    LeaderFollower,
    SafetyFilter,
    TheoremD,
    TheoremE,
    ValuesFollower,
)
from surefoot.sets import Box, Ellipsoid, Halfspace, Intersection, Polytope, Simplex

SEEDS = st.integers(0, 2**32 - 1)
UP = np.array([0.0, 1.0])
KNOWN = Constants(R=1.0, G_f=1.0, G_g=1.0, start_slack=0.5, start_reach=1.0)
FOLLOWER = LeaderFollower(G_g=1.0, domain=Ball(1.0))
CORNER = Box([0.0, 0.0], [0.9, 0.9])


def below(x, cost, limit=0.5, **more):
    """What is seen of x[1] <= limit."""
    return Feedback(None, float(x[1]) - limit, UP, cost_value=cost, **more)


# --- a pair --------------------------------------------------------------------------------------


def test_a_pair_by_hand():
    hull = LipschitzHull(G_g=1.0, reach=2.0)
    base = Certified(proposer=OGD(eta=0.2, domain=Ball(2.0)), knowledge=hull)
    player = CostProbing(base=base, length=0.1)
    east, north = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    state = player.init(np.zeros(2))  # the cost is 3 - x[0] + 2 x[1]
    state = player.update(state, below(state.x, 3.0, direction=east))
    assert state.turn == 1
    assert not state.is_probe
    assert (state.x == 0).all()
    state = player.update(state, below(state.x, 3.0, direction=north))
    np.testing.assert_allclose(state.x, [0.1, 0.0])  # the probe, to the east
    state, info = player.step(state, below(state.x, 2.9, direction=north))
    # The estimate is (2.9 - 3)/0.1 = -1 to the east, and the step 0.2 of it.
    np.testing.assert_allclose(state.x, [0.2, 0.0], atol=1e-12)
    assert info.certificate.bound == pytest.approx(-0.5 + 0.2)
    state = player.update(state, below(state.x, 2.8, direction=east))
    np.testing.assert_allclose(state.x, [0.2, 0.1], atol=1e-12)
    state = player.update(state, below(state.x, 3.0, direction=-north))
    # 2 to the north; and the last first round drew a unit vector to the right: a probe is next.
    np.testing.assert_allclose(state.base.x, [0.2, -0.4], atol=1e-12)
    np.testing.assert_allclose(state.x, [0.2, -0.5], atol=1e-12)


def test_the_base_is_told_the_centre_alone_and_g_with_the_rise_of_a_probe():
    told = []

    class Recording(LipschitzHull):
        def learn(self, memory, reading):
            told.append((reading.x.tolist(), reading.g))
            return super().learn(memory, reading)

    base = Certified(
        proposer=OGD(eta=0.2, domain=Ball(2.0)), knowledge=Recording(G_g=2.0, reach=2.0)
    )
    player = CostProbing(base=base, length=0.05)
    state = player.init(np.zeros(2))
    for _ in range(5):
        centre = state.base.x
        state = player.update(state, below(state.x, float(state.x[0])))
    assert len(told) == 3
    assert told[0] == ([0.0, 0.0], pytest.approx(-0.5 + 0.1))
    assert told[-1] == (centre.tolist(), pytest.approx(centre[1] - 0.5 + 0.1))


def test_the_estimate_has_the_mean_of_both_gradients_also_where_costs_differ():
    # For linear costs, unit vectors along the axes are as good as all: u u' has the mean I/d.
    first, second, d = np.array([1.0, -2.0, 0.5]), np.array([3.0, 0.25, -1.0]), 3
    hull, taken = LipschitzHull(G_g=1.0, reach=9.0), []
    base = Certified(proposer=OGD(eta=1.0, domain=Ball(9.0)), knowledge=hull)
    player = CostProbing(base=base, length=0.25)
    for axis, sign, probe_first in itertools.product(range(d), (-1.0, 1.0), (False, True)):
        u = sign * np.eye(d)[axis]
        state = player.init(np.zeros(d))._replace(is_next_first=probe_first)
        s = np.ones(d) / math.sqrt(d)
        state = player.update(state, Feedback(None, -5.0, s, cost_value=7.0, direction=u))
        assert state.is_probe is probe_first
        for cost in (first, second):
            seen = Feedback(None, float(s @ state.x) - 5.0, s, cost_value=float(cost @ state.x) + 7)
            state = player.update(state, seen._replace(direction=u))
        taken.append(-d * state.base.x)  # a step of length 1 from 0
    np.testing.assert_allclose(np.mean(taken, axis=0), 0.5 * (first + second), atol=1e-12)


# --- feasibility ---------------------------------------------------------------------------------


def polytope(rng, d):
    A = rng.normal(size=(3 * d, d)) * rng.uniform(0.3, 3.0, (3 * d, 1))
    b = rng.uniform(0.2, 1.0, 3 * d)
    box = np.vstack([np.eye(d), -np.eye(d)])
    return Affine(np.vstack([A, box]), np.concatenate([b, np.full(2 * d, 2.0)]))


def bases(wall, d, domain=None):
    """Certified rules of every kind for a polytope in a ball of radius R."""
    R = 2.0 * math.sqrt(d) + 0.1
    rows, G_g = len(wall.b), float(np.linalg.norm(wall.A, axis=1).max()) * (1 + 1e-12)
    ball = domain or Ball(R)
    linear = CurvatureRows(beta=0.0, rows=rows, reach=R, domain=domain)
    hulls = Together(
        rows=tuple(
            LipschitzHull(G_g=float(np.linalg.norm(a)) * (1 + 1e-12), reach=R, domain=domain)
            for a in wall.A
        )
    )
    return {
        "follower": LeaderFollower(G_g=G_g, domain=ball),
        "values": ValuesFollower(G_g=G_g, domain=ball),
        "descent": CertifiedPFS(G_g=G_g, domain=ball, rho=0.05),
        "rows": CertifiedDualAveraging(knowledge=linear, radius=R),
        "rows, descent": CertifiedOGD(knowledge=linear, radius=R),
        "hulls": Certified(proposer=OGD(eta=0.1, domain=Ball(R)), knowledge=hulls),
        "noise": Averaged(base=LeaderFollower(G_g=G_g, domain=ball), sigma=1e-9),
    }


SLOW = {"hulls": pytest.mark.slow}
KINDS = [
    pytest.param(kind, marks=SLOW.get(kind, ()))
    for kind in bases(polytope(np.random.default_rng(0), 2), 2)
]


def told_by(player, wall, x):
    if player.needs.separately:
        return wall.query_all(x)
    g, s = wall.query(x)
    return g, s if player.needs.constraint_subgradients else None


def attack(player, wall, rng, rounds, d):
    """Every round's action and certificate, under costs that pull outwards or say anything."""
    state, aim, info = player.init(np.zeros(d)), rng.normal(size=d), None
    for _ in range(rounds):
        yield state.x, info
        if rng.random() < 0.1:
            aim = rng.normal(size=d)
        cost = -float(aim @ state.x) * 10.0 ** rng.integers(-2, 3)
        if rng.random() < 0.1:
            cost = float(rng.choice([1e12, -1e12, 0.0, 1e-300]))
        g, s = told_by(player, wall, state.x)
        state, info = player.step(state, Feedback(None, g, s, cost_value=cost))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(seed=SEEDS, d=st.integers(1, 6), short=st.floats(-6.0, -0.5))
@settings(max_examples=12, deadline=None)
def test_every_action_is_feasible_and_below_its_bound(kind, seed, d, short):
    rng = np.random.default_rng(seed)
    wall = polytope(rng, d)
    base = bases(wall, d)[kind]
    slack, G_g = float(wall.b.min()), float(np.linalg.norm(wall.A, axis=1).max())
    player = CostProbing(base=base, length=10.0**short * slack / G_g, seed=seed)
    for x, info in attack(player, wall, rng, 20 if kind == "hulls" else 60, d):  # those are slow
        g = float(wall.query(x)[0])
        assert g <= 0.0
        if info is not None and info.certificate is not None:
            assert g <= info.certificate.bound + 1e-12 <= 1e-12
            assert info.contradictions == ()


def test_without_the_rise_of_a_probe_one_is_outside(monkeypatch):
    monkeypatch.setattr(LipschitzHull, "rise", lambda *_, **__: 1e-12)
    rng = np.random.default_rng(0)
    wall = polytope(rng, 2)
    player = CostProbing(base=bases(wall, 2)["follower"], length=0.02)
    assert max(float(wall.query(x)[0]) for x, _ in attack(player, wall, rng, 300, 2)) > 0


@given(seed=SEEDS, d=st.integers(1, 4))
@settings(max_examples=15, deadline=None)
def test_curved_limits_need_no_bound_on_their_slope(seed, d):
    rng = np.random.default_rng(seed)
    known = Curvature(beta=2.0, reach=0.8)
    base = CertifiedDualAveraging(knowledge=known, radius=0.8)
    player = CostProbing(base=base, length=0.02, seed=seed)

    class Square:
        def query(self, x):
            return float(x @ x) - 0.64, 2 * x

    for x, _ in attack(player, Square(), rng, 60, d):
        assert float(x @ x) - 0.64 <= 0.0


@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_a_limit_that_drifts_and_errs_is_kept(seed):
    rng, drift, nu = np.random.default_rng(seed), 2e-3, 0.01
    errors = Errors(value=nu, drift=drift)
    base = LeaderFollower(G_g=1.0, domain=Ball(2.0)).allowing(errors)
    player = CostProbing(base=base, length=0.02, seed=seed)
    state, limit = player.init(np.zeros(2)), 0.5
    for t in range(120):
        x = state.x
        assert x[1] <= limit
        reading = float(x[1]) - limit + rng.uniform(-nu, nu)
        state = player.update(state, Feedback(None, reading, UP, cost_value=-float(x.sum())))
        limit += drift * (-1 if t % 40 < 20 else 1)


@pytest.mark.parametrize("domain", [Box([-0.3, -0.4], [0.5, 0.2]), Ball(0.4)])
def test_probes_stay_in_the_set_that_is_known(domain):
    player = CostProbing(base=LeaderFollower(G_g=1.0, domain=domain), length=0.03)
    state, on_edge = player.init(np.zeros(2)), 0
    for _ in range(200):
        assert domain.contains(state.x)
        on_edge += not domain.contains(state.base.x + np.array([0.031, 0.0]))
        state = player.update(state, below(state.x, -float(state.x[0]), limit=1.0))
    assert on_edge > 50


# --- known sets, and sets that are announced -----------------------------------------------------


def test_a_start_in_a_corner_by_hand():
    player = CostProbing(base=LeaderFollower(G_g=1.0, domain=CORNER), length=0.1)
    state = player.init(np.zeros(2))  # the limit is x[1] <= 0.5, the cost -x[0]
    state, info = player.step(state, below(state.x, 0.0))
    # Probes have room from (0.1, 0.1) on, sqrt(2)/10 away, where g is at most -0.5 + 0.1414.
    np.testing.assert_allclose(state.x, [0.1, 0.1], atol=1e-9)
    assert info.certificate.bound == pytest.approx(-0.5 + 0.1 * math.sqrt(2))
    assert not player.keeps_promise(state)
    state, info = player.step(state, below(state.x, -0.1))
    # What the base is told there is g(0.1, 0.1) + 0.1 = -0.3; its step is of that length.
    np.testing.assert_array_equal(state.base.x, state.x)
    assert state.turn == 1
    assert info.certificate.bound == pytest.approx(-0.4, abs=1e-6)


HOLDERS = {
    "box": CORNER,
    "ball": Ball(1.0, [1.0, 0.0]),
    "polytope": Polytope([[-1.0, 0.0], [0.0, -2.0], [1.0, 1.0]], [0.0, 0.0, 1.0]),
    "ellipsoid": Ellipsoid(np.diag([1.0, 1.0 / 0.16]), [1.0, 0.0]),
    "both": Intersection([CORNER, Halfspace([1.0, 1.0], 1.0)], inner=[0.2, 0.2]),
}


@pytest.mark.parametrize("name", HOLDERS)
@pytest.mark.parametrize("kind", [LeaderFollower, ValuesFollower])
def test_every_known_set_holds_its_probes_from_a_start_on_its_edge(name, kind):
    domain = HOLDERS[name]
    loop = Controller(CostProbing(base=kind(G_g=1.0, domain=domain), length=0.02), [0.0, 0.0])
    probes = 0
    for _ in range(60):
        x = loop.ask()
        assert domain.contains(x)
        assert loop.round == 1 or loop.explain().is_proven
        probes += loop.state.is_probe
        seen = {"constraint_value": float(x[1]) - 0.3, "constraint_subgradient": UP}
        if kind is ValuesFollower:
            seen.pop("constraint_subgradient")
        loop.tell(cost_value=float(x @ [-0.6, -0.8]), **seen)
        assert float(x[1]) <= 0.3
    assert probes > 25
    assert loop.state.base.x[0] > 0.3


def test_a_corner_of_a_box_in_twenty_dimensions():
    d = 20
    domain, s = Box(np.zeros(d), np.ones(d)), np.ones(d) / math.sqrt(d)
    player = CostProbing(base=LeaderFollower(G_g=1.0, domain=domain), length=0.05)
    state = player.init(np.zeros(d))
    for _ in range(300):
        assert domain.contains(state.x)
        g = float(s @ state.x) - 0.5
        assert g <= 0
        cost = -float(state.x.sum())
        state, info = player.step(state, Feedback(None, g, s, cost_value=cost))
        assert info.contradictions == ()
    assert float(s @ state.base.x) > 0.4
    short = CostProbing(base=LeaderFollower(G_g=1.0, domain=domain), length=0.1)  # sqrt(20)/10
    with pytest.raises(InvalidValueError, match="length must be short enough for the slack"):
        short.step(short.init(np.zeros(d)), Feedback(None, -0.5, s, cost_value=0.0))


def test_without_the_way_from_the_corner_the_second_action_is_outside(monkeypatch):
    # The slack is that of a probe alone: the base would begin where g is above 0.
    fair = CostProbing._rise
    monkeypatch.setattr(CostProbing, "_rise", lambda self, seen, away: fair(self, seen, 0.0))
    player = CostProbing(base=LeaderFollower(G_g=1.0, domain=CORNER), length=0.1)
    state, info = player.step(player.init(np.zeros(2)), below(np.zeros(2), 0.0, limit=0.12))
    s = np.ones(2) / math.sqrt(2)
    assert float(s @ state.x) - 0.12 > 0 >= info.certificate.bound


def test_an_announced_set_holds_the_centre_and_its_probe():
    player = CostProbing(base=LeaderFollower(G_g=1.0, domain=Ball(2.0)), length=0.1)
    state = player.init(np.zeros(2))
    for _ in range(7):
        state = player.update(state, below(state.x, -float(state.x[0])))
    assert state.turn == 1
    narrow = Box([0.0, -0.2], [0.25, 0.2])  # in the middle of a pair whose centre is outside
    assert not player._has_room(state.base.x, narrow)
    state = player.update(state, below(state.x, 0.0, within=narrow))
    assert state.turn == 1
    assert narrow.contains(state.x)
    assert (abs(state.base.x - [0.15, 0.0]) <= [1e-9, 0.1]).all()  # a new pair, which has room
    state = player.update(state, below(state.x, 0.0, within=narrow))
    assert state.turn == 2
    assert narrow.contains(state.x)


def test_a_set_that_is_thinner_than_a_probe_is_played_by_the_centre_alone():
    player = CostProbing(base=LeaderFollower(G_g=1.0, domain=Ball(2.0)), length=0.1)
    state, line = player.init(np.zeros(2)), Box([-0.3, 0.0], [0.3, 0.05])
    for _ in range(9):
        state, info = player.step(state, below(state.x, -float(state.x[0]), within=line))
        assert line.contains(state.x)
        assert not state.is_probe
        assert state.turn == 0
    assert "has no room for its probe" in str(info.certificate)
    assert not player.keeps_promise(state)
    with pytest.raises(EmptyRegionError, match="no certified action is in Box"):
        player.step(state, below(state.x, 0.0, within=Box([-0.3, 0.7], [0.3, 0.9])))


def test_whether_a_pair_is_finished_depends_on_no_coin_and_no_direction():
    # The set of the second round has room for the centre, and not for all of its probes.
    player = CostProbing(base=LeaderFollower(G_g=1.0, domain=Ball(2.0)), length=0.1)
    for angle, probe_first in itertools.product(range(8), (False, True)):
        u = np.array([math.cos(angle), math.sin(angle)])
        state = player.init(np.zeros(2))._replace(is_next_first=probe_first)
        state = player.update(state, below(state.x, 0.0, direction=u))
        assert (state.turn, state.is_probe) == (1, probe_first)
        centre = state.base.x
        tight = Box(centre - [2.0, 0.05], centre + 2.0)
        after = player.update(state, below(state.x, 0.0, within=tight))
        assert after.turn == 1
        assert after.base.memory.rounds == state.base.memory.rounds + 1


class Interrupted:
    """A live loop of pairs against orders, own actions, missing readings and announced sets."""

    def __init__(self, rng, d, path):
        self.rng, self.d, self.path = rng, d, path
        self.domain = Box(-rng.uniform(0.0, 0.5, d) * (rng.random(d) < 0.5), np.full(d, 0.8))
        self.drift = float(rng.choice([0.0, 2e-4]))
        self.error = float(rng.choice([0.0, 5e-3]))
        self.kind = [LeaderFollower, ValuesFollower][rng.integers(2)]
        self.limit, self.s = 0.5, np.ones(d) / math.sqrt(d)
        bound = {"start_bound": -0.2} if self.drift and not self.domain.lower.any() else {}
        if bound:
            self.domain = Box(np.full(d, -0.5), np.full(d, 0.8))
        base = self.kind(
            G_g=1.0, domain=self.domain, drift=self.drift, value_error=self.error, **bound
        )
        length = 10.0 ** rng.uniform(-3, -1.5)
        player = CostProbing(base=base, length=length, seed=int(rng.integers(2**31)))
        self.loop = Controller(player, np.zeros(d), journal=path, durable_every=10**6)
        self.proved = self.probes = 0

    def g(self, x):
        return float(self.s @ x) - self.limit

    def play(self, rounds):
        for t in range(rounds):
            self.order()
            x = self.loop.ask()
            if self.loop.explain().is_proven:
                self.proved += 1
                self.probes += self.loop.state.is_probe
                assert self.g(x) <= 0
                assert self.domain.contains(x)
            self.tell(x)
            # Against the player: in as long as it may, out only where g would be above at 0.
            self.limit += self.drift * (-1 if t % 500 < 300 and self.limit > 0.25 else 1)

    def order(self):
        draw = self.rng.random()
        if draw < 0.05:
            self.loop.hold("a visit")
        elif draw < 0.08:
            self.loop.retreat(reason="a visit")
        elif draw < 0.2 and self.loop.halted:
            self.loop.resume()
        elif draw < 0.24:
            x = self.loop.ask().copy()
            self.loop.close()
            self.loop = Controller.open(self.path)
            assert (self.loop.ask() == x).all()

    def tell(self, x):
        draw, place, told = self.rng.random(), x, {}
        if draw < 0.1:
            self.loop.tell(missing=True)
            return
        if draw < 0.15:
            place = told["action"] = x * self.rng.uniform(0.3, 1.0)
        elif draw < 0.3:
            reach = 10.0 ** self.rng.uniform(-3, 0)
            middle = x + 0.3 * reach * self.rng.normal(size=self.d) / self.d
            told["within"] = Box(middle - reach, middle + reach)
        told["constraint_value"] = self.g(place) - self.rng.choice([1.0, 0.9]) * self.error
        if self.kind is LeaderFollower:
            told["constraint_subgradient"] = self.s
        told["cost_value"] = -float(place.sum()) + float(self.rng.normal()) * (draw > 0.9)
        try:
            self.loop.tell(**told)
        except EmptyRegionError:
            told.pop("within")
            self.loop.tell(**told)
        else:
            halted = self.loop.halted is not None
            assert halted or "within" not in told or told["within"].contains(self.loop.ask())


@pytest.mark.filterwarnings("ignore::surefoot.guarantees.PremiseWarning")
@pytest.mark.parametrize("d", [1, 2, 6, 20])
@given(seed=SEEDS)
@settings(max_examples=5, deadline=None)
def test_pairs_that_are_interrupted_keep_the_limit_and_the_sets(seed, d, tmp_path_factory):
    run = Interrupted(np.random.default_rng(seed), d, tmp_path_factory.mktemp("run") / "run.jsonl")
    run.play(50)
    assert run.proved > 20


def test_three_rounds_of_drift_are_between_a_reading_and_the_last_action_on_it():
    # The limit comes in at its bound from the centre's reading to the second action of the next
    # pair; with a drift of two rounds instead of three an action is outside.
    drift = 4e-3

    def largest(player):
        state, limit, worst = player.init(np.zeros(1)), 0.5, -1.0
        for _ in range(60):
            g = float(state.x[0]) - limit
            worst = max(worst, g)
            seen = Feedback(None, g, np.ones(1), cost_value=-float(state.x[0]))
            try:
                state = player.update(state, seen)
            except EmptyRegionError:
                break
            limit -= drift
        return worst

    base = LeaderFollower(G_g=1.0, domain=Ball(2.0), drift=drift)
    player = CostProbing(base=base, length=0.01)
    assert largest(player) <= 0.0
    bold = CostProbing(base=base, length=0.01)
    vars(bold)["_each"] = bold._each.allowing(Errors(drift=drift))
    assert largest(bold) > 0.0


def test_probes_of_a_pair_that_was_held_start_from_the_centre():
    player = CostProbing(base=FOLLOWER, length=0.1)
    state = player.init(np.zeros(2))
    while not (state.is_probe and state.x[1] > 0.45):  # where the limit has no room for another
        state = player.update(state, below(state.x, -float(state.x[1])))
    held = player.rest(state, 0.5 * state.x)  # a round of the way back
    assert (held.x == 0.5 * state.x).all()
    assert held.turn == 0
    for _ in range(6):
        assert held.x[1] <= 0.5
        held = player.update(held, below(held.x, -float(held.x[1])))


def test_a_pair_goes_on_after_a_hold_unless_the_limit_drifts():
    for drift, goes_on in ((0.0, True), (1e-4, False)):
        base = CertifiedOGD(knowledge=Curvature(beta=0.0, reach=1.0), radius=1.0)
        player = CostProbing(base=base.allowing(Errors(drift=drift)), length=0.1)
        state = player.init(np.zeros(2))
        for _ in range(2):
            state = player.update(state, below(state.x, -float(state.x[0])))
        assert state.turn == 2
        held = player.rest(player.rest(state, state.x), state.x)
        assert (held.x == state.x).all()
        assert held.turn == (2 if goes_on else 0)
        if goes_on:
            after, info = player.step(held, below(held.x, -float(held.x[0])))
            usual = player.update(state, below(state.x, -float(state.x[0])))
            np.testing.assert_array_equal(after.x, usual.x)
            assert info.certificate.bound <= 0


def test_what_was_not_seen_or_not_played_teaches_nothing():
    flat = CertifiedDualAveraging(knowledge=Curvature(beta=0.0, reach=1.0), radius=1.0)
    player = CostProbing(base=flat, length=0.1)
    state = player.init(np.zeros(2))
    assert player.step(state, Feedback())[0].turn == 0  # nothing is certified before a reading
    for _ in range(1 + 8):
        state = player.update(state, below(state.x, -float(state.x[0])))
    learnt = state.base.learner.gradients
    blind = state
    for _ in range(2):
        blind = player.update(blind, below(blind.x, None))
    np.testing.assert_array_equal(blind.base.learner.gradients, learnt)
    moved = player.update(state, below(0.5 * state.x, -1.0, action=0.5 * state.x))
    assert moved.turn == 1
    np.testing.assert_array_equal(moved.base.learner.gradients, learnt)


def test_a_limit_that_rises_too_fast_is_contradicted():
    player = CostProbing(base=FOLLOWER, length=0.1)
    state = player.init(np.zeros(2))
    for _ in range(2):
        state = player.update(state, below(state.x, 0.0, direction=UP))
    _, info = player.step(state, Feedback(None, -0.5 + 0.15, UP, cost_value=0.0))
    assert info.contradictions[0] == (
        "round 3: g differs by 0.15 over a probe of 0.1, where 0.1 is the most: "
        "a constant is too small"
    )


# --- the regret ----------------------------------------------------------------------------------

DISC = Constants(R=1.0, G_f=1.0, G_g=1.0, start_slack=1.0, start_reach=1.0)


def streams(T, d):
    rng, one = np.random.default_rng(5), np.eye(d)[0]
    turns = np.where(np.arange(T)[:, None] % 2, 0.5 * one, -one)
    pairs = np.repeat(rng.normal(size=(T // 2 + 1, d)), 2, axis=0)[1 : T + 1]
    free = rng.normal(size=(T, d))
    signs = np.sign(np.sin(np.arange(T) ** 1.5))[:, None] * one
    named = {"constant": np.tile(one, (T, 1)), "turning": turns, "pairs": pairs, "free": free}
    named["signs"] = signs
    return {n: a / max(1.0, np.linalg.norm(a, axis=1).max()) for n, a in named.items()}


@pytest.mark.slow
@pytest.mark.parametrize("stream", streams(4, 2))
@pytest.mark.parametrize("d", [1, 3])
def test_costs_by_value_bound_the_expected_regret(stream, d):
    T = 800
    slopes = streams(T, d)[stream]
    problem = Problem.of(
        Linear(np.tile(slopes[:, None], (1, 4, 1))), L2Norm(1.0), Ball(1.0), [0.0] * d
    )
    change = 0.0 if stream in ("constant", "pairs") else 2.0
    player = CostProbing.known_horizon(DISC, T, change=change, dimension=d)
    trace = play(player, problem, seed=3)
    assert (trace.violations.largest <= 0).all()
    assert trace.final_regret().mean() <= player.guarantee.regret_bound(T)


def test_costs_that_turn_with_the_pairs_are_learnt_by_their_mean(monkeypatch):
    # In odd rounds the cost is -x, in even rounds 0.5 x: a probe that is always second, in even
    # rounds here, would see one of the two alone.
    T = 2_000
    costs = Linear(np.where(np.arange(T)[:, None] % 2, [[-1.0]], [[0.5]]))
    problem = Problem.of(costs, L2Norm(1.0), Ball(1.0), [0.0])
    player = CostProbing.known_horizon(DISC, T, change=2.0, dimension=1)
    assert play(player, problem).actions[-1, 0] > 0.5
    fair = CostProbing._draw

    def draw(player, seen, t):
        u = fair(player, seen, t)
        return u if t % 2 else -abs(u)  # what is drawn in even rounds is the coin

    monkeypatch.setattr(CostProbing, "_draw", draw)
    assert play(player, problem).actions[-1, 0] < -0.5


@pytest.mark.slow
def test_two_points_learn_a_fixed_cost_as_the_root_of_the_rounds():
    found = {}
    for T in (500, 8_000):
        costs = Quadratic(np.tile([1.2, 0.9], (T, 3, 1)), 1.0)
        problem = Problem.of(costs, L2Norm(1.0), Ball(1.0), [0.0, 0.0])
        player = CostProbing.known_horizon(problem.constants, T, change=0.0, dimension=2)
        found[T] = float(play(player, problem, every=None).final_regret().mean())
    assert found[8_000] <= 4.5 * found[500]  # sixteen times the rounds
    assert found[8_000] <= 60


def test_the_numbers_of_the_theorem():
    inner = Constants(R=2.0, G_f=5.0, G_g=1.0, start_slack=0.9, start_reach=2.0)
    each = TheoremD(inner, 0.1)
    theorem = InPairs(
        Constants(R=2.0, G_f=3.0, G_g=1.0, start_slack=1.0, start_reach=2.0), 100, each, 0.1, 0.2, 4
    )
    T = 10**9
    left = (
        2 * 4 * float(each.regret_bound(T // 2 + 1)) + (1.5 + 2.0) * 0.1 * 3.0 * T + 8 * 2.0 * 3.0
    )
    assert theorem.regret_bound(T) == pytest.approx(left, rel=1e-9)
    assert theorem.regret_bound(3) == 2 * 2.0 * 3.0 * 3
    assert theorem.regret_exponent == 0.75
    limits = {premise.constant: premise.limit for premise in theorem.premises}
    assert limits == {
        "G_g": 1.0, "the slack counted on": 1.0, "G_f": 3.0, "the horizon": 100
    }  # fmt: skip
    assert not theorem.changing
    assert theorem.bounds(7) == {"round": 0.0}
    unknown = InPairs(theorem.constants, 100, each, 0.1, 0.2)
    assert unknown.regret_bound(T) == 2 * 2.0 * 3.0 * T
    # Of a base without a bound in advance nothing better follows.
    bare = InPairs(theorem.constants, 100, TheoremE(inner), 0.1, 0.2, 4)
    assert bare.regret_bound(T) == 2 * 2.0 * 3.0 * T
    assert bare.regret_exponent is None


def test_tuning_shortens_probes_with_the_horizon_and_lengthens_them_with_the_change():
    lengths = [
        CostProbing.known_horizon(KNOWN, T, change=v, dimension=2).algorithm.length
        for T, v in ((100, 0.0), (10_000, 0.0), (10_000, 1e-3), (10_000, 5.0))
    ]
    assert lengths[:2] == [0.025, 0.0025]
    assert lengths[2] == pytest.approx(math.sqrt(math.sqrt(2) * 2 * 1e-3 * 0.5 / 100))
    assert lengths[3] == 0.25  # half of the start's slack
    bounded = CostProbing.known_horizon(
        KNOWN.with_origin("given", cost_bound=2.5), 10_000, Box([-1.0] * 2, [1.0] * 2)
    )
    assert (bounded.guarantee.change, bounded.guarantee.dimension) == (5.0, 2)
    assert bounded.algorithm.base.knowledge.G_g == 1.0


# --- where it is played --------------------------------------------------------------------------


def wave(x):
    i = int(abs(x).argmax())
    s = np.where(np.arange(len(x)) == i, np.sign(x[i]) or 1.0, 0.0)
    return {"constraint_value": float(abs(x[i])) - 0.5, "constraint_subgradient": s}


def test_a_live_loop_is_journalled_held_opened_and_derived_again(tmp_path):
    path, player = tmp_path / "run.jsonl", CostProbing.known_horizon(KNOWN, 400, change=0.0)
    loop = Controller(player, [0.0, 0.0], journal=path)
    for t in range(100):
        x = loop.ask()
        assert abs(x).max() <= 0.5
        if t in (31, 32, 58):
            loop.tell(missing=True)
            continue
        if t in (70, 75):
            loop.hold("a visit") if t == 70 else loop.resume()
            x = loop.ask()
        if t == 90:
            loop.close()
            loop = Controller.open(path)
            assert (loop.ask() == x).all()
        loop.tell(cost_value=float(x @ [-0.6, -0.8]), **wave(x))
    assert "at the centre" in str(loop.explain())
    assert loop.state.base.x.min() > 0.4
    loop.close()
    assert "exactly" in str(replay(path))


def test_a_specification_names_it_with_any_certified_base():
    T = 50
    problem = Problem.of(Linear(np.ones((T, 2))), L2Norm(1.0), Ball(1.0), [0.0, 0.0])
    row = {"name": "CostProbing", "tuning": "known_horizon"}
    row |= {"options": {"change": 0.0, "dimension": 2}}
    row |= {"base": {"name": "ValuesFollower", "tuning": "default"}}
    player, parameters, _ = build_player(row, problem, T)
    assert not player.algorithm.needs.constraint_subgradients
    assert parameters["length"][0] == pytest.approx(0.5 / math.sqrt(T))
    assert play(player, problem).violations.largest <= 0


# --- bad input -----------------------------------------------------------------------------------


def test_a_live_loop_refuses_what_is_no_cost():
    loop = Controller(CostProbing(base=FOLLOWER, length=0.1), [0.0, 0.0])
    seen = {"constraint_value": -0.5, "constraint_subgradient": UP}
    for told, sentence in (
        ({}, "cost_value must be one number, got None"),
        ({"cost_value": math.nan}, "cost_value must be finite, got nan"),
        ({"cost_value": [1.0, 2.0]}, r"cost_value.shape must be \(\), that of one number"),
        ({"cost_value": "dear"}, "cost_value must be one number"),
        ({"cost_value": 1.0, "cost_gradient": UP}, "CostProbing needs only cost_value"),
    ):
        loop.ask()
        with pytest.raises(InvalidValueError, match=sentence):
            loop.tell(**told, **seen)
        assert loop.round == 1


def test_a_step_refuses_what_is_no_cost():
    player = CostProbing(base=FOLLOWER, length=0.1)
    for cost in (math.nan, math.inf, [1.0, 2.0], "dear"):
        with pytest.raises(InvalidValueError, match="cost_value"):
            player.step(player.init(np.zeros(2)), below(np.zeros(2), cost))
    with pytest.raises(InvalidValueError, match="direction"):
        player.step(player.init(np.zeros(2)), below(np.zeros(2), 1.0, direction=np.ones(3)))


def test_players_and_constants_that_do_not_fit_are_refused_in_a_sentence():
    for base in (OGD(eta=0.1, domain=Ball(1.0)), SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)):
        with pytest.raises(InvalidValueError, match="base must be a certified rule that learns"):
            CostProbing(base=base, length=0.1)
    with pytest.raises(InvalidValueError, match="must leave room for probes in Ball"):
        CostProbing(base=FOLLOWER, length=1.5)
    flat = LeaderFollower(G_g=1.0, domain=Simplex(3))
    with pytest.raises(InvalidValueError, match="must leave room for probes in Simplex"):
        CostProbing(base=flat, length=0.1)
    steps = LipschitzHull(G_g=1.0, domain=Choices([-1.0, -1.0], [1.0, 1.0], step=0.25))
    stepwise = Certified(proposer=OGD(eta=0.1, domain=Ball(2.0)), knowledge=steps)
    with pytest.raises(InvalidValueError, match=r"whose probes go 0[.]1 in any direction"):
        CostProbing(base=stepwise, length=0.1)
    standing = LeaderFollower(G_g=1.0, domain=Ball(1.0), drift=0.01, start_bound=-0.1)
    with pytest.raises(InvalidValueError, match=r"start_bound must be below .*, by which g rises"):
        CostProbing(base=standing, length=0.1)
    standing = standing.of(
        LeaderFollower(G_g=1.0, domain=CORNER).proposer,
        replace(standing.knowledge, domain=CORNER, start_bound=-0.3),
    )
    with pytest.raises(InvalidValueError, match=r"x1 must be at least length = 0[.]1 inside"):
        CostProbing(base=standing, length=0.1).init(np.zeros(2))
    edge = CostProbing(base=LeaderFollower(G_g=1.0, domain=CORNER), length=0.1)
    with pytest.raises(InvalidValueError, match="to the nearest action whose probes have room"):
        edge.step(edge.init(np.zeros(2)), below(np.zeros(2), 1.0, limit=0.24))
    player = CostProbing(base=FOLLOWER, length=0.6)
    with pytest.raises(InvalidValueError, match="length must be short enough for the slack"):
        player.step(player.init(np.zeros(2)), below(np.zeros(2), 1.0))
    smooth = CertifiedOGD(knowledge=Curvature(beta=0.0, reach=1.0), radius=1.0)
    with pytest.raises(InvalidValueError, match="x1 must be the action of one run"):
        CostProbing(base=smooth, length=0.1).init(np.zeros((2, 2)))
    with pytest.raises(InvalidValueError, match="needs a bound on the costs: change, by how much"):
        CostProbing.known_horizon(KNOWN, 100)
    with pytest.raises(InvalidValueError, match="change must be"):
        CostProbing.known_horizon(KNOWN, 100, change=-1.0)
    with pytest.raises(InvalidValueError, match="needs G_f, which is unknown"):
        CostProbing.known_horizon(Constants(R=1.0, G_g=1.0, start_slack=0.5), 100, change=0.0)
    with pytest.raises(InvalidValueError, match="the guarantee must be one for every round"):
        InPairs(KNOWN, 100, NoClaim(KNOWN), 0.1, 0.0)
    with pytest.raises(InvalidValueError, match=r"a fleet must have .* got costs by value"):
        Fleet(CostProbing(base=FOLLOWER, length=0.1), np.zeros((3, 2)))


def test_a_wrong_bound_on_slopes_is_noticed_in_a_live_loop():
    loop = Controller(CostProbing(base=FOLLOWER, length=0.1), [0.0, 0.0])

    def play_on():
        for _ in range(30):
            x = loop.ask()
            g = 4.0 * max(float(x[1]), -float(x[1]) / 8) - 0.5  # four times as steep as G_g
            loop.tell(cost_value=0.0, constraint_value=g, constraint_subgradient=UP)

    with pytest.raises(PremiseError, match="a constant is too small"):
        play_on()


def test_one_row_is_one_number_also_for_a_knowledge_of_rows():
    rows = CurvatureRows(beta=0.0, rows=1, reach=1.0)
    base = CertifiedDualAveraging(knowledge=rows, radius=1.0)
    loop = Controller(CostProbing(base=base, length=0.1), start=[0.0, 0.0])
    for _ in range(6):
        x = loop.ask()
        assert x[0] <= 0.5
        seen = {"constraint_value": float(x[0] - 0.5), "constraint_subgradient": [1.0, 0.0]}
        loop.tell(cost_value=float(-x.sum()), **seen)
    assert loop.explain().is_proven
