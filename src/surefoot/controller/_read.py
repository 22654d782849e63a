"""What people read of a journal: its decisions, notes and contradictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surefoot.algorithms import Breach
from surefoot.core.optional import need
from surefoot.core.types import Certificate

__all__ = ["JournalNote", "JournalRecord", "JournalRound"]


class JournalNote(NamedTuple):
    """A note by the operator, or an order: to hold, to retreat, to resume.

    Attributes:
        round: the round that was current.
        text: of the note; of an order, what it was and why.
    """

    round: int
    text: str


class JournalRound(NamedTuple):
    """One decision of a journal: why the action could be played, the action, what was told.

    Attributes:
        round: its number.
        action: that was played.
        certificate: that showed it to be feasible before it was played; None where there is none.
        bound: on g by the certificate, known before the action was played; None without one.
        length: how far a step was certified; None without a certificate.
        g: the largest constraint value told; None if the constraint was not told.
        constraint_value: as it was told.
        constraint_subgradient: as it was told.
        cost_gradient: as it was told.
        cost_value: as it was told.
        proposal: as it was told to a filter.
        played: the action that was really played, where it was not the one asked for.
        how: the next action came about: "told" by the rule; "held" or "retreated".
    """

    round: int
    action: np.ndarray
    certificate: Certificate | None
    bound: float | None
    length: float | None
    g: float | None
    constraint_value: Any
    constraint_subgradient: np.ndarray | None
    cost_gradient: np.ndarray | None
    cost_value: float | None
    proposal: np.ndarray | None = None
    played: np.ndarray | None = None
    how: str = "told"

    def __str__(self) -> str:
        return "; ".join(self.sentences())

    def sentences(self) -> Iterator[str]:
        """Yield why the action could be played, the action, and what came of it, in words."""
        action = _short(self.action)
        if self.certificate is not None:
            yield f"chosen by {self.certificate}"
        elif self.round == 1:
            yield "the start"
        else:
            yield "chosen without a certificate"
        if self.played is None:
            yield f"round {self.round} played {action}"
        else:
            yield f"round {self.round} asked for {action}, but {_short(self.played)} was played"
        if self.g is None:
            yield "the constraint was not told"
        else:
            where = "feasible" if self.g <= 0 else "OUTSIDE"
            yield f"g = {self.g:.6g}, {where}"
        if self.bound is not None and self.g is not None:
            side = "below" if self.g <= self.bound else "ABOVE"
            yield f"{abs(self.bound - self.g):.3g} {side} the bound {self.bound:.3g}"
        if self.how != "told":
            yield f"then {self.how}, not by the rule"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRecord:
    """What a journal says; its ``str`` is a summary of a few lines.

    Attributes:
        path: of the file.
        surefoot: the version that wrote it.
        created: when.
        player: the algorithm, in the form of its constructor.
        guarantee: what it was tuned for, in words; None without a guarantee.
        on_contradiction: the policy it was created with.
        start: the first action.
        action: the one at hand, whose outcome has not been told.
        certificate: of the action at hand; None where there is none.
        is_open: whether its writer has not closed it: it is being written, or was stopped.
        g: the largest constraint value of each round; NaN where it was not told.
        bounds: on g by the certificate of each round's action, before it was played; NaN without.
        lengths: certified, likewise.
        rounds: the decisions that were asked for; all of them unless told otherwise.
        breaches: the premises that the data contradict, each with its first round.
        notes: by the operator.
        loss: what is known about rounds that were told and are missing; None if nothing is.
    """

    path: Path
    surefoot: str
    created: str
    player: str
    guarantee: str | None
    on_contradiction: str
    start: np.ndarray
    action: np.ndarray
    certificate: Certificate | None
    is_open: bool
    g: np.ndarray
    bounds: np.ndarray
    lengths: np.ndarray
    rounds: tuple[JournalRound, ...]
    breaches: tuple[Breach, ...]
    notes: tuple[JournalNote, ...]
    loss: str | None

    @property
    def told(self) -> int:
        """The number of rounds told."""
        return len(self.g)

    @property
    def outside(self) -> int:
        """The number of rounds with g > 0."""
        return int(np.sum(np.asarray(self.g) > 0))

    @property
    def worst(self) -> float | None:
        """The largest g of all rounds; None where no constraint was told."""
        return _extreme(self.g, np.nanmax)

    @property
    def margin(self) -> float | None:
        """The least distance of g below its certified bound: negative where a bound was wrong."""
        return _extreme(self.bounds - self.g, np.nanmin)

    @property
    def certified(self) -> int:
        """The number of rounds whose action had a certificate."""
        return int((~np.isnan(self.bounds)).sum())

    @property
    def status(self) -> str:
        """What the data leave of the guarantee, in words."""
        lost = {b.loses for b in self.breaches}
        if not lost:
            if self.guarantee is None and not self.certified and self.certificate is None:
                return "no guarantee was given"
            return "the data contradict nothing"
        if lost == {"regret"}:
            return "feasibility holds; the regret bound no longer applies"
        return "contradicted: feasibility is not guaranteed from the first contradiction on"

    def columns(self) -> dict[str, list[Any]]:
        """Return the rounds as columns of plain numbers and texts, by name.

        Actions, gradients and subgradients have one column for each entry; of separate
        constraints only the values and the largest are listed.
        """
        found: dict[str, list[Any]] = {"round": [], "g": [], "bound": [], "certified_length": []}
        for i, row in enumerate(self.rounds):
            parts: dict[str, Any] = {
                "round": row.round,
                "g": row.g,
                "bound": row.bound,
                "certified_length": row.length,
                **_entries("action", row.action),
                **_entries("cost_gradient", row.cost_gradient),
                **_entries("constraint_value", row.constraint_value),
                **_entries("constraint_subgradient", row.constraint_subgradient),
                "cost_value": row.cost_value,
                **_entries("proposal", row.proposal),
                **_entries("played", row.played),
                "how": row.how,
                "certificate": None if row.certificate is None else str(row.certificate),
            }
            for name, value in parts.items():
                found.setdefault(name, [None] * i).append(value)
            for column in found.values():
                if len(column) == i:
                    column.append(None)
        return found

    def to_pandas(self) -> Any:
        """Return the rounds as a ``pandas.DataFrame``, one row each, indexed by the round."""
        pandas = need("pandas", "export", "a table of the journal")
        return pandas.DataFrame(self.columns()).set_index("round")

    def __str__(self) -> str:
        return "\n".join(f"{name:<16}{value}" for name, value in self.facts().items())

    def facts(self) -> dict[str, str]:
        """Return the summary: a few facts by name, in words."""
        facts = {
            "journal": f"{self.path}{' (not closed)' if self.is_open else ''}",
            "written by": f"Surefoot {self.surefoot}, created {self.created}",
            "player": self.player,
            "guarantee": self.guarantee or "none",
            "status": self.status,
            "rounds": f"{self.told}, {self.certified} with a certificate",
        }
        if self.worst is not None:
            facts["worst g"] = f"{self.worst:.6g}, {self.outside} rounds outside"
        if self.margin is not None:
            facts["least margin"] = f"{self.margin:.3g} between g and its certified bound"
        facts["contradictions"] = "; ".join(b.sentence for b in self.breaches) or "none"
        facts["notes"] = "; ".join(f"round {n.round}: {n.text}" for n in self.notes) or "none"
        if self.loss is not None:
            facts["lost rounds"] = self.loss
        return facts


def _short(action: np.ndarray) -> str:
    return np.array2string(action, precision=6, separator=", ", threshold=8)


def _entries(name: str, value: Any) -> dict[str, Any]:
    """Return the numbers of a vector by name; of one number that number, of a matrix nothing."""
    if value is None or np.ndim(value) > 1:
        return {}
    if np.ndim(value) == 0:
        return {name: float(value)}
    return {f"{name}_{i}": float(v) for i, v in enumerate(value)}


def _extreme(values: np.ndarray, which: Any) -> float | None:
    return None if np.isnan(values).all() else float(which(values))
