"""A plant, and a fleet of a plant file, behind lines of JSON."""

import json
import math
import random
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from surefoot import replay
from surefoot.controller import (
    PlantChangedError,
    StoreError,
    journal as journals,
    read_journal,
)
from surefoot.controller.check import check
from surefoot.controller.service import PlantFleetService, PlantService, views
from surefoot.controller.service.ages import JournalSize, seconds_since_round
from surefoot.controller.service.metrics import to_text
from surefoot.core.errors import InvalidValueError

from ._clock import SetClock

PUMPS = """\
surefoot = 1
name = "booster station"
round = "1 min"
journal = "pumps.jsonl"

[actuator.speed]
unit = "Hz"
range = [25, 50]
start = 50

[limit.pressure]
unit = "bar"
at_least = 2.5
meter_error = 0.02
start_margin = 0.5
steepness = { speed = 0.12 }
"""
DRIFT = "changes = 0.001\n"
RETREATS = '[policy]\non_missing = "retreat"\n'
FLEET = f"""{PUMPS}
[member.p1]
[member.p2]
start = {{ speed = 45 }}
limit.pressure.steepness.speed = 0.09
"""
HALL = """\
surefoot = 1
name = "hall 3"
round = "15 min"
journal = "hall.jsonl"

[actuator.fan]
unit = "%"
range = [30, 100]
start = 100

[context.outside]
unit = "degC"
range = [-20, 40]

[limit.hot_spot]
unit = "degC"
at_most = 27
meter_error = 0.2
start_margin = 3
steepness = { fan = { value = 0.1, origin = "estimated", why = "a log" } }
rise = { outside = 0.24 }

[policy]
on_contradiction = "recover"
recoveries = 3
"""


def pressure_at(x):
    return 3.1 - 0.1 * (50.0 - x["speed"])


class Desk:
    """A service of a plant file, and its only client."""

    def __init__(self, folder, text, kind=PlantService, **options):
        self.path = folder / "plant.toml"
        self.path.write_text(text)
        self.service = kind(self.path, **options)

    def say(self, **request):
        answer = json.loads(self.service.answer(json.dumps(request).encode()))
        assert answer.get("kind") != "internal", answer
        return answer

    def ask(self):
        return self.say(do="ask")

    def pump(self, rounds=1):
        for _ in range(rounds):
            x = self.ask()["set_points"]
            found = self.say(do="tell", readings={"pressure": pressure_at(x)}, wanted={"speed": 25})
            assert found["ok"], found
        return self.ask()

    @property
    def is_fleet(self):
        return isinstance(self.service, PlantFleetService)

    def own(self, answer):
        """What an answer has of the plant, or of the first member."""
        return answer["members"]["p1"] if self.is_fleet else answer

    def speed(self):
        return self.own(self.ask())["set_points"]["speed"]

    def tell(self, rounds, **more):
        """Report some rounds of a pump, or of the first member."""
        for _ in range(rounds):
            asked = {"speed": self.speed()}
            pressure = pressure_at(more.get("played", asked))
            report = {"readings": {"pressure": pressure}, "wanted": {"speed": 25}, **more}
            told = {"members": {"p1": report}} if self.is_fleet else report
            found = self.say(do="tell", **told)
            assert self.own(found)["ok"], found

    def history(self, last):
        member = {"member": "p1"} if self.is_fleet else {}
        return self.say(do="history", last=last, **member)["rounds"]

    def again(self, text=None):
        self.service.close()
        if text is not None:
            self.path.write_text(text)
        self.service = type(self.service)(self.path)
        return self


@pytest.fixture
def pumps(tmp_path):
    desk = Desk(tmp_path, PUMPS)
    yield desk
    desk.service.close()


def test_names_and_units_are_those_of_the_file(pumps):
    found = pumps.say(do="hello")
    assert (found["plant"], found["role"], found["round_seconds"]) == (
        "booster station",
        "filter",
        60,
    )
    assert found["limits"] == {"pressure": {"unit": "bar", "at_least": 2.5}}
    assert (found["start"], found["units"]) == ({"speed": 50.0}, {"speed": "Hz"})
    assert len(found["plant_sha256"]) == 64
    answer = pumps.pump()
    # 0.6 bar above the limit, less the meter's 0.02, at 0.12 bar per Hz.
    assert answer["set_points"]["speed"] == pytest.approx(50.0 - 0.58 / 0.12, abs=1e-6)
    assert (answer["proved"], answer["valid_until"], answer["valid_for"]) == (True, None, None)
    status = pumps.say(do="status")
    assert status["bounds"]["pressure"] == pytest.approx(2.5, abs=1e-9)
    assert status["last"]["readings"] == {"pressure": 3.1}


