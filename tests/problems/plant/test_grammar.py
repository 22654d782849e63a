"""What a plant file may say, and every mistake with its line: all at once, none twice."""

import math
import pickle
import time

import pytest
from hypothesis import given, settings, strategies as st
from tests.problems.plant._plants import FLEET, HALL, PARK, PUMP

from surefoot.problems.plant import (
    ActuatorDescription,
    ContextDescription,
    LimitDescription,
    PlantConstant,
    PlantFileError,
    PolicyDescription,
    RiseDescription,
    Scaling,
    ServiceDescription,
    parse_plant,
    read_plant,
)
from surefoot.problems.plant.player import domain_of

PUMPS = PUMP.replace("changes = 0.001\n", "")
TEXTS = {"hall": HALL, "park": PARK, "pump": PUMP, "fleet": FLEET}


def mistakes_in(text):
    with pytest.raises(PlantFileError) as caught:
        parse_plant(text)
    assert str(caught.value).split("\n") == list(caught.value.mistakes)
    return list(caught.value.mistakes)


def edit(text, *changes):
    for before, after in changes:
        assert text.count(before) >= 1, before
        text = text.replace(before, after, 1)
    return text


def line_with(text, words):
    return next(n for n, line in enumerate(text.split("\n"), start=1) if words in line)


# --- what it says ---------------------------------------------------------------------------------


def test_the_hall_is_what_its_file_says():
    plant = parse_plant(HALL)
    assert (plant.name, plant.round_minutes, plant.journal) == ("hall 3", 15.0, "hall3.jsonl")
    assert (plant.role, plant.has_slopes, plant.members) == ("filter", False, {})
    assert plant.actuators == (
        ActuatorDescription("fan1", "%", 30.0, 100.0, 100.0, ramp=5.0, step=1.0),
        ActuatorDescription("chiller", "%", 30.0, 100.0, 100.0),
    )
    assert plant.contexts == (
        ContextDescription("outside", "degC", -20.0, 40.0),
        ContextDescription("it_load", "MW", 0.4, 1.3),
    )
    (limit,) = plant.limits
    assert limit == LimitDescription(
        name="hot_spot",
        unit="degC",
        bound=27.0,
        sense="at_most",
        meter_error=PlantConstant(0.2),
        start_margin=PlantConstant(2.9),
        steepness={
            "fan1": PlantConstant(0.0228, "estimated", "row 412"),
            "chiller": PlantConstant(0.065),
        },
        rise={
            "outside": RiseDescription(PlantConstant(0.24)),
            "it_load": RiseDescription(PlantConstant(16.1), worse="up"),
        },
    )
    assert plant.policy == PolicyDescription("recover", 3, "retreat")  # in contexts
    assert plant.service == ServiceDescription(
        "/run/surefoot/hall3.sock", "127.0.0.1:9464", None, 20.0, 10.0, "64 MB"
    )


def test_the_others_are_what_their_files_say():
    park, pump = parse_plant(PARK), parse_plant(PUMP)
    west = ActuatorDescription("west", "A", 6.0, 32.0, 0.0, can_be_off=True)
    assert park.actuators[0] == west
    assert park.round_minutes == pytest.approx(1 / 6, rel=1e-15)
    assert park.limits[0].rise == {"base_load": RiseDescription(adds=1.0)}
    assert park.policy == PolicyDescription("retreat", 3, "hold")
    (limit,) = pump.limits
    assert (limit.sense, limit.bound, limit.changes) == ("at_least", 2.5, PlantConstant(0.001))
    assert pump.service == ServiceDescription()


def test_a_plant_without_a_name_has_that_of_its_file(tmp_path):
    path = tmp_path / "pump 7.toml"
    path.write_text(edit(PUMP, ('name = "booster station"\n', "")))
    assert read_plant(path).name == "pump 7"


def test_members_have_their_own_values_in_the_places_of_those_of_the_file():
    text = FLEET + (
        "[member.p3]\nlimit.pressure = { at_least = 3, start_margin = 0.4 }\n"
        "[member.p3.actuator.speed]\nrange = [20, 50]\nstart = 48\n"
    )
    plant = parse_plant(text)
    one, two, three = plant.members.values()
    base = parse_plant(PUMP)
    assert list(plant.members) == ["p1", "p2", "p3"]
    assert one == base
    assert two.actuators[0].start == 45.0
    assert two.limits[0].steepness["speed"] == PlantConstant(0.09, "estimated", "its own log")
    assert two.limits[0].start_margin == PlantConstant(0.5)
    assert three.actuators[0] == ActuatorDescription("speed", "Hz", 20.0, 50.0, 48.0)
    assert (three.limits[0].bound, three.limits[0].start_margin.value) == (3.0, 0.4)
    assert three.limits[0].steepness == base.limits[0].steepness
    assert plant.limits == base.limits


