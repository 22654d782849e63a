"""Plants as plain data and as files, there and back; and what differs between two."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st
from tests.problems.plant._plants import FLEET, HALL, PARK, PUMP, plants

from surefoot.controller import Plant
from surefoot.core.errors import InvalidValueError
from surefoot.problems.plant import (
    ContextDescription,
    PlantConstant,
    PlantFileError,
    ServiceDescription,
    check_description,
    difference_of,
    parse_plant,
    plant_data,
    plant_from_data,
    read_plant,
    write_plant,
)

TEXTS = {"hall": HALL, "park": PARK, "pump": PUMP, "fleet": FLEET}


def bare(plant):
    """A plant without what is no part of its data."""
    shared = {"name": "", "journal": None, "service": ServiceDescription()}
    for kind in ("actuators", "contexts", "limits"):
        shared[kind] = tuple(replace(part, node=None) for part in getattr(plant, kind))
    members = {name: bare(member) for name, member in plant.members.items()}
    return replace(plant, **shared, members=members)


def is_sorted(data):
    if isinstance(data, dict):
        return list(data) == sorted(data) and all(map(is_sorted, data.values()))
    return all(map(is_sorted, data)) if isinstance(data, list) else True


@settings(max_examples=60)
@given(plants())
def test_a_plant_is_the_same_after_its_journal_and_after_its_file(plant):
    data = plant_data(plant)
    assert bare(plant_from_data(json.loads(json.dumps(data)))) == bare(plant)
    assert is_sorted(data)
    text = write_plant(plant)
    assert parse_plant(text) == plant
    assert write_plant(parse_plant(text)) == text


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_examples_are_written_as_a_person_would(text):
    plant = parse_plant(text)
    assert parse_plant(write_plant(plant)) == plant
    assert 'unit = "' in write_plant(plant)


def test_a_written_pump_is_this():
    assert write_plant(parse_plant(FLEET)) == (
        """\
surefoot = 1
name = "booster station"
round = "1 min"
journal = "booster.jsonl"
role = "filter"

[actuator.speed]
unit = "Hz"
range = [25, 50]
start = 50

[limit.pressure]
unit = "bar"
at_least = 2.5
meter_error = 0.02
start_margin = 0.5
steepness = { speed = 0.12 }  # bar per Hz
changes = 0.001

[policy]
on_contradiction = "retreat"
on_missing = "hold"

[member.p1]

[member.p2]
actuator.speed.start = 45
limit.pressure.steepness.speed = """
        """{ value = 0.09, origin = "estimated", why = "its own log" }
