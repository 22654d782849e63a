"""Constants that nobody knows: rule U, its budget of number and size, its way back."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from surefoot import Ball, Constants, Feedback, LeaderFollower
from surefoot.certified import Certified
from surefoot.guarantees import Estimated
from surefoot.knowledge import (
    Choices,
    Errors,
    EstimatedCertificate,
    EstimatedCurvature,
    EstimatedHull,
    LipschitzHull,
    LogCertificate,
    Reading,
    Together,
)
from surefoot.proposers import Leader
from surefoot.proposers.proposals import Proposals
from surefoot.rules import CertifiedOGD
from surefoot.sets import Box


def filter_of(knowledge):
    return Certified(proposer=Proposals(), knowledge=knowledge)


class Kinked:
    """max_i a_i'x - b_i, rows of very different lengths."""

    def __init__(self, rows, offsets):
        self.rows, self.offsets = np.asarray(rows, dtype=float), np.asarray(offsets, dtype=float)
        self.G = float(np.linalg.norm(self.rows, axis=1).max())

    def __call__(self, x):
        values = self.rows @ x - self.offsets
        i = int(values.argmax())
        return float(values[i]), self.rows[i]

    @classmethod
    def draw(cls, rng, d):
        """Rows of lognormal length, and a box in the unit ball that holds the set inside."""
        rows = rng.normal(size=(4 * d, d))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        far = rng.uniform(0.1, 0.9, size=4 * d)
        box, half = np.vstack([np.eye(d), -np.eye(d)]), np.full(2 * d, 0.9 / math.sqrt(d))
        rows, far = np.vstack([rows, box]), np.append(far, half)
        length = rng.lognormal(0.0, 1.0, size=len(rows))
        return cls(rows * length[:, None], far * length)


HAND = Kinked([[0.5], [4.0]], [1.0, 3.2])


def play(player, limit, x1, wishes, *, told=None):
    """Return actions, values and infos; the wishes are functions of the action."""
    state, seen = player.init(np.asarray(x1, dtype=float)), []
    for t, proposal in enumerate(wishes):
        g, s = limit(state.x)
        x = state.x
        given = told(t, g, s) if told else {"constraint_value": g, "constraint_subgradient": s}
        feedback = Feedback(
            cost_gradient=None, proposal=np.asarray(proposal(x), dtype=float), **given
        )
        state, info = player.step(state, feedback)
        seen.append((x, g, info))
    return state, seen


def spend(seen, theta):
    """Return the left side of the theorem's inequality, and which rounds were outside."""
    left, outside = 0.0, []
    for t, (_, g, _) in enumerate(seen):
        if g > 0:
            why = seen[t - 1][2].certificate.part
            slack = -((1 - why.share) * why.anchor_value + why.share * why.value)
            left, outside = left + math.log(theta) + math.log1p(g / slack), [*outside, t]
    return left, outside


def test_steps_by_hand():
    # Round 1: m = max(1/2, 1/2), 1 is used: x = 1. Round 2: g = 0.8, s = 4: 8 is used; back by
    # tau = 1/1.8. Round 3: radius 0.7222/8.
    player = filter_of(EstimatedHull(domain=Ball(2.0)))
    state, seen = play(player, HAND, [0.0], [lambda x: [3.0]] * 6)
    xs = [float(x[0]) for x, _, _ in seen]
    by_hand = [0, 1, 1 / 1.8, 1 / 1.8 + 0.65 / 9 / 0.8, 0.72291666666666667, 0.76145833333333333]
    np.testing.assert_allclose(xs, by_hand, atol=1e-12)
    assert (state.memory.proved, state.memory.used, state.memory.outside) == (4.0, 8.0, 1)
    assert state.memory.spent == pytest.approx(math.log(2) + math.log(1.8), abs=1e-12)
    assert state.memory.spent == pytest.approx(spend(seen, 2.0)[0], abs=1e-12)
    assert [type(info.certificate) for _, _, info in seen[:3]] == [
        EstimatedCertificate,
        LogCertificate,
        EstimatedCertificate,
    ]
    estimate = player.knowledge.estimate(state.memory)
    assert str(estimate) == (
        "G_g unknown: 4 is proved, 8 is used; 1 round outside so far, at most 2 more if G_g <= 32"
    )


def test_the_budget_is_tight():
    # M|x| - alpha with the slope 0 at the start: all of ln(M R/alpha) in one round.
    def cone(x):
        return 5.0 * abs(x[0]) - 1.0, 5.0 * np.sign(x)

    knowledge = EstimatedHull(domain=Ball(2.0))
    state, _ = play(filter_of(knowledge), cone, [0.0], [lambda x: [3.0]] * 2)
    assert state.memory.outside == 1
    assert state.memory.spent == pytest.approx(math.log(5.0 / 0.5), rel=1e-9)


def attack(rng, theta, rounds, **told):
    """Play greedy wishes in a kinked set; return the limit, the state, and what was seen."""
    d = int(rng.integers(1, 5))
    limit = Kinked.draw(rng, d)
    player = filter_of(EstimatedHull(domain=Ball(1.0), theta=theta, **told))
    wishes = []
    for _ in range(rounds):
        if not wishes or rng.random() < 0.1:
            way = rng.normal(size=d)
        far = 10.0 ** rng.uniform(-2, 1)
        wishes.append(lambda x, way=way, far=far: x + far * way)
    return limit, *play(player, limit, np.zeros(d), wishes)


@pytest.mark.slow
def test_number_and_size_keep_to_the_budget_under_attack():
    rng, outside_all, share = np.random.default_rng(29), 0, 0.0
    for system in range(120):
        theta = (1.2, 1.5, 2.0, 4.0)[system % 4]
        limit, state, seen = attack(rng, theta, 80)
        left, outside = spend(seen, theta)
        first = state.memory.first
        right = math.log(limit.G / first)
        assert left <= right + 1e-9
        assert state.memory.spent == pytest.approx(left, abs=1e-9)
        assert state.memory.outside == len(outside)
        most = max(math.ceil(right / math.log(theta)) - 1, 0)
        assert len(outside) <= most  # so none where G_g <= theta m_1
        assert all(b - a > 1 for a, b in pairwise(outside))
        assert first <= state.memory.proved <= limit.G * (1 + 1e-12)
        assert all(np.linalg.norm(x) <= 1 for x, _, _ in seen)
        assert not any(info.contradictions for _, _, info in seen)
        outside_all, share = outside_all + len(outside), max(share, left / right)
    assert outside_all > 30  # the attack finds rounds outside,
    assert share > 0.7  # and uses much of the budget


