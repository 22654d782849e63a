"""The table and the JSON of a run: numbers over the trials, and how a run ends."""

import numpy as np
import pytest

from surefoot.cli._results import finish, row_as_data, rows_as_table
from surefoot.experiments import CellResult, Facts, Outcome, Place, Results, Row, StoreError
from surefoot.experiments.record import GuaranteeFacts, VerdictFacts

ARRAYS = {
    "regret": np.array([2.0, 4.0, 6.0]),
    "largest": np.array([-0.5, 0.25, 0.125]),
    "violations": np.array([0, 754, 1]),
    "first_violation": np.array([0, 31, 17]),
    **{
        name: np.array([1.0, 2.0, 3.0])
        for name in ("sum", "positive_sum", "sum_positive", "sum_squared")
    },
}
GUARANTEE = GuaranteeFacts(name="Theorem 2", kind="cumulative", regret_bound=10.0)
ROW = Row(
    problem="toy",
    algorithm="DPP",
    horizon=2_000,
    trials=3,
    status="done",
    facts=Facts(guarantee=GUARANTEE, verdict=VerdictFacts(word="held"), regret_share=0.6),
    arrays=ARRAYS,
)

HEAD = "algorithm T regret regret / bound promised violations max g verdict"


def test_a_line_says_what_was_promised_whether_it_was_kept_and_the_violations():
    title, head, line = rows_as_table([ROW])
    assert title == "toy, 3 trials"
    assert " ".join(head.split()) == HEAD
    words = "DPP 2000 4 ± 1.6 0.600 sum of g bounded 251.7 of 2000 0.25 held"
    assert " ".join(line.split()) == words


def test_the_data_have_extremes_over_the_trials_and_the_first_violation_there_is():
    data = row_as_data(ROW)
    assert (data["largest"], data["violations"], data["first_violation"]) == (0.25, 755 / 3, 17)
    assert data["sum_positive"] == 2.0
    assert (data["promised"], data["verdict"]["word"]) == ("cumulative", "held")


@pytest.mark.parametrize(
    ("what", "code"),
    [({}, 0), ({"failed": 1}, 3), ({"set_aside": 1}, 3), ({"interrupted": True}, 130)],
)
def test_a_run_that_is_not_whole_says_so_by_its_exit_code(tmp_path, capsys, what, code):
    with Results.write(tmp_path / "results.sqlite") as results:
        results.set_plan([Place(address="c", problem="p", algorithm="a", horizon=5, block=0)])
        results.put(CellResult(address="c", spec={}, status="rejected", note="no"))
    counts = dict.fromkeys(("cells", "done", "skipped", "rejected", "failed", "set_aside"), 0)
    made = {"folder": tmp_path, **counts, "seconds": 1.0, "interrupted": False, **what}
    shown = {"report": False, "json": False, "again": ["surefoot"]}
    ended = finish(Outcome(**made), **shown)
    assert ended == code
    assert "results  " in capsys.readouterr().out


def test_a_report_that_cannot_be_made_is_said_after_the_table(tmp_path, capsys, monkeypatch):
    def broken(results, folder, rows, **_):
        raise StoreError("the note 'claims' is damaged")

    monkeypatch.setattr("surefoot.experiments.page.write_report", broken)
    with Results.write(tmp_path / "results.sqlite") as results:
        results.set_plan([Place(address="c", problem="p", algorithm="a", horizon=5, block=0)])
        results.put(CellResult(address="c", spec={}, status="rejected", note="no"))
    counts = dict.fromkeys(("cells", "done", "skipped", "rejected", "failed", "set_aside"), 0)
    outcome = Outcome(folder=tmp_path, **counts, seconds=1.0, interrupted=False)
    shown = {"report": True, "json": False, "again": ["surefoot"]}
    assert finish(outcome, **shown) == 3
    out, err = capsys.readouterr()
    assert "rejected" in out
    assert "surefoot: no report: the note 'claims' is damaged" in err
