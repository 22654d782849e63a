"""Attacks aimed at one weakness each: the true g, exactly compared, is at most 0 in every round."""

from fractions import Fraction

import numpy as np
import pytest

from surefoot import Ball, Constants, Controller, Feedback
from surefoot.guarantees import PremiseError
from surefoot.knowledge import Curvature, CurvatureRows, Errors, LipschitzHull, Together
from surefoot.rules import (
    CertifiedDualAveraging,
    CertifiedOGD,
    LeaderFollower,
    RegionFilter,
    ValuesFollower,
)

SLOPE = np.array([1.0])
TINY = 2.0**-54 * 0.99  # below half of the last digit of numbers from 1/2 to 1


# --- steps below rounding -------------------------------------------------------------------------


@pytest.mark.slow
def test_steps_below_rounding_do_not_add_up_to_an_action_outside():
    # The limit is x <= 1. The first reading is as low as its error allows, the others are high:
    # what was certified before counts, and each step is too short to change it.
    nu = 0.25
    safe = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(value=nu)))
    state, rounds = safe.init(np.zeros(1)), 2_000
    for t in range(rounds):
        x = float(state.x[0])
        read = -1.0 - nu if t == 0 else x - 1.0 + 0.9 * nu
        proposal = x + (TINY if t < rounds - 1 else 10.0)
        state, info = safe.step(state, Feedback(None, read, SLOPE, proposal=np.array([proposal])))
        assert Fraction(float(state.x[0])) <= 1
        assert info.contradictions == ()
    assert state.x[0] > 1 - 1e-6  # it went as far as it may


def test_an_action_at_the_boundary_is_not_lost_to_readings_that_are_too_high():
    # What was certified is kept again in every round, and rounded outwards every time.
    nu, aim = 0.05, np.array([3.0, 1.0])
    safe = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=2.0, errors=Errors(value=nu)))
    state, s = safe.init(np.zeros(2)), np.array([0.6, 0.8])
    for t in range(400):
        g = float(s @ state.x) - 0.7
        state, _ = safe.step(state, Feedback(None, g + (nu if t > 20 else -nu), s, proposal=aim))
        if t == 20:
            there = state.x
    assert float(s @ there) > 0.69
    np.testing.assert_allclose(state.x, there, atol=1e-9)


def test_a_drift_below_rounding_does_not_add_up_to_an_action_outside():
    nu, wall, rounds = 0.25, Fraction(1), 2_000
    safe = RegionFilter(
        knowledge=LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(value=nu, drift=TINY))
    )
    state = safe.init(np.zeros(1))
    for t in range(rounds):
        x = float(state.x[0])
        read = -1.0 - nu if t == 0 else x - float(wall) + 0.9 * nu
        proposal = x + (0.0 if t < rounds - 1 else 10.0)
        state, _ = safe.step(state, Feedback(None, read, SLOPE, proposal=np.array([proposal])))
        wall -= Fraction(TINY)
        assert Fraction(float(state.x[0])) <= wall
    assert state.x[0] > 1 - 1e-6


@pytest.mark.slow
def test_a_follower_of_gradients_below_rounding_stays_inside():
    nu, rounds = 0.25, 2_000
    player = LeaderFollower(G_g=1.0, domain=Ball(1.0), cuts=2, value_error=nu)
    state = player.init(np.zeros(1))
    for t in range(rounds):
        x = float(state.x[0])
        read = -1.0 - nu if t == 0 else x - 1.0 + 0.9 * nu
        push = -TINY if t < rounds - 60 else -1e3
        state, _ = player.step(state, Feedback(np.array([push]), read, SLOPE))
        assert Fraction(float(state.x[0])) <= 1


# --- an action of somebody else, outside ----------------------------------------------------------


def bend(x):
    """A limit of curvature 1 where it is feasible, within 1, and of 100 beyond; its slope."""
    beyond = abs(x) - 1.0
    if beyond <= 0:
        return 0.5 * x * x - 0.5, x
    return beyond + 50.0 * beyond**2, np.sign(x) * (1.0 + 100.0 * beyond)


