"""Recoveries of plants in a live loop: as often as Theorem Recovery says, and no more often."""

import contextlib
import logging
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.composition.plant_runs import play_plant
from tests.composition.plants import draw_scenario
from tests.controller.plants import hall, hall_at

from surefoot import replay
from surefoot.controller import Plant, machine
from surefoot.controller.check import check
from surefoot.problems.plant import (
    ActuatorDescription,
    ContextDescription,
    LimitDescription,
    PlantConstant,
    PlantDescription,
    PolicyDescription,
    RiseDescription,
    write_plant,
)

C = PlantConstant


def toy(G_c=1.0, G=1.0, *, k=6, role="filter", error=1e-4, ramp=None, margin=0.35):
    """Return a plant of one number x, of which x + c is at most 0.2; both constants are 1."""
    limit = LimitDescription(
        "load",
        "kW",
        0.2,
        "at_most",
        C(error),
        C(margin),
        steepness={"x": C(G, "estimated")},
        rise={"c": RiseDescription(per=C(G_c, "estimated"))},
    )
    return PlantDescription(
        "toy",
        1.0,
        (ActuatorDescription("x", "kW", -1.0, 1.0, start=-0.9, ramp=ramp),),
        (limit,),
        (ContextDescription("c", "kW", -1.0, 1.0, changes=0.1),),
        role=role,
        policy=PolicyDescription("recover", k, "retreat"),
    )


class Toy:
    """The toy in a loop, and what came of it.

    Attributes:
        beyond: the rounds beyond the limit by more than twice the meter's error.
        contradictions: the rounds in which one was noticed.
    """

    def __init__(self, plant, *, noise=0.0, journal=None):
        self.noise, self.rng = noise, np.random.default_rng(0)
        self.beyond, self.contradictions, self.sum = [], [], 0.0
        self.plant = Plant.of(plant, journal=journal, on_alarm=self.hear)
        self.plant.announce({"c": self.context(1)})

    def hear(self, alarm):
        if alarm.kind == "contradiction" and alarm.level >= logging.ERROR:
            self.contradictions.append(alarm.round)

    @staticmethod
    def context(t):
        return 0.4 * math.sin((t - 1) / 15)

    def play(self, rounds):
        """Play some rounds, and close the journal."""
        for _ in range(rounds):
            t = self.plant.round
            x = self.plant.ask()["x"]
            load = x + self.context(t)
            error = self.plant.description.limits[0].meter_error.value
            self.beyond += [t] if load > 0.2 + 2 * error else []
            self.sum += x
            told = {"wanted": {"x": 1.0}}
            if self.plant.description.role == "learner":
                told = {"cost_slopes": {"x": -1.0}}
            read = {"load": load + self.noise * self.rng.uniform(-1, 1)}
            self.plant.tell(readings=read, context={"c": self.context(t + 1)}, **told)
        return self


@pytest.fixture
def plain_doubling(monkeypatch):
    """Recoveries that read nothing from their readings."""
    monkeypatch.setattr(machine, "next_factor", lambda plant, factor, readings: 2.0 * factor)


# --- the theorem ---------------------------------------------------------------------------------

TABLE = {
    "right": ({}, 0),
    "G_c 0.3": ({"G_c": 0.3}, 2),
    "G_c 0.05": ({"G_c": 0.05}, 5),
    "G_c 0.01": ({"G_c": 0.01}, 7),
    "G 0.5": ({"G": 0.5}, 1),
    "G 0.1": ({"G": 0.1}, 4),
    "G_c 0.05, k = 2": ({"G_c": 0.05, "k": 2}, 3),
}
"""What is told of what is 1, and how many contradictions there may be: ceil(log2(1/told))."""


@pytest.mark.parametrize("role", ["filter", "learner"])
@pytest.mark.parametrize("name", TABLE)
def test_doubled_there_are_as_many_contradictions_as_the_theorem_allows(name, role, plain_doubling):
    told, allowed = TABLE[name]
    run = Toy(toy(role=role, **told)).play(400)
    assert len(run.contradictions) == allowed
    assert len(run.beyond) <= allowed
    assert set(run.beyond) <= set(run.contradictions)
    assert all(later > earlier + 1 for earlier, later in pairwise(run.beyond))
    # The k + 1st leaves the plant at its start for ever.
    is_over = allowed > run.plant.description.policy.recoveries
    assert (run.plant.halted is not None) is is_over
    assert run.plant.ask()["x"] == -0.9 if is_over else run.plant.ask()["x"] > -0.9


