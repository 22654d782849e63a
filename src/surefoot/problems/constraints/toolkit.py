"""The vocabulary of constraints: a file of one begins with ``import *`` from here.

A constraint is made of declared parameters, of operations on arrays, of known sets, and of bounds
on its rounding (:mod:`surefoot.problems.constraints.base`). What all are written in comes along
(:mod:`surefoot.core.toolkit`).
"""

from surefoot.core.toolkit import *
from surefoot.core.types import ArrayLike, Index, Region
from surefoot.problems.constraints.base import *
from surefoot.problems.constraints.base import bound_above, bound_below, gamma, point, some_entry
from surefoot.sets import Ball, Box
