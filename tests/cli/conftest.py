"""The program as a user has it: what it prints where, and how it ends."""

import contextlib
import json
import shlex
import sqlite3
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from surefoot.cli.app import app

SPEC = """\
name = "limits"
trials = 2
horizons = [40, 80]

[[problems]]
name = "binding_toy"
label = "a corner"

[[algorithms]]
name = "PFS"
tuning = "anytime"

[[algorithms]]
name = "ScalarDPP"
tuning = "tuned"
"""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def data(self):
        return json.loads(self.out)


class Desk(NamedTuple):
    """A folder with a specification in it, and the program."""

    folder: Path
    spec: Path

    @property
    def results(self):
        return self.folder / "out" / "limits" / "results.sqlite"

    def do(self, *words):
        """Run a command, given as words or as a line."""
        if len(words) == 1:
            words = shlex.split(words[0])
        result = CliRunner().invoke(app, list(words), prog_name="surefoot")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ended(result.exit_code, result.stdout, result.stderr)

    def refusal(self, *words):
        """Run a command that must be rejected as a whole, in one sentence; the sentence."""
        code, out, err = self.do(*words)
        assert (code, out) == (2, "")
        assert err.startswith("surefoot: ")
        assert len(err.splitlines()) == 1
        return err

    def run(self, *words):
        """Play the specification here and make no report."""
        return self.do("run", "limits.toml", "--workers", "0", "--no-report", *words)

    def damage(self):
        """Change a bit in the arrays of one cell; its address."""
        with contextlib.closing(sqlite3.connect(self.results)) as file:
            address, data = file.execute("SELECT address, arrays FROM cells LIMIT 1").fetchone()
            changed = data[:-1] + bytes([data[-1] ^ 1])
            file.execute("UPDATE cells SET arrays = ? WHERE address = ?", (changed, address))
            file.commit()
        return address


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spec = tmp_path / "limits.toml"
    spec.write_text(SPEC)
    return Desk(tmp_path, spec)
