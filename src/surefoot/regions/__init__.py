"""Certified regions: convex sets of next actions that are certainly feasible."""

from surefoot.regions.anchor import *
from surefoot.regions.average_limit import *
from surefoot.regions.certified_length import *
from surefoot.regions.context import *
from surefoot.regions.context_curvature import *
from surefoot.regions.context_hull import *
from surefoot.regions.curvature import *
from surefoot.regions.errors import *
from surefoot.regions.estimate import *
from surefoot.regions.grid import *
from surefoot.regions.hull import *
from surefoot.regions.hull_of_log import *
from surefoot.regions.ramp import *
from surefoot.regions.region import *
from surefoot.regions.relative_curvature import *
from surefoot.regions.rows import *
from surefoot.regions.together import *

# The classes and functions imported above, and no submodule.
__all__ = sorted(n for n, v in globals().items() if callable(v) and not n.startswith("_"))
