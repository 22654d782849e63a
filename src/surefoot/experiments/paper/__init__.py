"""The paper's own experiments, and the works that it cites.

:mod:`~surefoot.experiments.paper.reproduction` plays Figures 1 and 2 and judges what they show;
:mod:`~surefoot.experiments.paper.table1` has every theorem on three problems;
:mod:`~surefoot.experiments.paper.related` says what of the works it cites runs here, and plays each
where it is at home.
"""