def test_a_return_rests_on_convexity_alone_in_rationals():
    rng, returns = np.random.default_rng(3), 0
    for _ in range(25):
        limit, _, seen = attack(rng, 2.0, 30)
        for t, (_, _, info) in enumerate(seen[:-1]):
            why = info.certificate
            if isinstance(why, LogCertificate):
                returns += 1
                values = [Fraction(seen[i - 1][1]) for i in why.points]
                weights = [Fraction(w) for w in why.weights]
                mean = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
                points = [[Fraction(c) for c in seen[i - 1][0]] for i in why.points]
                p = [Fraction(c) for c in seen[t + 1][0]]
                off = 0
                for k, c in enumerate(p):
                    each = sum(w * q[k] for w, q in zip(weights, points, strict=True))
                    off += (c - each / sum(weights)) ** 2
                assert mean < 0  # by more than rounding takes, for a slope as steep as any here
                assert mean**2 >= off * Fraction(limit.G) ** 2
                assert seen[t + 1][1] <= 0
    assert returns > 5


@pytest.mark.slow
@pytest.mark.parametrize("k", range(6))
@pytest.mark.parametrize("pessimism", [None, 100.0])
def test_no_more_rounds_outside_than_were_allowed(k, pessimism):
    rng, used_up = np.random.default_rng(k), 0
    for _ in range(15):
        d = int(rng.integers(1, 4))
        limit = Kinked.draw(rng, d)
        most = None if pessimism is None else pessimism * limit.G
        knowledge = EstimatedHull(domain=Ball(1.0), theta=1.2, violations=k, largest_G_g=most)
        ways = rng.normal(size=(40, d))
        wishes = [lambda x, way=way: x + way for way in ways]
        state, seen = play(filter_of(knowledge), limit, np.zeros(d), wishes)
        outside = sum(g > 0 for _, g, _ in seen)
        assert outside == state.memory.outside <= k
        used_up += outside == k > 0
        if most is not None:
            first = state.memory.first
            bound = math.ceil(k * math.log(limit.G / first) / math.log(most / first))
            assert outside <= bound
            overshoot = limit.G * (most / first) ** (1 / k) if k else most
            assert state.memory.used <= max(state.memory.proved, overshoot) * (1 + 1e-12)
    assert used_up > 0 or k not in (1, 2) or pessimism


def test_after_the_last_violation_the_hull_of_actions_stays():
    knowledge = EstimatedHull(domain=Ball(2.0), violations=1)
    player = filter_of(knowledge)
    wishes = [lambda x: [3.0]] * 3 + [lambda x: [0.2], lambda x: [3.0], lambda x: [-3.0]]
    state, seen = play(player, HAND, [0.0], wishes)
    np.testing.assert_allclose(
        [float(x[0]) for x, _, _ in seen], [0, 1, 1 / 1.8, 1 / 1.8, 0.2, 1 / 1.8], atol=1e-9
    )
    assert state.x == pytest.approx(0.0, abs=1e-12)
    assert str(knowledge.estimate(state.memory)) == (
        "G_g unknown: 4 is proved, none is used; 1 round outside so far, no more"
    )
    # None allowed, and no constant: the start is all that is certain.
    still = filter_of(EstimatedHull(domain=Ball(2.0), violations=0))
    state, _ = play(still, HAND, [0.1], [lambda x: [3.0]] * 3)
    assert state.x == pytest.approx(0.1, abs=1e-15)


def test_no_violation_allowed_is_the_rule_that_knows_the_constant_bit_for_bit():
    rng = np.random.default_rng(0)
    limit, grads = Kinked.draw(rng, 2), rng.normal(0.7, 1.0, size=(60, 2))
    tuned = LeaderFollower.unknown(Ball(1.0), violations=0, largest_G_g=limit.G)
    known = LeaderFollower(G_g=limit.G, domain=Ball(1.0))
    one, two = tuned.algorithm.init(np.zeros(2)), known.init(np.zeros(2))
    for grad in grads:
        seen = Feedback(-grad, *limit(one.x))
        one = tuned.algorithm.step_in_python(one, seen)[0]
        two = known.step_in_python(two, seen)[0]
        assert one.x.tobytes() == two.x.tobytes()
    assert type(tuned.algorithm).__name__ == "LeaderFollower"


@pytest.mark.slow
@pytest.mark.parametrize("size", [0.01, 0.3])
def test_no_violation_is_larger_than_was_allowed(size):
    rng, largest = np.random.default_rng(5), 0.0
    for _ in range(15):
        d = int(rng.integers(1, 4))
        limit = Kinked.draw(rng, d)
        told = {"largest_G_g": 1.5 * limit.G, "largest_violation": size}
        player = filter_of(EstimatedHull(domain=Ball(1.0), theta=1.2, **told))
        wishes = [
            lambda x, way=way: x + 3 * way for way in np.repeat(rng.normal(size=(6, d)), 8, 0)
        ]
        _, seen = play(player, limit, np.zeros(d), wishes)
        for (_, _, before), (_, g, _) in pairwise(seen):
            assert g <= before.certificate.bound <= size
            largest = max(largest, g)
    assert largest > 0.0 or size < 0.3


def test_values_that_err():
    rng, nu, found = np.random.default_rng(7), 0.01, 0
    for _ in range(20):
        limit = Kinked.draw(rng, 2)
        knowledge = EstimatedHull(domain=Ball(1.0), theta=1.5, errors=Errors(value=nu))
        signs = rng.choice([-1.0, 1.0], size=60)
        wishes = [lambda x, way=way: x + way for way in np.repeat(rng.normal(size=(12, 2)), 5, 0)]

        def told(t, g, s, signs=signs):
            return {"constraint_value": g + nu * signs[t], "constraint_subgradient": s}

        state, seen = play(filter_of(knowledge), limit, np.zeros(2), wishes, told=told)
        outside = [t for t, (_, g, _) in enumerate(seen) if g > 2 * nu]
        found += len(outside)
        assert len(outside) <= state.memory.outside
        assert state.memory.spent <= math.log(limit.G / state.memory.first) + 1e-9
        assert not any(info.contradictions for _, _, info in seen)
    assert found > 3


def test_a_round_that_nobody_measured_may_be_outside_and_is_left():
    def told(t, g, s):
        return {} if t == 1 else {"constraint_value": g, "constraint_subgradient": s}

    knowledge = EstimatedHull(domain=Ball(2.0))
    state, seen = play(filter_of(knowledge), HAND, [0.0], [lambda x: [3.0]] * 3, told=told)
    assert seen[1][1] > 0  # unseen,
    assert seen[2][0] == pytest.approx(0.0, abs=1e-12)  # and back to what was seen
    assert state.memory.outside == 0


