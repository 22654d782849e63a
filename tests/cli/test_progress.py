import time

import pytest

from surefoot.cli import _progress
from surefoot.cli._progress import Meter, bar_of, progress, stage
from surefoot.experiments import Event


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def pace(clock):
    made = Meter(clock)
    made.note(Event(4, 10, 400_000, 1_000_000, ""))
    clock.now += 20.0
    made.note(Event(7, 10, 700_000, 1_000_000, "a corner: PFS.anytime, T = 2000"))
    return made


def test_what_was_there_before_the_run_counts_for_neither_rate_nor_time_left(pace):
    assert pace.rate == 15_000.0
    assert pace.left == 20.0
    assert pace.words() == ["7/10 cells", "15k rounds/s", "20 s left"]


def test_time_left_is_between_that_of_the_cells_and_that_of_the_rounds(clock):
    pace = Meter(clock)
    pace.note(Event(0, 100, 0, 1_000_000, ""))
    clock.now += 10.0
    pace.note(Event(25, 100, 10_000, 1_000_000, ""))  # short cells first
    by_cells, by_rounds = 10.0 * 75 / 25, 10.0 * 99 / 1
    assert by_cells < pace.left < by_rounds
    assert pace.left == pytest.approx(10.0 * (1 - 0.05) / 0.05)


def test_before_the_first_cell_there_is_no_rate_and_no_time(clock):
    pace = Meter(clock)
    assert pace.words() == ["starting"]
    pace.note(Event(4, 10, 400_000, 1_000_000, ""))
    clock.now += 5.0
    assert pace.words() == ["4/10 cells"]
    assert pace.left is None


def test_a_wide_line_has_everything(pace):
    assert bar_of(pace, 110) == (
        "━" * 21 + "─" * 9 + "  70%  7/10 cells  15k rounds/s  20 s left"
        "  a corner: PFS.anytime, T = 2000"
    )


@pytest.mark.parametrize("width", [*range(1, 45), 60, 80, 200])
def test_a_line_fits_whatever_the_width(pace, width):
    assert len(bar_of(pace, width)) <= width


def test_cells_are_the_last_to_go(pace):
    assert bar_of(pace, 14) == "7/10 cells"


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(_progress, "FIRST", 0.05)
    monkeypatch.setattr(_progress, "LATER", 0.05)


def test_a_pipe_gets_a_line_now_and_then_even_without_news(quick, capsys):
    with progress() as tell:
        tell(Event(0, 3, 0, 300, ""))
        tell(Event(1, 3, 100, 300, "a corner"))
        deadline = time.monotonic() + 10
        while (err := capsys.readouterr().err).count("\n") < 1 and time.monotonic() < deadline:
            time.sleep(0.02)
    first = err.splitlines()[0]
    assert first.startswith("1/3 cells, ")
    assert "rounds/s" in first
    assert first.endswith("left, a corner")


def test_what_is_over_in_a_moment_is_not_talked_about(capsys):
    with stage("making the figures"), progress() as tell:
        tell(Event(1, 1, 100, 100, ""))
    assert capsys.readouterr() == ("", "")


def test_a_stage_says_what_is_being_done(quick, capsys):
    with stage("making the figures"):
        deadline = time.monotonic() + 10
        while not (err := capsys.readouterr().err) and time.monotonic() < deadline:
            time.sleep(0.02)
    assert err.startswith("making the figures, 0.")
