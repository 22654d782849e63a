"""Every work of the paper's bibliography, and what of it runs here."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Standing: TypeAlias = Literal["algorithm", "agents", "offline", "out of scope", "context"]
"""An online algorithm that plays problems; one for agents on a network; an offline method, as a
step of :mod:`surefoot.algorithms.related.offline`; an algorithm that is not here, with the reason;
no algorithm that the paper compares with."""


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
