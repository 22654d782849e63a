"""Forged journals with right digests: each must be found, and none may be gone on with.

The plant is g(x) = x[0] - 0.5 with true constants; every forgery here was passed by a checker that
believed a table in the header, a stored state, or a certificate's own name.
"""

import copy
import hashlib
import json

import numpy as np
import pytest

from surefoot.controller import Controller, StoreError, replay
from surefoot.controller.check import check
from surefoot.knowledge import CurvatureRows, Errors, LipschitzHull
from surefoot.rules import CertifiedOGD, RegionFilter
from surefoot.sets import Ball, Box

from ._lines import forge

DOMAIN = Box([-3.0, -3.0], [3.0, 3.0])
KNOWN = LipschitzHull(G_g=1.0, domain=DOMAIN, errors=Errors(value=0.01))


def played(path, rounds=8, knowledge=KNOWN, **options):
    """The journal of a filter that is asked for more than the limit."""
    player = RegionFilter(knowledge=knowledge, ramp=options.pop("ramp", None))
    with Controller(player, [0.0, 0.0], journal=path, **options) as controller:
        for _ in range(rounds):
            x = controller.ask()
            g, s = float(x[0]) - 0.5, [1.0, 0.0]
            controller.tell(constraint_value=g, constraint_subgradient=s, proposal=[2.0, 0.3])
    return path


def at(found, t):
    (record,) = (r for r in found if r["kind"] == "round" and r["round"] == t)
    return record


def cut_after(found, t):
    """Leave out all that comes after a round."""
    del found[found.index(at(found, t)) + 1 :]


def stored(found, x, t):
    """A snapshot for round t that has another action than the one at hand."""
    loop = copy.deepcopy(found[0]["loop"])
    loop["round"] = t
    loop["state"]["x"] = x
    return {"kind": "snapshot", "loop": loop}


def blamed(path, edit, sentence):
    """Forge a journal; the checker must name the sentence."""
    assert check(str(path)).code == 0
    forge(path, edit)
    report = check(str(path))
    assert not report.is_right
    assert report.code == 1
    assert sentence in report.said[0], report.said[0]


def test_a_snapshot_with_another_action_is_found_and_not_gone_on_with(tmp_path):
    path = played(tmp_path / "run")
    sentence = "a stored state has another action than the one at hand"
    blamed(path, lambda found: found.insert(-1, stored(found, [0.9, 0.0], 9)), sentence)
    assert not replay(path).is_same
    with pytest.raises(StoreError, match=r"has the action \[0\.9, 0\.0\], and the one at hand is"):
        Controller.open(path)


def test_a_later_file_that_begins_with_another_action_is_found_and_not_gone_on_with(tmp_path):
    path = played(tmp_path / "run", rotate=5)
    assert check(str(path)).code == 0
    later = tmp_path / "run.2"
    forge(later, lambda found: found[0]["loop"]["state"].update(x=[0.9, 0.0]))
    report = check(str(path))
    assert "a stored state has another action than the one at hand" in report.said[0]
    with pytest.raises(StoreError, match=r"has the action \[0\.9, 0\.0\], and the one at hand is"):
        Controller.open(path)


def test_a_fresh_start_elsewhere_than_its_state_is_found_and_not_gone_on_with(tmp_path):
    path = tmp_path / "run"
    with Controller.open(played(path)) as controller:
        controller.resume(RegionFilter(knowledge=KNOWN), reason="a new sensor")

    def move(found):
        (fresh,) = (r for r in found if r.get("fresh"))
        fresh["loop"]["state"]["x"] = [0.9, 0.0]

    blamed(path, move, "a stored state has another action than the one at hand")
    with pytest.raises(StoreError, match=r"has the action \[0\.9, 0\.0\], and the one at hand is"):
        Controller.open(path)


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("check", {"G_g": 0.999}),
        ("check", {"start_bound": -0.495}),
        ("errors", {"value": 0.0}),
    ],
    ids=["G_g", "start_bound", "errors"],
)
def test_a_header_has_no_constants_beside_the_player(tmp_path, table, change):
    path = played(tmp_path / "run")
    beside = f"a line of the kind 'journal' must not have a key '{table}'"
    blamed(path, lambda found: found[0].setdefault(table, {}).update(change), beside)


def test_the_constants_of_the_player_are_the_ones_that_are_used_and_printed(tmp_path):
    path = played(tmp_path / "run")
    (constants,) = check(str(path)).constants
    assert constants.startswith("constants: from round 1: RegionFilter(knowledge=LipschitzHull(")
    assert "value=0.01" in constants
    assert "G_g=1.0" in constants

    def weaken(found):
        found[0]["player"]["knowledge"]["G_g"] = 0.5

    blamed(path, weaken, "its certificate has another G_g than the player")


