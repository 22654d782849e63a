"""Forecasts of the next cost's gradient: told, journalled, and never worth a round."""

import json
import logging
import math

import numpy as np
import pytest

from surefoot import Controller, Feedback
from surefoot.controller import replay
from surefoot.controller.check import check
from surefoot.controller.service import ControllerService
from surefoot.core.errors import InvalidValueError
from surefoot.rules import Delayed, LeaderFollower, OptimisticDualAveraging
from surefoot.sets import Ball

DOMAIN, UP = Ball(1.0), np.array([0.0, 1.0])
LEADER = OptimisticDualAveraging(eta=0.7, domain=Ball(1e6))
OPTIMIST = LeaderFollower(G_g=1.0, domain=DOMAIN, leader=LEADER)
GRADIENTS = np.random.default_rng(0).normal(size=(12, 2))
WRONG = [[1.0], [1.0, math.nan], [math.inf, 0.0], [[1.0, 2.0]], 3.0, "soon", {"a": 1}]


def seen_at(t, x):
    g = float(x[1]) - 0.5
    return {"cost_gradient": GRADIENTS[t], "constraint_value": g, "constraint_subgradient": UP}


def run(controller, hints):
    """Tell some rounds; return the actions."""
    actions = []
    for t, hint in enumerate(hints):
        x = controller.ask()
        actions.append(x)
        controller.tell(**seen_at(t, x), hint=hint)
    return np.array([*actions, controller.ask()])


def test_a_hint_reaches_the_leader_and_the_journal(tmp_path):
    path, hints = tmp_path / "run.jsonl", [*GRADIENTS[1:6].tolist(), None]
    with Controller(OPTIMIST, [0.0, 0.0], journal=path) as controller:
        actions = run(controller, hints)
    state = OPTIMIST.init(np.zeros(2))
    for t, hint in enumerate(hints):
        assert (state.x == actions[t]).all()
        told = None if hint is None else np.array(hint)
        state = OPTIMIST.update(state, Feedback(**seen_at(t, state.x), hint=told))
    assert (state.x == actions[-1]).all()
    blind = run(Controller(OPTIMIST, [0.0, 0.0]), [None] * 6)
    assert not (blind == actions).all()
    rounds = [r for r in map(json.loads, path.read_text().splitlines()) if r["kind"] == "round"]
    assert [r.get("hint") is None for r in rounds] == [False] * 5 + [True]
    assert replay(path).is_same
    assert check(str(path)).said == ["certified: 5 of 6 rounds; the first is the start"]
    with Controller.open(path) as again:
        assert (again.ask() == actions[-1]).all()


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_hint_that_is_none_is_ignored_and_said_once(wrong, caplog, tmp_path):
    caplog.set_level(logging.DEBUG, logger="surefoot")
    heard, path = [], tmp_path / "run.jsonl"
    controller = Controller(OPTIMIST, [0.0, 0.0], journal=path, on_alarm=heard.append)
    with controller, pytest.warns(UserWarning, match=r"^round 2: hint.* it is ignored") as caught:
        actions = run(controller, [None, wrong, wrong, None])
    assert len(caught) == 1
    assert [(alarm.kind, alarm.round, alarm.level) for alarm in heard] == [
        ("hint", 2, logging.WARNING)
    ]
    assert heard[0].sentence == str(caught[0].message)
    assert [r.alarm for r in caplog.records] == heard
    assert (actions == run(Controller(OPTIMIST, [0.0, 0.0]), [None] * 4)).all()
    assert controller.explain().broken == ()
    assert replay(path).is_same


def test_rules_that_use_no_forecast_reject_it():
    controller = Controller(LeaderFollower(G_g=1.0, domain=DOMAIN), [0.0, 0.0])
    sentence = r"^hint is not used by LeaderFollower: leave it out$"
    with pytest.raises(InvalidValueError, match=sentence):
        run(controller, [GRADIENTS[1]])
    assert controller.round == 1


def test_a_hint_is_of_the_next_round_also_where_feedback_is_late():
    late = Delayed(base=OPTIMIST, delay=1)
    state, hint = late.init(np.zeros(2)), np.array([0.0, 9.0])
    for t in range(2):
        state = late.update(state, Feedback(**seen_at(t, state.x), hint=hint if t else -hint))
    assert (state.states[-1].learner.own.forecast == hint).all()


def test_a_round_that_nobody_measured_may_have_a_hint():
    controller = Controller(OPTIMIST, [0.0, 0.0])
    run(controller, [None])
    controller.tell(missing=True, hint=[1.0, 0.0])
    assert controller.round == 3


def test_a_hint_may_be_served():
    controller = Controller(OPTIMIST, [0.0, 0.0])
    service = ControllerService(controller)
    hint = GRADIENTS[1].tolist()
    service.answer(b'{"do": "ask"}')
    seen = seen_at(0, np.zeros(2)) | {"do": "tell", "hint": hint}
    seen = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in seen.items()}
    assert json.loads(service.answer(json.dumps(seen).encode()))["ok"]
    assert (controller.ask() == run(Controller(OPTIMIST, [0.0, 0.0]), [hint])[-1]).all()
    answer = json.loads(service.answer(json.dumps(seen | {"hint": [1.0]}).encode()))
    assert answer["ok"]
    assert answer["alarms"][0]["kind"] == "hint"
