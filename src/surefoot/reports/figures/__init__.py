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

from surefoot.reports.figures._choice import MOST, NothingToDraw
from surefoot.reports.figures.files import save_figure, save_figures
from surefoot.reports.figures.oracle import oracle_figure
from surefoot.reports.figures.paper import paper_figure, save_panels
from surefoot.reports.figures.plane import action_figure, paper_actions
from surefoot.reports.figures.regret import rate_figure, regret_figure
from surefoot.reports.figures.violation import instant_figure, violation_figure

__all__ = [
    "MOST",
    "NothingToDraw",
    "action_figure",
    "instant_figure",
    "oracle_figure",
    "paper_actions",
    "paper_figure",
    "rate_figure",
    "regret_figure",
    "save_figure",
    "save_figures",
    "save_panels",
    "violation_figure",
]
