"""The program in a terminal of its own, with somebody at the keyboard."""

import os
import re
import select
import subprocess
import sys
import time

import pytest

from surefoot.experiments import Results

pty = pytest.importorskip("pty")
pytestmark = pytest.mark.slow

LONG = """\
name = "long"
trials = 30
horizons = [500, 625, 750, 875, 1000, 1125, 1250, 1375, 1500, 1625, 1750, 1875, 2000]
engine = "batch"

[[problems]]
name = "paper_toy"

[[algorithms]]
name = "PFS"
tuning = "anytime"

[[algorithms]]
name = "CertifiedPFS"
tuning = "default"
"""
# Makes the terminal its own, so that a key can be a signal; not by preexec_fn, which would run in a
# fork of this process, and JAX warns of those.
OWN = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
PROGRAM = (sys.executable, "-c", f"{OWN}; from surefoot.cli import main; main()")


class Terminal:
    """A terminal that runs one command and shows what came."""

    def __init__(self, *words, **environment):
        ours, theirs = pty.openpty()
        self._screen = ours
        self.text = ""
        self._process = subprocess.Popen(
            [*PROGRAM, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24", **environment},
            start_new_session=True,
        )
        os.close(theirs)

    def until(self, pattern, seconds=60):
        """Read until something is on the screen; None waits for the end."""
        deadline = time.monotonic() + seconds
        while pattern is None or not re.search(pattern, self.text):
            assert time.monotonic() < deadline, self.text[-2000:]
            if not select.select([self._screen], [], [], 0.2)[0]:
                continue
            try:
                data = os.read(self._screen, 65536)
            except OSError:  # the other side is closed
                data = b""
            if not data:
                assert pattern is None, self.text[-2000:]
                break
            self.text += data.decode()

    def press(self, key):
        os.write(self._screen, key)

    def end(self):
        self.until(None)
        os.close(self._screen)
        return self._process.wait(timeout=30)


def test_a_bar_with_cells_and_time_left_and_ctrl_c_that_keeps_what_is_done(desk):
    (desk.folder / "long.toml").write_text(LONG)
    terminal = Terminal("run", "long.toml", "--workers", "1", "--no-report")
    terminal.until(r"[1-9]\d*/26 cells .*[\d:]+.* paper_toy: ")
    terminal.press(b"\x03")
    assert terminal.end() == 130
    text = terminal.text
    assert "━" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h")  # the cursor is back
    assert "Traceback" not in text
    tail = [line.strip() for line in text.splitlines()][-2:]
    assert tail[0].endswith("surefoot: interrupted; finished cells are saved. To continue:")
    assert tail[1] == "surefoot run long.toml --workers 1 --no-report"
    with Results.open(desk.folder / "out/long/results.sqlite") as results:
        assert 0 < len(results.have()) < len(results.places()) == 26


def test_verdicts_are_coloured(desk):
    terminal = Terminal("run", "limits.toml", "--workers", "0", "--no-report", COLUMNS="120")
    assert terminal.end() == 0
    assert "\x1b[32mheld" in terminal.text


def test_no_color_is_respected(desk):
    terminal = Terminal("list", "PFS", NO_COLOR="1")
    assert terminal.end() == 0
    assert "\x1b" not in terminal.text
