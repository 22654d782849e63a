"""What somebody should hear of a live loop, by the logger, by a callback, in the journal."""

import json
import logging

import numpy as np
import pytest

from surefoot import Controller
from surefoot.controller import PremiseError, PremiseWarning, replay
from surefoot.controller.check import check
from surefoot.controller.service import ControllerService
from surefoot.knowledge import Errors, LipschitzHull
from surefoot.rules import RegionFilter, SafetyFilter
from surefoot.sets import Ball

HULL = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=2.0))
GENTLE = {"proposal": [0.0, 0.1], "constraint_value": -0.5, "constraint_subgradient": [0.0, 1.0]}
STEEP = GENTLE | {"constraint_subgradient": [0.0, 2.0]}


def test_every_kind_of_alarm_is_heard_by_the_logger_and_the_callback(caplog):
    caplog.set_level(logging.INFO, logger="surefoot")
    heard = []
    controller = Controller(HULL, [0.0, 0.0], on_alarm=heard.append)
    controller.ask()
    with pytest.raises(PremiseError):
        controller.tell(**STEEP)
    controller.tell(**GENTLE)
    controller.ask()
    controller.tell(missing=True)
    controller.hold("lunch")
    controller.resume(on_contradiction="warn")
    controller.ask()
    with pytest.warns(PremiseWarning):
        controller.tell(**STEEP)
    kinds = [(alarm.kind, alarm.level) for alarm in heard]
    assert kinds == [
        ("refused", logging.CRITICAL),
        ("missing", logging.INFO),
        ("order", logging.WARNING),
        ("order", logging.INFO),
        ("contradiction", logging.ERROR),
    ]
    assert [r.alarm for r in caplog.records] == heard
    assert [r.getMessage() for r in caplog.records] == [alarm.sentence for alarm in heard]
    assert all(f"round {alarm.round}" in alarm.sentence for alarm in heard)


def test_a_round_without_events_is_silent(caplog):
    caplog.set_level(logging.DEBUG, logger="surefoot")
    controller = Controller(HULL, [0.0, 0.0], on_alarm=lambda alarm: 1 / 0)
    for _ in range(3):
        controller.ask()
        controller.tell(**GENTLE)
    assert caplog.records == []


def test_a_callback_that_fails_is_logged_and_stops_nothing(caplog):
    controller = Controller(HULL, [0.0, 0.0], on_alarm=lambda alarm: 1 / 0)
    controller.ask()
    controller.tell(missing=True)
    assert controller.round == 2
    assert "on_alarm failed at: round 1: nothing was measured" in caplog.text


def test_what_is_no_function_is_refused():
    with pytest.raises(ValueError, match="on_alarm must be a function, got 3"):
        Controller(HULL, [0.0, 0.0], on_alarm=3)


def drifting(player, rounds, **options):
    """A loop whose limit is fixed, though it may drift; the actions, and the visits announced."""
    heard, actions = [], []
    controller = Controller(player, [0.0, 0.0], on_alarm=heard.append, **options)
    with controller:
        for t in range(1, rounds + 1):
            x = controller.ask()
            actions.append(x)
            remeasurement = controller.explain().remeasurement
            assert (remeasurement is None) == (
                f"measured again in round {t + 1}" not in str(controller.explain())
            )
            controller.tell(
                proposal=[0.0, 2.0],
                constraint_value=float(x[1]) - 0.5,
                constraint_subgradient=[0.0, 1.0],
            )
    return actions, [int(a.sentence.split()[1].rstrip(":")) for a in heard if a.kind == "remeasure"]


PLAYERS = {
    "hull": RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=2.0, errors=Errors(drift=0.004))),
    "in a ball": RegionFilter(
        knowledge=LipschitzHull(G_g=1.0, domain=Ball(2.0), errors=Errors(drift=0.004))
    ),
    "steps": SafetyFilter(G_g=1.0, domain=Ball(2.0), rho=0.05, drift=0.004),
}


@pytest.mark.parametrize("name", PLAYERS)
def test_a_visit_of_the_anchor_is_announced_a_round_before(name, tmp_path):
    path = tmp_path / "run.jsonl"
    actions, announced = drifting(PLAYERS[name], 160, journal=path)
    start = actions[0]
    visits = [
        t
        for t in range(2, 160)
        if np.array_equal(actions[t], start) and not np.array_equal(actions[t - 1], start)
    ]
    assert visits
    assert {t + 1 for t in visits} <= set(announced)
    told = [json.loads(line) for line in path.read_text().splitlines()]
    assert [r["why"]["remeasure"] for r in told if "remeasure" in r.get("why", {})] == announced


@pytest.mark.slow
def test_where_the_start_is_known_for_ever_it_is_not_visited(tmp_path):
    known = LipschitzHull(G_g=1.0, reach=2.0, errors=Errors(drift=0.004), start_bound=-0.4)
    actions, announced = drifting(RegionFilter(knowledge=known), 160, journal=tmp_path / "run")
    assert announced == []
    assert min(x[1] for x in actions[50:]) > 0.4
    assert check(str(tmp_path / "run"))[1][0].startswith("certified: 159 of 160 rounds")
    with Controller.open(tmp_path / "run") as controller:
        for _ in range(400):  # nothing is measured for so long that any reading is worth nothing
            controller.ask()
            controller.tell(missing=True)
        why = controller.explain()
        assert why.is_proven
        assert why.bound <= 0
    assert replay(tmp_path / "run").is_same
    with pytest.raises(ValueError, match="start_bound must be below 0"):
        LipschitzHull(G_g=1.0, reach=2.0, start_bound=0.1)


def test_a_start_that_is_not_what_it_was_said_to_be_for_ever_is_a_contradiction():
    known = LipschitzHull(G_g=1.0, reach=2.0, errors=Errors(drift=0.1), start_bound=-0.4)
    controller = Controller(RegionFilter(knowledge=known), [0.0])
    told = {"proposal": [0.0], "constraint_subgradient": [1.0]}
    controller.ask()
    controller.tell(constraint_value=-0.42, **told)
    controller.ask()
    with pytest.raises(ValueError, match="above its certified bound"):
        controller.tell(constraint_value=-0.38, **told)


def test_alarms_are_in_the_answers_of_a_service():
    service = ControllerService(Controller(HULL, [0.0, 0.0]))
    service.answer(b'{"do": "ask"}')
    answer = json.loads(service.answer(b'{"do": "tell", "missing": true}'))
    assert answer["alarms"] == [
        {
            "round": 1,
            "kind": "missing",
            "level": "info",
            "sentence": "round 1: nothing was measured",
        }
    ]
