"""A generator of Xopt: candidates, limits on either side, files, failures, lies, mistakes."""

import json
import re

import numpy as np
import pytest

from surefoot.core.errors import InvalidValueError
from surefoot.guarantees import PremiseError

pytest.importorskip("xopt")
# Of Xopt, pandas and PyTorch, which are not ours.
pytestmark = [pytest.mark.hosts, pytest.mark.filterwarnings("default")]

import pandas as pd  # noqa: E402
from pydantic import ValidationError  # noqa: E402
from xopt import VOCS, Evaluator, Xopt  # noqa: E402
from xopt.stopping_conditions import MaxEvaluationsCondition  # noqa: E402

from surefoot.adapters.xopt import CertifiedGenerator  # noqa: E402

# A disc of radius 0.6 in a first variable from -1 to 1, and a second in percent.
ROUND = VOCS(
    variables={"x": [-1.0, 1.0], "y": [-100.0, 100.0]},
    objectives={"miss": "MINIMIZE"},
    constraints={"c": ["LESS_THAN", 0.36]},
)
STEEP = {"c": {"x": 2.0, "y": 0.02}}
# A pressure of at least 2, a heat between bounds: both affine.
TWO = VOCS(
    variables={"speed": [0.0, 50.0], "valve": [0.0, 1.0]},
    objectives={"yield": "MAXIMIZE"},
    constraints={"pressure": ["GREATER_THAN", 2.0], "heat": ["BOUNDS", -20.0, 30.0]},
)
RESPONSE = {"pressure": {"speed": 0.1, "valve": -3.0}, "heat": {"speed": 1.0, "valve": 40.0}}
START = {"speed": 30.0, "valve": 0.1}


def disc(values):
    x, y = values["x"], values["y"] / 100
    return {"miss": (x - 0.8) ** 2 + (y - 0.6) ** 2, "c": x * x + y * y}


def machine(values):
    speed, valve = values["speed"], values["valve"]
    pressure, heat = 1.0 + 0.1 * speed - 3.0 * valve, -25.0 + speed + 40.0 * valve
    return {"yield": 50.0 * valve - 0.2 * speed, "pressure": pressure, "heat": heat}


def on_disc(**fields):
    usual = {"vocs": ROUND, "start": {"x": 0, "y": 0}, "steepness": STEEP}
    return CertifiedGenerator(**usual | fields)


def on_machine(**fields):
    return CertifiedGenerator(**{"vocs": TWO, "start": START, "response": RESPONSE} | fields)


def campaign_of(generator, function):
    return Xopt(generator=generator, evaluator=Evaluator(function=function))


def told(generator, function, *, until):
    """The generator after some candidates, without Xopt around it."""
    for _ in range(until):
        (candidate,) = generator.generate(1)
        generator.add_data(pd.DataFrame([{**candidate, **function(candidate)}]))
    return generator


# --- candidates -----------------------------------------------------------------------------------


def test_no_evaluation_of_a_disc_is_outside_and_the_miss_falls():
    campaign = campaign_of(on_disc(), disc)
    for _ in range(20):
        campaign.step()
    assert campaign.data[["x", "y"]].iloc[0].tolist() == [0.0, 0.0]
    assert len(campaign.data) == 20
    assert (campaign.data["c"] <= 0.36).all()
    assert campaign.data["miss"].min() < 0.5 * campaign.data["miss"].iloc[0]
    for _ in range(60):
        campaign.step()
    assert (campaign.data["c"] <= 0.36).all()
    assert campaign.data["miss"].min() < 0.22  # 0.16 is possible


@pytest.mark.parametrize("fields", [{}, {"response": None, "steepness": "sizes"}])
def test_limits_on_either_side_are_kept_and_a_yield_is_made_large(fields):
    if "steepness" in fields:
        sizes = {n: {v: abs(s) for v, s in row.items()} for n, row in RESPONSE.items()}
        fields = {"response": None, "steepness": sizes}
    campaign = campaign_of(on_machine(**fields), machine)
    for _ in range(80):
        campaign.step()
    data = campaign.data
    assert (data["pressure"] >= 2.0).all()
    assert (data["heat"] >= -20.0).all()
    assert (data["heat"] <= 30.0).all()
    # 26.3 is possible, where the pressure is least and the heat is largest.
    assert data["yield"].iloc[0] == -1.0
    assert data["yield"].max() > 25.5


