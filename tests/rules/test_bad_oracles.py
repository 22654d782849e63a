"""Oracles, sets and networks that cannot be: each is refused in one sentence, at the first call."""

import numpy as np
import pytest

from surefoot import Ball, Constants
from surefoot.core.feedback import Feedback
from surefoot.rules import (
    AdaptiveGauge,
    BanditFrankWolfe,
    BlockBandit,
    GaugeDescent,
    GaugeNewton,
    NetworkPenalty,
    PrimalDual,
    SeparationDescent,
)
from surefoot.sets import BisectionGauge, Box, gauge_of

SQUARE = Box.cube(0.5, 2)
SMALL = Constants(R=0.2, G_f=1.0, cost_bound=1.0)
PUSH = Feedback(np.array([-9.0, 0.0]), None, None)


@pytest.mark.parametrize(
    "tune",
    [
        *(SeparationDescent.known_horizon, GaugeDescent.fixed, GaugeNewton.known_horizon),
        *(AdaptiveGauge.known_horizon, BanditFrankWolfe.known_horizon, BlockBandit.known_horizon),
    ],
)
def test_an_inner_radius_above_the_outer_is_refused(tune):
    with pytest.raises(ValueError, match=r"^inner_radius must be at most the outer radius = 0\.2"):
        tune(SMALL, 100, SQUARE)


def test_constants_refuse_an_inner_radius_above_the_outer():
    with pytest.raises(ValueError, match=r"^inner_radius must be at most the outer radius = 1, g"):
        Constants(R=1.0, inner_radius=2.0)


@pytest.mark.parametrize(
    "gauge",
    [
        gauge_of(SQUARE),
        gauge_of(Ball(1.0)),
        BisectionGauge(SQUARE.contains, 0.5, 1.0, 1e-6),
    ],
)
def test_a_gauge_asked_at_the_centre_answers_nothing_and_no_direction(gauge):
    gamma, s = gauge(np.zeros(2))
    assert (gamma, s.tolist()) == (0.0, [0.0, 0.0])


def test_a_gauge_needs_its_centre_inside():
    with pytest.raises(
        ValueError, match=r"^b must be above 0 for a gauge, so that 0 is inside, got"
    ):
        gauge_of(Box([0.0, -1.0], [1.0, 1.0]))


def descent(separation, **more):
    return SeparationDescent(separation=separation, domain=Ball(1.0), eta=0.1, depth=0.1, **more)


@pytest.mark.parametrize(
    "answer",
    [(0.1, np.zeros(2)), (np.nan, np.ones(2)), (-0.1, np.ones(2)), (0.1, np.array([np.nan, 1.0]))],
)
def test_an_empty_or_wrong_cut_is_refused_by_descent(answer):
    player = descent(lambda y: None if not y.any() else answer)
    with pytest.raises(
        ValueError, match=r"^the separation oracle must return a depth of at least 0"
    ):
        player.update(player.init(np.zeros(2)), PUSH)


def test_an_oracle_that_never_stops_separating_is_told():
    player = descent(lambda y: None if not y.any() else (0.1, np.array([1.0, 0.0])))
    with pytest.raises(ValueError, match="that separates after 402 cuts of one round"):
        player.update(player.init(np.zeros(2)), PUSH)


KNOWN = Constants(R=1.0, G_f=1.0, G_g=1.0)


@pytest.mark.parametrize(
    "mixing",
    [
        [[0.5, 0.5], [0.4, 0.6]],
        [[1.5, -0.5], [-0.5, 1.5]],
        [[np.nan, 0.5], [0.5, 0.5]],
    ],
)
def test_a_matrix_that_is_not_doubly_stochastic_is_refused(mixing):
    with pytest.raises(ValueError, match=r"^mixing must be doubly stochastic: no entry below 0"):
        NetworkPenalty.trade_off(KNOWN, 100, mixing=mixing)


@pytest.mark.parametrize("mixing", [np.eye(3), [np.eye(2), np.full((2, 2), 0.5)]])
def test_a_graph_that_does_not_connect_is_refused(mixing):
    with pytest.raises(ValueError, match=r"^the network must connect all agents in every round"):
        NetworkPenalty.trade_off(KNOWN, 100, mixing=mixing)


@pytest.mark.parametrize("rule", [BanditFrankWolfe, BlockBandit])
def test_a_bandit_needs_a_bound_on_the_cost(rule):
    with pytest.raises(ValueError, match=r"needs cost_bound, which is unknown: give it$"):
        rule.known_horizon(KNOWN, 100, SQUARE)


@pytest.mark.parametrize(
    ("tune", "needed"),
    [
        (lambda T: SeparationDescent.known_horizon(KNOWN, T, Box.cube(0.001, 2)), 2000),
        (lambda T: PrimalDual.known_margin(MARGIN, T), 98),
    ],
)
def test_a_horizon_too_short_for_a_tuning_says_how_long_it_must_be(tune, needed):
    with pytest.raises(ValueError, match=f"needs a horizon of at least {needed} rounds .*, got 2$"):
        tune(2)
    with pytest.raises(ValueError, match=f"at least {needed} rounds"):
        tune(needed - 1)
    tune(needed)


MARGIN = Constants(R=1.0, G_f=1.0, G_g=1.0, D_g=1.0, rows=1, slater_margin=0.5, slater_cost=1.0)


def test_without_a_margin_the_rule_that_needs_none_is_named():
    with pytest.raises(ValueError, match=r"use drift plus penalty \(ScalarDPP\.changing\)"):
        PrimalDual.known_margin(Constants(R=1.0, G_f=1.0, G_g=1.0, D_g=1.0, rows=1), 2_000)
