r"""The paper's whole experiment: every setting its name may mean, and every row of Table 1.

Three problems: the toy on the streams of the published regret script, the same on those of the
violation script, and the toy moved so that its constraint binds. The rows:

- *as written* in the text, *as plotted* (what Figure 1a shows), *as released* (the published
  scripts), *as demanded* (Corollary 1 with a gradient bound that is true);
- *beyond*: Theorem 1's bound minimised, certified steps, the schedule for strong convexity;
- DPP, with one queue for the largest constraint as in the scripts, with one for each; DPP-T as
  written and as released;
- every other theorem of the catalogue whose rule can be compiled.

A row that claims a theorem with constants that the streams disprove keeps the claim: that it
breaks, and in which round, is part of the result. What the paper's figures show is compared with
what was measured, with a verdict on each (:func:`claims`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from surefoot import kernel
from surefoot.algorithms import CertifiedDualAveraging, CertifiedOGD, LeaderFollower
from surefoot.algorithms.wrapper import Wrapper
from surefoot.core.checks import finite_or_none
from surefoot.core.types import needs_of
from surefoot.experiments import Event, Outcome, Spec, build_spec, record, run
from surefoot.experiments.build import ALGORITHMS_BY_NAME
from surefoot.experiments.rows import arrange
from surefoot.experiments.store import Results
from surefoot.problems import HORIZONS, SETTINGS

REGRET, VIOLATION, BINDING = "paper toy", "paper toy, second streams", "binding toy"

READING = 0.02
"""A value is read off a printed figure to within this share of it, or to within 2 units."""

Measured: TypeAlias = dict[tuple[str, str, int], dict[str, np.ndarray]]
"""The arrays of every row, all trials, by problem, algorithm and horizon."""


class PublishedCurve(NamedTuple):
    """A curve of the paper with the rows that may represent it.

    Attributes:
        name: the paper's label for it.
        measure: which of the recorded numbers it shows, as a mean over the trials.
        values: read off the figure at 2,000, 10,000 and 20,000 rounds.
        stated: the row with the constants that the text states.
        others: rows with other constants, the most likely first.
    """

    name: str
    measure: Literal["regret", "soft"]
    values: tuple[float, float, float]
    stated: str
    others: tuple[str, ...]

    @property
    def figure(self) -> str:
        """Which figure it is in."""
        return "1a" if self.measure == "regret" else "1b"

    @property
    def problem(self) -> str:
        """Label of the problem whose streams are those of the figure's script."""
        return REGRET if self.measure == "regret" else VIOLATION

    @property
    def published(self) -> dict[int, float]:
        """The values by horizon."""
        return dict(zip((2_000, 10_000, 20_000), self.values, strict=True))


_PFS = ("PFS as plotted", "PFS as released", "PFS as demanded")
_VECTOR = ("DPP, queue for each constraint",)
CURVES = (
    PublishedCurve("PFS", "regret", (88.0, 191.0, 267.0), "PFS as written", _PFS),
    PublishedCurve("DPP", "regret", (45.0, 102.0, 142.0), "DPP", _VECTOR),
    PublishedCurve(
        "DPP-T", "regret", (333.0, 520.0, 600.0), "DPP-T as written", ("DPP-T as released",)
    ),
    PublishedCurve("PFS", "soft", (0.0, 0.0, 0.0), "PFS as written", _PFS[:1]),
    PublishedCurve("DPP", "soft", (15.0, 31.0, 37.0), "DPP", _VECTOR),
)
"""The curves with values to compare. The text gives DPP as V = sqrt(T), alpha = T; that its queue
is one for the largest constraint is not said and found in the scripts, hence the vector as other.
"""

_WHAT = {"regret": "regret", "soft": "[sum g]+"}


def claims(cells: Iterable[tuple[record.Place, record.CellResult]]) -> list[record.Claim]:
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
    return (
        record.REPRODUCED if stated else record.OTHER_CONSTANTS if others else record.NOT_REPRODUCED
    )


