"""The vocabulary of rules and their theorems: a rule's file begins with ``import *`` from here.

A rule is made of a base (``OneConstraint``, ``EachConstraint``, ``CostsOnly``), declared parameters
(:mod:`surefoot.core.parameters`), feedback and states (:mod:`surefoot.core.types`), operations that
work on one run, on a batch and on every backend (:mod:`surefoot.core.arrays`), and tunings. A
theorem is made of constants, a kind of guarantee with premises
(:mod:`surefoot.algorithms.guarantee`), and sums (:mod:`surefoot.algorithms.bounds`). What both are
written in comes along: ``math``, ``np``, ``regions``, and the words for classes and types.
"""

from surefoot import regions
from surefoot.algorithms.bounds import *
from surefoot.algorithms.guarantee import *
from surefoot.algorithms.states import *
from surefoot.core.algorithm import *
from surefoot.core.toolkit import *
from surefoot.core.types import *
from surefoot.sets import Ball, project_halfspace
