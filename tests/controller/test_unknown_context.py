"""A round whose context nobody knows: the start is played, and no reading of it counts."""

from itertools import pairwise

import numpy as np
import pytest

from surefoot import Controller, replay
from surefoot.controller import Fleet
from surefoot.controller.check import check
from surefoot.core.errors import InvalidValueError
from surefoot.knowledge import AnnouncedDrift, Column, ContextHull
from surefoot.rules import LeaderFollower, RegionFilter
from surefoot.sets import Box

BOX = Box([0.0], [2.0])
KNOWN = ContextHull(G_g=1.0, domain=BOX, start_bound=-0.3, context=Column(adds=1.0, changes=0.1))
LOST = (7, 8, 15)  # the rounds after which the context is lost


def drive(loop, rounds, *, lost=LOST):
    """Play x - 0.5 + c <= 0; return the values of g that were played."""
    c, values = 0.0, []
    for t in range(1, rounds + 1):
        x = loop.ask()
        g = float(x[0] - 0.5 + c)
        values.append(g)
        c = 0.1 * np.sin(0.3 * t)
        context = {} if t in lost else {"context": [c]}
        if t - 1 in lost:
            loop.tell(missing=True, readings=[g], **context)
        else:
            loop.tell(proposal=[2.0], constraint_value=g, readings=[g], **context)
        if t in lost:
            loop.announce(unknown=True)
            assert loop.explain().is_proven
            assert "unknown" in str(loop.explain())
            assert loop.ask()[0] == 0.0
    return values


def test_the_start_is_played_and_proved_and_the_loop_goes_on(tmp_path):
    path = tmp_path / "run.jsonl"
    alarms = []
    with Controller(
        RegionFilter(knowledge=KNOWN), [0.0], context=[0.0], journal=path, on_alarm=alarms.append
    ) as loop:
        values = drive(loop, 30)
    assert max(values) <= 0.0
    assert values[LOST[0]] < -0.3 < values[LOST[1] + 3]
    assert [alarm.round for alarm in alarms if alarm.kind == "context"] == [t + 1 for t in LOST]
    assert replay(path).is_same
    report = check(str(path))
    assert report.is_right
    assert report.said == ["certified: 29 of 30 rounds; the first is the start"]
    with Controller.open(path) as again:
        np.testing.assert_array_equal(again.ask(), loop.ask())


def test_what_a_context_changed_by_over_an_unknown_one_is_no_contradiction(tmp_path):
    # From the round before the unknown one to that after it lie twice the changes of a round.
    player, path = RegionFilter(knowledge=KNOWN, ramp=0.2), tmp_path / "run.jsonl"
    contexts = [0.0, 0.05, 0.0, -0.1, -0.2, -0.3, -0.4, -0.5, -0.4, -0.35]
    with Controller(player, [0.0], context=[contexts[0]], journal=path) as loop:
        for c, after in pairwise(contexts):
            x = loop.ask()
            g = float(x[0] - 0.5 + c)
            assert g <= 0
            if c == -0.3:
                loop.tell(missing=True, context=[after])
            else:
                loop.tell(proposal=[2.0], constraint_value=g)
                loop.announce(**({"unknown": True} if after == -0.3 else {"context": [after]}))
        assert loop.explain().is_proven
    assert check(str(path)).is_right
    assert replay(path).is_same


def test_a_reading_in_an_unknown_context_is_rejected():
    loop = Controller(RegionFilter(knowledge=KNOWN), [0.0], context=[0.0])
    loop.ask()
    loop.tell(proposal=[2.0], constraint_value=-0.5)
    loop.announce(unknown=True)
    loop.ask()
    with pytest.raises(InvalidValueError, match="missing must be True in a round whose context"):
        loop.tell(proposal=[2.0], constraint_value=-0.5, context=[0.0])
    loop.tell(missing=True, context=[0.05])
    assert loop.explain().is_proven


def test_a_context_may_still_come():
    loop = Controller(RegionFilter(knowledge=KNOWN), [0.0], context=[0.0])
    loop.ask()
    loop.tell(proposal=[2.0], constraint_value=-0.5)
    loop.announce(unknown=True)
    loop.announce(context=[-0.1])
    assert loop.ask()[0] == pytest.approx(0.6)
    loop.tell(proposal=[2.0], constraint_value=-0.0001, context=[0.0])


@pytest.mark.parametrize(
    ("knowledge", "words"),
    [
        (ContextHull(G_g=1.0, domain=BOX, context=Column(adds=1.0)), "without a start_bound"),
        (ContextHull(G_g=1.0, domain=BOX, context=AnnouncedDrift()), "for a drift"),
    ],
)
def test_without_a_bound_at_the_start_it_is_unsupported(knowledge, words):
    loop = Controller(RegionFilter(knowledge=knowledge), [0.0])
    with pytest.raises(InvalidValueError, match=words):
        loop.announce(unknown=True)


def test_beside_a_context_and_without_contexts_it_is_rejected():
    loop = Controller(RegionFilter(knowledge=KNOWN), [0.0], context=[0.0])
    with pytest.raises(InvalidValueError, match="unknown must be False beside a context"):
        loop.announce(context=[0.0], unknown=True)
    plain = Controller(LeaderFollower(G_g=1.0, domain=BOX), [0.0])
    with pytest.raises(InvalidValueError, match="unknown must be False without contexts"):
        plain.announce(unknown=True)


def test_a_member_of_a_fleet_may_lose_its_context_alone(tmp_path):
    player = RegionFilter(knowledge=KNOWN)
    fleet = Fleet(
        player,
        {"a": [0.0], "b": [0.0]},
        context=[[0.0], [0.0]],
        journal=tmp_path / "fleet.jsonl",
    )
    fleet.ask()
    fleet.tell(proposal=[[2.0], [2.0]], constraint_value=[-0.5, -0.5], readings=[[1.0], [np.nan]])
    fleet.announce(context=[[0.1]], members=["a"])
    fleet.announce(unknown=True, members=["b"])
    assert fleet.ask()[1, 0] == 0.0
    assert fleet.ask()[0, 0] == pytest.approx(0.4)
    fleet.tell(
        proposal=[[2.0], [2.0]],
        constraint_value=[-0.0001, np.nan],
        context=[[0.0], [0.0]],
    )
    fleet.close()
    assert check(str(tmp_path / "fleet.jsonl")).is_right
    with Fleet.open(tmp_path / "fleet.jsonl") as again:
        np.testing.assert_array_equal(again.ask(), fleet.ask())
