"""A rule with its guarantee."""

from __future__ import annotations

from collections.abc import Callable
from typing import (
    Any,
    Generic,
    NamedTuple,
    TypeVar,
)

from surefoot.core import checks
from surefoot.core.algorithm import constructors_of, is_algorithm
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import (
    parameters_of,
)
from surefoot.core.types import Player, Set
from surefoot.guarantees.guarantee import Guarantee
from surefoot.sets import Ball

__all__ = ["Tuned", "unpack"]


A = TypeVar("A")


class Tuned(NamedTuple, Generic[A]):
    """An algorithm with the guarantee that its parameters were chosen for."""

    algorithm: A
    guarantee: Guarantee

    @classmethod
    def of(
        cls,
        algorithm: Callable[..., A],
        theorem: Guarantee,
        domain: Set | None = None,
        **parameters: Any,
    ) -> Tuned[A]:
        """Build an algorithm with the parameters of a theorem, matched by name.

        Args:
            algorithm: its class.
            theorem: the theorem that chose the parameters.
            domain: the set that the algorithm works on; by default the ball around 0 with the
                radius R of the constants.
            parameters: those that the theorem lacks or names differently.

        Example:
            >>> from surefoot import PFS, Constants
            >>> from surefoot.guarantees import NoClaim

            >>> promise = NoClaim(Constants(R=2.0))
            >>> Tuned.of(PFS, promise, None, eta=0.1, rho=0.0).algorithm
            PFS(eta=0.1, rho=0.0, domain=Ball(radius=2.0, centre=None))
        """
        names = parameters_of(algorithm)
        if "domain" in names:
            parameters["domain"] = Ball(theorem.constants.R) if domain is None else domain
        elif not getattr(domain, "is_convex", True):
            rule = f"convex for {theorem.name}, whose actions are in no set but the feasible one"
            raise checks.invalid("domain", rule, domain)
        values = {n: getattr(theorem, n, None) for n in names if n not in parameters}
        values = {name: value for name, value in values.items() if value is not None}
        return Tuned(algorithm(**parameters, **values), theorem)


def unpack(player: object) -> tuple[Any, Guarantee | None]:
    """Return the algorithm of a player, and its guarantee if it has one.

    Args:
        player: an algorithm, or one with its guarantee (``Tuned``).

    Raises:
        InvalidValueError: for anything else.
    """
    algorithm, guarantee = player if isinstance(player, Tuned) else (player, None)
    if not is_algorithm(algorithm):
        raise InvalidValueError(
            f"player must be an algorithm with init and step, or a Tuned, got {hint_for(player)}"
        )
    return algorithm, guarantee


def hint_for(player: object) -> str:
    """Describe a value that was given for a player, with a hint how to make one."""
    if isinstance(player, type) and issubclass(player, Player):
        how = (constructors_of(player) or ("default",))[0]
        return f"the class {player.__name__}: make one, as {player.__name__}.{how}(constants) does"
    if type(player).__name__ == "Problem":
        return "a Problem: the player comes before it"
    return checks.describe(player)