def test_multiples_of_a_step_are_decimals():
    text = edit(PUMP, ("[25, 50]", "[0.3, 0.9]"), ("start = 50", "start = 0.7\nstep = 0.1"))
    plant = parse_plant(text)
    assert plant.actuators[0] == ActuatorDescription("speed", "Hz", 0.3, 0.9, 0.7, step=0.1)
    assert domain_of(plant, Scaling(plant)).contains(Scaling(plant).start)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("15 min", 15.0), ("10 s", 1 / 6), ("1 h", 60.0), ("1 d", 1440.0), ("0.5 h", 30.0)],
)
def test_times_have_units(text, minutes):
    assert parse_plant(edit(PUMP, ("1 min", text))).round_minutes == minutes


@pytest.mark.parametrize(
    ("more", "missing"),
    [
        ("", "hold"),
        ("[policy]\non_contradiction = 'recover'", "retreat"),
        ("[policy]\non_contradiction = 'recover'\non_missing = 'hold'", "hold"),
        ("[policy]\non_contradiction = 'raise'", "hold"),
    ],
)
def test_a_plant_that_recovers_and_moves_retreats_where_nothing_was_measured(more, missing):
    estimate = ("speed = 0.12", "speed = { value = 0.12, origin = 'estimated' }")
    assert parse_plant(edit(PUMP, estimate) + more).policy.on_missing == missing
    assert parse_plant(edit(PUMPS, estimate) + more).policy.on_missing == "hold"


# --- mistakes -------------------------------------------------------------------------------------

