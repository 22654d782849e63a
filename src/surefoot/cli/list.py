"""``surefoot list``: what a specification can name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from surefoot.cli._exit import Debug, UsageError
from surefoot.cli._output import Json, argument, option, say, say_json, table
from surefoot.cli.options import Plugins, Settings, build_named_problem, load_plugins

if TYPE_CHECKING:
    from surefoot.algorithms import Entry
    from surefoot.core.parameters import Parameter

HORIZON = 10**12
"""So long that every theorem has begun to hold; rates do not depend on it."""


def list_(
    what: Annotated[
        str | None,
        argument(
            "algorithms|problems|literature|NAME", "What to list, or the name of one to describe."
        ),
    ] = None,
    problem: Annotated[
        str | None, option("NAME", "Show for each algorithm whether it applies to this problem.")
    ] = None,
    settings: Settings = None,
    horizon: Annotated[int, option("N", "Number of rounds for --problem.", min=1)] = 10_000,
    plugin: Plugins = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """List the algorithms and problems that a specification can name.

    For each algorithm and each of its theorems: the feedback needed per round, the promise (on the
    constraint and on the regret), the work per update, where it comes from, and whether its rule is
    that of the source. With --problem also whether the theorem applies to that problem, and if not,
    why not. For each problem: a description. For each work of the paper's bibliography: what runs
    here. Give the name of one to see its tunings and parameters, or its arguments.

    Examples:
      surefoot list
      surefoot list PFS
      surefoot list algorithms --problem paper_toy --horizon 20000
      surefoot list random_polytope --json
    """
    load_plugins(plugin)
    found = _select(what, problem, settings, horizon)
    if json:
        say_json(found)
    else:
        say(*_as_text(found))


def _select(
    what: str | None, problem: str | None, settings: Sequence[str] | None, horizon: int
) -> dict[str, Any]:
    """Return what is asked for, as plain data."""
    from surefoot.algorithms import NetworkPenalty
    from surefoot.experiments.mistakes import unknown
    from surefoot.experiments.players import ALGORITHMS_BY_NAME
    from surefoot.experiments.problems import PROBLEMS
    from surefoot.experiments.specification import YOUR_OWN

    rules = {**ALGORITHMS_BY_NAME, "NetworkPenalty": NetworkPenalty}
    if settings and problem is None:
        raise UsageError("--set needs --problem")
    if problem is not None and what not in (None, "algorithms"):
        raise UsageError(f"--problem is for algorithms, got '{what}' with it")
    kinds: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "algorithms": lambda: _algorithms(problem, settings, horizon),
        "problems": lambda: [_problem(name) for name in PROBLEMS if ":" not in name],
        "literature": _literature,
    }
    if problem is not None:
        what = "algorithms"
    if what is None:
        return {kind: make() for kind, make in kinds.items()}
    if what in kinds:
        return {what: kinds[what]()}
    if what in rules:
        return {"algorithm": _algorithm(rules[what])}
    if what in PROBLEMS:
        return {"problem": _problem(what)}
    raise UsageError(unknown("name", what, [*kinds, *PROBLEMS, *rules], YOUR_OWN))


# --- what there is --------------------------------------------------------------------------------


def _algorithms(
    problem: str | None, settings: Sequence[str] | None, horizon: int
) -> list[dict[str, Any]]:
    from surefoot.algorithms import catalogue

    agents, own = [_entry(entry) for entry in _theorems_of_agents()], _of_plugins()
    found = [_entry(entry) for entry in _theorems()]
    if problem is not None:
        there = build_named_problem(problem, settings, horizon)
        region = there.benchmark.region
        applied = catalogue(there.constants, horizon, there.domain, region)
        for row, entry in zip(found, applied, strict=True):
            row |= {"applies": entry.tuned is not None, "because": entry.note}
        for row in agents:
            row |= {"applies": False, "because": "it is for agents on a network: play_network"}
        for row in own:
            row |= {"applies": True, "because": "its parameters are yours"}
    return found + agents + own


def _entry(entry: Entry) -> dict[str, Any]:
    shown = ("name", "algorithm", "tuning", "feedback", "promise", "work")
    own = {name: getattr(entry, name) for name in shown}
    return own | {"from": entry.source.work, "rule": entry.source.rule}


def _of_plugins() -> list[dict[str, Any]]:
    from surefoot.algorithms import feedback_words
    from surefoot.core.types import needs_of
    from surefoot.experiments.players import ALGORITHMS_BY_NAME
    from surefoot.experiments.plugins import loaded

    return [
        {
            "name": name,
            "algorithm": name,
            "tuning": "",
            "feedback": feedback_words(needs),
            "promise": "",
            "work": needs.work,
            "from": f"plugin {plugin.name}",
            "rule": "your own",
        }
        for plugin in loaded()
        for name in plugin.algorithms
        for needs in [needs_of(ALGORITHMS_BY_NAME[f"{plugin.name}:{name}"])]
    ]


def _theorems() -> Iterator[Entry]:
    """Yield every theorem, for constants and a set that it applies to."""
    from surefoot.algorithms import ALGORITHMS, try_tuning
    from surefoot.core.constants import Constants
    from surefoot.core.types import needs_of
    from surefoot.sets import Ball, Box, Simplex

    constants = Constants(**_SOME)
    for kind in ALGORITHMS:
        needs = needs_of(kind)
        region: Any = Simplex(2) if needs.domain == "simplex" else Box([-0.5, -0.5], [0.5, 0.5])
        region = Ball(0.5, [0.0, 0.0]) if needs.smooth_queries else region
        for tuning in kind.tunings:
            yield try_tuning(kind, tuning, constants, HORIZON, Ball(1.0), region)


def _theorems_of_agents() -> Iterator[Entry]:
    """Yield the theorems of the rules for several agents, which a mixing matrix is needed for."""
    from surefoot.algorithms import Entry, NetworkPenalty, source_of
    from surefoot.core.constants import Constants

    constants, both = Constants(**_SOME), [[0.5, 0.5], [0.5, 0.5]]
    for tuning in ("trade_off", "strongly_convex"):
        tuned = getattr(NetworkPenalty, tuning)(constants, HORIZON, mixing=both)
        yield Entry("NetworkPenalty", tuning, tuned, "", source_of(NetworkPenalty))


_ONES = ("R", "G_f", "G_g", "sigma", "start_reach", "D_g", "strong_convexity", "beta")
_SOME: dict[str, Any] = {
    **dict.fromkeys((*_ONES, "cost_bound", "slater_cost"), 1.0),
    **dict.fromkeys(("epsilon", "start_slack", "slater_margin"), 0.5),
    **dict.fromkeys(("F", "rows"), 2),
}
"""Constants that every theorem applies to."""


def _literature() -> list[dict[str, Any]]:
    from surefoot.experiments.paper.bibliography import BIBLIOGRAPHY

    return [
        {"work": cited.work, "here": list(cited.here), "as": cited.standing, "note": cited.note}
        for cited in BIBLIOGRAPHY
    ]


def _problem(name: str) -> dict[str, Any]:
    from surefoot.experiments.problems import PROBLEMS

    entry = PROBLEMS[name]
    arguments = [
        {"name": n, **_default(argument.default), "about": argument.about}
        for n, argument in entry.arguments().items()
    ]
    return {"name": name, "about": entry.text, "arguments": arguments}


def _algorithm(kind: type[Any]) -> dict[str, Any]:
    from surefoot.algorithms import source_of
    from surefoot.core.algorithm import constructors_of
    from surefoot.core.parameters import parameters_of
    from surefoot.experiments.players import FULL_NAMES, plain_parameters_of

    promises = {entry.name: entry.promise for entry in (*_theorems(), *_theorems_of_agents())}
    tunings = [
        {
            "name": tuning,
            "about": _first_line(make),
            "promise": promises.get(f"{kind.__name__}.{tuning}", ""),
            "options": _parameters(parameters_of(make)),
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


def _parameters(options: Mapping[str, Parameter]) -> list[dict[str, Any]]:
    return [{"name": n, "kind": p.form, **_default(p.default)} for n, p in options.items()]


def _default(value: Any) -> dict[str, Any]:
    return {"required": True} if value is ... else {"required": False, "default": value}


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").split("\n")[0].replace("``", "'").rstrip(".")


# --- as text --------------------------------------------------------------------------------------


def _as_text(found: dict[str, Any]) -> Iterator[str]:
    texts: dict[str, Callable[[Any], Iterator[str]]] = {
        "algorithms": _algorithms_text,
        "problems": _problems_text,
        "literature": _literature_text,
        "problem": _problem_text,
        "algorithm": _algorithm_text,
    }
    for i, (kind, things) in enumerate(found.items()):
        yield from ("",) * bool(i)
        yield from texts[kind](things)


def _algorithms_text(entries: list[dict[str, Any]]) -> Iterator[str]:
    head = [name for name in entries[0] if name not in ("algorithm", "tuning")]
    words = {True: "yes", False: "no"}
    rows = [[words.get(e[n], e[n]) if n == "applies" else e[n] for n in head] for e in entries]
    yield from table(["algorithm", *head[1:]], rows, paint={"yes": "32", "no": "33"})


def _problems_text(entries: list[dict[str, Any]]) -> Iterator[str]:
    rows = [[entry["name"], entry["about"], _names(entry["arguments"])] for entry in entries]
    yield from table(("problem", "about", "arguments"), rows)


def _literature_text(entries: list[dict[str, Any]]) -> Iterator[str]:
    rows = [[e["work"], ", ".join(e["here"]), e["as"], e["note"]] for e in entries]
    yield from table(("cited by the paper", "here", "as", "note"), rows)


def _problem_text(one: dict[str, Any]) -> Iterator[str]:
    yield f"{one['name']}: {one['about']}"
    rows = [
        [a["name"], "required" if a["required"] else _shown(a["default"]), a["about"]]
        for a in one["arguments"]
    ]
    if rows:
        yield from ("", *table(("argument", "default", "about"), rows))


def _algorithm_text(one: dict[str, Any]) -> Iterator[str]:
    yield f"{one['name']}: {one['about']}"
    yield f"from {one['from']}; the rule is {one['rule']}"
    rows = [[t["name"], t["promise"], _names(t["options"]), t["about"]] for t in one["tunings"]]
    if rows:
        yield from ("", *table(("tuning", "promise", "options", "about"), rows))
    if one["parameters"]:
        words = "or with your own parameters" if rows else "parameters"
        yield from ("", f"{words}: {_names(one['parameters'])}")


def _names(things: Sequence[dict[str, Any]]) -> str:
    return ", ".join(
        t["name"] if t["required"] or t["default"] is None else f"{t['name']} = {t['default']}"
        for t in things
    )


def _shown(default: Any) -> str:
    return "none" if default is None else str(default)
