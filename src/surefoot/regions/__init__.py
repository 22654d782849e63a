"""Certified regions: convex sets of next actions that are certainly feasible."""

from surefoot.regions.hull import (
    HullCertificate,
    HullMemory,
    HullRegion,
    LipschitzHull,
    share_of_two_balls,
)
from surefoot.regions.region import CertifiedRegion, Knowledge

__all__ = [
    "CertifiedRegion",
    "HullCertificate",
    "HullMemory",
    "HullRegion",
    "Knowledge",
    "LipschitzHull",
    "share_of_two_balls",
]
