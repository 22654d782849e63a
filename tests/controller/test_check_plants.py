"""Journals of plants: constants follow from the file, and amendments and recoveries are judged."""

import copy
from dataclasses import replace

import pytest
from tests.controller.plants import C, context_at, drive_hall, hall, hall_at, pressure_at, pumps

from surefoot.controller import Plant, PlantFleet, machine
from surefoot.controller.check import check
from surefoot.controller.loop import LoopState
from surefoot.problems.plant import PolicyDescription, RiseDescription, consistency

from ._lines import forge, records

RECOVER = PolicyDescription("recover", 5, "retreat")


def drive_pumps(plant, rounds):
    """Play pumps that somebody wants at their least speed."""
    for _ in range(rounds):
        speed = plant.ask()["speed"]
        plant.tell(readings={"pressure": pressure_at(speed)}, wanted={"speed": 25.0})


def pumped(path, rounds=8, plant=None):
    """Return the journal of pumps."""
    with Plant.of(pumps() if plant is None else plant, journal=path) as loop:
        drive_pumps(loop, rounds)
    return path


def one_hall(**changes):
    """Return a hall with its temperature alone."""
    whole = hall(**changes)
    return replace(whole, limits=whole.limits[:1])


def temperature(t, points):
    """Return the report of a hall that has one limit."""
    return {"readings": {"hot_spot": hall_at(points, context_at(t))["hot_spot"]}}


def heated(path, rounds=40, noise=0.1, **changes):
    """Return the journal of a hall with one limit."""
    with Plant.of(one_hall(**changes), journal=path) as loop:
        loop.announce(context_at(1))
        drive_hall(loop, rounds, noise=noise, report=temperature)
    return path


def blamed(path, edit, words, before=0):
    """Forge a journal; the checker must say why it is not certified."""
    assert check(str(path)).code == before, check(str(path)).said
    forge(path, edit)
    report = check(str(path))
    assert report.code == 1, report.said
    assert words in report.said[0], report.said[0]


def of_kind(found, kind):
    return [record for record in found if record["kind"] == kind]


# --- constants -----------------------------------------------------------------------------------


def test_the_constants_of_a_plant_are_printed_in_its_units(tmp_path):
    report = check(str(pumped(tmp_path / "run")))
    assert report.said == ["certified: 7 of 8 rounds; the first is the start"]
    assert report.constants[:3] == (
        "plant: from round 1: rounds of 1.0 min, speed from 25.0 to 50.0 Hz starting at 50.0, "
        "on_contradiction retreat, on_missing hold, recoveries 3",
        "plant: from round 1: pressure is at least 2.5 bar, meter_error 0.02 bar (given), "
        "start_margin 0.5 bar (given), steepness.speed 0.12 bar per Hz (given)",
        "plant: from round 1: none is an estimate",
    )
    assert report.constants[3].startswith("constants: from round 1: RegionFilter(")
    report = check(str(heated(tmp_path / "hall")))
    assert report.code == 0
    assert report.said[0].startswith("certified given 2 estimates: 40 of 40 rounds")
    (parts, limit, count) = report.constants[:3]
    assert "outside from -20.0 to 40.0 degC by 0.1 per minute, load from 0.4 to 1.3 MW" in parts
    assert "steepness.fan1 0.12 degC per % (estimated), steepness.fan2 0.1 degC per %" in limit
    assert "rise.outside 0.2 degC per degC (given)" in limit
    assert count == "plant: from round 1: 2 are estimates"


def knowledge_of(found):
    return found[0]["player"]["knowledge"]


def put(**values):
    """Return a change of what is known."""
    return lambda found: knowledge_of(found).update(values)


def put_error(**values):
    return lambda found: knowledge_of(found)["errors"].update(values)


def put_column(i, **values):
    return lambda found: knowledge_of(found)["context"]["columns"]["tuple"][i].update(values)


def put_head(**values):
    return lambda found: found[0].update(values)


