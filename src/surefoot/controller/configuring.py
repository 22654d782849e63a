"""Make a player from plain data: the name of a class of the library, and its numbers.

Choose what it does after a contradiction if no Python program supervises it.
"""

import inspect
from collections.abc import Mapping
from typing import Any

from surefoot.certified import Certified
from surefoot.core import checks
from surefoot.core.algorithm import (
    Algorithm,
    constructors_of,
    errors_of,
    works_on_ball,
)
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError, first_line, suggest
from surefoot.core.plain import build, known_classes
from surefoot.core.types import needs_of
from surefoot.guarantees.premise import Reaction
from surefoot.guarantees.tuning import unpack
from surefoot.sets import Ball

__all__ = ["player_from", "reaction_of"]


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
        player: its ``class``, and the parameters of that by name, objects as
            :func:`surefoot.core.plain.build` takes them; or ``tuning``, the constructor to call,
            and its options. With the class alone the tuning is "default". A ``ramp`` goes with
            either; with a tuning it leaves feasibility, and no bound on the regret in advance.
        constants: for the tuning, by name.
        domain: the set for the tuning, as a table; a ball of radius R unless given.
        horizon: number of rounds, for tunings that need it.
        start: the first action, for what follows from it.

    Raises:
        InvalidValueError: for an unknown name, or arguments that a constructor rejects.

    Example:
        >>> player = player_from({"class": "SafetyFilter"},
        ...                      constants={"R": 1.0, "G_g": 2.0, "start_slack": 0.5})
        >>> player.knowledge.G_g, player.domain
        (2.0, Ball(radius=1.0, centre=None))
        >>> player_from({"class": "OGD", "eta": 0.1, "domain": {"class": "Ball", "radius": 1.0}})
        OGD(eta=0.1, domain=Ball(radius=1.0, centre=None))
    """
    if not isinstance(player, Mapping):
        raise InvalidValueError(f"player must be a table of names and values, got {player!r}")
    options, rules = dict(player), rules_by_name()
    name = options.pop("class", None)
    if not isinstance(name, str) or name not in rules:
        raise InvalidValueError(
            f"player.class must be a rule of `surefoot list`, got {name!r}{suggest(name, rules)}"
        )
    rule, tuning = rules[name], options.pop("tuning", None)
    if tuning is None and set(options) - {"ramp"}:
        return build({"class": name, **options}, "player")
    ramp = options.pop("ramp", None)
    tuning = "default" if tuning is None else tuning
    if tuning not in constructors_of(rule):
        meant = suggest(tuning, constructors_of(rule))
        raise InvalidValueError(f"player.tuning must be one of {name}, got {tuning!r}{meant}")
    place = None if domain is None else build(domain, "domain")
    arguments, make = {"horizon": horizon, "domain": place}, getattr(rule, tuning)
    takes = inspect.signature(make).parameters
    if "constants" in takes:
        numbers = build({"class": "Constants", **(constants or {})}, "constants")
        arguments["constants"] = _complete(numbers, start)
        if place is None and works_on_ball(rule, tuning):
            arguments["domain"] = Ball(numbers.R)
    elif constants:
        raise InvalidValueError(
            f"constants must be left out for {name}.{tuning}, which needs none, got {constants!r}"
        )
    if "domain" in takes and arguments["domain"] is None:
        raise InvalidValueError(f"domain must be given for {name}.{tuning}, which works on the set")
    parameters = {key: build(value, f"player.{key}") for key, value in options.items()}
    algorithm = _call(make, arguments, parameters)
    return algorithm if ramp is None else _limit_pace(algorithm, ramp, name)


def reaction_of(player: Any) -> Reaction:
    """Return the default policy of a fleet or a service after a contradiction.

    It is to retreat: no caller catches an error, and the return path needs no contradicted
    constant. A rule that cannot start from another action holds.

    Args:
        player: as for a controller.
    """
    algorithm = unpack(player)[0]
    can_move = errors_of(algorithm) is not None and algorithm.knowledge is not None
    return "retreat" if can_move else "hold"


def _limit_pace(player: Any, ramp: Any, name: str) -> Certified:
    """Return a pair with a ramp, without the regret bound of its theorem."""
    pair = unpack(player)[0]
    if not isinstance(pair, Certified):
        raise InvalidValueError(f"player.ramp must be left out for {name}, got {ramp!r}")
    return pair.of(pair.proposer, pair.knowledge, ramp)


def rules_by_name() -> dict[str, type[Algorithm]]:
    """Return every rule, filter and wrapper that one controller can play."""
    classes = known_classes().items()
    rules = {n: k for n, k in classes if issubclass(k, Algorithm)}
    return {n: k for n, k in rules.items() if not needs_of(k).agents}


def _complete(numbers: Constants, start: Any) -> Constants:
    """Return constants, completed by the start."""
    reach = 2 * numbers.R
    if start is not None:  # rounded up, for it bounds a distance from above
        reach = Ball(numbers.R).reach(checks.to_vector(start, "start")) * (1 + 2.0**-50)
    return numbers.complete(reach)


def _call(make: Any, arguments: Mapping[str, Any], options: dict[str, Any]) -> Any:
    """Call a constructor with the arguments that it takes, and with its options."""
    signature = inspect.signature(make)
    values = {n: v for n, v in arguments.items() if n in signature.parameters and v is not None}
    for name, parameter in signature.parameters.items():
        is_named = parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if is_named and parameter.default is parameter.empty and name not in values | options:
            raise InvalidValueError(f"{name} must be given for {make.__qualname__}")
    try:
        return make(**values, **options)
    except (TypeError, AttributeError) as error:
        raise InvalidValueError(
            f"player must fit {make.__qualname__}: {first_line(error)}"
        ) from error
