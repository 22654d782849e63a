"""A player from a table of plain data, such as a TOML file has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surefoot.algorithms import (
    CertifiedOGD,
    CertifiedPFS,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
)
from surefoot.core.convert import shown
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import parameters_of
from surefoot.regions import Curvature, LipschitzHull
from surefoot.sets import Ball

__all__ = ["described_player"]

_CLASSES = (
    CertifiedPFS,
    CertifiedOGD,
    LeaderFollower,
    SafetyFilter,
    RegionFilter,
    Ball,
    Curvature,
    LipschitzHull,
)
_KNOWN: dict[str, type[Any]] = {kind.__name__: kind for kind in _CLASSES}


def described_player(table: Mapping[str, Any], name: str = "player") -> Any:
    """Return what a table describes: its ``class``, and its fields by name.

    Args:
        table: ``class`` names an algorithm that can be exported, a ball, or knowledge about g;
            the other keys are its fields, tables again where they are objects.
        name: what the table is called in errors.

    Example:
        >>> described_player({"class": "SafetyFilter", "G_g": 1.0, "rho": 0.1,
        ...                   "domain": {"class": "Ball", "radius": 1.0}})
        SafetyFilter(G_g=1.0, domain=Ball(radius=1.0, centre=None), rho=0.1, ...)
    """
    kind = _KNOWN.get(str(table.get("class")))
    if kind is None:
        raise InvalidValueError(
            f"{name}.class must be one of {', '.join(_KNOWN)}, got {shown(table.get('class'))}"
        )
    wanted = list(parameters_of(kind))
    given = {key: value for key, value in table.items() if key != "class"}
    if strangers := sorted(set(given) - set(wanted)):
        raise InvalidValueError(
            f"{name} must have the fields of {kind.__name__} ({', '.join(wanted)}), "
            f"got {', '.join(strangers)}"
        )
    for key, value in given.items():
        if isinstance(value, Mapping):
            given[key] = described_player(value, f"{name}.{key}")
    try:
        return kind(**given)
    except TypeError as error:
        raise InvalidValueError(f"{name} must describe a {kind.__name__}: {error}") from error