BENT_ERRORS = [
    Errors(),
    Errors(value=0.01),
    Errors(slope=0.01),
    Errors(value=0.01, drift=1e-3),
    Errors(value=0.01, slope=0.01, drift=1e-3),
]


@pytest.mark.slow
@pytest.mark.parametrize("errors", BENT_ERRORS)
@pytest.mark.parametrize("rows", [False, True])
def test_what_is_read_outside_does_not_certify_what_is_outside(errors, rows):
    # There the slope is longer than a curvature of 1 allows: it seemed to lead back in a short way.
    known = {"reach": 1.0, "errors": errors}
    known = CurvatureRows(beta=(1.0,), **known) if rows else Curvature(beta=1.0, **known)
    safe = RegionFilter(knowledge=known)
    for played in (1.1, -1.3, 1.0 + 1e-9, 9.0):
        state, x = safe.init(np.zeros(1)), np.zeros(1)
        for t in range(8):
            g, s = bend(float(x[0]))
            aim = np.array([3.0 if t % 4 < 2 else -3.0])
            seen = Feedback(None, g, np.array([s]), action=x, proposal=aim)
            state, info = safe.step(state, seen)
            assert Fraction(float(state.x[0])) ** 2 <= 1
            assert info.certificate.bound <= 0
            assert info.contradictions == ()
            x = np.array([played]) if t % 3 == 0 else state.x


def test_what_one_run_of_a_batch_reads_outside_does_not_certify_either():
    known = Curvature(beta=1.0, reach=1.0, errors=Errors(slope=0.01, drift=1e-3))
    safe = RegionFilter(knowledge=known)
    starts = np.array([[0.0], [0.2], [-0.3]])
    state, x = safe.init(starts), starts
    for t in range(8):
        g, s = (np.array([bend(float(v))[i] for v in x[:, 0]])[:, None] for i in (0, 1))
        state, _ = safe.step(state, Feedback(None, g, s, action=x, proposal=np.full((3, 1), 3.0)))
        assert (abs(state.x) <= 1).all()
        x = np.where([[t % 2 == 0], [False], [t == 3]], 1.2, state.x)


@pytest.mark.parametrize("errors", [Errors(), Errors(value=0.01), Errors(value=0.01, drift=1e-3)])
@pytest.mark.parametrize("other", ["hull", "curvature"])
def test_where_one_row_is_above_zero_the_others_certify_nothing(errors, other):
    # Beyond x[1] <= 0.5 the limit on x[0] reads low, by more than its constants allow inside.
    known = {"reach": 1.5, "errors": errors}
    first = LipschitzHull(G_g=1.0, **known) if other == "hull" else Curvature(beta=1.0, **known)
    safe = RegionFilter(knowledge=Together(rows=(first, Curvature(beta=0.0, **known))))
    x, slopes = np.zeros(2), np.eye(2)
    state = safe.init(x)
    for t in range(6):
        g = np.array([x[0] - 1.0 - 9.0 * max(x[1] - 0.5, 0.0), x[1] - 0.5])
        seen = Feedback(None, g, slopes, action=x, proposal=np.array([9.0, 0.3]))
        state, info = safe.step(state, seen)
        assert state.x[0] <= 1
        assert state.x[1] <= 0.5
        assert info.certificate.bound <= 0
        x = np.array([0.5, 1.0]) if t % 3 == 0 else state.x


# --- a ball that is too small ---------------------------------------------------------------------

SMALL = Constants(R=0.5, G_g=1.0, beta=0.0, start_slack=1.0)
"""The limit is x[0] <= 1: the feasible set is larger than its ball."""
PLAYERS = {
    "LeaderFollower": LeaderFollower.default(SMALL, None, Ball(0.5)),
    "ValuesFollower": ValuesFollower.default(SMALL, None, Ball(0.5)),
    "CertifiedOGD": CertifiedOGD.default(SMALL),
    "CertifiedDualAveraging": CertifiedDualAveraging.default(SMALL),
}


