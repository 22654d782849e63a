import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from concurrent.futures import BrokenExecutor, Future
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from surefoot.experiments import (
    CellResult,
    Event,
    Results,
    StoreError,
    cells,
    estimate,
    executors,
    run,
    sweep,
)
from surefoot.experiments.cells import cells_of, play_cells
from surefoot.experiments.executors import RunError
from surefoot.experiments.sweep import Sweep

HERE = Path(__file__).parent


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "out"


def whole(work, folder, made):
    """What an undisturbed run in this process leaves."""
    run(made, folder.with_name("undisturbed"), workers=0)
    return work.contents(folder.with_name("undisturbed"))


def started(*arguments):
    """A driver in a process of its own, once it has begun."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "_sweep_work.py"), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a process group that can be sent a Ctrl-C
    )
    assert process.stdout.readline() == "begin\n"
    return process


def until(condition, seconds=20.0):
    """Wait for something that must come."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


def members(group):
    """The living processes of a process group."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(entry.name))
    return found


# --- what is played, and what is not --------------------------------------------------------------


def test_a_run_plays_everything_once_and_the_next_one_nothing(work, folder):
    made = work.spec()
    first = run(made, folder, workers=0, _work=work.logged)
    assert (first.cells, first.done, first.skipped, first.interrupted) == (4, 4, 0, False)
    again = run(made, folder, workers=0, _work=work.logged)
    assert (again.done, again.skipped) == (0, 4)
    addresses = [address for _, address in work.played()]
    assert len(addresses) == len(set(addresses)) == 4
    assert set(addresses) == set(work.contents(folder))


def test_a_grown_specification_plays_what_is_new_and_a_shrunk_one_forgets_nothing(work, folder):
    run(work.spec(horizons=[20]), folder, workers=0)
    grown = run(work.spec(horizons=[20, 33]), folder, workers=0)
    assert (grown.done, grown.skipped) == (2, 2)
    run(work.spec(horizons=[33]), folder, workers=0)
    with Results.open(folder / "results.sqlite") as results:
        assert [p.horizon for p in results.places()] == [33, 33]
        assert len(results.have()) == 4


def test_two_labels_of_one_cell_are_played_once(work, folder):
    player = {"name": "PFS", "parameters": {"eta": 0.1, "rho": 0.01}}
    twice = [{**player, "label": "one"}, {**player, "label": "two"}]
    outcome = run(work.spec(algorithms=twice), folder, workers=0)
    assert (outcome.cells, outcome.done) == (2, 2)
    with Results.open(folder / "results.sqlite") as results:
        assert [place.algorithm for place, _ in results.cells()] == ["one", "two"] * 2


def test_force_plays_everything_again_to_the_same_bits(work, folder):
    made = work.spec()
    run(made, folder, workers=0)
    before = work.contents(folder)
    assert run(made, folder, workers=0, force=True).done == 4
    assert work.contents(folder) == before


def test_what_a_theorem_refuses_is_kept_and_not_tried_again(work, folder):
    rejected = [{"name": "Mahdavi", "tuning": "no_violation"}]
    made = work.spec(algorithms=rejected)
    assert run(made, folder, workers=0).rejected == 2
    assert run(made, folder, workers=0).skipped == 2
    ((_, status, note, *_), _) = work.contents(folder).values()
    assert status == "rejected"
    assert "needs a horizon of at least" in note


def test_a_failed_cell_says_why_and_is_tried_again(work, folder, monkeypatch):
    made = work.spec()

    def broken(spec):
        if spec["horizon"] == 20:
            raise RuntimeError("the sensor is gone")
        return kept(spec)

    kept = play_cells.__globals__["problem_of"]
    monkeypatch.setitem(play_cells.__globals__, "problem_of", broken)
    outcome = run(made, folder, workers=0)
    assert (outcome.done, outcome.failed) == (2, 2)
    assert outcome.notes[0].startswith(
        "binding_toy: PFS 0.1, T = 20: failed: RuntimeError: the sensor is gone (test_driver.py, "
    )
    monkeypatch.undo()
    assert run(made, folder, workers=0).done == 2
    assert work.contents(folder) == whole(work, folder, made)


def test_a_damaged_cell_is_played_again_alone(work, folder):
    import sqlite3

    made = work.spec()
    run(made, folder, workers=0)
    before = work.contents(folder)
    with sqlite3.connect(folder / "results.sqlite") as connection:
        connection.execute("UPDATE cells SET arrays = x'00' WHERE rowid = 3")
    connection.close()
    outcome = run(made, folder, workers=0, _work=work.logged)
    assert (outcome.done, outcome.skipped) == (1, 3)
    assert outcome.notes == [
        "binding_toy: PFS 0.1, T = 33: was damaged, and played again: it is not what was written"
    ]
    assert len(work.played()) == 1
    assert work.contents(folder) == before


# --- what a user is told --------------------------------------------------------------------------


def test_progress_counts_cells_and_rounds_of_all_trials(work, folder):
    made = work.spec(horizons=[20, 33])
    run(work.spec(horizons=[20]), folder, workers=0)
    seen = []
    run(made, folder, workers=0, progress=seen.append)
    assert seen[0] == Event(2, 4, 120, 318, "")
    assert [(e.done, e.rounds_done) for e in seen[1:]] == [(3, 219), (4, 318)]
    assert seen[-1].label == "binding_toy: PFS 0.03, T = 33"


def test_an_estimate_counts_what_is_missing(work, folder):
    made = work.spec(horizons=[20, 33])
    before = estimate(made, folder)
    assert (before.cells, before.present, before.rounds) == (4, 0, 318)
    assert not folder.exists()
    run(work.spec(horizons=[20]), folder, workers=0)
    after = estimate(made, folder)
    assert (after.cells, after.present, after.rounds) == (4, 2, 198)
    assert 0 < after.seconds < 60
    run(made, folder, workers=0)
    assert estimate(made, folder).seconds == 0


class Later:
    """A clock for a run at a later time."""

    @staticmethod
    def now(zone):
        return datetime(2099, 1, 2, 3, 4, 5, tzinfo=zone)


def test_the_file_says_what_it_is_the_results_of(work, folder, monkeypatch):
    run(work.spec(), folder, text="# mine\n", workers=0)
    with Results.open(folder / "results.sqlite") as results:
        first = results.header()
    assert (first["name"], first["seed"], first["specification"]) == ("sweep", 0, "# mine\n")
    assert first["versions"]["numpy"] == np.__version__
    assert first["data"]["horizons"] == [20, 33]
    monkeypatch.setattr(cells, "datetime", Later)
    run(work.spec(), folder, workers=0)
    with Results.open(folder / "results.sqlite") as results:
        second = results.header()
    assert second["created"] == first["created"]
    assert second["updated"] == "2099-01-02T03:04:05+00:00"
    assert 'name = "sweep"' in second["specification"]  # written by us where there is no text


def test_a_second_driver_is_told_and_leaves_the_first_alone(work, folder):
    made = work.spec()
    told = []

    def second(event):
        if event.done == 1:
            with pytest.raises(StoreError) as raised:
                run(made, folder, workers=0)
            told.append(str(raised.value))

    assert run(made, folder, workers=0, progress=second).done == 4
    assert len(told) == 1
    assert "is in use by" in told[0]


@pytest.mark.slow
def test_a_full_disk_ends_the_run_with_one_sentence_and_loses_nothing(work, folder, monkeypatch):
    made = work.spec(horizons=range(400, 404), recording={"every": 1})
    monkeypatch.setattr(sweep.Results, "write", work.small_file(Results.write, 60))
    with pytest.raises(StoreError, match="the disk is full"):
        run(made, folder, workers=0)
    monkeypatch.undo()
    kept = work.contents(folder)
    assert 0 < len(kept) < 8
    outcome = run(made, folder, workers=0)
    assert (outcome.done, outcome.skipped) == (8 - len(kept), len(kept))
    assert work.contents(folder) == whole(work, folder, made)


def test_a_folder_that_cannot_be_made_is_one_sentence(work, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"folder '.*file' cannot be made: File exists"):
        run(work.spec(), tmp_path / "file", workers=0)


def test_workers_with_other_code_are_refused_by_name(work, folder, monkeypatch):
    monkeypatch.setattr(sweep, "fingerprint", lambda: {"numpy": "1.0"})
    with pytest.raises(RunError) as raised:
        run(work.spec(), folder, workers=0)
    assert "would play something else" in str(raised.value)
    assert f"numpy is {np.__version__}, not 1.0" in str(raised.value)
    with Results.open(folder / "results.sqlite") as results:
        assert results.have() == {}


# --- many cells -----------------------------------------------------------------------------------


class Counting(executors.InProcess):
    """Plays in this process, later: when it is asked whether it has."""

    chunks = True
    most = 0

    def __init__(self):
        super().__init__()
        self.waiting = []

    @property
    def width(self):
        return 3

    def submit(self, fn, *args):
        future = Future()
        self.waiting.append((future, fn, args))
        self.most = max(self.most, len(self.waiting))
        return future

    def play(self):
        for future, fn, args in self.waiting:
            future.set_result(fn(*args))
        self.waiting.clear()


@pytest.mark.slow
def test_few_are_in_flight_and_no_list_of_results_is_held(work, folder, monkeypatch):
    pool, look_after, levels = Counting(), sweep.wait, []

    def wait(futures, **options):
        pool.play()
        return look_after(futures, **options)

    def large(cells):
        return [
            CellResult(address=a, spec=s, status="done", arrays={"x": np.ones(1_000)})
            for a, s in cells
        ]

    def look(event):
        if event.done in (100, 500):
            levels.append(tracemalloc.get_traced_memory()[0])

    monkeypatch.setattr(sweep, "make_workers", lambda *a, **k: pool)
    monkeypatch.setattr(sweep, "wait", wait)
    made = work.spec(horizons=range(2, 152), etas=[0.1, 0.2, 0.3, 0.4])
    tracemalloc.start()
    try:
        outcome = run(made, folder, progress=look, _work=large)
    finally:
        tracemalloc.stop()
    assert outcome.done == 600
    assert pool.most == 3
    assert levels[1] - levels[0] < 1_000_000  # the arrays of 400 cells would be 3 MB


def test_chunks_are_neighbours_and_bounded(work):
    players = [{"name": "PFS", "tuning": tuning} for tuning in ("tuned", "anytime")]
    made = work.spec(horizons=range(50, 150), trials=30, algorithms=players)
    sweeping = Sweep(None, Event(0, 200, 0, 0, ""), None, None, None)
    sweeping._workers = Counting()
    jobs = [job for _, job in cells_of(made)]
    chunks = list(sweeping._chunks(iter(jobs)))
    assert sum(map(len, chunks)) == 200
    assert max(map(len, chunks)) == 16
    assert [job for chunk in chunks for job in chunk] == jobs


class Mortal(executors.InProcess):
    """Plays in this process; a cell of the poison's length kills the worker it is played by."""

    chunks = True

    def __init__(self, work):
        super().__init__()
        self.work, self.played, self.renewed = work, [], 0

    def submit(self, fn, wanted, plugins, work, cells):
        self.played.append([spec["horizon"] for _, spec in cells])
        if self.work.POISON in self.played[-1]:
            future = Future()
            future.set_exception(BrokenExecutor("gone"))
            return future
        return super().submit(fn, wanted, plugins, work, cells)

    def renew(self):
        self.renewed += 1


