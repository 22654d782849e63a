"""A short piece of the attack on what else may be known, and that it finds what is wrong."""

import numpy as np
import pytest
from benchmarks import soak_basic, soak_context, soak_knowledge, soak_play, soak_unknown
from benchmarks.soak_knowledge import ATTACKS, attack
from benchmarks.soak_play import Tally
from tests._names import NAMES

from surefoot.certified import Certified
from surefoot.knowledge import (
    CertificateError,
    Choices,
    Errors,
    EstimatedCurvature,
    EstimatedHull,
    Knowledge,
    context_hull,
    curvature,
    hull,
    hull_of_log,
    region,
)
from surefoot.knowledge.choices import OnChoices
from surefoot.knowledge.curvature import QuadraticBounds
from surefoot.knowledge.estimate import UnknownConstant
from surefoot.rules import RegionFilter

FAR = ("certified length", "grid", "unknown", "slow plant")
ROUNDED = [kind for kind in ATTACKS if not kind.startswith(FAR)]
"""Kinds whose answers are as near to the limit as rounding; lengths and lags keep a margin, and
tests/rules/test_soak.py attacks their rounding."""


BASES = {Knowledge, QuadraticBounds, UnknownConstant}
"""What kinds of knowledge are derived from; nobody can play with them."""


class BegunError(Exception):
    """A player was about to begin."""


LOADED = NAMES  # a class is found once its file is loaded


def find_kinds(kind):
    """Return a knowledge class and all classes of the library below it."""
    below = [k for k in kind.__subclasses__() if k.__module__.startswith("surefoot.")]
    return {kind}.union(*map(find_kinds, below))


def test_every_kind_of_knowledge_is_attacked(monkeypatch):
    attacked = set()

    def begin(player, x1):
        knowledge = player.knowledge
        attacked.add(type(knowledge))
        if isinstance(knowledge, UnknownConstant):
            attacked.add(type(knowledge.known))  # the kind that its estimate is used for
        raise BegunError

    monkeypatch.setattr(Certified, "init", begin)
    for kind in ATTACKS:
        for number in range(20):
            with pytest.raises(BegunError):
                attack(kind, number)
    assert attacked == find_kinds(Knowledge) - BASES


@pytest.mark.slow
@pytest.mark.parametrize("kind", ATTACKS)
def test_no_action_of_any_knowledge_is_outside(kind):
    found = attack(kind, 0)
    assert found.actions >= soak_play.ROUNDS * soak_play.WISHES
    assert found.outside == 0
    assert -1e-8 < found.worst <= 0 or kind not in ROUNDED  # it came near the limit


@pytest.mark.parametrize("kind", ATTACKS)
def test_half_of_what_is_true_is_found_out_at_once(kind):
    assert any(attack(kind, number, factor=0.5).outside for number in range(4))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ATTACKS)
def test_one_hundredth_too_little_is_found_out(kind):
    assert any(attack(kind, number, factor=0.99).outside for number in range(20))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ROUNDED)
def test_without_the_margin_the_same_attack_finds_rounding(kind, monkeypatch):
    for module in (hull, hull_of_log, context_hull, curvature):
        monkeypatch.setattr(module, "UNIT", 0.0)
    for module in (soak_basic, soak_knowledge, soak_context):
        monkeypatch.setattr(module, "Errors", lambda **told: Errors(**(told | {"evaluation": 0.0})))
    # The last check before an action is played would stop some of them; here the margin is tested.
    monkeypatch.setattr(region.Region, "must_certify", lambda self, x, domain: None)
    tally = Tally()
    for number in range(20):
        if not tally.outside:
            tally = tally.plus(attack(kind, number))
    assert tally.outside
    assert tally.worst < 1e-12  # by nothing but rounding


@pytest.mark.slow
def test_the_budget_of_rule_u_is_used_up_where_it_is_tight(monkeypatch):
    monkeypatch.setattr(soak_unknown, "Kinks", soak_unknown.Cone)
    shares = [attack("unknown slopes", number).worst for number in range(4)]
    assert max(shares) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.slow
def test_a_guess_that_does_not_grow_is_above_the_budget(monkeypatch):
    def stand_still(knowledge, first, *proved):
        return knowledge.theta * first

    monkeypatch.setattr(EstimatedHull, "choose", stand_still)
    monkeypatch.setattr(EstimatedCurvature, "choose", stand_still)
    for kind in soak_unknown.ATTACKS:
        assert any(attack(kind, number).outside for number in range(8))


def test_a_step_that_is_too_long_is_found(monkeypatch):
    def too_quick(knowledge, ramp):
        return RegionFilter(knowledge=knowledge, ramp=(1.001 * np.array(ramp)).tolist())

    monkeypatch.setattr(soak_knowledge, "RegionFilter", too_quick)
    for kind in ("ramp", "ramp, drift"):
        assert any(attack(kind, number).outside for number in range(4))


def test_an_action_beside_the_grid_is_found(monkeypatch):
    monkeypatch.setattr(Choices, "around", lambda self, p, x: p[None])
    monkeypatch.setattr(OnChoices, "contains", lambda self, w: bool(self.part.contains(w)))
    with pytest.raises(CertificateError, match="OnChoices returned an action that is outside"):
        attack("grid", 0)


def test_an_action_that_stays_in_a_harsher_context_is_found(monkeypatch):
    monkeypatch.setattr(context_hull.ContextRegion, "stays", region.Region.stays)
    assert any(attack("grid in contexts", number).outside for number in range(4))


def test_an_attack_is_a_pure_function_of_its_number():
    assert attack("average", 3, 0.9) == attack("average", 3, 0.9)
    assert attack("average", 3, 0.9) != attack("average", 4, 0.9)


def test_a_soak_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    def good(kind, number, factor):
        return Tally(10, 160, 0, -1.0 / (1 + number))

    def bad(kind, number, factor):
        return Tally(10, 160, 2, 0.5)

    state = str(tmp_path / "state.json")

    def run(actions, attack, *words):
        monkeypatch.setattr(soak_knowledge, "attack", attack)
        words = ["soak", "--actions", actions, "--kinds", "grid", "ramp", "--state", state, *words]
        monkeypatch.setattr("sys.argv", words)
        return soak_knowledge.main(), capsys.readouterr().out.splitlines()

    reached = "2 limits, 20 rounds, 320 attacked actions, 0 outside, the worst g is -0.5"
    assert run("320", good) == (0, [f"grid: {reached}", f"ramp: {reached}"])
    reached = "4 limits, 40 rounds, 640 attacked actions, 0 outside, the worst g is -0.25"
    assert run("600", good) == (0, [f"grid: {reached}", f"ramp: {reached}"])
    assert run("9e9", good, "--seconds", "0") == (0, [f"grid: {reached}", f"ramp: {reached}"])
    assert run("640", bad, "--factor", "0.5")[0] == 1  # nothing was found
    status, said = run("641", bad)
    assert status == 1
    assert said[0].startswith("OUTSIDE: grid, attack 4: ")
    assert said[-1].endswith("800 attacked actions, 2 outside, the worst g is 0.5")
    assert run("641", bad, "--factor", "0.5")[0] == 0