def _with_whole(figure: str, single: Sequence[record.Claim]) -> list[record.Claim]:
    """Return a figure's own verdict, that of its worst part, and then its parts."""
    parts = [c for c in single if c.figure == figure]
    worst = min(parts, key=lambda c: record.CLAIM_WORDS.index(c.verdict))
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
) -> record.Claim:
    return record.Claim(
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


def _on_curve(curve: PublishedCurve, measured: Measured) -> record.Claim:
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


def _on_instants(measured: Measured) -> list[record.Claim]:
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


def _on_actions(measured: Measured) -> list[record.Claim]:
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


_SHOWN = (2_000, 6_000, 20_000)
"""Horizons of the rows that are in none of the paper's figures: enough for a rate."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The result of a reproduction.

    Attributes:
        outcome: of the run.
        claims: the verdicts; empty where cells are missing.
        folder: where the results are.
    """

    outcome: Outcome
    claims: list[record.Claim]
    folder: Path


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
        return Reproduction(outcome, [], folder)
    with Results.write(folder / record.FILE_NAME) as results:
        found = claims(results.cells())
        results.set_note("claims", found)
        results.set_note("panels", panels())
        results.set_note("story", story())
    return Reproduction(outcome, found, folder)


def specification() -> Spec:
    """Return the experiment as a specification, as `surefoot run` would be given it."""
    return build_spec(
        {
            "name": "reproduction",
            "seed": 0,
            "trials": 30,
            "horizons": list(HORIZONS),
            "recording": {"every": 100, "actions": 1, "horizons": [max(HORIZONS)]},
            "problems": [
                {"name": "paper_toy", "label": REGRET, "published": 0},
                {"name": "paper_toy", "label": VIOLATION, "published": 1},
                {"name": "binding_toy", "label": BINDING, "published": 0},
            ],
            "algorithms": sorted([*_paper_rows(), *_beyond(), *_rest()], key=_turn),
        }
    )


_FIRST = (
    "PFS as plotted",
    "PFS as written",
    "PFS as demanded",
    "PFS tuned",
    "CertifiedPFS",
    "ScheduledPFS, strongly convex",
    "DPP",
    "DPP-T as released",
)
"""The rows that tell the story; a report draws these unless it is asked for others."""


def _turn(row: dict[str, Any]) -> int:
    return _FIRST.index(row["label"]) if row["label"] in _FIRST else len(_FIRST)


def story() -> record.Story:
    """Return what the reproduction is about, for the first screen of its page."""
    return record.Story(
        paper="Spencer Hutchinson and Mahnoosh Alizadeh, Constrained Online Convex Optimization "
        "with Polyak Feasibility Steps, ICML 2025",
        question="Its figures show that Polyak feasibility steps (PFS) never leave the feasible "
        "set, while drift plus penalty (DPP, tightened: DPP-T) does, at a regret of the same "
        "order. Do they come out again with the constants that the paper states?",
        settings=(
            ("as written", "eta and rho with the constants of the paper's text"),
            ("as plotted", "with the constants that give the curves of Figure 1a"),
            ("as released", "with the constants of the published scripts"),
            ("as demanded", "Corollary 1 with a bound on the gradients that is true here"),
        ),
        link="https://arxiv.org/abs/2502.13112",
    )


def panels() -> record.Panels:
    """Return which rows are the paper's PFS, DPP and DPP-T in each setting."""
    others = (record.Shown("DPP", "DPP"), record.Shown("DPP-T as released", "DPP-T"))
    written = (record.Shown("DPP", "DPP"), record.Shown("DPP-T as written", "DPP-T"))
    beyond = (
        record.Shown("PFS tuned", "PFS, tuned"),
        record.Shown("CertifiedPFS", "certified"),
        record.Shown("CertifiedPFS, horizon known", "certified, T known"),
        record.Shown("ScheduledPFS, strongly convex", "strongly convex"),
    )
    return record.Panels(
        problem=REGRET,
        violation_problem=VIOLATION,
        settings=(
            record.PanelSetting("as plotted", (record.Shown("PFS as plotted", "PFS"), *others)),
            record.PanelSetting("as written", (record.Shown("PFS as written", "PFS"), *written)),
            record.PanelSetting("as released", (record.Shown("PFS as released", "PFS"), *others)),
            record.PanelSetting("as demanded", (record.Shown("PFS as demanded", "PFS"), *others)),
            record.PanelSetting("beyond", (*beyond, *others)),
        ),
        # Of Figure 1a and of Figure 1b, by the paper's name and the horizon.
        published={
            measure: {
                c.name: {str(T): v for T, v in c.published.items()}
                for c in CURVES
                if c.measure == measure
            }
            for measure in ("regret", "soft")
        },
        every=300,
    )


def _paper_rows() -> list[dict[str, Any]]:
    """Return PFS in four settings, DPP and DPP-T, on all three problems."""
    rows: list[dict[str, Any]] = [
        {
            "label": f"PFS {setting.name}",
            "name": "PFS",
            "tuning": "chosen",
            "options": {
                "eta": {"times": setting.parameters(1)[0], "power": -0.5},
                "rho": {"times": setting.rho_scale, "power": -0.5},
            },
            "constants": {"G_f": setting.G_f},
        }
        for setting in SETTINGS
    ]
    rows.append({"label": "PFS as demanded", "name": "PFS", "tuning": "anytime"})
    published = {"V": {"power": 0.5}, "alpha": {"power": 1.0}}
    scalar = {"name": "ScalarDPP", "parameters": published}
    rows += [
        {"label": "DPP", **scalar},
        {"label": "DPP, queue for each constraint", "name": "DPP", "parameters": published},
    ]

    def tightened(label: str, most: float, times: float) -> dict[str, Any]:
        rho = {"times": times, "power": -0.5, "at_most": most}
        return {"label": label, "name": "Tighten", "parameters": {"rho": rho}, "base": scalar}

    return [
        *rows,
        tightened("DPP-T as written", 0.25, 20.0),
        # min(1, 20/sqrt T) times 0.45 in the regret script, times 0.5 in the violation script.
        tightened("DPP-T as released", 0.45, 9.0),
        tightened("DPP-T as released (violation script)", 0.5, 10.0) | {"only": [VIOLATION]},
    ]


def _beyond() -> list[dict[str, Any]]:
    """Return rows with the same promise from the same constants, or from fewer."""
    rows = [
        ("PFS tuned", "PFS", "tuned"),
        ("CertifiedPFS", "CertifiedPFS", "default"),
        ("CertifiedPFS, horizon known", "CertifiedPFS", "known_horizon"),
        ("ScheduledPFS, strongly convex", "ScheduledPFS", "strongly_convex"),
    ]
    return [{"label": label, "name": name, "tuning": tuning} for label, name, tuning in rows]


def _rest() -> list[dict[str, Any]]:
    """Return a row for every theorem of the catalogue that has none yet and is played compiled."""
    taken = {(row["name"], row.get("tuning")) for row in (*_paper_rows(), *_beyond())}
    return [
        {
            "label": f"{rule.__name__}.{tuning}",
            "name": rule.__name__,
            "tuning": tuning,
            "only": [REGRET, BINDING],
            "horizons": list(_SHOWN),
        }
        for rule in ALGORITHMS_BY_NAME.values()
        if _is_compiled(rule)
        for tuning in rule.tunings
        if (rule.__name__, tuning) not in taken
    ]


def _is_compiled(rule: type[Any]) -> bool:
    """Return whether games of a rule are compiled; one other would take longer than all of these.

    The certified rules among them need the kernel: where there is none they are left out. What
    wraps another rule is played round by round.
    """
    by_kernel = (CertifiedDualAveraging, CertifiedOGD, LeaderFollower)
    if rule in by_kernel:
        return kernel.name() == "kernel"
    return not needs_of(rule).numpy_only and not issubclass(rule, Wrapper)