def test_a_host_sees_what_the_plant_would_show_it(pumps, tmp_path):
    from surefoot.controller import Plant

    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "plant.toml").write_text(PUMPS)
    with Plant.open(tmp_path / "own" / "plant.toml") as plant:
        for _ in range(30):
            x = plant.ask()
            assert pumps.ask()["set_points"] == x
            report = {"readings": {"pressure": pressure_at(x)}, "wanted": {"speed": 25.0}}
            plant.tell(**report)
            assert pumps.say(do="tell", **report)["ok"]
        why = pumps.say(do="explain")
        assert why["bounds"] == pytest.approx(plant.bounds())
        assert why["text"] == str(plant.explain())
    assert check(str(tmp_path / "pumps.jsonl")).code == 0


def test_a_report_of_another_round_is_rejected(pumps):
    pumps.ask()
    report = {"readings": {"pressure": 3.1}, "wanted": {"speed": 25}}
    assert pumps.say(do="tell", round=1, **report)["round"] == 2
    pumps.ask()
    for wrong in (1, 3, True, "2", 2.5, [2]):
        found = pumps.say(do="tell", round=wrong, **report)
        assert found["error"].startswith("round must be the current one, 2, got ")
    assert pumps.say(do="tell", round=2, **report)["round"] == 3


def test_a_round_without_a_reading_is_missing_and_says_so(pumps):
    pumps.ask()
    found = pumps.say(do="tell", readings={"pressure": None}, wanted={"speed": 25})
    assert any("no reading of pressure" in alarm["sentence"] for alarm in found["alarms"])
    rounds = pumps.say(do="history")["rounds"]
    assert [(r["round"], r["how"], r["readings"]) for r in rounds] == [
        (1, "missing", {"pressure": None})
    ]


def test_the_history_is_as_long_as_one_asks_for(pumps):
    pumps.pump(30)
    assert [r["round"] for r in pumps.say(do="history")["rounds"]] == [*range(11, 31)]
    assert [r["round"] for r in pumps.say(do="history", last=2)["rounds"]] == [29, 30]
    for wrong in (0, -1, 1.5, "x", None, 1001, True):
        assert pumps.say(do="history", last=wrong)["kind"] == "invalid"


def test_orders_need_no_reason(pumps):
    pumps.pump(5)
    assert pumps.say(do="retreat")["ok"]
    assert pumps.ask()["set_points"] == {"speed": 50.0}
    assert pumps.say(do="status")["halted"] == "ordered"
    assert pumps.say(do="resume", reason="over")["ok"]
    assert pumps.say(do="note", text="valve changed")["ok"]
    assert read_journal(pumps.path.parent / "pumps.jsonl").notes[-1].text == "valve changed"
    assert pumps.say(do="amend", by="x", reason="y")["kind"] == "request"


def test_a_monitor_reads_the_numbers_of_a_lower_limit(pumps):
    pumps.pump(3)
    numbers = {s.name: s.value for s in pumps.service.snapshot.samples()}
    assert numbers["limit"] == 2.5
    assert numbers["margin"] == pytest.approx(numbers["reading"] - 2.5)
    assert (numbers["proved"], numbers["violations_total"]) == (1.0, 0)
    assert set(numbers) <= set(pumps.service.snapshot.helps)


# --- until when ----------------------------------------------------------------------------------


def test_under_drift_an_action_is_promised_as_long_as_its_bound_allows(tmp_path):
    desk = Desk(tmp_path, PUMPS + DRIFT)
    assert desk.ask()["valid_until"] is None  # the start
    answer = desk.pump()
    assert 59.0 < answer["valid_for"] <= 60.0  # to the boundary: the round, and no deadline more
    # A proposal that leaves 0.0585 bar: 58 rounds of drift, but two of deadline are fewer.
    desk.say(do="tell", readings={"pressure": 3.1}, wanted={"speed": 49})
    answer = desk.ask()
    assert 179.0 < answer["valid_for"] <= 180.0
    end = datetime.fromisoformat(answer["valid_until"])
    assert abs((end - datetime.now(UTC)).total_seconds() - answer["valid_for"]) < 1.0
    desk.service.close()