EDITS = {
    "unit in a value": (
        HALL,
        ("at_most = 27.0", 'at_most = "27 degC"'),
        'limit.hot_spot.at_most must be a number in degC, got "27 degC" '
        "(the unit is said once, in unit)",
    ),
    "an actuator without its steepness": (
        HALL,
        (", chiller = 0.065 }", " }"),
        "limit.hot_spot.steepness must have chiller (0 if the limit does not depend on it)",
    ),
    "misspelt": (
        HALL,
        ("steepness =", "stepness ="),
        "limit.hot_spot has stepness: did you mean steepness?",
    ),
    "misspelt inside": (
        HALL,
        ("chiller = 0.065", "chilller = 0.065"),
        "limit.hot_spot.steepness has chilller: did you mean chiller?",
    ),
    "unknown": (
        HALL,
        ("meter_error = 0.2", "meter_error = 0.2\nzzz = 1"),
        "limit.hot_spot has zzz: it may have unit, at_most, at_least, meter_error, start_margin, "
        "steepness, curvature, unknown, convex, rise, changes, node",
    ),
    "start": (
        HALL,
        ("start = 100                        # the", "start = 130 # the"),
        "actuator.fan1.start must be in its range 30 to 100 %, got 130",
    ),
    "off within": (
        HALL,
        ("step = 1 ", "off = 40 "),
        "actuator.fan1.off must be outside its range 30 to 100 %, got 40",
    ),
    "off elsewhere": (
        HALL,
        ("step = 1 ", "off = 5 "),
        "actuator.fan1.off must be 0, below its range, got 5",
    ),
    "off within, and a start that is off": (
        PARK,
        ("off = 0\nstart = 0", "off = 6\nstart = 0"),
        "actuator.west.off must be outside its range 6 to 32 A, got 6",
    ),
    "off elsewhere, and a start there": (
        PARK,
        ("off = 0\nstart = 0", "off = 1\nstart = 1"),
        "actuator.west.off must be 0, below its range, got 1",
    ),
    "off that is no number": (
        PARK,
        ("off = 0\nstart = 0", "off = true\nstart = 0"),
        "actuator.west.off must be a number in A, got true",
    ),
    "off above": (
        edit(PUMPS, ("[25, 50]", "[-50, -25]"), ("start = 50", "start = -50")),
        ("start = -50", "start = -50\noff = 0"),
        "actuator.speed.off must be 0, below its range, got 0",
    ),
    "start beside off": (
        PARK,
        ("off = 0\nstart = 0", "off = 0\nstart = 3"),
        "actuator.west.start must be 0 or in its range 6 to 32 A, got 3",
    ),
    "ramp below step": (
        edit(PUMPS, ("start = 50", "start = 50\nstep = 1\nramp = 2")),
        ("ramp = 2", "ramp = 0.5"),
        "actuator.speed could never move: its ramp is 0.5 Hz a round (0.5 Hz per minute), its step "
        "1 Hz",
    ),
    "ramp below the range of what is off": (
        edit(PUMPS, ("start = 50", "start = 0\noff = 0")),
        ("off = 0", "off = 0\nramp = 24"),
        "actuator.speed could never be switched: its ramp is 24 Hz a round (24 Hz per minute), its "
        "range begins at 25",
    ),
    "a node of two actuators": (
        edit(PARK, ("off = 0", "off = 0\nnode = 'ns=2;i=7'")),
        ("off = 0\nstart", "off = 0\nnode = 'ns=2;i=7'\nstart"),
        "actuator.east.node must be another node: actuator.west has it",
    ),
    "a node that is no text": (
        PUMPS,
        ("at_least = 2.5", "node = 7\nat_least = 2.5"),
        "limit.pressure.node must be a line of at most 200 characters in quotes, got 7",
    ),
    "margin": (
        HALL,
        ("start_margin = 2.9", "start_margin = 0.3"),
        "limit.hot_spot.start_margin must exceed 2 x meter_error = 0.4 degC, got 0.3: the first "
        "reading could not show it",
    ),
    "margin of rounding": (
        edit(PUMPS, ("at_least = 2.5", "at_least = 1e13"), ("margin = 0.5", "margin = 50")),
        ("start_margin = 50", "start_margin = 1.5"),
        "limit.pressure.start_margin must exceed 2 x meter_error by 2**-38 of the limit's size "
        "1e+13 bar, got 1.5: rounding could hide it",
    ),
    "a context without rise": (
        HALL,
        ("rise = { outside = 0.24, it", "rise = { it"),
        "limit.hot_spot.rise must have outside (0 if it does not matter)",
    ),
    "no rise": (
        HALL,
        ("rise =", "#"),
        "limit.hot_spot must have rise (what each of outside and it_load adds, 0 for nothing)",
    ),
    "rise without contexts": (
        PUMP,
        ("convex = true", "rise = { outside = 0.1 }"),
        "limit.pressure has rise, and the file has no context",
    ),
    "rise by a word": (
        HALL,
        ('worse = "up"', 'worse = "warm"'),
        'limit.hot_spot.rise.it_load.worse must be "up" or "down", got "warm"',
    ),
    "rise without per": (
        HALL,
        ("{ per = 16.1, worse", "{ worse"),
        "limit.hot_spot.rise.it_load must have per (by at most so much)",
    ),
    "rise that adds and more": (
        PARK,
        ("{ adds = 1 }", "{ adds = 1, per = 2 }"),
        "limit.feeder.rise.base_load has per: beside adds it may have no other than adds",
    ),
    "rise misspelt": (
        PARK,
        ("{ adds = 1 }", "{ ads = 1 }"),
        "limit.feeder.rise.base_load has ads: did you mean adds?",
    ),
    "rise below 0": (
        HALL,
        ("outside = 0.24", "outside = -0.24"),
        "limit.hot_spot.rise.outside must be a number >= 0 in degC per degC, got -0.24",
    ),
    "no convex": (
        HALL,
        ("[policy]", "convex = false\n[policy]"),
        "limit.hot_spot.convex may be false only with curvature: means of actions are certified by "
        "the others",
    ),
    "steepness for one": (
        HALL,
        ("steepness = { fan1", "steepness = 0.1\n# { fan1"),
        "limit.hot_spot.steepness must be a table, such as { fan1 = 0.1 }, got 0.1",
    ),
    "steepness below 0": (
        PUMP,
        ("speed = 0.12", "speed = -0.12"),
        "limit.pressure.steepness.speed must be a number >= 0 in bar per Hz, got -0.12",
    ),
    "origin": (
        HALL,
        ('origin = "estimated"', 'origin = "guessed"'),
        'limit.hot_spot.steepness.fan1.origin must be "proved" or "given" or "estimated", got '
        '"guessed"',
    ),
    "origin without value": (
        HALL,
        ("value = 0.0228, ", ""),
        "limit.hot_spot.steepness.fan1 must have value",
    ),
    "why": (
        HALL,
        ('why = "row 412"', 'why = "row\\u001b412"'),
        "limit.hot_spot.steepness.fan1.why must be a line of at most 500 characters in quotes, got "
        '"row\\u001b412"',
    ),
    "infinite": (
        HALL,
        ("at_most = 27.0", "at_most = 1e400"),
        "limit.hot_spot.at_most must be a number in degC, of a size from 1e-20 to 1e+20, got inf",
    ),
    "no number": (
        HALL,
        ("at_most = 27.0", "at_most = nan"),
        "limit.hot_spot.at_most must be a number in degC, of a size from 1e-20 to 1e+20, got nan",
    ),
    "tiny": (
        HALL,
        ("meter_error = 0.2", "meter_error = 1e-300"),
        "limit.hot_spot.meter_error must be a number >= 0 in degC, of a size from 1e-20 to 1e+20, "
        "got 1e-300",
    ),
    "whole numbers beyond floats": (
        HALL,
        ("at_most = 27.0", f"at_most = 0x1{'0' * 5000}"),
        "limit.hot_spot.at_most must be a number in degC, of a size from 1e-20 to 1e+20, got a "
        "whole number of about 6021 digits",
    ),
    "truth": (
        HALL,
        ("start_margin = 2.9", "start_margin = true"),
        "limit.hot_spot.start_margin must be a number > 0 in degC, got true",
    ),
    "a date": (
        HALL,
        ("start_margin = 2.9", "start_margin = 2026-07-10"),
        "limit.hot_spot.start_margin must be a number > 0 in degC, got 2026-07-10",
    ),
    "range turned": (
        HALL,
        ("[-20, 40]", "[40, -20]"),
        "context.outside.range must be [least, largest] in degC, the largest above the least, got "
        "[40, -20]",
    ),
    "range of three": (
        HALL,
        ("[-20, 40]", "[-20, 0, 40]"),
        "context.outside.range must be [least, largest] in degC, the largest above the least, got "
        "[-20, 0, 40]",
    ),
    "step": (
        HALL,
        ("step = 1 ", "step = 7 "),
        "actuator.fan1.step must be a part of both ends of its range 30 to 100 %, got 7",
    ),
    "step of the start": (
        HALL,
        ("start = 100                        # the", "start = 99.5 # the"),
        "actuator.fan1.start must be a whole multiple of its step 1 %, got 99.5",
    ),
    "step too small": (
        HALL,
        ("step = 1 ", "step = 1e-12 "),
        "actuator.fan1.step must be at least 2**-40 of the ends of its range, got 1e-12",
    ),
    "a time": (
        HALL,
        ('"15 min"', '"15m"'),
        'round must be a time such as "15 min" (s, min, h, d), got "15m"',
    ),
    "no time": (
        HALL,
        ('"15 min"', '"0 min"'),
        'round must be a time from 0.001 s to 31 d, got "0 min"',
    ),
    "a time as a number": (
        HALL,
        ('"15 min"', "15"),
        'round must be a time such as "15 min" (s, min, h, d), got 15',
    ),
    "a role": (
        HALL,
        ('"filter"', '"lerner"'),
        'role must be "filter" or "learner", got "lerner"',
    ),
    "a table that is none": (
        edit(HALL, ("[policy]\n", ""), ('on_contradiction = "recover"\nrecoveries = 3\n', "")),
        ('role = "filter"', 'role = "filter"\npolicy = "recover"'),
        'policy must be a table, got "recover"',
    ),
    "a list of tables": (
        PUMP,
        ("[limit.pressure]", "[[limit.pressure]]"),
        "limit.pressure must be a table, got a list",
    ),
    "version": (
        HALL,
        ("surefoot = 1", "surefoot = 2"),
        "surefoot must be 1, the version of this grammar, got 2",
    ),
    "a journal without a name": (
        HALL,
        ('journal = "hall3.jsonl"', 'journal = "  "'),
        'journal must be a line of at most 200 characters in quotes, got "  "',
    ),
    "a round in other digits": (
        HALL,
        ('round = "15 min"', 'round = "१५ min"'),
        'round must be a time such as "15 min" (s, min, h, d), got "१५ min"',
    ),
    "a version with a point": (
        HALL,
        ("surefoot = 1", "surefoot = 1.0"),
        "surefoot must be 1, the version of this grammar, got 1.0",
    ),
    "truth as a version": (
        HALL,
        ("surefoot = 1", "surefoot = true"),
        "surefoot must be 1, the version of this grammar, got true",
    ),
    "policy": (
        HALL,
        ('"recover"', '"hold"'),
        'policy.on_contradiction must be "retreat" or "recover" or "raise" or "record", got "hold"',
    ),
    "recoveries": (
        HALL,
        ("recoveries = 3", "recoveries = 21"),
        "policy.recoveries must be a whole number from 0 to 20, got 21",
    ),
    "recoveries with a point": (
        HALL,
        ("recoveries = 3", "recoveries = 3.0"),
        "policy.recoveries must be a whole number from 0 to 20, got 3.0",
    ),
    "nothing to recover": (
        HALL,
        ('"estimated"', '"given"'),
        'policy.on_contradiction may be "recover" only where steepness, curvature, rise or changes '
        'has origin = "estimated": without an estimate there is nothing to enlarge',
    ),
    "a key of another version": (
        HALL,
        ("[service]", "[service]\ncompress = true"),
        "service has compress: it may have listen, metrics, token_file, deadline, heartbeat, "
        "rotate, amend",
    ),
    "deadline": (
        HALL,
        ("20 min", "10 min"),
        'service.deadline must be at least a round, 15 min, got "10 min"',
    ),
    "listen": (
        HALL,
        ("/run/surefoot/hall3.sock", "0.0.0.0:9464"),
        "service.listen must be a path with a / in it, or a loopback address and a port, got "
        '"0.0.0.0:9464": the protocol is not encrypted; use ssh -L or a proxy for other machines',
    ),
    "a path too long": (
        HALL,
        ("/run/surefoot/hall3.sock", "/" + "a" * 107),
        f'service.listen must be a path of at most 107 bytes, got "/{"a" * 59}..."',
    ),
    "metrics": (
        HALL,
        ("127.0.0.1:9464", "hall3:9464"),
        'service.metrics must be a loopback address and a port, such as "127.0.0.1:9464", got '
        '"hall3:9464"',
    ),
    "rotate": (
        HALL,
        ("64 MB", "64 MiB"),
        'service.rotate must be a size such as "64 MB" (kB, MB, GB), got "64 MiB"',
    ),
    "heartbeat": (
        HALL,
        ("10 s", "0.01 s"),
        'service.heartbeat must be a time from 0.1 s to 1 d, got "0.01 s"',
    ),
    "a start of a member": (
        FLEET,
        ("speed = 45", "speed = 60"),
        "member.p2.start.speed must be in its range 25 to 50 Hz, got 60",
    ),
    "an actuator of a member": (
        FLEET,
        ("{ speed = 45 }", "{ sped = 45 }"),
        "member.p2.start has sped: did you mean speed?",
    ),
    "a constant of a member": (
        FLEET,
        ("value = 0.09", "value = -0.09"),
        "member.p2.limit.pressure.steepness.speed.value must be a number >= 0 in bar per Hz, got "
        "-0.09",
    ),
    "a constant of nothing": (
        FLEET,
        ("steepness.speed =", "steepness.fan =".replace("fan", "head")),
        "member.p2.limit.pressure.steepness has head: the actuators are speed",
    ),
    "a unit of a member": (
        FLEET,
        ("[member.p1]\n", "[member.p1]\nactuator.speed.unit = 'rpm'\n"),
        "member.p1.actuator.speed.unit must be that of the file: members share units",
    ),
    "a limit of a member": (
        FLEET,
        ("[member.p1]\n", "[member.p1]\nlimit.flow = { at_least = 1 }\n"),
        "member.p1.limit has flow: the limits are pressure",
    ),
    "a margin of a member": (
        FLEET,
        ("[member.p1]\n", "[member.p1]\nlimit.pressure.start_margin = 0.03\n"),
        "member.p1.limit.pressure.start_margin must exceed 2 x meter_error = 0.04 bar, got 0.03: "
        "the first reading could not show it",
    ),
    "both limits of a member": (
        FLEET,
        ("[member.p1]\n", "[member.p1]\nlimit.pressure.at_most = 5\n"),
        "member.p1.limit.pressure must have at_most or at_least, got both",
    ),
    "policies of a member": (
        FLEET,
        ("[member.p1]\n", "[member.p1]\npolicy = {}\n"),
        "member.p1 has policy: it may have start, actuator, context, limit",
    ),
    "a start given twice": (
        FLEET,
        ("{ speed = 45 }", "{ speed = 45 }\nactuator.speed.start = 46"),
        "member.p2.start has speed, and actuator.speed.start is given, too",
    ),
}


