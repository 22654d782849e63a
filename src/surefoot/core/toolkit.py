"""The words that sets, problems, regions and rules are written in.

The toolkits of constraints, regions and rules begin with all that is here.

They are the modules and types of Python and NumPy that most files need, and those of core:
operations on arrays, checks, constants, errors, declared parameters, points and feedback.
A set that is known, as a domain, is a ``Set`` here. Rules call it a ``Region``; where regions are
made, that is what is certified.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import *
from surefoot.core.constants import *
from surefoot.core.errors import *
from surefoot.core.forms import *
from surefoot.core.parameters import *
from surefoot.core.points import *
from surefoot.core.types import Array, Certificate, Context, Feedback, Number, Solving
from surefoot.core.types import Region as Set