@pytest.mark.parametrize("largest", [None, 50.0])
@pytest.mark.parametrize("k", [1, 2])
def test_rounds_that_nobody_measured_count_where_a_number_is_allowed(k, largest):
    # Measured where the action is known to be feasible, and else not: nothing is ever learnt.
    knowledge = EstimatedHull(domain=Ball(2.0), violations=k, largest_G_g=largest)
    state = (player := filter_of(knowledge)).init(np.zeros(1))
    outside = 0
    for _ in range(40):
        g, s = HAND(state.x)
        outside += g > 0
        seen = (g, s) if g < -0.5 else (None, None)
        state = player.update(state, Feedback(None, *seen, proposal=np.array([3.0])))
    assert outside <= k
    estimate = knowledge.estimate(state.memory)
    assert (estimate.outside, estimate.unseen, estimate.left) == (0, k, 0)
    assert f"; {k} round{'s'[: k - 1]} unseen, no more rounds outside" in str(estimate)


def test_rounds_that_errors_hide_are_not_counted_and_the_sentence_says_so():
    # g = 1.04 x - 1 is read 0.05 too low: outside by 0.02 in every round but the first.
    errors = Errors(value=0.05, slope=0.6)
    knowledge = EstimatedHull(domain=Ball(1.0), theta=1.02, errors=errors)
    state = (player := filter_of(knowledge)).init(np.zeros(1))
    for _ in range(9):
        g = 1.04 * float(state.x[0]) - 1.0
        seen = Feedback(None, g - 0.05, np.array([0.5]), proposal=np.array([3.0]))
        state = player.update(state, seen)
    assert 0 < g < 0.1
    assert str(knowledge.estimate(state.memory)) == (
        "G_g unknown: 1 is proved, 1.02 is used; at most 2 more rounds outside by more than 0.1 if "
        "G_g <= 1.06"
    )


def test_an_action_of_ones_own_is_not_counted():
    player = filter_of(EstimatedHull(domain=Ball(2.0)))
    state = player.init(np.zeros(1))
    state = player.update(state, Feedback(None, *HAND(state.x), proposal=np.zeros(1)))
    own = np.array([1.5])
    seen = Feedback(None, *HAND(own), proposal=np.array([3.0]), action=own)
    state, info = player.step(state, seen)
    assert (state.memory.outside, state.memory.proved) == (0, 4.0)
    assert isinstance(info.certificate, LogCertificate)
    assert HAND(state.x)[0] <= 0


# --- what is proved, used and said, by hand -------------------------------------------------------


def see(known, memory, x, g, s=None):
    """Return the memory with one reading in one dimension."""
    s = None if s is None else np.array([float(s)])
    return known.observe(memory, Reading(np.array([float(x)]), g, s, known.errors))


def test_values_alone_prove_what_a_round_outside_shows():
    # No slope is told. Round 1 proves 1/2 and uses 1; at 0.99, with the slack 1 of the start,
    # g = 0.8 says that the slope on the way was at least (0.8 + 1)/0.99.
    known = EstimatedHull(domain=Ball(2.0))
    memory = see(known, known.init(np.zeros(1)), 0.0, -1.0)
    assert (memory.first, memory.used) == (pytest.approx(0.5), pytest.approx(1.0))
    memory = see(known, memory, 0.99, 0.8)
    assert memory.proved == pytest.approx(1.8 / 0.99, rel=1e-12)
    assert memory.used == pytest.approx(3.6 / 0.99, rel=1e-12)
    assert memory.spent == pytest.approx(math.log(2) + math.log(1.8), rel=1e-12)


def test_g_of_0_is_not_outside():
    known = EstimatedHull(domain=Ball(2.0))
    memory = see(known, see(known, known.init(np.zeros(1)), 0.0, -1.0), 0.9, 0.0)
    assert not memory.back
    assert memory.outside == 0


def test_after_the_last_violation_the_way_to_it_is_still_known():
    # 1/1.8 of the way to where g was 0.8, also after a round elsewhere; the rounds keep their
    # numbers.
    player = filter_of(EstimatedHull(domain=Ball(2.0), violations=1))
    wishes = [lambda x: [3.0], lambda x: [0.2], lambda x: [0.2], lambda x: [3.0]]
    state, seen = play(player, HAND, [0.0], wishes)
    assert [float(x[0]) for x, _, _ in seen] == pytest.approx([0.0, 1.0, 0.2, 0.2], abs=1e-12)
    assert state.x == pytest.approx(1 / 1.8, abs=1e-12)
    assert seen[-1][2].certificate.points == (1, 2)
    assert seen[-1][2].certificate.weights == pytest.approx((0.8 / 1.8, 1 / 1.8))


@pytest.mark.parametrize(
    ("largest", "used"),
    # 1/2 is proved first. 0.5 (largest/0.5)^(j/2) after j rounds outside, but never less than what
    # is proved: 4, by the slope at 1.
    [(800.0, (0.5, 20.0)), (8.0, (0.5, 4.0)), (0.5, (0.5,))],
)
def test_a_number_of_violations_and_a_largest_constant_take_roots(largest, used):
    known = EstimatedHull(domain=Ball(2.0), violations=2, largest_G_g=largest)
    memory, found = known.init(np.zeros(1)), []
    for x, (g, s) in ((0.0, (-1.0, 0.5)), (1.0, (0.8, 4.0)))[: len(used)]:
        memory = see(known, memory, x, g, s)
        found.append(memory.used)
    assert found == pytest.approx(used)
    if largest == 800.0:
        memory = see(known, memory, 0.0, -1.0, 0.5)  # back,
        memory = see(known, memory, 0.04, 0.1, 4.0)  # and outside for the second time
        assert (memory.outside, memory.used) == (2, 800.0)