LESS = 1 - 2.0**-40


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (put(G_g=0.96 * LESS), "G_g of pressure is 0.95"),
        (put(start_bound=-1.0 - 2.0**-40), "start_bound of pressure is -1.0000"),
        (put_error(value=0.04 * LESS), "the value error of pressure is 0.0399"),
        (put_error(evaluation=0.0), "the evaluation error of pressure is 0.0"),
        (put_error(drift=0.002 * LESS), "the drift of pressure is 0.00199"),
        (put(reach=12.0), "the reach of a player is less than its domain has"),
        (put(**{"class": "Curvature"}), "pressure must be known by a LipschitzHull"),
        (put(domain={"class": "Box", "lower": [6.25], "upper": [12.6]}), "the domain of a player"),
        (put(domain=None), "the domain of a player is not that of its plant"),
        (put_head(start=[12.25]), "the start of a player is not that of its plant"),
        (put_head(on_missing="retreat"), "on_missing is 'retreat', and its plant says 'hold'"),
        (put_head(on_contradiction="record"), "on_contradiction is 'record', and its plant says"),
        (lambda found: found[0]["player"].update(ramp=None), "a player has no ramp, and its plant"),
        (
            lambda found: found[0]["player"].update(ramp={"tuple": [1.26]}),
            "speed has a larger ramp in the player than in its plant",
        ),
        (lambda found: found[0].pop("plant"), "a stored state|has no|cannot be read|None"),
    ],
)
def test_a_player_does_not_certify_more_than_its_plant(edit, words, tmp_path):
    speed = replace(pumps().actuators[0], ramp=5.0)
    limit = replace(pumps().limits[0], changes=C(0.001))
    plant = replace(pumps(), actuators=(speed,), limits=(limit,))
    path = pumped(tmp_path / "run", 0, plant)
    if "|" in words:  # a journal that says nothing of a plant is that of a controller
        forge(path, edit)
        assert check(str(path)).constants[0].startswith("constants:")
        return
    blamed(path, edit, words)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (put_column(0, G_c=0.05), "the rise of hot_spot with outside is less in the player"),
        (put_column(1, worse="up"), "the rise of hot_spot with load is less in the player"),
        (put_column(0, worse="down"), "the rise of hot_spot with outside is less in the player"),
        (put_column(0, adds=0.1, G_c=None, worse=None), "rise of hot_spot with outside is less"),
        (put_column(0, changes=0.49), "outside changes less in the player than in its plant"),
        (lambda f: knowledge_of(f)["context"].update(joint=True), "columns that are not joint"),
        (
            lambda f: knowledge_of(f)["context"]["columns"]["tuple"].pop(),
            "another number of columns than its plant has contexts",
        ),
        (put(**{"class": "LipschitzHull"}), "hot_spot must be known by a ContextHull"),
    ],
)
def test_a_player_does_not_know_more_of_contexts_than_its_plant(edit, words, tmp_path):
    path = heated(tmp_path / "run", 0, ramp=4.0)
    blamed(path, edit, words)


def test_a_player_may_certify_less(tmp_path):
    path = heated(tmp_path / "run", 0)

    def weaken(found):
        known = knowledge_of(found)
        known["G_g"] *= 1.5
        known["start_bound"] = None
        known["errors"].update(value=0.5, drift=0.1, evaluation=1e-9)
        put_column(0, G_c=1.0, worse=None)(found)
        put_column(1, changes=None)(found)

    forge(path, weaken)
    assert check(str(path)).is_right


