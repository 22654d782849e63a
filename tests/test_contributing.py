"""What CONTRIBUTING tells a newcomer to add is added to a copy of the library, as it says.

The first block of a recipe is one line of a list, and the second a complete file. Both go where the
recipe says, and nothing else is changed. In the copy the files pass style, types and contracts, the
other blocks of the page are run, and ``tests/contributed.py`` attacks what was added.
"""

import itertools
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINES = ("pyi", "text")
"""The languages of a line: an import, or an entry, which is no statement."""


class Recipe(NamedTuple):
    """What a section adds: a file, and a line of a list."""

    path: str
    text: str
    list_path: str
    line: str


def section(title):
    """Return a section of the page."""
    start = PAGE.index(f"## {title}\n")
    return PAGE[start:].partition("\n## ")[0]


def read_recipe(text):
    """Return what a recipe adds."""
    told = re.search(r"one file, `(\S+)`.*?\bone line in .*?`(src/\S+)`", text, re.DOTALL)
    blocks = BLOCK.findall(text)
    line = next(code for language, code in blocks if language in LINES)
    file = next(code for language, code in blocks if language == "python")
    return Recipe(told[1], file, told[2], line)


SECTIONS = (
    "Add a rule",
    "Add a certified rule",
    "Add a proposer",
    "Add a knowledge",
    "Add a wrapper",
    "Add a constraint",
    "Add a command",
)
RECIPES = {title: read_recipe(section(title)) for title in SECTIONS}
FOR_CHECKER = section("Add a knowledge").partition("A kind in the checker is ")[2]
CHECKER = Recipe(
    re.search(r"one file, here `(\S+)`", FOR_CHECKER)[1],
    BLOCK.findall(FOR_CHECKER)[0][1],
    re.search(r"`_KINDS` of `(\S+)`", FOR_CHECKER)[1],
    "".join(code for language, code in BLOCK.findall(FOR_CHECKER) if language in LINES),
)
ADDED = [*RECIPES.values(), CHECKER]
EACH = pytest.mark.parametrize("added", ADDED, ids=[Path(added.path).stem for added in ADDED])


def insert(text, line):
    """Return a list with a line: an import by the alphabet if there is one, all else last."""
    lines = text.splitlines(keepends=True)
    if line.startswith("from "):
        package = "from ." if line.startswith("from .") else "from surefoot."
        later = [i for i, each in enumerate(lines) if each.startswith(package) and each > line]
        in_order = later and "ruff: noqa: I001" not in text
        at = later[0] if in_order else lines.index("__all__: list[str]\n") - 1
    else:
        first = next(i for i, each in enumerate(lines) if re.match(r"(COMMANDS|_KINDS)\b", each))
        at = next(i for i in range(first, len(lines)) if lines[i][0] in ")}")
    return "".join([*lines[:at], line, *lines[at:]])


def run(*command, cwd=ROOT, **given):
    """Run a module of Python; fail with what it prints."""
    done = subprocess.run(
        [sys.executable, *command], cwd=cwd, capture_output=True, text=True, check=False, **given
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A copy of the library with everything that the page adds, and nothing else."""
    home = tmp_path_factory.mktemp("house")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "surefoot", home / "src" / "surefoot", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", home)
    for path, text, list_path, line in ADDED:
        file, listed = home / path, home / list_path
        assert not file.exists()
        file.write_text(text, encoding="utf-8")
        for one in line.splitlines(keepends=True) if path == CHECKER.path else [line]:
            before = listed.read_text(encoding="utf-8")
            listed.write_text(insert(before, one), encoding="utf-8")
    return home


def run_in(house, *command, **given):
    """Run a module of Python where the copy is the library, beside the tests."""
    where = os.pathsep.join([str(house / "src"), str(ROOT)])
    return run(*command, cwd=house, env=os.environ | {"PYTHONPATH": where}, **given)


def count_passed(house, file, *options):
    """Return how many tests of a file pass in the copy; fail if one does not."""
    where = ("-p", "no:cacheprovider", "-c", "pyproject.toml", "--rootdir", str(ROOT))
    out = run_in(house, "-m", "pytest", "-q", *where, str(file), *options)
    return int(re.search(r"(\d+) passed", out)[1])


def test_the_page_draws_the_packages_from_the_top_as_the_contract_has_them():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    (layers,) = [c["layers"] for c in contracts if c["type"] == "layers"]
    names = [name for layer in layers for name in re.findall(r"\w+", layer)]
    rows = re.findall(r"^\| (`.*?) \|", section("The tree"), re.MULTILINE)
    assert [name for row in rows for name in re.findall(r"`(\w+)`", row)] == names


@EACH
def test_a_recipe_is_short_and_imports_names_and_no_vocabulary(added):
    assert 30 <= len(added.text.splitlines()) <= 140
    assert "import *" not in added.text
    assert not re.search(r"import .*\b_\w", added.text)


@EACH
def test_the_file_and_the_list_have_the_style_of_the_library(added, house):
    run("-m", "ruff", "check", added.path, added.list_path, cwd=house)
    run("-m", "ruff", "format", "--check", added.path, added.list_path, cwd=house)


@pytest.mark.slow
def test_the_copy_has_the_types_of_the_library(house):
    if (ROOT / ".mypy_cache").is_dir():  # of the same files: only what was added is read
        shutil.copytree(ROOT / ".mypy_cache", house / ".mypy_cache", dirs_exist_ok=True)
    files = [path for added in ADDED for path in (added.path, added.list_path)]
    run("-m", "mypy", "--strict", *dict.fromkeys(files), cwd=house)


@pytest.mark.slow
def test_the_import_contracts_hold_with_the_files(house):
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    assert "0 broken" in run_in(house, "-c", code)


@pytest.mark.slow
def test_the_examples_of_the_files_are_right(house):
    files = [added.path for added in ADDED if ">>>" in added.text]
    assert files
    run_in(house, "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", "-o", "ELLIPSIS", *files)


@pytest.mark.slow
@pytest.mark.parametrize("title", [*SECTIONS[:-1], "Add a problem"])
def test_the_page_runs_where_its_files_were_added_and_prints_what_it_says(title, house):
    blocks = [*BLOCK.findall(section(title)), ("", "")]
    files, code, expected = {added.text for added in ADDED}, [], []
    for (language, block), (after, text) in itertools.pairwise(blocks):
        if language == "python" and block not in files:
            code += [block, "print('---')"]
            expected.append(text if after == "text" else "")
    printed = run_in(house, "-c", "\n".join(code)).split("---\n")
    assert printed == [*expected, ""]
    assert any(expected)


@pytest.mark.slow
def test_what_was_added_is_found_by_its_line_and_withstands_attacks(house):
    assert count_passed(house, ROOT / "tests" / "contributed.py") >= 50


@pytest.mark.slow
def test_the_rules_pass_the_contract_of_all_rules_on_every_backend(house):
    names = "FollowLeader or CertifiedSteps"
    contract = ROOT / "tests" / "contract" / "test_algorithms.py"
    assert count_passed(house, contract, "-k", names) >= 24