def test_in_a_context_an_action_is_promised_for_its_round_and_a_deadline(tmp_path):
    desk = Desk(tmp_path, HALL)
    assert desk.say(do="status")["set_points"] is None
    assert desk.say(do="announce", context={"outside": 20})["ok"]
    assert desk.ask()["valid_until"] is None
    report = {"readings": {"hot_spot": 22.0}, "wanted": {"fan": 40}}
    desk.say(do="tell", **report, context={"outside": 21})
    answer = desk.ask()
    assert answer["set_points"]["fan"] < 100
    assert 2690 < answer["valid_for"] <= 2700
    # While the next context is unknown, the last set points are good for one deadline.
    desk.say(do="tell", readings={"hot_spot": 24.0}, wanted={"fan": 40})
    status = desk.say(do="status")
    assert (status["set_points"], status["proved"], status["bounds"]) == (None, False, {})
    assert 1790 < status["valid_for"] <= 1800
    desk.service.take_events()
    answer = desk.ask()  # without a context the start is played, and subscribers hear of it
    assert (answer["set_points"], answer["valid_until"], answer["proved"]) == (
        {"fan": 100.0},
        None,
        True,
    )
    assert [e["set_points"] for e in desk.service.take_events() if e["event"] == "round"] == [
        {"fan": 100.0}
    ]
    desk.service.close()


def test_a_promise_does_not_begin_again_with_the_service(tmp_path):
    desk = Desk(tmp_path, HALL)
    desk.say(do="announce", context={"outside": 20})
    desk.ask()
    report = {"readings": {"hot_spot": 22.0}, "wanted": {"fan": 40}}
    desk.say(do="tell", **report, context={"outside": 21})
    path = tmp_path / "hall.jsonl"
    assert seconds_since_round(path) < 5
    time.sleep(0.5)
    assert 2690 < desk.again().say(do="status")["valid_for"] < 2699.6
    desk.service.close()
    # The clock is behind the journal: nobody knows how old the round is.
    future = (datetime.now(UTC) + timedelta(hours=1)).isoformat().replace("+00:00", "Z")
    lines = path.read_bytes().splitlines()
    time_now = json.loads(next(x for x in lines if x.startswith(b'{"kind":"round"')))["time"]
    path.with_name("late").write_bytes(
        path.read_bytes().replace(time_now.encode(), future.encode())
    )
    assert seconds_since_round(path.with_name("late")) == math.inf
    assert seconds_since_round(path.with_name("absent")) == math.inf


def test_a_file_that_has_just_begun_is_as_old_as_the_last_round_before_it(tmp_path):
    desk = Desk(tmp_path, PUMPS + '[service]\nrotate = "2 kB"\n')
    first = tmp_path / "pumps.jsonl"
    while not (tmp_path / "pumps.jsonl.2").exists():
        desk.pump()
    desk.service.close()
    assert seconds_since_round(first) < 60
    parts = sorted(tmp_path.glob("pumps.jsonl*"))
    header = parts[-1].read_bytes().splitlines(keepends=True)[0]
    parts[-1].write_bytes(header)
    assert seconds_since_round(first) < 60
    parts[0].write_bytes(header)
    assert seconds_since_round(first) == math.inf


def test_the_end_of_a_promise_does_not_move_with_the_clock(tmp_path, monkeypatch):
    desk = Desk(tmp_path, PUMPS + DRIFT)
    desk.pump()

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) - timedelta(hours=1)

    before = desk.say(do="status")
    monkeypatch.setattr(views, "datetime", Clock)
    after = desk.say(do="status")
    moved = datetime.fromisoformat(before["valid_until"]) - datetime.fromisoformat(
        after["valid_until"]
    )
    assert moved.total_seconds() == pytest.approx(3600.0, abs=0.1)
    assert after["valid_for"] == pytest.approx(before["valid_for"], abs=0.5)
    desk.service.close()


def pumping(folder, deadline, *, kind=PlantService, more=""):
    """A pump under drift in rounds of 10 s, with a deadline."""
    text = PUMPS.replace('"1 min"', '"10 s"') + DRIFT + more
    text += f'[service]\ndeadline = "{deadline} s"\namend = true\n'
    return Desk(folder, text + ("[member.p1]\n" if kind is PlantFleetService else ""), kind)


