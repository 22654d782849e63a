"""Certified rules: their theorems' numbers worked by hand, in advance and by what was observed."""

from dataclasses import replace
from itertools import pairwise
from math import inf, log, sqrt

import numpy as np
import pytest

from surefoot import Ball, Constants, Feedback
from surefoot.knowledge import Curvature
from surefoot.rules import (
    CertifiedDualAveraging,
    CertifiedOGD,
    CertifiedPFS,
    DoublingHorizon,
    HalvedSlack,
    LeaderFollower,
    TheoremC,
    TheoremD,
    TheoremE,
    TheoremK,
    UnknownHorizon,
    slow_start_lower_bound,
)

from ._numbers import assert_nothing_outside, assert_number

KNOWN = Constants(R=3.0, G_f=7.0, G_g=2.5, beta=0.4, start_slack=0.5, start_reach=2.0)
VAGUE = replace(KNOWN, start_reach=None)  # D_0 = 6


def but(**values):
    return replace(KNOWN, **values)


# --- Theorem D -----------------------------------------------------------------------------------

SLOW = 2.5 * 7 / (1 - sqrt(1 - (0.125 / 2.5) ** 2))  # G_g L/xi_*, sigma_* = 0.5/(2 * 2)
SLOWER = 2.5 * 7 / (1 - sqrt(1 - (0.5 / 12 / 2.5) ** 2))
DEEP = but(start_slack=200.0)  # sigma_* = G_g and xi_* = 1
ROOT = sqrt(2) * 3 * 7 * 3  # sqrt(2) R sqrt(S) after 9 rounds
THIRD = 7 * 3 * sqrt(1 + log(9))  # below 2 L sqrt(T) up to 20 rounds


# --- Theorems C and K: nu_* = 0.5/2 or sqrt(0.4 * 0.5), so beta/nu_* = 1.6 ----------------------

FLAT = but(beta=0.1)  # nu_* = sqrt(0.05) < 0.25
CONSTANT = 8.2 * 1.6**2 * 27 * 7
K, B = 1.6 * 0.7 * 3, 1.6 * 3
SHORT, LONG = (TheoremK(KNOWN, far=0.7, horizon=T) for T in (100, 10**4))
ETA = 0.25 / (10 * 0.4 * 7 * (1 + K))  # nu_*/(10 beta L (1 + k))
ETA_LONG = 2 / (7 * sqrt((1 + 12 * K + 10 * B) * 10**4))
REST, TAIL = 49 * (1 / 2 + 6 * K + 5 * B), 5 * (K + 1 / 10) * 21

# --- Doubling: xi = 1 - 4/5, rho = 0.3 and eta = 0.2 * 0.3/(7 * 2.5) in the phase of one round --

DOUBLING = DoublingHorizon(but(sigma=1.5, epsilon=0.3))
FIRST, EACH = 18 * 17.5 / 0.06, 0.06 / 17.5 / 2 * 49 + 7 * 0.3 / 1.5