def limit_of(found):
    return found[0]["plant"]["description"]["limit"][0]


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda f: limit_of(f)["steepness"]["fan1"].update(value=0.121), "G_g of hot_spot is"),
        (lambda f: limit_of(f)["meter_error"].update(value=0.21), "the value error of hot_spot"),
        (lambda f: limit_of(f)["rise"]["load"]["per"].update(value=8.1), "rise of hot_spot with"),
        (lambda f: limit_of(f)["rise"]["outside"].pop("worse"), "the rise of hot_spot with outsid"),
        (lambda f: limit_of(f)["start_margin"].update(value=1.9), "start"),
        (lambda f: limit_of(f).update(convex=False), "hot_spot is not convex, and its player says"),
        (lambda f: limit_of(f).update(at_least=27.0), "at most or at least something"),
        (lambda f: limit_of(f).update(stepness=1), "must not have a key 'stepness'"),
        (lambda f: limit_of(f)["steepness"].pop("fan2"), "must have 'fan2'"),
        (lambda f: f[0]["plant"].update(factor=2.0), "G_g of hot_spot is"),
        (lambda f: f[0]["plant"].update(factor=0.5), "factor must be a number from 1"),
        (lambda f: f[0]["plant"].update(left=3), "must begin with the factor 1 and all recoveries"),
        (lambda f: f[0]["plant"].update(left=1.5), "left must be a whole number from 0"),
        (lambda f: f[0]["plant"]["description"].update(round=5.5), "outside changes less|drift"),
        (lambda f: f[0]["plant"]["description"]["policy"].pop("on_missing"), "must have 'on_miss"),
        (lambda f: f[0]["plant"]["description"]["actuator"][0].update(start=90.0), "the start of"),
        (
            lambda f: f[0]["plant"]["description"]["actuator"][0].update(ramp=1.0),
            "no ramp, and its",
        ),
        (lambda f: f[0]["plant"]["description"]["actuator"][0].update(step=1.0), "the domain of a"),
    ],
)
def test_a_plant_does_not_say_less_than_its_player_needs(edit, words, tmp_path):
    path = heated(tmp_path / "run", 0)
    forge(path, edit)
    report = check(str(path))
    assert not report.is_right
    assert any(part in report.said[0] for part in words.split("|")), report.said[0]


def test_what_a_player_is_told_is_what_was_read(tmp_path):
    path = pumped(tmp_path / "run", 6)

    def tell(found, t=3):
        return next(r for r in of_kind(found, "round") if r["round"] == t)

    for edit, words in (
        (lambda f: tell(f).update(constraint_value=-1.2), "is not that of the readings"),
        (lambda f: tell(f)["readings"].__setitem__(0, 3.2), "is not that of the readings"),
        (lambda f: tell(f).update(readings=None), "a value of g, and no readings"),
        (lambda f: tell(f).pop("readings"), "a value of g, and no readings"),
        (lambda f: tell(f).update(readings=[{"number": "nan"}]), "lacks a reading"),
        (lambda f: tell(f).update(readings=[3.0, 3.0]), "one for each limit"),
        (lambda f: tell(f).update(readings=[1e9]), "further from its limit than is believed"),
        (lambda f: tell(f).update(value_error=0.0), "err by as much as its file says"),
    ):
        original = path.read_bytes()
        blamed(path, edit, words)
        path.write_bytes(original)


def test_a_context_beyond_its_range_is_refused(tmp_path):
    path = heated(tmp_path / "run", 6, policy=PolicyDescription(on_missing="retreat"))

    def go_beyond(found):
        line = next(r for r in of_kind(found, "round") if r["round"] == 3)
        line["context"]["place"][0] = 40.5

    blamed(path, go_beyond, "outside is beyond the range that its plant gives it")


def test_a_start_that_no_meter_shows_to_be_safe_is_not_certified(tmp_path):
    with Plant.of(pumps(), journal=tmp_path / "run") as plant:
        for pressure in (2.51, 3.1):
            plant.ask()
            plant.tell(readings={"pressure": pressure}, wanted={"speed": 25.0})
        drive_pumps(plant, 3)
    report = check(str(tmp_path / "run"))
    assert report.code == 3
    words = "a reading at the start was beyond what its margin allows"
    assert report.said[1:] == [f"not checked: round 1: {words}"]


# --- amendments ----------------------------------------------------------------------------------


def amended(path, *, factor=1.04, rounds=5):
    """Return the journal of pumps whose steepness is amended after five rounds."""
    with Plant.of(pumps(), journal=path) as plant:
        drive_pumps(plant, 5)
        limit = replace(plant.description.limits[0], steepness={"speed": C(0.12 * factor)})
        after = replace(plant.description, limits=(limit,))
        plant.amend(after, by="operations", reason="a new impeller")
        drive_pumps(plant, rounds)
    return path


def test_an_amendment_is_judged_and_said(tmp_path):
    report = check(str(amended(tmp_path / "run")))
    assert report.said == ["certified: 9 of 10 rounds; the first is the start"]
    assert report.events == (
        "order: round 6: amended by operations, reason: a new impeller: "
        "limit.pressure.steepness.speed 0.12 -> 0.1248; 4 certified before, 5 since",
    )
    assert any("from round 6: pressure is at least 2.5 bar" in words for words in report.constants)
    # Smaller constants may be right, too: what was certified by others does not count.
    assert check(str(amended(tmp_path / "other", factor=0.875))).code == 0


