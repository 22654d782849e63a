"""Check a player and the policies that it is to be played by."""

from __future__ import annotations

from typing import Any, get_args

from surefoot.algorithms import Reaction, unpack
from surefoot.controller._records import Memory, Run
from surefoot.core import checks
from surefoot.core.algorithm import errors_of, observer_of
from surefoot.core.errors import InvalidTypeError, InvalidValueError
from surefoot.core.types import Array

__all__ = [
    "POLICIES",
    "bytes_in",
    "check_player",
    "check_policies",
    "check_text",
    "checked_run",
    "first_memory",
]

_UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9}
POLICIES = {"on_contradiction": get_args(Reaction), "on_missing": ("hold", "retreat", "raise")}


def checked_run(
    player: Any,
    start: Array,
    on_contradiction: str,
    on_missing: str,
    rotate: int | str | None,
) -> Run:
    """Return what is to be played, and how, from what a user gave."""
    algorithm, guarantee = unpack(player)
    check_policies(on_contradiction=on_contradiction, on_missing=on_missing)
    if isinstance(rotate, str):
        bytes_in(rotate)
    elif rotate is not None:
        rotate = checks.positive_int(rotate, "rotate")
    x1 = checks.to_vector(start, "start")
    run = Run(algorithm, guarantee, on_contradiction, x1, on_missing, rotate)
    check_player(run)
    return run


def bytes_in(size: str) -> int:
    """Return a size in bytes, such as "64 MB".

    >>> bytes_in("64 MB")
    64000000
    """
    number, _, unit = size.strip().partition(" ")
    if not number.isdecimal() or unit not in _UNITS or not int(number):
        raise InvalidValueError(
            f"rotate must be a number of rounds or a size such as '64 MB', got {size!r}"
        )
    return int(number) * _UNITS[unit]


def check_policies(**policies: Any) -> None:
    """Raise for a policy that there is not."""
    for name, policy in policies.items():
        checks.one_of(POLICIES[name], **{name: policy})


def check_player(run: Run) -> None:
    """Raise for a policy that the player cannot follow."""
    name = type(run.algorithm).__name__
    policies = (("on_contradiction", run.on_contradiction), ("on_missing", run.on_missing))
    for which, policy in policies:
        if policy == "retreat" and errors_of(run.algorithm) is None:
            raise InvalidValueError(
                f"{which}='retreat' needs a rule that can start from another action, got {name}"
            )


def first_memory(run: Run) -> Memory:
    """Return the memory before the first round of a player."""
    algorithm = run.algorithm
    return Memory(algorithm.init(run.start), (), observer_of(algorithm))


def check_text(text: Any, name: str) -> None:
    """Raise unless a text can be written to a journal."""
    if not isinstance(text, str):
        raise InvalidTypeError(f"{name} must be a str, got {text!r}")
    if not text.strip():
        raise InvalidValueError(f"{name} must not be empty, got {text!r}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidValueError(f"{name} must be text that can be stored, got {text!r}") from error
