"""A little of the aimed attacks that ``make soak`` goes on with, family by family."""

import pytest
from tests._scripts import script

soak = script("benchmarks/soak_aimed.py")


@pytest.mark.slow
@pytest.mark.parametrize("kind", soak.KINDS)
def test_no_aimed_attack_leads_outside_or_gives_a_false_alarm(kind):
    found = [soak.attack(n, kind, played=30) for n in range(4 if kind == "below rounding" else 10)]
    assert [outcome for outcome in found if outcome.violations or outcome.alarms] == []
    assert sum(outcome.emptied for outcome in found) <= 1
    assert sum(outcome.rounds for outcome in found) >= 70


@pytest.mark.slow
@pytest.mark.parametrize("kind", soak.KINDS)
def test_no_aimed_attack_of_many_leads_outside_and_some_come_close(kind, each_engine):
    many = 15 if each_engine == "kernel" else 8  # both play the same rule
    many = many // 4 if kind == "below rounding" else many  # which are 20 times as long
    found = [soak.attack(n, kind) for n in range(100, 100 + many)]
    assert [outcome for outcome in found if outcome.violations or outcome.alarms] == []
    assert max(outcome.worst for outcome in found) > -1e-3


@pytest.mark.slow
@pytest.mark.parametrize("kind", soak.KINDS)
def test_errors_beyond_what_was_told_lead_outside(kind):
    assert any(soak.attack(n, kind, played=60, factor=3.0).violations for n in range(60))


def test_an_attack_depends_on_its_number_alone_and_every_family_has_its_turn():
    one, again = (soak.attack(7, played=10) for _ in range(2))
    assert one == again
    assert [soak.attack(n, played=2).kind for n in range(len(soak.KINDS))] == list(soak.KINDS)


def test_what_is_close_to_zero_is_compared_exactly():
    import numpy as np

    world = soak.World(np.random.default_rng(0), bent=False)
    d = world.A.shape[1]
    edge = np.zeros(d)
    edge[0] = float(world.full[0])  # on the first row, or beyond another
    assert world.most(edge) >= 0.0
    inside = np.zeros(d)
    assert world.most(inside) == -world.depth
    world.b[0] -= soak.Fraction(1, 2**200)  # far below the last digit of a float
    world.A, world.b = world.A[:1], world.b[:1]
    assert world.most(edge) > 0


@pytest.mark.parametrize(("violations", "status"), [(0, 0), (1, 1)])
def test_the_exit_status_says_whether_one_was_found(monkeypatch, capsys, violations, status):
    outcome = soak.Outcome(0, "late readings", "leader", 10, violations, -1.0, 0, 0)
    monkeypatch.setattr(soak, "attacks", lambda *options: iter([outcome]))
    monkeypatch.setattr("sys.argv", ["soak_aimed.py", "--rounds", "1e1", "--workers", "1"])
    assert soak.main() == status
    assert "late readings" in capsys.readouterr().out
