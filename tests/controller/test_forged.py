"""States that no run leads to: opening a journal refuses them in a sentence, or goes on."""

import importlib
import json
import pkgutil
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.kernel.players import players

from surefoot import Ball, Controller, LeaderFollower, kernel
from surefoot.controller import Fleet
from surefoot.controller.records import encode_loop, loop_from
from surefoot.core.errors import DamagedError
from surefoot.core.plain import decode, encode_bytes, is_record
from surefoot.core.restore import fields_of
from surefoot.core.types import Info
from surefoot.rules import OGD, CertifiedPFS, CostProbing, Delayed, SafetyFilter, ValuesFollower

from ._lines import forge
from .forging import forgeries, judge, played, sampled, telling

PAIRS = (
    "leader, default",
    "leader, drift",
    "length, sigma",
    "filter, hull",
    "filter, length, drift",
    "filter, ball, drift",
    "descent, ball",
    "descent, rows in a box",
    "averaging, ball, value error",
    "averaging, rows, slope error",
)
"""A player for every pair that the kernel has."""


@pytest.mark.parametrize("engine", kernel.engines())
@pytest.mark.parametrize("name", PAIRS)
def test_a_forged_part_gives_a_sentence_or_a_loop_that_goes_on(name, engine):
    with kernel.engine(engine):
        player = players(2)[name]
        told = telling(player)
        run, loop = played(player, told)
        found = [judge(run, forgery, told) for forgery in sampled(encode_loop(loop), 5)]
    assert len(found) > 200
    assert [words for words in found if words] == []


@pytest.mark.parametrize("engine", kernel.engines())
@pytest.mark.parametrize("name", players(2))
def test_every_state_of_a_run_is_read_back(name, engine):
    with kernel.engine(engine):
        player = players(2)[name]
        controller, told = Controller(player, np.full(2, 0.01)), telling(player)
        for _ in range(6):
            (run, loop), _ = controller._now
            data = encode_loop(loop)
            assert encode_loop(loop_from("a journal", data, run)) == data
            controller.tell(**told(controller.ask()))


@pytest.mark.parametrize(
    ("path", "forged", "words"),
    [
        (("state", "memory", "last", "x"), [0.0, 0.0, 0.0], r"last.x of LeaderFollower must be an"),
        (("state", "memory", "last", "round"), 0.5, r"last.round of LeaderFollower must be whole"),
        (("state", "memory", "rounds"), -1.0, "whole numbers from 0 to 9007199254740992, got"),
        (("state", "learner", "squares"), -1.0, "squares of LeaderFollower must be numbers from 0"),
        (("cut",), 9.0, "loop.cut of LeaderFollower must be bool or None"),
        (("state", "learner", "cuts", "offsets"), [0.0] * 99, "must be as long as the others"),
        (("state", "learner", "gradients"), {"number": "nan"}, "array of shape .2,. of float64"),
        (("state", "x"), {"array": [1, 2], "type": "int64", "shape": [2]}, "float64, got"),
        (("regret", "lags"), {"tuple": [0.0]}, "regret.lags of LeaderFollower must be 4 entries"),
        (("round",), 2**60, "loop.round of LeaderFollower must be from"),
        (("round",), 0, "loop.round of LeaderFollower must be numbers from 1"),
        (("halt",), {"class": "Halt", "how": "flown", "reason": "", "round": 1}, "halt.how of"),
        (("anchor", "x"), [1.0], "loop.anchor.x of LeaderFollower must be an array of shape"),
        (("value",), {"tuple": []}, "loop.value of LeaderFollower must be a number, got"),
        (("info",), {"class": "Feedback"}, "loop.info of LeaderFollower must be Info or None"),
    ],
)
def test_the_sentence_names_the_field_the_rule_and_the_value(path, forged, words):
    player = LeaderFollower(G_g=1.1, domain=Ball(4.0))
    run, loop = played(player, telling(player))
    data = encode_loop(loop)
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = forged
    with pytest.raises(DamagedError, match=words) as error:
        loop_from("journal 'a'", data, run)
    assert str(error.value).startswith("journal 'a' is damaged: its state cannot be read")
    assert "\n" not in str(error.value)


def test_a_flag_is_true_or_false():
    player = CertifiedPFS(G_g=1.1, domain=Ball(4.0), rho=0.1)
    run, loop = played(player, telling(player))
    data = encode_loop(loop)
    data["state"]["memory"]["is_pulled"] = 9.0
    with pytest.raises(DamagedError, match="is_pulled of CertifiedPFS must be true or false"):
        loop_from("journal 'a'", data, run)


def test_as_many_cuts_as_a_leader_remembers_and_no_more():
    player = LeaderFollower(G_g=1.1, domain=Ball(4.0), cuts=2)
    run, loop = played(player, telling(player), rounds=2)
    data = encode_loop(loop)
    for many in (1, 2, 3):
        cuts = data["state"]["learner"]["cuts"]
        cuts["offsets"] = cuts["inverses"] = [1.0] * many
        cuts["normals"], cuts["pulls"] = [[1.0, 0.0]] * many, [[0.0] * many] * 4
        if many < 3:
            loop_from("a journal", data, run)
        else:
            with pytest.raises(DamagedError, match="must be no longer than 2, got 3"):
                loop_from("a journal", data, run)


