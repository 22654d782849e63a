"""``surefoot list``: what a specification can name."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from surefoot.cli._exit import Debug, UsageError
from surefoot.cli._output import Json, argument, option, say, say_json, table
from surefoot.cli._problem import Plugins, Settings, problem_named, use

if TYPE_CHECKING:
    from surefoot import Constants
    from surefoot.algorithms import Entry

__all__ = ["list_"]

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
    use(plugin)
    found = _found(what, problem, settings, horizon)
    if json:
        say_json(found)
    else:
        say(*_as_text(found))


def _found(
    what: str | None, problem: str | None, settings: Sequence[str] | None, horizon: int
) -> dict[str, Any]:
    from surefoot.algorithms import NetworkPenalty
    from surefoot.experiments.players import ALGORITHMS_BY_NAME
    from surefoot.experiments.problems import PROBLEMS

    rules = {**ALGORITHMS_BY_NAME, "NetworkPenalty": NetworkPenalty}
    if settings and problem is None:
        raise UsageError("--set needs --problem")
    if problem is not None and what not in (None, "algorithms"):
        raise UsageError(f"--problem is for algorithms, got '{what}' with it")
    if problem is not None or what == "algorithms":
        return {"algorithms": _algorithms(problem, settings, horizon)}
    if what == "problems":
        return {"problems": _problems()}
    if what == "literature":
        return {"literature": _literature()}
    if what is None:
        return {
            "algorithms": _algorithms(None, None, horizon),
            "problems": _problems(),
            "literature": _literature(),
        }
    if what in rules:
        return {"algorithm": _algorithm(rules[what])}
    if what in PROBLEMS:
        return {"problem": _problem(what)}
    from surefoot.experiments.mistakes import unknown
    from surefoot.experiments.specification import YOUR_OWN

    names = ["algorithms", "problems", "literature", *PROBLEMS, *rules]
    raise UsageError(unknown("name", what, names, YOUR_OWN))


# --- what there is --------------------------------------------------------------------------------


def _algorithms(
    problem: str | None, settings: Sequence[str] | None, horizon: int
) -> list[dict[str, Any]]:
    from surefoot.algorithms import catalogue

    there = None if problem is None else problem_named(problem, settings, horizon)
    found = [_entry(general) for general in _everywhere()]
    if there is not None:
        region = there.benchmark.region
        applied = catalogue(there.constants, horizon, there.domain, region)
        for row, entry in zip(found, applied, strict=True):
            row["applies"] = entry.tuned is not None
            row["because"] = entry.note
    agents = [_entry(entry) for entry in _on_networks()]
    if there is not None:
        alone = {"applies": False, "because": "it is for agents on a network: play_network"}
        agents = [row | alone for row in agents]
    mine = list(_plugged())
    if there is not None:
        mine = [row | {"applies": True, "because": "its parameters are yours"} for row in mine]
    return found + agents + mine


def _plugged() -> Iterator[dict[str, Any]]:
    """Yield the algorithms of plugins."""
    from surefoot.algorithms import feedback_words
    from surefoot.core.types import needs_of
    from surefoot.experiments.players import ALGORITHMS_BY_NAME
    from surefoot.experiments.plugins import loaded

    for plugin in loaded():
        for name in plugin.algorithms:
            needs = needs_of(ALGORITHMS_BY_NAME[name])
            yield {
                "name": name,
                "algorithm": name,
                "tuning": "",
                "feedback": feedback_words(needs),
                "promise": "",
                "work": needs.work,
                "from": f"plugin {plugin.name}",
                "rule": "your own",
            }


def _everywhere() -> Iterator[Entry]:
    """Yield every theorem, for constants and a set that it applies to."""
    from surefoot import Ball
    from surefoot.algorithms import ALGORITHMS, try_tuning
    from surefoot.core.types import needs_of
    from surefoot.sets import Box, Simplex

    box, simplex, disc = Box([-0.5, -0.5], [0.5, 0.5]), Simplex(2), Ball(0.5, [0.0, 0.0])
    for kind in ALGORITHMS:
        needs = needs_of(kind)
        region: Any = simplex if needs.domain == "simplex" else box
        region = disc if needs.smooth_queries else region
        for tuning in kind.tunings:
            yield try_tuning(kind, tuning, _some_constants(), HORIZON, Ball(1.0), region)


def _on_networks() -> Iterator[Entry]:
    """Yield the theorems of the rules for several agents, which a mixing matrix is needed for."""
    from surefoot.algorithms import Entry, NetworkPenalty, source_of

    both = [[0.5, 0.5], [0.5, 0.5]]
    for tuning in ("trade_off", "strongly_convex"):
        tuned = getattr(NetworkPenalty, tuning)(_some_constants(), HORIZON, mixing=both)
        yield Entry("NetworkPenalty", tuning, tuned, "", source_of(NetworkPenalty))


def _some_constants() -> Constants:
    from surefoot import Constants

    return Constants(
        R=1.0,
        G_f=1.0,
        G_g=1.0,
        sigma=1.0,
        epsilon=0.5,
        start_slack=0.5,
        start_reach=1.0,
        F=2.0,
        D_g=1.0,
        rows=2,
        strong_convexity=1.0,
        beta=1.0,
        cost_bound=1.0,
        slater_margin=0.5,
        slater_cost=1.0,
    )


def _entry(entry: Entry) -> dict[str, Any]:
    shown = ("name", "algorithm", "tuning", "feedback", "promise", "work")
    own = {name: getattr(entry, name) for name in shown}
    return own | {"from": entry.source.work, "rule": entry.source.rule}


def _literature() -> list[dict[str, Any]]:
    from surefoot.experiments.paper.bibliography import BIBLIOGRAPHY

    return [
        {"work": cited.work, "here": list(cited.here), "as": cited.standing, "note": cited.note}
        for cited in BIBLIOGRAPHY
    ]


def _problems() -> list[dict[str, Any]]:
    from surefoot.experiments.problems import PROBLEMS

    return [_problem(name) for name in PROBLEMS]


def _problem(name: str) -> dict[str, Any]:
    from surefoot.experiments.problems import PROBLEMS

    entry = PROBLEMS[name]
    return {
        "name": name,
        "about": entry.text,
        "arguments": [
            {"name": n, **_default(argument.default), "about": argument.about}
            for n, argument in entry.arguments().items()
        ],
    }


def _algorithm(kind: type[Any]) -> dict[str, Any]:
    from surefoot.algorithms import source_of
    from surefoot.core.algorithm import constructors_of
    from surefoot.core.parameters import parameters_of
    from surefoot.experiments.players import FULL_NAMES, plain_parameters_of

    about = {entry.name: entry for entry in (*_everywhere(), *_on_networks())}
    tunings = []
    for tuning in constructors_of(kind):
        entry = about.get(f"{kind.__name__}.{tuning}")
        tunings.append(
            {
                "name": tuning,
                "about": _first_line(getattr(kind, tuning)),
                "promise": "" if entry is None else entry.promise,
                "options": _wanted(parameters_of(getattr(kind, tuning))),
            }
        )
    return {
        "name": kind.__name__,
        "about": _first_line(kind),
        "from": source_of(kind).work,
        "rule": "your own" if kind.__name__ in FULL_NAMES else source_of(kind).rule,
        "tunings": tunings,
        "parameters": _wanted(plain_parameters_of(kind)),
    }


def _wanted(options: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": n, "kind": w.form, **_default(w.default)} for n, w in options.items()]


def _default(value: Any) -> dict[str, Any]:
    return {"required": True} if value is ... else {"required": False, "default": value}


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").split("\n")[0].replace("``", "'").rstrip(".")


# --- as text --------------------------------------------------------------------------------------


def _as_text(found: dict[str, Any]) -> Iterator[str]:
    if algorithms := found.get("algorithms"):
        head = [name for name in algorithms[0] if name not in ("algorithm", "tuning")]
        rows = [[_word(entry[name]) for name in head] for entry in algorithms]
        yield from table(["algorithm", *head[1:]], rows, paint={"yes": "32", "no": "33"})
    if len(found) > 1:
        yield ""
    if problems := found.get("problems"):
        rows = [[entry["name"], entry["about"], _names(entry["arguments"])] for entry in problems]
        yield from table(("problem", "about", "arguments"), rows)
    if len(found) > 1:
        yield ""
    if literature := found.get("literature"):
        rows = [[e["work"], ", ".join(e["here"]), e["as"], e["note"]] for e in literature]
        yield from table(("cited by the paper", "here", "as", "note"), rows)
    if one := found.get("problem"):
        yield f"{one['name']}: {one['about']}"
        if one["arguments"]:
            rows = [[a["name"], _default_word(a), a["about"]] for a in one["arguments"]]
            yield from ("", *table(("argument", "default", "about"), rows))
    if one := found.get("algorithm"):
        yield f"{one['name']}: {one['about']}"
        yield f"from {one['from']}; the rule is {one['rule']}"
        if one["tunings"]:
            rows = [
                [t["name"], t["promise"], _names(t["options"]), t["about"]] for t in one["tunings"]
            ]
            yield from ("", *table(("tuning", "promise", "options", "about"), rows))
        if one["parameters"]:
            words = "or with your own parameters" if one["tunings"] else "parameters"
            yield from ("", f"{words}: {_names(one['parameters'])}")


def _word(value: Any) -> str:
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else value


def _names(things: Sequence[dict[str, Any]]) -> str:
    return ", ".join(
        t["name"] if t["required"] or t["default"] is None else f"{t['name']} = {t['default']}"
        for t in things
    )


def _default_word(argument: dict[str, Any]) -> str:
    if argument["required"]:
        return "required"
    return "none" if argument["default"] is None else str(argument["default"])
