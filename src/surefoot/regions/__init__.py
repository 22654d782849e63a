"""Certified regions: convex sets of next actions that are certainly feasible."""

from surefoot import _kinds
from surefoot.regions._ball import Found
from surefoot.regions._known import EmptyRegionError
from surefoot.regions.curvature import (
    Curvature,
    CurvatureCertificate,
    CurvatureMemory,
    CurvatureRegion,
)
from surefoot.regions.curvature_hull import (
    CurvatureHull,
    CurvatureHullMemory,
    CurvatureHullRegion,
)
from surefoot.regions.hull import (
    HullCertificate,
    HullMemory,
    HullRegion,
    LipschitzHull,
    share_of_two_balls,
)
from surefoot.regions.region import CertifiedRegion, Knowledge
from surefoot.regions.rows import CurvatureRows, RowsMemory, RowsRegion
from surefoot.regions.together import Together, TogetherMemory, TogetherRegion

__all__ = [
    "CertifiedRegion",
    "Curvature",
    "CurvatureCertificate",
    "CurvatureHull",
    "CurvatureHullMemory",
    "CurvatureHullRegion",
    "CurvatureMemory",
    "CurvatureRegion",
    "CurvatureRows",
    "EmptyRegionError",
    "Found",
    "HullCertificate",
    "HullMemory",
    "HullRegion",
    "Knowledge",
    "LipschitzHull",
    "RowsMemory",
    "RowsRegion",
    "Together",
    "TogetherMemory",
    "TogetherRegion",
    "share_of_two_balls",
]

_kinds.guard(globals())
