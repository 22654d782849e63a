import pytest

from surefoot.experiments import build_spec
from surefoot.experiments.paper import reproduction
from surefoot.experiments.record import Claim

OTHER = "reproduced only with other constants than stated"


def claim(figure, statement, verdict, row="", published=None, measured=None):
    return {
        "figure": figure,
        "statement": statement,
        "settings": row,
        "published": published or {},
        "measured": measured or {},
        "verdict": verdict,
        "reason": "so it was",
    }


CLAIMS = [
    claim("1a", "Figure 1a as a whole", OTHER),
    claim(
        "1a",
        "PFS, regret",
        OTHER,
        "PFS as plotted",
        {"2000": 88.0, "10000": 191.0},
        {"2000": 87.8, "10000": 191.06},
    ),
    claim("2", "Figure 2 as a whole", "reproduced"),
    claim("2", "DPP's actions leave the set", "reproduced", "DPP"),
]
TABLE = f"""\
Figure 1a: {OTHER}; values at T = 2000, 10000
  shown        row             published  measured     verdict
  PFS, regret  PFS as plotted  88, 191    87.8, 191.1  with other constants
Figure 2: reproduced
  shown                        row  verdict
  DPP's actions leave the set  DPP  reproduced

"""


@pytest.fixture
def small(monkeypatch):
    """A reproduction of one row, which cannot be judged."""
    spec = build_spec(
        {
            "name": "reproduction",
            "trials": 2,
            "horizons": [40],
            "problems": [{"name": "paper_toy", "published": 0}],
            "algorithms": [{"name": "PFS", "tuning": "anytime"}],
        }
    )
    monkeypatch.setattr(reproduction, "specification", lambda: spec)
    monkeypatch.setattr(reproduction, "claims", lambda cells: [Claim(**c) for c in CLAIMS])
    monkeypatch.setattr(
        "surefoot.experiments.page.write_report", lambda results, folder, _, **__: (folder, [])
    )


def test_the_verdicts_come_with_the_published_values(desk, small):
    code, out, err = desk.do("reproduce --workers 0")
    assert (code, err) == (0, "")
    assert out.startswith(TABLE)
    assert "results  out/reproduction/results.sqlite" in out


def test_json_has_the_claims(desk, small):
    found = desk.do("reproduce --workers 0 --json --out there").data
    assert found["claims"] == CLAIMS
    assert found["folder"] == "there"


def test_the_report_of_a_reproduction_has_its_verdicts(desk, small, monkeypatch):
    monkeypatch.setattr(
        "surefoot.experiments.page.write_report", lambda results, folder, _, **__: (folder, [])
    )
    desk.do("reproduce --workers 0")
    assert desk.do("report out/reproduction").out.startswith(TABLE)
