"""Comparisons from Python: players of any kind on one problem, kept like an experiment."""

from surefoot import _kinds
from surefoot.comparison.playing import compare
from surefoot.comparison.result import Comparison

__all__ = ["Comparison", "compare"]

_kinds.guard(globals())
