"""A controller behind lines of JSON: what is served, and what is refused and changes nothing."""

import json
import random
import time
from pathlib import Path

import numpy as np
import pytest

from surefoot import Ball, Controller, replay
from surefoot.controller import Fleet, read_journal
from surefoot.controller.configuring import player_from
from surefoot.controller.serve import LONGEST, PROTOCOL, FleetService, Service
from surefoot.knowledge import LipschitzHull
from surefoot.rules import OGD, CertifiedPFS, LeaderFollower, RegionFilter, SafetyFilter
from surefoot.sets import Box

from ._live import CONSTANTS, PLAYERS, START, drive, seen_at

PLAYER = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
TOLD = {
    "do": "tell",
    "cost_gradient": [-1.0, -3.0],
    "constraint_value": -0.5,
    "constraint_subgradient": [0.0, 1.0],
}


def said(service, request):
    line = request if isinstance(request, bytes) else json.dumps(request).encode()
    answer = service.answer(line)
    assert "\n" not in answer
    assert answer.isascii()
    return json.loads(answer)


@pytest.fixture
def service():
    return Service(Controller(PLAYER, [0.0, 0.0]))


def test_hello_tells_the_version_of_the_protocol_and_who_plays(service):
    found = said(service, {"do": "hello", "id": "a"})
    assert (found["ok"], found["id"], found["protocol"], found["round"]) == (True, "a", PROTOCOL, 1)
    assert found["dimension"] == 2
    assert found["player"] == repr(PLAYER)
    assert {"hello", "ask", "tell", "explain", "note", "status"} <= set(found["commands"])


def test_ask_and_tell_are_those_of_the_controller_bit_for_bit():
    player = PLAYERS["certified"]
    mine, service = Controller(player, START), Service(Controller(player, START))
    for t in range(1, 60):
        x = mine.ask()
        assert said(service, {"do": "ask"}) == {"ok": True, "round": t, "action": x.tolist()}
        told = seen_at(player, t, x)
        mine.tell(**told)
        plain = {name: np.asarray(value).tolist() for name, value in told.items()}
        assert said(service, {"do": "tell", **plain}) == {"ok": True, "round": t + 1}
    why = said(service, {"do": "explain"})
    assert why["text"] == str(mine.explain())
    assert why["bound"] == mine.explain().bound
    assert why["certificate"]["length"] == mine.explain().certificate.length
    assert (why["is_proven"], why["broken"]) == (True, [])


def test_separate_constraints_are_told_as_rows():
    player = PLAYERS["DPP"]
    service = Service(Controller(player, START))
    x = np.array(said(service, {"do": "ask"})["action"])
    told = {n: np.asarray(v).tolist() for n, v in seen_at(player, 1, x).items()}
    assert said(service, {"do": "tell", **told})["ok"]


def test_a_filter_is_told_a_proposal():
    service = Service(Controller(SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1), [0.0]))
    said(service, {"do": "ask"})
    told = {"proposal": [1.0], "constraint_value": -0.5, "constraint_subgradient": [1.0]}
    assert said(service, {"do": "tell", **told})["ok"]
    assert said(service, {"do": "ask"})["action"][0] > 0.3


def test_an_announced_set_holds_the_next_action():
    known = LipschitzHull(G_g=1.0, reach=2.0)
    service = Service(Controller(RegionFilter(knowledge=known), [0.0, 0.0]))
    told = {"proposal": [1.0, 1.0], "constraint_value": -1.0}
    told |= {"constraint_subgradient": [1.0, 0.0], "do": "tell"}
    said(service, {"do": "ask"})
    for wrong in (3, {}, {"class": "Constants", "R": 1.0}, {"class": ["Box"]}, {"class": "OGD"}):
        found = said(service, told | {"within": wrong})
        assert (found["ok"], found["round"]) == (False, 1)
        assert found["error"].startswith("within must be a set")
    found = said(service, told | {"within": {"class": "Box", "radius": 1.0}})
    assert found["error"] == "within must have the fields of Box, got 'radius'; known: lower, upper"
    box = {"class": "Box", "lower": [-0.25, -0.5], "upper": [0.25, 0.5]}
    assert said(service, told | {"within": box}) == {"ok": True, "round": 2}
    x = said(service, {"do": "ask"})["action"]
    assert 0.2 < x[0] <= 0.25
    assert 0.4 < x[1] <= 0.5


