"""The specification that `surefoot new` writes: commented, complete, quick to play."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files

from surefoot.core.algorithm import constructors_of
from surefoot.experiments.players import ALGORITHMS_BY_NAME, plain_parameters_of
from surefoot.experiments.plugins import Plugin
from surefoot.experiments.problems import PROBLEMS

_FILL_IN = {"number": "0.1", "any": "0.1", "whole": "1", "switch": "false", "word": '""'}


def starter(name: str) -> str:
    """Return the specification in the file beside this one, with another name."""
    text = files("surefoot.experiments").joinpath("starter.toml").read_text(encoding="utf-8")
    return re.sub(r"\bfirst\b", lambda _: name, text, count=2)


def starter_with(name: str, plugins: Sequence[Plugin]) -> str:
    """Return a specification of the problems and algorithms of plugins, and two of the library.

    What has no default is put in as a number to be changed, with a comment that says so.
    """
    given = " ".join(f"--plugin {plugin.name}" for plugin in plugins)
    lines = [
        f"# Play it with      surefoot run FILE {given}",
        "",
        f'name = "{name}"',
        "trials = 10",
        "horizons = [250, 500, 1000]",
        "",
        "[recording]",
        "every = 10",
    ]
    for title in [p for plugin in plugins for p in plugin.problems] or ["paper_toy"]:
        lines += ["", "[[problems]]", f'name = "{title}"', *_arguments(title)]
    for title in (a for plugin in plugins for a in plugin.algorithms):
        lines += ["", "[[algorithms]]", f'name = "{title}"', _parameters(title)]
    for title, tuning in (("LeaderFollower", "default"), ("PFS", "tuned")):
        lines += ["", "[[algorithms]]", f'name = "{title}"', f'tuning = "{tuning}"']
    return "\n".join([*lines, ""])


def _arguments(problem: str) -> Iterator[str]:
    for name, argument in PROBLEMS[problem].arguments().items():
        if argument.default is ...:
            yield f"{name} = 1  # your value"
        elif argument.default is not None:
            shown = json.dumps(argument.default)  # TOML writes these alike
            yield f"# {name} = {shown}"


def _parameters(algorithm: str) -> str:
    rule = ALGORITHMS_BY_NAME[algorithm]
    if tunings := constructors_of(rule):
        return f'tuning = "{tunings[0]}"'
    wanted = {n: w for n, w in plain_parameters_of(rule).items() if w.is_required}
    values = ", ".join(f"{n} = {_FILL_IN[w.form]}" for n, w in wanted.items())
    return f"parameters = {{ {values} }}" + "  # your values" * bool(wanted)