def test_a_cell_that_was_alone_with_two_deaths_is_set_aside(work, folder, monkeypatch):
    pool = Mortal(work)
    monkeypatch.setattr(sweep, "make_workers", lambda *a, **k: pool)
    made = work.spec(horizons=[11, work.POISON, 23], etas=[0.1])
    outcome = run(made, folder)
    assert (outcome.done, outcome.set_aside, outcome.failed) == (2, 1, 0)
    # In company it may be another's fault, so the second death alone decides.
    assert [p for p in pool.played if work.POISON in p] == [[11, work.POISON], [work.POISON]]
    assert pool.renewed == 2


def test_a_chunk_that_fails_is_tried_cell_by_cell(work, folder, monkeypatch):
    pool = Mortal(work)
    monkeypatch.setattr(sweep, "make_workers", lambda *a, **k: pool)
    made = work.spec(horizons=[11, work.BROKEN, 23], etas=[0.1])
    outcome = run(made, folder, _work=work.deadly)
    assert (outcome.done, outcome.failed) == (2, 1)
    assert pool.played == [[11, work.BROKEN], [11], [work.BROKEN], [23]]


# --- processes ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_bits_do_not_depend_on_the_number_of_workers(work, tmp_path):
    made = work.mixed()
    found = {}
    for workers in (0, 2):
        outcome = run(made, tmp_path / str(workers), workers=workers)
        assert (outcome.done, outcome.failed) == (8, 0)
        found[workers] = work.contents(tmp_path / str(workers))
    assert found[0] == found[2]