def test_a_contradiction_and_a_warning_are_sentences():
    service = Service(Controller(PLAYER, [0.0, 0.0], on_contradiction="warn"))
    steep = TOLD | {"constraint_subgradient": [3.0, 4.0]}
    said(service, {"do": "ask"})
    assert "|s| = 5" in said(service, steep)["warnings"][0]
    strict = Service(Controller(PLAYER, [0.0, 0.0]))
    said(strict, {"do": "ask"})
    found = said(strict, steep)
    assert (found["ok"], found["kind"], found["round"]) == (False, "contradiction", 1)
    assert said(strict, TOLD)["ok"]


def test_the_page_has_every_command_every_key_and_every_kind_of_error(service):
    page = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")
    found = said(service, {"do": "hello"})
    kinds = ("request", "invalid", "contradiction", "journal", "internal")
    told = said(service, {"do": "tell", "x": 1})["error"]
    keys = told.removeprefix("tell takes ").partition(", got")[0].split(", ")
    assert len(keys) == 14
    explained = said(service, {"do": "explain"}).keys() - {"ok"}
    for word in (*found["commands"], *keys, *kinds, *explained):
        assert f"`{word}`" in page, word


HOSTILE = {
    b"": "no JSON at character 1",
    b"hello": "no JSON at character 1",
    b"[]": "got a list of 0",
    b"7": "got 7",
    b'{"do": "ask"': "no JSON",
    b'{"do": "ask"} {}': "no JSON",
    b'\xff\xfe{"do": "ask"}': "UTF-8",
    b"\x00\x01\x02": "no JSON",
    b'{"do": "fly"}': "do must be one of hello, status, ask, tell, announce, explain, note, hold, "
    'retreat, resume, got "fly"',
    b'{"do": ["ask"]}': "got a list of 1",
    b"{}": "got null",
    b'{"do": "ask", "x": 1}': 'ask takes nothing but id, got "x"',
    b'{"do": "ask", "do": "ask"}': 'got "do" twice',
    b'{"do": "ask", "id": 1.5}': "id must be a text or a whole number, got 1.5",
    b'{"do": "ask", "id": true}': "id must be",
    b'{"do": "tell", "cost_gradient": [NaN, 1]}': "a number must be finite, got NaN",
    b'{"do": "tell", "cost_gradient": [-Infinity, 1]}': "a number must be finite, got -Infinity",
    b'{"do": "tell", "gradient": [1]}': "tell takes action, constraint_subgradient",
    b'{"do": "tell", "cost_value": ' + b"9" * 9_000 + b"}": "at most 4300 digits",
    b"[" * 200_000: "nested too deeply",
    b'{"a":' * 90_000: "nested too deeply",
    b"x" * (LONGEST + 1): "at most 1000000 bytes",
}