@pytest.mark.parametrize("deadline", [10, 15, 19.9, 20])
@pytest.mark.parametrize("kind", [PlantService, PlantFleetService])
def test_where_a_limit_drifts_a_silence_is_as_many_rounds_as_it_lasts(
    kind, deadline, tmp_path, monkeypatch
):
    clock = SetClock(monkeypatch)
    desk = pumping(tmp_path, deadline, kind=kind)
    desk.tell(2)
    t, began = desk.service.round, clock.seconds
    for missed in range(1, 8):
        clock.pass_by(deadline)
        assert desk.service.check_deadline() == deadline
        passed = (clock.seconds - began) / 10.0
        assert passed - 1.0 < desk.service.round - t <= passed, missed
    assert (tmp_path / "pumps.jsonl").read_text().count('"kind":"note"') == 1
    hows = {r["how"] for r in desk.history(last=7)}
    assert hows == {"deadline"}
    desk.service.close()
    assert replay(tmp_path / "pumps.jsonl").is_same


def test_a_deadline_is_at_most_two_rounds_where_a_limit_drifts(tmp_path):
    desk = pumping(tmp_path, 20)
    desk.pump(2)
    desk.service.close()
    with pytest.raises(InvalidValueError, match=r"deadline must be at most 2 rounds .* got 2.4"):
        pumping(tmp_path, 24)
    assert not read_journal(tmp_path / "pumps.jsonl").is_open


def test_who_reports_after_the_deadline_asks_again(tmp_path, monkeypatch):
    clock = SetClock(monkeypatch)
    desk = pumping(tmp_path, 20)
    desk.pump(2)
    t = desk.service.round
    clock.pass_by(20.1)  # and the service has not yet looked at its clock
    found = desk.say(do="tell", readings={"pressure": 2.6}, wanted={"speed": 25})
    assert (found["kind"], found["round"]) == ("invalid", t + 2)
    assert found["error"].startswith("tell must come once after each ask")
    desk.pump()
    assert desk.service.round == t + 3
    desk.service.close()


def test_a_round_that_lasts_too_long_for_a_drift_is_a_warning(tmp_path, monkeypatch):
    clock = SetClock(monkeypatch)
    desk = pumping(tmp_path, 20)
    desk.pump(2)
    clock.pass_by(12)
    found = desk.say(do="tell", readings={"pressure": 2.6}, wanted={"speed": 25})
    (alarm,) = [a for a in found["alarms"] if a["kind"] == "deadline"]
    assert alarm["level"] == "warning"
    assert "lasted 12 s" in alarm["sentence"]
    assert "its limit may have changed by more" in alarm["sentence"]
    desk.service.close()


@pytest.mark.parametrize("kind", [PlantService, PlantFleetService])
@pytest.mark.parametrize("is_served", [True, False])
def test_who_was_away_while_a_limit_changed_begins_anew_at_the_start(
    kind, is_served, tmp_path, monkeypatch
):
    clock = SetClock(monkeypatch)
    desk = pumping(tmp_path, 20, kind=kind)
    desk.tell(1)
    # What somebody else chose breaks the promise on costs, and is no contradiction.
    desk.tell(1, played={"speed": 49.0})
    assert desk.speed() < 46.0
    if kind is PlantService:
        desk.again()
        assert desk.speed() < 46.0  # it was away for a moment
    assert desk.say(do="hold", reason="maintenance")["ok"]
    if is_served:  # but it stood still
        clock.pass_by(3600)
        desk.service.check_deadline()
    else:
        desk.service.close()
        clock.pass_by(3600)
        desk.service = kind(desk.path)
    assert desk.speed() == 50.0
    status = desk.say(do="status")
    assert status.get("members", {}).get("p1", status)["halted"] == "maintenance"
    clock.pass_by(20)  # it begins anew once, and goes on from there
    desk.service.check_deadline()
    desk.service.close()
    assert replay(tmp_path / "pumps.jsonl").is_same
    assert check(str(tmp_path / "pumps.jsonl")).is_right
    assert (tmp_path / "pumps.jsonl").read_text().count('"kind":"amend"') == 1


