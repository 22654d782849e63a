"""Closed convex sets: ``project``, ``contains``, ``minimize_linear``, for one point or a batch."""

from surefoot.sets.ball import Ball
from surefoot.sets.box import Box
from surefoot.sets.halfspace import EmptyTighteningError, Halfspace, project_halfspace

__all__ = ["Ball", "Box", "EmptyTighteningError", "Halfspace", "project_halfspace"]
