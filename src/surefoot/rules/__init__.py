"""Algorithms, one file each with their theorems: pure ``init`` and ``step``, bounds and proofs.

``__init__.pyi`` lists the public names with their files, and the order of the catalogue; they load
when they are used. States are imported from the files of their rules. ``related`` has the systems
that the paper names.

Every tuning takes the constants of the problem, the number of rounds T, and the set that the rule
works on or an oracle of it. A docstring describes further arguments only. ``unknown`` of two rules
takes only the set.
"""

from surefoot.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