@pytest.mark.parametrize("role", ["filter", "learner"])
@pytest.mark.parametrize("name", TABLE)
def test_what_readings_prove_saves_contradictions(name, role):
    told, allowed = TABLE[name]
    run = Toy(toy(role=role, **told)).play(400)
    assert len(run.contradictions) <= allowed
    assert set(run.beyond) <= set(run.contradictions)
    true = 1.0 / min(told.get("G_c", 1.0), told.get("G", 1.0))
    assert run.plant.factor <= 2 * true  # no reading proves more than is true
    if name == "G 0.1":
        assert len(run.contradictions) == 1


def test_a_meter_that_errs_counts_rounds_beyond_twice_its_error():
    for role in ("filter", "learner"):
        run = Toy(toy(0.05, error=0.02, role=role), noise=0.02).play(400)
        assert len(run.contradictions) <= 5
        assert set(run.beyond) <= set(run.contradictions)


@pytest.mark.parametrize("told", [{"G_c": 0.3}, {"G_c": 0.05}, {"G": 0.1}])
def test_with_a_ramp_as_many_rounds_follow_as_lead_to_the_start(told, tmp_path):
    path = tmp_path / "run"
    run = Toy(toy(ramp=0.2, **told), journal=path).play(400)
    run.plant.close()
    true = 1.0 / min(told.values())
    assert 1 <= len(run.contradictions) <= math.ceil(math.log2(true))
    rounds = math.ceil(1.9 / 0.2)  # from the farthest action
    for t in run.beyond:
        assert any(0 <= t - since <= rounds for since in run.contradictions)
    assert check(str(path)).is_right
    assert replay(path).is_same


def play_short(seed, folder):
    """A plant whose constants are up to 50 times too small: it, by how much, and the outcome."""
    rng = np.random.default_rng([seed, 3])
    short = float(np.exp(rng.uniform(0.0, np.log(50.0))))
    scenario = draw_scenario(rng, short=short, recovers=True)
    folder.mkdir()
    return scenario, short, play_plant(scenario, seed, folder, rounds=60, orders=())


def test_a_reading_above_what_was_certified_is_noticed_though_another_search_certifies_less(
    tmp_path,
):
    # A certificate rests on one reading, and the same region asked again would name another one.
    _, _, outcome = play_short(26, tmp_path / "26")
    assert outcome.findings == []
    assert outcome.contradictions == 1


def test_what_the_checker_alone_has_noticed_leaves_rounds_unchecked_and_blames_none(tmp_path):
    # With all readings it certifies more than the player, and sees that a constant is wrong. What
    # the player certified of that action still counts for the player.
    rng = np.random.default_rng([9029, 11])
    short = float(np.exp(rng.uniform(0.0, np.log(50.0))))
    scenario = draw_scenario(rng, short=short, recovers=True)
    orders = ("hold", "retreat", "announce again", "context unknown")
    orders += ("own action", "missing", "no reading")
    outcome = play_plant(scenario, 9029, tmp_path, rounds=60, orders=orders, often=0.4, far=True)
    assert outcome.findings == []
    words = "round 36 refuted the constants, and the journal does not say so"
    assert outcome.report.said[2] == f"not checked: round 38: {words}"


