"""Make a player from plain data: the name of a class of the library, and its numbers."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from surefoot import algorithms
from surefoot.controller._plain import known_classes
from surefoot.core import checks
from surefoot.core.algorithm import constructors_of
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError, first_line
from surefoot.core.types import Filtering, needs_of
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
    """Return the algorithm or filter that plain data name.

    An object of the library (a set, a region) is written as a mapping from its class to its
    arguments: ``{"Box": {"lower": [0, 0], "upper": [1, 2]}}``.

    Args:
        player: ``name`` of the class, with ``tuning``, the constructor to call, and its
            ``options``; or with ``parameters``, the arguments of the class itself. Without both the
            tuning is "default".
        constants: for the tuning, by name.
        domain: the set for the tuning; a ball of radius R unless given.
        horizon: number of rounds, for tunings that need it.
        start: the first action, for what follows from it.

    Raises:
        InvalidValueError: for a name that is not known, or what a constructor refuses.

    Example:
        >>> player = player_from({"name": "SafetyFilter"},
        ...                      constants={"R": 1.0, "G_g": 2.0, "start_slack": 0.5})
        >>> player.G_g, player.domain
        (2.0, Ball(radius=1.0, centre=None))
        >>> ball = {"Ball": {"radius": 1.0}}
        >>> player_from({"name": "OGD", "parameters": {"eta": 0.1, "domain": ball}})
        OGD(eta=0.1, domain=Ball(radius=1.0, centre=None))
    """
    row = _mapping(player, "player", ("name", "tuning", "options", "parameters"))
    rules = _rules()
    name = row.get("name")
    if not isinstance(name, str) or name not in rules:
        raise InvalidValueError(f"player.name must be {_one_of(rules, name)}, got {name!r}")
    rule = rules[name]
    tuning, parameters = row.get("tuning"), row.get("parameters")
    if parameters is not None:
        if tuning is not None or row.get("options"):
            raise InvalidValueError("player.parameters must stand alone, got a tuning beside them")
        arguments = object_from(_mapping(parameters, "player.parameters"))
        return _called(rule, arguments, "player.parameters")
    offered = constructors_of(rule)
    tuning = "default" if tuning is None else tuning
    if tuning not in offered:
        raise InvalidValueError(f"player.tuning must be {_one_of(offered, tuning)}, got {tuning!r}")
    numbers: Constants = _called(Constants, _mapping(constants or {}, "constants"), "constants")
    ball, place = Ball(numbers.R), object_from(domain)
    reach = 2 * numbers.R
    if start is not None:  # rounded up, for it bounds a distance from above
        reach = ball.reach(checks.vector(start, "start")) * (1 + 2.0**-50)
    given = {"constants": numbers.completed(reach), "horizon": horizon, "domain": place}
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
    options = object_from(_mapping(row.get("options") or {}, "player.options"))
    return _called(build, arguments | options, "player.options")


def _rules() -> dict[str, type[Any]]:
    """Return the algorithms for one player and the filters, by name."""
    found = {rule.__name__: rule for rule in algorithms.ALGORITHMS if not needs_of(rule).agents}
    return found | {
        kind.__name__: kind
        for kind in vars(algorithms).values()
        if isinstance(kind, type) and issubclass(kind, Filtering)
    }


def object_from(value: Any) -> Any:
    """Return plain data with the objects that they name; lists stay lists.

    Example:
        >>> object_from({"Ball": {"radius": 2.0}})
        Ball(radius=2.0, centre=None)
    """
    if not isinstance(value, Mapping):
        return value
    known = known_classes()
    if len(value) == 1:
        ((name, arguments),) = value.items()
        if name in known and isinstance(arguments, Mapping):
            return _called(known[name], {k: object_from(v) for k, v in arguments.items()}, name)
        if isinstance(name, str) and name[:1].isupper() and isinstance(arguments, Mapping):
            raise InvalidValueError(f"an object must be of {_one_of(known, name)}, got {name!r}")
    return {k: object_from(v) for k, v in value.items()}


def _called(make: Callable[..., Any], arguments: Mapping[str, Any], what: str) -> Any:
    """Call a constructor; arguments that it does not have are named."""
    try:
        inspect.signature(make).bind(**arguments)
    except TypeError as error:
        raise InvalidValueError(f"{what} must fit {_name(make)}: {error}") from error
    try:
        return make(**arguments)
    except (TypeError, AttributeError) as error:
        raise InvalidValueError(f"{what} must fit {_name(make)}: {first_line(error)}") from error


def _name(make: Any) -> str:
    return str(getattr(make, "__qualname__", make))


def _mapping(value: Any, name: str, keys: Iterable[str] | None = None) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        raise InvalidValueError(f"{name} must be a table of names and values, got {value!r}")
    if keys is not None and (strangers := sorted(set(value) - set(keys))):
        first = strangers[0]
        raise InvalidValueError(f"{name} must have {_one_of(keys, first)}, got {first!r}")
    return dict(value)


def _one_of(names: Iterable[str], given: Any) -> str:
    """Return the names that are meant: the near ones, or all."""
    names = list(names)
    near = difflib.get_close_matches(given, names, 3) if isinstance(given, str) else []
    return f"one of {', '.join(near or names)}"
