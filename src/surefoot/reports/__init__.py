"""Figures, tables and one page from saved results; nothing is played."""

from surefoot.experiments.rows import Row, gather
from surefoot.reports.figures import save_figures
from surefoot.reports.page import write_page
from surefoot.reports.rates import fit_rates
from surefoot.reports.report import write_report

__all__ = ["Row", "fit_rates", "gather", "save_figures", "write_page", "write_report"]
