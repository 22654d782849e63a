"""The paper's own experiments: its figures with verdicts, its Table 1 and its related work.

:mod:`~surefoot.paper.reproduction` plays Figures 1 and 2 and judges them,
:mod:`~surefoot.paper.claims` says what the figures show, :mod:`~surefoot.paper.table1` has every
theorem on three problems, :mod:`~surefoot.paper.bibliography` what of the works it cites runs here,
and :mod:`~surefoot.paper.related` plays that where it is at home.
"""