def amend_of(found):
    (line,) = of_kind(found, "amend")
    return line


def keep_player(found):
    """Keep the player of before, whose constants are smaller."""
    amend_of(found)["player"] = copy.deepcopy(found[0]["player"])


def move_start(found):
    line = amend_of(found)
    line["next"] = line["start"] = [12.0]
    line["loop"]["state"]["x"] = [12.0]


def to_resume(found):
    """Bring another player by a resume."""
    line = amend_of(found)
    line["kind"] = "resume"
    for name in ("by", "changes", "plant"):
        line.pop(name)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda f: amend_of(f).update(fresh=False), "an amendment must begin anew"),
        (lambda f: amend_of(f).pop("fresh"), "an amendment must have 'fresh'"),
        (lambda f: amend_of(f).pop("plant"), "an amendment must have 'plant'"),
        (lambda f: amend_of(f).update(by=""), "must say by whom it is, and why"),
        (lambda f: amend_of(f).update(changes=[]), "says other changes than are between"),
        (
            lambda f: amend_of(f)["changes"][0].__setitem__(2, 0.23),
            "says other changes than are between the two plants",
        ),
        (
            lambda f: amend_of(f)["changes"].append(["factor", 1.0, 2.0]),
            "says other changes than are between the two plants",
        ),
        (keep_player, "G_g of pressure is 0.96"),
        (move_start, "the start of a player is not that of its plant"),
        (lambda f: amend_of(f).update(next=[11.9]), "must begin at the start of its plant"),
        (
            lambda f: amend_of(f)["plant"].update(left=2),
            "must have the factor 1 and all recoveries",
        ),
        (to_resume, "what is known of a plant changes by an amendment alone"),
        (lambda f: f[0].pop("plant"), "an amendment changes a plant, and this player has none"),
        (
            lambda f: amend_of(f)["certificate"].update(bound=-1.5),
            "its return path claims a lower bound than is known",
        ),
        (lambda f: amend_of(f)["certificate"].update(drift=0.1), "another drift than the player"),
    ],
)
def test_a_forged_amendment_is_found(edit, words, tmp_path):
    blamed(amended(tmp_path / "run"), edit, words)


def test_who_begins_anew_keeps_the_factor_and_forgets_no_contradiction(tmp_path, monkeypatch):
    low = replace(pumps().limits[0], steepness={"speed": C(0.03, "estimated")})
    plant = replace(pumps(policy=PolicyDescription("recover", 3, "hold")), limits=(low,))
    path = tmp_path / "run"
    with Plant.of(plant, journal=path) as loop:
        drive_pumps(loop, 6)
        assert (loop.factor > 2, loop.recoveries_left) == (True, 2)
        loop.begin_anew(by="the service", reason="it was away")
        drive_pumps(loop, 3)
    report = check(str(path))
    assert report.is_right
    assert report.events[-2].startswith("order: round 7: begun anew by the service, reason: it was")
    original = path.read_bytes()
    blamed(path, lambda f: of_kind(f, "amend")[1]["plant"].update(left=3), "recoveries that were l")
    path.write_bytes(original)
    monkeypatch.setattr(LoopState, "is_refuted", False)  # another program may forget
    with Plant.of(pumps(), journal=tmp_path / "forgets") as loop:
        drive_pumps(loop, 2)
        loop.ask()
        loop.tell(readings={"pressure": 2.0}, wanted={"speed": 25.0})
        assert loop.halted
        loop.begin_anew(by="somebody", reason="in a hurry")
    report = check(str(tmp_path / "forgets"))
    assert not report.is_right
    assert "begins anew by the same constants forgets a contradiction" in report.said[0]


def test_no_amendment_leads_to_the_start_faster_than_a_ramp(tmp_path, monkeypatch):
    # A plant refuses that; a journal of another program may have it.
    speed = replace(pumps().actuators[0], ramp=1.0)
    plant, path = replace(pumps(), actuators=(speed,)), tmp_path / "run"
    monkeypatch.setattr(machine.Machine, "refuse_jump", lambda *_: None)
    with Plant.of(plant, journal=path) as loop:
        drive_pumps(loop, 4)
        loop.begin_anew(by="somebody", reason="in a hurry")
    report = check(str(path))
    assert not report.is_right
    assert "speed is further from the start than its ramp" in report.said[0]


