import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from surefoot.cli import _output
from surefoot.cli._output import show, table
from surefoot.core.plain import json_plain as plain

ROWS = [("PFS.anytime", "2000", "held"), ("ScalarDPP.tuned", "20000", "failed")]
HEAD = ("algorithm", "T", "verdict")


class Screen:
    """Standard output of a terminal."""

    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.fixture
def screen(monkeypatch):
    made = Screen()
    # Not sys.stdout itself: pytest puts its own there before the test begins.
    monkeypatch.setattr(_output, "sys", SimpleNamespace(stdout=made))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return made


def test_columns_are_as_wide_as_their_widest_cell():
    assert list(table(HEAD, ROWS, right=["T"])) == [
        "algorithm            T  verdict",
        "PFS.anytime       2000  held",
        "ScalarDPP.tuned  20000  failed",
    ]


def test_a_narrow_terminal_gets_cells_that_are_folded(screen, monkeypatch):
    monkeypatch.setenv("COLUMNS", "24")
    lines = list(table(HEAD, ROWS))
    assert len(lines) > 3
    assert max(map(len, lines)) <= 24


def test_a_terminal_that_is_just_wide_enough_gets_the_table(screen, monkeypatch):
    monkeypatch.setenv("COLUMNS", "31")
    assert len(list(table(HEAD, ROWS))) == 3


def test_words_have_their_colour_in_a_terminal_and_columns_stay(screen, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = list(table(HEAD, ROWS, paint={"held": "green"}))
    assert "\x1b[32mheld" in lines[1]
    assert lines[2].endswith("failed")


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_colours_where_they_are_not_wanted(screen, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert not any("\x1b" in line for line in table(HEAD, ROWS, paint={"held": "green"}))


def test_a_pipe_gets_neither_colours_nor_blocks(monkeypatch):
    monkeypatch.setenv("COLUMNS", "10")
    assert len(list(table(HEAD, ROWS, paint={"held": "green"}))) == 3


def test_json_has_null_for_numbers_that_are_not_finite(capsys, tmp_path):
    data = {"a": math.nan, "b": np.float64(math.inf), "c": np.array([1.5, -math.inf]), 3: tmp_path}
    show(True, data, [])
    out = capsys.readouterr().out
    assert json.loads(out) == {"a": None, "b": None, "c": [1.5, None], "3": str(tmp_path)}


def test_numbers_of_numpy_are_numbers():
    assert plain({"n": np.int64(3), "yes": np.bool_(True)}) == {"n": 3, "yes": True}
