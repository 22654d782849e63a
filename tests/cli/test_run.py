import contextlib
import importlib
import os
import shlex
import signal
import sys

import pytest

from surefoot.experiments import CellResult, Results, cells, sweep

run_module = importlib.import_module("surefoot.cli.run")


def without_times(rows):
    """Rows as the program prints them, but for what is not the same twice."""
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


# --- a run ----------------------------------------------------------------------------------------


def test_a_run_leaves_results_and_prints_a_row_for_each_game(desk):
    code, out, err = desk.run()
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "a corner, 2 trials"
    assert (
        " ".join(lines[1].split())
        == "algorithm T regret regret / bound promised violations max g verdict"
    )
    assert [line.split()[:2] for line in lines[2:6]] == [
        [name, T] for name in ("PFS.anytime", "ScalarDPP.tuned") for T in ("40", "80")
    ]
    assert all(line.endswith("held") for line in lines[2:6])
    assert "results  out/limits/results.sqlite" in lines
    assert not (desk.folder / "out/limits/report.html").exists()  # it was not wanted


def test_a_second_run_plays_nothing_and_says_the_same(desk):
    first, second = desk.run("--json").data, desk.run("--json").data
    assert (first["done"], first["present"]) == (4, 0)
    assert (second["done"], second["present"]) == (0, 4)
    assert without_times(second["rows"]) == without_times(first["rows"])


def test_force_plays_all_again(desk):
    desk.run()
    assert desk.run("--force", "--json").data["done"] == 4


def test_a_specification_that_grew_plays_what_is_new(desk):
    desk.run()
    desk.spec.write_text(desk.spec.read_text().replace("[40, 80]", "[40, 60, 80]"))
    found = desk.run("--json").data
    assert (found["done"], found["present"], found["cells"]) == (2, 4, 6)


def test_with_json_nothing_but_json_is_on_standard_output(desk):
    code, out, err = desk.run("--json")
    assert (code, err) == (0, "")
    found = desk.run("--json").data
    assert out.startswith("{")
    assert found["exit_code"] == 0
    row = found["rows"][0]
    assert (row["problem"], row["algorithm"], row["horizon"]) == ("a corner", "PFS.anytime", 40)
    assert row["violations"] == 0.0
    assert row["largest"] < 0
    assert row["verdict"]["word"] == "held"
    assert row["constants"]["G_f"][1] == "derived"


def test_the_specification_is_kept_as_it_was_written(desk):
    desk.spec.write_text("# mine\n" + desk.spec.read_text())
    desk.run()
    with Results.open(desk.results) as results:
        assert results.header()["specification"].startswith("# mine\nname")


def test_another_folder_may_be_given(desk):
    desk.run("--out", "there/deep")
    assert (desk.folder / "there/deep/results.sqlite").is_file()
    assert not (desk.folder / "out").exists()


def test_a_dry_run_says_what_there_is_to_do_and_does_nothing(desk):
    code, out, err = desk.run("--dry-run")
    assert (code, err) == (0, "")
    words = dict(line.split(maxsplit=1) for line in out.splitlines() if len(line.split()) > 1)
    assert words["cells"] == "4, 0 of them in the file already"
    assert "about" in words["time"]
    assert not (desk.folder / "out").exists()
    found = desk.run("--dry-run", "--json").data
    assert (found["cells"], found["present"], found["rounds"]) == (4, 0, 2 * 2 * (40 + 80))


def test_a_dry_run_after_the_run_finds_everything_there(desk):
    desk.run()
    assert "none: everything is in the file" in desk.run("--dry-run").out


@pytest.mark.slow
def test_many_rows_are_cut_to_the_longest_horizons(desk):
    horizons = ", ".join(str(10 + T) for T in range(31))
    desk.spec.write_text(desk.spec.read_text().replace("40, 80", horizons))
    out = desk.run().out
    assert "2 of 62 rows, the longest horizons; all are in the report" in out
    assert [line.split()[:2] for line in out.splitlines()[2:4]] == [
        ["PFS.anytime", "40"],
        ["ScalarDPP.tuned", "40"],
    ]