def test_a_plant_is_not_resumed_with_another_player(tmp_path):
    with Plant.of(pumps(), journal=tmp_path / "run") as plant:
        drive_pumps(plant, 3)
        player = plant.controller.algorithm
        plant.controller.resume(player, start=plant.controller.loop.x)
    assert "changes by an amendment alone" in check(str(tmp_path / "run")).said[0]


# --- recoveries ----------------------------------------------------------------------------------


def recovered(path, short=4.0, rounds=60, **changes):
    """Return the journal of a hall whose steepness is told too small."""
    return heated(path, rounds, policy=RECOVER, steep=1 / short, **changes)


@pytest.mark.parametrize("short", [2.0, 4.0, 16.0])
@pytest.mark.parametrize("role", ["filter", "learner"])
def test_each_piece_is_certified_by_its_constants(short, role, tmp_path):
    report = check(str(recovered(tmp_path / "run", short, role=role)))
    assert report.code == 0, report.said
    words = "certified given the constants of each piece, with 2 estimates: 60 of 60 rounds"
    assert report.said[0].startswith(words)
    amended = [words for words in report.events if "amended by recovery" in words]
    refuted = [words for words in report.events if words.startswith("refuted: ")]
    assert len(amended) == len(refuted) >= 1
    assert "amended by recovery 1 of 5, reason: hot_spot = " in amended[0]
    assert ": factor 1.0 -> " in amended[0]
    assert "refuted the constants in use from round 1 on" in refuted[0]
    assert any("all that are not proved are multiplied by" in words for words in report.constants)


def test_a_ramp_leads_to_the_start_and_nothing_on_the_way_is_certified(tmp_path):
    report = check(str(recovered(tmp_path / "run", 16.0, ramp=1.0, rounds=120)))
    assert report.is_right
    assert "the constants of each piece" in report.said[0]
    assert {words.partition(": ")[2].partition(": ")[2] for words in report.said[1:]} <= {
        "nothing is proved of it, as its return path says"
    }


@pytest.fixture
def plain_doubling(monkeypatch):
    """Recoveries that read nothing from their readings, so that there are several."""
    monkeypatch.setattr(machine, "next_factor", lambda plant, factor, readings: 2.0 * factor)


def last_recovery(found):
    return of_kind(found, "amend")[-1]


def cut_after(found, line):
    del found[found.index(line) + 1 :]


def rename(found):
    """Say that a recovery is an operator's."""
    last_recovery(found)["by"] = "operations"


def describe_anew(found):
    """Change a description with a recovery."""
    line = last_recovery(found)
    line["plant"]["description"]["limit"][0]["unit"] = "K"
    line["changes"].append(["limit.hot_spot.unit", "degC", "K"])


def grow_less(found):
    line = last_recovery(found)
    old = line["changes"][0][1]
    line["plant"]["factor"] = line["changes"][0][2] = 1.9 * old


def forget_breaches(found):
    """Leave out that the journal noticed a contradiction."""
    for line in of_kind(found, "round"):
        line.pop("breaches", None)


def go_on(found):
    """Go on after the contradiction, as if nothing had been noticed."""
    line = of_kind(found, "amend")[0]
    before = found[found.index(line) - 1]
    for name in ("how", "why", "breaches"):
        before.pop(name)
    del found[found.index(line) :]


def drop_recovery(found):
    """Resume after a contradiction, and go on by what was refuted."""
    line = of_kind(found, "amend")[0]
    i = found.index(line)
    what = {"kind": "resume", "round": line["round"], "time": line["time"], "reason": "go on"}
    found[i:] = [what | {"next": found[i - 1]["next"], "certificate": None}]


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (rename, "an operator's amendment must have the factor 1 and all recoveries"),
        (describe_anew, "a recovery changes the description of its plant"),
        (grow_less, "a recovery must at least double the factor"),
        (lambda f: last_recovery(f)["plant"].update(left=4), "must use one of those that are left"),
        (lambda f: last_recovery(f).update(by="recovery 1 of 5"), "another number than it is"),
        (lambda f: last_recovery(f).update(by="recovery 2 of 6"), "another number than it is"),
        (forget_breaches, "a constant is wrong"),
        (go_on, "a constant is wrong"),
    ],
)
def test_a_forged_recovery_is_found(edit, words, tmp_path, plain_doubling):
    path = recovered(tmp_path / "run", 16.0)
    assert len(of_kind(records(path), "amend")) >= 2
    blamed(path, edit, words)


