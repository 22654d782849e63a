"""Values and curvature: the error of differences, feasibility, the way back, bad input."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot import Ball, Constants, Feedback
from surefoot.certified import Certified
from surefoot.controller import Controller
from surefoot.core.errors import InvalidTypeError, InvalidValueError
from surefoot.knowledge import Curvature, Errors, PointCertificate
from surefoot.proposers.proposals import Proposals
from surefoot.rules import CertifiedDualAveraging, Measuring, ValuesAveraging

SEEDS = st.integers(0, 2**32 - 1)


class Bowl:
    """The convex quadratic (x'Px - depth)/2, its curvature, and the radius of its set."""

    def __init__(self, rng, d):
        Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        spread = np.geomspace(1.0, 10 ** rng.uniform(0, 1.5), d)
        self.P, self.depth = Q @ np.diag(spread) @ Q.T, 10 ** rng.uniform(-1, 0.5)
        self.beta, self.radius = float(spread[-1]) * (1 + 1e-9), math.sqrt(self.depth) * (1 + 1e-9)

    def value(self, x):
        return 0.5 * (float(x @ self.P @ x) - self.depth)

    def slope(self, x):
        return self.P @ x


def rule(bowl, **options):
    told = {"share": options.pop("share", 0.1)}
    errors = Errors(value=options.pop("value_error", 0.0))
    known = Curvature(**{"beta": bowl.beta, "reach": bowl.radius, "errors": errors, **options})
    steep = bowl.beta * bowl.radius
    return ValuesAveraging(knowledge=known, radius=bowl.radius, start_slope=steep, **told)


def play(player, bowl, rng, rounds, noise=0.0, lies=None):
    """Every round (state before, value, state after, info) of an attack with value errors."""
    d = len(bowl.P)
    state, aim = player.init(0.2 * bowl.radius * rng.normal(size=d) / d), rng.normal(size=d)
    for _ in range(rounds):
        x = state.x
        if rng.random() < 0.05:
            aim = rng.normal(size=d)
        push = -bowl.slope(x) if rng.random() < 0.3 else aim
        lie = noise * rng.choice([-1.0, 1.0]) if lies is None else lies
        g = bowl.value(x)
        after, info = player.step(state, Feedback(push, g + lie, None))
        yield state, g, after, info
        state = after


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(SEEDS, st.sampled_from([0.0, 1e-6, 1e-3]))
def test_no_round_is_outside_and_slopes_err_by_no_more_than_is_said(seed, share):
    rng = np.random.default_rng(seed)
    bowl = Bowl(rng, int(rng.integers(1, 4)))
    noise = share * bowl.depth
    player = rule(bowl, value_error=noise)
    for _, g, after, info in play(player, bowl, rng, 40, noise):
        assert g <= 0
        assert info.contradictions == ()
        assert np.linalg.norm(after.slope - bowl.slope(after.origin)) <= after.error
        assert bowl.value(after.x) <= after.bound + 1e-12 * bowl.depth


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_no_round_is_outside_where_the_error_of_a_value_changes_from_round_to_round(seed):
    rng = np.random.default_rng(seed)
    bowl = Bowl(rng, int(rng.integers(1, 4)))
    player = rule(bowl, share=rng.uniform(0.05, 0.5))
    state, aim = player.init(np.zeros(len(bowl.P))), rng.normal(size=len(bowl.P))
    for _ in range(40):
        g = bowl.value(state.x)
        assert g <= 0
        # The base of a probe is often read badly and its ends well.
        bad = rng.random() < (0.2 if state.probing >= 0 else 0.6)
        nu = bowl.depth * 10 ** rng.uniform(-4, -1) if bad else 0.0
        lie = nu * rng.choice([-1.0, -1.0, 1.0])
        state, info = player.step(state, Feedback(-aim, g + lie, value_error=nu))
        assert info.contradictions == ()
        assert np.linalg.norm(state.slope - bowl.slope(state.origin)) <= state.error
        if rng.random() < 0.05:
            aim = rng.normal(size=len(bowl.P))


def test_the_base_of_a_probe_keeps_the_error_of_its_own_value():
    # g = x^2 - 0.25 at 0 is read as -0.248 with an error of 0.002, hence delta = sqrt(8 nu/beta);
    # the probe is read exactly: the slope errs by beta delta/4 + nu/delta.
    known = Curvature(beta=2.0, reach=0.5)
    player = ValuesAveraging(knowledge=known, radius=0.5, start_slope=1.0)
    state = player.init(np.zeros(1))
    state, info = player.step(state, Feedback(np.array([-1.0]), -0.248, value_error=0.002))
    delta = math.sqrt(8 * 0.002 / 2.0)
    assert state.probing >= 0
    assert abs(state.x[0]) == pytest.approx(delta)
    probe = state.x[0]
    state, info = player.step(state, Feedback(np.array([-1.0]), probe**2 - 0.25, value_error=0.0))
    assert state.probing < 0
    assert state.error == pytest.approx(2.0 * delta / 4 + 0.002 / delta, abs=1e-9)
    # What follows is certified from the base, where g is at most -0.248 + 0.002.
    assert info.certificate.bound <= 0
    assert state.x[0] ** 2 - 0.25 <= info.certificate.bound


def test_the_slope_is_measured_by_hand():
    # g = x^2 - 0.25 at 0: the probe goes to 0.01 (no slope is known, so up), where the difference
    # is 0.01, less beta delta/4 = 0.005.
    known = Curvature(beta=2.0, reach=0.5)
    player = ValuesAveraging(knowledge=known, radius=0.5, start_slope=1.0, length=0.01)
    state = player.init(np.zeros(1))
    state, info = player.step(state, Feedback(np.array([-1.0]), -0.25, None))
    assert state.probing >= 0
    assert abs(state.x[0]) == 0.01
    assert info.certificate.bound == pytest.approx(-0.25 + 0.01 + 1e-4, abs=1e-9)
    side = math.copysign(1.0, state.x[0])
    state, info = player.step(state, Feedback(np.array([-1.0]), 1e-4 - 0.25, None))
    assert state.probing < 0
    assert state.slope[0] == pytest.approx(side * 0.005)
    assert state.error == pytest.approx(0.005, abs=1e-9)
    # Then as far as g + keep + (s + tau) p + p^2 <= 0 allows, from 0.
    keep = (0.1 * 0.005 + 0.005) * 0.01 + 1e-4
    up = 0.005 * side + 0.005
    expected = 0.5 * (-up + math.sqrt(up * up + 4 * (0.25 - keep)))
    assert state.x[0] == pytest.approx(expected, abs=1e-4)


def test_few_rounds_are_probes_and_the_regret_is_close_to_that_with_slopes():
    rng = np.random.default_rng(3)
    prices = rng.uniform([0.2, 0.6], [0.8, 1.3], size=(400, 2))
    known = Curvature(beta=1.6, reach=0.9)
    income, players = (
        {},
        {
            "slopes": CertifiedDualAveraging(knowledge=known, radius=0.9),
            "values": ValuesAveraging(knowledge=known, radius=0.9, start_slope=2.0),
        },
    )
    for name, player in players.items():
        state, total, probes = player.init(np.zeros(2)), 0.0, 0
        for price in prices:
            x = state.x
            g = 0.8 * x[0] ** 2 + 0.5 * x[1] ** 2 - 0.4
            assert g <= 0
            total += price @ x
            slope = np.array([1.6 * x[0], x[1]])
            state, _ = player.step(state, Feedback(-price, g, slope if name == "slopes" else None))
            probes += name == "values" and state.probing >= 0
        income[name] = total
    assert 2 <= probes <= 40
    assert income["values"] >= income["slopes"] - 5.0


def test_where_no_probe_is_certified_the_action_goes_back():
    bowl = Bowl(np.random.default_rng(1), 2)
    player = rule(bowl)
    *_, (_, _, state, _) = play(player, bowl, np.random.default_rng(2), 30)
    # At the boundary, with a slope that was measured far away.
    edge = np.array([1.0, 0.0])
    edge *= math.sqrt(bowl.depth / (edge @ bowl.P @ edge)) * (1 - 1e-9)
    state = state._replace(x=edge, origin=-edge, probing=-1, bound=math.inf)
    push = Feedback(-bowl.slope(edge), bowl.value(edge), None)
    back, info = player.step(state, push)
    assert isinstance(info.certificate, PointCertificate)
    assert info.cut
    assert "of the way back" in str(info.certificate)
    assert bowl.value(back.x) <= info.certificate.bound <= 0
    # And there it is measured.
    again, info = player.step(back, push._replace(constraint_value=bowl.value(back.x)))
    assert again.probing >= 0
    assert bowl.value(again.x) <= 0


# --- rounds without a value, actions that an actuator chose, any proposer ------------------------


def test_a_round_without_a_value_is_played_again():
    bowl = Bowl(np.random.default_rng(1), 2)
    player = rule(bowl)
    first = player.init(np.zeros(2))
    assert player.step(first, Feedback(np.ones(2)))[0].x is first.x
    state, _ = player.step(first, Feedback(np.ones(2), bowl.value(first.x)))
    assert state.probing == 0
    again, info = player.step(state, Feedback(np.ones(2)))
    assert (again.x == state.x).all()
    assert again.probing == 0
    assert info.certificate.bound == state.bound
    assert again.learner.gradients.tolist() == [[2.0, 2.0]]
    # Held somewhere else, the probe is given up, and nothing is said of that place.
    held = player.rest(state, 0.5 * state.x)
    assert held.probing == -1
    after, info = player.step(held, Feedback(np.ones(2)))
    assert bowl.value(after.x) <= info.certificate.bound <= 0


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(SEEDS, st.sampled_from([0.0, 1e-3]))
def test_no_round_is_outside_where_actuators_and_sensors_fail(seed, share):
    rng = np.random.default_rng(seed)
    bowl = Bowl(rng, int(rng.integers(1, 4)))
    noise = share * bowl.depth
    player = rule(bowl, value_error=noise)
    state, aim = player.init(np.zeros(len(bowl.P))), rng.normal(size=len(bowl.P))
    for t in range(50):
        assert bowl.value(state.x) <= 0
        played = state.x
        if rng.random() < 0.3:  # a little less of each entry, or half of the way
            off = 1e-6 * rng.random(len(aim)) if rng.random() < 0.7 else 0.5
            played = played * (1.0 - off)
        if rng.random() < 0.1:
            aim = rng.normal(size=len(aim))
        value = None if t and rng.random() < 0.2 else bowl.value(played)
        if value is not None:
            value += noise * rng.choice([-1.0, 1.0])
        state, info = player.step(state, Feedback(aim, value, action=played))
        assert info.contradictions == ()
        assert np.linalg.norm(state.slope - bowl.slope(state.origin)) <= state.error


def test_a_probe_that_is_played_nearly_is_read_with_its_error():
    known = Curvature(beta=2.0, reach=0.5)
    player = ValuesAveraging(knowledge=known, radius=0.5, start_slope=1.0, length=0.01)
    state = player.init(np.zeros(2))
    state, _ = player.step(state, Feedback(-np.ones(2), -0.25))
    played = np.array([-0.02, 1e-4])
    after, _ = player.step(
        state, Feedback(-np.ones(2), float(played @ played) - 0.25, action=played)
    )
    assert after.probing == 1
    # beta |d|^2/4 and the slope of at most 1 across, over the 0.02 that it moved.
    doubt = (2.0 * float(played @ played) / 4 + 1e-4) / 0.02
    assert math.sqrt(after.doubts) == pytest.approx(doubt, rel=1e-3)
    far = np.array([-0.02, 0.015])
    after, _ = player.step(state, Feedback(-np.ones(2), float(far @ far) - 0.25, action=far))
    assert (after.base == far).all()


def test_proposals_are_filtered_by_values_and_curvature():
    known = Curvature(beta=2.0, reach=1.0, domain=Ball(1.0))
    base = Certified(proposer=Proposals(), knowledge=known)
    safe = Measuring(base=base, start_slope=2.0)
    assert type(safe).__name__ == "Measuring"
    assert type(ValuesAveraging(knowledge=known, radius=1.0, start_slope=2.0)).__name__ == (
        "ValuesAveraging"
    )
    assert safe.needs.proposals == 1
    state = safe.init(np.zeros(2))
    for _ in range(40):  # the limit is |x|^2 <= 0.25
        g = float(state.x @ state.x) - 0.25
        assert g <= 0
        state = safe.update(state, Feedback(None, g, proposal=np.array([0.6, 0.8])))
    np.testing.assert_allclose(state.x, [0.3, 0.4], atol=0.01)


@pytest.mark.slow
def test_a_curvature_that_is_too_small_leads_outside_and_is_named():
    named = outside = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        bowl = Bowl(rng, 2)
        player = rule(bowl, beta=bowl.beta / 20)
        for _, g, _, info in play(player, bowl, rng, 40):
            outside += g > 0
            named += any("is too small" in sentence for sentence in info.contradictions)
    assert outside > 0
    assert named > 0


def test_a_controller_goes_on_in_the_middle_of_a_probe(tmp_path):
    path = tmp_path / "bowl.journal"
    c = Constants(R=0.9, beta=1.6, G_g=2.0, start_slack=0.4)
    with Controller(ValuesAveraging.default(c), np.zeros(2), journal=path) as loop:
        for _ in range(2):
            x = loop.ask()
            heat = 0.8 * x[0] ** 2 + 0.5 * x[1] ** 2 - 0.4
            loop.tell(cost_gradient=[-0.5, -0.9], constraint_value=heat)
        state = loop.state
        assert state.probing >= 0
    with Controller.open(path) as again:
        assert (again.ask() == state.x).all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"knowledge": Curvature(beta=1.0, reach=1.0, errors=Errors(drift=0.1))},
            "knowledge must be a Curvature without drift and slope_error, because slopes",
        ),
        (
            {"knowledge": Curvature(beta=1.0, reach=1.0, errors=Errors(slope=0.1))},
            "knowledge must be a Curvature without drift and slope_error, because slopes",
        ),
        (
            {"knowledge": 1.0},
            "knowledge must be a Curvature or CurvatureRows for CertifiedDualAveraging, got 1.0",
        ),
        ({"stretch": 1.0}, "ValuesAveraging has no parameter 'stretch'"),
        ({"start_slope": 0.0}, "start_slope must be a finite number > 0, got 0.0"),
        ({"share": -1.0}, "share must be a finite number > 0, got -1.0"),
        ({"length": 0.0}, "length must be a finite number > 0, got 0.0"),
        ({"length": 1e-18}, "length must be above the rounding of an action, got 1e-18"),
    ],
)
def test_bad_parameters_are_refused_with_one_sentence(options, sentence):
    good = {"knowledge": Curvature(beta=1.0, reach=1.0), "radius": 1.0, "start_slope": 1.0}
    with pytest.raises((InvalidValueError, InvalidTypeError)) as error:
        ValuesAveraging(**{**good, **options})
    assert str(error.value).startswith(sentence)


def test_a_start_without_slack_and_several_runs_are_refused():
    player = rule(Bowl(np.random.default_rng(1), 2))
    with pytest.raises(InvalidValueError, match="the start must be strictly feasible"):
        player.update(player.init(np.zeros(2)), Feedback(np.ones(2), 0.0, None))
    with pytest.raises(InvalidValueError, match="x1 must be the action of one run"):
        player.init(np.zeros((3, 2)))