# --- mistakes in the specification ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "line", "sentence"),
    [
        ("trials", "trails", 2, "trails: unknown key; did you mean 'trials'?"),
        ("trials = 2", 'trials = "2"', 2, "trials: must be a whole number >= 1, got '2'"),
        ('"PFS"', '"PSF"', 10, "unknown algorithm 'PSF'; did you mean 'PFS'?"),
        (
            "[40, 80]",
            "[40, -80]",
            3,
            "must be a list of whole numbers >= 1, got [40, -80]",
        ),
        ('"anytime"', '"any"', 11, "tuning"),
        ('"binding_toy"', '"binding_tol"', 6, "did you mean 'binding_toy'?"),
        ('name = "limits"', 'name = "../limits"', 1, "must be letters, digits, - and _"),
        ("[40, 80]", "[40, nan]", 3, "got [40, nan]"),
    ],
)
def test_a_mistake_is_told_with_its_line_before_anything_is_made(
    desk, before, after, line, sentence
):
    desk.spec.write_text(desk.spec.read_text().replace(before, after, 1))
    code, out, err = desk.run()
    assert (code, out) == (2, "")
    assert err.startswith(f"limits.toml:{line}: ")
    assert sentence in err
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err
    assert not (desk.folder / "out").exists()


def test_what_is_no_toml_is_told_in_the_words_of_its_reader(desk):
    desk.spec.write_text(desk.spec.read_text().replace("[40, 80]", "[40, 80", 1))
    said = "limits.toml:5: is not TOML: unclosed array (column 1)\n"
    assert desk.run() == (2, "", said)


def test_all_mistakes_are_told_at_once(desk):
    desk.spec.write_text("".join(f"key{i} = 1\n" for i in range(30)) + desk.spec.read_text())
    err = desk.run().err.splitlines()
    assert len(err) == 30


@pytest.mark.parametrize(
    ("path", "words"), [("nowhere.toml", "cannot be read"), (".", "is not a file")]
)
def test_a_specification_that_cannot_be_read_is_said(desk, path, words):
    code, _, err = desk.do("run", path)
    assert code == 2
    assert words in err
    assert len(err.splitlines()) == 1


def test_an_impossible_tuning_is_a_row_with_its_reason_and_the_rest_is_played(desk):
    desk.spec.write_text(
        desk.spec.read_text() + '[[algorithms]]\nname = "Mahdavi"\ntuning = "no_violation"\n'
    )
    code, out, err = desk.run()
    assert (code, err) == (0, "")
    assert out.count("  rejected") == 2
    assert "Mahdavi.no_violation on a corner, T = 40, 80: Mahdavi et al. 2012, no violation" in out
    assert "6 cells: 4 played, 2 rejected" in out


# --- where it cannot write ------------------------------------------------------------------------


@pytest.mark.parametrize("out", ["limits.toml", "limits.toml/a/b"])
def test_a_folder_that_is_none_is_said_before_anything_is_played(desk, out):
    code, said, err = desk.run("--out", out)
    assert (code, said) == (1, "")
    assert err.startswith(f"surefoot: folder '{out}' cannot be made: ")


def test_a_folder_in_use_by_another_run_is_left_alone(desk):
    desk.run()
    with Results.write(desk.results) as other:
        code, out, err = desk.run("--force")
        assert list(other.have().values()) == ["done"] * 4
    assert (code, out) == (1, "")
    assert "in use" in err
    assert len(err.splitlines()) == 1


def test_a_file_of_something_else_is_left_alone(desk):
    desk.results.parent.mkdir(parents=True)
    desk.results.write_text("mine")
    code, _, err = desk.run()
    assert code == 1
    assert "it is not a results file" in err
    assert desk.results.read_text() == "mine"


def test_a_full_disk_is_said_and_what_was_done_is_kept(desk, monkeypatch):
    desk.run("--out", "whole")
    room = (desk.folder / "whole/results.sqlite").stat().st_size // 4096 - 3
    write = Results.write

    def write_little(path):
        results = write(path)
        results._rows(f"PRAGMA max_page_count = {room}")
        return results

    monkeypatch.setattr(sweep.Results, "write", write_little)
    code, out, err = desk.run()
    assert (code, out) == (1, "")
    assert "the disk is full" in err
    assert len(err.splitlines()) == 1
    monkeypatch.undo()
    os.chdir(desk.folder)
    found = desk.run("--json").data
    assert found["done"] + found["present"] == 4
    assert found["present"] >= 1


