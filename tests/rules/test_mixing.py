"""What a mixture of experts loses, by the textbook: exponential weights over linear losses.

Cesa-Bianchi and Lugosi, Prediction, Learning, and Games, Theorem 2.2: losses in an interval of
length L, N experts and T rounds have regret at most sqrt(T ln N/2) L, for the rate
sqrt(8 ln N/T)/L. Linear losses of points within D of each other are within L = G_f D.
"""

import math

import numpy as np
import pytest

from surefoot import Constants
from surefoot.rules.related.garber_kretzu import TrackingTheorem

G_F, D, T = 1.5, 2.5, 100
LENGTH = G_F * D
# T = 100: 2^i <= 2T for i = 0, ..., 7.
N = 8


def theorem():
    return TrackingTheorem(Constants(R=2.0, G_f=G_F), T, diameter=D)


def test_the_rate_and_the_cost_of_the_mixture_are_those_of_the_textbook():
    made = theorem()
    assert len(made.experts) == N
    assert made.rate == pytest.approx(math.sqrt(8 * math.log(N) / T) / LENGTH, rel=1e-14)
    lost = made.dynamic_bound(T, 0.0) - np.min(made._expert_bounds(np.float64(T), 0.0), axis=0)
    assert lost == pytest.approx(math.sqrt(T * math.log(N) / 2) * LENGTH, rel=1e-12)


def test_no_losses_cost_a_mixture_of_that_rate_more():
    # Played: the losses of N experts, each in an interval of length L, at worst and at random.
    made, rng = theorem(), np.random.default_rng(3)
    most = math.sqrt(T * math.log(N) / 2) * LENGTH
    found = []
    for seed in range(30):
        losses = rng.uniform(0.0, LENGTH, size=(T, N))
        if seed % 2:
            losses = LENGTH * rng.integers(0, 2, size=(T, N))
        paid, log_weights = 0.0, np.zeros(N)
        for loss in losses:
            weights = np.exp(log_weights - log_weights.max())
            paid += float(weights @ loss) / float(weights.sum())
            log_weights = log_weights - made.rate * loss
        found.append(paid - losses.sum(axis=0).min())
    assert max(found) <= most
    assert max(found) > 0.3 * most