@pytest.mark.parametrize("seeds", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_no_plant_is_beyond_its_own_bound(seeds, tmp_path):
    contradictions = 0
    for seed in range(seeds):
        scenario, short, outcome = play_short(seed, tmp_path / f"{seed}")
        assert outcome.findings == [], seed
        allowed = min(scenario.plant.policy.recoveries + 1, math.ceil(math.log2(short)))
        assert outcome.contradictions <= allowed, seed
        if not scenario.plant.has_ramp:
            assert len(outcome.beyond) <= outcome.contradictions, seed
        contradictions += outcome.contradictions
    assert contradictions > seeds / 4  # else nothing was looked at


def test_a_context_that_jumps_is_named_and_uses_a_recovery_up():
    # No factor enlarges how fast a context changes, so that this is a premise of the theorem.
    alarms = []
    policy = PolicyDescription("recover", 3, "retreat")
    plant = Plant.of(hall(ramp=4.0, policy=policy), on_alarm=alarms.append)
    context = {"outside": 10.0, "load": 0.9}
    plant.announce(context)
    for t in range(1, 24):
        points = plant.ask()
        told = {"readings": hall_at(points, context), "wanted": {"fan1": 30.0, "fan2": 30.0}}
        context = {**context, "outside": 10.0 if t < 12 else 12.0}
        plant.tell(**told, context=context)
    (first,) = [alarm.sentence for alarm in alarms if alarm.kind == "contradiction"]
    words = "outside changed by 2 in one round, more than changes = 0.5 degC a round"
    assert first == f"round 13: {words}"
    assert plant.recoveries_left == 2
    assert plant.halted is None


# --- where it does not recover -------------------------------------------------------------------


def test_a_start_that_is_refuted_halts_without_recovery(tmp_path):
    # It is told to be 1 kW below its limit in every context, and is read 0.8 kW below.
    path = tmp_path / "run"
    with Plant.of(toy(0.3, margin=1.0), journal=path) as loop:
        loop.announce({"c": 0.0})
        for _ in range(30):
            x = loop.ask()["x"]
            loop.tell(readings={"load": x + 0.3}, wanted={"x": 1.0}, context={"c": 0.0})
        assert loop.recoveries_left == 6
        assert loop.halted is not None
        assert loop.ask() == {"x": -0.9}
        assert not loop.explain().is_proven
        with pytest.raises(ValueError, match="resume must"):
            loop.resume("nobody looked")
    report = check(str(path))
    assert report.is_right
    assert report.code == 3  # what is known of the start was refuted: nothing is certified there
    assert "refuted: round 1 refuted the constants in use from round 1 on" in report.events


def test_a_plant_that_retreats_goes_on_by_an_amendment_alone(tmp_path):
    described = toy(0.05)
    retreats = replace(described, policy=PolicyDescription("retreat", 0, "retreat"))
    run = Toy(retreats, journal=tmp_path / "run").play(60)
    assert len(run.contradictions) == 1
    assert run.plant.ask() == {"x": -0.9}
    for _ in range(2):  # also after an order, which ends alone
        with pytest.raises(ValueError, match="resume must follow an amendment"):
            run.plant.resume("nobody looked")
        run.plant.retreat("to look")
        run.plant.resume("seen")
    right = replace(toy(1.0), policy=retreats.policy)
    run.plant.amend(right, by="E. Moser", reason="measured anew")
    run.play(30)
    assert run.plant.halted is None
    run.plant.close()
    assert check(str(tmp_path / "run")).is_right


def test_an_order_is_not_ended_by_a_recovery(tmp_path, plain_doubling):
    run = Toy(toy(0.05), journal=tmp_path / "run").play(4)
    left, before = run.plant.recoveries_left, len(run.contradictions)
    run.plant.hold("a look")
    run.play(60)  # in contexts what is held rests on constants, which these readings contradict
    assert len(run.contradictions) == before + 1
    assert run.plant.halted == "a look"
    assert run.plant.recoveries_left == left
    assert run.plant.ask() == {"x": -0.9}
    run.plant.resume("seen")
    run.play(60)
    assert run.plant.halted is None
    assert run.plant.recoveries_left < left
    run.plant.close()
    assert check(str(tmp_path / "run")).code == 0


# --- what survives -------------------------------------------------------------------------------


def test_what_is_left_and_the_factor_survive_a_restart(tmp_path, plain_doubling):
    path, journal = tmp_path / "toy.toml", tmp_path / "run.jsonl"
    write_plant(replace(toy(0.05), journal="run.jsonl"), path)
    run = Toy(toy(0.05), journal=journal)
    reopened = 0
    for _ in range(40):
        run.play(10)
        before = run.plant.factor, run.plant.recoveries_left, run.plant.ask(), run.plant.halted
        run.plant.close()
        run.plant = Plant.open(path, on_alarm=run.hear)
        assert (run.plant.factor, run.plant.recoveries_left, run.plant.ask()) == before[:3]
        assert run.plant.halted == before[3]
        reopened += run.plant.factor > 1.0
    assert len(run.contradictions) == 5
    assert run.plant.recoveries_left == 1
    assert reopened > 5
    run.plant.close()
    assert check(str(journal)).code == 0
    assert replay(journal).is_same


def test_a_kill_before_the_amendment_recovers_when_it_is_opened(tmp_path):
    path, journal = tmp_path / "toy.toml", tmp_path / "run.jsonl"
    write_plant(replace(toy(0.3), journal="run.jsonl"), path)
    run = Toy(toy(0.3), journal=journal).play(60)
    run.plant.close()
    lines = journal.read_bytes().splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if b'"kind":"amend"' in line)
    for cut in (0, 40):  # between two lines, and within the second
        journal.write_bytes(b"".join(lines[:first]) + lines[first][:cut])
        torn = pytest.warns(UserWarning, match="was being written")
        with torn if cut else contextlib.nullcontext():
            plant = Plant.open(path)
        assert plant.recoveries_left == 6
        assert plant.ask() == {"x": -0.9}  # asked for, it has recovered
        assert (plant.recoveries_left, plant.factor, plant.halted) == (5, 2.0, None)
        run.plant = plant
        run.play(60)
        assert plant.ask()["x"] > -0.9
        plant.close()
        assert check(str(journal)).code == 0
        assert replay(journal).is_same