@pytest.mark.parametrize(("text", "change", "sentence"), EDITS.values(), ids=EDITS)
def test_one_mistake_is_one_sentence_with_its_line(text, change, sentence):
    parse_plant(text)
    wrong = edit(text, change)
    first = text[: text.index(change[0])].count("\n") + 1
    (said,) = mistakes_in(wrong)
    place, _, words = said.partition(": ")
    assert words == sentence
    name, _, line = place.partition(":")
    assert name == "plant.toml"
    at = wrong.split("\n")[int(line) - 1]
    # The line is that of the change or the next, of the table that lacks something, or the key's.
    is_elsewhere = at.startswith(("[", sentence.partition(" ")[0].split(".")[-1]))
    assert int(line) - first in (0, 1) or is_elsewhere, at


def test_a_missing_line_is_that_of_the_table_and_other_sentences_have_no_line():
    assert mistakes_in(edit(FLEET, ('journal = "booster.jsonl"\n', ""))) == [
        "plant.toml:16: must have journal, one file for all, where it has member"
    ]
    assert mistakes_in(edit(HALL, ('round = "15 min"\n', ""))) == [
        'plant.toml: must have round (such as "15 min")'
    ]
    assert mistakes_in(edit(HALL, ("/run/surefoot/hall3.sock", "127.0.0.1:9465"))) == [
        f"plant.toml:{line_with(HALL, '[service]')}: service must have token_file, because every "
        "user of a machine may connect to a port"
    ]
    assert mistakes_in(edit(PUMP, ("at_least = 2.5\n", ""))) == [
        "plant.toml:9: limit.pressure must have at_most or at_least"
    ]
    assert mistakes_in(edit(PUMP, ("at_least = 2.5\n", "at_least = 2.5\nat_most = 3\n"))) == [
        "plant.toml:9: limit.pressure must have at_most or at_least, got both"
    ]
    assert mistakes_in(edit(PUMP, ("steepness =", "#"))) == [
        "plant.toml:9: limit.pressure must have steepness, curvature or unknown"
    ]
    assert mistakes_in(edit(PUMPS, ("convex =", "unknown = { violations = 1 }\nconvex ="))) == [
        "plant.toml:9: limit.pressure must have one of steepness, curvature and unknown, got "
        "steepness and unknown"
    ]