def test_what_an_estimate_says_by_hand():
    def after(known, *readings):
        memory = known.init(np.zeros(1))
        for reading in readings:
            memory = see(known, memory, *reading)
        return known.estimate(memory)

    start, outside = (0.0, -1.0, 0.5), (0.9, 0.8, 4.0)
    assert after(EstimatedHull(domain=Ball(2.0))) is None
    # Two rounds more triple what is used twice: 3/2, 9/2, 27/2.
    said = after(EstimatedHull(domain=Ball(2.0), theta=3.0), start)
    assert said[1:7] == (0.5, 1.5, 0, 2, 13.5, 0.0)
    # Up to 8 it is 1, 2, 4: three rounds.
    said = after(EstimatedHull(domain=Ball(2.0), largest_G_g=8.0), start)
    assert (said.used, said.left, said.limit) == (1.0, 3, 8.0)
    said = after(EstimatedHull(domain=Ball(2.0), largest_G_g=0.75), start)
    assert (said.used, said.left, said.limit) == (0.75, 0, 0.75)
    # As many as are allowed; none at the largest constant.
    counted = {"domain": Ball(2.0), "violations": 3}
    assert after(EstimatedHull(**counted), start, outside)[3:6] == (1, 2, math.inf)
    sure = EstimatedHull(**counted, largest_G_g=100.0)
    assert after(sure, start, outside)[3:6] == (1, 2, 100.0)
    sure = EstimatedHull(**counted, largest_G_g=4.0)
    assert after(sure, start, outside)[2:6] == (4.0, 1, 0, 4.0)


def test_a_start_may_prove_all_of_the_largest_constant():
    known = EstimatedHull(domain=Ball(2.0), largest_G_g=0.5)
    assert see(known, known.init(np.zeros(1)), 0.0, -0.1, 0.5).used == 0.5


def test_a_contradiction_may_disprove_the_largest_constant_alone():
    assert EstimatedHull(domain=Ball(2.0)).constants == {}
    assert EstimatedHull(domain=Ball(2.0), largest_G_g=3.0).constants == {"largest_G_g": 3.0}
    curved = EstimatedCurvature(domain=Ball(2.0), largest_beta=5.0)
    assert curved.constants == {"largest_beta": 5.0}


def test_only_what_is_read_among_the_means_can_contradict_convexity():
    known = EstimatedHull(domain=Ball(2.0))
    memory = see(known, see(known, known.init(np.zeros(1)), 0.0, -1.0, 0.5), 0.9, 0.8, 4.0)
    assert memory.back  # and 0 to 0.5 are the means of at most 0

    def contradictions(x, g):
        return known.contradictions(memory, Reading(np.array([x]), g, None, known.errors))

    assert contradictions(0.25, -0.51) == contradictions(0.7, 0.5) == ()
    (said,) = contradictions(0.25, -0.49)  # 0.25 is 5/18 of the way from -1 to 0.8
    assert said.startswith("round 3: g = -0.49 is above its bound -0.5, which uses no constant")


def test_a_round_that_nobody_measured_counts_as_a_round():
    known = EstimatedHull(domain=Ball(2.0))
    memory = see(known, known.init(np.zeros(1)), 0.0, -1.0, 0.5)
    aged = known.age(memory, np.zeros(1))
    assert (aged.rounds, aged.part.rounds, aged.back) == (2.0, 2.0, True)
    memory = see(known, aged, 0.4, -0.6, 0.5)
    assert (memory.rounds, memory.part.last.round, memory.back) == (3.0, 3.0, False)
    why = known.region(known.age(memory, np.zeros(1)), known.errors).certificate(np.array([0.1]))
    assert (why.round, why.points, why.weights) == (4, (1, 3), pytest.approx((0.75, 0.25)))
    curved = EstimatedCurvature(domain=Ball(2.0))
    aged = curved.age(see(curved, curved.init(np.zeros(1)), 0.0, -1.0, 0.0), np.zeros(1))
    assert (aged.rounds, aged.part.rounds, aged.back) == (2.0, 2.0, True)


def test_a_feasible_action_outside_of_the_ball_contradicts_it():
    known = EstimatedHull(domain=Ball(2.0), errors=Errors(value=0.1))
    memory = see(known, known.init(np.zeros(1)), 0.0, -1.0)
    for g, is_wrong in ((-0.2, True), (-0.05, False)):  # at most -0.1, and 0.05
        far = Reading(np.array([3.0]), g, None, known.errors)
        said = known.contradictions(memory, far)
        assert [line[:22] for line in said] == ["round 2: |x| = 3 and g"] * is_wrong


def test_how_much_g_rises_is_known_by_the_largest_constant_alone():
    hull, curved = EstimatedHull(domain=Ball(2.0)), EstimatedCurvature(domain=Ball(2.0))
    assert hull.rise(np.ones(1), 0.5) == curved.rise(np.ones(1), 0.5) == math.inf
    assert hull.noise(3) == 0.0
    hull = EstimatedHull(domain=Ball(2.0), largest_G_g=3.0)
    assert hull.rise(np.ones(1), 0.5) == 1.5
    assert hull.noise(3) == LipschitzHull(G_g=3.0, domain=Ball(2.0)).noise(3) > 0
    curved = EstimatedCurvature(domain=Ball(2.0), largest_beta=2.0)
    assert curved.rise(np.ones(1), 0.5) == (1.0 + 2.0 * 4.5) * 0.5


def test_the_size_of_a_violation_by_hand():
    # 1 is used. With slopes of 4, 1.5/4 from -1 is at most 1/2.
    told = {"largest_G_g": 4.0, "largest_violation": 0.5}
    known = EstimatedHull(domain=Ball(2.0), **told)
    memory = see(known, known.init(np.zeros(1)), 0.0, -1.0, 0.5)
    region = known.region(memory, known.errors)
    x = region.nearest(np.array([2.0]))
    assert x == pytest.approx(0.375, abs=1e-12)
    assert region.certificate(x).bound == pytest.approx(0.5, abs=1e-12)
    assert region.certificate(np.array([0.25])).bound == pytest.approx(0.0, abs=1e-12)
    assert region.certificate(np.zeros(1)).bound == pytest.approx(-1.0, abs=1e-12)
    # The smaller of both: with 2 the radius at -1/16 is 1/32, and not (1/2 + 1/16)/4.
    hull = known.with_constant(2.0)
    assert (hull.radius(-1.0, 0.0), hull.radius(-0.0625, 0.0)) == (0.375, 0.03125)
    assert hull.radius(-1.0, 0.125) == 0.25  # less what the margin takes
    # Without a largest slope nothing is known but at actions that were seen.
    known = EstimatedHull(domain=Ball(2.0))
    memory = see(known, known.init(np.zeros(1)), 0.0, -1.0, 0.5)
    region = known.region(memory, known.errors)
    assert region.certificate(np.array([0.25])).bound == math.inf
    assert region.certificate(np.zeros(1)).bound == pytest.approx(-1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("reading", "errors", "proved"),
    [
        ((0.5, -1.0, None), Errors(), 1 / 1.5),  # the ball around 1 has 1.5 left
        ((0.5, -1.0, 0.9), Errors(), 0.9),
        ((0.5, -1.0, 0.9), Errors(slope=0.125), 0.775),
        ((0.5, -1.0, 0.9), Errors(slope=0.3), 1 / 1.5),
        ((0.5, -1.0, 0.9), Errors(slope=math.inf), 1 / 1.5),
        ((0.5, -1.0, None), Errors(value=0.25), 0.75 / 1.5),
        ((1.5, -1.0, None), Errors(), 1 / 1.5),
    ],
)
def test_what_a_reading_proves_by_hand(reading, errors, proved):
    known = EstimatedHull(domain=Ball(2.0, [1.0]), errors=errors)
    memory = see(known, known.init(np.array(reading[:1])), *reading)
    assert memory.proved == pytest.approx(proved, rel=1e-12)
    assert Fraction(memory.proved) <= Fraction(proved)