def test_nothing_goes_on_by_what_was_refuted(tmp_path):
    path = recovered(tmp_path / "run", 16.0)
    forge(path, drop_recovery)
    report = check(str(path))
    assert report.is_right  # halted at the start, and then nothing is played
    policy = PolicyDescription("retreat", on_missing="retreat")
    with Plant.of(one_hall(policy=policy, steep=1 / 16), journal=tmp_path / "other") as plant:
        plant.announce(context_at(1))
        drive_hall(plant, 20, noise=0.0, report=temperature)
        assert plant.halted is not None
        with pytest.raises(ValueError, match="resume must follow an amendment"):
            plant.resume("nobody looked")
        plant.controller.resume(reason="nobody looked")  # as a program that knows no plants may
        drive_hall(plant, 3, noise=0.0, report=temperature)
    report = check(str(tmp_path / "other"))
    assert report.code == 1
    assert "refuted the constants, and" in report.said[0]


def bent(path):
    """Return the journal of pumps whose slopes contradict a curvature, and then sink too fast."""
    pressure = replace(pumps().limits[0], steepness=None, curvature={"speed": C(0.001)})
    level = replace(pumps().limits[0], name="level", changes=C(0.001, "estimated"))
    policy = PolicyDescription("retreat", on_missing="retreat")
    plant = replace(pumps(policy=policy), limits=(pressure, level), has_slopes=True)
    with Plant.of(plant, journal=path) as loop:
        for t, level_read in enumerate((3.8, 3.7, 3.7, 3.5, 3.5)):
            loop.ask()
            loop.tell(
                readings={"pressure": 3.1 if t == 0 else 3.2, "level": level_read},
                slopes={"pressure": {"speed": 0.0 if t else 0.1}, "level": {"speed": 0.1}},
                wanted={"speed": 25.0},
            )
    return path


def test_a_value_may_refute_later_what_slopes_have_refuted(tmp_path, monkeypatch):
    # A plant file with both is rejected; a journal may have them all the same.
    monkeypatch.setattr(consistency, "_check_curvature", lambda *_, **__: None)
    path = bent(tmp_path / "run")
    report = check(str(path))
    assert report.is_right, report.said
    words = "refuted: round 4 refuted the constants in use from round 1 on"
    assert f"{words}, which the journal says in round 2" in report.events
    blamed(path, forget_breaches, "a constant is wrong", before=3)


def test_a_recovery_without_a_contradiction_is_not_due(tmp_path):
    path = recovered(tmp_path / "run", 4.0, rounds=12)
    line = copy.deepcopy(of_kind(records(path), "amend")[0])

    def recover_early(found):
        first = next(r for r in of_kind(found, "round") if r["round"] == 1)
        del found[found.index(first) + 1 :]
        line["round"], line["loop"]["round"] = 2, 2
        found.append({name: part for name, part in line.items() if name != "digest"})

    blamed(path, recover_early, "a recovery is not due: nothing was contradicted")


def short_rise(**changes):
    """Return a hall that takes the weather for harmless."""
    rise = {
        "outside": RiseDescription(per=C(0.001, "estimated")),
        "load": RiseDescription(adds=6.0),
    }
    plant = one_hall(policy=RECOVER, **changes)
    return replace(plant, limits=(replace(plant.limits[0], rise=rise),))


def test_an_order_stands_and_no_recovery_ends_it(tmp_path):
    with Plant.of(short_rise(ramp=1.0), journal=tmp_path / "run") as loop:
        loop.announce(context_at(1))
        for _ in range(60):
            drive_hall(loop, 1, noise=0.0, report=temperature)
            if loop.halted is not None:
                break
        loop.hold("somebody is inside")
        drive_hall(loop, 80, noise=0.0, report=temperature)
        assert loop.halted == "somebody is inside"
        assert loop.recoveries_left == 5
        assert loop.ask() == {"fan1": 100.0, "fan2": 100.0}
        loop.resume("nobody is inside")  # the order ends; what was contradicted is mended
        drive_hall(loop, 1, noise=0.0, report=temperature)
        assert loop.recoveries_left == 4
        assert loop.halted is None
    assert check(str(tmp_path / "run")).is_right


