"""Constraints of different kinds together, with a known set."""

from dataclasses import replace

import numpy as np
import pytest

from surefoot import Feedback
from surefoot.core.plain import decode, encode, name_parts
from surefoot.knowledge import (
    AnnouncedDrift,
    Choices,
    Column,
    ContextHull,
    Curvature,
    EmptyRegionError,
    Errors,
    LipschitzHull,
    Reading,
    Together,
)
from surefoot.rules import RegionFilter
from surefoot.sets import Box

from ._seen import see


def test_rows_of_different_kinds_and_a_box_hold_in_every_round():
    def query(x):
        corner = max(x[0] + x[1] - 0.7, x[0] - x[1] - 0.8)  # two faces seen as one: G_g only
        steepest = [1.0, 1.0] if corner == x[0] + x[1] - 0.7 else [1.0, -1.0]
        return np.array([corner, x @ x - 0.6, x[1] - 0.5]), np.array([steepest, 2 * x, [0, 1.0]])

    box = Box([-0.3, -0.2], [0.45, 1.0])
    rows = (
        LipschitzHull(G_g=1.5, reach=1.0),
        Curvature(beta=2.0, reach=1.0),
        Curvature(beta=0.0, reach=1.0),
    )
    known, rng = Together(rows=rows, domain=box), np.random.default_rng(3)
    x = np.zeros(2)
    memory, moved = known.init(x), 0.0
    for t in range(60):
        g, s = query(x)
        assert g.max() <= 0
        assert box.contains(x)
        assert known.contradictions(memory, Reading(x, g, s, known.errors)) == ()
        memory, region = see(known, memory, x, g, s)
        w = x + np.array([0.3, 0.2]) * (1 if t < 40 else -1) + 0.3 * rng.normal(size=2)
        p = region.nearest(w)
        assert region.contains(p) or (p == x).all()
        assert region.certificate(p).bound <= 0
        moved += np.linalg.norm(p - x)
        x = p
    assert moved > 1


def test_hull_and_box_are_projected_onto_together():
    known = Together(rows=(LipschitzHull(G_g=1.0, reach=1.0),), domain=Box([0.0, 0.0], [0.3, 1.0]))
    x = np.zeros(2)
    _, region = see(known, known.init(x), x, -0.5, np.array([0.0, 1.0]))
    # The ball of radius 0.5 and x[0] <= 0.3: the corner (0.3, 0.4); clipping first would miss it.
    assert region.nearest(np.array([3.0, 1.0])) == pytest.approx([0.3, 0.4], abs=1e-6)


def test_an_announced_box_without_the_action_is_entered_where_both_rows_hold():
    # Discs around (0, -1) and (0, 1) with radius sqrt 2; the box has a corner of what they share.
    row = Curvature(beta=1.0, reach=2.0)
    known, x = Together(rows=(row, row)), np.zeros(2)
    s = np.array([[0.0, 1.0], [0.0, -1.0]])
    _, region = see(known, known.init(x), x, np.array([-0.5, -0.5]), s)
    box = Box([0.9, 0.02], [3.0, 3.0])
    near = region.within(box).nearest(np.array([3.0, 3.0]))
    assert box.contains(near)
    assert region.contains(near)


