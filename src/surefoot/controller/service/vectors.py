"""A controller behind lines of JSON: actions and slopes are lists of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot import sets
from surefoot.controller.controller import Controller
from surefoot.controller.explanation import Explanation
from surefoot.controller.service.protocol import Answer, refuse, show
from surefoot.controller.service.serving import Service, orders_of
from surefoot.controller.service.snapshot import Snapshot, explanation_data
from surefoot.core.plain import PlainTable, build
from surefoot.core.types import Player

__all__ = ["ControllerService"]


@dataclass(frozen=True)
class ControllerSnapshot(Snapshot):
    """A controller at one moment.

    Attributes:
        player: who chooses the action.
        policy: after a contradiction.
        action: to play.
        explanation: why it may be played.
    """

    player: Player
    policy: str
    action: list[float]
    explanation: Explanation

    def now(self) -> Answer:
        """Return the action, and whether it is proved."""
        is_proven = bool(self.explanation.is_proven)
        return {"round": self.round, "action": self.action, "is_proven": is_proven}

    def status(self) -> Answer:
        """Return who plays, and what is promised."""
        why = self.explanation
        return {
            "player": repr(self.player),
            "on_contradiction": self.policy,
            "dimension": len(self.action),
            "guarantee": str(why.guarantee or why.unproved),
            "is_proven": bool(why.is_proven),
            "broken": [breach.sentence for breach in why.broken],
        }

    def explain(self, member: object = None) -> Answer:
        """Return why the action may be played."""
        return explanation_data(self.explanation)


class ControllerService(Service):
    """Answers requests with a controller.

    Args:
        controller: the player.
        journal: the path of its journal, whose size is told.

    Example:
        >>> from surefoot import Ball
        >>> from surefoot.rules import CertifiedPFS
        >>> player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
        >>> service = ControllerService(Controller(player, start=[0.0, 0.0]))
        >>> service.answer(b'{"do": "ask", "id": 7}')
        '{"ok": true, "id": 7, "round": 1, "action": [0.0, 0.0]}'
        >>> service.answer(b'{"do": "tell", "cost_gradient": [1, NaN]}')
        '{"ok": false, "kind": "request", "error": "a number must be finite, got NaN", "round": 1}'
    """

    def __init__(self, controller: Controller, journal: Path | None = None) -> None:
        super().__init__(controller.on_alarm, None, journal)
        self._controller = controller
        controller.on_alarm = self.hear
        self.orders = orders_of(controller)
        self.refresh()

    @property
    def round(self) -> int:
        """The current round."""
        return self._controller.round

    def obey(self, name: str, fields: PlainTable) -> Answer:
        """Carry out an order."""
        if fields.get("within") is not None:
            fields["within"] = _set(fields["within"], "within")
        result = getattr(self._controller, name)(**fields)
        if name == "tell":
            self._tallies.count_round("missing" if fields["missing"] else "step")
        return {"action": result.tolist()} if name == "ask" else {}

    def miss(self, names: list[str]) -> None:
        """Take the current round as one without a measurement."""
        self._controller.ask()
        self._controller.tell(missing=True)
        self._tallies.count_round("deadline")

    def look(self) -> ControllerSnapshot:
        """Return the loop as it is now."""
        controller = self._controller
        return ControllerSnapshot(
            *self.look_around(),
            controller.algorithm,
            controller.on_contradiction,
            controller.state.x.tolist(),
            controller.explain(),
        )

    def close(self) -> None:
        """Close the journal."""
        self._controller.close()


def _set(value: Any, name: str) -> Any:
    """Return the set that an object names: its class and the arguments of that."""
    if not isinstance(value, dict) or value.get("class") not in sets.__all__:
        example = '{"class": "Box", "lower": [0], "upper": [1]}'
        refuse(f"{name} must be a set such as {example}, got {show(value)}")
    return build(value, name)
