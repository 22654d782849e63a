"""The paper's own experiments, and the works that it cites.

:mod:`~surefoot.experiments.paper.reproduction` plays Figures 1 and 2 and judges what they show;
:mod:`~surefoot.experiments.paper.table1` has every theorem on three problems;
:mod:`~surefoot.experiments.paper.related` lists which of the cited works run here, and plays each
on the problems that it is made for. Plain data are in the TOML files beside them.
"""

import tomllib
from collections.abc import Sequence
from importlib.resources import files
from typing import Literal, NamedTuple

from surefoot.core.plain import PlainTable


def read_data(name: str) -> PlainTable:
    """Return the tables of a TOML file of this folder."""
    return tomllib.loads(files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


READ_AT = (2_000, 10_000, 20_000)
"""The rounds at which the curves of the paper were read off."""


class PublishedCurve(NamedTuple):
    """A curve of the paper with the rows that may represent it.

    Attributes:
        figure: which figure it is in.
        problem: label of the problem whose streams are those of the figure's script.
        name: the paper's label for it.
        measure: which of the recorded numbers it shows, as a mean over the trials.
        values: read off the figure at 2,000, 10,000 and 20,000 rounds.
        stated: the row with the constants that the text states.
        others: rows with other constants, the most likely first.
    """

    figure: str
    problem: str
    name: str
    measure: Literal["regret", "positive_sum"]
    values: Sequence[float]
    stated: str
    others: Sequence[str]

    @property
    def published(self) -> dict[int, float]:
        """The values by horizon."""
        return dict(zip(READ_AT, self.values, strict=True))


CURVES = tuple(PublishedCurve(**curve) for curve in read_data("figures")["curves"])
"""The curves with values to compare."""
