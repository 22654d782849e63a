import pytest

from surefoot.experiments import reproduction
from surefoot.experiments.spec import Spec

CLAIMS = [
    {
        "figure": "1a",
        "statement": "PFS, regret",
        "settings": "PFS as plotted",
        "published": {"2000": 88.0, "20000": 267.0},
        "measured": {"2000": 87.8, "20000": 267.19},
        "verdict": "reproduced only with other constants than stated",
        "reason": "PFS as written: 112.0 / 352.8",
    }
]


@pytest.fixture
def small(monkeypatch):
    """A reproduction of one row, which cannot be judged."""
    spec = Spec.model_validate(
        {
            "name": "reproduction",
            "trials": 2,
            "horizons": [40],
            "problems": [{"name": "paper_toy", "published": 0}],
            "algorithms": [{"name": "PFS", "tuning": "anytime"}],
        }
    )
    monkeypatch.setattr(reproduction, "specification", lambda: spec)
    monkeypatch.setattr(reproduction, "claims", lambda cells: CLAIMS)
    monkeypatch.setattr("surefoot.cli._finish.write_report", lambda results, folder: (folder, []))


def test_the_verdicts_come_with_the_published_values(desk, small):
    code, out, err = desk.do("reproduce --workers 0")
    assert (code, err) == (0, "")
    head, line, *_ = out.splitlines()
    assert head.split() == ["figure", "statement", "row", "published", "measured", "verdict"]
    assert "88, 267" in line
    assert "87.8, 267.2" in line
    assert line.endswith("reproduced only with other constants than stated")
    assert "results  out/reproduction/results.sqlite" in out


def test_json_has_the_claims(desk, small):
    found = desk.do("reproduce --workers 0 --json --out there").data
    assert found["claims"] == CLAIMS
    assert found["folder"] == "there"


def test_the_report_of_a_reproduction_has_its_verdicts(desk, small, monkeypatch):
    monkeypatch.setattr("surefoot.cli.report.write_report", lambda results, folder: (folder, []))
    desk.do("reproduce --workers 0")
    assert desk.do("report out/reproduction").out.splitlines()[1].startswith("1a      PFS, regret")