def test_the_slack_of_a_mean_is_what_a_round_outside_is_compared_with():
    # 2 is used: B(0, 1) and B((1, 0), 0.4). The ball nearest to (0.8, 0.4) is at the share
    # 0.8 - 0.6/0.8 * 0.4 of the second, where the slack is 1.4; the distance from there is 0.5.
    def read(known, *readings):
        memory = known.init(np.zeros(2))
        for x, g in readings:
            memory = known.observe(memory, Reading(np.array(x), g, np.zeros(2), known.errors))
        return memory

    one, two, y = (0.0, 0.0), (1.0, 0.0), (0.8, 0.4)
    known = EstimatedHull(domain=Ball(2.0))
    memory = read(known, (one, -2.0), (two, -0.8), (y, 0.7))
    assert memory.spent == pytest.approx(math.log(2.0) + math.log(1.5), rel=1e-12)
    assert memory.proved == pytest.approx(3.0, rel=1e-12)
    # By values that err by 0.05, as they are at least and at most.
    known = EstimatedHull(domain=Ball(2.0), errors=Errors(value=0.05))
    memory = read(known, (one, -2.05), (two, -0.85), (y, 0.75))
    assert memory.spent == pytest.approx(math.log(2.0) + math.log(1.5), rel=1e-12)
    # With slopes of at most 5, g at y is at most 5/2 - 1.4, and that is rounded up.
    known = EstimatedHull(domain=Ball(2.0), largest_G_g=5.0)
    memory = read(known, (one, -2.0), (two, -0.8))
    why = known.region(memory, known.errors).certificate(np.array(y))
    share, deep, last, far = (
        Fraction(part)
        for part in (why.part.share, why.part.anchor_value, why.part.value, why.part.distance)
    )
    assert (1 - share) * deep + share * last + 5 * far < Fraction(why.bound)
    assert why.bound == pytest.approx(1.1, abs=1e-12)


def test_no_more_than_the_true_constant_is_proved_near_the_sphere():
    # g = 3(|x - c| - R): slack and room are one, but for rounding.
    rng, d = np.random.default_rng(8), 20
    for _ in range(200):
        c, R = 50.0 * rng.normal(size=d), 10.0 ** rng.uniform(-1, 2)
        way = rng.normal(size=d)
        x = c + (1 - 10.0 ** rng.uniform(-6, -1)) * R / np.linalg.norm(way) * way
        square = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, c, strict=True))
        far = Fraction(math.isqrt(int(square * 4**120)), 2**120)
        g = float(3 * (far - Fraction(R)))
        known = EstimatedHull(domain=Ball(R, c))
        memory = known.init(c)._replace(first=1.0)
        assert 2.9 <= known.prove(memory, Reading(x, g, None, known.errors)) <= 3.0


def test_an_action_on_the_sphere_is_no_start_and_proves_nothing():
    known = EstimatedHull(domain=Ball(2.0))
    memory = see(known, known.init(np.zeros(1)), 0.0, -1.0)
    assert see(known, memory, 2.0, 0.0).proved == memory.proved


def test_a_slope_that_contradicts_convexity_is_said_once():
    # At 0.5 a slope of -2 says that g at 0 was at least -0.5 + 1.
    for told in ({}, {"largest_G_g": 9.0}):
        known = EstimatedHull(domain=Ball(2.0), **told)
        first = known.init(np.zeros(1))
        memory = see(known, first, 0.0, -1.0, 0.5)
        wrong = Reading(np.array([0.5]), -0.5, np.array([-2.0]), known.errors)
        (said,) = known.contradictions(memory, wrong)
        assert "the subgradient says that g in round 1 was at least 1.5 above" in said
        assert known.contradictions(first, wrong) == ()


def test_a_return_keeps_what_rounding_takes_whatever_was_proved():
    # 8 is used, M = 1: the mean of the values is below -2 G_g e, e = 16(1 + 8)2^-53.
    known = EstimatedHull(domain=Ball(2.0))
    start = see(known, known.init(np.zeros(1)), 0.0, -1.0, 0.5)
    memory = see(known, start, 0.9, 0.8, 4.0)
    region = known.region(memory, known.errors)
    assert (region.slope_norm, region.depth) == (8.0, 0.125)
    why = region.certificate(region.nearest(np.array([3.0])))
    one, other = (Fraction(w) for w in why.weights)
    mean = (other * Fraction(0.8) - one) / (one + other)
    assert -1e-9 < mean < -2 * 8 * Fraction(16 * 9, 2**53) * Fraction(9, 10)
    assert "of round 2, and g is convex" in str(why)
    # A slope with which rounding would take all of the slack: less is taken.
    memory = see(known, start, 0.9, 0.8, 1e15)
    x = known.region(memory, known.errors).nearest(np.array([3.0]))
    assert 0.1 < x[0] < 0.5


# --- bounds on the regret ------------------------------------------------------------------------


def follow(player, limit, gradient, rounds, d=2):
    """Return the regret against the best point of a fine grid, the state, the observer."""
    state, observer, xs = player.init(np.zeros(d)), player.observer(), []
    for t in range(rounds):
        xs.append(state.x)
        state, info = player.step(state, Feedback(gradient(t), *limit(state.x)))
        observer = observer and observer.after(info)
    paid = sum(float(gradient(t) @ x) for t, x in enumerate(xs))
    total = sum(gradient(t) for t in range(rounds))
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 201)] * d), axis=-1).reshape(-1, d)
    inside = grid[np.all(grid @ limit.rows.T <= limit.offsets, axis=1)]
    return paid - float((inside @ total).min()), state, observer


