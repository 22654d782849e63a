"""A round whose context nobody knows: the start is played, and no reading of it counts."""

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from surefoot import Controller, replay
from surefoot.controller import Fleet
from surefoot.controller.check import check
from surefoot.core.errors import InvalidValueError
from surefoot.guarantees import PremiseWarning
from surefoot.knowledge import AnnouncedDrift, Column, ContextHull, EmptyRegionError, Errors
from surefoot.rules import LeaderFollower, RegionFilter
from surefoot.sets import Box

from ._lines import forge

V, SLACK = 0.02, 0.1
COLUMNS = (Column(adds=1.0, changes=0.5 * V), Column(G_c=0.25, worse="up", changes=V))
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


def contexts(rng, rounds):
    """Yield contexts, and levels of a limit, that come in and go out as fast as they may."""
    place, shift, way = np.zeros(2), 0.0, -1.0
    for _ in range(rounds):
        level = 0.4 - place[0] - 0.25 * place[1] - shift
        if rng.random() < (0.01 if SLACK + V < level < 0.5 else 0.1):
            way = -way
        yield place.copy(), level
        by = 0.999 * V * np.array([0.5, 1.0, 0.25]) * (rng.random(3) if rng.random() < 0.2 else 1.0)
        if SLACK <= level + way * V <= 0.8:
            place, shift = place - way * by[:2], shift - way * by[2]


def lose(loop, rng, rounds, ramp):
    """Play |x|/2 - level under a ramp, where contexts are lost for some rounds in a row.

    Returns:
        How many rounds between the start and the rest were played without a context.
    """
    before, is_lost, between = None, False, 0
    for t, (place, level) in enumerate(contexts(rng, rounds), start=1):
        is_lost = t > 1 and rng.random() < (0.7 if is_lost else 0.1)
        if rng.random() < 0.2:  # a forecast first, or nothing: the last one counts
            loop.announce(context=place - 0.4 * V * rng.random(2))
        if is_lost or (t > 1 and rng.random() < 0.1):
            loop.announce(unknown=True)
        if not is_lost:
            loop.announce(context=place)
        x, largest = loop.ask(), max(map(abs, map(Fraction, loop.ask().tolist())))
        assert t == 1 or loop.explain().is_proven
        assert largest / 2 <= Fraction(level)
        if before is not None:
            assert (np.abs(x - before) <= np.array(ramp) * (1 + 1e-12)).all()
        if is_lost or (t > 1 and rng.random() < 0.1):
            loop.tell(missing=True)
            between += bool(is_lost and x.any())
        else:
            proposal = rng.normal(size=2) * 10.0 ** rng.uniform(-1, 1)
            loop.tell(proposal=proposal, constraint_value=0.5 * float(np.abs(x).max()) - level)
        before = x
    return between


@pytest.mark.parametrize("ramp", [0.06, (0.08, 0.05)])
def test_under_a_ramp_the_way_to_the_start_is_proved(ramp, tmp_path):
    known = ContextHull(
        G_g=0.5,
        domain=Box([-4.0, -4.0], [4.0, 4.0]),
        start_bound=-SLACK,
        context=COLUMNS,
        errors=Errors(drift=0.25 * V),
    )
    player = RegionFilter(knowledge=known, ramp=ramp)
    between = 0
    for seed in range(2):
        path = tmp_path / f"{seed}.jsonl"
        with Controller(player, [0.0, 0.0], journal=path) as loop:
            between += lose(loop, np.random.default_rng(seed), 200, ramp)
        assert check(str(path)).said == ["certified: 200 of 200 rounds; the first is the start"]
        assert replay(path).is_same
    assert between > 20


def go_away(path, *, on_contradiction="raise"):
    """Return a loop at 0.3, a ramp of 0.1 away from 0.2; its limit is x - 0.5 + c."""
    player = RegionFilter(knowledge=replace(KNOWN, G_g=2.0), ramp=0.1)
    loop = Controller(player, [0.0], context=[0.0], journal=path, on_contradiction=on_contradiction)
    for t in range(3):
        x = float(loop.ask()[0])
        loop.tell(proposal=[0.3], constraint_value=x - 0.5, context=[0.0])
        assert loop.ask()[0] == pytest.approx(0.1 * (t + 1))
    return loop


