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
breaks, and in which round, is part of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.core.types import needs_of
from surefoot.experiments import Event, Outcome, Spec, build_spec, run
from surefoot.experiments.notes import Claim, Panels, PanelSetting, Shown, Story
from surefoot.experiments.paper.claims import CURVES, claims
from surefoot.experiments.players import ALGORITHMS_BY_NAME
from surefoot.experiments.record import FILE_NAME
from surefoot.experiments.store import Results
from surefoot.problems import HORIZONS, SETTINGS

REGRET, VIOLATION, BINDING = "paper toy", "paper toy, second streams", "binding toy"

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
    claims: list[Claim]
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
    with Results.write(folder / FILE_NAME) as results:
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


def story() -> Story:
    """Return what the reproduction is about, for the first screen of its page."""
    return Story(
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


def panels() -> Panels:
    """Return which rows are the paper's PFS, DPP and DPP-T in each setting."""
    others = (Shown("DPP", "DPP"), Shown("DPP-T as released", "DPP-T"))
    written = (Shown("DPP", "DPP"), Shown("DPP-T as written", "DPP-T"))
    beyond = (
        Shown("PFS tuned", "PFS, tuned"),
        Shown("CertifiedPFS", "certified"),
        Shown("CertifiedPFS, horizon known", "certified, T known"),
        Shown("ScheduledPFS, strongly convex", "strongly convex"),
    )
    return Panels(
        problem=REGRET,
        violation_problem=VIOLATION,
        settings=(
            PanelSetting("as plotted", (Shown("PFS as plotted", "PFS"), *others)),
            PanelSetting("as written", (Shown("PFS as written", "PFS"), *written)),
            PanelSetting("as released", (Shown("PFS as released", "PFS"), *others)),
            PanelSetting("as demanded", (Shown("PFS as demanded", "PFS"), *others)),
            PanelSetting("beyond", (*beyond, *others)),
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
    """Return a row for every theorem of the catalogue that has none yet and can be compiled."""
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
        # Those that cannot be compiled would take longer than all the others together.
        if not needs_of(rule).numpy_only
        for tuning in rule.tunings
        if (rule.__name__, tuning) not in taken
    ]