@pytest.mark.parametrize("kind", [PlantService, PlantFleetService])
@pytest.mark.parametrize(("away", "missing"), [(31, 4), (45, 5), (36_000, 17), (-60, 0)])
def test_who_was_away_goes_to_the_start_by_its_ramp(kind, away, missing, tmp_path, monkeypatch):
    # 6 Hz a minute are 1 Hz a round. Each round that has passed without a service is a missing one.
    clock = SetClock(monkeypatch)
    monkeypatch.setattr(views, "_MOST_MISSING", 30)
    desk = pumping(tmp_path, 20, kind=kind)
    text = desk.path.read_text().replace("start = 50\n", "start = 50\nramp = 6\n")
    (tmp_path / "pumps.jsonl").unlink()
    desk.again(text + RETREATS)
    desk.tell(5)
    before, t = desk.speed(), desk.service.round
    assert before == 45.0
    desk.service.close()
    clock.pass_by(away)
    desk.service = kind(desk.path)
    passed = desk.service.round - t
    fleet = 2 if kind is PlantFleetService and away > 0 else 0  # whose members may be silent
    assert passed == min(missing + fleet, 4) if away > 0 else passed == 0
    if away < 0:  # the clock was set: nobody knows how many rounds those were
        status = desk.say(do="status")
        halted = status.get("members", {}).get("p1", status)["halted"]
        assert halted.startswith("it was away")
        assert desk.speed() == 46.0
    else:
        assert desk.speed() == 50.0
    desk.service.close()
    assert replay(tmp_path / "pumps.jsonl").is_same
    assert check(str(tmp_path / "pumps.jsonl")).is_right


def test_who_was_away_forgets_no_contradiction(tmp_path, monkeypatch):
    clock = SetClock(monkeypatch)
    desk = pumping(tmp_path, 20)
    desk.pump(1)
    x = desk.ask()["set_points"]
    assert x["speed"] < 46.0
    assert desk.say(do="tell", readings={"pressure": 2.0}, wanted={"speed": 25})["ok"]
    broken = desk.say(do="status")["broken"]
    assert broken
    desk.service.close()
    clock.pass_by(3600)
    desk.service = PlantService(desk.path)
    assert desk.say(do="status")["broken"] == broken
    assert desk.ask()["set_points"] == {"speed": 50.0}
    with pytest.raises(InvalidValueError, match="a plant must be amended to begin anew, because"):
        desk.service._plant.begin_anew(by="x", reason="y")
    desk.service.close()


def test_a_service_whose_policy_is_to_raise_comes_back_with_its_contradiction(
    tmp_path, monkeypatch
):
    clock = SetClock(monkeypatch)
    desk = pumping(tmp_path, 20, more='[policy]\non_contradiction = "raise"\n')
    desk.pump(1)
    found = desk.say(do="tell", readings={"pressure": 2.0}, wanted={"speed": 25})
    assert found["kind"] == "contradiction"
    desk.service.close()
    clock.pass_by(3600)
    desk.service = PlantService(desk.path)
    assert not desk.ask()["proved"]
    assert desk.say(do="retreat")["ok"]
    desk.service.close()


# --- what changes the plant ----------------------------------------------------------------------


def test_an_edited_file_is_not_served_and_a_service_amends_itself(tmp_path):
    text = PUMPS + "[service]\namend = true\n"
    desk = Desk(tmp_path, text)
    desk.pump(5)
    edited = text.replace("speed = 0.12", "speed = 0.15")
    with pytest.raises(PlantChangedError, match=r"steepness.speed is 0.12 there and 0.15 here"):
        desk.again(edited)
    desk.path.write_text(text)
    desk.service = PlantService(desk.path)
    sha = desk.say(do="status")["plant_sha256"]
    found = desk.say(do="amend", by="E. Moser", reason="step test")
    assert "amend must change the plant" in found["error"]
    desk.path.write_text(edited.replace("at_least", "at_leats"))
    found = desk.say(do="amend", by="E. Moser", reason="step test")
    assert (found["kind"], "did you mean at_least" in found["error"]) == ("invalid", True)
    desk.path.write_text(edited)
    assert desk.say(do="amend", by="E. Moser", reason="step test")["ok"]
    assert desk.ask()["set_points"] == {"speed": 50.0}
    assert desk.say(do="status")["plant_sha256"] != sha
    numbers = {s.name: s.value for s in desk.service.snapshot.samples()}
    assert numbers["amendments_total"] == 1
    desk.pump(3)
    desk.again().service.close()
    assert replay(tmp_path / "pumps.jsonl").is_same


