"""The vocabulary of knowledge and regions: a file of one begins with ``import *`` from here.

Knowledge is made of declared parameters (:mod:`surefoot.core.parameters`), of errors and anchors,
and of what it refuses and what contradicts it (:mod:`surefoot.regions.checks`). A region is made of
operations on arrays, of searches in known sets (:mod:`surefoot.regions.nearest`) and of a
certificate. What both are written in comes along: ``math``, ``np``, and the words for classes and
types. A :class:`Region` is what is certified; a set that is known, as a domain, is a ``Set``.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import start_in
from surefoot.core.arrays import *
from surefoot.core.constants import Constants
from surefoot.core.errors import *
from surefoot.core.parameters import *
from surefoot.core.points import *
from surefoot.core.types import Array, Certificate, Context, Feedback, Number, Solving
from surefoot.core.types import Region as Set
from surefoot.regions import nearest
from surefoot.regions.anchor import *
from surefoot.regions.checks import *
from surefoot.regions.errors import *
from surefoot.regions.nearest import EVERYWHERE, Bounds, KnownSets, draw_back
from surefoot.regions.region import *
from surefoot.regions.region import Around, Memory, Recertified, WithinBall
from surefoot.sets import Ball, Box, project_halfspace
