r"""The paper's whole experiment: every setting its name may mean, and every row of Table 1.

Three problems: the toy on the streams of the published regret script, the same on those of the
violation script, and the toy moved so that its constraint binds. The rows:

- *as written* in the text, *as plotted* (what Figure 1a shows), *as released* (the published
  scripts), *as demanded* (Corollary 1 with a gradient bound that is true);
- *beyond*: Theorem 1's bound minimised, certified steps, the schedule for strong convexity;
- DPP, with one queue for the largest constraint as in the scripts, with one for each; DPP-T as
  written and as released;
- every other theorem of the catalogue whose games are compiled.

A row that claims a theorem with constants that the streams disprove keeps the claim: the round in
which it breaks is part of the result. Each figure of the paper is compared with what was measured,
and gets a verdict (:func:`claims`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from surefoot import kernel
from surefoot.core.checks import finite_or_none
from surefoot.core.types import needs_of
from surefoot.experiments import Event, Outcome, Spec, build_spec, record, run
from surefoot.experiments.build import ALGORITHMS_BY_NAME
from surefoot.experiments.paper import CURVES, PublishedCurve, read_data
from surefoot.experiments.rows import Row, gather
from surefoot.experiments.store import Results
from surefoot.rules import AdaptiveGauge, CertifiedDualAveraging, CertifiedOGD, LeaderFollower
from surefoot.rules.wrappers.wrapper import Wrapper

REGRET, VIOLATION, BINDING = "paper toy", "paper toy, second streams", "binding toy"

READING = 0.02
"""A value is read off a printed figure to within this share of it, or to within 2 units."""

Measured: TypeAlias = dict[tuple[str, str, int], dict[str, np.ndarray]]
"""The arrays of every row, all trials, by problem, algorithm and horizon."""


_WHAT = {"regret": "regret", "positive_sum": "[sum g]+"}


def claims(rows: Iterable[Row]) -> list[record.Claim]:
    """Return the verdicts on Figures 1a, 1b, 1c and 2, that on the whole figure first.

    Args:
        rows: of the reproduction.
    """
    measured = {(r.problem, r.algorithm, r.horizon): r.arrays for r in rows if r.played}
    single = [_on_curve(curve, measured) for curve in CURVES]
    single += _on_instants(measured) + _on_actions(measured)
    return [c for figure in ("1a", "1b", "1c", "2") for c in _with_whole(figure, single)]


def _verdict(stated: bool, others: bool = False) -> record.ClaimWord:
    """Return the verdict on what holds with the constants as stated, or with others."""
    return (
        record.REPRODUCED if stated else record.OTHER_CONSTANTS if others else record.NOT_REPRODUCED
    )


def _with_whole(figure: str, single: Sequence[record.Claim]) -> list[record.Claim]:
    """Return the verdict on a figure, that of its gravest part, and then its parts."""
    parts = [c for c in single if c.figure == figure]
    gravest = min(parts, key=lambda c: record.CLAIM_WORDS.index(c.verdict))
    whole = record.Claim(
        figure=figure,
        statement=f"Figure {figure} as a whole",
        verdict=gravest.verdict,
        reason="; ".join(f"{c.statement}: {c.verdict}" for c in parts),
    )
    return [whole, *parts]


# --- curves with values --------------------------------------------------------------------------


def is_read_as(value: float, published: float) -> bool:
    """Return whether a value could have been read off as the published one.

    >>> is_read_as(143.5, 142.0), is_read_as(112.0, 88.0)
    (True, False)
    """
    return abs(value - published) <= max(2.0, READING * abs(published))


def _on_curve(curve: PublishedCurve, measured: Measured) -> record.Claim:
    candidates = {
        label: {
            T: float(np.mean(measured[curve.problem, label, T][curve.measure]))
            for T in curve.published
        }
        for label in (curve.stated, *curve.others)
        if all((curve.problem, label, T) in measured for T in curve.published)
    }
    fits = [
        label
        for label, values in candidates.items()
        if all(is_read_as(values[T], p) for T, p in curve.published.items())
    ]
    chosen = curve.stated if curve.stated in fits or not fits else fits[0]
    return record.Claim(
        figure=curve.figure,
        statement=f"{curve.name}, {_WHAT[curve.measure]}",
        settings=chosen,
        published={str(T): v for T, v in curve.published.items()},
        measured={
            str(T): finite_or_none(round(v, 2)) for T, v in candidates.get(chosen, {}).items()
        },
        verdict=_verdict(curve.stated in fits, bool(fits)),
        reason="; ".join(
            f"{label}: {' / '.join(f'{v:.1f}' for v in values.values())}"
            for label, values in candidates.items()
        ),
    )


# --- figures without values ----------------------------------------------------------------------

_LAST = 20_000
_RELEASED = "DPP-T as released (violation script)"


def _on_instants(measured: Measured) -> list[record.Claim]:
    """Judge Figure 1c: PFS never violates, DPP does, tightening DPP helps a lot."""
    largest = {
        label: float(np.max(measured[VIOLATION, label, _LAST]["largest"]))
        for label in ("PFS as written", "PFS as plotted", "DPP")
    }
    tightened = {
        label: float(np.mean(measured[VIOLATION, label, _LAST]["sum_positive"]))
        for label in ("DPP", "DPP-T as written", _RELEASED)
    }

    def helps(label: str) -> bool:
        # "Substantially reduced" is taken as: to a tenth.
        return largest["DPP"] > 0 and tightened[label] <= 0.1 * tightened["DPP"]

    return [
        record.Claim(
            figure="1c",
            statement="PFS does not violate in any round",
            settings="PFS as written",
            verdict=_verdict(largest["PFS as written"] <= 0, largest["PFS as plotted"] <= 0),
            reason="; ".join(f"{label}: largest g {value:.3g}" for label, value in largest.items()),
        ),
        record.Claim(
            figure="1c",
            statement="DPP violates, DPP-T far less",
            settings="DPP-T as written",
            verdict=_verdict(helps("DPP-T as written"), helps(_RELEASED)),
            reason="; ".join(f"{label}: sum [g]+ {v:.1f}" for label, v in tightened.items()),
        ),
    ]


def _on_actions(measured: Measured) -> list[record.Claim]:
    """Judge Figure 2: PFS approaches the boundary from inside, DPP crosses it."""
    values = {}
    for label in ("PFS as written", "PFS as plotted", "DPP"):
        arrays = measured[REGRET, label, _LAST]
        is_shown = arrays["rounds"] % 300 == 0
        values[label] = arrays["constraint"][is_shown, 0]

    def approaches(label: str) -> bool:
        # The second half of the actions shown is nearer to the boundary than the first.
        g, half = values[label], len(values[label]) // 2
        return bool((g <= 0).all() and g[half:].mean() > g[:half].mean())

    violations = int((values["DPP"] > 0).sum())
    numbers = "; ".join(
        f"{label}: g of the first {g[0]:.3f}, of the last {g[-1]:.4f}, largest {g.max():.4f}"
        for label, g in values.items()
    )
    return [
        record.Claim(
            figure="2",
            statement="PFS approaches the boundary gradually and from inside",
            settings="PFS as written",
            verdict=_verdict(approaches("PFS as written"), approaches("PFS as plotted")),
            reason=numbers,
        ),
        record.Claim(
            figure="2",
            statement="DPP's actions leave the feasible set",
            settings="DPP",
            verdict=_verdict(violations > 0),
            reason=f"{violations} of {len(values['DPP'])} actions shown violate",
        ),
    ]


_SHOWN = (2_000, 6_000, 20_000)
"""Horizons of the rows that are in none of the paper's figures: enough for a rate."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The result of a reproduction.

    Attributes:
        outcome: of the run.
        claims: the verdicts; empty where cells are missing.
        rows: the results behind them.
    """

    outcome: Outcome
    claims: list[record.Claim]
    rows: list[Row]


def reproduce(
    folder: Path,
    *,
    workers: int | None = None,
    force: bool = False,
    progress: Callable[[Event], None] | None = None,
) -> Reproduction:
    """Play the paper's experiment and judge its figures; stored cells are reused.

    Args:
        folder: for the results.
        workers: processes; one for each core unless given.
        force: play everything again.
        progress: called after each cell.
    """
    outcome = run(specification(), folder, workers=workers, force=force, progress=progress)
    if outcome.interrupted or outcome.failed or outcome.set_aside:
        return Reproduction(outcome, [], [])
    with Results.write(folder / record.FILE_NAME) as results:
        rows = gather(results)
        verdicts = claims(rows)
        results.set_header(claims=verdicts)
    return Reproduction(outcome, verdicts, rows)


def specification() -> Spec:
    """Return the experiment as a specification, as `surefoot run` would be given it.

    Its own rows are in ``reproduction.toml``; the rest of the catalogue follows.
    """
    data = read_data("reproduction")
    data["algorithms"] += _rest({(row["name"], row.get("tuning")) for row in data["algorithms"]})
    return build_spec(data)


def _rest(present: set[tuple[str, str | None]]) -> list[dict[str, Any]]:
    """Return a row for every theorem of the catalogue that has none yet and is played compiled."""
    return [
        {
            "label": f"{rule.__name__}.{tuning}",
            "name": rule.__name__,
            "tuning": tuning,
            "only": [REGRET, BINDING],
            "horizons": list(_SHOWN),
        }
        for rule in ALGORITHMS_BY_NAME.values()
        for tuning in rule.tunings
        if (rule.__name__, tuning) not in present and _is_compiled(rule, tuning)
    ]


def _is_compiled(rule: type[Any], tuning: str) -> bool:
    """Return whether games of a theorem are compiled; one other takes longer than all of these.

    Rules that are played run by run need the kernel: where there is none they are left out. What
    wraps another rule, as LeaderFollower.promised does, is played round by round.
    """
    if (rule, tuning) == (LeaderFollower, "promised"):
        return False
    by_kernel = (AdaptiveGauge, CertifiedDualAveraging, CertifiedOGD, LeaderFollower)
    if rule in by_kernel:
        return kernel.name() == "kernel"
    return not needs_of(rule).numpy_only and not issubclass(rule, Wrapper)