@pytest.mark.slow
def test_a_cell_that_kills_its_worker_twice_is_set_aside_and_the_others_are_played(work, folder):
    made = work.spec(horizons=[11, work.POISON, work.SLOW, 23], etas=[0.1])
    outcome = run(made, folder, workers=2, _work=work.deadly)
    assert (outcome.done, outcome.set_aside, outcome.failed) == (3, 1, 0)
    assert outcome.notes == ["binding_toy: PFS 0.1, T = 13: set aside: killed its worker twice"]
    (poison,) = [a for a, c in work.contents(folder).items() if c[1] == "set aside"]
    assert [address for _, address in work.played()].count(poison) == 2
    cured = run(made, folder, workers=0)  # the next run tries again
    assert (cured.done, cured.skipped) == (1, 3)
    assert work.contents(folder) == whole(work, folder, made)


@pytest.mark.slow
def test_a_chunk_without_a_result_is_tried_cell_by_cell(work, folder):
    made = work.spec(horizons=[11, work.BROKEN, 23], etas=[0.1])
    outcome = run(made, folder, workers=1, _work=work.deadly)
    assert (outcome.done, outcome.failed) == (2, 1)
    assert outcome.notes[0].endswith("T = 19: failed: RuntimeError: no result can be had")


@pytest.mark.slow
def test_killed_at_a_hundred_instants_it_ends_as_if_nothing_had_happened(work, folder, tmp_path):
    told = subprocess.run(
        [sys.executable, str(HERE / "_sweep_work.py"), "kill", str(tmp_path), "100"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(told.stdout) == 100, told.stderr
    made = work.spec(horizons=range(20, 30), etas=(0.1, 0.07, 0.05, 0.03))
    wanted = whole(work, folder, made)
    assert len(wanted) == 40
    sweeps = sorted(tmp_path.glob("sweep*.log"))
    assert sweeps
    for log in sweeps:
        assert work.contents(log.with_suffix("")) == wanted
        attempts = {}
        for line in log.read_text().splitlines():
            process, address = line.split()
            attempts.setdefault(process, []).append(address)
        written = set()
        for begun in attempts.values():
            assert not set(begun) & written
            written |= set(begun[:-1])  # all but the one that was in flight


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.6])
def test_a_killed_driver_takes_its_workers_along_and_the_next_one_goes_on(work, folder, share):
    process = started(2, folder)
    until(lambda: len(work.played()) > share * 40)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    until(lambda: not members(process.pid), seconds=5)
    done = set(work.contents(folder))
    begun = [address for _, address in work.played()]
    made = work.many()
    outcome = run(made, folder, workers=0, _work=work.logged)
    assert (outcome.done, outcome.skipped) == (40 - len(done), len(done))
    later = [address for _, address in work.played()][len(begun) :]
    assert not set(later) & done
    assert work.contents(folder) == whole(work, folder, made)


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "number"), [(2, "SIGINT"), (2, "SIGTERM"), (0, "SIGINT")])
def test_ctrl_c_and_sigterm_keep_what_is_done_and_leave_nobody_behind(
    work, folder, workers, number
):
    process = started(workers, folder)
    until(lambda: len(work.played()) > 5)
    if number == "SIGINT":  # a terminal sends it to all
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.terminate()
    out, err = process.communicate(timeout=20)
    done, interrupted = out.split()
    assert (interrupted, err) == ("True", "")
    assert int(done) == len(work.contents(folder)) < 40
    until(lambda: not members(process.pid), seconds=5)
    made = work.many()
    outcome = run(made, folder, workers=0)
    assert outcome.done == 40 - int(done)
    assert work.contents(folder) == whole(work, folder, made)


