"""Experiments: many games under one protocol, and what came of them as tidy tables.

:mod:`surefoot.experiments.table1` is the paper's Table 1, measured.
"""
