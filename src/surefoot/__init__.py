"""Online decisions under a constraint that must hold in every round.

The packages, from the bottom up: :mod:`~surefoot.core`, :mod:`~surefoot.sets`,
:mod:`~surefoot.knowledge`, :mod:`~surefoot.certified`, :mod:`~surefoot.proposers`,
:mod:`~surefoot.guarantees`, :mod:`~surefoot.rules`, :mod:`~surefoot.problems`,
:mod:`~surefoot.games`, :mod:`~surefoot.controller`, and :mod:`~surefoot.testing` for your own
rules. The names that most programs need are here at the top; ``__init__.pyi`` lists them.
"""

from surefoot.core.errors import suggest
from surefoot.core.lazy import attach, read_names

__version__ = "0.2.0"

_PACKAGES = (
    "rules",
    "proposers",
    "guarantees",
    "sets",
    "knowledge",
    "controller",
    "games",
    "problems",
)


def _explain(name: str) -> str:
    """Return where a name lives that is not at the top; the nearest name where it is nowhere."""
    for package in _PACKAGES:
        if name in read_names(f"surefoot.{package}"):
            return f": it is surefoot.{package}.{name}"
    return suggest(name, __all__)


__getattr__, __dir__, __all__ = attach(__name__, _explain)
