"""What a user's tools know of the installed library, without the settings of this project.

Pyright and mypy read every program of the pages and of the examples, and calls with mistakes; an
editor's completion knows the arguments of what a program calls.
"""

import importlib
import inspect
import json
import re
from operator import attrgetter
from pathlib import Path

import jedi
import pytest
from tests.installed.conftest import tool

from surefoot.rules import ALGORITHMS

pytestmark = pytest.mark.slow

PROGRAMS = Path(__file__).parent / "programs"
OWN = {file.name for file in PROGRAMS.glob("*.py")}
LEAST_COMPLETE = 0.98


def lines_of(name):
    """The lines of a program of this folder, by their numbers."""
    text = (PROGRAMS / name).read_text(encoding="utf-8")
    return dict(enumerate(text.splitlines(), 1))


def test_programs_of_pages_and_examples_have_no_error(said):
    found = [s for s in said if s.file not in OWN and s.severity == "error"]
    wrong = [f"{s.file}:{s.line}: {s.text} [{s.code}]" for s in found]
    assert not wrong, "\n".join(["", *wrong])


def test_each_wrong_call_is_reported_on_its_line(said):
    lines = lines_of("wrong_calls.py")
    blank = max(number for number, line in lines.items() if not line)
    reported = {s.line for s in said if s.file == "wrong_calls.py" and s.severity == "error"}
    wrong = [lines[n] for n in lines if (n in reported) != (n > blank)]
    assert not wrong, "\n".join(["", *wrong])


def test_an_editor_shows_complete_types(said):
    shown = {s.line: plain(s.text) for s in said if s.file == "revealed.py"}
    wrong = []
    for number, line in lines_of("revealed.py").items():
        if not line.startswith("reveal_type("):
            assert number not in shown, shown[number]
            continue
        wanted = line.rpartition("  # ")[2].split("; ")
        text = shown.get(number, "nothing")
        unknown = re.search(r"\bAny\b|\bUnknown\b|\.\.\.", text.replace("ndarray[Any,", "ndarray["))
        if unknown or not all(part in text for part in wanted):
            wrong.append(f"{line}: got {text}")
    assert not wrong, "\n".join(["", *wrong])


def plain(text):
    """A type without the modules of its names and the quotes around it."""
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", text).replace('"', "")


def test_public_types_are_complete(installed, tmp_path):
    command = [tool("pyright"), "--verifytypes", "surefoot", "--ignoreexternal", "--outputjson"]
    report = json.loads(installed.run(*command, cwd=tmp_path))["typeCompleteness"]
    incomplete = [s["name"] for s in report["symbols"] if s["isExported"] and not s["isTypeKnown"]]
    assert report["exportedSymbolCounts"]["withKnownType"] > 5_000  # it has read the library
    assert report["completenessScore"] >= LEAST_COMPLETE, incomplete


CALLED = {
    "Controller": "surefoot",
    "Problem": "surefoot",
    "Problem.of": "surefoot",
    "Constants": "surefoot",
    "compare": "surefoot",
    "play": "surefoot",
    "calibrate": "surefoot",
    "replay": "surefoot",
    "Fleet": "surefoot.controller",
} | {
    name: "surefoot.rules"
    for rule in ALGORITHMS
    for name in (rule.__name__, *(f"{rule.__name__}.{t}" for t in rule.constructors))
}


def test_an_editor_names_every_argument(installed):
    environment, wrong = installed.jedi(), []
    for name, module in CALLED.items():
        wanted = parameters_of(module, name)
        program = f"from {module} import {name.partition('.')[0]}\n{name}("
        found = jedi.Script(program, environment=environment).get_signatures()
        shown = [[p.name for p in signature.params] for signature in found]
        is_named = any(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in wanted)
        if not is_named or shown != [[p.name for p in wanted]]:
            wrong.append(f"{name}({', '.join(map(str, wanted))}): got {shown}")
    assert not wrong, "\n".join(["", *wrong])


def parameters_of(module, name):
    """What Python itself knows of the arguments."""
    called = attrgetter(name)(importlib.import_module(module))
    return list(inspect.signature(called).parameters.values())