@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: repr(line[:40]))
def test_a_hostile_line_is_refused_in_one_sentence_and_changes_nothing(service, line):
    said(service, {"do": "ask"})
    found = said(service, line)
    assert (found["ok"], found["kind"], found["round"]) == (False, "request", 1)
    assert HOSTILE[line] in found["error"]
    assert said(service, TOLD) == {"ok": True, "round": 2}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cost_gradient": [1.0]}, "cost_gradient.shape must be (2,)"),
        ({"cost_gradient": list(range(5_000))}, "cost_gradient.shape must be (2,)"),
        ({"constraint_value": [0.1, 0.2]}, "constraint_value"),
        ({"constraint_subgradient": [0, 0], "constraint_value": 1}, "must not be 0"),
        ({"proposal": [1.0, 2.0]}, "proposal"),
        ({"cost_gradient": "no"}, "cost_gradient must be an array of shape (2,)"),
        ({"cost_gradient": [True, 1]}, "cost_gradient must be an array of shape (2,)"),
        ({"cost_gradient": [[1], 1]}, "cost_gradient must be an array of shape (2,)"),
        ({"cost_gradient": {}}, "cost_gradient must be an array of shape (2,)"),
        ({"constraint_subgradient": [[1, 2], [1]]}, "constraint_subgradient must be an array"),
        ({"cost_value": 10**400}, "cost_value must be one number, got 1000"),
        ({"cost_value": "x"}, "cost_value must be one number, got 'x'"),
        ({"value_error": -1.0}, "value_error must be finite and at least 0"),
        ({"missing": 1}, "missing must be True or False, got 1"),
        ({"missing": True}, "missing must come without a measurement"),
    ],
)
def test_what_the_controller_refuses_is_told_in_its_words(service, change, words):
    said(service, {"do": "ask"})
    found = said(service, TOLD | change)
    assert (found["ok"], found["kind"]) == (False, "invalid")
    assert words in found["error"]
    assert len(found["error"]) <= 1_000
    assert said(service, TOLD)["ok"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            json.dumps(TOLD).replace("-1.0", "1e999", 1).encode(),
            "cost_gradient must be finite, got inf at index 0",
        ),
        (b'{"do": "note", "text": 3}', "text must be words that can be stored, got 3"),
        (b'{"do": "note", "text": "\\ud800"}', "text must be words that can be stored"),
        (b'{"do": "hold"}', "reason must be words that can be stored, got None"),
        (b'{"do": "retreat", "reason": "x", "speed": [1]}', "speed must be"),
    ],
)
def test_what_an_order_lacks_is_told_in_its_words(service, line, words):
    said(service, {"do": "ask"})
    found = said(service, line)
    assert (found["ok"], found["kind"], found["round"]) == (False, "invalid", 1)
    assert words in found["error"]
    assert said(service, TOLD)["ok"]


FILTER = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)


@pytest.fixture
def fleet():
    return FleetService(Fleet(FILTER, {"north": [0.0], "south": [0.0]}))


@pytest.mark.parametrize("members", [3, "north", ["west"], [True], [["north"]], [], ["north"] * 2])
def test_a_fleet_is_ordered_by_members(fleet, members):
    found = said(fleet, {"do": "hold", "reason": "x", "members": members})
    assert (found["ok"], found["kind"]) == (False, "invalid")
    assert said(fleet, {"do": "hold", "reason": "x", "members": ["south"]})["ok"]
    assert said(fleet, {"do": "status"})["halted"] == {"south": "x"}
    assert said(fleet, {"do": "hold", "reason": "y"})["ok"]
    assert said(fleet, {"do": "status"})["halted"] == {"north": "y", "south": "y"}


def told_to(*members, **fields):
    """A round of members of the filter, of one number each."""
    n = len(members)
    request = {"do": "tell", "proposal": [[1.0]] * n, "constraint_value": [-0.5] * n}
    request |= {"constraint_subgradient": [[1.0]] * n, **fields}
    return request | ({"members": list(members)} if members != ("north", "south") else {})


BOTH = ("north", "south")


@pytest.mark.parametrize("row", [None, [None]])
def test_a_null_of_one_member_of_a_fleet_stops_no_other(fleet, row):
    said(fleet, {"do": "ask"})
    found = said(fleet, told_to(*BOTH, proposal=[row, [1.0]]))
    assert "member north: round 1: proposal must be finite" in found["alarms"][0]["sentence"]
    assert said(fleet, {"do": "ask"})["action"] == [[0.0], [pytest.approx(0.4)]]
    found = said(fleet, told_to(*BOTH, constraint_value=[-0.5, None]))
    assert found["alarms"][0]["kind"] == "missing"