def test_the_observed_regret_bound_stands():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        limit, pull = Kinked.draw(rng, 2), rng.normal(size=2)
        noise = rng.normal(size=(80, 2))
        player = LeaderFollower.unknown(Ball(1.0), theta=1.2).algorithm
        regret, state, observer = follow(player, limit, lambda t: pull + noise[t], 80)  # noqa: B023
        assert regret <= observer.bound(player, state)


def test_a_curvature_cannot_be_what_changes_g_where_nothing_moves():
    player = filter_of(EstimatedCurvature(domain=Ball(2.0)))
    state = player.init(np.zeros(1))
    state = player.update(state, Feedback(None, -1.0, np.zeros(1), proposal=np.zeros(1)))
    state, info = player.step(state, Feedback(None, 0.1, np.ones(1), proposal=np.zeros(1)))
    assert any("uses no constant" in s for s in info.contradictions)
    assert state.x.tolist() == [0.0]


# --- curvature -----------------------------------------------------------------------------------


def test_curvature_by_hand():
    # g = x^2 - 1 from 0 in B(0, 2): b = 2/4, 1 is used: U = -1 + x^2/2 allows sqrt 2, g = 1; the
    # pair shows 2(1 + 1)/2 = 2; back to 0, and with 4 to 1/sqrt 2.
    def bowl(x):
        return float(x @ x) - 1.0, 2 * x

    player = filter_of(EstimatedCurvature(domain=Ball(2.0)))
    state, seen = play(player, bowl, [0.0], [lambda x: [3.0]] * 5)
    xs = [float(x[0]) for x, _, _ in seen]
    np.testing.assert_allclose(xs[:4], [0, math.sqrt(2), 0, math.sqrt(0.5)], atol=1e-9)
    assert state.memory.proved == pytest.approx(2.0, rel=1e-9)
    assert state.memory.spent == pytest.approx(math.log(2 / 0.5), rel=1e-9)  # all of it
    assert "beta unknown" in str(player.knowledge.estimate(state.memory))


def corridor(p):
    off = p[1] - 0.6 * np.sin(3 * p[0])
    slope = np.array([-3.6 * off * np.cos(3 * p[0]) + 0.1 * p[0], 2 * off])
    return off**2 + 0.05 * p[0] ** 2 - 0.09, slope


@pytest.mark.parametrize("theta", [1.25, 2.0, 4.0])
def test_an_unknown_curvature_of_a_limit_that_is_not_convex(theta):
    rng, found = np.random.default_rng(1), 0
    for _ in range(8):
        knowledge = EstimatedCurvature(domain=Ball(2.0), theta=theta, convex=False)
        target = rng.normal(size=2)
        wishes = [lambda x: x + 0.3 * (target - x)] * 60  # noqa: B023
        state, seen = play(filter_of(knowledge), corridor, [1.0, 0.085], wishes)
        outside = [t for t, (_, g, _) in enumerate(seen) if g > 0]
        memory = state.memory
        assert len(outside) == memory.outside
        assert len(outside) <= max(math.ceil(math.log(9.0 / memory.first, theta)) - 1, 0)
        assert all(b - a > 1 for a, b in pairwise(outside))
        assert all((seen[t + 1][0] == seen[t - 1][0]).all() for t in outside if t + 1 < len(seen))
        found += len(outside)
    assert found > 0


def test_descent_with_an_unknown_curvature_gets_to_the_edge():
    def bowl(x):
        return float(x @ x) - 1.0, 2 * x

    made = CertifiedOGD.unknown(Ball(2.0))
    assert type(made.algorithm).__name__ == "CertifiedOGD"
    assert made.algorithm.observer() is None
    state = made.algorithm.init(np.zeros(2))
    for _ in range(300):
        state = made.algorithm.update(state, Feedback(np.array([-1.0, -1.0]), *bowl(state.x)))
    np.testing.assert_allclose(state.x, [math.sqrt(0.5)] * 2, atol=0.02)
    # One violation and no more: then nothing moves; with a largest beta it goes on.
    for most, moves in ((None, False), (50.0, True)):
        made = CertifiedOGD.unknown(Ball(2.0), violations=1, largest_beta=most)
        state, seen = play(filter_of(made.algorithm.knowledge), bowl, [0.0], [lambda x: [3.0]] * 9)
        assert sum(g > 0 for _, g, _ in seen) == 1
        assert bool(abs(state.x[0]) > 0.3) is moves


def test_what_a_curved_reading_proves_by_hand():
    # D = 2.5 from 0.5, 2(1 + 2.5)/2.5^2 = 1.12; twice that is used.
    known = EstimatedCurvature(domain=Ball(2.0))
    memory = see(known, known.init(np.array([0.5])), 0.5, -1.0, 1.0)
    assert (memory.proved, memory.used) == pytest.approx((1.12, 2.24), rel=1e-12)
    # 0.5 further by 0.4: U = -1 + 0.4 + 1.12 * 0.16. A g of 0.1 there curves by at least
    # 2(1.1 - 0.4)/0.16, and is 2 * 0.1/(2.24 * 0.16) more than what was used.
    after = see(known, memory, 0.9, 0.1, 1.0)
    assert after.outside == 1
    assert after.proved == pytest.approx(8.75, rel=1e-9)
    share = 0.2 / (2.24 * 0.16)
    assert after.spent == pytest.approx(math.log(2) + math.log(1 + share), rel=1e-9)
    assert known.region(after, known.errors).nearest(np.array([2.0])).tolist() == [0.5]
    assert known.region(after, known.errors).certificate(np.array([0.5])).bound == -1.0


def test_what_g_is_at_most_with_the_largest_curvature_by_hand():
    # 1.12 is proved and 2.24 used; 4.24 is the largest: 0.16 more at 0.4.
    known = EstimatedCurvature(domain=Ball(2.0), largest_beta=4.24)
    memory = see(known, known.init(np.array([0.5])), 0.5, -1.0, 1.0)
    region = known.region(memory, known.errors)
    bound = region.certificate(np.array([0.9])).bound
    assert bound == pytest.approx(-0.6 + 1.12 * 0.16 + 0.16, abs=1e-9)
    assert region.certificate(np.array([0.5])).bound == -1.0
    unknown = EstimatedCurvature(domain=Ball(2.0))
    region = unknown.region(memory, unknown.errors)
    assert region.certificate(np.array([0.9])).bound == math.inf
    assert region.certificate(np.array([0.5])).bound == -1.0