"""
    )


def test_a_file_is_written_beside_its_text_and_a_plant_without_a_name_has_that_of_its_file(
    tmp_path,
):
    path = tmp_path / "pump 7.toml"
    plant = replace(parse_plant(PUMP), name="")
    text = write_plant(plant, path)
    assert path.read_text(encoding="utf-8") == text
    assert read_plant(path) == replace(plant, name="pump 7")


def test_what_a_file_cannot_say_is_not_written(tmp_path):
    fleet = parse_plant(FLEET)
    odd = replace(fleet.members["p1"], role="learner")
    with pytest.raises(ValueError, match="must be one that a file can say"):
        write_plant(replace(fleet, members={"p1": odd}), tmp_path / "odd.toml")
    wrong = replace(fleet.actuators[0], start=70.0)
    with pytest.raises(PlantFileError, match=r"actuator.speed.start must be in its range"):
        write_plant(replace(fleet, actuators=(wrong,)), tmp_path / "odd.toml")
    assert list(tmp_path.iterdir()) == []


def test_a_description_that_no_file_could_say_is_not_played():
    plant = parse_plant(PUMP)
    check_description(plant)
    check_description(parse_plant(FLEET))
    limit = replace(plant.limits[0], start_margin=PlantConstant(0.03))
    for wrong, sentence in (
        (replace(plant, limits=(limit,)), "start_margin must exceed 2 x meter_error"),
        (replace(plant, limits=()), "must be tables"),
        (replace(plant, limits=plant.limits * 2), "must have a name in each table, none twice"),
        (replace(plant, contexts=(ContextDescription("t", "K", 0.0, 1.0),)), "must have rise"),
        (replace(plant, round_minutes=math.nan), "round must be a number > 0"),
    ):
        with pytest.raises(PlantFileError, match=sentence):
            check_description(wrong)
        with pytest.raises(PlantFileError, match=sentence):
            Plant.of(wrong)
    member = replace(plant, role="learner")
    with pytest.raises(InvalidValueError, match="members share role, round and policy"):
        check_description(replace(plant, members={"p1": member}))


# --- what differs ---------------------------------------------------------------------------------


def differ(text, *changes):
    old = parse_plant(text)
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return difference_of(old, parse_plant(text))


def test_a_number_that_differs_has_the_path_of_its_key():
    origin = 'origin = "estimated", why = "row 412"'
    assert differ(HALL, ("0.0228", "0.0456")) == [("limit.hot_spot.steepness.fan1", 0.0228, 0.0456)]
    assert differ(HALL, ("0.24", "0.3"), ("16.1", "17"), ("at_most = 27.0", "at_most = 26")) == [
        ("limit.hot_spot.at_most", 27.0, 26.0),
        ("limit.hot_spot.rise.it_load.per", 16.1, 17.0),
        ("limit.hot_spot.rise.outside.per", 0.24, 0.3),
    ]
    assert differ(HALL, ("0.065 }", f"{{ value = 0.065, {origin} }} }}")) == [
        ("limit.hot_spot.steepness.chiller.origin", "given", "estimated"),
        ("limit.hot_spot.steepness.chiller.why", None, "row 412"),
    ]


def test_every_key_that_actions_depend_on_differs_and_no_other():
    assert differ(HALL, ("15 min", "20 min"), ('"filter"', '"learner"')) == [
        ("role", "filter", "learner"),
        ("round", 15.0, 20.0),
    ]
    assert differ(HALL, ("[-20, 40]", "[-25, 40]"), ("recoveries = 3", "recoveries = 4")) == [
        ("context.outside.range", [-20.0, 40.0], [-25.0, 40.0]),
        ("policy.recoveries", 3, 4),
    ]
    assert differ(PUMP, ("start = 50", "start = 45\nramp = 100")) == [
        ("actuator.speed.ramp", None, 100.0),
        ("actuator.speed.start", 50.0, 45.0),
    ]
    others = [
        ("hall 3", "hall 4"),
        ("hall3.jsonl", "b.jsonl"),
        ("20 min", "30 min"),
        ("# the", "#"),
        ("ramp = 5 ", "node = 'ns=2;s=fan1'\nramp = 5 "),
        ('unit = "MW"', "unit = \"MW\"\nnode = 'ns=2;s=it_load'"),
        ("at_most = 27.0", "at_most = 27.0\nnode = 'ns=2;s=hot_spot'"),
    ]
    assert differ(HALL, *others, ("it_load = { per = 16.1", "it_load= {per= 16.10")) == []


def test_what_is_new_or_gone_or_in_another_order_is_one_difference():
    first, second = HALL.index("[actuator.fan1]"), HALL.index("[actuator.chiller]")
    third = HALL.index("[context.outside]")
    turned = HALL[:first] + HALL[second:third] + HALL[first:second] + HALL[third:]
    assert difference_of(parse_plant(HALL), parse_plant(turned)) == [
        ("actuator", ["fan1", "chiller"], ["chiller", "fan1"])
    ]
    heat = "[limit.heat]\nunit = 'K'\nat_most = 5\nmeter_error = 0\nstart_margin = 1\n"
    heat += "steepness = { speed = 1 }\n"
    ((path, old, new),) = differ(PUMP, ("[limit.pressure]", f"{heat}[limit.pressure]"))
    assert (path, old, new["at_most"]) == ("limit.heat", None, 5.0)
    pump = parse_plant(PUMP)
    park = parse_plant(PARK)
    paths = {path: (old, new) for path, old, new in difference_of(pump, park)}
    assert paths["actuator.speed"][1] is None
    assert paths["context.base_load"][0] is None
    assert difference_of(park, pump) == [(path, new, old) for path, (old, new) in paths.items()]


def test_members_differ_by_their_names():
    assert differ(FLEET, ("value = 0.09", "value = 0.08")) == [
        ("member.p2.limit.pressure.steepness.speed", 0.09, 0.08)
    ]
    ((path, old, new),) = differ(FLEET, ("[member.p1]", "[member.p1]\n[member.p3]"))
    assert (path, old, list(new)) == ("member.p3", None, ["actuator", "limit"])


@settings(max_examples=30)
@given(plants(members=0), st.floats(2.5, 1e3))
def test_a_plant_differs_from_itself_in_nothing_and_from_another_in_what_was_changed(plant, margin):
    assert difference_of(plant, plant) == []
    limit = plant.limits[-1]
    other = replace(limit, start_margin=PlantConstant(margin, limit.start_margin.origin))
    changed = replace(plant, limits=(*plant.limits[:-1], other))
    paths = {path for path, _, _ in difference_of(plant, changed)}
    assert paths <= {f"limit.{limit.name}.start_margin{end}" for end in ("", ".why")}


# --- hostile data ---------------------------------------------------------------------------------

WORDS = ("surefoot", "round", "role", "actuator", "context", "limit", "policy", "member", "name")
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from([*WORDS, "value", "steepness", "p1"]),
    st.text(max_size=5),
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=8,
)


def places(data, path=()):
    """Every place in data."""
    yield path
    rows = list(enumerate(data)) if isinstance(data, list) else []
    for key, part in data.items() if isinstance(data, dict) else rows:
        yield from places(part, (*path, key))


def put(data, path, value):
    """Data with another value at a place."""
    if not path:
        return value
    copied = dict(data) if isinstance(data, dict) else list(data)
    copied[path[0]] = put(data[path[0]], path[1:], value)
    return copied


@settings(max_examples=300)
@given(st.data(), st.sampled_from([HALL, PARK, FLEET]), ANYTHING)
def test_data_of_any_kind_are_a_plant_or_mistakes(data, text, value):
    good = plant_data(parse_plant(text))
    path = data.draw(st.sampled_from(sorted(places(good), key=str)))
    sentences = []
    try:
        plant_from_data(put(good, path, value))
    except PlantFileError as error:
        sentences = [*error.mistakes, *([] if error.mistakes else [""])]
    for sentence in sentences:
        assert sentence.startswith("plant: ")
        assert "\n" not in sentence
        assert len(sentence) < 600


@pytest.mark.parametrize("data", [None, 3, "plant", [], [{}], {}, {"surefoot": 2}, {"surefoot": 1}])
def test_other_data_are_refused(data):
    with pytest.raises(PlantFileError):
        plant_from_data(data)
