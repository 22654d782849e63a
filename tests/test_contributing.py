"""What CONTRIBUTING tells a newcomer to add is added to a copy of the library, as it says.

The first block of each section is a complete file. It is written to the folder that the section
names, the line that it names goes into the package, and the other blocks of the page are run there.
The files pass the style, the types and the import contracts of the library.
"""

import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Added(NamedTuple):
    """What a section adds: a file of a package, and the line of the package."""

    path: str
    text: str
    line: str

    @property
    def package(self) -> str:
        return str(Path(self.path).parent / "__init__.pyi")


def section(title):
    """Return a section of the page."""
    start = PAGE.index(f"## {title}\n")
    return PAGE[start:].partition("\n## ")[0]


def added_by(title):
    """Return what a section adds."""
    text = section(title)
    folder = re.search(r"one file in `(src/surefoot/[\w/]+)/`", text)[1]
    package = re.search(r"and one line\s+in `([\w/]+)/__init__\.pyi`", text)[1]
    assert folder.endswith(package)
    name = re.search(r"file is complete,\s+`(\w+\.py)`", text)[1]
    line = re.search(r"The line is `(from \S+ import [\w, ]+)`", text)[1]
    code = next(code for language, code in BLOCK.findall(text) if language == "python")
    return Added(f"{folder}/{name}", code, line)


SECTIONS = ("Add an algorithm", "Add a constraint", "Add a region")
ADDED = [added_by(title) for title in SECTIONS]
EACH = pytest.mark.parametrize("added", ADDED, ids=SECTIONS)


def insert(text, line):
    """Return a stub with a line: where the alphabet has it, or last where the order is another."""
    lines = text.splitlines(keepends=True)
    later = [i for i, other in enumerate(lines) if other.startswith("from ") and other > line]
    end = lines.index("__all__: list[str]\n") - 1
    at = later[0] if later and "ruff: noqa: I001" not in text else end
    return "".join([*lines[:at], f"{line}\n", *lines[at:]])


def run(*command, cwd=ROOT, **given):
    """Run a module of Python; fail with what it prints."""
    done = subprocess.run(
        [sys.executable, *command], cwd=cwd, capture_output=True, text=True, check=False, **given
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A copy of the library with everything that the page adds."""
    home = tmp_path_factory.mktemp("house")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "surefoot", home / "src" / "surefoot", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", home)
    for path, text, line in ADDED:
        file, package = home / path, (home / path).parent / "__init__.pyi"
        assert not file.exists()
        file.write_text(text, encoding="utf-8")
        before = package.read_text(encoding="utf-8")
        package.write_text(insert(before, line), encoding="utf-8")
    return home


def run_in(house, *command, **given):
    """Run a module of Python where the copy is the library."""
    return run(*command, cwd=house, env=os.environ | {"PYTHONPATH": str(house / "src")}, **given)


@EACH
def test_the_file_and_the_package_have_the_style_of_the_library(added, house):
    run("-m", "ruff", "check", added.path, added.package, cwd=house)
    run("-m", "ruff", "format", "--check", added.path, added.package, cwd=house)


@EACH
def test_the_file_imports_names_and_no_vocabulary(added):
    assert "import *" not in added.text
    assert not re.search(r"import .*\b_\w", added.text)


@pytest.mark.slow
def test_the_files_have_the_types_of_the_library(tmp_path):
    # Not in the copy: mypy would read all of it anew.
    files = []
    for added in ADDED:
        files.append(tmp_path / Path(added.path).name)
        files[-1].write_text(added.text, encoding="utf-8")
    run("-m", "mypy", "--strict", *files, env=os.environ | {"MYPYPATH": str(ROOT / "src")})


@pytest.mark.slow
def test_the_import_contracts_hold_with_the_files(house):
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    assert "0 broken" in run_in(house, "-c", code)


@pytest.mark.slow
@pytest.mark.parametrize("title", [*SECTIONS, "Add a problem"])
def test_the_page_runs_where_its_files_were_added_and_prints_what_it_says(title, house):
    found = [*BLOCK.findall(section(title)), ("", "")]
    files, code, wanted = {added.text for added in ADDED}, [], []
    for (language, block), (after, text) in itertools.pairwise(found):
        if language == "python" and block not in files:
            code += [block, "print('---')"]
            wanted.append(text if after == "text" else "")
    printed = run_in(house, "-c", "\n".join(code)).split("---\n")
    assert printed == [*wanted, ""]
    assert any(wanted)


FOUND = """
from surefoot.rules import ALGORITHMS, catalogue; from surefoot.rules import ShortSteps
from surefoot import problems
from surefoot.problems import constraints
from surefoot.knowledge import Knowledge
from surefoot.knowledge import KnownPrices

(rule,) = [rule for rule in ALGORITHMS if rule.__name__ == "Momentum"]
assert rule.tunings == ("anytime",)
toy = problems.binding_toy(1_000, trials=1)
(entry,) = [e for e in catalogue(toy.constants, 1_000, toy.domain) if e.algorithm == "Momentum"]
assert entry.name == "Momentum.anytime"
assert isinstance(entry.tuned.guarantee, ShortSteps)
assert (entry.feasibility, entry.observed, entry.in_advance) == ("every round", "none", "none")
assert "Between" in constraints.__all__
assert KnownPrices in Knowledge.__subclasses__()
"""


@pytest.mark.slow
def test_what_was_added_is_found_by_the_line(house):
    run_in(house, "-c", FOUND)


@pytest.mark.slow
def test_the_rule_passes_the_contract_of_all_rules_on_every_backend(house):
    tests = house / "tests"
    shutil.copytree(ROOT / "tests" / "contract", tests / "contract")
    for file in (ROOT / "tests").glob("*.py"):
        if file.name in ("__init__.py", "_own.py", "_tuned.py", "conftest.py"):
            shutil.copy(file, tests)
    where = ("-p", "no:cacheprovider", "tests/contract/test_algorithms.py")
    out = run_in(house, "-m", "pytest", "-q", *where, "-k", "Momentum")
    assert int(re.search(r"(\d+) passed", out)[1]) >= 16
