"""The page that goes from a log to a running service is followed, line by line, in one shell.

A block of Python that begins with the name of a file, as a comment, is saved under that name; any
other is run where it stands. A text block is what the block before it must print.
"""

import csv
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from tests._scripts import script

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "operations.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w+\.py)\n")
PORT = "9464"
LIMIT = 27.0
JULY = 24 * 190 - 1
PATIENCE = 120.0  # seconds for a block, on a machine with much else to do

hall = script("examples/hall.py")

CURL = """\
import sys, urllib.request
with urllib.request.urlopen(sys.argv[-1], timeout=10) as answer:
    sys.stdout.write(answer.read().decode())
"""


class Shell:
    """A shell that takes one block after the other, and what it prints."""

    def __init__(self, folder, environment):
        self.process = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # so that all of it can be ended
        )
        self.lines = queue.SimpleQueue()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        with self.process.stdout as lines:
            for line in lines:
                self.lines.put(line)

    def run(self, block):
        """What the lines of a block print."""
        self.process.stdin.write(f"{block}\necho 'the block has ended'\n")
        self.process.stdin.flush()
        printed, end = "", time.monotonic() + PATIENCE
        while True:
            try:
                line = self.lines.get(timeout=max(end - time.monotonic(), 0.0))
            except queue.Empty:
                pytest.fail(f"this takes more than {PATIENCE:g} s:\n{block}\n{printed}")
            if line == "the block has ended\n":
                return printed
            printed += line

    def end(self):
        """End the shell, and what it has left running."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()


class Block(NamedTuple):
    """A block of the page that was run."""

    line: int
    text: str
    printed: str
    expected: str | None


class Followed(NamedTuple):
    """What is left after all lines of the page."""

    folder: Path
    blocks: list[Block]
    failed: list[str]

    def rounds(self):
        """The rounds of the journal, as the page has written them."""
        with (self.folder / "hall.csv").open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


def program(path, text):
    """Write a program of the shell."""
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def free_port():
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        return str(line.getsockname()[1])


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("operations")
    (folder / "examples").symlink_to(ROOT / "examples")
    tools = folder / "tools"
    tools.mkdir()
    program(tools / "python", f'exec "{sys.executable}" "$@"')
    program(tools / "surefoot", f'exec "{sys.executable}" -m surefoot "$@"')
    if shutil.which("curl") is None:
        (tools / "get.py").write_text(CURL)
        program(tools / "curl", f'exec "{sys.executable}" "{tools / "get.py"}" "$@"')
    path = os.pathsep.join([str(tools), os.environ["PATH"]])
    page = PAGE.read_text(encoding="utf-8").replace(PORT, free_port())
    found = [(page[: m.start(2)].count("\n"), m[1], m[2]) for m in FENCE.finditer(page)]
    shell, blocks = Shell(folder, os.environ | {"PATH": path, "COLUMNS": "80"}), []
    try:
        failed = tools / "failed"
        shell.run(f"""trap 'echo "$?: $BASH_COMMAND" | head -n 1 >> "{failed}"' ERR""")
        for place, (line, language, text) in enumerate(found):
            if language == "python" and (name := FILE.match(text)) is not None:
                (folder / "hall" / name[1]).write_text(text, encoding="utf-8")
            elif language in ("bash", "python"):
                after = found[place + 1 : place + 2]
                expected = after[0][2] if after and after[0][1] == "text" else None
                lines = text if language == "bash" else f"python - <<'END'\n{text}END\n"
                blocks.append(Block(line, text, shell.run(lines), expected))
        yield Followed(folder / "hall", blocks, failed.read_text().splitlines())
    finally:
        shell.end()


def test_the_page_prints_what_it_says(followed):
    compared = [block for block in followed.blocks if block.expected is not None]
    for block in compared:
        assert block.printed == block.expected, f"{PAGE.name}, line {block.line}"
    assert len(compared) == 12
    # Nothing else has failed: the service was killed, and an edited file is refused.
    assert followed.failed == ["137: wait $service", "3: surefoot serve hall.toml"]


def test_no_reading_is_above_the_limit(followed):
    rounds = followed.rounds()
    assert len(rounds) == 168
    for row in rounds:
        set_points = [float(row[f"{name} [%]"]) for name in hall.NAMES]
        heat = hall.hot_spot(set_points, *hall.weather(JULY + int(row["round"])))
        assert float(row["hot_spot [degC]"]) <= LIMIT
        assert heat <= LIMIT
        assert abs(heat - float(row["hot_spot [degC]"])) <= hall.METER  # these are its readings


def test_no_acknowledged_round_is_lost_by_a_kill(followed):
    log = (followed.folder / "serve.log").read_text(encoding="utf-8")
    clients = re.findall(r"process (\d+), user \S+ writes", log)
    assert len(clients) == 4
    assert clients[1] == clients[2]  # the service was killed while this one was writing
    rows = (followed.folder / "told.csv").read_text(encoding="utf-8").splitlines()
    told = dict(row.split(",") for row in rows)
    assert len(told) in (167, 168)  # the answer to one of them may have been lost
    kept = {row["round"]: row["hot_spot [degC]"] for row in followed.rounds()}
    assert {hour: kept.get(hour) for hour in told} == told


def test_the_checker_certifies_all_and_names_the_amendment(followed):
    (checked,) = [b.printed for b in followed.blocks if "(certified|order)" in b.text]
    code, verdict, order = checked.splitlines()
    assert code == "exit code 0"
    assert verdict.startswith("certified given 9 estimates: 168 of 168 rounds")
    assert "121: amended by E. Moser, reason: curve of the maker of the fans" in order
    assert "limit.hot_spot.steepness.fan1 0.05942 -> 0.18" in order
    rows = {row["round"]: row for row in followed.rounds()}
    assert rows["121"]["how"] == "amended"
    assert all(float(rows["121"][f"{name} [%]"]) == 100.0 for name in hall.NAMES)
    assert {row["certified"] for row in rows.values()} == {"yes"}


def test_the_page_of_the_record_has_the_verdict_and_the_amendment(followed):
    page = (followed.folder / "hall.html").read_text(encoding="utf-8")
    assert "not certified" not in page
    for words in ("E. Moser", "curve of the maker of the fans", "0.05942 -&gt; 0.18"):
        assert words in page