@pytest.mark.parametrize(
    ("theorem", "what", "at", "wanted"),
    [
        # rho_1 = rho_9 = 0.25 = alpha/2; c = 0.9
        (TheoremD(KNOWN, 0.9), "tightening", 9, 0.25),
        (TheoremD(KNOWN, 0.9), "tightening", 36, 0.15),
        (
            TheoremD(KNOWN, 0.9),
            "regret_bound",
            9,
            18 * SLOW / 0.25
            + ROOT
            + 2 * 0.9 / 0.5 * THIRD
            + 2 * 3 * 2 * 7 / 0.5 * 0.9 * (1 + log(9)) / (2 * sqrt(2) * 3),
        ),
        (
            TheoremD(VAGUE, 0.9),
            "regret_bound",
            36,
            18 * SLOWER / 0.15
            + 2 * ROOT
            + 6 * 0.9 / 0.5 * 2 * 7 * 6
            + 2 * 3 * 6 / 0.5 * (SLOWER * log(5 / 3) + 7 * 0.9 * (1 + log(36)) / (6 * sqrt(2))),
        ),
        # c = 60: rho_9 = 20, so that the costs alone limit the step
        (
            TheoremD(DEEP, 60.0),
            "regret_bound",
            9,
            2 * ROOT
            + 2 * 60 / 200 * THIRD
            + 12 * 7 / 200 * (2.5 * log(60 / 20) + 60 * (1 + log(9)) / (6 * sqrt(2))),
        ),
        (TheoremD(KNOWN, 0.05, decreasing=False), "tightening", 9, 0.05),
        (
            TheoremD(KNOWN, 0.05, decreasing=False),
            "regret_bound",
            9,
            18 * SLOW / 0.05 + ROOT + 2 * 0.05 / 0.5 * 7 * 9,
        ),
        (
            TheoremD(KNOWN, 0.9, eta=0.01),
            "regret_bound",
            36,
            18 * SLOW / 0.15
            + 0.01 / 2 * 49 * 36
            + 2 * 0.9 / 0.5 * 84
            + 24 * (SLOW * log(5 / 3) + 0.1 / 0.01),
        ),
        (
            TheoremD(DEEP, 60.0, decreasing=False, eta=0.01),
            "regret_bound",
            9,
            18 / 0.01 + 0.01 / 2 * 49 * 9 + 2 * 60 / 200 * 63,
        ),
        (TheoremC(KNOWN), "regret_bound", 4, 4 * 1.6 * 9 * 7 + sqrt(2) * 42 + CONSTANT),
        (TheoremC(KNOWN), "regret_bound", 400, 2 * sqrt(2) * 420 + CONSTANT),
        (
            TheoremC(VAGUE),  # nu_* = 0.5/6
            "regret_bound",
            4,
            4 * 4.8 * 9 * 7 + sqrt(2) * 42 + 8.2 * 4.8**2 * 27 * 7,
        ),
        (
            TheoremC(FLAT),
            "regret_bound",
            4,
            4 * 0.1 / sqrt(0.05) * 63 + sqrt(2) * 42 + 8.2 * 0.2 * 27 * 7,
        ),
        (TheoremC(but(beta=0.0)), "regret_bound", 4, 2 * sqrt(2) * 42),
        (TheoremC(KNOWN), "regret_exponent", None, 0.5),
        (TheoremC(but(rows=2)), "regret_bound", 4, 2 * 3 * 7 * 4),
        (TheoremC(but(rows=2)), "regret_exponent", None, None),
        (TheoremC(but(G_f=None)), "regret_bound", 4, inf),
        (SHORT, "eta", None, ETA),
        (SHORT, "regret_bound", 4, 2 / ETA + ETA * REST * 4 + TAIL),
        (SHORT, "regret_bound", 100, 2 / ETA + ETA * REST * 100 + TAIL),
        (LONG, "eta", None, ETA_LONG),
        (LONG, "regret_bound", 36, 2 / ETA_LONG + ETA_LONG * REST * 36 + TAIL),
        (LONG, "regret_exponent", None, 0.5),
        (TheoremK(VAGUE, far=0.7, horizon=100), "eta", None, 1 / (10 * 4.8 * 7 * (1 + 10.08))),
        (TheoremK(but(beta=0.0), far=0.7, horizon=1), "eta", None, 3 / 14),
        (
            TheoremK(but(beta=0.0), far=0.7, horizon=1),
            "regret_bound",
            2,
            4 * 14 / 6 + 3 / 14 * 49 + 10.5,
        ),
        (TheoremK(but(beta=0.0), horizon=4), "eta", None, 2 / (7 * 2)),
        (TheoremK(KNOWN, far=0.7), "eta", None, None),
        *(
            (theorem, what, at, wanted)
            for theorem in (
                TheoremK(KNOWN, far=0.7),
                TheoremK(KNOWN, horizon=100),
                TheoremK(but(rows=2), far=0.7, horizon=100),
            )
            for what, at, wanted in (
                ("regret_bound", 4, 2 * 3 * 7 * 4),
                ("regret_exponent", None, None),
            )
        ),
        # 2 R G_f t, as for every feasible rule
        (TheoremE(KNOWN), "regret_bound", 4e6, 2 * 3 * 7 * 4e6),
        (TheoremE(VAGUE), "regret_bound", 900, 42 * 900),
        (TheoremE(but(G_f=None)), "regret_bound", 900, inf),
        (TheoremE(KNOWN), "regret_exponent", None, None),
        (TheoremE(but(strong_convexity=1.5)), "strong_convexity", None, None),
        (TheoremE(but(strong_convexity=1.5), strongly_convex=True), "strong_convexity", None, 1.5),
        (TheoremE(KNOWN, strongly_convex=True), "regret_bound", 900, 42 * 900),
        (HalvedSlack(KNOWN), "regret_bound", 4, 2 * 3 * 7 * 4),
    ],
)
def test_the_numbers_are_those_of_the_statement(theorem, what, at, wanted):
    assert_number(theorem, what, at, wanted)


