"""The vocabulary of knowledge and regions: a file of one begins with ``import *`` from here.

Knowledge is made of declared parameters (:mod:`surefoot.core.parameters`), of errors and anchors,
and of what it refuses and what contradicts it (:mod:`surefoot.regions.checks`). A region is made of
operations on arrays, of searches in known sets (:mod:`surefoot.regions.nearest`) and of a
certificate. What both are written in comes along (:mod:`surefoot.core.toolkit`).
"""

from surefoot.core.algorithm import start_in
from surefoot.core.toolkit import *
from surefoot.regions import nearest
from surefoot.regions.anchor import *
from surefoot.regions.checks import *
from surefoot.regions.errors import *
from surefoot.regions.nearest import EVERYWHERE, Bounds, KnownSets, draw_back
from surefoot.regions.region import *
from surefoot.regions.region import Around, Memory, Recertified, WithinBall
from surefoot.sets import Ball, Box, project_halfspace