def test_a_service_that_amends_itself_keeps_the_deadline_of_its_file(tmp_path, monkeypatch):
    clock = SetClock(monkeypatch)
    text = PUMPS.replace('"1 min"', '"10 s"') + '[service]\ndeadline = "40 s"\namend = true\n'
    desk = Desk(tmp_path, text)
    desk.pump(3)
    lines = (tmp_path / "pumps.jsonl").read_bytes()
    moved = text.replace("[service]", DRIFT + "[service]")
    desk.path.write_text(moved)
    found = desk.say(do="amend", by="E. Moser", reason="it wears")
    assert "deadline must be at most 2 rounds where a limit changes by itself" in found["error"]
    desk.path.write_text(text + "[member.p1]\n[member.p2]\n")
    found = desk.say(do="amend", by="E. Moser", reason="two of them")
    assert "must be that of one plant, got 2 members" in found["error"]
    assert (tmp_path / "pumps.jsonl").read_bytes() == lines
    assert desk.service.deadline == 40.0
    # Shorter rounds have a shorter deadline, so that as many are counted as pass.
    desk.path.write_text(moved.replace('"10 s"', '"2 s"').replace('"40 s"', '"4 s"'))
    assert desk.say(do="amend", by="E. Moser", reason="it wears")["ok"]
    assert desk.service.deadline == 4.0
    t = desk.service.round
    clock.pass_by(4)
    desk.service.check_deadline()
    assert desk.service.round == t + 2
    desk.again().service.close()
    assert check(str(tmp_path / "pumps.jsonl")).is_right


def test_a_recovery_is_counted_and_its_bounds_are_those_of_the_new_constants(tmp_path):
    desk = Desk(tmp_path, HALL)
    desk.say(do="announce", context={"outside": 20})
    for _ in range(12):
        x = desk.ask()["set_points"]["fan"]
        report = {"readings": {"hot_spot": 22.0 + 0.18 * (100 - x)}, "wanted": {"fan": 40}}
        found = desk.say(do="tell", **report, context={"outside": 20})
        assert found["ok"], found
    status = desk.say(do="status")
    assert (status["recoveries_left"], status["halted"]) == (2, None)
    assert "recovered" in {r["how"] for r in desk.say(do="history")["rounds"]}
    numbers = {s.name: s.value for s in desk.service.snapshot.samples()}
    assert (numbers["amendments_total"], numbers["recoveries_left"]) == (1, 2)
    assert status["bounds"]["hot_spot"] <= 27.0
    desk.service.close()


def test_what_the_disk_does_not_take_is_not_seen(pumps, monkeypatch):
    pumps.pump(2)
    with monkeypatch.context() as broken:
        broken.setattr(journals, "_write_all", fail)
        found = pumps.say(do="tell", readings={"pressure": 3.0}, wanted={"speed": 25})
        assert (found["kind"], found["round"]) == ("journal", 3)
        assert pumps.service.find_illness().endswith("the disk is full")
    assert pumps.say(do="tell", readings={"pressure": 3.0}, wanted={"speed": 25})["ok"]
    assert pumps.service.find_illness() == ""


def fail(*_):
    raise OSError(28, "No space left on device")


def test_a_service_has_a_journal(tmp_path):
    with pytest.raises(InvalidValueError, match="journal must be given"):
        Desk(tmp_path, PUMPS.replace("journal", "# journal"))
    Desk(tmp_path, PUMPS.replace("journal", "# journal"), journal=tmp_path / "j").service.close()
    with pytest.raises(StoreError, match="round 1, which must be there, is missing"):
        Desk(tmp_path, PUMPS, journal=tmp_path / "j", at_least=1)


def test_the_bytes_of_all_files_of_a_journal_are_counted(tmp_path):
    text = PUMPS + '[service]\nrotate = "4 kB"\n'
    desk = Desk(tmp_path, text)
    desk.pump(30)
    files = sorted(tmp_path.glob("pumps.jsonl*"))
    assert len(files) > 3
    total = sum(file.stat().st_size for file in files)
    numbers = {s.name: s.value for s in desk.service.snapshot.samples()}
    assert numbers["journal_bytes"] == total == JournalSize(tmp_path / "pumps.jsonl").bytes()
    assert seconds_since_round(tmp_path / "pumps.jsonl") < 60
    desk.service.close()


# --- a fleet -------------------------------------------------------------------------------------


@pytest.fixture
def fleet(tmp_path):
    desk = Desk(tmp_path, FLEET, PlantFleetService)
    yield desk
    desk.service.close()


