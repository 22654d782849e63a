"""Steering: orbits are affine, told bounds hold, no candidate is outside."""

import numpy as np
import pandas as pd
import pytest
from xopt import Evaluator, Xopt

from cases.beam.__main__ import by_model, make_certified, measure, optimise
from cases.beam.line import BENDS, MONITORS, READING_ERROR, Line, response_error

# Of Xopt, pandas and PyTorch, which are not ours.
pytestmark = [pytest.mark.cases, pytest.mark.filterwarnings("default")]


def test_orbits_are_affine_in_the_bends_and_the_told_bounds_hold():
    book = Line().response()
    for seed in range(6):
        line, rest = Line(seed), Line(seed).orbit(np.zeros(4))
        bends = np.random.default_rng(seed).uniform(-2, 2, 4)
        response = line.response()
        np.testing.assert_allclose(line.orbit(bends), rest + response @ bends, atol=1e-12)
        bounds = [[response_error(name)[bend] for bend in BENDS] for name in MONITORS[:8]]
        assert (abs(response - book)[:8] <= np.array(bounds) + 1e-12).all()  # as tracking rounds
        seen = line.evaluate(dict(zip(BENDS, bends, strict=True)), (0.0, 0.0))
        read = np.array([seen[name] for name in MONITORS])
        assert abs(read[:8] - line.orbit(bends)[:8]).max() <= READING_ERROR
        assert (read[8:] == -read[:8]).all()
        assert measure(seed, np.zeros((1, 4)))[0] < 0


@pytest.mark.parametrize("seed", range(3))
def test_no_candidate_is_outside_and_the_miss_falls(seed):
    limits, misses = measure(seed, optimise(make_certified, 0)(Line(seed), 24))
    assert len(limits) == 24
    assert max(limits) <= 0
    assert min(misses) < 0.5 * misses[0]


def test_who_believes_the_model_goes_outside():
    assert max(measure(seed, by_model(Line(seed), 6))[0].max() for seed in range(3)) > 0


def test_an_evaluation_that_fails_is_a_round_without_a_reading():
    generator = make_certified(0)
    (first,) = generator.generate(1)
    lost = {**first, **dict.fromkeys(("miss", *MONITORS), np.nan)}
    generator.add_data(pd.DataFrame([lost]))
    assert generator.generate(1) == [first]


def test_a_simulator_that_raises_is_a_round_without_a_reading():
    line, failed = Line(0), []

    def evaluate(bends):
        if len(failed) < 2:
            failed.append(bends)
            raise RuntimeError("beam lost")
        return line.evaluate(bends, (3.0, -2.0))

    campaign = Xopt(evaluator=Evaluator(function=evaluate), generator=make_certified(0))
    campaign.strict = False
    for _ in range(4):
        campaign.step()
    assert failed[0] == failed[1]
    assert campaign.data["miss"].isna().tolist() == [True, True, False, False]
