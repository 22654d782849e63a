"""Plants from files, drawn at random, with orders: none is outside, and every journal passes."""

from __future__ import annotations

import copy
import random
from collections import Counter
from itertools import pairwise
from math import ceil, log2

import numpy as np
import pytest

from surefoot.controller.check import check
from surefoot.controller.journal import seal
from tests.composition.plant_runs import ORDERS, play_fleet, play_plant
from tests.composition.plants import draw_scenario
from tests.composition.test_journals import numbers_at
from tests.controller._lines import records


def play_seeds(seeds, folder, *, short=1.0, rounds=40, orders=None, **fixed):
    """Return what became of plants; fail with all that was found."""
    outcomes = []
    for seed in seeds:
        scenario = draw_scenario(np.random.default_rng(seed), short=short, **fixed)
        own = folder / f"{seed}"
        own.mkdir()
        outcome = play_plant(scenario, seed, own, rounds=rounds, orders=orders)
        assert outcome.findings == [], seed
        outcomes.append((scenario, outcome))
    return outcomes


def within_theorem(scenario, outcome):
    """Fail where a plant is beyond what Theorem Recovery says of it."""
    k = scenario.plant.policy.recoveries
    assert outcome.contradictions <= min(k + 1, ceil(log2(scenario.short)))
    if not scenario.plant.has_ramp:
        assert len(outcome.beyond) <= outcome.contradictions
        assert all(later > earlier + 1 for earlier, later in pairwise(outcome.beyond))


def test_plants_from_files_keep_their_limits_and_their_journals_pass(tmp_path):
    outcomes = [outcome for _, outcome in play_seeds(range(24), tmp_path)]
    rounds = sum(outcome.rounds for outcome in outcomes)
    # A judge who judges nothing finds nothing: nearly all is proved, and certified.
    assert sum(outcome.proved for outcome in outcomes) > 0.95 * rounds
    unchecked = sum(len(outcome.report.said) - 1 for outcome in outcomes)
    assert unchecked < 0.05 * rounds
    given = sum((outcome.orders for outcome in outcomes), Counter())
    assert set(given) == set(ORDERS)


def test_without_orders_every_round_is_certified(tmp_path):
    for _, outcome in play_seeds(range(100, 112), tmp_path, rounds=25, orders=()):
        assert outcome.report.code == 0, outcome.report.said
        assert outcome.proved >= outcome.rounds - 1


@pytest.mark.parametrize("short", [2.0, 4.0, 16.0])
def test_plants_whose_estimates_are_too_small_recover(short, tmp_path):
    outcomes = play_seeds(range(8), tmp_path, short=short, recovers=True)
    for scenario, outcome in outcomes:
        within_theorem(scenario, outcome)
    assert sum(outcome.contradictions for _, outcome in outcomes) >= 4
    said = [outcome.report.said[0] for _, outcome in outcomes if outcome.contradictions]
    assert any("given the constants of each piece" in words for words in said)


@pytest.mark.parametrize("seed", range(3))
def test_fleets_of_three_machines_are_safe_and_their_journals_pass(seed, tmp_path):
    findings, report = play_fleet(np.random.default_rng(seed), tmp_path, rounds=40)
    assert findings == []
    assert report.is_right, report.said
    assert "of 3 members" in report.said[0]


@pytest.mark.slow
def test_more_plants_keep_their_limits_and_their_journals_pass(tmp_path):
    play_seeds(range(1_000, 1_150), tmp_path)
    for i, short in enumerate((2.0, 4.0, 16.0, 50.0)):
        seeds = range(2_000 + 50 * i, 2_050 + 50 * i)
        for scenario, outcome in play_seeds(seeds, tmp_path, short=short, recovers=True):
            within_theorem(scenario, outcome)


def plain_journal(folder, seed):
    """Return the journal of a plant, without orders and in one file."""
    for each in range(seed, seed + 50):
        scenario = draw_scenario(np.random.default_rng(each))
        own = folder / f"plain{each}"
        own.mkdir()
        outcome = play_plant(scenario, each, own, rounds=5, orders=())
        if outcome.report.code == 0 and not (own / "run.jsonl.2").exists():
            return own / "run.jsonl"
    raise AssertionError("no journal is certified as a whole")


def changed(found, way, size, path):
    """Return what the checker says of a journal in which one number is another."""
    found = copy.deepcopy(found)
    node = found
    for name in way[:-1]:
        node = node[name]
    old = node[way[-1]]
    node[way[-1]] = old + size if type(old) is int else old * (1 + size) or size
    digest, data = "", b""
    for record in found:
        line, digest = seal(digest, record)
        data += line
    path.write_bytes(data)
    return check(str(path))


@pytest.mark.parametrize("seed", range(0, 300, 50))
def test_no_number_of_a_plant_is_changed_unnoticed(seed, tmp_path):
    path = plain_journal(tmp_path, seed)
    whole, other = check(str(path)), tmp_path / "changed"
    found = [{n: v for n, v in r.items() if n != "digest"} for r in records(path)]
    ways = list(numbers_at(found[0]["plant"], (0, "plant")))
    ways += numbers_at(found[0]["player"]["knowledge"], (0, "player", "knowledge"))
    ways += numbers_at(found[0]["start"], (0, "start"))
    for i, line in enumerate(found):
        if line["kind"] == "round":
            if isinstance(line["constraint_value"], list) or len(line["readings"]) == 1:
                ways += numbers_at(line["readings"], (i, "readings"))
            ways += numbers_at(line["constraint_value"], (i, "constraint_value"))
            ways += numbers_at(line["next"], (i, "next"))
    drawn = random.Random(seed).sample(ways, min(50, len(ways)))
    for way in drawn:
        for size in (-1, 1) if way[-1] in ("left", "recoveries") else (-0.01, 0.01):
            report = changed(found, way, size, other)
            is_named = report.constants != whole.constants
            assert is_named or report.code != 0, (way, size)
