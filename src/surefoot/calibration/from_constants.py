"""Calibrate from constants alone: which guarantees apply."""

from __future__ import annotations

from surefoot import _check
from surefoot.calibration.offers import Place, offers_for
from surefoot.calibration.report import Calibration
from surefoot.constants import Constants
from surefoot.sets import Ball

__all__ = ["calibrate_constants"]


def calibrate_constants(known: Constants, horizon: int) -> Calibration:
    """Return which guarantees the given constants allow, without a problem to query.

    Nothing is known of the feasible set's geometry, so methods that project onto it are out. What
    follows from the numbers is filled in: the start is anywhere in the ball unless ``start_reach``
    says how far its points are, and its slack gives sigma by the local form (*).

    Args:
        known: the numbers.
        horizon: number of rounds.

    Example:
        >>> found = calibrate_constants(Constants(R=1.0, G_g=2.0, start_slack=0.5), 1000)
        >>> found.best.name, found.constants.start_reach
        ('LeaderFollower.default', 2.0)
    """
    _check.horizon(horizon)
    known = known.completed(2 * known.R)
    place = Place(horizon, Ball(known.R), None, linear=False, changing=False)
    return Calibration(
        constants=known,
        horizon=horizon,
        offers=offers_for(known, place),
        probes=(),
        radius=0.0,
        notes=(),
    )
