"""``surefoot list``: what a specification can name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from surefoot.cli._exit import UsageError
from surefoot.cli._output import Json, argument, show, table
from surefoot.cli.options import Plugins, load_plugins

if TYPE_CHECKING:
    from surefoot.core.parameters import Parameter
    from surefoot.rules import Entry

Facts: TypeAlias = dict[str, Any]
"""The facts about one entry, as plain data."""

HORIZON = 10**12
"""So long that every theorem has begun to hold; rates do not depend on it."""


def list_(
    what: Annotated[
        str | None,
        argument(
            "algorithms|problems|literature|NAME", "What to list, or the name of one to describe."
        ),
    ] = None,
    plugin: Plugins = None,
    json: Json = False,
) -> None:
    """List the algorithms and problems that a specification can name.

    For each algorithm and each of its theorems: the feedback needed per round, what is promised of
    the constraint, the theorem that bounds the regret by what was played, the rate of the regret
    bound in advance, the work per update, its source, and whether the rule is as published. For
    each problem: a description; `surefoot calibrate` shows which theorems apply to it. For each
    work of the paper's bibliography: what runs here. Give a name to see its tunings and parameters,
    or its arguments; also that of a filter or a wrapper, which `surefoot serve` takes and a
    specification does not: SafetyFilter, RegionFilter, Certified, Averaged, Delayed, Measuring.

    Examples:
      surefoot list
      surefoot list PFS
      surefoot list algorithms
      surefoot list random_polytope --json
    """
    from surefoot import rules as named_rules
    from surefoot.controller.configuring import rules_by_name
    from surefoot.experiments.build import ALGORITHMS_BY_NAME, PROBLEMS, YOUR_OWN, unknown

    load_plugins(plugin)
    more = {name: getattr(named_rules, name) for name in _ASK_FOR_MORE}
    rules = {**ALGORITHMS_BY_NAME, **more, **rules_by_name()}
    if what in rules or what in PROBLEMS:
        one = _algorithm(rules[what]) if what in rules else _problem(what)
        show(json, {"algorithm" if what in rules else "problem": one}, _details(one))
    elif what is None or what in _KINDS:
        lists = {kind: make() for kind, make in _KINDS.items() if what in (None, kind)}
        show(json, lists, _tables(lists))
    else:
        names = [*_KINDS, *PROBLEMS, *rules]
        raise UsageError(unknown("name", str(what), names, YOUR_OWN))


# --- what there is --------------------------------------------------------------------------------


def _algorithms() -> list[Facts]:
    from surefoot.core.types import needs_of
    from surefoot.experiments.build import ALGORITHMS_BY_NAME, list_plugins
    from surefoot.rules import feedback_words

    rows = [
        {
            "name": entry.name,
            "algorithm": entry.algorithm,
            "tuning": entry.tuning,
            "feedback": entry.feedback,
            **_state_parts(entry),
            "work": entry.work,
            "from": entry.source.work,
            "rule": entry.source.rule,
        }
        for entry in _theorems()
    ]
    for plugin in list_plugins():
        for name in plugin.algorithms:
            needs = needs_of(ALGORITHMS_BY_NAME[f"{plugin.name}:{name}"])
            row = {"name": name, "algorithm": name, "tuning": ""}
            row |= {"feedback": feedback_words(needs), **dict.fromkeys(_PARTS, "")}
            row |= {"work": needs.work}
            rows.append(row | {"from": f"plugin {plugin.name}", "rule": "your own"})
    return rows


def _state_parts(entry: Entry) -> Facts:
    """Return the three parts of what a theorem promises, in words."""
    parts = (entry.feasibility, entry.observed, entry.in_advance)
    return dict(zip(_PARTS, parts, strict=True))


def _theorems() -> Iterator[Entry]:
    """Yield every theorem, for constants and a set that it applies to."""
    from surefoot import rules as named_rules
    from surefoot.core.algorithm import constructors_of
    from surefoot.core.constants import Constants
    from surefoot.core.types import needs_of
    from surefoot.rules import ALGORITHMS, Entry, source_of, try_tuning
    from surefoot.sets import Ball, Box, Simplex

    constants = Constants(**_SOME)
    for kind in ALGORITHMS:
        needs = needs_of(kind)
        region: Any = Simplex(2) if needs.domain == "simplex" else Box([-0.5, -0.5], [0.5, 0.5])
        region = Ball(0.5, [0.0, 0.0]) if needs.smooth_queries else region
        for tuning in kind.tunings:
            yield try_tuning(kind, tuning, constants, HORIZON, Ball(1.0), region)
    for name, more in _ASK_FOR_MORE.items():
        kind = getattr(named_rules, name)
        for tuning in constructors_of(kind):
            tuned = getattr(kind, tuning)(constants, HORIZON, **more)
            yield Entry(name, tuning, tuned, "", source_of(kind))
    for name in _WITHOUT_CONSTANTS:
        kind = getattr(named_rules, name)
        yield Entry(name, "unknown", kind.unknown(Ball(1.0)), "", source_of(kind))


_ASK_FOR_MORE: dict[str, Facts] = {
    "NetworkPenalty": {"mixing": [[0.5, 0.5], [0.5, 0.5]]},
    "MovingBalls": {"cost_curvature": 1.0},
}
"""Rules whose theorems need more than constants, a horizon and a set, and some of it."""

_WITHOUT_CONSTANTS = ("LeaderFollower", "ValuesFollower", "RegionFilter", "CertifiedOGD")
"""Rules with a tuning for a constant that nobody knows."""

_ONES = ("R", "G_f", "G_g", "sigma", "start_reach", "D_g", "strong_convexity", "beta")
_SOME: Facts = {
    **dict.fromkeys((*_ONES, "cost_bound", "slater_cost"), 1.0),
    **dict.fromkeys(("epsilon", "start_slack", "slater_margin"), 0.5),
    **dict.fromkeys(("F", "rows"), 2),
}
"""Constants that every theorem applies to."""


def _problems() -> list[Facts]:
    from surefoot.experiments.build import PROBLEMS

    return [_problem(name) for name in PROBLEMS if ":" not in name]


def _literature() -> list[Facts]:
    from surefoot.experiments.paper.related import BIBLIOGRAPHY, NEIGHBOURS

    return [
        {"work": work, "here": [{"name": one} for one in names], "as": standing, "note": note}
        for work, standing, names, note in (*BIBLIOGRAPHY, *NEIGHBOURS)
    ]


_PARTS = ("feasibility", "observed", "in_advance")
"""The three parts of a promise, a column each."""

_KINDS = {"algorithms": _algorithms, "problems": _problems, "literature": _literature}


def _problem(name: str) -> Facts:
    from surefoot.experiments.build import PROBLEMS

    entry = PROBLEMS[name]
    arguments = [
        {"name": n, **_default(one.default), "about": _plain(entry.about.get(n, ""))}
        for n, one in entry.arguments().items()
    ]
    return {"name": name, "about": _plain(entry.text), "arguments": arguments}


def _algorithm(kind: type[Any]) -> Facts:
    from surefoot.core.algorithm import constructors_of
    from surefoot.core.parameters import parameters_of
    from surefoot.experiments.build import FULL_NAMES, plain_parameters_of
    from surefoot.rules import source_of

    promises = {entry.name: _state_parts(entry) for entry in _theorems()}
    none = dict.fromkeys(_PARTS, "")
    tunings = [
        {
            "name": tuning,
            **promises.get(f"{kind.__name__}.{tuning}", none),
            "options": _parameters(parameters_of(make)),
            "about": _first_line(make),
        }
        for tuning in constructors_of(kind)
        for make in [getattr(kind, tuning)]
    ]
    return {
        "name": kind.__name__,
        "about": _first_line(kind),
        "from": source_of(kind).work,
        "rule": "your own" if kind.__name__ in FULL_NAMES else source_of(kind).rule,
        "tunings": tunings,
        "parameters": _parameters(plain_parameters_of(kind)),
    }


def _parameters(options: Mapping[str, Parameter]) -> list[Facts]:
    return [{"name": n, "kind": p.form, **_default(p.default)} for n, p in options.items()]


def _default(value: Any) -> Facts:
    return {"required": value is ..., "default": None if value is ... else value}


def _first_line(thing: Any) -> str:
    return _plain((inspect.getdoc(thing) or "").split("\n")[0].rstrip("."))


_SIGNS = {"le": "<=", "top": "T", "lceil": "ceil(", "rceil": ")"}
"""What commands of TeX are in plain text, if not their names."""


def _plain(text: str) -> str:
    r"""Return the words of a docstring for a terminal, formulas as one would type them.

    >>> print(_plain(r"blocks of :math:`\lceil\sqrt T\rceil`, regret :math:`O(T^{3/4})`"))
    blocks of ceil(sqrt T), regret O(T^(3/4))
    """
    text = re.sub(r":\w+:`~?(?:surefoot[\w.]*\.)?([^`]*)`", r"\1", text.replace("``", "'"))
    text = re.sub(r"\\tfrac\{(\w+)\}", r"\1/", text)
    text = re.sub(r"(?<!\\)[{}]", lambda brace: "()"[brace[0] == "}"], text)
    text = re.sub(r"\\([A-Za-z]+)", lambda command: f" {_SIGNS.get(command[1], command[1])} ", text)
    text = " ".join(re.sub(r"\\([{}|])", r"\1", text).split())
    # Names of commands stand apart from letters, not from brackets and signs.
    text = re.sub(r"(?<=[(\[{|/^]) | (?=[)\]}/^_,;:]|-[a-z])", "", text)
    return re.sub(r"\b(sqrt|max|min|log) \(", r"\1(", text)


# --- as text --------------------------------------------------------------------------------------


def _tables(lists: Mapping[str, Sequence[Facts]]) -> Iterator[str]:
    for i, (kind, things) in enumerate(lists.items()):
        yield from ("",) * bool(i)
        yield from _table("work" if kind == "literature" else kind.removesuffix("s"), things)


def _table(first: str, things: Sequence[Facts]) -> Iterator[str]:
    """Yield a table with a column for each key; the first has another name."""
    head = [name for name in things[0] if name not in ("algorithm", "tuning")]
    rows = [[_word(thing[name]) for name in head] for thing in things]
    yield from table([first, *(name.replace("_", " ") for name in head[1:])], rows)


def _details(one: Facts) -> Iterator[str]:
    yield f"{one['name']}: {one['about']}"
    if "from" in one:
        yield f"from {one['from']}; the rule is {one['rule']}"
    for parts in ("tunings", "arguments", "parameters"):
        if one.get(parts):
            yield from ("", *_table(parts.removesuffix("s"), one[parts]))


def _word(value: Any) -> str:
    """Return a value in words: names with their defaults, with commas between them."""
    if isinstance(value, bool):
        return "yes" if value else ""
    if not isinstance(value, list):
        return "" if value is None else str(value)
    pairs = ((one["name"], one.get("default")) for one in value)
    return ", ".join(n if default is None else f"{n} = {default}" for n, default in pairs)