# --- what goes wrong while it plays ---------------------------------------------------------------


def test_a_damaged_cell_is_played_again_and_no_other(desk):
    whole = desk.run("--json").data
    desk.damage()
    found = desk.run("--json").data
    assert (found["done"], found["present"]) == (1, 3)
    assert without_times(found["rows"]) == without_times(whole["rows"])


def failing(address, spec):
    if spec["algorithm"]["name"] == "PFS" and spec["horizon"] == 80:
        return CellResult(address=address, spec=dict(spec), status="failed", note="no luck")
    return played(address, spec)


played = cells.play_cell


def test_a_failed_cell_is_named_and_ends_with_3(desk, monkeypatch):
    monkeypatch.setattr(cells, "play_cell", failing)
    code, out, err = desk.run()
    assert code == 3
    assert err == "surefoot: a corner: PFS.anytime, T = 80: failed: no luck\n"
    assert "4 cells: 3 played, 1 failed" in out
    monkeypatch.setattr(cells, "play_cell", played)
    assert "1 played, 3 in the file already" in desk.run().out  # and is tried again


@pytest.fixture
def impatient(monkeypatch):
    """Somebody who presses Ctrl-C when two cells are done."""

    @contextlib.contextmanager
    def watched():
        def tell(event):
            if event.done == 2:
                signal.raise_signal(signal.SIGINT)

        yield tell

    monkeypatch.setattr(run_module, "progress", watched)


def test_ctrl_c_keeps_what_is_done_and_tells_how_to_go_on(desk, impatient, monkeypatch):
    code, out, err = desk.run("--out", "my results", "--force")
    assert code == 130
    assert "2 played" in out
    *_, said, command = err.splitlines()
    assert said == "surefoot: interrupted; finished cells are saved. To continue:"
    words = shlex.split(command)
    assert words[0] == "surefoot"
    assert "--force" not in words
    monkeypatch.undo()
    os.chdir(desk.folder)
    code, out, _ = desk.do(*words[1:])
    assert code == 0
    assert "2 played, 2 in the file already" in out


def test_ctrl_c_with_json_is_json(desk, impatient):
    code, out, _ = desk.run("--json")
    found = desk.do("report", "nowhere")  # nothing of the interruption is left
    assert found.code == 2
    assert code == 130
    assert '"interrupted": true' in out
    assert '"again": "surefoot run limits.toml --workers 0 --no-report --json"' in out


def test_an_unexpected_error_is_one_sentence_and_with_debug_a_traceback(desk, monkeypatch):
    def broken(*args, **kwargs):
        raise KeyError("lost")

    monkeypatch.setattr(sweep, "run", broken)
    code, out, err = desk.run()
    assert (code, out) == (1, "")
    assert err.startswith("surefoot: unexpected KeyError: 'lost' (this is a bug")
    assert len(err.splitlines()) == 1
    for words in (("--debug", "run", "limits.toml"), ("run", "limits.toml", "--debug")):
        code, _, err = desk.do(*words)
        assert code == 1
        assert err.startswith("Traceback")
        assert err.rstrip().endswith("KeyError: 'lost'")


def test_without_the_extra_for_figures_the_results_are_there_and_the_end_is_3(desk, monkeypatch):
    for name in [m for m in sys.modules if m.split(".")[0] in ("matplotlib", "jinja2")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = desk.do("run limits.toml --workers 0")
    assert code == 3
    assert "results  out/limits/results.sqlite" in out
    assert "surefoot: no report: " in err
    assert "pip install 'surefoot[plot]'" in err
    assert err.splitlines()[-1].endswith("surefoot report out/limits")


# --- a cluster ------------------------------------------------------------------------------------


def test_a_cluster_has_workers_of_its_own(desk):
    code, out, err = desk.do("run limits.toml --cluster tcp://127.0.0.1:1 --workers 2")
    assert (code, out) == (2, "")
    assert "a cluster has its workers" in err
    assert len(err.splitlines()) == 1
    assert not (desk.folder / "out").exists()
