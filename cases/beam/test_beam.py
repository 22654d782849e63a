"""Steering: orbits are affine, the told bounds hold, no candidate is outside, Xopt agrees."""

import numpy as np
import pandas as pd
import pytest
from xopt import VOCS, Evaluator, Xopt
from xopt.resources.testing import (
    TEST_VOCS_BASE,
    generate_without_warnings,
    reload_gen_from_json,
    reload_gen_from_yaml,
    xtest_callable,
)

from cases.beam.__main__ import by_model, make_certified, make_vocs, measure, optimise
from cases.beam.generator import CertifiedGenerator
from cases.beam.line import MONITORS, READING_ERROR, SLOPE_ERROR, Line
from surefoot.core.errors import InvalidValueError

# Of Xopt, pandas and PyTorch, which are not ours.
pytestmark = [pytest.mark.cases, pytest.mark.filterwarnings("default")]
BASE = {"start": {"x1": 0.9, "x2": 5.0}, "response": {"c1": [1.0, 0.0]}, "length": 0.05}


def test_orbits_are_affine_in_the_bends_and_the_told_bounds_hold():
    book = Line().response()
    for seed in range(6):
        line, rest = Line(seed), Line(seed).orbit(np.zeros(4))
        bends = np.random.default_rng(seed).uniform(-2, 2, 4)
        response = line.response()
        np.testing.assert_allclose(line.orbit(bends), rest + response @ bends, atol=1e-12)
        assert np.linalg.norm(response - book, axis=1)[:8].max() <= SLOPE_ERROR
        seen = line.evaluate(dict(zip(("h0", "v0", "h1", "v1"), bends, strict=True)), (0.0, 0.0))
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


def test_xopt_reloads_the_generator_and_goes_on_as_before():
    generator = CertifiedGenerator(vocs=TEST_VOCS_BASE, **BASE)
    function = Evaluator(function=xtest_callable)
    campaign = Xopt(evaluator=function, generator=generator)
    for _ in range(7):
        campaign.step()
    assert (campaign.data["c1"] > 0.5).all()
    assert campaign.data["x2"].iloc[-1] < 5.0  # y1 = x2 is made small
    told = campaign.generator
    (wanted,) = generate_without_warnings(told, 1)
    for twin in (reload_gen_from_json(told), reload_gen_from_yaml(told)):
        assert twin.generate(1) == [wanted]


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


def test_several_candidates_and_names_that_do_not_fit_are_refused():
    generator = make_certified(0)
    with pytest.raises(NotImplementedError, match="one candidate at a time"):
        generator.generate(2)
    with pytest.raises(InvalidValueError, match=r"got \['h0'\] too many or too few"):
        CertifiedGenerator(
            vocs=make_vocs(),
            start={"v0": 0.0, "h1": 0.0, "v1": 0.0},
            response=generator.response,
        )


def test_limits_on_either_side_mean_the_same():
    def values(limit, response=(2.0,)):
        vocs = VOCS(variables={"x": [0, 1]}, objectives={"f": "MAXIMIZE"}, constraints={"c": limit})
        fields = {"start": {"x": 0.5}, "response": {"c": list(response)}}
        return CertifiedGenerator(vocs=vocs, **fields)._rows({"c": 0.75})

    g, s = values(["LESS_THAN", 1.0])
    assert (g.tolist(), s.tolist()) == ([-0.25] * 2, [[2.0]] * 2)
    g, s = values(["GREATER_THAN", 0.5])
    assert (g.tolist(), s.tolist()) == ([-0.25] * 2, [[-2.0]] * 2)
