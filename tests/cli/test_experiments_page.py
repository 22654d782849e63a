"""The page on experiments is in step with the code: keys, exit codes, commands, arrays."""

import inspect
import json
import re
import shlex
import typing
from pathlib import Path

import pytest
import typer

from surefoot.cli import _exit
from surefoot.cli.app import app
from surefoot.core.parameters import parameters_of
from surefoot.experiments import Spec
from surefoot.experiments.build import PROBLEMS, Amount
from surefoot.experiments.cells import cells_of
from surefoot.experiments.specification import AlgorithmRow, ProblemKeys, Recording
from surefoot.experiments.toml import parse_spec

PAGE = Path(__file__).parents[2] / "docs" / "experiments.md"
TEXT = PAGE.read_text(encoding="utf-8")


def line(*cells):
    return "| " + " | ".join(cells) + " |"


def described(table):
    """What the docstring of a table says of its keys."""
    text = inspect.getdoc(table).partition("Attributes:")[2]
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", text, re.MULTILINE)
    return {name: " ".join(words.split()).rstrip(".") for name, words in found}


def default_of(value):
    return "required" if value is ... else "" if value is None else f"`{json.dumps(value)}`"


def lines_of(table, *without):
    """The lines of a table of keys."""
    about = described(table)
    for name, parameter in parameters_of(table).items():
        if name not in without:
            default = default_of(parameter.default)
            yield line(f"`{name}`", parameter.rule, default, about.get(name, ""))


def kind(annotation):
    """What may stand for an argument of a problem, in words."""
    words = {int: "whole number", float: "number", str: "text", bool: "true or false"}
    parts = [part for part in typing.get_args(annotation) if part is not type(None)]
    if typing.get_origin(annotation) is typing.Literal:
        return " or ".join(f"`{json.dumps(part)}`" for part in parts)
    if typing.get_origin(annotation) is tuple:
        return f"list of {len(parts)} {words[parts[0]]}s"
    return words[parts[0] if parts else annotation]


def problem_lines():
    for name, entry in PROBLEMS.items():
        annotations = typing.get_type_hints(entry.make)
        for argument, parameter in entry.arguments().items():
            default, annotation = parameter.default, annotations[argument]
            about = entry.about[argument]
            default = default_of(default)
            yield line(f"`{name}`", f"`{argument}`", kind(annotation), default, about.rstrip("."))


def table(first):
    """The lines of the page's table whose first column has this head."""
    lines = TEXT.splitlines()
    (head,) = [i for i, text in enumerate(lines) if text.startswith(f"| {first} |")]
    end = next(i for i in range(head, len(lines)) if not lines[i].startswith("|"))
    return lines[head + 2 : end]


LISTED = ("recording", "problems", "algorithms", "data")  # tables of their own


@pytest.mark.parametrize(
    ("first", "wanted"),
    [
        ("key", lines_of(Spec, *LISTED)),
        ("key of `[recording]`", lines_of(Recording)),
        ("key of every `[[problems]]`", lines_of(ProblemKeys)),
        ("problem", problem_lines()),
        ("key of `[[algorithms]]`", lines_of(AlgorithmRow)),
        ("key of an amount", lines_of(Amount)),
    ],
)
def test_the_page_has_every_key_with_its_limits_and_its_default(first, wanted):
    wanted = list(wanted)
    assert table(first) == wanted, "the table should be:\n" + "\n".join(wanted)


def test_the_page_has_every_exit_code():
    codes = [int(text.split("|")[1]) for text in table("code")]
    named = ("OK", "RUNTIME", "USAGE", "PARTIAL", "INTERRUPTED")
    assert codes == [getattr(_exit, name) for name in named]


def test_every_specification_of_the_page_is_one():
    found = re.findall(r"^```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert found
    for text in found:
        assert list(cells_of(parse_spec(text)))


def commands():
    for block in re.findall(r"^```sh\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL):
        for text in block.replace("\\\n", " ").splitlines():
            if text.startswith("surefoot"):
                yield re.split("[#>]", text)[0].strip()


@pytest.mark.parametrize("command", list(commands()))
def test_every_command_of_the_page_can_be_given(command):
    _, name, *words = shlex.split(command)
    typer.main.get_command(app).commands[name].make_context(name, words)
