"""The page on experiments is in step with the code: keys, exit codes, commands, arrays."""

import json
import re
import shlex
from pathlib import Path

import pytest
import typer
from pydantic import BaseModel

from surefoot.cli import _exit
from surefoot.cli.app import app
from surefoot.experiments.grid import cells_of
from surefoot.experiments.problems import PROBLEMS, ProblemRow
from surefoot.experiments.spec import Spec
from surefoot.experiments.tables import AlgorithmRow, Amount, Base, Recording
from surefoot.experiments.toml import parse_spec

PAGE = Path(__file__).parents[2] / "docs" / "experiments.md"
TEXT = PAGE.read_text(encoding="utf-8")


def kind(schema, definitions):
    """What may stand for a key, in words, from its JSON schema."""
    if "anyOf" in schema:
        return kind(schema["anyOf"][0], definitions)
    if "$ref" in schema:
        return kind(definitions[schema["$ref"].rsplit("/")[-1]], definitions)
    if "enum" in schema:
        *others, last = (json.dumps(word) for word in schema["enum"])
        return f"`{'`, `'.join(others)}` or `{last}`"
    words = {"integer": "whole number", "number": "number", "string": "text", "object": "table"}
    if schema["type"] == "array":
        pair = schema.get("prefixItems")
        each = kind(schema["items"] if pair is None else pair[0], definitions)
        each = re.sub("number|text", lambda found: f"{found[0]}s", each, count=1)
        return f"list of {each}" if pair is None else f"list of {len(pair)} {each}"
    low, high = schema.get("minimum"), schema.get("maximum")
    limits = f", {low:,} to {high:,}" if high is not None else ""
    if high is None and low is not None:
        limits = f", at least {low:g}"
    if "exclusiveMinimum" in schema:
        limits = f", more than {schema['exclusiveMinimum']:g}"
    if "exclusiveMaximum" in schema:
        limits = ", at least 0"  # a seed: its upper limit is of no interest
    return words[schema["type"]] + limits


def line(*cells):
    return "| " + " | ".join(cells) + " |"


def lines_of(model: type[BaseModel], *without, before=()):
    """The lines of a table of keys."""
    schema = model.model_json_schema()
    definitions = schema.get("$defs", {})
    if "properties" not in schema:  # one that refers to itself
        schema = definitions[schema["$ref"].rsplit("/")[-1]]
    for key, field in model.model_fields.items():
        if key in without:
            continue
        mine = schema["properties"][key]
        default = "required" if field.is_required() else ""
        if not field.is_required() and field.default not in (None, {}):
            default = f"`{json.dumps(field.default)}`"
        words = kind(mine, definitions)
        yield line(*before, f"`{key}`", words, default, field.description or "")


def table(first):
    """The lines of the page's table whose first column has this head."""
    lines = TEXT.splitlines()
    (head,) = [i for i, text in enumerate(lines) if text.startswith(f"| {first} |")]
    end = next(i for i in range(head, len(lines)) if not lines[i].startswith("|"))
    return lines[head + 2 : end]


LISTED = ("recording", "problems", "algorithms")  # tables of their own


@pytest.mark.parametrize(
    ("first", "wanted"),
    [
        ("key", lines_of(Spec, *LISTED)),
        ("key of `[recording]`", lines_of(Recording)),
        (
            "key of every `[[problems]]`",
            sorted(lines_of(ProblemRow), key=lambda text: "`name`" not in text),
        ),
        (
            "problem",
            [
                text
                for name, entry in PROBLEMS.items()
                for text in lines_of(entry.model, "name", "label", "trials", before=[f"`{name}`"])
            ],
        ),
        ("key of `[[algorithms]]`", lines_of(AlgorithmRow)),
        ("key of an amount", lines_of(Amount)),
    ],
)
def test_the_page_has_every_key_with_its_limits_and_its_default(first, wanted):
    wanted = list(wanted)
    assert table(first) == wanted, "the table should be:\n" + "\n".join(wanted)


def test_the_algorithm_inside_another_has_no_key_that_the_page_does_not_have():
    assert Base.model_fields.keys() < AlgorithmRow.model_fields.keys()


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