def test_only_a_feasible_reading_proves_a_curvature_by_the_ball():
    # Two values show 2(0.5 + 1)/1^2. A slope outside of the set says nothing of it.
    known = EstimatedCurvature(domain=Ball(2.0))
    memory = known.init(np.zeros(2))
    steep = np.array([0.0, 100.0])
    for x, g, s in ((0.0, -1.0, 0.0 * steep), (1.0, 0.5, steep)):
        memory = known.observe(memory, Reading(np.array([x, 0.0]), g, s, known.errors))
    assert memory.proved == pytest.approx(3.0, rel=1e-9)
    # Two feasible ones show 2 * 0.9/0.5^2; the ball, only 2(0.1 + 2.5 * 3.6)/2.5^2.
    memory = see(known, known.init(np.zeros(1)), 0.0, -1.0, 0.0)
    assert see(known, memory, 0.5, -0.1, 3.6).proved == pytest.approx(7.2, rel=1e-9)


# --- what is promised, and what is refused -------------------------------------------------------


def test_the_promise():
    promise = Estimated(Constants(R=1.0, G_g=10.0, start_slack=1.0))
    assert promise.most_violations == 3  # log2(10) = 3.3
    assert promise.bounds(np.array([1, 5, 100]))["violations"].tolist() == [0, 2, 3]
    assert Estimated(Constants(R=1.0), violations=2).most_violations == 2
    assert Estimated(Constants(R=1.0)).most_violations == math.inf
    curved = Estimated(Constants(R=1.0, beta=9.0, start_slack=1.0), constant="beta")
    assert curved.most_violations == 4  # b_1 = 2/4, log2(18) = 4.2
    assert curved.constraint_form == "any"
    sized = Estimated(Constants(R=1.0), largest_violation=0.5)
    assert float(sized.bounds(9)["round"]) == 0.5


def test_the_promise_by_hand():
    def promise(told, **more):
        return Estimated(Constants(R=2.0, **told), **more)

    # m_1 = 1/2, so that 5 is 10 times as much: log2 10 = 3.3; log3 10 = 2.1.
    told = {"G_g": 5.0, "start_slack": 1.0}
    assert (promise(told).ratio, promise(told).most_violations) == (10.0, 3)
    assert promise(told, theta=3.0).most_violations == 2
    assert promise(told, theta=3.0).constraint_form == "convex"
    assert promise({"G_g": 0.5, "start_slack": 1.0}).most_violations == 0
    assert promise({"G_g": 0.25, "start_slack": 1.0}).ratio == 1.0
    for part in ({"G_g": 5.0}, {"start_slack": 1.0}, {"beta": 5.0, "start_slack": 1.0}):
        assert promise(part).ratio == math.inf
    assert promise({"beta": 5.0, "start_slack": 0.5}, constant="beta").ratio == 5.0 * 16
    # No two rounds are adjacent, and the first is feasible.
    bounds = promise(told).bounds(np.array([1, 2, 3, 4, 9]))
    assert bounds["violations"].tolist() == [0, 1, 1, 2, 3]
    assert "round" not in bounds
    assert promise(told, largest_violation=0.5).bounds(np.ones(2))["round"].tolist() == [0.5, 0.5]
    assert [p.quantity for p in promise(told).premises] == ["constraint subgradient", "start"]


def test_the_regret_promise_is_what_costs_differ_by():
    told = {"R": 2.0, "G_g": 5.0, "start_slack": 2.0}
    promise = Estimated(Constants(**told, G_f=3.0))
    assert promise.regret_bound(np.array([1.0, 100.0])).tolist() == [12.0, 1200.0]
    assert promise.regret_exponent is None
    assert [premise.only_regret for premise in promise.premises] == [True, False, False]
    assert float(Estimated(Constants(**told)).regret_bound(100.0)) == math.inf


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"theta": 1.0}, "theta must be above 1, got 1.0"),
        ({"theta": -2}, "theta must be above 1, got -2"),
        ({"violations": -1}, "violations must be a whole number >= 0, got -1"),
        ({"violations": 1.5}, "violations must be a whole number >= 0, got 1.5"),
        ({"largest_violation": 0.1}, "largest_violation must be None without largest_G_g"),
        ({"largest_G_g": 0.0}, "largest_G_g must be a finite number > 0, got 0.0"),
        ({"errors": Errors(drift=0.1)}, "drift must be 0 for EstimatedHull"),
        ({"convex": False}, "EstimatedHull assumes a convex g"),
        ({"domain": None}, "domain must be a bounded set where G_g is unknown: a Ball"),
        (
            {"domain": Choices(step=0.5)},
            "domain must be a bounded set where G_g is unknown: a Ball",
        ),
        ({"start_bound": 0.0}, "start_bound must be below 0, got 0.0"),
    ],
)
def test_bad_parameters_are_refused(told, words):
    with pytest.raises(ValueError, match=words):
        EstimatedHull(**{"domain": Ball(1.0)} | told)


@pytest.mark.parametrize(
    ("domain", "x1", "g", "s", "told", "words"),
    [
        (Ball(1.0), [0.0], -1.0, [0.0], {"largest_G_g": 0.5}, "at least what the start proves, 1"),
        (Ball(1.0), [0.0], 0.0, [1.0], {}, "the start must be strictly feasible"),
        (Ball(1.0), [0.0], 0.5, [1.0], {}, "the start must be strictly feasible"),
    ],
)
def test_bad_starts_are_refused(domain, x1, g, s, told, words):
    player = filter_of(EstimatedHull(domain=domain, **told))
    state = player.init(np.array(x1))
    with pytest.raises(ValueError, match=words):
        player.step(state, Feedback(None, g, np.array(s), proposal=np.zeros(1)))


@pytest.mark.parametrize("g", [0.0, 0.5])
def test_a_start_that_is_not_feasible_is_named_where_beta_is_unknown(g):
    player = filter_of(EstimatedCurvature(domain=Ball(1.0)))
    with pytest.raises(ValueError, match="the start must be strictly feasible"):
        player.step(player.init(np.zeros(1)), Feedback(None, g, np.ones(1)))


def test_a_start_on_the_sphere_of_its_ball_is_refused_before_it_is_played():
    for ball, x1 in ((Ball(1.0), [0.6, 0.8]), (Ball(1.0, np.array([1.0, 0.0])), [2.0, 0.0])):
        player = filter_of(EstimatedHull(domain=ball))
        with pytest.raises(ValueError, match="the start must be inside of the ball, not on its"):
            player.init(np.array(x1))


def test_bounds_in_advance_need_a_start_with_slack():
    with pytest.raises(ValueError, match=r"start_slack must be a finite number > 0, got 0\.0"):
        LeaderFollower.unknown(Ball(1.0), start_slack=0.0)
    outside = Constants(R=1.0, G_g=2.0, start_slack=-1.0)  # as a problem's may be
    assert Estimated(outside).most_violations == math.inf