def test_members_report_by_name_and_a_wrong_report_is_the_answer_of_one(fleet):
    found = fleet.say(do="hello")
    assert list(found["members"]) == ["p1", "p2"]
    assert found["members"]["p2"]["start"] == {"speed": 45.0}
    fleet.ask()
    good = {"readings": {"pressure": 3.1}, "wanted": {"speed": 25}}
    wrong = {"readings": {"presure": 3.1}, "wanted": {"speed": 25}}
    found = fleet.say(do="tell", members={"p1": good, "p2": wrong})
    assert found["members"]["p1"] == {"ok": True, "round": 2}
    assert found["members"]["p2"]["kind"] == "invalid"
    assert "did you mean 'pressure'" in found["members"]["p2"]["error"]
    fleet.ask()
    found = fleet.say(do="tell", members={"p1": good | {"round": 1}, "p2": good | {"round": 1}})
    assert [found["members"][name]["ok"] for name in ("p1", "p2")] == [False, True]
    for members in (None, 3, [], {"p9": good}, {"p1": 3}, {"p1": {"speed": 3}}):
        assert fleet.say(do="tell", members=members)["kind"] == "invalid"
    assert fleet.service.round == 2
    points = fleet.ask()["members"]["p2"]["set_points"]["speed"]
    assert points == pytest.approx(45.0 - 0.58 / 0.09, abs=1e-6)


def test_members_are_explained_and_ordered_by_name(fleet):
    fleet.ask()
    good = {"readings": {"pressure": 3.1}, "wanted": {"speed": 25}}
    fleet.say(do="tell", members={"p1": good, "p2": good})
    assert fleet.say(do="explain", member="p1")["is_proven"]
    assert fleet.say(do="history", member="p2", last=1)["rounds"][0]["round"] == 1
    for member in (None, "p9", 3, ["p1"]):
        assert "member must be one of p1, p2" in fleet.say(do="explain", member=member)["error"]
    fleet.service.take_events()
    assert fleet.say(do="retreat", members=["p1"], reason="leak")["ok"]
    events = [e for e in fleet.service.take_events() if e["event"] == "round"]
    assert [list(e["members"]) for e in events] == [["p1"]]  # who has not changed is not in it
    halted = {n: m["halted"] for n, m in fleet.say(do="status")["members"].items()}
    assert halted == {"p1": "leak", "p2": None}
    assert fleet.say(do="hold", members=["p9"])["kind"] == "invalid"
    assert fleet.say(do="resume")["ok"]


def test_every_member_has_a_deadline_of_its_own(fleet):
    good = {"readings": {"pressure": 3.1}, "wanted": {"speed": 25}}
    fleet.service.deadline = 0.3
    fleet.ask()
    time.sleep(0.2)
    fleet.say(do="tell", members={"p1": good})
    time.sleep(0.15)
    assert 0 < fleet.service.check_deadline() <= 0.3
    assert {n: m["round"] for n, m in fleet.say(do="status")["members"].items()} == {
        "p1": 2,
        "p2": 2,
    }
    assert fleet.say(do="history", member="p1")["rounds"][-1]["how"] == "step"
    assert fleet.say(do="history", member="p2")["rounds"][-1]["how"] == "deadline"
    assert 0 < fleet.service.check_deadline() < 0.3
    alarms = [e for e in fleet.service.take_events() if e.get("kind") == "deadline"]
    assert [a["sentence"][:26] for a in alarms] == ["member p2: round 1: nobody"]
    fleet.again()
    assert fleet.say(do="status")["members"]["p2"]["round"] == 2


def test_numbers_have_the_member(fleet):
    samples = [s for s in fleet.service.snapshot.samples() if s.name == "proved"]
    assert [s.labels for s in samples] == [{"member": "p1"}, {"member": "p2"}]


NUMBER = r"[+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)|NaN"
LABEL = r'[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf"(surefoot_[a-z_]+)(?:\{{({LABEL}(?:,{LABEL})*)\}})? ({NUMBER})")


def scraped(text):
    """The families of a text, as strictly as format 0.0.4 of Prometheus has them."""
    families, family = {}, ""
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("# HELP "):
            family, words = line.removeprefix("# HELP ").split(" ", 1)
            assert family not in families, "the samples of a family follow each other"
            assert words
            families[family] = {}
        elif line.startswith("# TYPE "):
            name, kind = line.removeprefix("# TYPE ").split(" ")
            assert name == family
            assert kind in ("gauge", "counter")
            assert not families[family]
        else:
            name, labels, value = SAMPLE.fullmatch(line).groups()
            assert name == family
            assert labels not in families[family], "each label set once"
            families[family][labels] = float(value)
    return families


