"""The summary of the journal of a plant, in its units: a few facts by name, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from surefoot.controller.plant_record import PlantRecord, PlantRound
from surefoot.problems.plant import LimitDescription, PlantDescription

if TYPE_CHECKING:
    from surefoot.controller.journal_record import JournalRecord

__all__ = ["describe_limits", "explain_round", "list_facts"]


def list_facts(record: JournalRecord, plant: PlantRecord) -> Iterator[tuple[str, str]]:
    """Yield what a summary says of a plant.

    Args:
        record: of its journal.
        plant: what it says in units.
    """
    proof = plant.proof
    yield "plant", _describe(plant)
    yield "guarantee", str(proof)
    if record.promises.observed is not None:
        yield "observed", record.promises.observed.theorem
    yield "needs", "; ".join((*proof.premises, *map(str, proof.constants)))
    for words in proof.if_wrong[:1]:
        yield "if wrong", words
    yield "not covered", "; ".join(proof.not_covered)
    since = f" since round {plant.versions[-1].round}" if plant.recoveries else ""
    yield "status", f"{record.status}{since if not record.breaches else ''}"
    rounds = f"{record.round_count}, {record.certified} with a certificate"
    yield "rounds", f"{rounds}, {record.missing} not measured" if record.missing else rounds
    yield from describe_limits(plant)
    yield "amendments", "; ".join(map(_name_version, plant.amendments)) or "none"
    left = f"{plant.versions[-1].left} left"
    recoveries = "; ".join(map(_name_version, plant.recoveries))
    yield "recoveries", f"{recoveries}; {left}" if recoveries else f"none, {left}"
    yield "contradictions", "; ".join(b.sentence for b in record.breaches) or "none"
    notes = [e for e in plant.events if e.kind in ("note", "order", "journal", "deadline")]
    yield "notes", "; ".join(f"round {e.round}: {e.sentence}" for e in notes) or "none"


def _describe(plant: PlantRecord) -> str:
    """Return how large a plant is."""
    description: PlantDescription = plant.description
    parts = {
        "actuator": len(description.actuators),
        "context": len(description.contexts),
        "limit": len(description.limits),
    }
    sizes = ", ".join(f"{n} {word}{'s'[: n != 1]}" for word, n in parts.items())
    name = f"{plant.name}: " if plant.name else ""
    return f"{name}{sizes}; rounds of {plant.round_length}"


def describe_limits(plant: PlantRecord) -> Iterator[tuple[str, str]]:
    """Yield what was read of each limit, by its name."""
    for limit in plant.limits:
        yield limit.name, _describe_limit(limit, plant)


def _describe_limit(limit: LimitDescription, plant: PlantRecord) -> str:
    words = f"{limit.sense.replace('_', ' ')} {plant.describe_bound(limit)}"
    if limit.name not in plant.worst:
        return f"{words}; nothing was read"
    value, t = plant.worst[limit.name]
    which = "largest" if limit.sense == "at_most" else "least"
    words += f"; the {which} reading is {value:.6g} in round {t}"
    outside, within = plant.outside[limit.name], plant.within[limit.name]
    words += f"; {outside:,} beyond it by more than {plant.describe_error(limit)}"
    return f"{words}, {within:,} by less" if within else words


def _name_version(version: object) -> str:
    return f"round {getattr(version, 'round', 0)}: {version}"


def explain_round(row: PlantRound, plant: PlantDescription) -> Iterator[str]:
    """Yield why set points could be used, what they were, and what was read, in words.

    Args:
        row: the round.
        plant: its description then.
    """
    units = {part.name: part.unit for part in plant.actuators}
    units |= {part.name: part.unit for part in plant.contexts}
    units |= {part.name: part.unit for part in plant.limits}

    def list_all(numbers: dict[str, float]) -> str:
        return ", ".join(f"{name} {value:.6g} {units[name]}" for name, value in numbers.items())

    yield f"round {row.round}: {list_all(row.set_points)} ({row.how})"
    if row.context:
        yield f"in the context {list_all(row.context)}"
    if row.bounds:
        by = f" by {row.sources}" if row.sources else ""
        yield f"certified before: {list_all(row.bounds)}{by}"
    else:
        yield "certified before: nothing"
    if row.played:
        yield f"others used {list_all(row.played)}"
    yield f"read: {list_all(row.readings)}" if row.readings else "nothing was read"
    for limit in plant.limits:
        if limit.name in row.outside:
            yield f"{limit.name} VIOLATES its limit of {limit.bound:g} {limit.unit}"
