"""Related work: every work of the paper's bibliography, and each system where it is at home.

A game is played round by round, so that every call of an oracle is counted. The repository's
``make related`` plays it, with a ring of agents, and writes the tables of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

from surefoot.experiments import Spec, build_spec
from surefoot.experiments.build import ALGORITHMS_BY_NAME

Standing: TypeAlias = Literal[
    "algorithm", "agents", "offline", "out of scope", "context", "neighbour"
]
"""An online algorithm that plays problems; one for agents on a network; an offline method, as a
step of :mod:`surefoot.algorithms.related.offline`; an algorithm that is not here, with the reason;
no algorithm that the paper compares with; a neighbour that the paper does not cite, with what of
this library answers the same question."""


class Cited(NamedTuple):
    """A work of the bibliography.

    Attributes:
        work: authors and year.
        standing: what it is to this library.
        here: names of algorithms (with the tuning where it matters) or of offline steps.
        note: what a reader should know in one phrase.
    """

    work: str
    standing: Standing
    here: tuple[str, ...]
    note: str = ""


def _runs(work: str, *here: str, note: str = "") -> Cited:
    return Cited(work, "algorithm", here, note)


def _offline(work: str, *here: str) -> Cited:
    return Cited(work, "offline", here)


def _context(work: str, note: str) -> Cited:
    return Cited(work, "context", (), note)


BIBLIOGRAPHY: tuple[Cited, ...] = (
    _context("Agarwal et al. 2019", "online control, an application"),
    _context("Boyd et al. 2003", "lecture notes on subgradient methods"),
    _runs("Castiglioni et al. 2022", "PrimalDual", note="for a known margin"),
    _context("Cesa-Bianchi et al. 2004", "from online to batch: average the actions"),
    _runs("Chen et al. 2019", "BanditFrankWolfe"),
    _context("Chen and Giannakis 2018", "the internet of things, an application"),
    _context("Cutkosky et al. 2023", "non-convex optimisation, an application"),
    _runs("Garber and Kretzu 2020", "BlockBandit"),
    _runs("Garber and Kretzu 2022", "GarberKretzu", "SeparationDescent"),
    _runs("Garber and Kretzu 2024", "PenalisedBlocks"),
    _runs("Guo et al. 2022", "RECOO"),
    _runs("Hazan and Kale 2012", "FrankWolfe"),
    Cited(
        "Hu et al. 2023",
        "out of scope",
        (),
        "Riemannian: it needs exponential maps, parallel transport and geodesic oracles, and this "
        "library is Euclidean; there its methods are FrankWolfe and SeparationDescent",
    ),
    _runs("Jenatton et al. 2016", "Jenatton"),
    _runs("Kolev et al. 2023", "CVVPro"),
    _runs("Levy and Krause 2019", "LevyKrause"),
    _runs("Liakopoulos et al. 2019", "ScalarDPP.windows"),
    _runs("Lu et al. 2023", "AdaptiveGauge"),
    _runs("Mahdavi et al. 2012", "Mahdavi", "MahdaviLinear"),
    _context("McMahan et al. 2013", "advertising, an application"),
    _runs("Mhammedi 2022", "GaugeDescent"),
    _runs("Mhammedi 2024", "GaugeNewton", note="the rate, by another rule"),
    _offline("Necoara and Singh 2022", "proximal_step"),
    _offline("Nedic 2011", "correct"),
    _offline("Nedic and Necoara 2019", "correct_all"),
    _runs("Neely and Yu 2017", "ScalarDPP.changing"),
    _offline("Polyak 1969", "polyak_step"),
    _offline("Polyak 2001", "deep_cut"),
    _context("Rockafellar 1970", "convex analysis"),
    _runs("Shalev-Shwartz and Singer 2007", "DualAveraging"),
    _offline("Singh and Necoara 2025", "linearised_step"),
    _context("Tewari and Murphy 2017", "health, an application"),
    _runs("Wang et al. 2024", "TrackingBlocks", note="dynamic regret"),
    _runs("Yi et al. 2021", "Yi", "TrackingPenalty"),
    Cited("Yi et al. 2022", "agents", ("NetworkPenalty",), "play_network of surefoot.games"),
    _runs("Yu and Neely 2020", "YuNeely"),
    _runs("Yu et al. 2017", "DPP", "ScalarDPP.tuned"),
    _runs("Yuan and Lamperski 2018", "Yuan"),
    _offline("Zhang et al. 2025", "velocity_step"),
    _runs("Zinkevich 2003", "OGD", "DecayingOGD"),
)
"""In the order of the paper."""


def _neighbour(work: str, *here: str, note: str) -> Cited:
    return Cited(work, "neighbour", here, note)


NEIGHBOURS: tuple[Cited, ...] = (
    _neighbour(
        "Hamoud et al. 2025",
        "TheoremN",
        note="no violation and sublinear regret where the constraint changes slowly; here, "
        "feasibility under drift, without a bound on the regret",
    ),
    _neighbour(
        "Hutchinson and Alizadeh 2024",
        "CostProbing",
        note="values at d + 1 points a round, for a smooth and strongly convex constraint; here, "
        "every point is a round",
    ),
    _neighbour(
        "Hutchinson et al. 2025",
        "Averaged",
        note="OSOCO: unknown linear constraints from noisy readings, with a rate; here, any convex "
        "one, without",
    ),
    _neighbour(
        "Sarkar and Sinha 2025",
        "SinhaVaze",
        note="sums of violations for any horizon, with dynamic regret and forecasts; here, the "
        "rule of Sinha and Vaze 2024",
    ),
    _neighbour(
        "Sridharan and Yoo 2025",
        "Certified",
        note="any learner made safe by a regression of the constraint, with high probability; "
        "here, by constants, surely",
    ),
)
"""Works in the same setting that are not in the paper's bibliography; docs/related.md compares."""


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
