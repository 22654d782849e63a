"""Related work: every work of the paper's bibliography, each on the problems it is made for.

The works are in ``bibliography.toml``, who plays what in ``related.toml``. A game is played round
by round, so that every call of an oracle is counted. The repository's ``make related`` plays it,
with a ring of agents, and writes the tables of the page.
"""

from collections.abc import Sequence
from typing import NamedTuple

from surefoot.experiments import Spec, build_spec
from surefoot.experiments.paper import read_data

HORIZON, TRIALS = 2_000, 5


class Cited(NamedTuple):
    """A work of the bibliography.

    Attributes:
        work: authors and year.
        standing: what it is to this library: "algorithm", "agents", "offline", "out of scope",
            "context" or "neighbour".
        here: names of algorithms (with the tuning where it matters) or of offline steps.
        note: what a reader should know in one phrase.
    """

    work: str
    standing: str
    here: Sequence[str]
    note: str = ""


_WORKS = read_data("bibliography")

BIBLIOGRAPHY = tuple(Cited(**work) for work in _WORKS["cited"])
"""In the order of the paper."""

NEIGHBOURS = tuple(Cited(**work) for work in _WORKS["neighbours"])
"""Works in the same setting that are not in the paper's bibliography; docs/related.md compares."""


def specification(horizon: int = HORIZON, trials: int = TRIALS) -> Spec:
    """Return the experiment: each theorem of each cited algorithm, on its problems.

    Args:
        horizon: T.
        trials: of each.

    Example:
        >>> spec = specification(horizon=100, trials=1)
        >>> [row.only for row in spec.algorithms if row.title == "LevyKrause.fixed"]
        [['ellipsoid']]
    """
    return build_spec(read_data("related") | {"horizons": [horizon], "trials": trials})