@pytest.mark.parametrize(
    ("what", "at", "wanted"),
    [
        ("rho", None, 0.3),
        ("eta", None, 0.06 / 17.5),
        ("regret_bound", 1, FIRST + EACH),
        ("regret_bound", 3, (FIRST + EACH) * (1 + sqrt(2))),
        # Phases of 1, 2 and 4 rounds, and two rounds of the phase of 8.
        ("regret_bound", 9, (FIRST + EACH) * (3 + sqrt(2)) + FIRST * sqrt(8) + EACH * 2 / sqrt(8)),
    ],
)
def test_the_numbers_of_doubling(what, at, wanted):
    assert_number(DOUBLING, what, at, wanted, rel=2e-9)  # steps are a billionth shorter


@pytest.mark.parametrize(
    ("constants", "level", "sigma", "xi", "cost"),
    [
        # (alpha - alpha/2)/D_0 and D_0/alpha
        (KNOWN, 0.25, 0.125, 1 - sqrt(1 - 0.05**2), 4.0),
        (VAGUE, 0.25, 0.25 / 6, 1 - sqrt(1 - (0.1 / 6) ** 2), 12.0),
        (but(sigma=1.5, epsilon=0.4), 0.4, 1.5, 0.2, 1 / 1.5),
        (but(sigma=1.5, epsilon=0.9), 0.5, 1.5, 0.2, 1 / 1.5),
        (but(sigma=0.01, epsilon=0.4), 0.4, 0.05, 1 - sqrt(1 - 0.02**2), 4.0),
        (but(start_reach=0.05), 0.25, 2.5, 1.0, 0.1),
    ],
)
def test_what_the_start_alone_gives(constants, level, sigma, xi, cost):
    theorem = UnknownHorizon(constants)
    found = [theorem.level, theorem.sigma, theorem.xi, theorem.cost]
    assert found == pytest.approx([level, sigma, xi, cost], rel=1e-11)


@pytest.mark.parametrize(
    "theorem",
    [TheoremC(KNOWN), TheoremD(KNOWN, 0.9), TheoremE(KNOWN), SHORT, HalvedSlack(KNOWN), DOUBLING],
)
def test_nothing_is_outside(theorem):
    assert_nothing_outside(theorem)


@pytest.mark.parametrize(
    ("theorem", "wanted"),
    [
        (TheoremC(KNOWN), ["slack", "G_f"]),
        (TheoremC(but(G_f=None)), ["slack"]),
        (TheoremK(KNOWN), ["slack"]),
        (SHORT, ["slack", "G_f", "horizon"]),
        (TheoremE(KNOWN, 9), ["G_g", "slack", "G_f", "horizon"]),
        (TheoremE(but(G_f=None)), ["G_g", "slack"]),
        (HalvedSlack(KNOWN), ["slack"]),
    ],
)
def test_what_they_rest_on(theorem, wanted):
    known = {
        "slack": ("the slack counted on", 0.5, False),
        "G_g": ("G_g", 2.5, False),
        "G_f": ("G_f", 7.0, True),
        "horizon": ("the horizon", theorem.horizon, False),
    }
    found = [(p.constant, p.limit, p.only_regret) for p in theorem.premises]
    assert found == [known[name] for name in wanted]