def test_an_order_to_hold_brings_no_player(tmp_path):
    path = played(tmp_path / "run")

    def smuggle(found):
        cut_after(found, 5)
        player = {n: found[0][n] for n in ("player", "guarantee", "start", "loop")}
        player = copy.deepcopy(player)
        player["player"]["knowledge"]["G_g"] = 1e-3
        player |= {n: found[0][n] for n in ("check", "errors") if n in found[0]}
        what = {"kind": "hold", "round": 6, "time": 0.0, "reason": "a look", "fresh": True}
        found.append(what | player | {"next": at(found, 5)["next"], "certificate": None})

    blamed(path, smuggle, "a line of the kind 'hold' must not have a key")
    with pytest.raises(StoreError):
        Controller.open(path)


def test_another_player_without_a_fresh_start_is_found(tmp_path):
    path = tmp_path / "run"
    with Controller.open(played(path)) as controller:
        controller.hold("a look")
        controller.resume(on_missing="retreat")

    def smuggle(found):
        (line,) = (r for r in found if r["kind"] == "resume")
        line["player"] = copy.deepcopy(found[0]["player"])
        line["player"]["knowledge"]["G_g"] = 1e-3

    blamed(path, smuggle, "another player must come with a fresh start, by a resume")


def return_path(t, share):
    """The certificate of a controller that goes back to where it began."""
    words = {"class": "ReturnPath", "round": t, "how": "retreated", "reason": "no measurement"}
    return words | {
        "share": share,
        "anchor_round": 1,
        "slack": 0.49,
        "drift": 0.0,
        "bound": -0.49,
        "cut": False,
    }


def jump(found):
    """Go back to the start at once, in an ordinary round."""
    cut_after(found, 6)
    at(found, 6).update(next=[0.0, 0.0], certificate=return_path(6, 1.0))


JUMPS = {
    "an ordinary round": {},
    "no order": {"how": "retreated", "why": {"policy": "halted"}},
    "another policy": {"how": "retreated", "why": {"policy": "retreat", "causes": ["a storm"]}},
}


@pytest.mark.parametrize("what", JUMPS)
def test_a_step_beyond_the_ramp_is_no_return_path_without_an_event(tmp_path, what):
    path = played(tmp_path / "run", ramp=0.05)

    def edit(found):
        jump(found)
        at(found, 6).update(JUMPS[what])

    blamed(path, edit, "a return path is taken, and no order, halt or missing round says why")


def test_a_return_path_is_no_further_than_the_ramp(tmp_path):
    path = played(tmp_path / "run", ramp=0.05)

    def edit(found):
        jump(found)
        missing = {"missing": True, "how": "retreated", "why": {"policy": "hold"}}
        at(found, 6).update(missing)
        for name in ("constraint_value", "constraint_subgradient", "proposal"):
            at(found, 6).pop(name)

    blamed(path, edit, "its action is further from the last than the ramp")


def test_a_key_is_there_once(tmp_path):
    path = played(tmp_path / "run")
    digest, lines = "", []
    for i, line in enumerate(path.read_bytes().splitlines()):
        body = line[: line.rindex(b',"digest":')]
        if i == 5:
            body = body.replace(b',"next":', b',"next":[0.1,0.1],"next":', 1)
        digest = hashlib.sha256(digest.encode() + body).hexdigest()
        lines.append(body + b',"digest":"%s"}\n' % digest.encode())
    path.write_bytes(b"".join(lines))
    assert json.loads(lines[5])["next"] != [0.1, 0.1]
    report = check(str(path))
    assert report.said == ["NOT CERTIFIED: round 5: a key must be there once, got 'next' twice"]
    with pytest.raises(StoreError, match="is no record"):
        Controller.open(path)


def test_more_rows_than_a_file_can_mean_cost_no_memory(tmp_path):
    knowledge = CurvatureRows(beta=1.0, rows=2, reach=1.5, domain=Ball(1.5))
    path = tmp_path / "run.jsonl"
    with Controller(CertifiedOGD(radius=1.5, knowledge=knowledge), [0.0, 0.0], journal=path) as run:
        run.ask()
        told = {"constraint_value": [-0.5, -0.5], "constraint_subgradient": np.eye(2)}
        run.tell(cost_gradient=[1.0, 0.0], **told)
    forge(path, lambda found: found[0]["player"]["knowledge"].update(rows=10**12))
    assert "rows must be from 1 to 100000" in check(str(path)).said[0]
