import resource

import numpy as np
import pytest

import surefoot as sf
from surefoot.problems import costs
from surefoot.problems.constraints import LinfNorm


def chunks(sizes, seed=0, runs=None):
    rng = np.random.default_rng(seed)
    for size in sizes:
        shape = (size, 2) if runs is None else (size, runs, 2)
        yield costs.Quadratic(rng.uniform(-1, 0, shape), 6.0)


def whole(sizes, runs=None):
    return costs.Quadratic.join(list(chunks(sizes, runs=runs)))


SIZES = (3, 1, 2, 700, 5, 1_500, 39)
T = sum(SIZES)


def toy(stream):
    return sf.Problem.of(stream, LinfNorm(0.5, 2), sf.Ball(1.0), np.zeros(2), G_f=14.5)


@pytest.mark.parametrize("engine", ["loop", "batch", "scan"])
def test_live_costs_play_like_the_same_costs_held(engine):
    live = costs.Live(chunks(SIZES), horizon=T, dimension=2)
    player = sf.PFS.tuned(toy(live).constants, T)
    seen = sf.play(player, toy(live), engine=engine)
    held = sf.play(player, toy(whole(SIZES)), engine=engine)
    assert (seen.actions == held.actions).all()
    assert (seen.cost == held.cost).all()


@pytest.mark.parametrize("engine", ["batch", "scan"])
def test_live_costs_of_several_runs(engine):
    live = costs.Live(chunks(SIZES, runs=3), horizon=T, dimension=2, runs=3)
    player = sf.PFS.tuned(toy(live).constants, T)
    seen = sf.play(player, toy(live), engine=engine)
    assert (seen.actions == sf.play(player, toy(whole(SIZES, 3)), engine=engine).actions).all()


@pytest.mark.slow
def test_a_source_that_starts_anew_can_be_played_run_after_run():
    live = costs.Live(lambda: chunks(SIZES, runs=2), horizon=T, dimension=2, runs=2)
    player = sf.PFS.tuned(toy(live).constants, T)
    loop = sf.play(player, toy(live), engine="loop")
    assert loop.actions == pytest.approx(sf.play(player, toy(live)).actions, abs=1e-13)


def test_a_source_that_starts_anew_has_a_sum():
    live = costs.Live(lambda: chunks(SIZES), horizon=T, dimension=2)
    x = np.array([0.3, -0.2])
    value, gradient = live.sum_at(x)
    assert value == pytest.approx(whole(SIZES).sum_at(x)[0])
    assert gradient == pytest.approx(whole(SIZES).sum_at(x)[1])


def test_the_past_of_an_iterator_is_gone():
    live = costs.Live(chunks(SIZES), horizon=T, dimension=2)
    live.gradient(10, np.zeros(2))
    with pytest.raises(ValueError, match="in order, got round 2 after round 11"):
        live.gradient(1, np.zeros(2))


def test_a_source_that_ends_early_says_when():
    live = costs.Live(chunks((2, 3)), horizon=9, dimension=2)
    with pytest.raises(ValueError, match="must have 9 rounds, the horizon, got 5 in all"):
        live.rounds(0, 8)


def test_a_chunk_of_another_dimension_is_named():
    live = costs.Live([costs.Linear([[1.0, 2.0, 3.0]])], horizon=1, dimension=2)
    with pytest.raises(ValueError, match="dimension 2 and runs None, got 3 and None at round 1"):
        live.rounds(0, 1)


def test_what_is_no_source_is_refused():
    with pytest.raises(ValueError, match="source must be an iterable or a function, got 7"):
        costs.Live(7, horizon=1, dimension=2)


@pytest.mark.slow
def test_half_a_million_rounds_do_not_grow_the_memory():
    rounds, size = 500_000, 50_000  # `make bench` plays ten million

    def endless():
        rng = np.random.default_rng(0)
        for _ in range(rounds // size):
            yield costs.Quadratic(rng.uniform(-1, 0, (size, 2)), 6.0)

    live = costs.Live(endless(), horizon=rounds, dimension=2)
    resident = []

    def note(progress):
        if progress.round % 50_000 < 2_048:
            resident.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    player = sf.PFS.tuned(toy(live).constants, rounds)
    trace = sf.play(player, toy(live), engine="scan", every=None, keep_actions=False, callback=note)
    assert trace.violations.worst <= 0
    # The peak after the first rounds is the peak for good, up to the allocator's whims.
    assert resident[-1] - resident[1] < 8_192
