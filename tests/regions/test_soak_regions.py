"""A short piece of the attack on all regions that ``make soak`` goes on with."""

import importlib.util
from pathlib import Path

import pytest

from surefoot.regions import _ball, curvature_hull, hull

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "soak_regions.py"
SPEC = importlib.util.spec_from_file_location("script_soak_regions", SCRIPT)
soak = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(soak)

ALL = len(soak.KINDS) * len(soak.ADVERSARIES)


@pytest.mark.slow
def test_no_action_of_any_region_is_above_zero():
    found = [soak.attack(n, played=30, runs=24) for n in range(ALL)]
    assert [outcome for outcome in found if outcome.violations] == []
    assert max(outcome.worst for outcome in found) > -1e-9  # it came as close as the margin lets it
    assert sum(o.stayed for o in found) < 0.1 * sum(o.rounds for o in found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ball", "half-spaces", "balls", "curvature hull"])
def test_without_the_margin_the_same_attack_finds_violations(kind, monkeypatch):
    # One run at a time finds fewer: more attacks.
    many = (40 if kind in soak.LIVE else 4) * ALL
    numbers = [n for n in range(many) if soak.KINDS[n % len(soak.KINDS)] == kind]

    def violations():
        return any(soak.attack(n, played=40, runs=40).violations for n in numbers)

    monkeypatch.setattr(soak, "_error", lambda constraint, ball: 0.0)
    for module in (_ball, curvature_hull, hull):
        monkeypatch.setattr(module, "_UNIT", 0.0)
    assert violations()