def test_names_are_small_and_nobody_has_that_of_another():
    assert mistakes_in(edit(PUMP, ("[actuator.speed]", "[actuator.Speed]"))) == [
        "plant.toml:5: actuator.Speed must have a name of at most 32 small letters, digits and _, "
        "a letter first",
    ]
    assert mistakes_in(edit(PUMP, ("[limit.pressure]", "[limit.speed]"))) == [
        "plant.toml:9: limit.speed must have another name: actuator.speed has it"
    ]
    assert mistakes_in(edit(FLEET, ("[member.p1]", "[member.pressure]"))) == [
        "plant.toml:17: member.pressure must have another name: limit.pressure has it"
    ]
    long = f"[member.{'p' * 60}]"
    assert mistakes_in(edit(FLEET, ("[member.p1]", long))) == [
        f'plant.toml:17: member."{"p" * 40}..." must have a name of at most 32 small letters, '
        "digits and _, a letter first"
    ]


def test_all_mistakes_are_told_at_once_in_the_order_of_lines():
    text = """\
surefoot = 1
rund = "15 min"
role = "lerner"

[actuator.fan1]
unit = "%"
range = [30, 100]
start = 130
off = 40

[actuator.chiller]
range = [100, 30]
ramp = -1

[context.outside]
unit = "degC"
range = [-20, 40]

[limit.hot_spot]
unit = "degC"
at_most = "27 degC"
meter_error = 0.2
start_margin = 0.3
stepness = { fan1 = 0.0228 }
rise = { outsid = 0.24 }

[policy]
on_contradiction = "hold"

[servise]
"""
    assert mistakes_in(text) == [
        "plant.toml:2: has rund: did you mean round?",
        'plant.toml:3: role must be "filter" or "learner", got "lerner"',
        "plant.toml:8: actuator.fan1.start must be in its range 30 to 100 %, got 130",
        "plant.toml:9: actuator.fan1.off must be outside its range 30 to 100 %, got 40",
        "plant.toml:11: actuator.chiller must have unit (printed, never converted)",
        "plant.toml:11: actuator.chiller must have start (the safe set point)",
        "plant.toml:12: actuator.chiller.range must be [least, largest], the largest above the "
        "least, got [100, 30]",
        "plant.toml:13: actuator.chiller.ramp must be a number > 0, got -1",
        'plant.toml:21: limit.hot_spot.at_most must be a number in degC, got "27 degC" (the unit '
        "is said once, in unit)",
        "plant.toml:23: limit.hot_spot.start_margin must exceed 2 x meter_error = 0.4 degC, got "
        "0.3: the first reading could not show it",
        "plant.toml:24: limit.hot_spot has stepness: did you mean steepness?",
        "plant.toml:25: limit.hot_spot.rise has outsid: did you mean outside?",
        'plant.toml:28: policy.on_contradiction must be "retreat" or "recover" or "raise" or '
        '"record", got "hold"',
        "plant.toml:30: has servise: did you mean service?",
    ]