@pytest.mark.parametrize("name", ["LeaderFollower", "ValuesFollower"])
def test_the_ball_that_is_known_is_never_left(name):
    player, ahead = PLAYERS[name].algorithm, np.array([1.0, 0.0])
    s = None if name == "ValuesFollower" else ahead
    state = player.init(np.zeros(2))
    for _ in range(10):
        seen = Feedback(-ahead, float(state.x[0]) - 1.0, s)
        state, _ = player.step(state, seen)
        assert float(state.x @ state.x) <= 0.25 * (1 + 1e-12)


def test_a_filter_keeps_the_ball_that_it_is_given():
    safe, s = RegionFilter.default(SMALL, Ball(0.5)), np.array([1.0, 0.0])
    state, _ = safe.step(
        safe.init(np.zeros(2)), Feedback(None, -1.0, s, proposal=np.array([0.9, 0.0]))
    )
    assert state.x[0] <= 0.5


@pytest.mark.parametrize(
    "known",
    [
        LipschitzHull(G_g=1.0, reach=0.5),
        LipschitzHull(G_g=1.0, reach=0.5, errors=Errors(value=0.01)),
        Curvature(beta=0.0, reach=0.5),
        Curvature(beta=0.0, reach=0.5, errors=Errors(value=0.01, drift=1e-3)),
        CurvatureRows(beta=0.0, rows=1, reach=0.5),
        Together(rows=(LipschitzHull(G_g=1.0, reach=0.5), Curvature(beta=0.0, reach=0.5))),
    ],
)
def test_a_feasible_action_outside_of_the_ball_contradicts_the_ball(known):
    safe = RegionFilter(knowledge=known)
    rows = len(known.rows) if isinstance(known, Together) else 0
    state, s = safe.init(np.zeros(2)), np.array([1.0, 0.0])
    told = (np.full(rows, -1.0), np.tile(s, (rows, 1))) if rows else (-1.0, s)
    state, info = safe.step(state, Feedback(None, *told, proposal=np.array([0.4, 0.0])))
    assert info.contradictions == ()
    at = state._replace(x=np.array([0.9, 0.0]))
    low = (np.full(rows, -0.1), np.tile(s, (rows, 1))) if rows else (-0.1, s)
    _, info = safe.step(at, Feedback(None, *low, proposal=np.zeros(2)))
    (sentence,) = info.contradictions
    assert sentence.startswith("round 2: |x| = 0.9 and g is at most -0.")
    assert sentence.endswith(
        "no feasible point is longer than 0.5: the ball around the feasible set is too small"
    )
    # One that may be infeasible says nothing of it.
    high = (np.array([0.2, -0.1][:rows]), np.tile(s, (rows, 1))) if rows else (0.2, s)
    _, info = safe.step(at, Feedback(None, *high, proposal=np.zeros(2)))
    assert not any("ball" in sentence for sentence in info.contradictions)


@pytest.mark.parametrize("name", PLAYERS)
def test_a_controller_says_that_the_ball_is_too_small(name):
    s = None if name == "ValuesFollower" else [1.0, 0.0]

    def tell(loop):
        loop.ask()
        loop.tell(
            cost_gradient=[0.0, 0.0],
            constraint_value=-0.1,
            constraint_subgradient=s,
            action=[0.9, 0.0],
        )

    loop = Controller(PLAYERS[name], [0.0, 0.0])
    loop.ask()
    loop.tell(cost_gradient=[0.0, 0.0], constraint_value=-1.0, constraint_subgradient=s)
    with pytest.raises(PremiseError, match="the ball around the feasible set is too") as error:
        tell(loop)
    assert error.value.causes[0].startswith("the ball around the feasible set is too small")
