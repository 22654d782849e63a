"""A controller behind lines of JSON: what is served, and what is refused and changes nothing."""

import json
import random
import time
from pathlib import Path

import numpy as np
import pytest

from surefoot import Ball, Controller, replay
from surefoot.controller import read_journal
from surefoot.controller.service import LONGEST, PROTOCOL, ControllerService
from surefoot.knowledge import LipschitzHull, Together
from surefoot.rules import CertifiedPFS, RegionFilter, SafetyFilter

from .._live import PLAYERS, START, seen_at

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
    return ControllerService(Controller(PLAYER, [0.0, 0.0]))


def test_hello_tells_the_version_of_the_protocol_and_who_plays(service):
    found = said(service, {"do": "hello", "id": "a"})
    assert (found["ok"], found["id"], found["protocol"], found["round"]) == (True, "a", PROTOCOL, 1)
    assert found["dimension"] == 2
    assert found["player"] == repr(PLAYER)
    assert {"hello", "ask", "tell", "explain", "note", "status"} <= set(found["commands"])


def test_ask_and_tell_are_those_of_the_controller_bit_for_bit():
    player = PLAYERS["certified"]
    mine, service = Controller(player, START), ControllerService(Controller(player, START))
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


def test_the_certificate_of_several_limits_has_a_table_for_each():
    parts = tuple(LipschitzHull(G_g=bound, reach=2.0) for bound in (1.0, 2.0))
    loop = Controller(RegionFilter(knowledge=Together(rows=parts)), START)
    loop.ask()
    told = {"constraint_value": [-0.5, -0.6], "constraint_subgradient": np.eye(2)}
    loop.tell(proposal=[0.3, 0.0], **told)
    found = said(ControllerService(loop), {"do": "explain"})["certificate"]
    assert [row["G_g"] for row in found["rows"]] == [1.0, 2.0]
    assert set(found["rows"][0]["errors"]) == {"value", "slope", "drift", "evaluation"}


def test_separate_constraints_are_told_as_rows():
    player = PLAYERS["DPP"]
    service = ControllerService(Controller(player, START))
    x = np.array(said(service, {"do": "ask"})["action"])
    told = {n: np.asarray(v).tolist() for n, v in seen_at(player, 1, x).items()}
    assert said(service, {"do": "tell", **told})["ok"]


def test_a_filter_is_told_a_proposal():
    service = ControllerService(Controller(SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1), [0.0]))
    said(service, {"do": "ask"})
    told = {"proposal": [1.0], "constraint_value": -0.5, "constraint_subgradient": [1.0]}
    assert said(service, {"do": "tell", **told})["ok"]
    assert said(service, {"do": "ask"})["action"][0] > 0.3


def test_an_announced_set_holds_the_next_action():
    known = LipschitzHull(G_g=1.0, reach=2.0)
    service = ControllerService(Controller(RegionFilter(knowledge=known), [0.0, 0.0]))
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
    service = ControllerService(Controller(PLAYER, [0.0, 0.0], on_contradiction="warn"))
    steep = TOLD | {"constraint_subgradient": [3.0, 4.0]}
    said(service, {"do": "ask"})
    assert "|s| = 5" in said(service, steep)["warnings"][0]
    strict = ControllerService(Controller(PLAYER, [0.0, 0.0]))
    said(strict, {"do": "ask"})
    found = said(strict, steep)
    assert (found["ok"], found["kind"], found["round"]) == (False, "contradiction", 1)
    assert said(strict, TOLD)["ok"]


def test_the_page_has_every_command_every_key_and_every_kind_of_error(service):
    page = (Path(__file__).parents[3] / "docs" / "serve.md").read_text(encoding="utf-8")
    found = said(service, {"do": "hello"})
    kinds = ("request", "invalid", "contradiction", "journal", "internal")
    told = said(service, {"do": "tell", "x": 1})["error"]
    keys = told.removeprefix("tell takes ").partition(", got")[0].split(", ")
    assert len(keys) == 14
    explained = said(service, {"do": "explain"}).keys() - {"ok"}
    for word in (*found["commands"], *keys, *kinds, *explained):
        assert f"`{word}`" in page, word


HOSTILE = {
    b"": "got an empty line",
    b"hello": "no JSON at character 1",
    b"[]": "got a list of 0",
    b"7": "got 7",
    b'{"do": "ask"': "no JSON",
    b'{"do": "ask"} {}': "no JSON",
    b'\xff\xfe{"do": "ask"}': "UTF-8",
    b"\x00\x01\x02": "no JSON",
    b'{"do": "fly"}': "do must be one of hello, status, explain, ask, tell, announce, note, hold, "
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
        (b'{"do": "retreat", "reason": "x", "speed": [1]}', "speed must be"),
    ],
)
def test_what_an_order_lacks_is_told_in_its_words(service, line, words):
    said(service, {"do": "ask"})
    found = said(service, line)
    assert (found["ok"], found["kind"], found["round"]) == (False, "invalid", 1)
    assert words in found["error"]
    assert said(service, TOLD)["ok"]


def test_tell_before_ask_and_twice_is_refused(service):
    assert "tell must come after ask" in said(service, TOLD)["error"]
    said(service, {"do": "ask"})
    assert said(service, TOLD)["ok"]
    assert "second tell" in said(service, TOLD)["error"]


def test_a_note_is_in_the_journal_and_needs_one(service, tmp_path):
    found = said(service, {"do": "note", "text": "sensor replaced"})
    assert (found["ok"], found["kind"]) == (False, "invalid")
    with Controller(PLAYER, [0.0, 0.0], journal=tmp_path / "j.db") as controller:
        assert said(ControllerService(controller), {"do": "note", "text": "sensor replaced"})["ok"]
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
        service = ControllerService(controller)
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


def test_a_long_line_with_a_name_that_comes_again_is_answered_at_once(service):
    names = ", ".join(f'"{i}": 0' for i in range(15_000))
    line = f'{{"do": "ask", {names}, "14999": 1}}'.encode()
    assert len(line) > 160_000  # of which each name was counted in all others: 24 s
    begun = time.process_time()
    answer = said(service, line)
    assert time.process_time() - begun < 1.0
    assert answer["error"] == 'a name must be given once, got "14999" twice'