def test_a_mistake_of_the_plant_is_not_told_for_every_member_again():
    text = edit(FLEET, ("start_margin = 0.5", "start_margin = 0.03"), ("speed = 45", "speed = 60"))
    assert mistakes_in(text) == [
        "plant.toml:13: limit.pressure.start_margin must exceed 2 x meter_error = 0.04 bar, got "
        "0.03: the first reading could not show it",
        "plant.toml:19: member.p2.start.speed must be in its range 25 to 50 Hz, got 60",
    ]


# --- what cannot be kept together -----------------------------------------------------------------

CURVED = edit(PUMPS, ("steepness = { speed = 0.12 }", "curvature = { speed = 0.01 }"))
UNKNOWN = edit(PUMPS, ("steepness = { speed = 0.12 }", "unknown = { violations = 2 }"))
OUTSIDE = "[context.outside]\nunit = 'K'\nrange = [0, 1]\n"
LIMIT = "[limit.heat]\nunit = 'K'\nat_most = 5\nmeter_error = 0\nstart_margin = 1\n"
STEEP = f"{LIMIT}steepness = {{ speed = 1 }}\n"
BENT = f"{LIMIT}curvature = {{ speed = 1 }}\n"
SLOPES = ("surefoot = 1", "surefoot = 1\nslopes = true")
SLOW = ("start = 50", "start = 50\nramp = 1")
STILL = "Theorem U counts the violations of one limit that does not move; give steepness"
STANDS = "by a smoothness constant no bound at the start stands while the limit moves; give steep"


