"""Building blocks for update rules: bases, declarations, array operations, the feasibility step.

Each works on one run, on a batch and on every backend (:mod:`surefoot.core.types` has the shapes).
"""

from surefoot.algorithms.guarantee import Tuning as Tuning
from surefoot.core.algorithm import Algorithm as Algorithm
from surefoot.core.algorithm import CostsOnly as CostsOnly
from surefoot.core.algorithm import EachConstraint as EachConstraint
from surefoot.core.algorithm import OneConstraint as OneConstraint
from surefoot.core.algorithm import start_in as start_in
from surefoot.core.algorithm import tuning as tuning
from surefoot.core.arrays import combine as combine
from surefoot.core.arrays import dot as dot
from surefoot.core.arrays import freeze as freeze
from surefoot.core.arrays import maximum as maximum
from surefoot.core.arrays import minimum as minimum
from surefoot.core.arrays import norm as norm
from surefoot.core.arrays import number_like as number_like
from surefoot.core.arrays import rows_dot as rows_dot
from surefoot.core.arrays import sqrt as sqrt
from surefoot.core.arrays import where as where
from surefoot.core.checks import check_horizon as check_horizon
from surefoot.core.checks import read_feedback as read_feedback
from surefoot.core.checks import read_feedback_apart as read_feedback_apart
from surefoot.core.checks import read_gradient as read_gradient
from surefoot.core.parameters import anything as anything
from surefoot.core.parameters import choice as choice
from surefoot.core.parameters import count as count
from surefoot.core.parameters import flag as flag
from surefoot.core.parameters import function as function
from surefoot.core.parameters import instance_of as instance_of
from surefoot.core.parameters import minimising as minimising
from surefoot.core.parameters import nonnegative as nonnegative
from surefoot.core.parameters import parameters_of as parameters_of
from surefoot.core.parameters import positive as positive
from surefoot.core.parameters import projectable as projectable
from surefoot.core.parameters import rounds as rounds
from surefoot.core.parameters import share as share
from surefoot.core.parameters import size as size
from surefoot.sets import project_halfspace as project_halfspace
