"""The certified length: runs and batches, readings that are old, rounds without one."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.rules._known import after_rounds

from surefoot import Ball, Feedback
from surefoot.core.errors import InvalidValueError
from surefoot.knowledge import CertifiedLength, EmptyRegionError, Errors, Reading
from surefoot.rules import CertifiedPFS, SafetyFilter

NUMBERS = st.floats(0.0, 1.0)


@settings(max_examples=150)
@given(
    g=st.floats(-1.0, 0.2),
    slack=st.floats(0.01, 1.0),
    rho=st.floats(1e-12, 1.0),
    distance=NUMBERS,
    slope_norm=st.floats(1e-3, 1.0),
    rounds=st.sampled_from([0.0, 1.0, 7.0]),
    decreasing=st.booleans(),
    sigma=st.sampled_from([None, 0.3]),
    errors=st.sampled_from([{}, {"value": 0.01}, {"value": 1e-3, "slope": 0.1, "drift": 1e-4}]),
)
def test_one_run_and_a_batch_have_the_same_certified_length(
    g, slack, rho, distance, slope_norm, rounds, decreasing, sigma, errors
):
    known = CertifiedLength(
        G_g=1.25,
        domain=Ball(2.0),
        rho=rho,
        decreasing=decreasing,
        sigma=sigma,
        errors=Errors(**errors),
    )
    x, start, s = np.array([0.3, -0.4]), np.array([-0.1, 0.2]), np.array([0.6, 0.8]) * slope_norm
    if rounds == 0 and g > -0.02:
        return  # what one run refuses
    memory = known.init(x)
    if rounds:
        memory = after_rounds(known, x, start, distance, rounds, slack)
    alone = known.observe(memory, Reading(x, g, s, known.errors))
    column = type(memory)(*(np.array([[v]]) if np.ndim(v) == 0 else v[None] for v in memory))
    batch = known.observe(column, Reading(x[None], np.array([[g]]), s[None], known.errors))
    for name, wanted in alone._asdict().items():
        made = np.ravel(getattr(batch, name))
        np.testing.assert_allclose(made, np.ravel(wanted), rtol=1e-14, atol=1e-300, err_msg=name)
    ours, theirs = (known.region(seen, known.errors) for seen in (alone, batch))
    assert np.ravel(theirs.longest) == pytest.approx(ours.longest, rel=1e-14)
    assert np.ravel(theirs.point).tolist() == ours.point.tolist()


def test_an_evaluation_error_below_the_rounding_of_a_linear_g_changes_nothing():
    margins = [
        CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.1, evaluation_error=error).knowledge.margins(
            2
        )
        for error in (0.0, 1e-18, 1e-10)
    ]
    assert margins[0] == margins[1]
    assert margins[2][0] == pytest.approx(1e-10 + 8 * 2.0**-53, rel=1e-12)


# --- old readings, and rounds without one ---------------------------------------------------------


def play(player, drift, rng, *, missing=0.0, late=0, rounds=120, d=2):
    """Play against a polytope whose walls come nearer, and go away again.

    Returns all values of g, and how many rounds contradicted something, or their certificate.
    """
    A = rng.normal(size=(3 * d, d))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    A = np.vstack([A, np.eye(d), -np.eye(d)])
    b = np.append(rng.uniform(0.2, 0.8, 3 * d), np.full(2 * d, 0.9))
    shift, sign, seen, found, wrong, bound = 0.0, 1.0, [], [], 0, 0.0
    state = player.init(np.zeros(d))
    for t in range(rounds):
        rows = A @ state.x - b + shift
        i = int(rows.argmax())
        found.append(float(rows[i]))
        wrong += rows[i] > bound
        seen.append((state.x, float(rows[i]), A[i]))
        pull = -A[rng.integers(len(A))] if t % 2 else -A[i]
        told = {"proposal": state.x - pull} if player.needs.proposals else {"cost_gradient": pull}
        if t >= late and (t == late or rng.random() >= missing):
            x, g, s = seen[t - late]
            told |= {"constraint_value": g, "constraint_subgradient": s, "action": x, "age": late}
        if rng.random() < 0.05:
            sign = -sign
        shift = min(max(shift + sign * drift, 0.0), 0.4 * float(b.min()))
        try:
            state, info = player.step(state, Feedback(**told))
        except EmptyRegionError:  # said in time
            break
        wrong += bool(info.contradictions)
        bound = info.certificate.bound if info.certificate else 0.0
    return found, wrong


@pytest.mark.parametrize("late", [0, 2, 5])
@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_old_readings_and_rounds_without_one_lead_nowhere_outside(missing, late, each_engine):
    rounds, seeds = 0, 6 if each_engine == "kernel" else 2
    for seed in range(seeds):
        rng, drift = np.random.default_rng(seed), (1e-3, 3e-3)[seed % 2]
        parts = {"G_g": 1.0, "domain": Ball(1.3), "rho": 0.01, "drift": drift}
        for player in (CertifiedPFS(decreasing=False, **parts), SafetyFilter(**parts)):
            found, wrong = play(player, drift, rng, missing=missing, late=late)
            assert max(found) <= 0
            assert wrong == 0
            rounds += len(found)
    assert rounds > 100 * seeds


def test_told_a_quarter_of_the_drift_the_same_attack_leads_outside():
    outside = 0
    for seed in range(6):
        parts = {"G_g": 1.0, "domain": Ball(1.3), "rho": 0.01, "drift": 1e-3}
        found, _ = play(SafetyFilter(**parts), 4e-3, np.random.default_rng(seed), missing=0.5)
        outside += max(found) > 0
    assert outside > 0


def test_an_action_that_drift_may_have_put_outside_is_not_certified(each_engine):
    safe = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.05, drift=0.04)
    told = Feedback(None, -0.5, np.array([1.0, 0.0]), proposal=np.array([9.0, 0.0]))
    state, _ = safe.step(safe.init(np.zeros(2)), told)
    told = Feedback(None, -0.02, np.array([1.0, 0.0]), proposal=state.x)
    after, info = safe.step(state, told)
    assert not info.region.contains(state.x)
    assert after.x[0] < state.x[0]
    # And further on the way to the anchor in every round that nobody measures.
    further, info = safe.step(after, Feedback(proposal=after.x))
    assert info.certificate.bound <= 0
    assert further.x[0] <= after.x[0]


def test_an_anchor_that_drift_has_used_up_is_no_wrong_start(each_engine):
    safe = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.05, drift=0.2)
    state = safe.init(np.zeros(2))
    s = np.array([1.0, 0.0])
    state, _ = safe.step(state, Feedback(None, -0.3, s))
    state = safe.rest(state, state.x)  # somebody holds it where nothing is certified
    with pytest.raises(EmptyRegionError, match="no next action is certified"):
        safe.step(state, Feedback(None, 0.1, s))
    with pytest.raises(InvalidValueError, match="the start must be strictly feasible"):
        safe.step(safe.init(np.zeros(2)), Feedback(None, 0.0, s))


def test_the_margin_of_a_first_reading_that_is_old_is_that_of_round_one():
    player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.2)
    x, s = np.zeros(2), np.array([1.0, 0.0])
    now, _ = player.step(player.init(x), Feedback(-s, -0.5, s))
    old, _ = player.step(player.init(x), Feedback(-s, -0.5, s, action=x, age=5))
    np.testing.assert_array_equal(now.x, old.x)


@pytest.mark.parametrize("rho", [0.2, 0.05])
def test_the_pull_of_an_old_reading_by_hand(rho):
    # Of the start, -1 at 0 in round 1; then, in round 4, what was read outside in round 2.
    errors = Errors(drift=0.02)
    known = CertifiedLength(G_g=2.0, domain=Ball(9.0), rho=rho, errors=errors)
    a, x = np.zeros(2), np.array([0.5, 0.0])
    memory = known.observe(known.init(a), Reading(a, -1.0, np.array([2.0, 0.0]), errors))
    memory = known.age(known.age(memory, np.zeros(1)), np.zeros(1))
    memory = known.observe(memory, Reading(x, 0.1, np.array([3.0, 0.0]), errors, 2))
    # By G_g it would be 0.02 (1 + rho)/(1 - rho) at most; but G_g holds at feasible points alone.
    upper = 0.1
    assert memory.upper == pytest.approx(upper)
    assert memory.is_pulled
    # theta = (g + max(rho, kv))/(g + alpha), three rounds after the reading, alpha in its round.
    depth = max(rho, 3 * 0.02)
    share = (upper + depth) / (upper + 0.98)
    there = (1 - share) * x
    region = known.region(memory, errors)
    assert region.nearest(x) == pytest.approx(there, abs=1e-10)
    assert region.certificate(region.nearest(x)).bound == pytest.approx(3 * 0.02 - depth, abs=1e-10)
    for _ in range(8):
        memory = known.age(memory, np.zeros(1))
    # Eleven rounds after it, on the way from -depth to -0.98 as far as -0.22.
    further = (0.22 - depth) / (0.98 - depth)
    region = known.region(memory, errors)
    assert region.nearest(x) == pytest.approx((1 - further) * there, abs=1e-10)
    assert not region.contains(there)


# Under a drift of v an anchor that was read k rounds ago has its slack less kv. It is the start
# until another action is known to be deeper, and as old as the last reading made there.
DRIFT, START, AWAY = 2.0**-7, np.array([0.0, 0.0]), np.array([0.25, 0.0])
SLOPE = np.array([1.0, 0.0])


def read_in_turn(*readings, error=0.0):
    """Return the memory after readings of a g that drifts, in rounds 1, 2, ..."""
    errors = Errors(drift=DRIFT, value=error)
    known = CertifiedLength(G_g=1.0, domain=Ball(2.0), rho=0.1, errors=errors)
    memory = known.init(START)
    for x, g in readings:
        memory = known.observe(memory, Reading(x, g, SLOPE, known.errors))
    return known, memory


def slack_in_next_round(known, memory):
    return float(known._slack(memory, memory.rounds + 1.0, known.errors))


def test_an_anchor_that_is_read_again_is_as_old_as_that_reading():
    # g has risen as fast as it may: what is known of the start in round 4 is what was read in 3.
    known, memory = read_in_turn((START, -0.5), (AWAY, -0.25), (START, -0.5 + 2 * DRIFT))
    assert memory.anchor.tolist() == START.tolist()
    assert memory.since == 3.0
    assert slack_in_next_round(known, memory) == pytest.approx(0.5 - 3 * DRIFT, abs=1e-12)
    # It has risen less: the reading is better than what the first one still says.
    known, memory = read_in_turn((START, -0.5), (AWAY, -0.25), (START, -0.5))
    assert memory.since == 3.0
    assert slack_in_next_round(known, memory) == pytest.approx(0.5 - DRIFT, abs=1e-12)


def test_it_is_so_where_the_reading_says_less_than_what_was_known():
    # The first reading was right; the last is too high by its whole error.
    e = 2.0**-6
    readings = ((START, -0.5), (AWAY, -0.25), (START, -0.5 + 2 * DRIFT + e))
    known, memory = read_in_turn(*readings, error=e)
    assert memory.anchor.tolist() == START.tolist()
    assert memory.since == 3.0
    assert slack_in_next_round(known, memory) == pytest.approx(0.5 - e - 3 * DRIFT, abs=1e-12)


def test_a_deeper_action_is_the_next_anchor():
    known, memory = read_in_turn((START, -0.5), (-AWAY, -0.75))
    assert memory.anchor.tolist() == (-AWAY).tolist()
    assert memory.since == 2.0
    assert slack_in_next_round(known, memory) == pytest.approx(0.75 - DRIFT, abs=1e-12)


def test_an_action_that_is_less_deep_than_the_anchor_still_is_leaves_it():
    # In round 2 the start is known to have 0.5 - v; 0.5 - 2v is less, and 0.5 - v/2 is more.
    known, memory = read_in_turn((START, -0.5), (AWAY, -0.5 + 2 * DRIFT))
    assert memory.anchor.tolist() == START.tolist()
    assert memory.since == 1.0
    assert slack_in_next_round(known, memory) == pytest.approx(0.5 - 2 * DRIFT, abs=1e-12)
    _, memory = read_in_turn((START, -0.5), (AWAY, -0.5 + DRIFT / 2))
    assert memory.anchor.tolist() == AWAY.tolist()
