"""Certified regions: convex sets of next actions that are certainly feasible."""

from surefoot.regions._anchor import DriftAnchor
from surefoot.regions._ball import Found
from surefoot.regions._certificates import (
    CurvatureCertificate,
    HullCertificate,
    HullOfBallsCertificate,
)
from surefoot.regions._curvature_region import CurvatureMemory, CurvatureRegion
from surefoot.regions._errors import ERRORS, Errors, allowed, causes, check_errors, error_of
from surefoot.regions._known import EmptyRegionError
from surefoot.regions._rows_region import RowsMemory, RowsRegion
from surefoot.regions._two_balls import share_of_two_balls
from surefoot.regions.curvature import Curvature
from surefoot.regions.curvature_hull import (
    CurvatureHull,
    CurvatureHullMemory,
    CurvatureHullRegion,
)
from surefoot.regions.hull import (
    HullMemory,
    HullRegion,
    LipschitzHull,
)
from surefoot.regions.region import CertifiedRegion, Knowledge
from surefoot.regions.rows import CurvatureRows
from surefoot.regions.together import Together, TogetherMemory, TogetherRegion

__all__ = [
    "ERRORS",
    "CertifiedRegion",
    "Curvature",
    "CurvatureCertificate",
    "CurvatureHull",
    "CurvatureHullMemory",
    "CurvatureHullRegion",
    "CurvatureMemory",
    "CurvatureRegion",
    "CurvatureRows",
    "DriftAnchor",
    "EmptyRegionError",
    "Errors",
    "Found",
    "HullCertificate",
    "HullMemory",
    "HullOfBallsCertificate",
    "HullRegion",
    "Knowledge",
    "LipschitzHull",
    "RowsMemory",
    "RowsRegion",
    "Together",
    "TogetherMemory",
    "TogetherRegion",
    "allowed",
    "causes",
    "check_errors",
    "error_of",
    "share_of_two_balls",
]
