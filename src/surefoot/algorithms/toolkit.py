"""The vocabulary of rules and their theorems: a rule's file begins with ``import *`` from here.

A rule is made of a base (``OneConstraint``, ``EachConstraint``, ``CostsOnly``), declared parameters
(:mod:`surefoot.core.parameters`), feedback and states (:mod:`surefoot.core.types`), operations that
work on one run, on a batch and on every backend (:mod:`surefoot.core.arrays`), and tunings. A
theorem is made of constants, a kind of guarantee with premises
(:mod:`surefoot.algorithms.guarantee`), and sums (:mod:`surefoot.algorithms.bounds`).
"""

from surefoot.algorithms.bounds import *
from surefoot.algorithms.guarantee import *
from surefoot.core import checks as checks
from surefoot.core.algorithm import *
from surefoot.core.arrays import *
from surefoot.core.constants import *
from surefoot.core.errors import *
from surefoot.core.parameters import *
from surefoot.core.points import bounded_diameter as bounded_diameter
from surefoot.core.points import clean as clean
from surefoot.core.points import dimension_of as dimension_of
from surefoot.core.points import snap_inside as snap_inside
from surefoot.core.types import *
from surefoot.sets import Ball as Ball
from surefoot.sets import project_halfspace as project_halfspace