@pytest.mark.parametrize(("T", "wanted"), [(1, 14.0), (3, 35 * (1 - 0.6**3))])
def test_the_least_regret_of_a_crawl(T, wanted):
    assert slow_start_lower_bound(T, G_f=7.0, D=2.0, kappa=2.5) == pytest.approx(wanted, rel=1e-14)


# --- what was observed ---------------------------------------------------------------------------

START = np.array([0.3, -0.2])
PULLS = np.array(
    [[0.0, 0.0], [-0.02, 0.01], [-3.0, 1.0], [-2.0, 4.0], [1.0, -2.0], [-5.0, 1.0], [4.0, 2.0]]
)
SIZE = np.linalg.norm(PULLS, axis=1)


def limit(x):
    """The ball of radius 0.9 around (0.1, 0.4) as a smooth constraint: its curvature is 0.8."""
    way = x - np.array([0.1, 0.4])
    return 0.4 * float(way @ way) - 0.324, 0.8 * way


def watch(player):
    """Play the pulls; return states, what the steps knew, and the observed sums, of each round."""
    states, infos, sums = [player.init(START)], [], [player.observer()]
    for pull in PULLS:
        state, info = player.step(states[-1], Feedback(pull, *limit(states[-1].x)))
        states.append(state)
        infos.append(info)
        sums.append(sums[-1].after(info))
    return states, infos, sums


def bounds(player, states, sums):
    return [one.bound(player, state) for one, state in zip(sums[1:], states[1:], strict=True)]


def inverse_etas(states):
    return np.array([state.learner.inverse_eta for state in states[1:]])


def over(numerators, denominators):
    """Divide; 0 in rounds before the first gradient, where eta is not yet a number."""
    return np.divide(numerators, denominators, out=np.zeros(len(PULLS)), where=denominators > 0)


def test_the_observed_bound_of_certified_steps():
    player = CertifiedPFS(G_g=0.8, domain=Ball(1.5), rho=0.1)
    states, infos, sums = watch(player)
    slow, per_slack = inverse_etas(states), (1.5 + np.linalg.norm(START)) / 0.164
    assert slow[0] == 0
    rho = np.minimum(0.164 / 2, 0.1 / np.sqrt(np.arange(1, 8)))
    moved = [0.0]
    for t, (one, new) in list(enumerate(pairwise(states)))[1:]:
        g, s = limit(one.x)
        y = one.x - PULLS[t] / slow[t]
        p = y - max(g + s @ (y - one.x) + rho[t], 0.0) / (s @ s) * s
        moved.append(slow[t] * ((y - p) @ (y - p) + (p - new.x) @ (p - new.x)))
    assert max(moved) > 0.01
    falls = np.array([0.0, *np.cumsum((rho[:-1] - rho[1:]) * slow[:-1])])
    wanted = 2 * 1.5**2 * slow + np.cumsum(over(SIZE**2, slow)) / 2 - np.cumsum(moved) / 2
    wanted += per_slack * (np.cumsum(rho * SIZE) + 2 * 1.5 * falls)
    assert bounds(player, states, sums) == pytest.approx(wanted, rel=1e-9)
    # A last round without a certified length costs the diameter times its gradient.
    stuck = infos[-1]._replace(note=infos[-1].note._replace(moves=False))
    found = sums[-2].after(stuck).bound(player, states[-1])
    assert found == pytest.approx(wanted[-2] + 2 * 1.5 * SIZE[-1], rel=1e-9)


