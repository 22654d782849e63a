"""Bounds on what rounding does to a sum of products."""

from __future__ import annotations

__all__ = ["gamma", "rounded_down", "rounded_up"]


def gamma(operations: float) -> float:
    r"""Return :math:`\gamma_k = ku/(1 - ku)`, u = 2^-53: k roundings in a row, as a share.

    An inner product of k terms, in any order, errs by at most :math:`\gamma_k` of the sum of the
    terms' sizes. Underflow adds 2^-1074 for each term, which is nothing beside any of the scales
    that constructors accept.
    """
    return operations * 2.0**-53 / (1 - operations * 2.0**-53)


def rounded_up(value: float, operations: int) -> float:
    """Return an upper bound on a number whose computation rounded this often, by u = 2^-53 each."""
    return value * (1 + (operations + 8) * 2.0**-53)


def rounded_down(value: float, operations: int) -> float:
    """Return a lower bound on a number whose computation rounded this often."""
    return value * (1 - (operations + 8) * 2.0**-53)