def test_the_way_by_hand(tmp_path):
    # v = 0.1 and the start's slack is 0.3: from 0.3 to 0.2, then 0.1, the start, and on from there.
    path = tmp_path / "run.jsonl"
    alarms = []
    loop = go_away(path)
    loop.on_alarm = alarms.append
    loop.ask()
    loop.tell(proposal=[0.3], constraint_value=-0.2)
    for x, bound in ((0.2, -1 / 30), (0.1, -0.1), (0.0, -0.3), (0.0, -0.3)):
        loop.announce(unknown=True)
        assert loop.ask()[0] == pytest.approx(x)
        why = loop.explain()
        assert why.is_proven
        assert why.bound == pytest.approx(bound)
        loop.tell(missing=True)
    assert "the return path is taken" in alarms[0].sentence
    loop.announce(context=[0.2])
    assert loop.ask()[0] == 0.0
    loop.close()
    assert check(str(path)).said == ["certified: 7 of 8 rounds; the first is the start"]
    with Controller.open(path) as again:
        assert again.ask()[0] == 0.0
        again.tell(proposal=[0.3], constraint_value=-0.3, context=[0.2])
        assert again.ask()[0] == pytest.approx(0.1)
        assert again.explain().is_proven


def test_a_wrong_forecast_or_somebodys_action_proves_no_way(tmp_path):
    loop = go_away(tmp_path / "own.jsonl")
    loop.ask()
    loop.tell(missing=True, action=[0.45])
    loop.announce(unknown=True)
    assert loop.ask()[0] == pytest.approx(0.35)
    assert not loop.explain().is_proven
    loop.close()
    report = check(str(tmp_path / "own.jsonl"))
    assert report.is_right
    assert any("nothing is proved of it" in said for said in report.said)
    far = go_away(tmp_path / "far.jsonl")
    far.ask()
    far.tell(proposal=[0.3], constraint_value=-0.2)
    far.announce(context=[0.05])
    with pytest.raises(EmptyRegionError):
        far.announce(context=[0.9])  # so the action, of the forecast, is not certified
    with pytest.warns(PremiseWarning, match="that round was rejected"):
        far.ask()
    far.tell(missing=True)
    far.announce(unknown=True)
    assert not far.explain().is_proven


def test_after_a_contradiction_the_way_is_not_proved(tmp_path):
    loop = go_away(tmp_path / "run.jsonl", on_contradiction="record")
    loop.ask()
    loop.tell(proposal=[0.3], constraint_value=0.25, context=[0.0])
    loop.announce(unknown=True)
    assert loop.ask()[0] > 0.0
    assert not loop.explain().is_proven


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda line: line["next"].__setitem__(0, 0.21), "further from the last than the ramp|not"),
        (lambda line: line["certificate"].__setitem__("bound", -0.5), "claims a lower bound than"),
        (lambda line: line["certificate"].__setitem__("share", 0.4), "not where the share|certif"),
        (lambda line: line["certificate"].__setitem__("drift", 0.0), "has another drift than"),
        (lambda line: line.__setitem__("context", {"class": "Context"}), "place"),
    ],
)
def test_a_changed_way_is_not_certified(change, words, tmp_path):
    path = tmp_path / "run.jsonl"
    loop = go_away(path)
    loop.ask()
    loop.tell(proposal=[0.3], constraint_value=-0.2)
    loop.announce(unknown=True)
    loop.close()
    forge(path, lambda lines: change(next(x for x in lines if x["kind"] == "announce")))
    report = check(str(path))
    assert not report.is_right
    assert re.search(words, report.said[0]), report.said[0]


def test_a_step_of_the_context_that_is_too_large_is_found(tmp_path):
    path = tmp_path / "run.jsonl"
    loop = go_away(path, on_contradiction="record")
    loop.ask()
    loop.tell(proposal=[0.3], constraint_value=-0.2)
    for _ in range(3):
        loop.announce(unknown=True)
        loop.ask()
        loop.tell(missing=True)
    loop.announce(context=[-0.41])  # in four rounds at most 0.4
    loop.ask()
    loop.tell(proposal=[0.3], constraint_value=-0.91, context=[-0.4])
    words = "the context changed by 0.41 in 4 rounds, more than 4 times changes = 0.1"
    assert words in str(loop.explain())
    loop.close()
    assert "a context moved further than it changes" in check(str(path)).said[0]


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