def test_the_observed_bound_of_leader_and_follower_for_strongly_convex_costs():
    player = LeaderFollower(G_g=0.8, domain=Ball(1.5), strong_convexity=9.0)
    states, _, sums = watch(player)
    slow = inverse_etas(states)
    ways = np.array([s.x - START - s.learner.Z for s in states[:-1]])
    lag, steps = np.cumsum((PULLS * ways).sum(axis=1)), np.cumsum(over(SIZE**2 / 2, slow))
    assert slow == pytest.approx(4.5 * np.arange(1, 8))
    wanted = steps + lag + 4.5 * np.cumsum((ways**2).sum(axis=1))
    assert bounds(player, states, sums) == pytest.approx(wanted, rel=1e-9)


def test_the_observed_bounds_of_leaders_and_follower():
    player = LeaderFollower(G_g=0.8, domain=Ball(1.5))
    states, _, sums = watch(player)
    found, D, slow = bounds(player, states, sums), 1.5 + np.linalg.norm(START), inverse_etas(states)
    ways = np.array([s.x - START - s.learner.points for s in states[:-1]])  # rounds, leaders, d
    assert np.linalg.norm(ways[:, 0], axis=1).max() > 0.1
    lags, steps = np.cumsum((PULLS[:, None] * ways).sum(axis=2), axis=0), over(SIZE**2 / 2, slow)
    before = np.array([0.0, slow[1], *slow[1:-1]])  # eta_0 = eta_1, of the first gradient
    first = over(SIZE**2 / 2, before)
    assert first[2] > 4 * D * SIZE[2]
    known = [D**2 / 2 * slow + np.cumsum(np.minimum(first, 4 * D * SIZE)) + lags[:, 0]]
    for k, c in enumerate((0.25, 1.0, 4.0), start=1):
        known.append(2 * D**2 / c * slow + c * np.cumsum(steps) + lags[:, k])
    paid = np.cumsum([pull @ (s.x - START) for pull, s in zip(PULLS, states, strict=False)])
    dual = []
    for t, (_, s) in enumerate(pairwise(states)):
        cuts = s.learner.cuts
        mu = cuts.pulls[0] * slow[t]
        far = PULLS[: t + 1].sum(axis=0) + mu @ cuts.normals
        dual.append(paid[t] + mu @ cuts.offsets + D * np.linalg.norm(far))
    assert found == pytest.approx(np.min([dual, *known], axis=0), rel=1e-9)
    without = [one._replace(paid=inf) for one in sums]
    assert bounds(player, states, without) == pytest.approx(np.min(known, axis=0), rel=1e-9)


def test_the_observed_bound_of_certified_descent():
    player = CertifiedOGD(knowledge=Curvature(beta=0.8, reach=1.4), radius=1.3)
    states, infos, sums = watch(player)
    slow, cuts = inverse_etas(states), []
    for t, (one, new) in enumerate(pairwise(states)):
        if slow[t] > 0:
            g, s = limit(one.x)
            step = -PULLS[t] / slow[t]
            mu = s @ (one.x + step - new.x) / (s @ s)
            cuts.append(slow[t] * (mu**2 * (s @ s) / 2 - mu * (g + s @ step)))
        else:
            cuts.append(0.0)
    assert min(cuts) < -0.1
    wanted = 2 * 1.3**2 * slow + np.cumsum(over(SIZE**2, slow)) / 2 + np.cumsum(cuts)
    assert bounds(player, states, sums) == pytest.approx(wanted, rel=1e-9)
    # A last point that was drawn nearer by 0.25, and a last round without a step.
    note = infos[-1].note
    drawn = infos[-1]._replace(note=note._replace(found=note.found._replace(projection_error=0.25)))
    found = sums[-2].after(drawn).bound(player, states[-1])
    assert found == pytest.approx(wanted[-1] + 0.25 * (4 * 1.3 + 0.25) / 2 * slow[-1], rel=1e-9)
    found = (
        sums[-2]
        .after(infos[-1]._replace(note=note._replace(moves=False)))
        .bound(player, states[-1])
    )
    assert found == pytest.approx(wanted[-2] + 2 * 1.3 * SIZE[-1], rel=1e-9)


