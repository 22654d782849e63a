"""Limits that are not convex: a corridor with bends, and the over-voltage of a feeder."""

import math

import numpy as np

BETA, G_G, REACH = 9.0, 1.29, 2.0
"""Of the corridor, each 2 % above what a fine grid of it shows."""


def corridor(p):
    """Return (y - 0.6 sin 3x)^2 + 0.05 x^2 - 0.09 and its gradient."""
    off = p[1] - 0.6 * math.sin(3 * p[0])
    g = off * off + 0.05 * p[0] ** 2 - 0.09
    return g, np.array([-3.6 * off * math.cos(3 * p[0]) + 0.1 * p[0], 2 * off])


def middle(x, beside=0.0):
    """Return the point in the middle of the corridor, or beside it."""
    return np.array([x, 0.6 * math.sin(3 * x) + beside])


def voltage(p, r=0.08, x=0.1):
    """Return the squared voltage above 1.05^2 at the end of a feeder, concave, and its gradient.

    With P and Q fed in at the end of an impedance r + jx from a bus with voltage 1:
    u = b + sqrt(b^2 - (r^2 + x^2)(P^2 + Q^2)), b = rP + xQ + 1/2.
    """
    b, z2 = r * p[0] + x * p[1] + 0.5, r * r + x * x
    root = math.sqrt(b * b - z2 * (p[0] ** 2 + p[1] ** 2))
    db = np.array([r, x])
    return b + root - 1.05**2, db + (b * db - z2 * p) / root