@pytest.mark.parametrize(
    "player",
    [
        Delayed(base=LeaderFollower(G_g=1.1, domain=Ball(4.0)), delay=2),
        ValuesFollower(G_g=1.1, domain=Ball(4.0)),
        CostProbing(base=LeaderFollower(G_g=1.1, domain=Ball(4.0)), length=0.01),
        OGD(eta=0.1, domain=Ball(4.0)),
    ],
    ids=lambda player: type(player).__name__,
)
def test_forged_parts_of_wrappers_and_of_other_rules(player):
    def told(x):
        seen = {"constraint_value": float(x[0]) - 0.5, "constraint_subgradient": [1.0, 0.0]}
        if isinstance(player, ValuesFollower):
            del seen["constraint_subgradient"]
        if isinstance(player, CostProbing):
            return seen | {"cost_value": float(x.sum())}
        return ({} if isinstance(player, OGD) else seen) | {"cost_gradient": [-1.0, 0.25]}

    run, loop = played(player, told)
    found = [judge(run, forgery, told) for forgery in sampled(encode_loop(loop), 3)]
    assert [words for words in found if words] == []


class Grown(NamedTuple):
    """What a rule of a user's own remembers: it grows."""

    x: Any
    some: "Unknown"  # noqa: F821
    seen: tuple


class Anything:
    """A rule of a user's own."""

    def init(self, x1):
        return Grown(np.asarray(x1), None, ())

    def step(self, state, feedback):
        return Grown(state.x, np.ones(3), (*state.seen, 1.0)), Info(state.x)


def test_the_state_of_a_rule_of_ones_own_may_grow_but_not_change_its_classes():
    controller = Controller(Anything(), np.zeros(2))
    for _ in range(3):
        controller.ask()
        controller.tell(
            cost_gradient=[1.0, 0.0], constraint_value=-1.0, constraint_subgradient=[1.0, 0.0]
        )
    (run, loop), _ = controller._now
    data = json.loads(json.dumps(encode_loop(loop)))
    assert len(loop_from("a journal", data, run).state.seen) == 3
    data["state"]["x"] = [[0.0, 0.0]]
    with pytest.raises(DamagedError, match=r"state.x of Anything must be an array of shape"):
        loop_from("a journal", data, run)


def test_the_types_of_all_records_can_be_found():
    rooms = ("rules", "proposers", "guarantees", "knowledge", "controller", "core")
    count = 0
    for room in rooms:
        package = importlib.import_module(f"surefoot.{room}")
        for info in pkgutil.walk_packages(package.__path__, f"surefoot.{room}."):
            module = importlib.import_module(info.name)
            for kind in vars(module).values():
                if is_record(kind) and kind.__module__ == info.name:
                    assert list(fields_of(kind)) == list(kind._fields)
                    count += 1
    assert count > 60


def test_every_part_is_forged():
    player = LeaderFollower(G_g=1.1, domain=Ball(4.0))
    run, loop = played(player, telling(player))
    paths = {forgery.path for forgery in forgeries(encode_loop(loop))}
    assert {("state", "learner", "trust", "rates"), ("regret", "lags"), ("anchor", "x")} <= paths
    assert run.name == "LeaderFollower"


def take_round(rows):
    rows["rounds"] = encode_bytes(np.array([4, 2]))


def take_block(place, number):
    def edit(rows):
        blocks = decode(rows["blocks"])
        blocks[1, place] = number
        rows["blocks"] = encode_bytes(blocks)

    return edit


ROWS = {
    "fewer rounds": (
        lambda rows: rows.update(rounds=encode_bytes(np.array([4]))),
        "shorter|longer",
    ),
    "another round": (take_round, "round 2|lead elsewhere|was changed"),
    "another action": (take_block(1, 0.7), "has the action"),
    "no number": (take_block(1, np.nan), "has the action"),
    "a round below 0": (take_block(2, -1.0), "memory.rounds of SafetyFilter must"),
    "infinite": (take_block(5, np.inf), "must be finite|must be a number"),
    "a short block": (
        lambda rows: rows.update(blocks=encode_bytes(decode(rows["blocks"])[:, :-1])),
        "layout must be that of a state",
    ),
    "another layout": (lambda rows: rows["layout"].pop(), "layout must be that of a state"),
    "a member twice": (lambda rows: rows.update(members=[0, 0]), "is there twice|KeyError|'1'"),
    "a member from the end": (lambda rows: rows.update(members=[0, -1]), "blocks of the members"),
    "a member that is none": (lambda rows: rows.update(members=[0, 9]), "out of range"),
    "bytes of nothing": (lambda rows: rows["blocks"].update(bytes="@"), "cannot be read"),
    "a huge shape": (lambda rows: rows["blocks"].update(shape=[2, 2**40]), "cannot be read"),
}


@pytest.mark.skipif(kernel.name() != "kernel", reason="the kernel was not built")
@pytest.mark.parametrize("what", ROWS)
def test_a_fleet_does_not_open_with_forged_rows(what, tmp_path):
    player, path = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1), tmp_path / "fleet.jsonl"
    with Fleet(player, np.zeros((2, 2)), journal=path, rotate=3) as fleet:
        for _ in range(4):
            fleet.ask()
            fleet.tell(
                proposal=np.full((2, 2), 0.1),
                constraint_value=[-0.5, -0.5],
                constraint_subgradient=[[1.0, 0.0], [0.0, 1.0]],
            )
    last = sorted(tmp_path.glob("fleet.jsonl*"))[-1]
    Fleet.open(path).close()
    edit, words = ROWS[what]
    forge(last, lambda found: edit(found[0]["state"]["rows"][0]))
    with pytest.raises(DamagedError, match=words):
        Fleet.open(path)
