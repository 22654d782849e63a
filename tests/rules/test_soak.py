"""Some of the attack that ``make soak`` goes on with for a hundred million rounds."""

import numpy as np
import pytest
from tests._scripts import script

from surefoot.knowledge import certified_length

soak = script("benchmarks/soak.py")
KINDS = len(soak.SETS) * len(soak.TIGHTENINGS) * len(soak.ADVERSARIES)


@pytest.mark.slow
def test_no_action_of_a_quarter_of_a_million_rounds_is_above_zero():
    found = [soak.attack(n, played=20, numbers=1_000) for n in range(KINDS)]
    assert sum(outcome.rounds for outcome in found) >= 2.5 * 10**5
    assert [outcome for outcome in found if outcome.violations] == []
    # It came as close as the margin lets it, and did not spend its rounds standing still.
    assert max(outcome.worst for outcome in found) > -1e-9
    assert sum(outcome.cramped for outcome in found) < 0.2 * sum(o.rounds for o in found)


# One for each kind of set against the greedy adversary, and the box at a tightening that falls.
SHORT = (62, 63, 68, 69)


@pytest.mark.slow
def test_without_the_margin_the_same_attack_finds_violations(monkeypatch):
    def finds_one():
        return any(soak.attack(n, played=60, numbers=6_000).violations for n in SHORT)

    assert not finds_one()
    monkeypatch.setattr(certified_length, "UNIT", 0.0)
    assert finds_one()


def test_every_kind_of_set_tightening_and_adversary_has_its_turn():
    names = [soak.attack(n, played=1, numbers=100).name.split(", ") for n in range(KINDS)]
    assert len({(kind, rho, who) for kind, _, rho, who in names}) == KINDS
    dimensions = {int(d.removeprefix("d = ")) for _, d, _, _ in names}
    assert min(dimensions) == 2
    assert max(dimensions) > 40


def test_it_reports_the_rounds_and_the_worst_and_counts_violations(capsys):
    good = soak.Outcome(7, "box", 500, 0, -1e-3, 2, "CertifiedPFS, box")
    bad = soak.Outcome(8, "wedge", 600, 3, 1e-9, 0, "CertifiedPFS, wedge")
    assert soak.soak(iter([good, good, good]), rounds=1_000).violations == 0
    said = capsys.readouterr().out
    assert said.startswith("CertifiedPFS, box: 1,000 rounds, 0 violations\n1,000 rounds in 0 s, 2")
    assert "2 attacks; 0 violations; 4 rounds without room" in said
    assert said.endswith("nearest g = -0.001 of the tightening in attack 7 (box)\n")
    counts = soak.soak([good, bad], rounds=10**8, every=0.0)
    assert [(row.rule, row.rounds, row.violations) for row in counts.rows.values()] == [
        ("CertifiedPFS, box", 500, 0),
        ("CertifiedPFS, wedge", 600, 3),
    ]
    said = capsys.readouterr().out
    assert "VIOLATED: Outcome(number=8, name='wedge', rounds=600, violations=3" in said
    assert "500 of 100,000,000 rounds" in said


@pytest.mark.parametrize(("violations", "status"), [(0, 0), (1, 1)])
def test_the_exit_status_says_whether_one_was_found(monkeypatch, violations, status):
    outcome = soak.Outcome(0, "box", 10, violations, -1.0, 0, "CertifiedPFS, box")
    monkeypatch.setattr(soak, "_attacks", lambda first, workers: iter([outcome]))
    monkeypatch.setattr("sys.argv", ["soak.py", "--rounds", "1e1", "--workers", "1"])
    assert soak.main() == status


def test_an_attack_depends_on_its_number_alone():
    one, again = (soak.attack(20, played=5, numbers=200) for _ in range(2))
    assert one == again
    assert np.isfinite(one.worst)
