"""The paper's own experiments: its figures with verdicts, and its Table 1, measured.

:mod:`~surefoot.paper.reproduction` plays Figures 1 and 2 and judges them,
:mod:`~surefoot.paper.claims` says what the figures show, :mod:`~surefoot.paper.table1` has every
theorem on three problems.
"""