@pytest.mark.parametrize(
    ("text", "changes", "ends"),
    [
        (CURVED, [], ["limit.pressure.curvature needs slopes = true: by a smoothness constant"]),
        (
            CURVED,
            [SLOPES, ("convex = true", "changes = 1")],
            [f"limit.pressure.curvature cannot be kept with changes: {STANDS}"],
        ),
        (
            CURVED + OUTSIDE,
            [SLOPES],
            [f"limit.pressure.curvature cannot be kept with contexts: {STANDS}"],
        ),
        (
            UNKNOWN + STEEP,
            [],
            [f"limit.pressure.unknown cannot be kept with another limit: {STILL}"],
        ),
        (UNKNOWN + OUTSIDE, [], [f"limit.pressure.unknown cannot be kept with contexts: {STILL}"]),
        (
            UNKNOWN,
            [("convex = true", "changes = 1")],
            [f"limit.pressure.unknown cannot be kept with changes: {STILL}"],
        ),
        (
            UNKNOWN,
            [SLOW],
            ["limit.pressure.unknown cannot be kept with actuator.speed.ramp: after a violation"],
        ),
        (
            PUMPS + OUTSIDE,
            [SLOW, ("convex = true", "rise = { outside = 1 }")],
            ["context.outside must have changes, at most so much per minute, because actuator.spe"],
        ),
        (
            PUMP,
            [("start = 50", "start = 50\nramp = 1\nstep = 1")],
            [
                "actuator.speed.ramp cannot be kept with actuator.speed.step where the plant has "
                "limit.pressure.changes: Theorem R has no return path between choices"
            ],
        ),
        (
            PUMPS + OUTSIDE + "changes = 1",
            [
                ("start = 50", "start = 50\nramp = 25\noff = 0"),
                ("convex", "rise.outside = 1\nconvex"),
            ],
            [
                "actuator.speed.ramp cannot be kept with actuator.speed.off where the plant has "
                "contexts: Theorem R has no return path between choices"
            ],
        ),
        (
            PUMP + BENT,
            [SLOPES, SLOW],
            ["limit.heat.curvature cannot be kept with limit.pressure.changes: after a contrad"],
        ),
        (
            CURVED.replace("0.01 }", "0.01, head = 1 }")
            + "[actuator.head]\nunit = 'm'\nrange = [0, 1]\nstart = 0\n",
            [SLOPES, ("convex = true", "convex = false")],
            ["limit.pressure.convex may be false only where there is one actuator: a trace"],
        ),
    ],
)
def test_what_cannot_be_kept_together_is_said_in_one_sentence(text, changes, ends):
    said = [sentence.partition(": ")[2] for sentence in mistakes_in(edit(text, *changes))]
    assert [s[: len(end)] for s, end in zip(said, ends, strict=True)] == ends


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        (CURVED, [SLOPES]),
        (CURVED, [SLOPES, ("convex = true", "convex = false")]),
        (CURVED, [SLOPES, SLOW]),
        (CURVED + STEEP, [SLOPES]),
        (UNKNOWN, []),
        (UNKNOWN, [("convex = true", "changes = 0")]),
        (UNKNOWN, [("start = 50", "start = 50\nramp = 25")]),  # it crosses its range in a round
        (PUMPS, [("start = 50", "start = 50\nramp = 1\nstep = 1")]),
        (PUMP, [SLOW]),
        (PUMP + STEEP, [SLOW]),
        (PUMP + STEEP, [('round = "1 min"', 'round = "1 min"\nrole = "learner"')]),
        (PUMPS + OUTSIDE + "changes = 1", [SLOW, ("convex", "rise.outside = 1\nconvex")]),
    ],
)
def test_what_can_be_kept_together_is_a_plant(text, changes):
    parse_plant(edit(text, *changes))


