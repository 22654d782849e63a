import resource

import numpy as np
import pytest

import surefoot as sf
from surefoot.problems import costs
from surefoot.problems.constraints import LinfNorm

T = 2_250


def whole(runs=None):
    shape = (T, 2) if runs is None else (T, runs, 2)
    return costs.Quadratic(np.random.default_rng(0).uniform(-1, 0, shape), 6.0)


def chunked(runs=None):
    return costs.FromChunks(whole(runs).rounds, horizon=T, dimension=2, runs=runs)


def toy(stream):
    return sf.Problem.of(stream, LinfNorm(0.5, 2), sf.Ball(1.0), np.zeros(2), G_f=14.5)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["loop", "batch", "scan"])
def test_chunks_play_like_the_same_costs_held(engine):
    player = sf.PFS.tuned(toy(whole()).constants, T)
    seen = sf.play(player, toy(chunked()), engine=engine)
    held = sf.play(player, toy(whole()), engine=engine)
    assert (seen.actions == held.actions).all()
    assert (seen.cost == held.cost).all()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["loop", "batch", "scan"])
def test_chunks_of_several_runs(engine):
    player = sf.PFS.tuned(toy(whole(3)).constants, T)
    seen = sf.play(player, toy(chunked(3)), engine=engine)
    assert (seen.actions == sf.play(player, toy(whole(3)), engine=engine).actions).all()


def test_chunks_have_a_sum():
    x = np.array([0.3, -0.2])
    value, gradient = chunked().sum_at(x)
    assert value == pytest.approx(whole().sum_at(x)[0])
    assert gradient == pytest.approx(whole().sum_at(x)[1])


@pytest.mark.parametrize(
    ("chunk_of", "sentence"),
    [
        (lambda a, b: costs.Linear(np.ones((b - a, 3))), "dimension 2 and runs None, got 4, 3 and"),
        (lambda a, b: costs.Linear(np.ones((1, 2))), r"chunk_of\(0, 4\) must have 4 rounds"),
        (lambda a, b: np.ones((b - a, 2)), "chunk_of must be a function that returns costs"),
        (7, "chunk_of must be a function"),
    ],
)
def test_what_is_no_chunk_is_refused(chunk_of, sentence):
    with pytest.raises(ValueError, match=sentence):
        costs.FromChunks(chunk_of, horizon=4, dimension=2).rounds(0, 4)


@pytest.mark.slow
def test_half_a_million_rounds_do_not_grow_the_memory():
    rounds = 500_000  # `make bench` plays ten million

    def draw(start, stop):
        rng = np.random.default_rng(start)
        return costs.Quadratic(rng.uniform(-1, 0, (stop - start, 2)), 6.0)

    stream = costs.FromChunks(draw, horizon=rounds, dimension=2)
    resident = []

    def note(progress):
        if progress.round % 50_000 < 2_048:
            resident.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    player = sf.PFS.tuned(toy(stream).constants, rounds)
    options = {"every": None, "keep_actions": False, "callback": note}
    trace = sf.play(player, toy(stream), engine="scan", **options)
    assert trace.violations.largest <= 0
    # The peak after the first rounds is the peak for good, up to the allocator's whims.
    assert resident[-1] - resident[1] < 8_192
