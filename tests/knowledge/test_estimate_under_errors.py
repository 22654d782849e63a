"""Theorem U under errors, in boxes, on grids, with a bound on the start: attacked, in rationals."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tests.knowledge.test_estimate import HAND, Kinked, see

from surefoot import Ball, Certified, Feedback
from surefoot.knowledge import Choices, EmptyRegionError, Errors, EstimatedHull, LogCertificate
from surefoot.proposers import Leader, Probing
from surefoot.proposers.proposals import Proposals
from surefoot.sets import Box

ROUNDING = Fraction(1, 2**40)
"""What rounding may take of numbers of the size of 1, for rows as long as they are here."""


class Attack:
    """One run against an adversary who knows g, and reads as is worst within the errors.

    Args:
        seed: of everything.
        told: arguments of the knowledge, over those that are drawn.
        proposer: "proposals", greedy ones, or "values": a leader that sees no slope.
    """

    def __init__(self, seed: int, proposer: str = "proposals", **told: Any) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.d, self.proposer = int(rng.integers(1, 4)), proposer
        self.limit = Kinked.draw(rng, self.d)
        self.start = np.zeros(self.d)
        slack = -self.limit(self.start)[0]
        self.nu, self.tau = slack * rng.choice([0.02, 0.1, 0.4]), rng.choice([0.0, 0.3])
        errors = Errors(value=self.nu, slope=self.tau)
        self.style = str(rng.choice(["low", "high", "ends", "inside", "flatter"]))
        given = {"domain": self.draw_domain(), "theta": float(rng.choice([1.2, 1.5, 2.0, 4.0]))}
        if rng.random() < 0.5:
            given["start_bound"] = float(self.limit(self.start)[0] * rng.uniform(0.5, 1.0))
        self.knowledge = EstimatedHull(**given | {"errors": errors} | told)
        self.rounds: list[dict[str, Any]] = []

    def draw_domain(self) -> Any:
        """A ball that holds the set, a box that does not, or a grid in one."""
        low, high = -self.rng.uniform(0.2, 1.0, self.d), self.rng.uniform(0.2, 1.0, self.d)
        box = Box(low, high)
        return [Ball(1.0), box, Choices(box.lower, box.upper, step=0.0625)][
            int(self.rng.integers(3))
        ]

    def g(self, x: np.ndarray) -> Fraction:
        """g, exactly."""
        rows = zip(self.limit.rows, self.limit.offsets, strict=True)
        return max(
            sum(Fraction(a) * Fraction(c) for a, c in zip(row, x, strict=True)) - Fraction(b)
            for row, b in rows
        )

    def err(self) -> float:
        """The error of a reading."""
        ends = {"low": -1.0, "high": 1.0, "ends": self.rng.choice([-1.0, 1.0])}
        return float(self.nu * ends.get(self.style, self.rng.uniform(-1, 1)))

    def read(self, x: np.ndarray) -> Feedback:
        """A reading, or none in one round of ten; at times an announced set around the action."""
        if self.rounds and self.rng.random() < 0.1:
            return Feedback()
        g, s = self.limit(x)
        value, within = g + self.err(), None
        if self.rng.random() < 0.1 and not isinstance(self.knowledge.domain, Choices):
            within = Ball(0.3, x)
        if self.proposer == "values":
            return Feedback(self.rng.normal(-0.5, 1.0, self.d), value, within=within)
        size = np.linalg.norm(s)
        turn = -s / size if self.style == "flatter" else self.rng.normal(size=self.d)
        slope = s + self.tau * min(1.0, size) * turn / np.linalg.norm(turn)
        return Feedback(None, value, slope, within=within)

    def play(self, rounds: int) -> Attack:
        """Play rounds; a set without a certified action is announced again, larger."""
        proposer: Any = Proposals()
        if self.proposer == "values":
            domain = self.knowledge.domain
            inside = domain.inside if isinstance(domain, Choices) else domain
            proposer = Probing(leader=Leader(domain=inside))
        player = Certified(proposer=proposer, knowledge=self.knowledge)
        self.knowledge = player.knowledge
        state, why, way = player.init(self.start), None, np.ones(self.d)
        for _ in range(rounds):
            x, seen = state.x, self.read(state.x)
            if self.rng.random() < 0.2:
                way = self.rng.normal(size=self.d)
            if self.proposer != "values":
                far = 10.0 ** self.rng.uniform(-2, 1)
                seen = seen._replace(proposal=x + far * way)
            before = state.memory
            try:
                state, info = player.step(state, seen)
            except EmptyRegionError:
                state, info = player.step(state, seen._replace(within=None))
            assert info.contradictions == ()
            self.rounds.append({"x": x, "why": why, "told": seen, "memory": before})
            why = info.certificate
        self.memory = state.memory
        return self

    def judge(self) -> list[int]:
        """Check the theorem in rationals; return the rounds that it counts."""
        counted, product, theta = [], Fraction(1), Fraction(self.knowledge.theta)
        for t, one in enumerate(self.rounds):
            g, why, told = self.g(one["x"]), one["why"], one["told"].constraint_value
            assert self.knowledge.domain.contains(one["x"])
            if isinstance(why, LogCertificate) or why is None:
                assert g <= 0, "the start and a mean of what was seen need no constant"
                continue
            if told is None:
                continue
            over = Fraction(told) - Fraction(self.nu)
            if g > 2 * Fraction(self.nu) + ROUNDING:
                assert over > 0
            if over > 0:
                part = why.part
                share = Fraction(part.share)
                level = (1 - share) * Fraction(part.anchor_value) + share * Fraction(part.value)
                product *= theta * (1 - over / level)
                counted.append(t)
        first = Fraction(self.memory.first)
        G_squared = max(sum(Fraction(a) ** 2 for a in row) for row in self.limit.rows)
        most = max(G_squared, first**2)
        assert (product * first) ** 2 <= most * (1 + ROUNDING)
        assert theta ** (2 * len(counted)) * first**2 < most or not counted
        assert Fraction(self.memory.proved) ** 2 <= G_squared * (1 + ROUNDING)
        assert len(counted) == self.memory.outside - self.memory.unseen
        if counted:
            assert self.memory.spent == pytest.approx(math.log(product), rel=1e-9)
        assert all(b - a > 1 for a, b in pairwise(counted))
        return counted


def judge_many(seeds: range, **told: Any) -> int:
    """Return how many rounds were counted in all."""
    return sum(len(Attack(seed, **told).play(40).judge()) for seed in seeds)


@pytest.mark.parametrize("proposer", ["proposals", "values"])
def test_the_budget_of_number_and_size_is_kept_under_errors(proposer):
    assert judge_many(range(20), proposer=proposer) > 7


@pytest.mark.slow
@pytest.mark.parametrize("proposer", ["proposals", "values"])
def test_the_budget_is_kept_in_more_runs(proposer):
    assert judge_many(range(100, 250), proposer=proposer) > 50


@pytest.mark.parametrize("k", [0, 1, 2])
def test_rounds_that_were_seen_or_not_are_no_more_than_allowed(k):
    found = 0
    for seed in range(25):
        attack = Attack(seed, violations=k).play(40)
        attack.judge()
        risky = [
            one
            for one in attack.rounds
            if one["why"] is not None and not isinstance(one["why"], LogCertificate)
        ]
        missed = sum(one["told"].constraint_value is None for one in risky)
        seen = sum(
            self_g > 2 * Fraction(attack.nu) + ROUNDING
            for one in risky
            if one["told"].constraint_value is not None
            for self_g in [attack.g(one["x"])]
        )
        assert seen + missed <= attack.memory.outside <= k
        found += attack.memory.outside == k > 0
    assert found > 5 or k == 0


def test_no_violation_is_larger_than_was_allowed_whatever_the_errors():
    largest = Fraction(0)
    for seed in range(25):
        G = Attack(seed).limit.G
        attack = Attack(seed, largest_G_g=1.5 * G, largest_violation=0.2).play(40)
        sizes = [attack.g(one["x"]) for one in attack.rounds]
        assert max(sizes) <= Fraction(0.2)
        largest = max(largest, *sizes)
    assert largest > 0


# --- by hand -------------------------------------------------------------------------------------


def test_a_step_under_errors_by_hand():
    # HAND in B(0, 2), values 0.1 too low. The start is at most -1.1 + 0.1: 1/2 is proved, 1 used.
    # At 0.99, g = 0.8 is read as 0.7: outside by 0.6 at least, on a slack of 1. The slope is at
    # least 1.6, and 3.9 by what was read of it.
    knowledge = EstimatedHull(domain=Ball(2.0), errors=Errors(value=0.1, slope=0.1))
    memory = see(knowledge, knowledge.init(np.zeros(1)), 0.0, -1.1, 0.5)
    assert (memory.proved, memory.used) == pytest.approx((0.5, 1.0), rel=1e-12)
    after = see(knowledge, memory, 0.99, 0.7, 4.0)
    assert (after.outside, after.proved) == (1, pytest.approx(3.9, rel=1e-12))
    assert after.spent == pytest.approx(math.log(2 * 1.6), rel=1e-9)
    # Without a slope: the rise of 0.6 + 1 over a length of 0.99.
    assert see(knowledge, memory, 0.99, 0.7).proved == pytest.approx(1.6 / 0.99, rel=1e-9)
    # The way back: the start counts as -1 and this as 0.8.
    back = knowledge.region(after, knowledge.errors).nearest(np.array([3.0]))
    assert back == pytest.approx([0.99 / 1.8], rel=1e-9)


def test_errors_of_a_round_count_in_that_round():
    knowledge = EstimatedHull(domain=Ball(2.0))
    player = Certified(proposer=Proposals(), knowledge=knowledge)
    state = player.init(np.zeros(1))
    told = Feedback(None, -1.1, np.array([0.5]), proposal=np.array([3.0]), value_error=0.1)
    state = player.update(state, told)
    assert state.x == pytest.approx([1.0])
    told = told._replace(constraint_value=0.7, constraint_subgradient=np.array([4.0]))
    state = player.update(state, told)
    assert state.memory.spent == pytest.approx(math.log(2 * 1.6), rel=1e-9)
    assert knowledge.estimate(state.memory).hidden == 0.2


def test_what_errors_may_hide_is_said_before_any_does():
    known = EstimatedHull(domain=Ball(2.0), errors=Errors(value=0.05, evaluation=0.01))
    memory = see(known, known.init(np.zeros(1)), 0.0, -1.0, 0.0)
    assert known.estimate(memory).hidden == pytest.approx(0.11)


def test_a_bound_on_the_start_is_one_more_reading_without_an_error():
    # Read as -0.5 within 0.4: at most -0.1, which proves 0.05. The bound says -0.8, and 0.4.
    errors = Errors(value=0.4)
    known = EstimatedHull(domain=Ball(2.0), errors=errors, start_bound=-0.8)
    memory = see(known, known.init(np.zeros(1)), 0.0, -0.5)
    assert (memory.first, memory.used) == pytest.approx((0.4, 0.8), rel=1e-12)
    assert known.region(memory, errors).nearest(np.array([3.0])) == pytest.approx([1.0], rel=1e-9)
    without = EstimatedHull(domain=Ball(2.0), errors=errors)
    assert see(without, without.init(np.zeros(1)), 0.0, -0.5).first == pytest.approx(0.05)
    # A reading that says more than the bound counts itself.
    assert see(known, known.init(np.zeros(1)), 0.0, -1.5).first == pytest.approx(0.55)
    # A later reading of the start, up to its error above, changes nothing: the bound stands.
    memory = see(known, memory, 0.0, -0.5)
    assert known.region(memory, errors).nearest(np.array([3.0])) == pytest.approx([1.0], rel=1e-9)
    assert known.standing(np.zeros(1)).value == -0.8
    assert without.standing(np.zeros(1)) is None


def test_the_error_of_a_slope_counts_at_a_start_with_a_bound():
    known = EstimatedHull(domain=Ball(2.0), errors=Errors(slope=0.25), start_bound=-1.0)
    assert see(known, known.init(np.zeros(1)), 0.0, -0.5, 3.0).proved == 2.75


def test_a_start_above_its_bound_is_a_contradiction():
    known = EstimatedHull(domain=Ball(2.0), errors=Errors(value=0.125), start_bound=-0.75)
    player = Certified(proposer=Proposals(), knowledge=known)
    state = player.init(np.zeros(1))
    for value, is_wrong in ((-0.625, False), (-0.5, True)):
        _, info = player.step(state, Feedback(None, value, proposal=np.ones(1)))
        assert any("start_bound = -0.75 is too small" in s for s in info.contradictions) is is_wrong
    with pytest.raises(ValueError, match="action must be the start until it was measured"):
        player.step(state, Feedback(None, -1.0, action=np.ones(1), proposal=np.ones(1)))


def test_without_the_error_in_the_count_a_feasible_round_would_be_counted():
    # g = 0 at 1, read as 0.1: it proves nothing, and is not outside.
    knowledge = EstimatedHull(domain=Ball(2.0), errors=Errors(value=0.1))
    memory = see(knowledge, knowledge.init(np.zeros(1)), 0.0, -1.1)
    memory = see(knowledge, memory, 0.99, 0.1)
    assert (memory.outside, memory.back) == (0, False)


def test_a_slope_that_errs_proves_less_than_the_way_to_it():
    # |s| - 10 < 0: the rise of 1.8 over 0.99 counts. An exact slope is as steep as any way to it.
    known = EstimatedHull(domain=Ball(2.0), errors=Errors(slope=10.0))
    memory = see(known, known.init(np.zeros(1)), 0.0, -1.0, 0.5)
    assert see(known, memory, 0.99, 0.8, 4.0).proved == pytest.approx(1.8 / 0.99, rel=1e-9)


def test_a_poor_first_reading_does_where_a_bound_on_the_start_is_known():
    errors = Errors(value=0.5)
    known = EstimatedHull(domain=Ball(2.0), errors=errors, start_bound=-0.25)
    memory = see(known, known.init(np.zeros(1)), 0.0, 0.125)
    assert memory.first == pytest.approx(0.125, rel=1e-12)
    assert known.region(memory, errors).nearest(np.array([3.0])) == pytest.approx([1.0], rel=1e-9)
    without = EstimatedHull(domain=Ball(2.0), errors=errors)
    with pytest.raises(ValueError, match="the start must be strictly feasible, by more than the e"):
        see(without, without.init(np.zeros(1)), 0.0, -0.5)
    assert "the start is strictly feasible" in without.premises
    assert "g at the start is at most -0.25 in every round" in known.premises


def test_an_estimate_that_leaves_no_ball_leaves_what_was_seen():
    # A slack of 1e-150 has a ball by the first estimate, and none by a slope of 1.
    knowledge = EstimatedHull(domain=Box([-1.0], [1.0]))
    player = Certified(proposer=Proposals(), knowledge=knowledge)
    state, seen = player.init(np.zeros(1)), []
    for _ in range(5):
        g = float(state.x[0]) - 1e-150
        seen.append(g)
        state = player.update(state, Feedback(None, g, proposal=np.ones(1)))
    assert [g > 0 for g in seen] == [False, True, False, False, False]


def test_a_set_of_one_point_is_played():
    player = Certified(proposer=Proposals(), knowledge=EstimatedHull(domain=Box([0.5], [0.5])))
    state = player.init(np.array([0.5]))
    for _ in range(3):
        state = player.update(state, Feedback(None, -1.0, np.zeros(1), proposal=np.ones(1)))
    assert state.x.tolist() == [0.5]


def test_a_value_that_no_estimate_can_follow_is_refused():
    knowledge = EstimatedHull(domain=Ball(2.0))
    player = Certified(proposer=Proposals(), knowledge=knowledge)
    state = player.init(np.zeros(1))
    state = player.update(state, Feedback(None, -1e-300, proposal=np.ones(1)))
    with pytest.raises(ValueError, match="constraint_value must be a value after which"):
        player.step(state, Feedback(None, 1e300, proposal=np.ones(1)))


def test_the_hand_limit_is_one_violation_in_a_box_by_values_alone():
    box = Box([-1.0], [2.0])
    player = Certified(
        proposer=Probing(leader=Leader(domain=box)), knowledge=EstimatedHull(domain=box)
    )
    state, outside = player.init(np.zeros(1)), []
    for t in range(60):
        g = HAND(state.x)[0]
        outside += [t] if g > 0 else []
        state = player.update(state, Feedback(-np.ones(1), g))
    assert outside == [1]
    assert state.x == pytest.approx([0.8], abs=0.02)
