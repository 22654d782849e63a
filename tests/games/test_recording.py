"""Thinning keeps paths short and leaves sums, extremes and counts as they are."""

import numpy as np
import pytest

from surefoot import PFS, Ball, play, problems
from surefoot.core.errors import InvalidValueError
from surefoot.games import violations
from surefoot.games.record import block_length
from surefoot.problems import adversarial_cube

ENGINES = pytest.mark.parametrize("engine", ["loop", "batch", "scan"])
PLAYER = PFS(eta=0.02, rho=0.0, domain=Ball(1.0))  # no tightening: it does violate
T = 230


@pytest.fixture(scope="module")
def toy():
    return problems.binding_toy(T, trials=2)


@ENGINES
@pytest.mark.parametrize("every", [7, 100, 1_000, None])
def test_thinning_changes_no_total_no_violation_and_no_extreme(toy, engine, every):
    full = play(PLAYER, toy, engine=engine)
    thin = play(PLAYER, toy, engine=engine, every=every)
    assert full.violations.count.min() > 0
    for name in full.violations._fields:
        a, b = getattr(thin.violations, name), getattr(full.violations, name)
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(thin.total_cost, full.total_cost)
    np.testing.assert_array_equal(thin.next_action, full.next_action)
    np.testing.assert_array_equal(thin.observed.cost_gradient, full.observed.cost_gradient)
    at = thin.rounds - 1
    for name in ("actions", "cost", "cost_sum", "constraint"):
        np.testing.assert_array_equal(getattr(thin, name), getattr(full, name)[at])
    np.testing.assert_array_equal(full.peak, full.constraint)
    np.testing.assert_array_equal(thin.peak, largest_between(full.constraint, thin.rounds))


def largest_between(g, rounds):
    """From its definition: the largest of the rounds after the kept one before."""
    before = [0, *rounds[:-1]]
    return np.stack([g[low:high].max(axis=0) for low, high in zip(before, rounds, strict=True)])


@ENGINES
def test_the_record_is_what_the_actions_say(toy, engine):
    trace = play(PLAYER, toy, engine=engine)
    costs, g = toy.costs, toy.constraint
    cost = np.stack([costs.value(t, x)[:, 0] for t, x in enumerate(trace.actions)])
    values = np.stack([g.value(x)[:, 0] for x in trace.actions])
    slopes = np.linalg.norm([costs.gradient(t, x) for t, x in enumerate(trace.actions)], axis=-1)
    np.testing.assert_allclose(trace.cost, cost, rtol=1e-13)
    np.testing.assert_allclose(trace.cost_sum, np.cumsum(cost, axis=0), rtol=1e-13)
    np.testing.assert_allclose(trace.total_cost, cost.sum(axis=0), rtol=1e-13)
    np.testing.assert_array_equal(trace.cost_sum[-1], trace.total_cost)
    np.testing.assert_allclose(trace.constraint, values, rtol=0, atol=1e-15)
    np.testing.assert_allclose(trace.observed.cost_gradient, slopes.max(axis=0), rtol=1e-13)
    np.testing.assert_array_equal(trace.observed.constraint_subgradient, [1.0, 1.0])
    for seen, wanted in zip(trace.violations, violations(trace.constraint), strict=True):
        np.testing.assert_allclose(seen, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    ("horizon", "every", "kept"),
    [
        (1, 1, [1]),
        (1, None, [1]),
        (1, 5, [1]),
        (6, 1, [1, 2, 3, 4, 5, 6]),
        (6, 3, [3, 6]),
        (6, 4, [4, 6]),
        (6, 7, [6]),
        (6, None, [6]),
    ],
)
@ENGINES
def test_every_kth_round_is_kept_and_the_last(toy, engine, horizon, every, kept):
    trace = play(PLAYER, toy, engine=engine, horizon=horizon, every=every)
    assert trace.rounds.tolist() == kept
    assert trace.horizon == horizon
    assert trace.actions.shape == (len(kept), 2, 2)
    assert np.isfinite(trace.actions).all()


@ENGINES
@pytest.mark.parametrize("every", [3, 3_000])
@pytest.mark.slow
def test_peaks_are_carried_over_the_borders_of_blocks(engine, every):
    toy = problems.binding_toy(5_000, trials=2)
    full = play(PLAYER, toy, engine=engine)
    thin = play(PLAYER, toy, engine=engine, every=every)
    np.testing.assert_array_equal(thin.peak, largest_between(full.constraint, thin.rounds))
    assert (thin.peak.max(axis=0) == full.violations.largest).all()


@ENGINES
def test_actions_are_left_out_when_not_wanted(toy, engine):
    bare = play(PLAYER, toy, engine=engine, keep_actions=False)
    assert bare.kept_actions is None
    with pytest.raises(InvalidValueError, match="actions must be kept to be read"):
        _ = bare.actions
    full = play(PLAYER, toy, engine=engine)
    np.testing.assert_array_equal(bare.cost_sum, full.cost_sum)
    np.testing.assert_array_equal(bare.regret().upper, full.regret().upper)


@ENGINES
def test_the_watch_can_be_left_out_and_changes_nothing(toy, engine):
    off, on = (play(PLAYER, toy, engine=engine, watch=mode) for mode in ("off", "record"))
    assert off.observed is None
    np.testing.assert_array_equal(off.actions, on.actions)


@pytest.mark.slow
@ENGINES
def test_a_callback_is_told_of_growing_rounds_and_the_sums_so_far(engine):
    toy = problems.binding_toy(5_000, trials=2)
    told = []
    trace = play(PLAYER, toy, engine=engine, callback=told.append)
    rounds = [p.round for p in told]
    assert rounds == sorted(set(rounds))
    assert len(rounds) >= 3
    assert rounds[-1] == 5_000
    for progress in told:
        t = progress.round
        assert progress.horizon == 5_000
        np.testing.assert_array_equal(progress.cost_sum, trace.cost_sum[t - 1])
        np.testing.assert_array_equal(progress.largest, trace.constraint[:t].max(axis=0))
        np.testing.assert_array_equal(progress.x, trace.actions[t - 1])


@ENGINES
@pytest.mark.slow
def test_a_callback_sees_the_last_kept_action(engine):
    toy = problems.binding_toy(5_000, trials=2)
    told = []
    trace = play(PLAYER, toy, engine=engine, every=3_000, callback=told.append)
    assert told[0].x is None  # none is kept before round 3000
    np.testing.assert_array_equal(told[-2].x, trace.actions[0])
    told.clear()
    play(PLAYER, toy, engine=engine, keep_actions=False, callback=told.append)
    assert all(progress.x is None for progress in told)


@ENGINES
def test_a_callback_that_raises_ends_the_game(toy, engine):
    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play(PLAYER, toy, engine=engine, callback=stop)


def test_blocks_are_short_enough_to_fit_in_a_few_megabytes_whatever_the_dimension():
    for runs, d in ((1, 1), (30, 2), (300, 100), (1, 10_000), (10, 10**6)):
        length = block_length(runs, d)
        assert 16 <= length <= 2_048
        assert length == 16 or 8 * length * runs * d <= 2**22


@pytest.mark.slow
def test_a_game_of_large_dimension_keeps_what_was_asked_for():
    cube = adversarial_cube("random", horizon=40, dimension=3_000)
    trace = play(PFS(eta=0.1, rho=0.01, domain=cube.domain), cube, every=20)
    assert trace.actions.shape == (2, 3_000)
    assert trace.status == "ok"