def test_a_null_in_a_column_that_few_rounds_have_is_no_report():
    known = LipschitzHull(G_g=1.0, reach=2.0)
    player, starts = RegionFilter(knowledge=known), {"north": [0.0], "south": [0.0]}
    service, fleet = FleetService(Fleet(player, starts)), Fleet(player, starts)
    columns = {
        "cost_value": [None, 1.0],
        "value_error": [0.125, None],
        "slope_error": [None, 0.25],
        "action": [[-0.25], None],
        "within": [None, {"class": "Box", "lower": [-0.1], "upper": [0.1]}],
    }
    said(service, {"do": "ask"})
    found = said(service, told_to(*BOTH, **columns))
    assert found["ok"], found
    fleet.ask()
    fleet.tell(
        proposal=[[1.0], [1.0]],
        constraint_value=[-0.5, -0.5],
        constraint_subgradient=[[1.0], [1.0]],
        cost_value=[np.nan, 1.0],
        value_error=[0.125, np.nan],
        slope_error=[np.nan, 0.25],
        action=[[-0.25], [np.nan]],
        within=[None, Box([-0.1], [0.1])],
    )
    x = said(service, {"do": "ask"})["action"]
    assert x == fleet.ask().tolist()
    assert x[1] == [0.1]
    wrong = said(service, told_to(*BOTH, within=[None, {"class": "OGD"}]))
    assert wrong["error"].startswith("within[1] must be a set")
    assert "hint is not used by" in str(said(service, told_to(*BOTH, hint=[[1.0], None])))
    assert "hint" in service.commands["tell"]


def test_members_of_a_fleet_are_told_in_calls_of_their_own(fleet):
    said(fleet, {"do": "ask"})
    assert said(fleet, told_to("south"))["ok"]
    found = said(fleet, {"do": "status"})
    assert (found["names"], found["rounds"]) == (list(BOTH), {"north": 1, "south": 2})
    assert "second tell" in said(fleet, told_to("south"))["error"]
    assert said(fleet, told_to("north"))["ok"]
    assert "order of Fleet.names" in said(fleet, told_to("south", "north"))["error"]


def test_members_come_with_a_player_and_leave(tmp_path):
    make = {0.5: FILTER}.get
    with Fleet(FILTER, {"north": [0.0]}, journal=tmp_path / "f.jsonl") as fleet:
        service = FleetService(fleet, lambda start: make(start[0]), on_missing="retreat")
        new = {"do": "add", "name": "west", "start": [0.5], "reason": "built"}
        assert said(service, new)["names"] == ["north", "west"]
        assert "must be that of no member" in said(service, new)["error"]
        table = {"class": "SafetyFilter"}
        other = new | {"name": "east", "player": table, "on_missing": "hold"}
        found = said(service, other)
        assert (found["kind"], found["ok"]) == ("invalid", False)
        constants = {"constants": {"R": 1.0, "G_g": 3.0, "start_slack": 0.1}}
        assert said(service, other | constants)["names"] == ["north", "west", "east"]
        alone = said(service, new | constants | {"name": "up"})
        assert alone["error"] == "player must be given, a table as in the file of the service"
        gone = said(service, {"do": "remove", "name": "west", "reason": "sold"})
        assert gone["names"] == ["north", "east"]
        again = said(service, {"do": "remove", "name": "west", "reason": "sold"})
        assert "must be the name of one of this fleet" in again["error"]
    record = read_journal(tmp_path / "f.jsonl")
    assert [(m.member, m.has_left) for m in record.runs] == [
        ("north", False),
        ("west", True),
        ("east", False),
    ]
    assert "G_g=3.0" in record.members["east"].player
    bare = FleetService(Fleet(FILTER, [[0.0]]))
    assert said(bare, new)["error"].startswith("player must be given")
    assert said(bare, {"do": "remove", "name": "0", "reason": "x"})["kind"] == "invalid"
    assert not {"add", "remove"} & set(Service(Controller(PLAYER, [0.0, 0.0])).commands)


def test_tell_before_ask_and_twice_is_refused(service):
    assert "tell must come after ask" in said(service, TOLD)["error"]
    said(service, {"do": "ask"})
    assert said(service, TOLD)["ok"]
    assert "second tell" in said(service, TOLD)["error"]


