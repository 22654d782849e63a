"""A little of what the second half of ``make soak`` does with a hundred thousand rounds."""

import importlib
import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[2])


@pytest.fixture
def hostile(monkeypatch):
    monkeypatch.setattr(sys, "path", [ROOT, *sys.path])
    return importlib.import_module("benchmarks.hostile")


@pytest.mark.slow
def test_no_hostile_caller_gets_an_action_outside(hostile):
    kinds = len(hostile.PLAYERS) * len(hostile.MANNERS) * 6
    found = [hostile.attack(n, played=12) for n in range(kinds)]
    assert [outcome for outcome in found if outcome.violations] == []
    assert max(outcome.worst for outcome in found) > -1e-3
    refused = sum(outcome.cramped for outcome in found)
    assert 0 < refused < 0.3 * sum(outcome.rounds for outcome in found)