# --- files of any kind ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\xff", "plant.toml:1: is not UTF-8 text"),
        (b" " * 10_000_000, "plant.toml: is larger than 1 MB"),
        (b"a = [" * 9_000, "plant.toml:1: is not TOML: "),
        (b"a = " + b"[" * 9_000, "plant.toml: has tables or lists nested too deeply"),
        (b"surefoot = 1\nsurefoot = 1\n", "plant.toml:2: is not TOML: cannot overwrite a value"),
        (b"surefoot = 1\n[a.b]\n[a.b]", "plant.toml:3: is not TOML: cannot declare a.b twice"),
        (b"surefoot = 1\na = 1" + b"0" * 4_300, "plant.toml:2: is not TOML: exceeds the limit "),
        (b"surefoot = 1\n[actuator", "plant.toml:2: is not TOML: "),
        (None, "plant.toml: cannot be read: no such file or directory"),
    ],
)
def test_a_file_of_any_kind_is_answered_in_one_sentence(tmp_path, content, sentence):
    path = tmp_path / "plant.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PlantFileError) as caught:
        read_plant(path)
    (said,) = caught.value.mistakes
    assert said.startswith(sentence)
    assert "\n" not in said
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (copied.mistakes, str(copied)) == (caught.value.mistakes, said)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(PlantFileError, match=r": is not a file$"):
        read_plant(tmp_path)


def test_of_thousands_of_mistakes_a_hundred_are_named_and_the_rest_counted():
    text = PUMP + "".join(f"[member.{name}{i}]\nstart = 1\n" for name in "Pp" for i in range(5_000))
    began = time.process_time()
    said = mistakes_in(text)
    assert time.process_time() - began < 30.0
    assert len(said) == 101
    assert said[-1] == "plant.toml: has 9,900 mistakes more"
    strangers = "".join(f"steepnes{i} = 1\n" for i in range(20_000))
    began = time.process_time()
    assert len(mistakes_in(PUMP + strangers)) == 101
    assert time.process_time() - began < 10.0


def test_of_many_names_twenty_are_in_a_sentence():
    table = 'unit = "%"\nrange = [0, 1]\nstart = 1\n'
    more = "".join(f"[actuator.a{i}]\n{table}" for i in range(500))
    (said,) = mistakes_in(PUMP + more)
    assert said.endswith("a18, a19 and 480 others (0 if the limit does not depend on it)")
    assert len(said) < 200
    (said,) = mistakes_in(FLEET + more + "[member.x]\nstart.zzz = 1\n")[:1]
    assert len(said) < 300


@settings(max_examples=200)
@given(st.sampled_from(list(TEXTS.values())), st.data())
def test_a_damaged_file_is_a_plant_or_mistakes_in_the_order_of_lines(text, data):
    at = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(at, min(len(text), at + 12)))
    pieces = ["", "\n", "[", "]", "=", "1e400", "nan", "true", '"', "{", "}", "x", "-1", "[a.b]\n"]
    damaged = text[:at] + data.draw(st.sampled_from(pieces)) + text[end:]
    said = ()
    try:
        parse_plant(damaged)
    except PlantFileError as error:
        said = error.mistakes
    lines = [int(s.split(":")[1]) if s[10] == ":" and s[11].isdigit() else 0 for s in said]
    assert lines == sorted(lines)
    assert max(lines, default=0) <= damaged.count("\n") + 1
    assert len(set(said)) == len(said)


def test_numbers_are_without_a_sign_on_0():
    text = edit(PUMPS, ("[25, 50]", "[-0.0, 50]"))
    assert math.copysign(1.0, parse_plant(text).actuators[0].low) == 1.0