def test_a_note_is_in_the_journal_and_needs_one(service, tmp_path):
    found = said(service, {"do": "note", "text": "sensor replaced"})
    assert (found["ok"], found["kind"]) == (False, "invalid")
    with Controller(PLAYER, [0.0, 0.0], journal=tmp_path / "j.db") as controller:
        assert said(Service(controller), {"do": "note", "text": "sensor replaced"})["ok"]
    assert [note.text for note in read_journal(tmp_path / "j.db").notes] == ["sensor replaced"]


def test_hold_and_resume_are_served(service):
    said(service, {"do": "ask"})
    assert said(service, {"do": "hold", "reason": "maintenance"})["ok"]
    said(service, {"do": "ask"})
    said(service, TOLD)
    assert said(service, {"do": "ask"})["action"] == [0.0, 0.0]
    assert said(service, {"do": "resume"})["ok"]


def fuzzed(rng, valid):
    """A line that is nearly a request."""
    kind = rng.randrange(7)
    line = bytearray(json.dumps(rng.choice(valid)).encode())
    if kind == 0:
        return bytes(line)
    if kind == 1:
        return rng.randbytes(rng.randrange(200)).replace(b"\n", b" ")
    if kind == 2:  # flipped bits
        for _ in range(rng.randrange(1, 4)):
            line[rng.randrange(len(line))] ^= 1 << rng.randrange(8)
        return bytes(line).replace(b"\n", b" ")
    if kind == 3:  # cut
        return bytes(line[: rng.randrange(len(line))])
    if kind == 4:  # a value replaced
        request = dict(rng.choice(valid))
        odd = [None, True, "x", [], {}, [[1.0]], 1e308, -1e308, [1e308, 1e308], 10**400, "\ud800"]
        request[rng.choice([*request, "id", "extra"])] = rng.choice(odd)
        return json.dumps(request).encode("utf-8", "replace")
    if kind == 5:
        words = [b"NaN", b"Infinity", b"-0.0", b"1e-320", b"9" * 5_000, b"[" * 5_000, b"null"]
        return bytes(line).replace(b"1.0", rng.choice(words), 1)
    return bytes(line) + rng.choice([b"{}", b"\x00", b" ", b"}", b","])


def fuzz(path, count, seed):
    """Send lines at random; return how many were served. State and journal must stay whole."""
    rng = random.Random(seed)
    valid = [{"do": name} for name in ("hello", "ask", "status", "explain")]
    valid += 6 * [{"do": "ask"}, TOLD]
    valid += [{"do": "note", "text": "n"}]
    served = 0
    with Controller(PLAYER, [0.0, 0.0], journal=path) as controller:
        service = Service(controller)
        for _ in range(count):
            before = (controller.round, controller.state.x.tobytes())
            found = said(service, fuzzed(rng, valid))
            assert isinstance(found["ok"], bool)
            served += found["ok"]
            if not found["ok"]:
                assert found["kind"] != "internal", found
                assert (controller.round, controller.state.x.tobytes()) == before
        last = controller.ask()
    assert replay(path).is_same
    record = read_journal(path)
    assert record.action.tobytes() == last.tobytes()
    return served, record.round_count


def test_fuzzed_lines_leave_no_trace_but_sentences(tmp_path):
    served, told = fuzz(tmp_path / "j.db", 1_500, seed=5)
    assert served > 200
    assert told > 50


def test_fuzzed_lines_leave_no_trace_in_a_fleet(tmp_path):
    rng, path = random.Random(3), tmp_path / "f.jsonl"
    valid = [{"do": name} for name in ("hello", "ask", "status")]
    valid += 8 * [{"do": "ask"}, told_to(*BOTH), told_to("south")]
    valid += [{"do": "hold", "reason": "r", "members": ["south"]}, {"do": "resume", "reason": "r"}]
    valid += [{"do": "explain", "member": "south"}, told_to(*BOTH, value_error=[0.125, None])]
    new = {"do": "add", "name": "west", "start": [0.0], "reason": "r"}
    valid += [new, new | {"player": {"class": "OGD"}}]
    valid += 3 * [{"do": "remove", "name": "west", "reason": "r"}]
    served = 0
    with Fleet(FILTER, {"north": [0.0], "south": [0.0]}, journal=path) as fleet:
        service = FleetService(fleet, lambda _: FILTER)
        for _ in range(1_500):
            before = (fleet.rounds, fleet.halted)
            found = said(service, fuzzed(rng, valid))
            served += found["ok"]
            if not found["ok"]:
                assert found["kind"] != "internal", found
                assert (fleet.rounds, fleet.halted) == before
            while len(fleet) > 2:  # so that most requests fit again
                fleet.remove(fleet.names[-1], "r")
        last = dict(zip(fleet.names, fleet.ask().tolist(), strict=True))
    assert replay(path).is_same
    record = read_journal(path)
    assert {n: record.members[n].action.tolist() for n in last} == last
    assert served > 200
    assert record.round_count > 50


