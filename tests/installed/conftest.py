"""The wheel in an environment of its own, and what tools that read types say about programs."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import NamedTuple

import jedi
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Programs import libraries that are not in the environment: what they return, derive classes from
# and decorate functions with is anything then.
FOREIGN = {"reportMissingImports", "import-not-found", "import-untyped", "untyped-decorator"}
FOREIGN_BASE = '(has type "Any")'

collect_ignore_glob = ["programs/*"]  # they are read, and not run: most of their calls are wrong


class Said(NamedTuple):
    """What a tool says of a line."""

    file: str
    line: int
    severity: str  # "error", or "note" for a type that is revealed
    code: str
    text: str


class Installed(NamedTuple):
    """An environment with NumPy and the wheel alone."""

    python: Path

    def run(self, *command, cwd):
        """Return what a command prints in the environment; tools end with 1 if they find errors."""
        path = os.pathsep.join([str(self.python.parent), os.environ["PATH"]])
        own = {"PATH": path, "VIRTUAL_ENV": str(self.python.parents[1])}
        left_out = ("PYTHONPATH", "MYPYPATH")
        inherited = {name: value for name, value in os.environ.items() if name not in left_out}
        done = subprocess.run(
            [*map(str, command)], cwd=cwd, env=inherited | own, capture_output=True, text=True
        )
        assert done.returncode in (0, 1), done.stdout + done.stderr
        return done.stdout

    def jedi(self):
        return jedi.create_environment(self.python.parents[1], safe=False)


def tool(name):
    """The path of a tool beside this Python, as the development group installs it."""
    return Path(sysconfig.get_path("scripts")) / name


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """Build the wheel without its kernel, which has no types, and install it beside NumPy."""
    folder = tmp_path_factory.mktemp("installed")
    source, wheels, place = (folder / name for name in ("source", "wheels", "venv"))
    source.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(
        ROOT / "src", source / "src", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    )
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(wheels)]
    subprocess.run(
        build, cwd=source, env=os.environ | {"CC": "false"}, check=True, capture_output=True
    )
    venv.create(place, with_pip=False)
    (wheel,) = wheels.iterdir()
    there = Installed(place / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", str(there.python), "install", "--quiet"]
    options = ["--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*pip, *options, str(wheel)], check=True)
    (packages,) = place.glob("lib/python*/site-packages")
    for part in Path(np.__file__).parents[1].glob("numpy*"):
        (packages / part.name).symlink_to(part)
    return there


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """The programs of README, docs, examples and this folder, with no settings beside them.

    The blocks of a page are one program, as a reader types them; lines are those of the page.
    """
    folder = tmp_path_factory.mktemp("programs")
    for page in PAGES:
        text, program = page.read_text(encoding="utf-8"), ""
        for block in FENCE.finditer(text):
            line = text[: block.start(1)].count("\n")
            program += "\n" * (line - program.count("\n")) + block[1]
        if program:
            (folder / f"{page.stem}_md.py").write_text(program, encoding="utf-8")
    for file in [*ROOT.glob("examples/*.py"), *Path(__file__).parent.glob("programs/*.py")]:
        shutil.copy(file, folder)
    (folder / "pyrightconfig.json").write_text("{}", encoding="utf-8")
    return folder


def ask_pyright(there, folder):
    printed = there.run(tool("pyright"), "--outputjson", ".", cwd=folder)
    kinds = {"information": "note"}
    return [
        Said(
            Path(said["file"]).name,
            said["range"]["start"]["line"] + 1,
            kinds.get(said["severity"], said["severity"]),
            said.get("rule", ""),
            said["message"],
        )
        for said in json.loads(printed)["generalDiagnostics"]
    ]


def ask_mypy(there, folder):
    options = ["--strict", "--config-file=", f"--python-executable={there.python}"]
    options += ["--cache-dir=.mypy_cache", "--output=json"]
    printed = there.run(tool("mypy"), *options, ".", cwd=folder)
    lines = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    assert lines, printed
    return [
        Said(said["file"], said["line"], said["severity"], said["code"] or "", said["message"])
        for said in lines
    ]


@pytest.fixture(scope="session", params=[ask_pyright, ask_mypy], ids=["pyright", "mypy"])
def said(request, installed, programs):
    """What a tool without settings says of all programs, less the other libraries it misses."""
    found = request.param(installed, programs)
    is_foreign = [
        (s.code in FOREIGN and "surefoot" not in s.text) or FOREIGN_BASE in s.text for s in found
    ]
    return [s for s, foreign in zip(found, is_foreign, strict=True) if not foreign]