def test_an_announced_set_and_bad_input_are_answered_in_one_sentence():
    known = Together(rows=(LipschitzHull(G_g=1.0, reach=1.0),))
    x = np.zeros(2)
    _, region = see(known, known.init(x), x, -0.5, np.array([0.0, 1.0]))
    near = region.within(Box([0.1, 0.0], [1.0, 1.0])).nearest(np.array([0.0, 0.0]))
    assert near == pytest.approx([0.1, 0.0], abs=1e-9)
    with pytest.raises(EmptyRegionError, match="the nearest certified one is"):
        region.within(Box([0.6, 0.0], [1.0, 1.0])).nearest(np.array([0.0, 0.0]))
    with pytest.raises(ValueError, match="rows must be one knowledge per constraint"):
        Together(rows=(1.0,))
    one = ContextHull(G_g=1.0, reach=1.0, context=Column(adds=1.0))
    two = ContextHull(G_g=1.0, reach=1.0, context=[Column(adds=1.0)] * 2)
    for rows, words in (
        ((one, known.rows[0]), "1 column, no contexts"),
        ((two, one), "1 column, 2 columns"),
        ((one, replace(one, context=AnnouncedDrift())), "1 column, announced drift"),
    ):
        with pytest.raises(ValueError, match=f"one context is announced for all, got {words}"):
            Together(rows=rows)
    with pytest.raises(ValueError, match=r"constraint_value.shape must be \(1,\)"):
        see(known, known.init(x), x, np.array([-1.0, -1.0]), np.ones((2, 2)))
    with pytest.raises(ValueError, match="x1 must be one NumPy vector"):
        known.init(np.zeros((2, 2)))
    boxed = Together(rows=known.rows, domain=Box([1.0, 1.0], [2.0, 2.0]))
    with pytest.raises(ValueError, match="x1 must be in the domain"):
        boxed.init(x)


# --- under drift ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "rounds"), [(4, 22), (10, 18), (31, 15), (41, 10), (46, 16)])
def test_under_drift_an_action_that_every_row_certifies_is_found(seed, rounds):
    # Neither the action nor an anchor is certified for all rows in the last of these rounds, and
    # the search gave up there. Everything moves by exactly the drift; the true g is looked at.
    rng = np.random.default_rng(seed)
    m, v = 3, 10 ** rng.uniform(-3.0, -1.3)
    A = rng.normal(size=(m, 2))
    A, bent = A / np.linalg.norm(A, axis=1)[:, None], rng.uniform(0.1, 1.0, m)
    bent = np.where(rng.random(m) < 0.5, bent, 0.0)
    told = {"reach": 4.0, "errors": Errors(drift=v)}
    known = Together(
        rows=tuple(
            Curvature(beta=b, **told) if b else LipschitzHull(G_g=1 + 1e-9, **told) for b in bent
        )
    )
    most = rng.uniform(0.3, 1.0, m)
    x, limit, tide = np.zeros(2), most, np.ones(m)
    memory = known.init(x)
    for _ in range(rounds + 5):
        g = A @ x + 0.5 * bent * (x @ x) - limit
        assert g.max() <= 0
        memory, region = see(known, memory, x, g, A + bent[:, None] * x)
        tide = np.where(limit < 0.15 * most, -1.0, np.where(limit > most, 1.0, tide))
        limit = limit - v * tide
        proposal = x + rng.normal(size=2) if rng.random() < 0.5 else 5 * A[rng.integers(m)]
        x = region.nearest(proposal)


def test_under_drift_a_row_without_any_ball_left_is_named():
    hull = LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(drift=0.3))
    known, x = Together(rows=(hull, hull)), np.zeros(2)
    s = np.array([[1.0, 0.0], [0.0, 1.0]])
    memory, region = see(known, known.init(x), x, np.array([-0.5, -0.9]), s)
    y = region.nearest(np.array([1.0, 0.0]))
    _, region = see(known, memory, y, np.array([-0.05, -0.9]), s)
    with pytest.raises(EmptyRegionError, match="no next action is certified"):
        region.nearest(np.zeros(2))


def test_a_bound_on_the_start_of_a_row_is_not_one_on_what_somebody_else_played_first():
    row = LipschitzHull(G_g=1.0, reach=2.0, start_bound=-0.1, errors=Errors(drift=0.05))
    player = RegionFilter(knowledge=Together(rows=(row, Curvature(beta=0.0, reach=2.0))))
    g, s, far = np.array([-0.2, -0.3]), np.ones((2, 1)), np.array([0.4])
    seen = Feedback(None, g, s, proposal=far, action=far)
    with pytest.raises(ValueError, match="action must be the start until it was measured"):
        player.update(player.init(np.zeros(1)), seen)