def test_a_halted_loop_that_reads_more_than_was_certified_notices(tmp_path):
    # In contexts an action is held by constants: where these are too small, it goes to the start.
    with Plant.of(short_rise(), journal=tmp_path / "run") as loop:
        loop.announce(context_at(1))
        drive_hall(loop, 3, noise=0.0, report=temperature)
        loop.hold("a look")
        drive_hall(loop, 80, noise=0.0, report=temperature)
        assert loop.ask() == {"fan1": 100.0, "fan2": 100.0}
        assert "halted" in str(loop.explain()) or loop.halted == "a look"
    report = check(str(tmp_path / "run"))
    assert report.code == 0, report.said
    assert any(words.startswith("refuted: ") for words in report.events)


def test_after_the_last_recovery_the_start_is_left_by_an_amendment_alone(tmp_path):
    policy = PolicyDescription("recover", 0, "retreat")
    with Plant.of(one_hall(policy=policy, steep=1 / 4), journal=tmp_path / "run") as plant:
        plant.announce(context_at(1))
        drive_hall(plant, 30, noise=0.0, report=temperature)
        assert plant.halted is not None
        with pytest.raises(ValueError, match="resume must follow an amendment: what was contrad"):
            plant.resume("no")
        drive_hall(plant, 5, noise=0.0, report=temperature)
        assert plant.ask() == {"fan1": 100.0, "fan2": 100.0}
        plant.amend(one_hall(policy=policy), by="operations", reason="measured again")
        drive_hall(plant, 20, noise=0.0, report=temperature)
        assert plant.ask()["fan1"] < 100.0
    assert check(str(tmp_path / "run")).code == 0


# --- fleets --------------------------------------------------------------------------------------


def fleet_of_halls(path, rounds=90):
    """Return the journal of three halls, of which one has constants that are too small."""
    members = {"a": 1 / 16, "b": 1.0, "c": 1.0}
    each = {name: one_hall(policy=RECOVER, steep=steep) for name, steep in members.items()}
    whole = replace(each["b"], members=each, service=replace(each["b"].service, rotate="60 kB"))
    with PlantFleet.of(whole, journal=path) as fleet:
        fleet.announce({name: context_at(1) for name in members})
        for t in range(1, rounds):
            told = {}
            for name, points in fleet.ask().items():
                told[name] = {
                    "readings": {"hot_spot": hall_at(points, context_at(t))["hot_spot"]},
                    "wanted": {"fan1": 30.0, "fan2": 30.0},
                    "context": context_at(t + 1) if t % 17 else None,
                }
            fleet.tell(told)
            if t == 20:
                steep = {"fan1": C(0.2, "estimated"), "fan2": C(0.2)}
                limit = replace(each["c"].limits[0], steepness=steep)
                amended = replace(each["c"], limits=(limit,))
                fleet.amend("c", amended, by="operations", reason="worn")
            if t == 30:
                fleet.hold("maintenance", ("b",))
    return path


def test_members_of_a_fleet_are_judged_by_themselves(tmp_path):
    path = fleet_of_halls(tmp_path / "run")
    assert (tmp_path / "run.2").exists()
    report = check(str(path))
    assert report.code == 0, report.said
    words = "certified given the constants of each piece, with 6 estimates: 267 of 267 rounds of 3"
    assert report.said[0].startswith(words)
    assert any(
        words.startswith("order: member 'c': round 21: amended by operations, reason: worn: ")
        for words in report.events
    )
    assert any(words.startswith("refuted: member 'a': round ") for words in report.events)
    shared = "plant: members 'b', 'c': from round 1: hot_spot is at most 27.0 degC"
    assert any(words.startswith(shared) for words in report.constants)


def test_a_plant_of_a_member_is_compared(tmp_path):
    path = fleet_of_halls(tmp_path / "run", rounds=5)

    def weaken(found):
        found[0]["players"][1]["player"]["knowledge"]["G_g"] *= 0.5

    blamed(path, weaken, "member 'b', round 1: G_g of hot_spot is")
