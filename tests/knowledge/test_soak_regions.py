"""A short piece of the attack on all regions that ``make soak`` goes on with."""

import pytest
from tests._scripts import script

from surefoot.knowledge import curvature

soak = script("benchmarks/soak_regions.py")
ALL = len(soak.KINDS) * len(soak.ADVERSARIES)


@pytest.mark.slow
def test_no_action_of_any_region_is_above_zero():
    found = [soak.attack(n, played=20, runs=24) for n in range(ALL)]
    assert [outcome for outcome in found if outcome.violations] == []
    assert max(outcome.worst for outcome in found) > -1e-9  # it came as close as the margin lets it
    # A step that is cut along its slope stays where it is far too long.
    near = [outcome for outcome in found if not outcome.name.startswith("ball, cut")]
    assert sum(o.stayed for o in near) < 0.01 * sum(o.rounds for o in near)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ball", "half-spaces", "balls"])
def test_without_the_margin_the_same_attack_finds_violations(kind, monkeypatch):
    # One run at a time finds fewer: more attacks.
    many = (40 if kind in soak.LIVE else 4) * ALL
    numbers = [n for n in range(many) if soak.KINDS[n % len(soak.KINDS)] == kind]

    def violations():
        return any(soak.attack(n, played=40, runs=40).violations for n in numbers)

    monkeypatch.setattr(soak, "_error", lambda constraint, ball: 0.0)
    monkeypatch.setattr(curvature, "UNIT", 0.0)
    assert violations()


def test_the_parts_of_a_soak_add_up(tmp_path, monkeypatch, capsys):
    def attacks(first, workers, kinds):
        for n in range(first, first + 100):
            if soak.KINDS[n % len(soak.KINDS)] in kinds:
                yield soak.Outcome(n, "a set", 10, 0, -1e-3 / (n + 1), 0)

    monkeypatch.setattr(soak, "attacks", attacks)
    state = str(tmp_path / "sums.json")

    def run(*options):
        monkeypatch.setattr("sys.argv", ["soak", "--workers", "1", "--state", state, *options])
        return soak.main(), capsys.readouterr().out.splitlines()[-1]

    assert run("--rounds", "30")[1].startswith("30 rounds, 3 attacks; 0 violations")
    again = run("--rounds", "50", "--quick")
    # Goes on with attack 3; the next of quick kinds are 8 and 10.
    assert again[0] == 0
    assert again[1].startswith("50 rounds, 5 attacks; 0 violations; worst g/depth = -9.09e-05 in")
    assert "attack 10 " in again[1]
    assert run("--rounds", "50") == again  # nothing is left to do
