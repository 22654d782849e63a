"""Figures for a two-column paper, from the rows of a results file.

Each function takes rows and a selection and returns a Matplotlib figure that no window and no
global list holds: when the last reference goes, it goes. :func:`save_figures` writes all that the
rows have data for. Every figure takes these arguments:

- ``rows``: from :func:`surefoot.experiments.gather`;
- ``problem``: a label; the first problem unless given;
- ``algorithms``: labels; the first eight of the plan unless given;
- ``horizon``, for figures of one horizon: the longest that all algorithms have unless given;
- ``width``: "column" for one column of a paper, "page" for both.
"""

from surefoot.experiments.figures._sheet import MOST, NothingToDraw
from surefoot.experiments.figures.cost import cost_figure
from surefoot.experiments.figures.files import save_figure, save_figures
from surefoot.experiments.figures.paper import paper_figure, save_panels
from surefoot.experiments.figures.plane import action_figure, paper_actions
from surefoot.experiments.figures.regret import path_figure, rate_figure, regret_figure
from surefoot.experiments.figures.violation import instant_figure, violation_figure

__all__ = [
    "MOST",
    "NothingToDraw",
    "action_figure",
    "cost_figure",
    "instant_figure",
    "paper_actions",
    "paper_figure",
    "path_figure",
    "rate_figure",
    "regret_figure",
    "save_figure",
    "save_figures",
    "save_panels",
    "violation_figure",
]
