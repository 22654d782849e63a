"""Compare what the paper's figures show with what was measured; give a verdict on each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from surefoot.core.checks import finite_or_none
from surefoot.experiments.notes import (
    CLAIM_WORDS,
    NOT_REPRODUCED,
    OTHER_CONSTANTS,
    REPRODUCED,
    Claim,
)
from surefoot.experiments.record import CellResult, Place
from surefoot.experiments.rows import arrange

READING = 0.02
"""A value is read off a printed figure to within this share of it, or to within 2 units."""

Measured: TypeAlias = dict[tuple[str, str, int], dict[str, np.ndarray]]
"""The arrays of every row, all trials, by problem, algorithm and horizon."""


class PublishedCurve(NamedTuple):
    """A curve of the paper with the rows that may represent it.

    Attributes:
        figure: "1a" or "1b".
        name: the paper's label for it.
        measure: which of the recorded numbers it shows, as a mean over the trials.
        problem: label of the problem, whose streams are those of the figure's script.
        published: values read off the figure, by horizon.
        stated: the row with the constants that the text states.
        others: rows with other constants, the most likely first.
    """

    figure: str
    name: str
    measure: str
    problem: str
    published: dict[int, float]
    stated: str
    others: tuple[str, ...]


CURVES = (
    PublishedCurve(
        "1a",
        "PFS",
        "regret",
        "paper toy",
        {2_000: 88.0, 10_000: 191.0, 20_000: 267.0},
        "PFS as written",
        ("PFS as plotted", "PFS as released", "PFS as demanded"),
    ),
    PublishedCurve(
        "1a",
        "DPP",
        "regret",
        "paper toy",
        {2_000: 45.0, 10_000: 102.0, 20_000: 142.0},
        "DPP",
        ("DPP, queue for each constraint",),
    ),
    PublishedCurve(
        "1a",
        "DPP-T",
        "regret",
        "paper toy",
        {2_000: 333.0, 10_000: 520.0, 20_000: 600.0},
        "DPP-T as written",
        ("DPP-T as released",),
    ),
    PublishedCurve(
        "1b",
        "PFS",
        "soft",
        "paper toy, second streams",
        {2_000: 0.0, 10_000: 0.0, 20_000: 0.0},
        "PFS as written",
        ("PFS as plotted",),
    ),
    PublishedCurve(
        "1b",
        "DPP",
        "soft",
        "paper toy, second streams",
        {2_000: 15.0, 10_000: 31.0, 20_000: 37.0},
        "DPP",
        ("DPP, queue for each constraint",),
    ),
)
"""The curves with values to compare. The text gives DPP as V = sqrt(T), alpha = T; that its queue
is one for the largest constraint is not said and found in the scripts, hence the vector as other.
"""

_WHAT = {"regret": "regret", "soft": "[sum g]+"}


def claims(cells: Iterable[tuple[Place, CellResult]]) -> list[Claim]:
    """Return the verdicts on Figures 1a, 1b, 1c and 2, each figure's own first.

    Args:
        cells: the cells of the reproduction.

    """
    played = list(cells)
    rows = arrange((place for place, _ in played), played)
    measured = {(r.problem, r.algorithm, r.horizon): r.arrays for r in rows if r.played}
    single = [_on_curve(curve, measured) for curve in CURVES]
    single += _on_instants(measured) + _on_actions(measured)
    return [c for figure in ("1a", "1b", "1c", "2") for c in _with_whole(figure, single)]


def _verdict(stated: bool, others: bool = False) -> str:
    """Return the verdict on what holds with the constants as stated, or with others."""
    return REPRODUCED if stated else OTHER_CONSTANTS if others else NOT_REPRODUCED


def _with_whole(figure: str, single: Sequence[Claim]) -> list[Claim]:
    """Return a figure's own verdict, that of its worst part, and then its parts."""
    parts = [c for c in single if c.figure == figure]
    worst = min(parts, key=lambda c: CLAIM_WORDS.index(c.verdict))
    whole = _claim(
        figure,
        f"Figure {figure} as a whole",
        "",
        worst.verdict,
        "; ".join(f"{c.statement}: {c.verdict}" for c in parts),
    )
    return [whole, *parts]