def drawn(seed):
    """A problem in any units, its outputs as meters show them, and g of its constraints."""
    draws = np.random.default_rng(seed)
    d, m = draws.integers(1, 4, 2)
    is_affine, widths, units = (
        seed % 2 == 0,
        10.0 ** draws.uniform(-3, 3, d),
        10.0 ** draws.uniform(-2, 2, m),
    )
    slopes, bends = draws.normal(size=(m, d)), draws.uniform(0, 1, (m, d)) * (not is_affine)
    start, slack = draws.uniform(-0.5, 0.5, d), draws.uniform(0.5, 1, m)
    signs, target = draws.choice([-1.0, 1.0], m), draws.uniform(-1.5, 1.5, d)
    errors, bounds = draws.uniform(0, 0.05, m) * units, draws.uniform(-5, 5, m) * units
    names, outputs = [f"x{i}" for i in range(d)], [f"c{j}" for j in range(m)]

    def excess(values):
        u = np.array([values[name] for name in names]) / widths - start
        return slopes @ u + bends @ u**2 - slack

    def evaluate(values):
        u = np.array([values[name] for name in names]) / widths
        read = excess(values) * units + errors * draws.choice([-1, 0, 1], m)
        seen = dict(zip(outputs, (bounds + signs * read).tolist(), strict=True))
        return {"f": float(((u - target) ** 2).sum()), **seen}

    def table(rows):
        return {
            c: dict(zip(names, row, strict=True))
            for c, row in zip(outputs, rows.tolist(), strict=True)
        }

    per_unit = units[:, None] / widths
    known = {"steepness": table((abs(slopes) + 3.0 * bends) * per_unit)}
    if is_affine:
        response = slopes * per_unit * signs[:, None]
        off = 0.2 * abs(response) * draws.uniform(-1, 1, (m, d))
        known = {"response": table(response + off), "response_error": table(0.2001 * abs(response))}
    words = ["LESS_THAN" if sign > 0 else "GREATER_THAN" for sign in signs]
    limits = [[word, bound] for word, bound in zip(words, bounds.tolist(), strict=True)]
    vocs = VOCS(
        variables={n: [-w, w] for n, w in zip(names, widths.tolist(), strict=True)},
        objectives={"f": "MINIMIZE"},
        constraints=dict(zip(outputs, limits, strict=True)),
    )
    generator = CertifiedGenerator(
        vocs=vocs,
        start=dict(zip(names, (start * widths).tolist(), strict=True)),
        meter_error=dict(zip(outputs, errors.tolist(), strict=True)),
        seed=seed,
        **known,
    )
    return generator, evaluate, excess


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_outside_however_meters_err_and_whatever_the_units(seed):
    generator, evaluate, excess = drawn(seed)
    data = told(generator, evaluate, until=25).data
    worst = [excess(row).max() for row in data.to_dict("records")]
    assert max(worst) <= 1e-12
    assert data["f"].min() < data["f"].iloc[0]


def test_g_is_above_0_where_a_limit_is_exceeded_on_either_side():
    problem = on_machine()._describe()
    units = problem.scaling.limit_units
    state = problem.state([3.0, 32.0, 32.0])  # 3 where at least 2; 32 where -20 to 30
    np.testing.assert_array_equal(state["constraint_value"] * units, [-1.0, 2.0, -52.0])
    slopes = state["constraint_subgradient"] * problem.scaling.per_unit * units[:, None]
    np.testing.assert_array_equal(slopes, [[-0.1, 3.0], [1.0, 40.0], [-1.0, -40.0]])
    one = on_disc(steepness=None, response={"c": {"x": 1.0, "y": 0.0}})._describe()
    state = one.state([0.86])
    assert state["constraint_value"] * one.scaling.limit_units == [0.5]
    assert np.shape(state["constraint_value"]) == ()
    assert np.shape(state["constraint_subgradient"]) == (2,)


def test_why_bounds_every_output_of_the_next_evaluation():
    generator = on_machine(meter_error={"heat": 0.5})
    assert generator.why == "candidate 1: the start, which is feasible as you say"
    told(generator, machine, until=1)
    pattern = r"(\w+) at (most|least) (\S+) \(limit (\S+)\)"
    for count in range(2, 40):
        why, (candidate,) = generator.why, generator.generate(1)
        assert why.startswith(f"candidate {count}: ")
        assert why.endswith("given response, response_error and meter_error")
        seen, sides = machine(candidate), re.findall(pattern, why)
        assert [name for name, *_ in sides] == ["pressure", "heat", "heat"]
        for name, word, bound, limit in sides:
            sign, rounding = (1 if word == "most" else -1), 1e-5 * abs(float(limit))
            assert sign * seen[name] <= sign * float(bound) + rounding
            assert sign * float(bound) <= sign * float(limit) + rounding
        told(generator, machine, until=1)