@pytest.mark.parametrize("text", [PUMPS + DRIFT, HALL, FLEET])
def test_a_scrape_is_what_the_format_of_prometheus_says(text, tmp_path):
    desk = Desk(tmp_path, text, PlantFleetService if text == FLEET else PlantService)
    if text == HALL:
        desk.say(do="announce", context={"outside": 20})
        desk.ask()
        desk.say(do="tell", readings={"hot_spot": 29.0}, wanted={"fan": 40})
    else:
        desk.tell(2)
    snapshot = desk.service.snapshot
    families = scraped(to_text(snapshot.samples(), snapshot.helps))
    assert families["surefoot_round"] == {None: 3 if text != HALL else 2}
    total = "surefoot_violations_total"
    assert sum(families[total].values()) == (text == HALL)
    assert all(v >= 0 for n, f in families.items() if n.endswith("_total") for v in f.values())
    desk.service.close()


# --- hostile lines -------------------------------------------------------------------------------

ODD = [None, True, "x", "", [], {}, [[1.0]], 1e308, -1e308, 10**400, -0.0, "\ud800", "p1", 1, 0.5]


def fuzzed(rng, valid):
    """A request that is nearly one."""
    request = json.loads(json.dumps(rng.choice(valid)))
    place = request
    while True:
        key = rng.choice([*place, "extra"])
        if isinstance(place.get(key), dict) and place[key] and rng.random() < 0.8:
            place = place[key]
            continue
        break
    if rng.random() < 0.7:
        place[key] = rng.choice(ODD)
    return json.dumps(request).encode()


def without_times(status):
    """A status without what only time changes."""
    if not isinstance(status, dict):
        return status
    times = ("age", "valid_for", "valid_until")
    return {key: without_times(value) for key, value in status.items() if key not in times}


@pytest.mark.parametrize(("text", "kind"), [(PUMPS, PlantService), (FLEET, PlantFleetService)])
def test_fuzzed_lines_change_nothing_unless_they_are_accepted(tmp_path, text, kind):
    rng, desk = random.Random(7), Desk(tmp_path, text, kind)
    report = {"readings": {"pressure": 3.1}, "wanted": {"speed": 45.0}}
    members = {} if kind is PlantService else {"members": {"p1": report, "p2": {"missing": True}}}
    valid = [{"do": name} for name in ("hello", "ask", "status", "explain", "history")]
    valid += 8 * [{"do": "ask"}, {"do": "tell", **(members or report)}]
    valid += [{"do": "hold"}, {"do": "retreat"}, {"do": "resume"}, {"do": "note", "text": "n"}]
    valid += [{"do": "announce", "context": {}}, {"do": "tell", "played": {"speed": 46.0}}]
    served = 0
    for _ in range(800):
        before = without_times(desk.service.look().status())
        line = fuzzed(rng, valid)
        found = json.loads(desk.service.answer(line))
        served += found["ok"]
        if not found["ok"]:
            assert found["kind"] in ("request", "invalid"), (line, found)
            assert without_times(desk.service.look().status()) == before
        if rng.random() < 0.3:
            desk.say(do="resume")
    assert served > 100
    desk.service.close()
    assert replay(tmp_path / "pumps.jsonl").is_same


def test_the_page_has_every_command_every_key_and_every_number(pumps, tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "serve.md").read_text(encoding="utf-8")
    pumps.pump()
    (tmp_path / "fleet").mkdir()
    fleet = Desk(tmp_path / "fleet", FLEET, PlantFleetService)
    fleet.service.close()
    for service in (pumps.service, fleet.service):
        for command, keys in service.commands.items():
            for word in (command, *keys):
                assert f"`{word}`" in page, (command, word)
        for name in service.snapshot.helps:
            assert f"surefoot_{name}" in page or name == "tell_seconds_count", name
    for answer in (pumps.say(do="status"), pumps.ask(), pumps.say(do="explain")):
        for word in answer.keys() - {"ok", "surefoot"}:
            assert f"`{word}`" in page, word
    for word in pumps.say(do="history")["rounds"][0]:
        assert f"`{word}`" in page, word