def _claim(
    figure: str,
    statement: str,
    settings: str,
    verdict: str,
    reason: str,
    published: Mapping[int, float] | None = None,
    measured: Mapping[int, float] | None = None,
) -> Claim:
    return Claim(
        figure=figure,
        statement=statement,
        settings=settings,
        published={str(T): v for T, v in (published or {}).items()},
        measured={str(T): finite_or_none(round(v, 2)) for T, v in (measured or {}).items()},
        verdict=verdict,
        reason=reason,
    )


# --- curves with values --------------------------------------------------------------------------


def is_read_as(value: float, published: float) -> bool:
    """Return whether a value could have been read off as the published one.

    >>> is_read_as(143.5, 142.0), is_read_as(112.0, 88.0)
    (True, False)
    """
    return abs(value - published) <= max(2.0, READING * abs(published))


def _on_curve(curve: PublishedCurve, measured: Measured) -> Claim:
    tried = {
        label: {
            T: float(np.mean(measured[curve.problem, label, T][curve.measure]))
            for T in curve.published
        }
        for label in (curve.stated, *curve.others)
        if all((curve.problem, label, T) in measured for T in curve.published)
    }
    fits = [
        label
        for label, values in tried.items()
        if all(is_read_as(values[T], p) for T, p in curve.published.items())
    ]
    shown = curve.stated if curve.stated in fits or not fits else fits[0]
    return _claim(
        curve.figure,
        f"{curve.name}, {_WHAT[curve.measure]}",
        shown,
        _verdict(curve.stated in fits, bool(fits)),
        "; ".join(f"{label}: {_numbers(values)}" for label, values in tried.items()),
        curve.published,
        tried.get(shown),
    )


def _numbers(values: Mapping[int, float]) -> str:
    return " / ".join(f"{v:.1f}" for v in values.values())


# --- figures that show something else than values ------------------------------------------------

_LAST = 20_000
_RELEASED = "DPP-T as released (violation script)"


def _on_instants(measured: Measured) -> list[Claim]:
    """Judge Figure 1c: PFS never violates, DPP does, tightening DPP helps a lot."""
    problem = "paper toy, second streams"
    worst = {
        label: float(np.max(measured[problem, label, _LAST]["worst"]))
        for label in ("PFS as written", "PFS as plotted", "DPP")
    }
    tightened = {
        label: float(np.mean(measured[problem, label, _LAST]["hard"]))
        for label in ("DPP", "DPP-T as written", _RELEASED)
    }

    def helps(label: str) -> bool:
        # "Substantially reduced" is taken as: to a tenth.
        return tightened[label] <= 0.1 * tightened["DPP"]

    return [
        _claim(
            "1c",
            "PFS does not violate in any round",
            "PFS as written",
            _verdict(worst["PFS as written"] <= 0, worst["PFS as plotted"] <= 0),
            "; ".join(f"{label}: largest g {value:.3g}" for label, value in worst.items()),
        ),
        _claim(
            "1c",
            "DPP violates, DPP-T far less",
            "DPP-T as written",
            _verdict(*(worst["DPP"] > 0 and helps(t) for t in ("DPP-T as written", _RELEASED))),
            "; ".join(f"{label}: sum [g]+ {value:.1f}" for label, value in tightened.items()),
        ),
    ]


def _on_actions(measured: Measured) -> list[Claim]:
    """Judge Figure 2: PFS comes to the boundary from inside, DPP goes beyond it."""
    found = {}
    for label in ("PFS as written", "PFS as plotted", "DPP"):
        arrays = measured["paper toy", label, _LAST]
        shown = arrays["rounds"] % 300 == 0
        found[label] = arrays["constraint"][shown, 0]

    def approaches(g: np.ndarray) -> bool:
        # The second half of the actions shown is nearer to the boundary than the first.
        half = len(g) // 2
        return bool((g <= 0).all() and g[half:].mean() > g[:half].mean())

    outside = int((found["DPP"] > 0).sum())
    numbers = "; ".join(
        f"{label}: g of the first {g[0]:.3f}, of the last {g[-1]:.4f}, largest {g.max():.4f}"
        for label, g in found.items()
    )
    return [
        _claim(
            "2",
            "PFS approaches the boundary gradually and from inside",
            "PFS as written",
            _verdict(approaches(found["PFS as written"]), approaches(found["PFS as plotted"])),
            numbers,
        ),
        _claim(
            "2",
            "DPP's actions leave the feasible set",
            "DPP",
            _verdict(outside > 0),
            f"{outside} of {len(found['DPP'])} actions shown are outside",
        ),
    ]
