"""The paper's own experiments, and the works that it cites.

:mod:`~surefoot.experiments.paper.reproduction` plays Figures 1 and 2 and judges what they show;
:mod:`~surefoot.experiments.paper.table1` has every theorem on three problems;
:mod:`~surefoot.experiments.paper.related` says what of the works it cites runs here, and plays each
where it is at home. What is plain data is in the TOML files beside them.
"""

import tomllib
from importlib.resources import files

from surefoot.core.plain import PlainTable


def read_data(name: str) -> PlainTable:
    """Return the tables of a TOML file of this folder."""
    return tomllib.loads(files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
