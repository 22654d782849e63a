"""Contexts that are known before acting: Theorem X1, the rounds that are kept, refusals."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.types import Array, Context
from surefoot.knowledge import (
    AnnouncedDrift,
    Column,
    Columns,
    ContextCurvature,
    ContextHull,
    EmptyRegionError,
    Errors,
    Reading,
)
from surefoot.knowledge.context import as_contexts
from surefoot.knowledge.context_hull import KEPT
from surefoot.knowledge.mean_ball import find_mean_ball
from surefoot.knowledge.nearest import EVERYWHERE, draw_back
from surefoot.rules import RegionFilter
from surefoot.sets import Box

KINDS = [
    Columns([Column(adds=1.0)]),
    Columns([Column(G_c=0.25), Column(G_c=0.5)]),
    Columns([Column(G_c=0.5, worse="up"), Column(G_c=0.5, worse="down")]),
    Columns([Column(G_c=0.5), Column(adds=-0.25), Column(G_c=0.125, worse="up")]),
    Columns([Column(G_c=0.5), Column(G_c=0.5)], joint=True),
]


def at(*place: float) -> Context:
    return Context(np.array(place))


def see(known: Any, memory: Any, x: Array, g: float, *place: float) -> Any:
    memory = known.announce(memory, at(*place))
    return known.observe(memory, Reading(x, g, None, known.errors))


def test_a_context_has_a_number_per_column():
    kind = Columns([Column(G_c=0.5), Column(adds=1.0)])
    first = kind.read([1.0, 2.0], None)
    assert first.tolist() == [1.0, 2.0]
    assert kind.read([3.0, 4.0], first).tolist() == [3.0, 4.0]
    assert as_contexts(Column(adds=2.0)).read(3.0, None).tolist() == [3.0]
    assert AnnouncedDrift().read(0.0, None).tolist() == [0.0]
    assert AnnouncedDrift().read(0.25, np.array([0.5])) == pytest.approx([0.75])


def exact_rise(kind: Any, way: list[Fraction]) -> Fraction:
    """Return w over a way, in rationals."""
    if isinstance(kind, AnnouncedDrift):
        return way[0]
    total = Fraction(0)
    for column, part in zip(kind.columns, way, strict=True):
        if column.adds is not None:
            total += Fraction(column.adds) * part
        elif part > 0 and column.worse != "down":
            total += Fraction(column.G_c) * part
        elif part < 0 and column.worse != "up":
            total -= Fraction(column.G_c) * part
    return total


@pytest.mark.parametrize("kind", [*KINDS, AnnouncedDrift()])
def test_a_rise_is_never_below_the_exact_one(kind):
    rng = np.random.default_rng(6)
    d = 1 if isinstance(kind, AnnouncedDrift) else len(kind.columns)
    for before, after in rng.normal(size=(200, 2, d)) * 10.0 ** rng.uniform(-3, 1, (200, 2, 1)):
        pairs = zip(before.tolist(), after.tolist(), strict=True)
        way = [Fraction(b) - Fraction(a) for a, b in pairs]
        over = Fraction(float(kind.rise(before, after))) - exact_rise(kind, way)
        assert 0 <= over <= Fraction(sum(abs(part) for part in way)) / 10**13
        assert kind.rise(before, before) == 0.0


def test_the_largest_step_of_columns_by_hand():
    moving = Column(adds=-2.0, changes=0.5), Column(G_c=0.25, worse="up", changes=4.0)
    assert Columns(moving).largest_step == pytest.approx(2.0)
    assert Columns(moving).largest_step >= 2.0
    assert Columns([*moving, Column(adds=1.0)]).largest_step is None
    assert AnnouncedDrift().largest_step is None
    here, there = np.array([1.0, 20.0]), np.array([1.5, 16.0])
    assert Columns(moving).find_jump(here, there) == ""
    words = "column 1 of the context changed by 4.5 in one round, more than changes = 4"
    assert Columns(moving).find_jump(here, there - [0.0, 0.5]) == words


def test_a_step_between_decimal_numbers_is_no_jump():
    # 20.3 - 20.2 is above 0.1 in float64, by a hundred times what 0.1 is rounded by.
    known, place = Columns([Column(G_c=1.0, changes=0.1)]), np.arange(-400, 400) / 10.0
    assert max(np.diff(place)) > 0.1 * (1 + 1e-14)
    for before, after in pairwise(place[:, None]):
        assert known.find_jump(before, after) == ""
    assert known.find_jump(np.array([20.2]), np.array([20.3000001]))


def two_rounds(kind: Any, scale: float = 1.0) -> Any:
    known = ContextHull(G_g=1.0, reach=4.0, context=kind)
    memory = see(known, known.init(np.array([0.5])), np.array([0.5]), -0.3, 10.0 * scale)
    memory = see(known, memory, np.array([0.2]), -0.1, 30.0 * scale)
    return known.region(known.announce(memory, at(20.0 * scale)), known.errors)


def test_two_rounds_around_a_context_by_hand():
    region = two_rounds(Columns([Column(G_c=0.012)], joint=True))
    assert region.centres.ravel().tolist() == pytest.approx([0.5, 0.2, 0.35], abs=1e-12)
    assert region.radii.tolist() == pytest.approx([0.18, -0.02, 0.2], abs=1e-12)
    assert region.nearest(np.array([-2.0])) == pytest.approx(0.15, abs=1e-12)
    same = two_rounds(
        Columns([Column(G_c=12.0)], joint=True), scale=1e-3
    )  # contexts in other units
    assert same.radii.tolist() == pytest.approx(region.radii.tolist(), abs=1e-12)
    region = two_rounds(Column(G_c=0.012))
    assert region.radii.tolist() == pytest.approx([0.18, -0.02], abs=1e-12)
    # The share of the second at which the ball is a point: 0.18(1 - l) = 0.02 l.
    assert region.nearest(np.array([-2.0])) == pytest.approx(0.5 - 0.3 * 0.9, abs=1e-9)
    region = two_rounds(Column(G_c=0.012, worse="up"))
    assert region.radii.tolist() == pytest.approx([0.18, 0.1], abs=1e-12)


def norm_up(v: list[Fraction]) -> Fraction:
    square = sum(part * part for part in v)
    root = Fraction(math.isqrt(int(square * 4**200)) + 1, 2**200)
    assert root * root >= square
    return root


def exact_left_side(known: ContextHull, memory: Any, certificate: Any, p: Array) -> Fraction:
    """Return the left side of Theorem X1 for the weights of a certificate, in rationals."""
    kind, c = known.context, [Fraction(v) for v in memory.context.place]
    rows = {int(t): i for i, t in enumerate(memory.seen.round)}
    weights = [Fraction(w) for w in certificate.weights]
    weights = [w / sum(weights) for w in weights]
    assert min(weights) >= 0
    level, mean, place = Fraction(0), [Fraction(0)] * len(p), [Fraction(0)] * len(c)
    for w, t in zip(weights, certificate.rounds, strict=True):
        i = rows[t] if t else 0
        there = c if t == 0 else [Fraction(v) for v in memory.seen.place[i]]
        value = Fraction(float(known.start_bound) if t == 0 else memory.seen.value[i])
        if not kind.is_joint:
            value += exact_rise(kind, [a - b for a, b in zip(c, there, strict=True)])
        level += w * value
        mean = [m + w * Fraction(v) for m, v in zip(mean, memory.seen.x[i], strict=True)]
        place = [m + w * v for m, v in zip(place, there, strict=True)]
    level += Fraction(known.G_g) * norm_up([Fraction(a) - b for a, b in zip(p, mean, strict=True)])
    if kind.is_joint:
        level += exact_rise(kind, [a - b for a, b in zip(c, place, strict=True)])
    return level


def limit(x: Array, c: Array, kind: Any) -> float:
    """Return g: convex in both, slopes at most 1 in x, and each column as steep as it may be."""
    more = 0.0
    for column, part in zip(kind.columns, c.tolist(), strict=True):
        more += {None: abs(part), "up": max(part, 0.0), "down": max(-part, 0.0)}[column.worse] * (
            column.G_c or 0.0
        ) + (column.adds or 0.0) * part
    return float(0.6 * np.abs(x).max() + 0.4 * np.linalg.norm(x) - 0.5 + more)


def context_of(kind: Any, rng: np.random.Generator, size: float = 0.4) -> Array:
    return rng.uniform(-size / 2, size, size=len(kind.columns))


@pytest.mark.parametrize("kind", KINDS, ids=repr)
@pytest.mark.parametrize("d", [1, 3])
def test_every_action_fulfils_the_inequality_in_rationals(kind, d):
    rng = np.random.default_rng(d)
    known = ContextHull(G_g=1.0, reach=2.0, context=kind, start_bound=-0.05)
    x, memory = np.zeros(d), known.init(np.zeros(d))
    memory = known.announce(memory, Context(context_of(kind, rng)))
    for t in range(80):
        place = memory.context.place
        g = limit(x, place, kind)
        assert g <= 0
        memory = known.observe(memory, Reading(x, g, None, known.errors))
        assert len(memory.seen.value) <= KEPT + 2
        memory = known.announce(memory, Context(context_of(kind, rng)))
        region = known.region(memory, known.errors)
        x = region.nearest(rng.normal(size=d) * (3.0 if t % 3 else 0.3))
        assert region.contains(x)
        certificate = region.certificate(x)
        assert certificate.bound <= 0
        left = exact_left_side(known, memory, certificate, x)
        assert left < 0
        assert left <= certificate.bound


def test_rounds_that_another_ball_holds_are_forgotten_first():
    known = ContextHull(G_g=1.0, reach=4.0, context=Column(G_c=1.0))
    memory = see(known, known.init(np.zeros(1)), np.zeros(1), -0.3, 0.0)
    held = np.array([0.05])  # its ball, in every context, is in that of the start
    memory = see(known, memory, held, -0.2, 0.0)
    rng = np.random.default_rng(0)
    for _ in range(KEPT + 1):
        memory = see(known, memory, rng.uniform(0.5, 4.0, size=1), -0.1, rng.uniform(3.0, 9.0))
    assert len(memory.seen.value) == KEPT + 2
    assert 2.0 not in memory.seen.round
    assert memory.seen.round[[0, -1]].tolist() == [1.0, memory.rounds]


def test_a_round_that_nobody_read_keeps_its_context_and_counts():
    known = ContextHull(G_g=1.0, reach=4.0, context=Column(adds=1.0))
    first = known.init(np.zeros(1))
    assert (first.place, known.age(known.announce(first, at(0.1)), np.zeros(1)).rounds) == (
        None,
        0.0,
    )
    memory = see(known, first, np.zeros(1), -0.5, 0.2)
    assert memory.place == [0.2]  # the last, until the next is told
    aged = known.age(known.announce(memory, at(0.1)), np.zeros(1))
    assert (aged.rounds, aged.before.place, aged.context) == (2.0, [0.1], None)
    again = known.age(aged, np.zeros(1))
    assert (again.rounds, again.before.place, again.place) == (3.0, [0.1], [0.1])
    assert see(known, again, np.zeros(1), -0.5, 0.2).seen.round.tolist() == [1.0, 4.0]


def test_what_a_memory_begins_with():
    drifts = ContextHull(G_g=1.0, reach=4.0, context=AnnouncedDrift())
    assert drifts.init(np.zeros(2)).context.place.tolist() == [0.0]  # nothing has drifted
    known = ContextHull(G_g=1.0, reach=4.0, context=Column(adds=1.0))
    assert known.init(np.zeros(2)).context is None
    with pytest.raises(InvalidValueError, match="x1 must be one NumPy vector"):
        known.init(np.zeros((2, 2)))
    memory = known.announce(known.init(np.zeros(1)), at(0.0))
    with pytest.raises(InvalidValueError, match="constraint_value must be finite"):
        known.observe(memory, Reading(np.zeros(1), math.nan, None, known.errors))


def test_what_was_certified_bounds_a_reading_that_errs():
    # -0.3 + 0.1 at 0, and 0.05 more in the next context: at most 0.1 - 0.15 at 0.1.
    known = ContextHull(G_g=1.0, reach=4.0, context=Column(adds=1.0), errors=Errors(value=0.1))
    memory = see(known, known.init(np.zeros(1)), np.zeros(1), -0.3, 0.0)
    for x, g, upper in ((0.1, 0.02, -0.05), (0.1, -0.2, -0.1), (0.2, 0.01, 0.11)):
        value = see(known, memory, np.array([x]), g, 0.05).seen.value[-1]
        assert value == pytest.approx(upper)
        assert Fraction(value) >= Fraction(upper)


def test_a_start_needs_more_slack_than_rounding_takes_and_later_rounds_need_none():
    known = ContextHull(G_g=1e3, reach=4.0, context=Column(adds=1.0))
    memory = known.init(np.zeros(1))
    with pytest.raises(InvalidValueError, match="the start must be strictly feasible"):
        see(known, memory, np.zeros(1), -16 * 9 * 2.0**-53 * 4.0 * 1e3, 0.0)
    memory = see(known, memory, np.zeros(1), -1e-6, 0.0)
    assert see(known, memory, np.zeros(1), 0.25, 0.5).seen.value.tolist() == [-1e-6, 0.25]


def test_the_round_that_another_replaces_best_is_forgotten():
    # The least of g_i + w(c_i, c_j) + G_g |x_i - x_j| - g_j over all i, of rounds in between.
    kind, rng = Column(G_c=0.5, worse="up"), np.random.default_rng(13)
    for _ in range(5):
        known = ContextHull(G_g=2.0, reach=4.0, context=kind)
        readings = [
            (rng.normal(size=2), -rng.uniform(0.1, 2.0), rng.uniform(0.0, 4.0, size=2))
            for _ in range(KEPT + 3)
        ]
        memory = known.init(readings[0][0])
        for x, g, place in readings:
            memory = see(known, memory, x, g, *place)

        def missed(j, readings=readings):
            y, below, there = readings[j]
            return (
                min(
                    g
                    + 0.5 * np.linalg.norm(np.maximum(there - place, 0.0))
                    + 2 * np.linalg.norm(x - y)
                    for i, (x, g, place) in enumerate(readings)
                    if i != j
                )
                - below
            )

        best = min(range(1, KEPT + 2), key=missed)
        left = set(range(1, KEPT + 4)) - set(memory.seen.round)
        assert left == {best + 1}


def test_a_radius_is_the_slack_per_slope():
    known = ContextHull(G_g=4.0, reach=4.0, context=Column(adds=1.0))
    memory = see(known, known.init(np.zeros(1)), np.zeros(1), -0.5, 0.0)
    region = known.region(known.announce(memory, at(-0.1)), known.errors)
    assert region.nearest(np.ones(1)) == pytest.approx(0.15)
    found = region.certificate(np.array([0.1]))
    assert (found.level, found.distance, found.room) == pytest.approx((-0.6, 0.1, 0.15))
    assert found.bound == pytest.approx(-0.2)


def test_what_a_region_says_of_the_last_round():
    region = two_rounds(Column(G_c=0.012, worse="up"))
    assert (region.x, region.upper, region.read_place) == ([0.2], -0.1, [30.0])
    assert (region.radius, region.longest) == (pytest.approx(0.1), region.radius)
    assert region.depth == pytest.approx(0.18)
    near, deepest, action, start = region.insides
    assert (near, deepest, action, start) == ([0.2], [0.5], [0.5], [0.5])
    region = two_rounds(Column(G_c=0.012))  # -0.1 + 0.12
    assert (region.radius, region.longest) == (pytest.approx(-0.02), 0.0)


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_what_was_asked_before_changes_no_nearest_point(kind):
    rng = np.random.default_rng(16)
    known = ContextHull(G_g=1.0, reach=4.0, context=kind)
    memory = known.init(np.zeros(2))
    for _ in range(8):
        x, c = 0.3 * rng.normal(size=2), 0.2 * rng.random()
        memory = see(known, memory, x, -0.2 - 0.1 * rng.random(), *[c] * len(kind.columns))
    memory = known.announce(memory, at(*[0.1] * len(kind.columns)))
    asked = known.region(memory, known.errors)
    for proposal in rng.normal(size=(20, 2)):
        fresh = known.region(memory, known.errors)
        assert asked.nearest(proposal) == pytest.approx(fresh.nearest(proposal), abs=1e-12)


def test_nothing_beyond_the_hull_is_certified_and_the_bound_says_by_how_much():
    region = two_rounds(Column(G_c=0.012))  # from 0.23 to 0.68, as above
    inside = [region.contains(np.array([x])) for x in (0.22, 0.24, 0.67, 0.69)]
    assert inside == [False, True, True, False]
    assert region.bound(np.array([0.78])) == pytest.approx(0.1)
    assert region.bound(np.array([0.13])) == pytest.approx(0.1)
    with pytest.raises(InvalidValueError, match="the wanted action"):
        region.nearest(np.array([math.nan]))
    # -0.3 + 0.4: nothing is, and nothing is known.
    known = ContextHull(G_g=1.0, reach=4.0, context=Column(G_c=1.0))
    memory = see(known, known.init(np.zeros(1)), np.zeros(1), -0.3, 0.0)
    region = known.region(known.announce(memory, at(0.4)), known.errors)
    assert not region.contains(np.zeros(1))
    assert region.bound(np.zeros(1)) == math.inf


def test_nothing_contradicts_a_first_reading():
    known = ContextHull(G_g=1.0, reach=4.0, context=Column(adds=1.0))
    memory = known.announce(known.init(np.zeros(1)), at(0.0))
    assert known.contradictions(memory, Reading(np.zeros(1), -0.3, None, known.errors)) == ()
    (said,) = known.contradictions(
        memory, Reading(np.zeros(1), -0.3, np.full(1, 2.0), known.errors)
    )
    assert said.startswith("round 1: |s| = 2 exceeds G_g = 1")


def test_a_level_in_another_context_is_never_below_the_exact_one():
    rng = np.random.default_rng(14)
    known = ContextHull(G_g=1.0, reach=4.0, context=Column(adds=1.0))
    for low, more in zip(-rng.uniform(1.0, 4.0, 50), rng.uniform(0.0, 1e-2, 50), strict=True):
        memory = see(known, known.init(np.zeros(1)), np.zeros(1), low, 0.0)
        region = known.region(known.announce(memory, at(more)), known.errors)
        (level,) = region.levels(np.eye(1))
        assert 0 <= Fraction(level) - Fraction(low) - Fraction(more) <= 1e-14


@pytest.mark.parametrize(
    "kind", [Columns([Column(G_c=0.5)], joint=True), Columns([Column(adds=1.0)])], ids=repr
)
def test_contexts_of_any_size_leave_room_for_their_rounding(kind):
    # Places of 1e8 lose 1e-8 of their differences, and levels of 1e8 as much of their means.
    rng, c, looked = np.random.default_rng(15), 1e8, 0
    for _ in range(30):
        known = ContextHull(G_g=1.0, reach=4.0, context=kind)
        memory = known.init(np.zeros(2))
        for _ in range(6):
            x, more = rng.normal(size=2), 0.1 * rng.random() if kind.is_joint else rng.normal()
            memory = see(known, memory, x, -0.1 - 0.1 * rng.random(), c * (1 + more))
        middle = c * (1 + 0.05) if kind.is_joint else c
        memory = known.announce(memory, at(middle))
        region = known.region(memory, known.errors)
        if not region.depth > 0:
            continue
        for proposal in 4.0 * rng.normal(size=(4, 2)):
            p = region.nearest(proposal)
            assert exact_left_side(known, memory, region.certificate(p), p) < 0
            looked += 1
    assert looked > 60


def test_a_constant_context_changes_no_bit():
    for kind in KINDS:
        known = ContextHull(G_g=1.0, reach=4.0, context=kind)
        same = [0.7] * len(kind.columns)
        memory = see(known, known.init(np.zeros(2)), np.zeros(2), -0.3, *same)
        memory = see(known, memory, np.array([0.1, 0.2]), -0.17, *same)
        region = known.region(known.announce(memory, at(*same)), known.errors)
        assert region.levels(np.eye(2)).tolist() == [-0.3, -0.17]


def test_joint_contexts_on_one_side_are_those_of_lipschitz():
    both = []
    for kind in (Columns([Column(G_c=0.3)], joint=True), Column(G_c=0.3)):
        known = ContextHull(G_g=1.0, reach=4.0, context=kind)
        memory = see(known, known.init(np.zeros(2)), np.zeros(2), -0.9, 0.1)
        memory = see(known, memory, np.array([0.1, 0.2]), -0.8, 0.4)
        region = known.region(known.announce(memory, at(0.6)), known.errors)
        both.append(region.nearest(np.array([3.0, 1.0])))
    assert both[0] == pytest.approx(both[1], abs=1e-9)


def test_a_mean_ball_is_the_nearest_of_all_means():
    rng = np.random.default_rng(3)
    for _ in range(20):
        centres, radii = rng.normal(size=(7, 3)), rng.uniform(-0.3, 0.5, size=7)
        radii[0], w = 0.4, 4.0 * rng.normal(size=3)
        weights = find_mean_ball(w, centres, radii, radii)
        found = np.linalg.norm(w - weights @ centres) - weights @ radii
        assert weights.min() >= 0
        assert weights.sum() == pytest.approx(1.0)
        others = rng.dirichlet(0.3 * np.ones(7), size=2_000)
        others = others[others @ radii >= 0]
        gaps = np.linalg.norm(w - others @ centres, axis=1) - others @ radii
        assert found <= gaps.min() + 1e-12


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_mean_ball_is_the_nearest_where_balls_hold_each_other_too(d):
    # Radii that differ by more than the centres are apart, and slacks of their own.
    rng = np.random.default_rng(d)
    for _ in range(60):
        centres = rng.choice([0.05, 0.3, 1.0]) * rng.normal(size=(7, d))
        radii, slack = rng.uniform(0.0, 1.0, size=7), rng.uniform(-1.0, 0.3, size=7)
        slack[0], w = 0.2, 3.0 * rng.normal(size=d)
        weights = find_mean_ball(w, centres, radii, slack)
        assert weights.min() >= 0
        assert weights @ slack >= 0
        found = np.linalg.norm(w - weights @ centres) - weights @ radii
        if found <= 0:  # it holds w
            continue
        # No vertex reaches further towards w than the mean ball does: the function is convex.
        unit = (w - weights @ centres) / np.linalg.norm(w - weights @ centres)
        reach = centres @ unit + radii
        i, j = (part.ravel() for part in np.meshgrid(*2 * [np.arange(7)]))
        i, j = (part[(slack[i] >= 0) & (slack[j] < 0)] for part in (i, j))
        share = slack[i] / (slack[i] - slack[j])
        pairs = reach[i] + share * (reach[j] - reach[i])
        most = max(reach[slack >= 0].max(), pairs.max(initial=-math.inf))
        assert most <= weights @ reach + 1e-9


def test_the_nearest_point_moves_no_further_than_the_wish():
    # Where the mean radius is 0 every move of weight between two balls changes it.
    rng, at_zero = np.random.default_rng(4), 0
    for _ in range(200):
        n, d = int(rng.integers(3, 30)), int(rng.integers(1, 4))
        centres, radii = rng.normal(size=(n, d)), rng.uniform(-0.5, 0.1, size=n)
        radii[0], w = 0.1, 4.0 * rng.normal(size=d)

        def find(w, centres=centres, radii=radii):
            weights = find_mean_ball(w, centres, radii, radii)
            assert weights @ radii >= 0.0
            off, room = w - weights @ centres, weights @ radii
            far = np.linalg.norm(off)
            return (w if far <= room else w - (1.0 - room / far) * off), room

        point, room = find(w)
        way = point - w
        if np.linalg.norm(way) <= 1e-5:
            continue
        at_zero += room < 1e-12
        # Nearest: no vertex of the means is on the near side of the plane through the point.
        i, j = (part.ravel() for part in np.meshgrid(*2 * [np.arange(n)]))
        some = (radii[i] >= 0) & (radii[j] < 0)
        i, j = i[some], j[some]
        share = (radii[i] / (radii[i] - radii[j]))[:, None]
        pairs = centres[i] + share * (centres[j] - centres[i])
        reach = (centres @ -way + radii * np.linalg.norm(way))[radii >= 0]
        assert max(reach.max(), (pairs @ -way).max()) <= point @ -way + 1e-12
        for size in (1e-15, 1e-6):
            moved = size * rng.normal(size=d)
            far = np.linalg.norm(find(w + moved)[0] - point)
            assert far <= np.linalg.norm(moved) * (1 + 1e-6) + 1e-14
    assert at_zero > 50


def test_a_harsher_context_is_answered_by_the_bound_at_the_start():
    known = ContextHull(G_g=1.0, reach=4.0, context=Column(G_c=1.0))
    memory = see(known, known.init(np.zeros(1)), np.zeros(1), -0.3, 0.0)
    harsh = known.announce(memory, at(0.4))
    with pytest.raises(EmptyRegionError, match="feasible in every context: give a bound"):
        known.region(harsh, known.errors).nearest(np.ones(1))
    sure = ContextHull(G_g=1.0, reach=4.0, context=Column(G_c=1.0), start_bound=-0.1)
    region = sure.region(harsh, sure.errors)
    assert region.nearest(np.ones(1)) == pytest.approx(0.1)
    assert "of the start" in str(region.certificate(region.nearest(np.ones(1))))


def test_errors_of_values_are_allowed_for():
    known = ContextHull(G_g=1.0, reach=4.0, context=Column(adds=1.0), errors=Errors(value=0.1))
    memory = see(known, known.init(np.zeros(1)), np.zeros(1), -0.3, 0.0)
    region = known.region(known.announce(memory, at(0.05)), known.errors)
    assert region.nearest(np.ones(1)) == pytest.approx(0.15)


def test_a_curvature_certifies_in_an_additive_context_by_hand():
    known = ContextCurvature(beta=1.0, reach=2.0, context=Column(adds=1.0))
    memory = known.announce(known.init(np.zeros(1)), at(0.0))
    seen = Reading(np.zeros(1), -0.5, np.array([1.0]), known.errors)
    memory = known.observe(memory, seen)
    # U(p) = -0.5 - 1 + p + p^2/2 in a milder context, and -0.5 + 0.25 + p + p^2/2 in a harsher.
    for more, root in ((-1.0, 1.0), (0.25, math.sqrt(1.5) - 1.0)):
        region = known.region(known.announce(memory, at(more)), known.errors)
        assert region.nearest(np.array([3.0])) == pytest.approx(root, abs=1e-9)
    # In a context in which the action is outside, back along the slope: -0.3 <= U'(0) is enough.
    memory = known.observe(
        known.announce(memory, at(-1.0)), Reading(np.ones(1), -0.2, np.array([1.5]), known.errors)
    )
    region = known.region(known.announce(memory, at(-0.5)), known.errors)
    p = region.nearest(np.ones(1))
    assert -0.2 + 0.5 + 1.5 * (p - 1) + (p - 1) ** 2 / 2 == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(EmptyRegionError, match="in the next context"):
        known.region(known.announce(memory, at(5.0)), known.errors).nearest(np.ones(1))
    with pytest.raises(InvalidValueError, match="context must be of columns that add"):
        ContextCurvature(beta=1.0, reach=2.0, context=Column(G_c=1.0))
    with pytest.raises(InvalidValueError, match="its context was not announced"):
        known.observe(known.init(np.zeros(1)), seen)


def test_what_a_curvature_knows_moves_from_context_to_context_in_rationals():
    rng = np.random.default_rng(18)
    known = ContextCurvature(
        beta=1.0, reach=2.0, context=Column(adds=1.0), errors=Errors(value=0.125)
    )
    first = known.init(np.zeros(1))
    assert known.age(known.announce(first, at(0.5)), np.zeros(1)).rounds == 0.0
    memory = known.announce(first, at(0.0))
    seen = Reading(np.zeros(1), -0.5, np.array([1.0]), known.errors)
    memory = known.observe(memory, seen)
    assert (memory.part.last.value, memory.part.low) == (-0.375, -0.625)
    anchor = Fraction(memory.part.anchor.value)
    for t, c in enumerate(rng.normal(size=30).tolist()):
        memory = known.age(known.announce(memory, at(c)), np.zeros(1))
        assert (memory.rounds, memory.before.place, memory.context) == (t + 2.0, [c], None)
        part, more = memory.part, Fraction(c)
        assert 0 <= Fraction(part.last.value) - (Fraction(-0.375) + more) <= 1e-13
        assert 0 <= Fraction(part.anchor.value) - (anchor + more) <= 1e-13
        assert 0 <= (Fraction(-0.625) + more) - Fraction(part.low) <= 1e-13
        again = known.age(known.announce(memory, at(c)), np.zeros(1))
        assert (again.part.last, again.part.low) == (part.last, part.low)  # to the bit
        assert known.age(memory, np.zeros(1)).before == memory.before
    # -0.125 + 0.05 + 0.05^2/2 at 0.05 in another context, and a reading may be 0.125 above that.
    memory = known.announce(memory, at(0.25))
    for g, is_wrong in ((0.051, False), (0.0515, True)):
        read = Reading(np.array([0.05]), g, np.array([1.0]), known.errors)
        assert bool(known.contradictions(memory, read)) is is_wrong


def test_told_drift_adds_up():
    known = ContextHull(G_g=1.0, reach=4.0, context=AnnouncedDrift())
    first = known.context.read(0.02, None)
    assert known.context.read(0.03, first)[0] >= 0.05
    place, total = None, Fraction(0)
    for drift in np.random.default_rng(17).uniform(0.0, 0.1, size=200):
        place, total = known.context.read(drift, place), total + Fraction(drift)
        assert 0 <= Fraction(place[0]) - total <= 1e-12
    memory = see(known, known.init(np.zeros(1)), np.zeros(1), -0.3, 0.0)
    region = known.region(known.announce(memory, at(0.2)), known.errors)
    assert region.nearest(np.ones(1)) == pytest.approx(0.1)
    assert region.fall(np.zeros((1, 1))) == pytest.approx(0.2)  # it may have come from above


def test_a_g_that_contradicts_joint_convexity_is_reported_with_its_rounds():
    known = ContextHull(G_g=1.0, reach=4.0, context=Columns([Column(G_c=1.0)], joint=True))
    memory = see(known, known.init(np.zeros(1)), np.zeros(1), -0.3, 0.0)
    memory = see(known, memory, np.zeros(1), -0.3, 2.0)
    memory = known.announce(memory, at(1.0))
    (said,) = known.contradictions(memory, Reading(np.zeros(1), -0.1, None, known.errors))
    assert said.startswith("round 3: g = -0.1 is above its certified bound -0.3: ")
    assert "is wrong (by round 1 and round 2)" in said


ONE = Columns([Column(G_c=0.5)])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ONE.read([1.0, 2.0], np.zeros(1)), "must be one number, one per column, got 2"),
        (lambda: ONE.read(math.nan, None), "context"),
        (lambda: ONE.read("warm", None), "context must be"),
        (
            lambda: Columns([Column(adds=1.0)] * 2).read(3.0, None),
            "must be 2 numbers, one per column, got 1",
        ),
        (lambda: Column(G_c=-1.0), "G_c must be a finite number > 0"),
        (lambda: Column(), "must have adds, .* or G_c, .*, got neither"),
        (lambda: Column(adds=1.0, G_c=1.0), "got both"),
        (lambda: Column(adds=1.0, worse="up"), "worse must be None for a column that adds"),
        (lambda: Column(G_c=1.0, worse="hotter"), "worse must be one of 'up', 'down'"),
        (lambda: Column(adds=1.0, changes=-1.0), "changes must be a finite number >= 0"),
        (lambda: Columns([]), "columns must be one Column per number of a context"),
        (lambda: Columns([1.0]), "columns must be one Column per number of a context"),
        (lambda: AnnouncedDrift().read(-0.1, None), "drift must be at least 0"),
        (lambda: ContextHull(G_g=1.0, reach=1.0, context=3.0), "context must be"),
    ],
)
def test_bad_input_is_one_sentence(make, words):
    with pytest.raises(InvalidValueError, match=words):
        make()


def test_a_round_without_its_context_and_an_infeasible_start_are_refused():
    known = ContextHull(G_g=1.0, reach=1.0, context=Column(adds=1.0))
    memory = known.init(np.zeros(1))
    with pytest.raises(
        InvalidValueError, match="round 1 cannot be read: its context was not announced"
    ):
        known.observe(memory, Reading(np.zeros(1), -0.3, None, known.errors))
    memory = known.announce(memory, at(0.0))
    with pytest.raises(InvalidValueError, match="the start must be strictly feasible"):
        known.observe(memory, Reading(np.zeros(1), 0.1, None, known.errors))
    with pytest.raises(InvalidValueError, match="needs the context of each reading"):
        known.observe(memory, Reading(np.zeros(1), -0.3, None, known.errors, age=1))


def test_a_first_reading_above_a_start_bound_is_a_contradiction() -> None:
    known = ContextHull(G_g=1.0, reach=1.0, start_bound=-0.5, context=Column(adds=1.0))
    memory = known.announce(known.init(np.zeros(1)), at(0.0))
    right, wrong = (Reading(np.zeros(1), g, None, known.errors) for g in (-0.51, -0.49))
    assert known.contradictions(memory, right) == ()
    (sentence,) = known.contradictions(memory, wrong)
    assert "start_bound = -0.5 is too small" in sentence


def test_a_drift_after_one_that_was_not_told_is_refused() -> None:
    # A sum that began anew would call the limit milder than it was.
    player = RegionFilter(knowledge=ContextHull(G_g=1.0, reach=4.0, context=AnnouncedDrift()))
    state = player.init(np.zeros(1))
    for drift in (0.3, None):
        told = None if drift is None else player.read_context(state, drift)
        seen = Feedback(None, -1.0, np.ones(1), proposal=np.zeros(1), context=told)
        state = player.update(state, seen)
    with pytest.raises(InvalidValueError, match="context must be that of the current round first"):
        player.read_context(state, 0.1)
    told = player.read_context(state, 0.1, current=True)
    assert told.place[0] == pytest.approx(0.4)


@pytest.mark.parametrize("seed", range(12))
def test_what_was_certified_once_is_so_when_it_is_asked_again(seed: int) -> None:
    rng, d = np.random.default_rng(seed), 6
    start, way = np.full(d, 5.0), np.full(d, 5.1)
    box = Box(np.zeros(d), np.full(d, 8.0))
    known = ContextHull(G_g=1.0, domain=box, start_bound=-0.3, context=Column(G_c=0.3))
    memory = known.announce(known.init(start), at(0.0))
    for t in range(40):
        x = start + rng.uniform(-0.3, 0.3, d) * (t > 0)
        value = 0.9 * float(np.linalg.norm(x - way)) - 0.55 + 0.05 * math.sin(t / 5)
        memory = known.observe(memory, Reading(x, value, None, known.errors))
        memory = known.announce(memory, at(math.sin((t + 1) / 5)))
    region = known.region(memory, known.errors)
    inside = region.x if region.contains(region.x) else start
    for _ in range(20):
        far = start + rng.uniform(-1.0, 1.0, d)
        edge = draw_back(region.contains, EVERYWHERE, inside, far)
        assert edge is not None
        for share in np.linspace(0.3, 0.9, 12):  # none of them is certified
            region.contains(edge + share * (far - edge) + 0.01 * rng.normal(size=d))
        assert region.contains(edge)