@pytest.mark.slow
def test_a_worker_that_is_killed_from_outside_costs_nothing_but_time(work, folder):
    process = started(2, folder)
    until(lambda: len(work.played()) > 8)
    os.kill(int(work.played()[-1][0]), signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert out.split() == ["40", "False"], err
    made = work.many()
    assert work.contents(folder) == whole(work, folder, made)


def test_ctrl_c_in_this_process_ends_after_the_cell(work, folder):
    def press(event):
        if event.done == 2:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    outcome = run(work.spec(), folder, workers=0, progress=press)
    assert (outcome.done, outcome.interrupted) == (2, True)
    assert signal.getsignal(signal.SIGINT) is before
    assert run(work.spec(), folder, workers=0).done == 2


@pytest.mark.slow
def test_a_script_without_a_guard_may_start_a_pool(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import json, sys\n"
        f"sys.path.insert(0, {str(HERE)!r})\n"
        "from pathlib import Path\n"
        "import _sweep_work as work\n"
        "print('once')\n"
        f"folder = Path({str(tmp_path / 'out')!r})\n"
        "outcome = work.run(work.spec(horizons=[20]), folder, workers=1)\n"
        "print(json.dumps([outcome.done, outcome.failed]))\n"
    )
    told = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    once, counts = told.stdout.splitlines()
    assert (once, json.loads(counts)) == ("once", [2, 0])