# --- players from plain data ---------------------------------------------------------------------

NUMBERS = {n: getattr(CONSTANTS, n) for n in CONSTANTS.origins}


def test_a_ramp_in_a_file_goes_with_parameters_and_with_a_tuning():
    table = {"class": "Ball", "radius": 1.0}
    plain = {"class": "LeaderFollower", "G_g": 1.0, "domain": table, "ramp": [0.1, 0.2]}
    assert player_from(plain).ramp == (0.1, 0.2)
    tuned = player_from({"class": "LeaderFollower", "ramp": 0.1}, constants=NUMBERS)
    assert (tuned.ramp, tuned.knowledge.G_g) == (0.1, NUMBERS["G_g"])
    with pytest.raises(ValueError, match=r"player.ramp must be left out for PFS, got 0.1"):
        player_from({"class": "PFS", "tuning": "tuned", "ramp": 0.1}, constants=NUMBERS, horizon=9)
    with pytest.raises(ValueError, match="ramp must be above 0"):
        player_from({"class": "LeaderFollower", "ramp": 0.0}, constants=NUMBERS)


def test_a_player_is_made_as_its_constructor_makes_it():
    named = player_from({"class": "LeaderFollower"}, constants=NUMBERS)
    assert named.algorithm == LeaderFollower.default(CONSTANTS, None, Ball(CONSTANTS.R)).algorithm
    assert named.guarantee.kind == "every round"
    tuned = player_from({"class": "PFS", "tuning": "tuned"}, constants=NUMBERS, horizon=5_000)
    assert tuned.algorithm == PLAYERS["PFS tuned"].algorithm
    table = {"class": "Box", "lower": [-0.4, -0.3], "upper": [0.6, 0.45]}
    box = player_from({"class": "OGD", "eta": 0.1, "domain": table})
    assert box == OGD(eta=0.1, domain=Box([-0.4, -0.3], [0.6, 0.45]))
    drive(Controller(box, START), box, 3)
    changing = {"class": "RECOO", "tuning": "changing"}  # of a rule that needs the set otherwise
    made = player_from(changing, constants=NUMBERS | {"G_f": 1.0}, horizon=50)
    assert made.algorithm.domain == Ball(CONSTANTS.R)


def test_a_pair_is_made_by_its_name_and_by_its_parts():
    ball = {"class": "Ball", "radius": 1.5}
    named = {"class": "LeaderFollower", "G_g": 1.2, "domain": ball, "cuts": 4, "value_error": 0.1}
    knowledge = {"class": "LipschitzHull", "G_g": 1.2, "domain": ball}
    knowledge["errors"] = {"class": "Errors", "value": 0.1}
    pair = {"class": "Certified", "proposer": {"class": "Leader", "domain": ball, "cuts": 4}}
    wanted = LeaderFollower(G_g=1.2, domain=Ball(1.5), cuts=4, value_error=0.1)
    assert player_from(named) == wanted
    assert player_from(pair | {"knowledge": knowledge}).parts == wanted.parts
    hull = {"class": "RegionFilter", "knowledge": {"class": "LipschitzHull", "G_g": 1, "reach": 2}}
    assert player_from(hull) == RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=2.0))


BALL = {"class": "Ball", "radius": 2.0}
UNKNOWN = {"class": "LeaderFollower", "tuning": "unknown"}


