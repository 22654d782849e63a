import io

from surefoot.cli import _output
from surefoot.cli._output import progress, stage
from surefoot.experiments import Event


class Screen(io.StringIO):
    """Standard error of a terminal."""

    def isatty(self):
        return True


def test_a_pipe_gets_a_line_now_and_then(capsys, monkeypatch):
    monkeypatch.setattr(_output, "PAUSE", 0.0)
    with progress() as tell:
        tell(Event(1, 3, 100, 300, "a corner"))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("1/3 cells, 0.0 s")
    assert line.endswith("a corner")


def test_what_is_over_in_a_moment_is_not_talked_about(capsys):
    with stage("making the figures"), progress() as tell:
        tell(Event(1, 1, 100, 100, ""))
    assert capsys.readouterr() == ("", "")


def test_a_terminal_has_a_bar_with_the_cells_and_what_is_played(monkeypatch):
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with progress() as tell:
        tell(Event(0, 10, 0, 1_000, ""))
        tell(Event(7, 10, 700, 1_000, "a corner: PFS.anytime, T = 2000"))
    assert "7/10 cells" in screen.getvalue()
    assert "a corner: PFS.anytime" in screen.getvalue()
    with stage("making the figures"):
        pass
    assert "making the figures" in screen.getvalue()
