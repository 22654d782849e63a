"""Related work: every system of the bibliography on the problems it is made for.

A game is played round by round, so that every call of an oracle is counted. The repository's
``make related`` plays it, with a ring of agents, and writes the tables of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from surefoot.experiments import Spec, build_spec
from surefoot.experiments.paper.bibliography import BIBLIOGRAPHY
from surefoot.experiments.players import ALGORITHMS_BY_NAME

HORIZON, TRIALS = 2_000, 5

SQUARE, THIN, SIMPLEX, SMOOTH, CHANGING = (
    "square",
    "thin box",
    "simplex",
    "ellipsoid",
    "changing half-spaces",
)
_PROBLEMS: tuple[dict[str, Any], ...] = (
    {"name": "binding_toy", "label": SQUARE},
    {"name": "thin_box", "label": THIN},
    {"name": "portfolio", "label": SIMPLEX},
    {"name": "ellipsoid", "label": SMOOTH},
    {"name": "changing_halfspaces", "label": CHANGING},
)
_OURS = ("PFS.tuned", "LeaderFollower.default")
"""What the others are compared with."""

_ALSO = {
    THIN: (
        *("OGD.fixed", "FrankWolfe.tuned", "GarberKretzu.known_horizon"),
        *("SeparationDescent.known_horizon", "SeparationDescent.deep_cuts", "GaugeDescent.fixed"),
        *("AdaptiveGauge.known_horizon", "GaugeNewton.known_horizon"),
    ),
    SIMPLEX: (
        *("OGD.fixed", "AdaGradOGD.adaptive", "DualAveraging.fixed", "EntropicDualAveraging.fixed"),
        *("FrankWolfe.tuned", "GarberKretzu.known_horizon", "TrackingBlocks.known_horizon"),
    ),
    SMOOTH: (
        *("LevyKrause.fixed", "LevyKrause.strongly_convex", "FrankWolfe.tuned"),
        *("GarberKretzu.known_horizon", "OGD.fixed"),
    ),
    CHANGING: (
        *("ScalarDPP.changing", "ScalarDPP.windows", "SinhaVaze.convex"),
        *("StrongSinhaVaze.strongly_convex", "RECOO.changing", "RECOO.changing_strongly_convex"),
        *("PrimalDual.known_margin", "CVVPro.tuned", "PenalisedBlocks.known_horizon"),
        *("Mahdavi.balanced", "Jenatton.trade_off", "Yuan.trade_off"),
    ),
}
"""Who else plays a problem; the square is for all whose theorem applies to it."""

_ELSEWHERE = ("LevyKrause", "EntropicDualAveraging", "PrimalDual")
"""Rules that the square is no problem for: no smooth set, no simplex, no common margin."""


def specification(horizon: int = HORIZON, trials: int = TRIALS) -> Spec:
    """Return the experiment: each theorem of each cited algorithm, where it is at home.

    Args:
        horizon: T.
        trials: of each.

    Example:
        >>> spec = specification(horizon=100, trials=1)
        >>> [row.only for row in spec.algorithms if row.title == "LevyKrause.fixed"]
        [['ellipsoid']]
    """
    return build_spec(
        {
            "name": "related",
            "trials": trials,
            "horizons": [horizon],
            "engine": "loop",
            "problems": list(_PROBLEMS),
            "algorithms": [
                {"name": name.partition(".")[0], "tuning": name.partition(".")[2], "only": places}
                for name in _names()
                if (places := _places(name))
            ],
        }
    )


def _names() -> Iterator[str]:
    """Yield the theorems of the cited algorithms, and of ours to compare with."""
    cited = [name for work in BIBLIOGRAPHY if work.standing == "algorithm" for name in work.here]
    also = [name for names in _ALSO.values() for name in names]
    found = dict.fromkeys(_OURS)
    for name in (*cited, *also):
        kind, _, tuning = name.partition(".")
        own = ALGORITHMS_BY_NAME[kind].tunings if not tuning else (tuning,)
        found |= dict.fromkeys(f"{kind}.{one}" for one in own)
    yield from found


def _places(name: str) -> list[str]:
    kind = name.partition(".")[0]
    if name in _OURS:
        return [SQUARE, THIN, SMOOTH]
    if name == "CVVPro.tuned":
        return [CHANGING]
    places = [] if kind in _ELSEWHERE else [SQUARE]
    return places + [place for place, names in _ALSO.items() if name in names]