def test_other_refusals():
    with pytest.raises(ValueError, match="domain must be a Ball that holds the feasible set"):
        EstimatedCurvature(domain=Box([-1.0], [1.0]))
    with pytest.raises(ValueError, match="value_error must be 0 where beta is unknown"):
        EstimatedCurvature(domain=Ball(1.0), errors=Errors(value=0.1))
    player = filter_of(EstimatedCurvature(domain=Ball(1.0)))
    with pytest.raises(ValueError, match=r"value_error must be 0 where beta is unknown, got 0\.1"):
        player.step(player.init(np.zeros(1)), Feedback(None, -1.0, np.ones(1), value_error=0.1))
    hull = EstimatedHull(domain=Ball(1.0))
    with pytest.raises(ValueError, match="ramp needs a given G_g: the return path"):
        Certified(proposer=Proposals(), knowledge=hull, ramp=0.1)
    with pytest.raises(ValueError, match="rows must keep g <= 0 by known constants each"):
        Together(rows=(hull, hull))
    player = filter_of(EstimatedHull(domain=Ball(2.0)))
    state = player.update(player.init(np.zeros(1)), Feedback(None, -1.0, np.ones(1)))
    with pytest.raises(ValueError, match="age must be 0 where G_g is unknown"):
        player.step(state, Feedback(None, -1.0, np.ones(1), action=np.zeros(1), age=1))


def test_what_contradicts_a_largest_constant_or_convexity():
    player = filter_of(EstimatedHull(domain=Ball(2.0), largest_G_g=2.0))
    _, seen = play(player, HAND, [0.0], [lambda x: [3.0]] * 2)
    assert any("exceeds G_g = 2" in s for s in seen[1][2].contradictions)
    # A return that is outside: g is not convex, or moves.
    player = filter_of(EstimatedHull(domain=Ball(2.0)))
    state, _ = play(player, HAND, [0.0], [lambda x: [3.0]] * 2)
    _, info = player.step(state, Feedback(None, 0.1, np.ones(1), proposal=np.zeros(1)))
    assert any("uses no constant" in s for s in info.contradictions)


def test_in_a_box_the_first_estimate_is_of_the_slack_over_the_distance_to_its_far_end():
    # The start's slope is 0.001; the slack of 1 over the distance of 1 begins with 2 all the same.
    # 1.05 < 2 is never outside; -3.9 is, once: as many as in the ball of radius 1.
    knowledge = EstimatedHull(domain=Box([-1.0], [1.0]))
    limit = Kinked([[0.001], [1.05], [-3.9]], [1.0, 1.04, 1.5])
    wishes = [lambda x: [3.0], lambda x: [-3.0], lambda x: [-3.0], lambda x: [-3.0]]
    state, _ = play(filter_of(knowledge), limit, [0.0], wishes)
    assert state.memory.first == pytest.approx(1.0, rel=1e-12)
    assert state.memory.outside == 1
    # From 0.5 the far end is 1.5 away; a slope of 4 is more than 1/1.5, and 5 is all there is.
    memory = see(knowledge, knowledge.init(np.array([0.5])), 0.5, -1.0, 0.0)
    assert (memory.first, memory.proved) == (pytest.approx(1 / 1.5, rel=1e-12), 0.0)
    assert str(knowledge.estimate(memory)) == (
        "G_g unknown: 0 is proved, 1.33 is used; at most 2 more rounds outside if G_g <= 5.33"
    )
    assert see(knowledge, knowledge.init(np.array([0.5])), 0.5, -1.0, 4.0).first == 4.0
    known = EstimatedHull(domain=Box([-1.0], [1.0]), largest_G_g=0.5)
    memory = see(known, known.init(np.zeros(1)), 0.0, -1.0)
    assert (memory.first, memory.used) == (0.5, 0.5)  # so all of the box is feasible
    assert known.region(memory, known.errors).nearest(np.array([1.0])).tolist() == [1.0]


def test_readings_at_both_ends_of_their_error_contradict_nothing():
    rng = np.random.default_rng(5)
    for true, error in zip(-rng.uniform(0.5, 1, 40), rng.uniform(0.05, 0.3, 40), strict=True):
        knowledge = EstimatedHull(domain=Ball(2.0), violations=0, errors=Errors(value=error))
        state = (player := filter_of(knowledge)).init(np.zeros(1))
        for sign in (-1, 1):  # at the start for ever
            seen = Feedback(None, true + sign * error, np.ones(1), proposal=np.ones(1))
            state, info = player.step(state, seen)
            assert info.contradictions == ()


def test_another_set_than_a_ball_counts_slopes_alone():
    knowledge = EstimatedHull(domain=Box([-1.0], [1.0]))
    player = Certified(proposer=Leader(domain=knowledge.domain), knowledge=knowledge)
    state, slope = player.init(np.zeros(1)), np.array([0.5])
    for _ in range(30):
        state = player.update(state, Feedback(-np.ones(1), 0.5 * state.x[0] - 1, slope))
    assert state.memory.proved == 0.5
    assert state.x == pytest.approx(1.0)
    assert isinstance(knowledge.with_constant(1.0), LipschitzHull)


def test_a_ball_that_holds_the_actions_alone_is_enough_for_a_curvature():
    # X goes on for ever, so that the floor by the ball is a guess: of both sides of the truth.
    def band(x):  # feasible: |x[1] - sin(3 x[0])/9| <= 0.2, of curvature 2 + a little
        gap = x[1] - math.sin(3 * x[0]) / 9
        return float(gap * gap - 0.04), 2 * gap * np.array([-math.cos(3 * x[0]) / 3, 1.0])

    for radius in (1.0, 10.0, 1000.0):
        for seed in range(4):
            rng = np.random.default_rng(seed)
            knowledge = EstimatedCurvature(domain=Ball(radius), convex=False)
            wishes = [lambda x: x + rng.normal(size=2) * [0.5, 2.0]] * 80  # noqa: B023
            state, seen = play(filter_of(knowledge), band, [0.0, 0.0], wishes)
            outside = [t for t, (_, g, _) in enumerate(seen) if g > 0]
            memory, largest = state.memory, max(4.0, state.memory.first)
            assert len(outside) == memory.outside
            assert len(outside) <= max(math.ceil(math.log2(largest / memory.first)) - 1, 0)
            assert memory.spent <= math.log(largest / memory.first)
            assert all(b - a > 1 for a, b in pairwise(outside))
            assert all(np.linalg.norm(x) <= radius for x, _, _ in seen)
