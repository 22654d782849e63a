"""Make a player from plain data: the name of a class of the library, and its numbers."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any

from surefoot import algorithms, regions, sets
from surefoot.algorithms.certified import Name
from surefoot.core import checks
from surefoot.core.algorithm import Algorithm, constructors_of
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidTypeError, InvalidValueError, first_line
from surefoot.core.parameters import parameters_of
from surefoot.core.types import needs_of
from surefoot.sets import Ball

__all__ = ["object_from", "player_from"]


def player_from(
    player: Mapping[str, Any],
    *,
    constants: Mapping[str, float] | None = None,
    domain: Any = None,
    horizon: int | None = None,
    start: Any = None,
) -> Any:
    """Return the algorithm or filter that a table names.

    Args:
        player: its ``class``, and the parameters of that by name, objects as :func:`object_from`
            takes them; or ``tuning``, the constructor to call, and its options. With the class
            alone the tuning is "default".
        constants: for the tuning, by name.
        domain: the set for the tuning, as a table; a ball of radius R unless given.
        horizon: number of rounds, for tunings that need it.
        start: the first action, for what follows from it.

    Raises:
        InvalidValueError: for a name that is not known, or what a constructor refuses.

    Example:
        >>> player = player_from({"class": "SafetyFilter"},
        ...                      constants={"R": 1.0, "G_g": 2.0, "start_slack": 0.5})
        >>> player.knowledge.G_g, player.domain
        (2.0, Ball(radius=1.0, centre=None))
        >>> player_from({"class": "OGD", "eta": 0.1, "domain": {"class": "Ball", "radius": 1.0}})
        OGD(eta=0.1, domain=Ball(radius=1.0, centre=None))
    """
    table = _table(player, "player")
    rules = {n: k for n, k in _known_classes().items() if issubclass(k, Algorithm)}
    name = table.pop("class", None)
    if not isinstance(name, str) or name not in rules:
        raise InvalidValueError(f"player.class must be {_one_of(rules, name)}, got {name!r}")
    rule, tuning = rules[name], table.pop("tuning", None)
    if tuning is None and table:
        return object_from({"class": name, **table}, "player")
    tuning = "default" if tuning is None else tuning
    if tuning not in constructors_of(rule):
        offered = _one_of(constructors_of(rule), tuning)
        raise InvalidValueError(f"player.tuning must be {offered}, got {tuning!r}")
    numbers: Constants = _call(Constants, _table(constants or {}, "constants"), "constants")
    ball, place = Ball(numbers.R), None if domain is None else object_from(domain, "domain")
    reach = 2 * numbers.R
    if start is not None:  # rounded up, for it bounds a distance from above
        reach = ball.reach(checks.to_vector(start, "start")) * (1 + 2.0**-50)
    given = {"constants": numbers.complete(reach), "horizon": horizon, "domain": place}
    build: Callable[..., Any] = getattr(rule, tuning)
    wanted = inspect.signature(build).parameters
    arguments = {n: v for n, v in given.items() if n in wanted and v is not None}
    if "domain" in wanted and place is None:
        if needs_of(rule).domain != "ball" and tuning not in getattr(rule, "on_ball", ()):
            raise InvalidValueError(f"domain must be given for {name}, which works on the set")
        arguments["domain"] = ball
    for need in ("horizon", "domain"):
        required = need in wanted and wanted[need].default is inspect.Parameter.empty
        if required and need not in arguments:
            raise InvalidValueError(f"{need} must be given for {name}.{tuning}, got none")
    options = {key: object_from(value, f"player.{key}") for key, value in table.items()}
    return _call(build, arguments | options, "player")


def object_from(value: Any, name: str = "it") -> Any:
    """Return plain data with the objects that they name; lists and mappings are gone through.

    Args:
        value: a number, a list, or a table: an object of the library is its ``class`` and its
            parameters by name.
        name: what it is called in errors.

    Example:
        >>> object_from({"class": "Ball", "radius": 2.0})
        Ball(radius=2.0, centre=None)
    """
    if isinstance(value, list):
        return [object_from(part, f"{name}.{i}") for i, part in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    table, known = dict(value), _known_classes()
    kind = table.pop("class", None)
    if not isinstance(kind, str) or kind not in known:
        raise InvalidValueError(f"{name}.class must be {_one_of(known, kind)}, got {kind!r}")
    given = {key: object_from(part, f"{name}.{key}") for key, part in table.items()}
    return _call(known[kind], given, name)


@cache
def _known_classes() -> dict[str, type[Any]]:
    """Return the classes that a table may name."""
    found = {
        name: getattr(module, name)
        for module in (algorithms, regions, sets)
        for name in module.__all__
    }
    return {
        name: kind
        for name, kind in found.items()
        if isinstance(kind, type) and is_dataclass(kind) and not needs_of(kind).agents
    }


def _call(make: Callable[..., Any], arguments: Mapping[str, Any], what: str) -> Any:
    """Call a constructor; arguments that it does not have are named."""
    wanted = _arguments_of(make)
    if strangers := sorted(set(arguments) - set(wanted)):
        raise InvalidValueError(
            f"{what} must fit {make.__qualname__} ({', '.join(wanted)}), got {strangers[0]!r}"
        )
    try:
        return make(**arguments)
    except InvalidTypeError:
        raise
    except (TypeError, AttributeError) as error:
        why = first_line(error).rpartition("__init__() ")[2]
        raise InvalidValueError(f"{what} must fit {make.__qualname__}: {why}") from error


def _arguments_of(make: Any) -> list[str]:
    """Return the names of the arguments of a class or a constructor."""
    if not isinstance(make, type):
        return list(inspect.signature(make).parameters)
    return list(make.parameters() if issubclass(make, Name) else parameters_of(make))


def _table(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        raise InvalidValueError(f"{name} must be a table of names and values, got {value!r}")
    return dict(value)


def _one_of(names: Iterable[str], given: Any) -> str:
    """Return the names that are meant: the near ones, or all."""
    names = list(names)
    near = difflib.get_close_matches(given, names, 3) if isinstance(given, str) else []
    return f"one of {', '.join(near or names)}"
