"""Readings that lag behind the action: hand-worked rounds, counterexamples, plants at the bound."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.controller._lines import forge, records

from surefoot import Ball, Controller, Feedback
from surefoot.certified import Certified
from surefoot.controller.check import check
from surefoot.knowledge import (
    AverageLimit,
    Choices,
    Column,
    ContextHull,
    Curvature,
    CurvatureRows,
    Errors,
    EstimatedHull,
    LipschitzHull,
    Response,
    Settling,
    Together,
)
from surefoot.knowledge.settling import SettlingMemory
from surefoot.proposers import Proposals
from surefoot.rules import (
    Averaged,
    CostProbing,
    Delayed,
    LeaderFollower,
    RegionFilter,
    ValuesFollower,
)
from surefoot.sets import Box

HALF = Response(time_constants=[1 / math.log(2)], round=1.0)
LINE = Box([0.0], [2.0])


def hull(domain=LINE, start_bound=None, **errors):
    return LipschitzHull(G_g=1.0, domain=domain, start_bound=start_bound, errors=Errors(**errors))


def line(slope, rounds, missing=()):
    """Return actions, readings, lags and levels where 2 is proposed, of g(x) = slope x - 1."""
    player = RegionFilter(knowledge=Settling(knowledge=hull(), response=HALF))
    state, y, found = player.init(np.zeros(1)), -1.0, []
    for t in range(1, rounds + 1):
        x = float(state.x[0])
        y = 0.5 * y + 0.5 * (slope * x - 1)
        seen = None if t in missing else y
        proposal = None if t in missing else np.array([2.0])
        state, _ = player.step(state, Feedback(constraint_value=seen, proposal=proposal))
        memory: SettlingMemory = state.memory
        found.append((x, y, memory.lag.error, memory.part.last.value, float(state.x[0])))
    return found


# --- worked by hand ------------------------------------------------------------------------------


def test_three_rounds_where_slopes_are_as_steep_as_they_may_be():
    exact = [(0, -1, 0, -1, 1), (1, -1 / 2, 1 / 2, 0, 1), (1, -1 / 4, 1 / 4, 0, 1)]
    assert np.allclose(line(1.0, 3), exact, atol=1e-12)


def test_three_rounds_where_slopes_are_half_as_steep():
    exact = [
        (0, -1, 0, -1, 1),
        (1, -3 / 4, 1 / 2, -1 / 4, 5 / 4),
        (5 / 4, -9 / 16, 3 / 8, -3 / 16, 23 / 16),
    ]
    assert np.allclose(line(0.5, 3), exact, atol=1e-12)


def test_a_round_that_was_missed_settles_all_the_same():
    assert line(1.0, 3, missing=(2,))[2][2] == pytest.approx(0.25)


def test_an_action_that_nobody_read_counts_as_a_move():
    knowledge = Settling(knowledge=hull(), response=HALF)
    player = RegionFilter(knowledge=knowledge)
    state = player.update(player.init(np.zeros(1)), Feedback(None, -1.0, proposal=np.zeros(1)))
    still = player.update(state, Feedback())
    moved = player.update(state, Feedback(action=np.array([0.5])))
    assert still.memory.lag.error == 0.0
    assert moved.memory.lag.error == pytest.approx(0.25)


# --- counterexamples: what a margin is for -------------------------------------------------------


def test_drift_that_shows_at_once_is_above_the_limit_without_its_margin():
    """Every g is 0, half of a step shows in a round, and q rises by 1/100 in each."""
    rho, v, seen, top = Fraction(1, 2), Fraction(1, 100), Fraction(0), Fraction(-1)
    between = Fraction(-1)
    for t in range(60):
        q, h = v * t, -v * t
        between = max(between, seen + q)  # the drift of the round has come, and nothing settled
        seen = rho * seen + (1 - rho) * h
        top = max(top, seen + q)
    assert top == pytest.approx(float(v * rho / (1 - rho)))
    later = HALF.total - HALF.first  # without the drift of the round itself
    assert float(top) <= 0.01 * later * (1 + 1e-9)
    assert float(between) > 0.01 * later * (1 + 1e-9)  # so that term is needed, too
    assert float(between) <= 0.01 * HALF.total


def test_two_modes_that_are_not_at_rest_rise_above_the_limit():
    slow, fast, shown = Fraction(1), Fraction(-3, 2), []
    for _ in range(3):
        slow = Fraction(9, 10) * slow - Fraction(1, 100)
        fast = Fraction(1, 10) * fast - Fraction(9, 100)
        shown.append(float((slow + fast) / 2))
    assert shown == pytest.approx([0.325, 0.3385, 0.30025])  # with g = -1/10 throughout


def test_the_first_action_must_be_the_start_where_the_plant_rests():
    loop = Controller(RegionFilter(knowledge=Settling(knowledge=hull(), response=HALF)), [0.5])
    loop.ask()
    for told in ({"missing": True}, {"constraint_value": -0.5, "proposal": [1.0]}):
        with pytest.raises(ValueError, match="because readings lag behind the action"):
            loop.tell(action=[0.4], **told)


# --- plants at their bound, and below it ---------------------------------------------------------


def attack(response, plant, rounds, seed, *, drift=0.0, noise=0.0, gaps=0.0, rule=None, **given):
    """Return the largest g and the largest y, and the share of the best action that was used.

    Args:
        response: what is given.
        plant: takes what g is at rest to what shows, round by round.
        rounds: how many.
        seed: of prices, errors and drift.
        drift: by which g moves, up for long.
        noise: of readings, at its bound.
        gaps: how often nothing is read.
        rule: makes the player; a LeaderFollower unless given.
        given: other arguments of the rule.
    """
    rng = np.random.default_rng(seed)
    a, room = rng.uniform(0.3, 0.8, 3), 0.6
    G_g = 2 * math.sqrt(float(a.max()) * (room + 0.2))
    if drift:
        given |= {"drift": drift, "start_bound": 0.2 - room}
    box = Box(np.zeros(3), np.ones(3))
    make = LeaderFollower if rule is None else rule
    player = make(G_g=G_g, domain=box, response=response, value_error=noise, **given)
    loop = Controller(player, np.zeros(3))
    q, largest, shown, used, best = 0.0, -9.0, -9.0, 0.0, 0.0
    show = plant(-room)
    for t in range(rounds):
        x = loop.ask()
        h = float(a @ x**2 - room)
        y = show(h, q)
        largest, shown = max(largest, h + q), max(shown, y)
        prices = np.array([1.0, 0.8, 0.6]) + 0.3 * rng.normal(size=3)
        used += prices @ x
        best += math.sqrt((room - q) * float((np.array([1.0, 0.8, 0.6]) ** 2 / a).sum()))
        if t and rng.random() < gaps:
            loop.tell(missing=True)
        else:
            slopes = {} if make is ValuesFollower else {"constraint_subgradient": 2 * a * x}
            reading = y + noise * (1 - 1e-9) * rng.choice([-1.0, -1.0, 1.0])
            loop.tell(cost_gradient=-prices, constraint_value=reading, **slopes)
        q = float(np.clip(q + drift * (1 if (t // 90) % 2 == 0 else -1), -0.2, 0.2))
    assert not loop.explain().broken
    return largest, shown, used / best


def modes(*pairs, at_once=False, dead=0, window=1):
    """Return a plant of modes, behind a delay and a mean of so many rounds."""

    def start(rest):
        parts = [rest] * len(pairs)
        before, means = [rest] * (dead + 1), [rest] * window

        def show(h, q):
            g = h if at_once else h + q
            before.append(g)
            before.pop(0)
            for i, (_, rho) in enumerate(pairs):
                parts[i] = rho * parts[i] + (1 - rho) * before[0]
            y = sum(w * part for (w, _), part in zip(pairs, parts, strict=True))
            means.append(y + (q if at_once else 0.0))
            means.pop(0)
            return sum(means) / window

        return show

    return start


TWO = ((0.6, 0.95), (0.4, 0.75))
SLOW = Response(
    time_constants=[-1 / math.log(0.95), -1 / math.log(0.75)], shares=[0.6, 0.4], round=1.0
)
PLANTS = {
    "at its bound": (SLOW, modes(*TWO), {}),
    "quicker": (SLOW, modes((0.5, 0.9), (0.5, 0.5)), {}),
    "noise": (SLOW, modes(*TWO), {"noise": 0.02}),
    "gaps": (SLOW, modes(*TWO), {"gaps": 0.2}),
    "a ramp": (SLOW, modes(*TWO), {"ramp": 0.05}),
    "drift through": (
        replace(SLOW, through=True),
        modes(*TWO),
        {"drift": 0.002},
    ),
    "drift at once": (SLOW, modes(*TWO, at_once=True), {"drift": 0.002}),
    "all at once": (
        SLOW,
        modes(*TWO, at_once=True),
        {"drift": 0.002, "ramp": 0.05, "noise": 0.02, "gaps": 0.2},
    ),
    "dead time": (
        replace(SLOW, dead_time=2.0, window=4.0),
        modes(*TWO, dead=2, window=4),
        {},
    ),
    "values only": (SLOW, modes(*TWO), {"rule": ValuesFollower, "noise": 0.01}),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_plant_keeps_its_limit_at_rest_and_on_the_way(name):
    response, plant, given = PLANTS[name]
    largest, shown, _ = attack(response, plant, 250, 11, **given)
    assert largest <= 0.0
    assert shown <= 0.0


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTS)
@pytest.mark.parametrize("seed", [200, 201, 202])
def test_a_plant_keeps_its_limit_for_long(name, seed):
    response, plant, given = PLANTS[name]
    largest, shown, used = attack(response, plant, 2_000, seed, **given)
    assert largest <= 0.0
    assert shown <= 0.0
    if name in ("at its bound", "noise", "gaps", "a ramp", "dead time"):
        assert used > 0.94


def test_without_the_response_the_same_plant_is_infeasible():
    with pytest.raises(Exception, match=r"exceeds G_g|above its certified"):
        attack(None, modes(*TWO), 250, 11)


def test_without_inertia_it_plays_what_its_part_plays():
    box = Box(np.zeros(3), np.ones(3))
    plain = LeaderFollower(G_g=1.4, domain=box, value_error=0.01)
    quick = LeaderFollower(G_g=1.4, domain=box, value_error=0.01, response=Response(round=1.0))
    rng, one, two = np.random.default_rng(5), plain.init(np.zeros(3)), quick.init(np.zeros(3))
    for _ in range(80):
        assert np.array_equal(one.x, two.x)
        x = one.x
        g, s = float(0.6 * x @ x - 0.5), 1.2 * x
        seen = Feedback(-rng.normal([1, 0.8, 0.6], 0.3), g + 0.01 * rng.uniform(-1, 1), s)
        one, two = plain.step_in_python(one, seen)[0], quick.update(two, seen)


def test_a_quick_limit_and_a_slow_one_are_kept_together():
    slow = Settling(knowledge=LipschitzHull(G_g=1.5, reach=2.0), response=SLOW)
    rows = Together(
        rows=(Curvature(beta=0.0, reach=2.0), slow), domain=Box(np.zeros(2), np.ones(2))
    )
    player = RegionFilter(knowledge=rows)
    state, show, rng = player.init(np.zeros(2)), modes(*TWO)(-0.6), np.random.default_rng(3)
    for _ in range(300):
        x = state.x
        amperes, heat = float(x.sum() - 1.1), float(0.7 * x @ x - 0.6)
        y = show(heat, 0.0)
        assert max(amperes, heat, y) <= 0.0
        seen = Feedback(
            None,
            np.array([amperes, y]),
            np.array([np.ones(2), 1.4 * x]),
            proposal=x + 0.1 * rng.normal([1.0, 0.6], 0.5),
        )
        state = player.update(state, seen)
    assert state.x.sum() > 0.8


# --- a live loop ---------------------------------------------------------------------------------


def run(loop, y, rounds, slope=1.0):
    """Play g(x) = slope x - 1, of which half of a step shows in a round; return the last y."""
    for _ in range(rounds):
        y = 0.5 * y + 0.5 * (slope * float(loop.ask()[0]) - 1)
        loop.tell(cost_gradient=[-1.0], constraint_value=y, constraint_subgradient=[slope])
    return y


def test_a_new_player_waits_at_its_start_until_the_plant_has_settled(tmp_path):
    player, path = LeaderFollower(G_g=1.0, domain=LINE, response=HALF), tmp_path / "run.jsonl"
    loop = Controller(player, [0.0], journal=path)
    y = run(loop, -1.0, 12)
    assert loop.ask()[0] > 0.99
    loop.resume(player, start=[0.0], reason="another one")
    y = run(loop, y, 1)
    assert loop.ask()[0] == 0.0  # a reading of -1/2 may still be of the action before
    assert loop.explain().is_proven is False
    loop.close()
    loop = Controller.open(path)
    y = run(loop, y, 12)
    assert loop.ask()[0] > 0.99
    loop.close()
    report = check(str(path))
    assert report.is_right, report.said
    assert int(report.said[0].split()[1]) >= 22


@pytest.mark.parametrize("policy", ["hold", "retreat"])
def test_after_a_contradiction_only_the_start_stands(policy):
    player = LeaderFollower(G_g=1.0, domain=LINE, response=HALF, start_bound=-0.9)
    loop = Controller(player, [0.0], on_contradiction=policy)
    y = run(loop, -1.0, 6)
    told = {"cost_gradient": [-1.0], "constraint_subgradient": [1.0]}
    loop.ask()
    with pytest.warns(Warning, match="slower than its response"):
        loop.tell(constraint_value=y + 0.8, **told)
    assert loop.ask()[0] == 0.0  # though the reading was below 0
    assert loop.explain().is_proven
    lag = loop.state.memory.lag.error
    loop.tell(constraint_value=-0.5, **told)
    assert loop.state.memory.lag.error > lag  # the way back is a move


def test_a_halted_loop_counts_what_its_meter_still_misses():
    loop = Controller(LeaderFollower(G_g=1.0, domain=LINE, response=HALF), [0.0])
    y = run(loop, -1.0, 8)
    loop.retreat("a storm")
    for _ in range(6):  # y is above what is certified of the start, and no contradiction
        y = 0.5 * y + 0.5 * (float(loop.ask()[0]) - 1)
        loop.tell(cost_gradient=[-1.0], constraint_value=y, constraint_subgradient=[1.0])
    assert not loop.explain().broken
    loop.resume()
    assert run(loop, y, 10) <= 0.0
    assert loop.ask()[0] > 0.9


def test_a_certified_action_of_somebody_else_is_no_violation():
    loop = Controller(LeaderFollower(G_g=1.0, domain=LINE, response=HALF), [0.0])
    run(loop, -1.0, 1)
    loop.ask()
    loop.tell(
        cost_gradient=[-1.0], constraint_value=-0.6, constraint_subgradient=[1.0], action=[0.8]
    )
    assert not any(b.constant == "anchor" for b in loop.explain().broken)
    assert "return" not in str(loop.explain().certificate)


# --- the checker ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    path = tmp_path_factory.mktemp("settling") / "run.jsonl"
    response = Response(
        time_constants=[6.0, 2.0], shares=[0.5, 0.5], dead_time=1.5, window=2.0, round=1.0
    )
    player = LeaderFollower(
        G_g=1.4,
        domain=Box(np.zeros(2), np.ones(2)),
        response=response,
        value_error=0.01,
        drift=1e-4,
        start_bound=-0.4,
    )
    rng = np.random.default_rng(4)
    with Controller(player, [0.0, 0.0], journal=path) as loop:
        for t in range(60):
            x = loop.ask()
            g = float(0.7 * x @ x - 0.5)  # which is what shows: this plant is quicker than given
            if t % 9 == 5:
                loop.tell(missing=True)
            else:
                loop.tell(
                    cost_gradient=-rng.normal([1.0, 0.6], 0.2),
                    constraint_value=g + 0.01 * rng.uniform(-0.9, 0.9),
                    constraint_subgradient=1.4 * x,
                )
    return path


def test_every_round_is_certified(journal):
    report = check(str(journal))
    assert report.said == ["certified: 59 of 60 rounds; the first is the start"]


def steps(found):
    return [r for r in found if r.get("certificate", {}).get("class") == "SettlingCertificate"]


def further(found):
    line = steps(found)[20]
    line["next"] = [line["next"][0] * (1 + 1e-6), line["next"][1]]
    del found[found.index(line) + 1 :]


FORGERIES = {
    "an action further out": further,
    "less lag": lambda found: steps(found)[20]["certificate"].update(lag=0.0),
    "no margin": lambda found: steps(found)[20]["certificate"].update(margin=0.0),
    "another bound": lambda found: steps(found)[20]["certificate"].update(bound=-0.3),
    "errors without the lag": lambda found: steps(found)[20]["certificate"]["part"][
        "errors"
    ].update(value=0.01),
    "a quicker plant": lambda found: found[0]["player"]["knowledge"]["response"].update(
        time_constants={"tuple": [1.0, 1.0]}
    ),
    "no shares": lambda found: found[0]["player"]["knowledge"]["response"].update(
        shares={"tuple": [0.1, 0.1]}
    ),
    "another part": lambda found: found[0]["player"]["knowledge"]["knowledge"].update(G_g=0.7),
    "a long table": lambda found: found[0]["player"]["knowledge"]["response"].update(window=1e300),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_every_forgery_is_found(what, journal, tmp_path):
    copy = tmp_path / "run.jsonl"
    copy.write_bytes(journal.read_bytes())
    forge(copy, FORGERIES[what])
    report = check(str(copy))
    assert report.code != 0
    assert not report.is_right, report.said
    assert len(records(copy)) > 1


# --- what is unsupported, in one sentence --------------------------------------------------------

PLAYER = LeaderFollower(G_g=1.0, domain=Ball(1.0), response=HALF)
REFUSED = {
    "a context": (
        lambda: LeaderFollower(
            G_g=1.0, domain=LINE, response=HALF, context=Column(adds=1.0), start_bound=-1.0
        ),
        "contexts act at once where the action does not",
    ),
    "an average": (
        lambda: Settling(knowledge=AverageLimit(G_g=1.0, domain=LINE, most=1.0), response=HALF),
        "its sum is of g at rest",
    ),
    "an unknown constant": (
        lambda: Settling(knowledge=EstimatedHull(domain=LINE), response=HALF),
        "the lag rests on the constant that is unknown",
    ),
    "another response": (
        lambda: Settling(knowledge=Settling(knowledge=hull(), response=HALF), response=HALF),
        "one Response may have several modes",
    ),
    "rows": (
        lambda: Settling(knowledge=CurvatureRows(beta=1.0, rows=2, reach=1.0), response=HALF),
        "every limit has a response of its own",
    ),
    "no G_g": (
        lambda: Settling(knowledge=Curvature(beta=1.0, reach=1.0), response=HALF),
        "without a G_g the response needs gains",
    ),
    "gains under drift": (
        lambda: Settling(
            knowledge=hull(drift=0.1),
            response=Response(time_constants=[2.0], gains=[1.0], round=1.0),
        ),
        "gains must be None under drift",
    ),
    "a start that drift may reach": (
        lambda: LeaderFollower(G_g=1.0, domain=LINE, response=HALF, drift=0.1, start_bound=-0.15),
        "start_bound must be below",
    ),
    "no response": (lambda: Settling(knowledge=hull(), response=3.0), "response must be Response"),
    "late copies": (lambda: Delayed(base=PLAYER, delay=1), "must have a base without a response"),
    "late": (
        lambda: Delayed(base=PLAYER, delay=1, copies=False),
        "must have a base without a response",
    ),
    "averages": (lambda: Averaged(base=PLAYER, sigma=0.1), "must have a base without a response"),
    "cost probes": (
        lambda: CostProbing(base=PLAYER, length=0.1),
        "must have a base without a response",
    ),
    "several rounds": (lambda: PLAYER.every(2), "the lag counts every action"),
    "a ramp under drift": (
        lambda: LeaderFollower(G_g=1.0, domain=LINE, response=HALF, drift=0.01, ramp=0.1),
        "start_bound must be given with a ramp under drift where readings lag",
    ),
    "choices under drift": (
        lambda: LeaderFollower(
            G_g=1.0, domain=Choices(0.0, [1.0], step=0.5), response=HALF, drift=0.01, ramp=0.5
        ),
        "ramp must be that of a LipschitzHull on a convex domain",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_unsupported_is_one_sentence(what):
    make, words = REFUSED[what]
    with pytest.raises(ValueError, match=words) as raised:
        make()
    assert "\n" not in str(raised.value)


def test_a_reading_that_is_late_is_refused_by_its_age():
    player = Certified(proposer=Proposals(), knowledge=Settling(knowledge=hull(), response=HALF))
    state = player.update(player.init(np.zeros(1)), Feedback(None, -1.0, proposal=np.zeros(1)))
    with pytest.raises(ValueError, match="give the response a dead_time instead"):
        player.step(state, Feedback(None, -1.0, proposal=np.zeros(1), age=1))


def test_contexts_of_rows_have_no_response():
    row = ContextHull(G_g=1.0, reach=1.0, context=Column(adds=1.0), start_bound=-0.5)
    with pytest.raises(ValueError, match="rows must all be in contexts"):
        Together(rows=(row, Settling(knowledge=hull(), response=HALF)), domain=LINE)
