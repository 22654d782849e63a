"""The algorithms that a specification may name, and how a row becomes a player."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from surefoot.algorithms import ALGORITHMS, Tuned, domain_of
from surefoot.core.constants import Constants
from surefoot.core.parameters import Parameter, parameters_of
from surefoot.core.types import needs_of
from surefoot.problems import Problem

ALGORITHMS_BY_NAME: dict[str, type[Any]] = {
    rule.__name__: rule for rule in ALGORITHMS if not needs_of(rule).agents
}
"""The algorithms that play a problem by themselves, by name; those of plugins join them."""

FULL_NAMES: dict[str, str] = {}
"""The names of plugins' algorithms with their module, ``mine:Momentum``, by the short ones."""

Parameters: TypeAlias = dict[str, tuple[float | str, str]]
"""Every number of an algorithm, with its origin."""


def plain_parameters_of(rule: type[Any]) -> dict[str, Parameter]:
    """Return the parameters of an algorithm that a file may give; ``rows`` may be left out.

    Example:
        >>> {n: p.rule for n, p in plain_parameters_of(ALGORITHMS_BY_NAME["PFS"]).items()}
        {'eta': 'a finite number > 0', 'rho': 'a finite number >= 0'}
    """
    return {
        name: parameter._replace(default=None) if name == "rows" else parameter
        for name, parameter in parameters_of(rule).items()
        if parameter.is_plain and name not in ("domain", "base")
    }


def takes_base(rule: type[Any], tuning: str | None) -> bool:
    """Return whether a rule, or one of its tuned constructors, has an algorithm inside."""
    if tuning is None:
        return "base" in parameters_of(rule)
    return "base" in inspect.signature(getattr(rule, tuning)).parameters


def amount_at(value: Any, horizon: int) -> Any:
    """Return an amount at a horizon: ``times * T^power`` within ``at_least`` and ``at_most``.

    A number, a word or a switch is itself at every horizon.

    Example:
        >>> amount_at({"times": 9.0, "power": -0.5, "at_most": 0.45}, 2_500)
        0.18
    """
    if not isinstance(value, Mapping):
        return value
    times, power = value.get("times", 1.0), value.get("power", 0.0)
    try:
        found = times * float(horizon) ** power
    except OverflowError:
        found = math.copysign(math.inf, times)
    most, least = value.get("at_most"), value.get("at_least")
    if most is not None:
        found = min(found, most)
    return found if least is None else max(found, least)


def build_player(
    algorithm: Mapping[str, Any], problem: Problem, horizon: int
) -> tuple[Any, Parameters, Constants]:
    """Return an algorithm for a problem, every number that went into it, and its constants.

    Args:
        algorithm: ``name`` with ``tuning`` and ``options``, or with ``parameters``; ``base`` where
            it has one, and ``constants`` to replace some of the problem's. Plain data.
        problem: what it will play.
        horizon: rounds.

    Returns:
        The player, with its guarantee where a theorem tunes it; its parameters, each with its
        origin: the theorem's name, "specification", "default" or "problem"; and the constants, in
        which those that the specification replaced have the origin "given".

    Raises:
        InvalidValueError: a theorem or a constructor says no, in its own words.

    Example:
        >>> from surefoot.problems import paper_toy
        >>> toy = paper_toy(horizon=100, trials=1)
        >>> row = {"name": "PFS", "parameters": {"eta": {"power": -0.5}, "rho": 0.25}}
        >>> player, parameters, _ = build_player(row, toy, 100)
        >>> parameters["eta"], parameters["domain.radius"]
        ((0.1, 'specification'), (1.0, 'problem'))
    """
    constants = problem.constants
    if algorithm.get("constants"):
        constants = constants.with_origin("given", **algorithm["constants"])
    player, parameters = _build(algorithm, problem, constants, horizon)
    return player, parameters, constants


