"""Certified regions: convex sets of next actions that are certainly feasible."""

from surefoot.regions.anchor import Anchor, pull_share
from surefoot.regions.certificates import (
    CurvatureCertificate,
    HullCertificate,
    PullCertificate,
    StepCertificate,
)
from surefoot.regions.certified_length import CertifiedLength, LengthMemory, LengthRegion
from surefoot.regions.curvature import Curvature, CurvatureMemory, CurvatureRegion
from surefoot.regions.errors import EmptyRegionError, Errors, describe_errors, is_zero, list_causes
from surefoot.regions.hull import HullMemory, HullRegion, LipschitzHull, share_of_two_balls
from surefoot.regions.known_set import Within
from surefoot.regions.one_point import OnePoint, PointCertificate
from surefoot.regions.region import Knowledge, Projection, Reading, Region
from surefoot.regions.rows import CurvatureRows, RowsRegion, curvature_of
from surefoot.regions.together import Together, TogetherMemory, TogetherRegion

__all__ = [
    "Anchor",
    "CertifiedLength",
    "Curvature",
    "CurvatureCertificate",
    "CurvatureMemory",
    "CurvatureRegion",
    "CurvatureRows",
    "EmptyRegionError",
    "Errors",
    "HullCertificate",
    "HullMemory",
    "HullRegion",
    "Knowledge",
    "LengthMemory",
    "LengthRegion",
    "LipschitzHull",
    "OnePoint",
    "PointCertificate",
    "Projection",
    "PullCertificate",
    "Reading",
    "Region",
    "RowsRegion",
    "StepCertificate",
    "Together",
    "TogetherMemory",
    "TogetherRegion",
    "Within",
    "curvature_of",
    "describe_errors",
    "is_zero",
    "list_causes",
    "pull_share",
    "share_of_two_balls",
]
