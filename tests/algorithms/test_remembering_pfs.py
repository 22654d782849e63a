"""Certified steps with remembered half-spaces: steps by hand, Theorem D, memory, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings

import surefoot as sf
from surefoot import Ball, Feedback
from surefoot.algorithms import CertifiedPFS, RememberingPFS, SeveralPFS
from surefoot.core.errors import InvalidValueError
from surefoot.problems import adversarial_cube, rotated_box

from ._known import gradients, inside, sets


def steps(**options):
    fixed = {"G_g": 1.0, "domain": Ball(1.0), "rho": 0.2, "decreasing": False, "eta": 0.5}
    return CertifiedPFS(**{**fixed, **options})


def test_a_face_of_an_earlier_round_still_cuts():
    # x[0] <= 0.5 and x[1] <= 0.4, tightened by 0.2; only the largest is seen in a round.
    A, b = np.eye(2), np.array([0.5, 0.4])
    player, state = RememberingPFS(base=steps(), cuts=4), None
    alone = steps()
    state, other = player.init(np.zeros(2)), alone.init(np.zeros(2))
    rounds = []
    for grad in ([0.0, -1.0], [-1.0, 0.0], [-1.0, 0.0], [-0.1, -1.0]):
        g = A @ state.x - b
        seen = Feedback(np.array(grad), float(g.max()), A[g.argmax()])
        state = player.update(state, seen)
        rounds.append(state.x)
    assert rounds[0][1] == pytest.approx(0.2, abs=1e-9)  # up to the first face
    assert (state.offsets > -1).sum() == 2
    # The last gradient pushes through the first face, and the second is the one that is seen.
    assert g.argmax() == 0
    assert state.x[1] <= 0.2 + 1e-9
    assert state.x[0] <= 0.3 + 1e-9
    # Without memory the same round goes through it.
    state = rounds[2]
    other = other._replace(x=state, rounds=3.0, start_slack=0.4)
    g = A @ state - b
    other = alone.update(other, Feedback(np.array([-0.1, -1.0]), float(g.max()), A[g.argmax()]))
    assert other.x[1] > 0.2 + 1e-3


def test_the_step_is_that_of_all_rows_seen_at_once():
    base = steps(rho=0.1)
    player = RememberingPFS(base=base, cuts=3)
    x, s = np.array([0.1, 0.0]), np.array([0.0, 1.0])
    state = player.init(np.zeros(2))
    state = player.update(state, Feedback(np.array([-0.1, 0.0]), -0.5, np.array([1.0, 0.0])))
    x = state.x
    after = player.update(state, Feedback(np.array([-1.0, -1.0]), -0.3, s))
    rows = np.array([[0.0, 1.0], [1.0, 0.0]])
    told = Feedback(np.array([-1.0, -1.0]), np.array([-0.3, x[0] - 0.5]), rows)
    expected = SeveralPFS(base=base, exact=True).update(state.base, told)
    np.testing.assert_allclose(after.x, expected.x, atol=1e-13)


@settings(max_examples=20, deadline=None)
@given(sets())
def test_no_round_is_outside(drawn):
    known, rng = drawn
    d = len(known.domain.centre)
    base = steps(
        G_g=known.constraint.subgradient_bound(known.domain),
        domain=known.domain,
        rho=0.3 * known.domain.radius,
        decreasing=True,
        eta=None,
        evaluation_error=known.constraint.evaluation_error(known.domain),
    )
    player, gradient = RememberingPFS(base=base, cuts=3), gradients(known, rng, d)
    state = player.init(inside(known, rng))
    for _ in range(50):
        g, s = known.constraint.query(state.x)
        assert g <= 0
        # Theorem D's distance: what the certificate counts on is true.
        if state.base.rounds:
            rho = min(0.5 * state.base.start_slack, base.rho / np.sqrt(state.base.rounds + 1))
            far = known.distance(state.x, rho)
            assert far <= state.base.distance + 1e-9 * known.domain.radius
        state = player.update(state, Feedback(gradient(state.x), g, s))


@pytest.mark.parametrize("adversary", ["corners", "alternating"])
def test_theorem_d_holds_as_it_is(adversary):
    cube = adversarial_cube(adversary, horizon=150, dimension=4)
    trace = sf.play(RememberingPFS.default(cube.constants, 150, cube.domain), cube)
    assert trace.violations.worst <= 0
    assert (trace.final_regret() <= trace.guarantee.regret_bound(150)).all()


@pytest.mark.slow
def test_where_many_faces_meet_memory_pays():
    box = rotated_box(20, horizon=400, trials=2, seed=3)
    means = []
    for rule in (CertifiedPFS, RememberingPFS):
        trace = sf.play(rule.default(box.constants, 400, box.domain), box, watch="off")
        assert np.max(trace.violations.worst) <= 0
        means.append(float(np.mean(trace.final_regret())))
    assert means[1] < 0.8 * means[0]


def test_the_memory_keeps_a_row_once_and_forgets_the_furthest():
    player = RememberingPFS(base=steps(), cuts=2)
    state = player.init(np.zeros(2))
    still = np.zeros(2)
    for g, s in ((-0.5, [1.0, 0.0]), (-0.5, [1.0, 0.0]), (-0.45, [1.0, 0.0])):
        state = player.update(state, Feedback(still, g, np.array(s)))
    assert (state.offsets > -1).sum() == 1
    assert state.offsets[0] == -0.45  # the deeper of two cuts with one slope
    state = player.update(state, Feedback(still, -0.4, np.array([0.0, 1.0])))
    state = player.update(state, Feedback(still, -0.3, np.array([0.0, -1.0])))
    assert state.slopes.tolist() == [[0.0, -1.0], [0.0, 1.0]]
    after = player.update(state, Feedback(still, -0.3, np.zeros(2)))
    assert after.slopes.tolist() == state.slopes.tolist()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"cuts": 0}, "cuts must be a whole number >= 1, got 0"),
        ({"base": Ball(1.0)}, "base must be a CertifiedPFS, got Ball"),
    ],
)
def test_bad_parameters_are_refused_with_one_sentence(options, sentence):
    with pytest.raises(InvalidValueError) as error:
        RememberingPFS(**{"base": steps(), **options})
    assert str(error.value).startswith(sentence)


def test_errors_that_remembered_half_spaces_do_not_allow_for_are_refused():
    with pytest.raises(InvalidValueError, match="base must be told no drift"):
        RememberingPFS(base=steps(drift=0.1))
    player = RememberingPFS(base=steps())
    seen = Feedback(np.ones(2), -0.5, np.array([0.0, 1.0]), None, 0.01)
    with pytest.raises(InvalidValueError, match="value_error must be None"):
        player.update(player.init(np.zeros(2)), seen)