def test_units_change_nothing():
    def other(values):
        seen = disc({"x": values["x"] / 1024, "y": 64 * values["y"]})
        return {"miss": seen["miss"], "c": 8 * seen["c"]}

    vocs = VOCS(
        variables={"x": [-1024.0, 1024.0], "y": [-100 / 64, 100 / 64]},
        objectives={"miss": "MINIMIZE"},
        constraints={"c": ["LESS_THAN", 2.88]},
    )
    steep = {"c": {"x": 16.0 / 1024, "y": 0.16 * 64}}
    mine = CertifiedGenerator(vocs=vocs, start={"x": 0, "y": 0}, steepness=steep)
    data = told(on_disc(), disc, until=30).data
    others = told(mine, other, until=30).data
    np.testing.assert_array_equal(others["x"] / 1024, data["x"])
    np.testing.assert_array_equal(others["y"] * 64, data["y"])


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [on_disc, on_machine], ids=["hull", "rows"])
def test_a_campaign_that_is_dumped_and_loaded_goes_on_bit_by_bit(tmp_path, make):
    function, file = (disc if make is on_disc else machine), tmp_path / "campaign.yaml"
    campaign = campaign_of(make(seed=3), function)
    names = campaign.vocs.variable_names
    for _ in range(11):
        campaign.step()
    campaign.dump(str(file))
    twin = Xopt(re.sub(r"function: .*", "function: copy.copy", file.read_text()))
    twin.evaluator = Evaluator(function=function)
    assert (twin.data[names] != campaign.data[names]).any().any()  # Xopt's file lost digits
    assert twin.generator.history == campaign.generator.history
    for _ in range(6):
        campaign.step()
        twin.step()
    last = (each.data[names].to_numpy()[11:] for each in (campaign, twin))
    np.testing.assert_array_equal(*last)


def test_a_generator_that_is_loaded_knows_its_own_evaluations_again():
    generator = told(on_disc(), disc, until=5)
    text = generator.json()
    wanted = generator.generate(1)
    between = pd.DataFrame([{"x": 0.5, "y": 0.0, **disc({"x": 0.5, "y": 0.0})}])
    data = pd.concat([generator.data[:2], between, generator.data[2:]])
    for known in (generator.data, data, between):
        twin = CertifiedGenerator(**json.loads(text))
        assert twin.generate(1) == wanted
        twin.add_data(known.copy())
        assert (twin.generate(1), twin.history) == (wanted, generator.history)
    # What is new comes after what is known.
    twin = CertifiedGenerator(**json.loads(text))
    new = told(generator, disc, until=1).data
    twin.set_data(new.copy())
    assert (twin.generate(1), twin.history) == (generator.generate(1), generator.history)


def test_a_history_of_another_problem_is_refused():
    history = told(on_disc(), disc, until=5).history
    twin = on_disc(history=history, steepness={"c": {"x": 2.5, "y": 0.02}})
    with pytest.raises(InvalidValueError, match="history must be that of the candidates of this"):
        twin.generate(1)


# --- evaluations that fail, and of other points ---------------------------------------------------


def test_an_evaluation_without_numbers_is_made_again():
    generator = told(on_disc(), disc, until=4)
    (candidate,) = generator.generate(1)
    seen = disc(candidate)
    for lost in ({}, {"miss": np.nan, "c": np.nan}, {"c": np.inf}, {"c": None}, {"miss": np.nan}):
        generator.add_data(pd.DataFrame([{**candidate, **(seen | lost if lost else {})}]))
        assert generator.generate(1) == [candidate]
    assert (told(generator, disc, until=10).data["c"].iloc[-10:] <= 0.36).all()
    assert generator.data["miss"].iloc[-10:].nunique() == 10


def test_a_first_evaluation_that_fails_leaves_the_start():
    generator = on_machine()
    generator.add_data(pd.DataFrame([{**START, "yield": np.nan}]))
    assert generator.generate(1) == [START]


def test_evaluations_of_other_points_teach_nothing_and_certify_nothing():
    campaign, other = campaign_of(on_disc(), disc), campaign_of(on_disc(), disc)
    campaign.random_evaluate(5, seed=0)
    assert (campaign.data["c"] > 0.36).any()
    for _ in range(8):
        campaign.step()
        other.step()
    campaign.random_evaluate(2, seed=1)
    for _ in range(8):
        campaign.step()
        other.step()
    assert len(campaign.data) == 23
    assert campaign.generator.history == other.generator.history
    assert campaign.generator.generate(1) == other.generator.generate(1)