def _build(
    algorithm: Mapping[str, Any], problem: Problem, constants: Constants, horizon: int
) -> tuple[Any, Parameters]:
    rule = ALGORITHMS_BY_NAME[algorithm["name"]]
    place = domain_of(rule, problem.domain, problem.benchmark.region, algorithm.get("tuning"))
    if algorithm.get("tuning") is not None:
        tuned: Tuned[Any] = constructor_of(algorithm, horizon)(constants, horizon, place)
        parameters = numbers_of(tuned.algorithm, tuned.guarantee.name)
        # What the file gave is the file's; the theorem's name stands for the rest.
        return tuned, parameters | _given(algorithm, horizon)
    given = plain_values(algorithm.get("parameters") or {}, plain_parameters_of(rule), horizon)
    origins = dict.fromkeys(given, "specification")
    settled: dict[str, Any] = {}
    parameters = {}
    for name in parameters_of(rule):
        if name == "domain":
            settled["domain"] = place
        elif name == "base":
            inner, theirs = _build(algorithm["base"], problem, constants, horizon)
            settled["base"] = inner.algorithm if isinstance(inner, Tuned) else inner
            parameters = {f"base.{n}": v for n, v in theirs.items()}
        elif name == "rows" and "rows" not in given:
            settled["rows"] = problem.constraint.rows
            origins["rows"] = "problem"
    player = rule(**settled, **given)
    own = numbers_of(player, "default", skip=("base",))
    # A pair has its parameters in its parts.
    return player, parameters | {
        n: (v, origins.get(n.rpartition(".")[2], o)) for n, (v, o) in own.items()
    }


def constructor_of(algorithm: Mapping[str, Any], horizon: int) -> Callable[..., Tuned[Any]]:
    """Return a theorem-tuned constructor with its options at a horizon put in."""
    rule, tuning = ALGORITHMS_BY_NAME[algorithm["name"]], algorithm["tuning"]
    make, base = getattr(rule, tuning), algorithm.get("base")
    options = plain_values(algorithm.get("options") or {}, parameters_of(make), horizon)
    if base is not None:
        options["base"] = constructor_of(base, horizon)
    return partial(make, **options)


def plain_values(
    given: Mapping[str, Any], wanted: Mapping[str, Parameter], horizon: int
) -> dict[str, Any]:
    """Return values as a constructor takes them, amounts at a horizon."""

    def read(name: str, value: Any) -> Any:
        at = amount_at(value, horizon)
        whole = isinstance(at, float) and (isinstance(value, Mapping) or at.is_integer())
        return int(at) if whole and wanted[name].form == "whole" else at

    return {name: read(name, value) for name, value in given.items()}


def _given(algorithm: Mapping[str, Any], horizon: int) -> Parameters:
    """Return the options of a tuned row and of its base."""
    options = algorithm.get("options") or {}
    mine = {n: (_number(amount_at(v, horizon)), "specification") for n, v in options.items()}
    if algorithm.get("base") is None:
        return mine
    return mine | {f"base.{n}": v for n, v in _given(algorithm["base"], horizon).items()}


def numbers_of(owner: Any, origin: str, skip: tuple[str, ...] = ()) -> Parameters:
    """Return the numbers in a dataclass and those inside it; a domain's are the problem's."""
    found: Parameters = {}
    for f in fields(owner):
        value = getattr(owner, f.name)
        if value is None or f.name in skip or not f.repr:
            continue
        source = "problem" if f.name == "domain" else origin
        if is_dataclass(value):
            found[f.name] = (type(value).__name__, source)
            found |= {f"{f.name}.{n}": v for n, v in numbers_of(value, source).items()}
        else:
            found[f.name] = (_number(value), source)
    return found


def _number(value: Any) -> float | str:
    """Return a number, or words for what is not one."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, np.number)):
        return float(value)
    if isinstance(value, np.ndarray):
        shape = " x ".join(map(str, value.shape))
        return f"{shape} numbers from {value.min():g} to {value.max():g}"
    return str(value)