@pytest.mark.parametrize("far", [99.0, 0.05])
@pytest.mark.parametrize("reach", [1.4, 9.0])  # D = reach + |x_1|, or 2R
def test_the_observed_bound_of_certified_dual_averaging(far, reach):
    player = CertifiedDualAveraging(knowledge=Curvature(beta=0.8, reach=reach), radius=1.3, far=far)
    states, infos, sums = watch(player)
    slow, D = inverse_etas(states), min(2 * 1.3, reach + np.linalg.norm(START))
    theta, kept, moves, pruned, bent, wanted = np.zeros(2), np.zeros(2), 0.0, 0.0, [0.0], [0.0]
    for t, (one, new) in enumerate(pairwise(states)):
        if t == 0:  # without a gradient
            continue
        before = slow[t - 1] or slow[t]  # eta_0 = eta_1, of the first gradient
        way = new.x - one.x
        P = np.linalg.norm(way)
        moves += -PULLS[t] @ way - P**2 / 2 * before + kept @ way * before
        theta = theta + PULLS[t]
        n = START - theta / slow[t] - new.x
        length = np.linalg.norm(n) if limit(new.x)[0] > -1e-9 else 0.0  # inside, n is rounding
        bent.append(0.8 * length / np.linalg.norm(limit(one.x)[1] + 0.8 * way))
        Q = bent[t] / 2 * P * (4 * 1.3 + P)
        wanted.append(D**2 / 2 * slow[t] + moves + pruned + Q * slow[t])
        share = 0.0 if length <= far * 1.3 else 1 - far * 1.3 / length
        pruned += share * Q * slow[t]
        theta, kept = theta + share * n * slow[t], (1 - share) * n
    assert (pruned > 0.1) == (far < 1)
    assert bounds(player, states, sums) == pytest.approx(wanted, rel=1e-9)
    # A fourth point that was drawn nearer by 0.25.
    note = infos[3].note
    drawn = infos[3]._replace(note=note._replace(found=note.found._replace(projection_error=0.25)))
    found = sums[3].after(drawn).bound(player, states[4])
    assert bent[3] > 0.1
    assert found == pytest.approx(wanted[3] + 2 * 1.3 * (1 + bent[3]) * 0.25 * slow[3], rel=1e-9)


def test_the_observed_bound_of_four_far_points_counts_the_lag_behind_the_first():
    player = CertifiedDualAveraging(knowledge=Curvature(beta=0.8, reach=1.4), radius=1.3)
    states, _, sums = watch(player)
    slow, D = inverse_etas(states), min(2 * 1.3, 1.4 + np.linalg.norm(START))
    kept, p, moves, lag, wanted = np.zeros(2), START, 0.0, 0.0, [0.0]
    for t, (one, _) in enumerate(pairwise(states)):
        if t == 0:  # without a gradient
            continue
        before = slow[t - 1] or slow[t]
        y, (g, s) = START - PULLS[: t + 1].sum(axis=0) / slow[t], limit(one.x)
        centre, radius = one.x - s / 0.8, np.sqrt(s @ s - 1.6 * g) / 0.8
        off = np.linalg.norm(y - centre)
        new = y if off <= radius else centre + radius / off * (y - centre)
        lag += PULLS[t] @ (one.x - p)
        moves += PULLS[t] @ (p - new) - (new - p) @ (new - p) / 2 * before
        moves += kept @ (new - p) * before
        kept, p, P = y - new, new, np.linalg.norm(new - one.x)
        Q = np.linalg.norm(kept) / radius / 2 * P * (4 * 1.3 + P)  # lambda beta = |n|/radius
        wanted.append(D**2 / 2 * slow[t] + moves + lag + Q * slow[t])
    assert abs(lag) > 0.01
    assert bounds(player, states, sums) == pytest.approx(wanted, rel=1e-8)