# --- lies and mistakes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"steepness": {"c": {"x": 0.2, "y": 0.002}}}, "steepness and meter_error must hold"),
        (
            {"steepness": None, "response": {"c": {"x": 0.5, "y": 0.0}}},
            "response, response_error and meter_error must hold",
        ),
    ],
)
def test_a_lie_is_named_and_nothing_is_certified_after_it(fields, words):
    campaign = campaign_of(on_disc(**fields), disc)
    campaign.stopping_condition = MaxEvaluationsCondition(max_evaluations=30)
    with pytest.raises(PremiseError, match=words) as error:
        campaign.run()
    generator = campaign.generator
    assert "G_g" not in str(error.value)
    assert len(generator.history) == len(campaign.data) - 1
    assert generator.why == f"nothing is certified: {error.value}"
    text = re.sub(r"function: .*", "function: copy.copy", campaign.yaml())
    for each in (campaign.generator, Xopt(text).generator):
        with pytest.raises(PremiseError, match=words):
            each.generate(1)
    campaign.random_evaluate(1)  # data are kept, whatever they are for


def test_a_rejected_evaluation_changes_nothing():
    generator = told(on_disc(), disc, until=3)
    wanted, history = generator.generate(1), list(generator.history)
    (candidate,) = wanted
    rows = [{**candidate, **disc(candidate)}, {**candidate, "miss": 1.0, "c": "high"}]
    with pytest.raises(InvalidValueError, match=r"^c must be a number, got 'high'"):
        generator.add_data(pd.DataFrame(rows))
    far = {**candidate, "miss": 1.0, "c": 1e9}
    with pytest.raises(InvalidValueError, match=r"^readings\.c must be a number within 1024 times"):
        generator.add_data(pd.DataFrame([far]))
    assert (generator.generate(1), generator.history) == (wanted, history)
    assert len(generator.data) == 3


def test_a_start_that_is_not_feasible_is_refused():
    generator = on_disc(start={"x": 0.9, "y": 0.0})
    with pytest.raises(InvalidValueError, match="start"):
        told(generator, disc, until=1)
    assert generator.history == []


def test_one_candidate_comes_at_a_time():
    generator = on_disc()
    assert (
        generator.suggest(None)
        == generator.suggest()
        == generator.generate()
        == [{"x": 0.0, "y": 0.0}]
    )
    with pytest.raises(InvalidValueError, match=r"^n_candidates must be 1, .* got 2"):
        generator.generate(2)


def test_a_problem_that_is_changed_under_way_is_refused():
    generator = told(on_disc(vocs=ROUND.model_copy(deep=True)), disc, until=2)
    generator.vocs.variables["x"].domain = [-0.5, 0.5]
    with pytest.raises(InvalidValueError, match="must stay as they were at the first candidate"):
        generator.generate(1)


MISTAKES = {
    "neither": ({"steepness": None}, "steepness or response must be given, and not both"),
    "both": ({"response": STEEP}, "steepness or response must be given, and not both"),
    "another start": (
        {"start": {"x": 0.0}},
        "start must have x, y, and no other, got ['y'] too many or too few",
    ),
    "a start outside": (
        {"start": {"x": 1.5, "y": 0.0}},
        "start['x'] must be in the domain -1 to 1, got 1.5",
    ),
    "another output": (
        {"steepness": {"d": STEEP["c"]}},
        "steepness must have c, and no other, got ['c', 'd'] too many or too few",
    ),
    "another variable": (
        {"steepness": {"c": {"x": 1.0}}},
        "steepness['c'] must have x, y, and no other, got ['y'] too many or too few",
    ),
    "below 0": (
        {"steepness": {"c": {"x": -1.0, "y": 0.0}}},
        "steepness['c']['x'] must be a finite number >= 0, got -1.0",
    ),
    "no effect": (
        {"steepness": {"c": {"x": 0.0, "y": 0.0}}},
        "steepness or response of 'c' must be other than 0 in a variable: no candidate changes it",
    ),
    "an error without a response": (
        {"response_error": STEEP},
        "response_error must be that of a response, got steepness",
    ),
    "a meter of another output": (
        {"meter_error": {"d": 1.0}},
        "meter_error must be of outputs among c, got ['d']",
    ),
    "no constraint": (
        {"vocs": VOCS(variables={"x": [0, 1]}, objectives={"miss": "MINIMIZE"})},
        "vocs must have a constraint to keep, got none",
    ),
    "explore": (
        {"vocs": ROUND.model_copy(update={"objectives": {"miss": None}})},
        "vocs.objectives['miss'] must be MINIMIZE or MAXIMIZE, got None",
    ),
}


@pytest.mark.parametrize(("fields", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_what_does_not_fit_together_is_refused_in_one_sentence(fields, sentence):
    with pytest.raises(InvalidValueError) as error:
        on_disc(**fields)
    assert str(error.value) == sentence


def test_a_probe_has_a_length_and_no_more_than_a_tenth_of_the_range():
    for length in (0.0, 0.2):
        with pytest.raises(ValidationError, match="length"):
            on_disc(length=length)
    long = on_disc(length=0.1, start={"x": 0.59, "y": 0.0})
    with pytest.raises(InvalidValueError, match=r"^length must be short enough for the slack"):
        told(long, disc, until=1)
