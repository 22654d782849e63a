"""Certificates of a plant in its units: what they say of each limit."""

from __future__ import annotations

from typing import Any

from surefoot.problems.plant import PlantDescription, Scaling

__all__ = ["name_bounds", "name_sources", "name_start_bounds"]


def name_bounds(scaling: Scaling, certificate: Any, bound: float) -> dict[str, float]:
    """Return the values that are certified of limits, in their units, by name.

    Args:
        scaling: of the plant.
        certificate: of the action; None where only its bound is known.
        bound: on g, which is that of every limit unless the certificate has one for each.
    """
    limits = scaling.plant.limits
    parts = getattr(certificate, "rows", ())
    bounds = [float(part.bound) for part in parts] if parts else [bound] * len(limits)
    values = {}
    for limit, unit, each in zip(limits, scaling.limit_units.tolist(), bounds, strict=True):
        sign = 1.0 if limit.sense == "at_most" else -1.0
        values[limit.name] = limit.bound + sign * each * unit
    return values


def name_start_bounds(plant: PlantDescription) -> dict[str, float]:
    """Return what the margin of the start says of each limit there, in its unit."""
    signs = {"at_most": -1.0, "at_least": 1.0}
    return {
        limit.name: limit.bound + signs[limit.sense] * limit.start_margin.value
        for limit in plant.limits
    }


def name_sources(certificate: Any, first: int) -> str:
    """Return the readings that a certificate rests on, in words.

    Args:
        certificate: of the action.
        first: the round that the certificate counts as 1.
    """
    parts = getattr(certificate, "rows", ()) or (certificate,)
    rounds = sorted({t for part in parts for t in _rounds_of(part, first)})
    names = [f"{t}" for t in rounds if t > 0]
    words = f"round{'s'[: len(names) != 1]} {', '.join(names)}" if names else ""
    if 0 in rounds:
        words += " and start_margin" if words else "start_margin"
    return words


def _rounds_of(certificate: Any, first: int) -> set[int]:
    """Return the rounds whose readings a certificate rests on; 0 for the margin of the start."""
    is_fallback = hasattr(certificate, "how")  # which counts the rounds of the journal
    ahead = 0 if is_fallback else first - 1
    if (rounds := getattr(certificate, "rounds", None)) is not None:
        weights = getattr(certificate, "weights", (1.0,) * len(rounds))
        counts = {int(t) for t, weight in zip(rounds, weights, strict=True) if weight}
    elif is_fallback and certificate.share == 1.0:
        counts = {int(certificate.anchor_round)}
    else:
        counts = {int(getattr(certificate, name, certificate.round)) for name in _ROUNDS}
    return {t + ahead if t > 0 else 0 for t in counts}


_ROUNDS = ("round", "anchor_round")