def test_a_file_may_name_a_rule_for_an_unknown_constant():
    player, promise = player_from(UNKNOWN | {"violations": 1, "value_error": 0.1}, domain=BALL)
    expected = LeaderFollower.unknown(Ball(2.0), violations=1, value_error=0.1)
    assert (player, str(promise)) == (expected.algorithm, str(expected.guarantee))


@pytest.mark.parametrize(
    ("player", "more", "words"),
    [
        ({}, {}, "player.class must be a rule of `surefoot list`, got None; known: "),
        ({"class": ["OGD"]}, {}, "player.class must be a rule of `surefoot list`, got ['OGD']"),
        ({"class": "Ball", "radius": 1.0}, {}, "player.class must be a rule of `surefoot list`"),
        ({"class": "LeaderFolower"}, {}, "got 'LeaderFolower'; did you mean 'LeaderFollower'?"),
        ({"class": "PFS", "tuning": "anytme"}, {}, "got 'anytme'; did you mean 'anytime'?"),
        (
            {"class": "PFS", "tunning": "anytime"},
            {},
            "player must have the fields of PFS, got 'tunning'; known: eta, rho, domain",
        ),
        (
            {"class": "PFS", "tuning": "anytime", "eta": 0.1},
            {"constants": NUMBERS, "horizon": 9},
            "PFS.anytime has no parameter 'eta'",
        ),
        (
            {"class": "SafetyFilter", "sigm": 1.0},
            {},
            "player must have the fields of SafetyFilter, got 'sigm'; did you mean 'sigma'?",
        ),
        ({"class": "LeaderFollower", "G_g": 1.0}, {}, "player must have domain, which L"),
        ({"class": "LeaderFollower"}, {}, "constants must have R, which Constants needs"),
        ({"class": "LeaderFollower"}, {"constants": {"R": 1.0}}, "needs"),
        ({"class": "LeaderFollower"}, {"constants": {"R": 1.0, "Gg": 2.0}}, "did you mean 'G_g'?"),
        ({"class": "OGD", "eta": 0.1}, {}, "player must have domain, which OGD needs"),
        ({"class": "OGD", "eta": "x", "domain": {"class": "Ball", "radius": 1}}, {}, "eta must be"),
        (
            {"class": "OGD", "eta": 0.1, "domain": {"class": "Bal", "radius": 1}},
            {},
            "player.domain.class must be one of the library, got 'Bal'; did you mean 'Ball'?",
        ),
        ({"class": "OGD", "eta": 0.1, "domain": {}}, {}, "player.domain.class must be one of"),
        (
            {"class": "PFS", "tuning": "tuned"},
            {"constants": NUMBERS},
            "horizon must be given for PFS.tuned",
        ),
        (
            {"class": "OGD", "tuning": "best"},
            {"constants": NUMBERS},
            "player.tuning must be one of",
        ),
        ([], {}, "player must be a table"),
        (UNKNOWN, {}, "domain must be given for LeaderFollower.unknown"),
        (
            UNKNOWN | {"drift": 0.1},
            {"domain": BALL},
            "LeaderFollower.unknown has no parameter 'drift'",
        ),
        (
            UNKNOWN,
            {"domain": BALL, "constants": {"R": 1.0}},
            "constants must be left out for LeaderFollower.unknown",
        ),
    ],
)
def test_a_player_that_cannot_be_made_is_refused_in_one_sentence(player, more, words):
    with pytest.raises(ValueError, match=r".") as error:
        player_from(player, **more)
    assert words in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_a_long_line_with_a_name_that_comes_again_is_answered_at_once(service):
    names = ", ".join(f'"{i}": 0' for i in range(15_000))
    line = f'{{"do": "ask", {names}, "14999": 1}}'.encode()
    assert len(line) > 160_000  # of which each name was counted in all others: 24 s
    begun = time.process_time()
    answer = said(service, line)
    assert time.process_time() - begun < 1.0
    assert answer["error"] == 'a name must be given once, got "14999" twice'
