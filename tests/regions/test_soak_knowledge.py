"""A short piece of the attack on what else may be known, and that it finds what is wrong."""

import pytest
from benchmarks import soak_knowledge as soak

from surefoot.regions import Errors, hull, hull_of_log


@pytest.mark.slow
@pytest.mark.parametrize("kind", soak.ATTACKS)
def test_no_action_of_any_knowledge_is_outside(kind):
    # Each knowledge is attacked for longer by its own tests; run 0 of this one takes ten seconds.
    found = soak.attack(kind, 1 if kind == "relative" else 0)
    assert -0.1 < found <= 0  # and it came near the limit


@pytest.mark.slow
def test_without_the_margin_the_same_attack_finds_violations(monkeypatch):
    monkeypatch.setattr(hull, "UNIT", 0.0)
    monkeypatch.setattr(hull_of_log, "UNIT", 0.0)
    monkeypatch.setattr(soak, "Errors", lambda **told: Errors(drift=told.get("drift", 0.0)))
    assert any(soak.attack("log", number) > 0 for number in range(12))


def test_a_soak_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(soak, "attack", lambda kind, number: -1.0 / (1 + number))
    state = str(tmp_path / "state.json")

    def run(rounds):
        words = ["soak", "--rounds", rounds, "--kinds", "grid", "--state", state]
        monkeypatch.setattr("sys.argv", words)
        return soak.main(), capsys.readouterr().out

    assert run("1000") == (0, "grid: 1,000 rounds, 0 runs outside, the worst g is -0.5\n")
    assert run("2000") == (0, "grid: 2,000 rounds, 0 runs outside, the worst g is -0.25\n")
    monkeypatch.setattr(soak, "attack", lambda kind, number: 0.5)
    code, said = run("2500")
    assert code == 1
    assert "OUTSIDE: grid, run 4: 0.5" in said
