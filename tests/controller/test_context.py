"""Contexts in a live loop: told, announced, announced anew, journalled, missing, refused."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot import Controller, LeaderFollower, replay
from surefoot.certified import Certified
from surefoot.controller import Fleet, PremiseError
from surefoot.controller.check import check
from surefoot.controller.service import ControllerService
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array
from surefoot.knowledge import (
    AnnouncedDrift,
    Choices,
    Column,
    Columns,
    ContextCurvature,
    ContextHull,
    EmptyRegionError,
    Errors,
)
from surefoot.proposers import PolicyLeader
from surefoot.proposers.proposals import Proposals
from surefoot.rules import CertifiedOGD, Delayed
from surefoot.sets import Box

from ._lines import forge

BOX = Box([0.0, 0.0], [1.0, 1.0])


def degrees(t: int) -> float:
    return 20.0 + 9.0 * float(np.sin(t / 7.0)) + (6.0 if t % 11 == 0 else 0.0)


def heat(x: Array, c: float) -> tuple[float, Array]:
    return float(0.8 * x[0] ** 2 + 0.5 * x[1] ** 2 + 0.012 * (c - 20.0) - 0.4), np.array(
        [1.6 * x[0], x[1]]
    )


def warming(c: float) -> float:
    return 0.012 * (c - 20.0)


def hull(kind: Any = None, **more: Any) -> ContextHull:
    parts = {"G_g": 2.0, "domain": BOX, "start_bound": -0.1} | more
    return ContextHull(context=Column(G_c=0.012) if kind is None else kind, **parts)


def filtering(kind: Any = None, **more: Any) -> Certified:
    return Certified(proposer=Proposals(), knowledge=hull(kind, **more))


def measure(x: Array, t: int) -> dict[str, Any]:
    g, s = heat(x, degrees(t))
    assert g <= 0
    want = x + np.array([0.5, 0.8])
    return {"constraint_value": g, "constraint_subgradient": s, "proposal": want}


def play(controller: Controller, rounds: int, late: bool = False) -> list[Array]:
    actions = []
    for _ in range(rounds):
        t, x = controller.round, controller.ask()
        actions.append(x)
        told = {} if late else {"context": degrees(t + 1)}
        controller.tell(**measure(x, t), **told)
        if late:
            controller.announce(context=degrees(t + 1) + 3.0)  # a forecast, and what came of it
            controller.announce(context=degrees(t + 1))
    return actions


KINDS = [
    Column(adds=0.012),
    Column(G_c=0.012),
    Column(G_c=0.012, worse="up"),
    Columns([Column(G_c=0.012)], joint=True),
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_a_context_announced_late_and_anew_is_one_told_in_time(tmp_path, kind):
    early = Controller(filtering(kind), [0.0, 0.0], context=degrees(1))
    path = tmp_path / "late.jsonl"
    late = Controller(filtering(kind), [0.0, 0.0], journal=path)
    late.announce(context=degrees(1))
    for a, b in zip(play(early, 25), play(late, 25, late=True), strict=True):
        assert a.tobytes() == b.tobytes()
    assert early.state.x.tobytes() == late.state.x.tobytes()
    why = late.explain()
    assert why.is_proven
    assert "in the context" in str(why)
    late.close()
    assert replay(path).is_same
    again = Controller.open(path)
    assert again.round == 26
    assert again.ask().tobytes() == early.ask().tobytes()
    again.close()


def test_the_same_context_in_every_round_is_told_as_it_is():
    controller = Controller(filtering(Column(adds=0.012)), [0.0, 0.0], context=20.0)
    assert controller.state.memory.context.place.tolist() == [20.0]
    x = controller.ask()
    controller.tell(**measure(x, 1), context=30.0)
    # By hand: g(0) = -0.4 at 20 degrees, the box is left at 0, and 0.12 is what 10 degrees cost.
    step = controller.ask()
    assert np.linalg.norm(step) == pytest.approx((0.4 + warming(20.0) - 0.12) / 2.0, abs=0.05)
    assert controller.explain().bound <= 0


def test_no_action_before_its_context():
    controller = Controller(filtering(), [0.0, 0.0])
    with pytest.raises(InvalidValueError, match="round 1 has no action before its context"):
        controller.ask()
    controller.announce(context=degrees(1))
    x = controller.ask()
    controller.tell(**measure(x, 1))
    with pytest.raises(InvalidValueError, match="round 2 has no action before its context"):
        controller.ask()
    controller.announce(context=degrees(2))
    assert controller.explain().is_proven
    controller.ask()


def test_no_action_before_a_drift_that_is_announced():
    controller = Controller(filtering(AnnouncedDrift()), [0.0, 0.0])
    x = controller.ask()
    controller.tell(**measure(x, 1))
    with pytest.raises(InvalidValueError, match=r"drift until then is known: tell\(\.\.\., drift="):
        controller.ask()
    controller.announce(drift=0.01)
    assert controller.explain().is_proven


@pytest.mark.parametrize("is_held", [False, True])
def test_a_bound_on_the_start_is_not_one_on_what_somebody_else_played_first(is_held):
    # At 0.4 it was said to be -0.1 for ever: in the context 0.3 it is +0.2.
    known = ContextHull(G_g=1.0, reach=2.0, context=Column(adds=1.0), start_bound=-0.1)
    player = Certified(proposer=Proposals(), knowledge=known)
    controller = Controller(player, [0.0], context=0.0)
    if is_held:
        controller.hold("a look")
    controller.ask()
    read = {"constraint_value": -0.1, "constraint_subgradient": [1.0], "proposal": [0.4]}
    words = r"action must be the start until it was measured, .* got array\(\[0.4\]\)"
    with pytest.raises(InvalidValueError, match=words):
        controller.tell(**read, action=[0.4], context=0.3)
    assert controller.round == 1
    controller.tell(missing=True, context=0.3)
    assert controller.ask().tolist() == [0.0]


def test_an_announcement_asks_for_the_action_again():
    controller = Controller(filtering(), [0.0, 0.0], context=20.0)
    controller.ask()
    controller.announce(context=21.0)
    with pytest.raises(InvalidValueError, match="tell"):
        controller.tell(**measure(np.zeros(2), 1))


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"context": [20.0, 1.0]}, "context must be one number, one per column, got 2"),
        ({"context": float("nan")}, "context"),
        ({"context": "warm"}, "context must be a number"),
        ({"drift": 0.1}, "a context must be given to this player, got drift=0.1"),
        ({"drift": 0.1, "context": 20.0}, "drift must be given instead of a context"),
    ],
)
def test_bad_contexts_change_nothing(told, words):
    controller = Controller(filtering(), [0.0, 0.0], context=20.0)
    x = controller.ask()
    with pytest.raises(InvalidValueError, match=words):
        controller.tell(**measure(x, 1), **told)
    if "context" in told:
        controller.tell(**measure(x, 1), context=degrees(2))
        with pytest.raises(InvalidValueError, match=words):
            controller.announce(**told)
    assert controller.round in (1, 2)


def test_a_function_of_yours_that_fails_is_one_sentence_and_changes_nothing():
    fails = []

    def table(c: float) -> list[float]:
        return [1.0, warming(c) / (0.0 if fails else 1.0)]

    policies = PolicyLeader(radius=2.0, features=table)
    player = Certified(proposer=policies, knowledge=hull())
    controller = Controller(player, [0.0, 0.0], context=20.0)
    g, s = heat(controller.ask(), 20.0)
    told = {"cost_gradient": [-1.0, -1.0], "constraint_value": g, "constraint_subgradient": s}
    fails.append(True)
    words = "features must return numbers, got ZeroDivisionError: float division by zero"
    for tell in (
        lambda: controller.tell(**told, context=21.0),
        lambda: controller.announce(context=21.0),
    ):
        with pytest.raises(InvalidValueError, match=words):
            tell()
    fails.clear()
    controller.tell(**told, context=21.0)
    assert controller.round == 2


def test_features_may_have_another_length_until_the_first_round_is_told():
    many = [2]
    policies = PolicyLeader(radius=2.0, features=lambda c: [1.0] * many[0])
    player = Certified(proposer=policies, knowledge=hull(Column(adds=0.012)))
    controller = Controller(player, [0.0, 0.0], context=20.0)
    many[0] = 3
    controller.announce(context=21.0)
    g, s = heat(controller.ask(), 21.0)
    told = {"cost_gradient": [-1.0, -1.0], "constraint_value": g, "constraint_subgradient": s}
    controller.tell(**told, context=22.0)
    assert controller.explain().is_proven
    many[0] = 2
    with pytest.raises(InvalidValueError, match="features must be 3 numbers, as before, got 2"):
        controller.announce(context=22.0)


def test_players_without_contexts_refuse_them():
    player = LeaderFollower(G_g=1.0, domain=BOX)
    with pytest.raises(InvalidValueError, match="context must come with knowledge of contexts"):
        Controller(player, [0.1, 0.1], context=20.0)
    controller = Controller(player, [0.1, 0.1])
    with pytest.raises(InvalidValueError, match="context must come with knowledge of contexts"):
        controller.announce(context=20.0)


def test_wrappers_which_would_not_pass_a_context_on_refuse_one():
    with pytest.raises(InvalidValueError, match="Delayed must have a base without contexts"):
        Delayed(base=filtering(), delay=1)


def test_a_context_in_which_nothing_is_certified_is_refused(tmp_path):
    path = tmp_path / "run.jsonl"
    player = filtering(start_bound=None)
    controller = Controller(player, [0.0, 0.0], context=20.0, journal=path)
    told = measure(controller.ask(), 1)
    with pytest.raises(EmptyRegionError, match="feasible in every context: give a bound"):
        controller.tell(**told, context=90.0)
    assert controller.round == 1
    assert not controller.explain().is_proven
    controller.tell(**told)  # what was measured is not lost
    with pytest.raises(EmptyRegionError):
        controller.announce(context=90.0)
    controller.announce(context=22.0)
    assert controller.explain().is_proven
    controller.close()
    assert replay(path).is_same


@pytest.mark.parametrize("forecast", [None, 22.0])
def test_a_retreat_leads_to_the_start_where_nothing_is_certified(tmp_path, forecast):
    path = tmp_path / "run.jsonl"
    controller = Controller(filtering(start_bound=None), [0.1, 0.1], context=20.0, journal=path)
    controller.tell(**measure(controller.ask(), 1), context=forecast)
    with pytest.raises(EmptyRegionError):
        controller.announce(context=90.0)
    controller.retreat("too hot")
    assert not controller.explain().is_proven  # what is certified at 22 degrees says nothing of it
    controller.announce(context=90.0)
    assert controller.ask().tolist() == [0.1, 0.1]
    assert not controller.explain().is_proven
    assert controller.state.memory.context.place.tolist() == [90.0]
    controller.close()
    assert replay(path).is_same
    good, said = check(str(path))[:2]
    assert good
    assert said[1:] == ["not checked: round 2: the choice of this player is not judged"]


def test_what_is_read_where_nothing_was_certified_contradicts_nothing():
    controller = Controller(filtering(start_bound=None), [0.1, 0.1], context=20.0)
    controller.tell(**measure(controller.ask(), 1))
    controller.retreat("too hot")
    controller.announce(context=90.0)
    g, s = heat(controller.ask(), 90.0)
    controller.resume()
    seen = {"constraint_value": g, "constraint_subgradient": s, "proposal": [0.2, 0.2]}
    controller.tell(**seen, context=21.0)
    assert controller.explain().broken == ()
    assert controller.explain().is_proven


def test_after_a_contradiction_a_retreat_is_proved_by_a_bound_on_the_start_alone():
    for bound in (None, -0.1):
        controller = Controller(filtering(start_bound=bound), [0.1, 0.1], context=20.0)
        controller.tell(**measure(controller.ask(), 1), context=20.0)
        wrong = measure(controller.ask(), 1) | {"constraint_value": 0.3}
        with pytest.raises(PremiseError, match=r"is wrong \(by (round 1|the start)\)"):
            controller.tell(**wrong, context=21.0)
        controller.retreat("a look")
        assert controller.ask().tolist() == [0.1, 0.1]
        assert controller.explain().is_proven == (bound is not None)


def test_missing_rounds_holds_and_retreats_know_the_context(tmp_path):
    path = tmp_path / "run.jsonl"
    controller = Controller(filtering(), [0.0, 0.0], context=degrees(1), journal=path)
    play(controller, 10)
    for t in range(11, 22):
        x = controller.ask()
        assert heat(x, degrees(t))[0] <= 0
        controller.tell(missing=True, context=degrees(t + 1))
        assert controller.explain().is_proven
    controller.hold("a look at the cable")
    for t in range(22, 33):
        x = controller.ask()
        controller.tell(**measure(x, t), context=degrees(t + 1))
    controller.retreat("enough", speed=0.05)
    for t in range(33, 60):
        x = controller.ask()
        controller.tell(**measure(x, t), context=degrees(t + 1))
    assert controller.ask().tolist() == [0.0, 0.0]
    controller.resume()
    assert play(controller, 5)[-1].any()
    controller.close()
    assert replay(path).is_same
    again = Controller.open(path)
    again.close()


@pytest.mark.parametrize("knowledge", ["hull", "curvature"])
def test_the_start_measured_in_a_harsher_context_contradicts_nothing(knowledge):
    known = {
        "hull": hull(start_bound=None),
        "curvature": ContextCurvature(beta=1.6, domain=BOX, context=Column(adds=0.012)),
    }[knowledge]
    player = Certified(proposer=Proposals(), knowledge=known)
    controller = Controller(player, [0.0, 0.0], context=15.0, on_contradiction="hold")
    for now, then in ((15.0, 18.0), (18.0, 25.0), (25.0, 28.0), (28.0, 29.0)):
        if now == 25.0:
            controller.retreat("a look")
        g, s = heat(controller.ask(), now)
        told = {"constraint_value": g, "constraint_subgradient": s, "proposal": [0.1, 0.1]}
        controller.tell(**told, context=then)
        assert controller.explain().is_proven
    assert controller.explain().broken == ()


def test_a_new_player_begins_in_a_context_that_is_told_anew():
    controller = Controller(filtering(start_bound=None), [0.0, 0.0], context=degrees(1))
    play(controller, 5)
    controller.resume(
        filtering(Columns([Column(G_c=0.012)], joint=True)), reason="it is convex in both"
    )
    assert not controller.explain().is_proven  # what the start was is that of another context
    with pytest.raises(InvalidValueError, match="no action before its context"):
        controller.ask()
    controller.announce(context=degrees(6))
    assert play(controller, 5)[-1].any()


def test_told_drift_is_a_context():
    controller = Controller(filtering(AnnouncedDrift()), [0.0, 0.0])
    limit = 0.5
    for t in range(200):
        x = controller.ask()
        g = 0.6 * x[0] + 0.8 * x[1] - limit
        assert g <= 0
        drift = 0.05 if t % 20 == 0 else 0.002
        limit = np.clip(limit - np.sin(t) * drift, 0.2, 0.7)
        controller.tell(
            proposal=x + 1.0, constraint_value=g, constraint_subgradient=[0.6, 0.8], drift=drift
        )
    with pytest.raises(InvalidValueError, match="drift must be given to this player"):
        controller.announce(context=0.1)


def test_before_its_context_there_is_no_action_that_could_be_off_the_grid(tmp_path):
    path, grid = tmp_path / "run.jsonl", Choices(BOX.lower, BOX.upper, step=0.05)
    controller = Controller(filtering(domain=grid), [0.0, 0.0], context=20.0, journal=path)
    play(controller, 6)
    controller.retreat("slowly", speed=0.03)
    for t in (7, 8, 9):
        x = controller.ask()
        assert grid.contains(x)
        controller.tell(**measure(x, t))
        controller.announce(context=degrees(t + 1))
    controller.close()
    assert check(str(path)).said == ["certified: 8 of 9 rounds; the first is the start"]


def test_a_set_announced_before_the_context_is_that_of_the_action_after_it(tmp_path):
    path = tmp_path / "run.jsonl"
    controller = Controller(filtering(), [0.0, 0.0], context=20.0, journal=path)
    play(controller, 4)
    near = Box([0.0, 0.0], [0.1, 0.1])
    controller.tell(**measure(controller.ask(), 5), within=near)
    controller.announce(context=degrees(6))
    assert near.contains(controller.ask())
    controller.close()
    assert check(str(path)).said == ["certified: 4 of 5 rounds; the first is the start"]


def test_the_checker_knows_what_a_new_player_of_told_drift_begins_with(tmp_path):
    path = tmp_path / "run.jsonl"
    controller = Controller(filtering(AnnouncedDrift()), [0.0, 0.0], journal=path)
    for t in range(8):
        if t == 4:
            controller.resume(filtering(AnnouncedDrift(), G_g=1.9), reason="it is less steep")
        controller.tell(**measure(controller.ask(), 1), drift=0.01)
    controller.close()
    report = check(str(path))
    assert report.said == ["certified: 7 of 8 rounds; the first is the start"]
    assert ["G_g=2.0" in report.constants[0], "G_g=1.9" in report.constants[1]] == [True, True]
    assert report.constants[1].startswith("constants: from round 5: ")
    assert report.events == ("order: round 5: resumed with another player",)


@pytest.mark.slow
def test_leaders_and_policies_play_in_contexts_by_python(tmp_path):
    leader = LeaderFollower(G_g=2.0, domain=BOX, start_bound=-0.1, context=Column(adds=0.012))
    policies = Certified(
        proposer=PolicyLeader(radius=2.0, features=lambda c: [1.0, (c - 20.0) / 10.0]),
        knowledge=hull(Column(adds=0.012)),
    )
    bent = ContextCurvature(beta=1.6, domain=BOX, context=Column(adds=0.012))
    descent = CertifiedOGD(knowledge=bent, radius=1.5)
    for i, player in enumerate((leader, policies, descent)):
        path = tmp_path / f"{i}.jsonl"
        controller = Controller(player, [0.0, 0.0], context=degrees(1), journal=path)
        assert player.engine == "python"
        for t in range(1, 60):
            x = controller.ask()
            g, s = heat(x, degrees(t))
            assert g <= 0
            told = {"constraint_value": g, "constraint_subgradient": s}
            controller.tell(cost_gradient=[-1.0, -0.8], **told, context=degrees(t + 1))
        assert controller.explain().regret_bound is not None
        assert x.sum() > 0.8
        controller.close()
        left_out = player is policies
        given = {"proposer__features": policies.proposer.features} if left_out else {}
        assert replay(path, **given).is_same
        good, said = check(str(path))[:2]
        assert good
        assert ("not checked" in said[-1]) == (player is descent)


def tell_fleet(fleet: Fleet, late: bool = False) -> None:
    t, x = fleet.round, fleet.ask()
    told = [measure(one, t + i) for i, one in enumerate(x)]
    values = {name: [part[name] for part in told] for name in told[0]}
    after = [degrees(t + 1 + i) for i in range(len(x))]
    fleet.tell(**values, **({} if late else {"context": after}))
    if late:
        with pytest.raises(InvalidValueError, match=f"round {t + 1} has no action"):
            fleet.ask()
        fleet.announce(context=after)


def test_a_fleet_has_a_context_for_each_member(tmp_path):
    player, first = filtering(Column(adds=0.012)), [degrees(1), degrees(2)]
    fleet = Fleet(player, np.zeros((2, 2)), context=first, journal=tmp_path / "fleet")
    alone = [Controller(player, [0.0, 0.0], context=c) for c in first]
    for t in range(1, 15):
        tell_fleet(fleet, late=t % 3 == 0)
        for i, controller in enumerate(alone):
            controller.tell(**measure(controller.ask(), t + i), context=degrees(t + 1 + i))
    assert fleet.ask().tolist() == [controller.ask().tolist() for controller in alone]
    fleet.close()
    again = Fleet.open(tmp_path / "fleet")
    assert again.ask().tolist() == fleet.ask().tolist()
    again.tell(  # of the second nothing was measured
        proposal=np.ones((2, 2)),
        constraint_value=[heat(again.ask()[0], degrees(15))[0], np.nan],
        constraint_subgradient=np.ones((2, 2)),
        context=[20.0, 22.0],
    )
    assert all(again.explain(str(i)).is_proven for i in range(2))
    with pytest.raises(InvalidValueError, match="context must be a list of 2"):
        again.announce(context=[20.0])
    again.close()


def test_a_member_without_a_certified_action_does_not_stop_the_others(tmp_path):
    starts, path = np.full((2, 2), 0.1), tmp_path / "fleet.jsonl"
    player = filtering(start_bound=None)
    fleet = Fleet(player, starts, context=[20.0, 20.0], journal=path)
    x = fleet.ask()
    g, s = heat(x[0], 20.0)
    told = {"constraint_value": [g, g], "constraint_subgradient": [s, s]}
    fleet.tell(proposal=np.ones((2, 2)), **told, context=[21.0, 90.0])
    assert fleet.ask()[1].tolist() == [0.1, 0.1]
    assert [fleet.explain(str(i)).is_proven for i in range(2)] == [True, False]
    fleet.announce(context=[95.0, 95.0])
    assert fleet.ask().tolist() == starts.tolist()
    g, s = heat(fleet.ask()[0], 95.0)
    told = {"constraint_value": [g, g], "constraint_subgradient": [s, s]}
    fleet.tell(proposal=np.ones((2, 2)), **told, context=[96.0, 20.0])
    fleet.close()
    assert replay(path).is_same
    with Fleet.open(path) as again:
        assert again.ask().tolist() == fleet.ask().tolist()


def test_a_fleet_is_told_how_far_each_member_drifts(tmp_path):
    player, drifts = filtering(AnnouncedDrift()), ([0.01, 0.05], [0.0, 0.02], [0.03, 0.01])
    fleet = Fleet(player, np.zeros((2, 2)), journal=tmp_path / "fleet")
    alone = [Controller(player, [0.0, 0.0]) for _ in range(2)]
    for t, each in enumerate(drifts, start=1):
        told = [measure(one, 1) for one in fleet.ask()]
        values = {name: [part[name] for part in told] for name in told[0]}
        if t == 2:
            fleet.tell(**values)
            fleet.announce(drift=each)
        else:
            fleet.tell(**values, drift=each)
        for controller, drift in zip(alone, each, strict=True):
            controller.tell(**measure(controller.ask(), 1), drift=drift)
    assert fleet.ask().tolist() == [controller.ask().tolist() for controller in alone]
    for wrong, words in (
        ({"drift": [0.1]}, "drift must be a list of 2"),
        ({"context": [0.1, 0.1]}, "drift must be given to this player, got context=0.1"),
        ({"drift": [0.1, 0.1], "context": [0.1, 0.1]}, "drift must be given instead of a context"),
        ({}, "context must be given for each member"),
    ):
        with pytest.raises(InvalidValueError, match=words):
            fleet.announce(**wrong)
    fleet.close()
    again = Fleet.open(tmp_path / "fleet")
    assert again.ask().tolist() == fleet.ask().tolist()
    again.close()


def test_contexts_go_through_a_service():
    service = ControllerService(Controller(filtering(), [0.0, 0.0]))

    def answer(**request: Any) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(service.answer(json.dumps(request).encode()))
        return found

    assert "no action before its context" in answer(do="ask")["error"]
    assert answer(do="announce", context=20.0)["ok"]
    x = np.array(answer(do="ask")["action"])
    g, s = heat(x, 20.0)
    told = {"constraint_value": g, "constraint_subgradient": s.tolist(), "proposal": [1.0, 1.0]}
    assert answer(do="tell", **told, context=25.0)["ok"]
    assert answer(do="explain")["is_proven"]
    assert "context" in answer(do="announce", context="hot")["error"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, "drift"], ids=repr)
def test_the_checker_judges_contexts_in_rationals(tmp_path, kind):
    path = tmp_path / "run.jsonl"
    drifts = kind == "drift"
    player = filtering(AnnouncedDrift() if drifts else kind, errors=Errors(value=0.001))
    first = {} if drifts else {"context": degrees(1)}
    controller = Controller(player, [0.0, 0.0], journal=path, **first)
    if drifts:
        for t in range(1, 60):
            told = measure(controller.ask(), t)
            controller.tell(**told, drift=0.012 * abs(degrees(t + 1) - degrees(t)) + 1e-12)
    else:
        play(controller, 20)
        play(controller, 20, late=True)
        controller.tell(missing=True, context=(controller.ask(), degrees(42))[1])
        controller.hold("a look")
        play(controller, 5)
        controller.resume()
        play(controller, 12)
    controller.close()
    good, said = check(str(path))[:2]
    assert good, said
    rounds = 59 if drifts else 58
    assert said == [f"certified: {rounds - 1} of {rounds} rounds; the first is the start"]
    if not drifts:
        harsh = tmp_path / "harsh.jsonl"
        harsh.write_bytes(path.read_bytes())
        forge(harsh, lambda found: steepen(found[0]["player"]["knowledge"]["context"]))
        assert not check(str(harsh))[0]
    forge(path, lambda found: found[20]["next"].__setitem__(0, found[20]["next"][0] + 0.02))
    assert not check(str(path))[0]


def steepen(context: dict[str, Any]) -> None:
    context["columns"]["tuple"][0] |= {"adds": None, "G_c": 9.0, "worse": None}


KILLED = """
    import os, sys
    sys.path.insert(0, sys.argv[2])
    from tests.controller.test_context import Controller, degrees, filtering, play, signal
    controller = Controller(filtering(), [0.0, 0.0], context=degrees(1), journal=sys.argv[1])
    play(controller, 7)
    controller.announce(context=33.0)
    print(controller.ask().tobytes().hex(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_a_loop_that_is_killed_after_an_announcement_goes_on_from_it(tmp_path):
    path = tmp_path / "run.jsonl"
    here = str(Path(__file__).parents[2])
    script = [sys.executable, "-c", textwrap.dedent(KILLED), str(path), here]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    again = Controller.open(path)
    assert again.round == 8
    assert again.ask().tobytes().hex() == done.stdout.strip()
    assert again.state.memory.context.place.tolist() == [33.0]
    again.close()
    assert replay(path).is_same