# --- reasons, errors and what stands --------------------------------------------------------------


def test_the_reason_has_a_part_for_every_row():
    rows = (LipschitzHull(G_g=1.0, reach=2.0), Curvature(beta=1.0, reach=2.0))
    known, x = Together(rows=rows), np.zeros(2)
    g, s = np.array([-0.5, -0.75]), np.array([[1.0, 0.0], [0.5, 0.0]])
    _, region = see(known, known.init(x), x, g, s)
    p = region.nearest(np.array([0.25, 0.0]))
    reason = region.certificate(p, True)
    first, second = (row.certificate(p, True) for row in region.rows)
    assert reason.rows == (first, second)
    assert (reason.bound, reason.cut) == (max(first.bound, second.bound), True)
    assert first.bound == pytest.approx(-0.25)
    assert second.bound == pytest.approx(-0.75 + 0.125 + 0.5 * 0.0625)
    assert reason.tightest == 0
    assert str(reason) == f"{first} (this is limit 0; the other one will be at most -0.594)"
    assert reason.facts["limits"] == "this is limit 0; the other one will be at most -0.594"
    assert list(reason.facts)[:-1] == list(first.facts)
    assert reason.room == 0.25
    assert decode(encode(reason)) == reason
    assert name_parts(reason)["rows"][1]["beta"] == 1.0
    alone = Together(rows=rows[:1])
    _, region = see(alone, alone.init(x), x, g[:1], s[:1])
    assert str(region.certificate(p)).endswith("(this is the only one)")


def test_readings_are_judged_by_the_errors_of_their_rows():
    shared = {"G_g": 1.0, "reach": 2.0}
    rows = tuple(
        LipschitzHull(**shared, errors=Errors(value=value, drift=drift, evaluation=0.125))
        for value, drift in ((0.5, 0.25), (0.0625, 0.125))
    )
    known = Together(rows=rows)
    assert known.errors == Errors(value=0.5, drift=0.25, evaluation=0.125)
    g = np.array([-1.0, -0.25])
    assert known.bound_reading(g, known.errors) == (-0.3125, -0.0625)
    told = known.errors.of_round(Feedback(value_error=0.25))
    assert known.bound_reading(g, told) == (-0.5, 0.125)  # of every row
    assert [row.errors.drift for row in known.every(3).rows] == [0.75, 0.375]
    assert known.every(3).errors.drift == 0.75
    assert [row.errors.value for row in known.every(3).rows] == [0.5, 0.0625]


def test_where_every_row_bounds_the_start_it_is_certified_for_ever():
    rows = tuple(
        LipschitzHull(G_g=1.0, reach=4.0, start_bound=-0.2, errors=Errors(drift=0.05))
        for _ in range(2)
    )
    known, x = Together(rows=rows), np.zeros(1)
    memory = known.init(x)
    for values, at in (([-0.5, -0.3], 0.0), ([-0.75, -0.3], 0.25)):
        x = np.array([at])
        memory = known.observe(memory, Reading(x, np.array(values), None, known.errors))
    for _ in range(9):
        memory = known.age(memory, x)
    region = known.region(memory, known.errors)
    start = np.zeros(1)
    assert region.contains(start)
    assert region.certificate(start).bound <= 0
    assert any((point == start).all() for point in region.insides)
    half = Together(rows=(rows[0], Curvature(beta=0.0, reach=4.0, errors=Errors(drift=0.05))))
    assert half.standing(start) is None
    assert half.region(half.init(start), half.errors).standing is None


def test_rows_have_no_choices_of_their_own():
    hull = LipschitzHull(G_g=1.0, domain=Choices([0.0], 1.0, step=0.25))
    with pytest.raises(ValueError, match="give them once, as the domain of all rows"):
        Together(rows=(hull, hull))
