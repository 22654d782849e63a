"""Constants that follow from others."""

from __future__ import annotations

from surefoot.constants import Constants

__all__ = ["filled"]


def filled(known: Constants, reach: float, value: float | None = None) -> Constants:
    """The same constants with those that follow from them, where they are missing.

    Args:
        known: what is known.
        reach: a bound on the distance from the start to a point of the ball.
        value: g at the start, where it was asked there; a slack alone says only that it is no
            larger.
    """
    fresh: dict[str, float] = {}
    if known.start_slack is None and value is not None:
        fresh["start_slack"] = -value
    if known.start_reach is None:
        fresh["start_reach"] = reach
    if known.rows is None:
        fresh["rows"] = 1
    if known.G_f is not None and known.F is None:
        fresh["F"] = 2 * known.R * known.G_f
    if known.G_g is not None and known.D_g is None and value is not None:
        fresh["D_g"] = abs(value) + known.G_g * reach
    known = known.with_origin("derived", **fresh)
    if known.sigma is None and known.start_slack is not None and known.start_slack > 0:
        level = 0.5 * known.start_slack
        sigma = known.local_sigma(level)
        if known.G_g is not None:
            sigma = min(sigma, known.G_g)
        known = known.with_origin("local", sigma=sigma, epsilon=level)
    return known
