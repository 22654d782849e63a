"""Drift plus penalty: each bound in every round of every stream, and its formula by hand."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from surefoot import Ball, Constants, Problem, play
from surefoot.problems.costs import Linear
from surefoot.rules import DPP, DriftPlusPenalty, ScalarDPP

from ._held import CHANGING, STREAMS, changing, each_row, noise, stream
from ._slack import slack

KNOWN = Constants(R=1.5, G_f=7.0, G_g=2.0, D_g=4.0, F=11.0, epsilon=0.5, start_slack=0.25)
X = np.array([0.1, -0.05])
# B = 4 + 2 * 3 = 10; at T = 25, V = 5 and alpha = 25:
# c_0 = 5 * 11 + 25 * 49 / 100 + 100 m / 2 = 67.25 + 50 m
HORIZONS = [300, pytest.param(2_000, marks=pytest.mark.slow)]


def test_the_parameters_are_those_of_the_source():
    bound = DriftPlusPenalty(KNOWN, 25)
    assert (bound.V, bound.alpha) == (5.0, 25.0)
    # Exactly T, also where the root of T times itself is rounded to more.
    assert replace(bound, horizon=2_000).alpha == 2_000.0


@pytest.mark.parametrize(("rows", "each"), [(1, 10.0), (3, 30.0)])
def test_the_regret_bound_by_hand(rows, each):
    # alpha D_0^2/V + (V G_f^2/(4 alpha) + m B^2/(2V)) t, D_0 = 2R = 3
    bound = DriftPlusPenalty(KNOWN, 25, rows)
    assert bound.regret_bound([0, 10]).tolist() == [45.0, 45.0 + 10 * (2.45 + each)]


def test_the_regret_bound_at_the_horizon_is_a_multiple_of_its_root():
    near = KNOWN.with_origin("derived", start_reach=2.0)
    for T in (1, 25, 10_000):
        expected = (2.0**2 + 10**2 / 2 + 7**2 / 4) * math.sqrt(T)
        assert DriftPlusPenalty(near, T).regret_bound(T) == pytest.approx(expected, rel=1e-14)


def test_the_queue_bound_by_hand():
    bound = DriftPlusPenalty(KNOWN, 25)
    growing = math.sqrt(2 * 25 * 9 + 2 * 117.25 * 4)
    settled = math.sqrt((117.25 / 0.5) ** 2 + 2 * 25 * 9 + 2 * 117.25)
    found = bound.queue_bound([4, 10**6])
    assert found == pytest.approx([growing, settled], rel=1e-14)


@pytest.mark.parametrize("rows", [1, 3])
def test_the_bound_of_a_row_by_hand(rows):
    bound = DriftPlusPenalty(KNOWN, 25, rows)
    q = float(bound.queue_bound(10))
    expected = (1 + math.sqrt(rows) * 4 * 10 / 50) * q + 2 * 7 * 5 * 10 / 50
    assert bound.bounds(10)["positive_sum" if rows == 1 else "rows"] == pytest.approx(
        expected, rel=1e-14
    )


def test_a_cost_range_that_is_not_known_is_a_gradient_over_a_diameter():
    assert DriftPlusPenalty(replace(KNOWN, F=None), 25).queue_bound(9) == DriftPlusPenalty(
        replace(KNOWN, F=21.0), 25
    ).queue_bound(9)


def test_only_one_queue_promises_the_sum_of_the_maximum():
    assert DriftPlusPenalty(KNOWN, 25).bounds(10).keys() == {"positive_sum"}
    assert DriftPlusPenalty(KNOWN, 25, rows=2).bounds(10).keys() == {"rows"}


def test_more_slack_promises_less_violation_and_no_other_regret():
    slacks = [None, 0.01, 0.25, 0.5]
    known = [replace(KNOWN, epsilon=None, start_slack=s) for s in slacks]
    bounds = [DriftPlusPenalty(c, 10**6) for c in known]
    sums = [float(b.bounds(10**6)["positive_sum"]) for b in bounds]
    assert sums == sorted(sums, reverse=True)
    assert sums[-1] < sums[1]
    assert len({float(b.regret_bound(10**6)) for b in bounds}) == 1
    assert [b.violation_exponent for b in bounds] == [0.75, 0.5, 0.5, 0.5]


@pytest.mark.parametrize(("slack", "power"), [(0.5, 0.5), (None, 0.75), (-0.1, 0.75)])
def test_the_bounds_grow_as_their_exponents_say(slack, power):
    known = replace(KNOWN, epsilon=None, start_slack=slack)
    small, large = DriftPlusPenalty(known, 10**14), DriftPlusPenalty(known, 10**18)
    ratio = float(large.bounds(10**18)["positive_sum"] / small.bounds(10**14)["positive_sum"])
    assert math.log10(ratio) / 4 == pytest.approx(power, abs=0.01)
    assert small.violation_exponent == power
    ratio = float(large.regret_bound(10**18) / small.regret_bound(10**14))
    assert math.log10(ratio) / 4 == pytest.approx(small.regret_exponent, abs=0.01)


def test_it_says_what_it_is():
    assert str(DriftPlusPenalty(KNOWN, 25)) == (
        "Yu-Neely-Wei 2017, scalar queue for T = 25 (cumulative)"
    )
    assert DriftPlusPenalty(KNOWN, 25, rows=4).name == "Yu-Neely-Wei 2017, 4 queues"
    premises = DriftPlusPenalty(KNOWN, 25).premises
    assert [(p.constant, p.limit) for p in premises] == [
        ("G_f", 7.0),
        ("G_g", 2.0),
        ("the horizon", 25),
    ]


@pytest.mark.parametrize("missing", ["G_f", "G_g", "D_g"])
def test_a_missing_constant_is_named(missing):
    with pytest.raises(ValueError, match=f"scalar queue needs {missing}, which is unknown"):
        DriftPlusPenalty(replace(KNOWN, **{missing: None}), 25)


def test_bad_sizes_are_named():
    with pytest.raises(ValueError, match="horizon must be a whole number of rounds >= 1, got 0"):
        DriftPlusPenalty(KNOWN, 0)
    with pytest.raises(ValueError, match="rows must be a whole number >= 1, got 0"):
        DriftPlusPenalty(KNOWN, 25, 0)


@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("name", STREAMS)
def test_the_bounds_of_one_queue_hold_in_every_round(name, horizon):
    problem = stream(name, horizon)
    trace = play(ScalarDPP.tuned(problem.constants, horizon), problem, watch="raise")
    found = slack(trace)
    assert max(found["regret"], found["positive_sum"], each_row(trace)) <= 1


@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("name", STREAMS)
def test_the_bounds_of_many_queues_hold_in_every_round(name, horizon):
    problem = stream(name, horizon, separately=True)
    trace = play(DPP.tuned(problem.constants, horizon), problem, watch="raise")
    assert max(slack(trace)["regret"], each_row(trace)) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGING)
@pytest.mark.parametrize("separately", [False, True])
@pytest.mark.parametrize("pull", [0.0, 1.5])
def test_the_bounds_hold_for_constraints_that_change_from_round_to_round(name, separately, pull):
    T = 1_000
    costs = Linear(noise(T) + pull * np.array([0.6, -0.8]))
    problem = Problem.of(costs, changing(name, T), Ball(1.0), X)
    if separately:
        rows = problem.constraint.query_all(0, X)[0].size
        tuned = DPP.tuned(problem.constants.with_origin("given", rows=rows), T)
    else:
        tuned = ScalarDPP.tuned(problem.constants, T)
    trace = play(tuned, problem, watch="raise")
    t, bound = trace.rounds, trace.guarantee
    assert trace.final_regret() <= bound.regret_bound(T)
    assert each_row(trace) <= 1
    assert separately or (np.cumsum(trace.constraint) <= bound.bounds(t)["positive_sum"]).all()
    # Without a pull there is regret to bound, with one there are violations.
    assert trace.violations.sum_positive > 0 if pull else trace.final_regret() > 0


def queues(trace):
    """The queues after every round, from the actions: (T, runs, m), and what entered them."""
    constraint = trace.problem.constraint
    actions = np.concatenate([trace.actions, trace.next_action[None]])
    if actions.ndim == 2:
        actions = actions[:, None]
    asked = constraint.query_all if trace.guarantee.rows > 1 else constraint.query
    Q, found, entered = 0.0, [], []
    for x, new in pairwise(actions):
        g, s = asked(x)
        s = s if s.ndim == 3 else s[:, None]
        h = g + np.einsum("bmd,bd->bm", s, new - x)
        Q = np.maximum(Q + h, 0.0)
        found.append(Q)
        entered.append(g)
    steps = np.linalg.norm(np.diff(actions, axis=0), axis=-1, keepdims=True)
    return np.array(found), np.array(entered), steps


@pytest.mark.slow
@pytest.mark.parametrize("separately", [False, True])
@pytest.mark.parametrize("name", STREAMS)
def test_queues_are_bounded_and_bound_the_sum_of_g_with_the_moves(name, separately):
    T = 1_000
    problem = stream(name, T, separately=separately)
    make = DPP.tuned if separately else ScalarDPP.tuned
    trace = play(make(problem.constants, T), problem)
    Q, g, steps = queues(trace)
    assert (trace.guarantee.queue_bound(trace.rounds) >= np.linalg.norm(Q, axis=-1).T).all()
    # sum g <= Q_{T+1} + sum G_g |x_{t+1} - x_t|, in every round. An operation on numbers of the
    # size of the queues rounds by 2^-53 of it, and a round adds fewer than 8 such.
    rounding = 8 * T * 2.0**-53 * (1.0 + Q.max())
    G_g = problem.constants.G_g
    over = np.cumsum(g, axis=0) - Q - np.cumsum(G_g * steps, axis=0)
    assert over.max() <= rounding


def test_the_sum_of_the_maximum_outgrows_the_bound_of_each_row():
    # Why `sum_bounds` is silent for several queues: the maximum is often above each row's mean.
    problem = stream("paper toy", 2_000, separately=True)
    trace = play(DPP.tuned(problem.constants, 2_000), problem)
    _, g, _ = queues(trace)
    assert trace.violations.sum == pytest.approx(g.max(axis=-1).sum(axis=0))
    assert (g.max(axis=-1).sum(axis=0) > g.sum(axis=0).max(axis=-1) + 10).all()
