"""A small live system: what each round reveals at an action, whoever asks and however often."""

import numpy as np

from surefoot import OGD, PFS, Ball, Constants, Feedback
from surefoot.core.record import is_tree
from surefoot.core.types import needs_of
from surefoot.knowledge import CurvatureRows, LipschitzHull, Together
from surefoot.rules import (
    DPP,
    CertifiedDualAveraging,
    CertifiedOGD,
    CertifiedPFS,
    Delayed,
    FrankWolfe,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
    ScalarDPP,
    Tighten,
    ValuesFollower,
)
from surefoot.sets import Box

# g(x) = max(a_i'x - b_i), lopsided; the start has slack 0.2 and no row is longer than G_g.
ROWS = np.array([[0.6, 0.9], [-1.1, 0.3]])
LIMITS = np.array([0.5, 0.7])
G_G = float(np.linalg.norm(ROWS, axis=1).max())
START = np.array([0.2, 0.2])
BALL = Ball(1.5)
CONSTANTS = Constants(
    R=1.5,
    G_f=3.0,
    G_g=G_G,
    sigma=0.2,
    epsilon=0.1,
    start_slack=0.2,
    start_reach=BALL.reach(START),
    rows=2,
)

PLAYERS = {
    "PFS": PFS(eta=0.07, rho=0.03, domain=BALL),
    "PFS tuned": PFS.tuned(CONSTANTS, 5_000),
    "certified": CertifiedPFS.default(CONSTANTS),
    "certified, clipped": CertifiedPFS(G_g=G_G, domain=BALL, rho=0.3, ratchet=False),
    "certified, fixed": CertifiedPFS(
        G_g=G_G, domain=BALL, rho=0.05, decreasing=False, eta=0.2, sigma=0.2
    ),
    "scalar DPP": ScalarDPP(V=2.0, alpha=5.0, domain=BALL, queue=0.25),
    "DPP": DPP(V=1.5, alpha=4.0, rows=2, domain=BALL),
    "tightened DPP": Tighten(base=DPP(V=1.5, alpha=4.0, rows=2, domain=BALL), rho=0.125),
    "OGD": OGD(eta=0.1, domain=Box([-0.4, -0.3], [0.6, 0.45])),
    "Frank-Wolfe": FrankWolfe(eta=0.2, domain=Ball(0.7, [0.1, -0.2])),
}

FILTERS = {
    "safety filter": SafetyFilter.default(CONSTANTS),
    "hull filter": RegionFilter.default(CONSTANTS),
    "rows in a box": RegionFilter(
        knowledge=CurvatureRows(beta=0.1, rows=2, reach=1.5, domain=Box([-0.3, -0.9], [0.9, 0.4]))
    ),
    "hulls together": RegionFilter(
        knowledge=Together(
            rows=(LipschitzHull(G_g=G_G, reach=1.5), LipschitzHull(G_g=G_G, reach=1.5))
        )
    ),
}

# Those that can start from another action.
MOVABLE = {
    "certified": CertifiedPFS.default(CONSTANTS),
    "leader and follower": LeaderFollower.default(CONSTANTS),
    "descent": CertifiedOGD(knowledge=CurvatureRows(beta=0.1, rows=2, reach=1.5), radius=1.5),
    "averaging": CertifiedDualAveraging(
        knowledge=CurvatureRows(beta=0.1, rows=2, reach=1.5), radius=1.5
    ),
    "two rounds late": Delayed(base=LeaderFollower.default(CONSTANTS).algorithm, delay=2),
    "ahead": Delayed(base=LeaderFollower.default(CONSTANTS).algorithm, delay=2, copies=False),
    "values alone": ValuesFollower.default(CONSTANTS).algorithm,
    **FILTERS,
}


def algorithm_of(player):
    return player[0] if isinstance(player, tuple) else player


def gradient(t, x):
    """Of round t: pulls towards a target that moves about, deterministic in t and x."""
    target = np.array([1.2 * np.sin(0.7 * t), 0.4 + 1.1 * np.cos(0.31 * t)])
    return 0.8 * (x - target)


def seen_at(player, t, x):
    """What a round reveals, as keyword arguments of ``tell``."""
    needs = needs_of(algorithm_of(player))
    values = ROWS @ x - LIMITS
    if not needs.cost_gradients:
        proposal = x - gradient(t, x)
        g, s = (values, ROWS) if needs.separately else (float(values.max()), ROWS[values.argmax()])
        return {"proposal": proposal, "constraint_value": g, "constraint_subgradient": s}
    if not needs.constraint_values:
        return {"cost_gradient": gradient(t, x)}
    if needs.separately:
        g, s = values, ROWS
    else:
        i = int(values.argmax())
        g, s = float(values[i]), ROWS[i]
    if not needs.constraint_subgradients:
        return {"cost_gradient": gradient(t, x), "constraint_value": g}
    return {"cost_gradient": gradient(t, x), "constraint_value": g, "constraint_subgradient": s}


def drive(controller, player, rounds, first=1):
    """Ask and tell rounds first to first + rounds - 1; the actions asked for, and the next."""
    actions = []
    for t in range(first, first + rounds):
        x = controller.ask()
        actions.append(x)
        controller.tell(**seen_at(player, t, x))
    return np.array([*actions, controller.ask()])


def raw_loop(player, rounds):
    """The same by ``init`` and ``step`` alone; the actions and the last state."""
    algorithm = algorithm_of(player)
    state = algorithm.init(START.copy())
    actions = []
    for t in range(1, rounds + 1):
        actions.append(state.x)
        state, _ = algorithm.step(state, Feedback(**seen_at(player, t, state.x)))
    return np.array([*actions, state.x]), state


def same_bits(a, b):
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def same_state(a, b):
    """Whether two states have the same bits and the same types."""
    if is_tree(a):
        return type(a) is type(b) and all(map(same_state, a, b))
    if isinstance(a, np.ndarray):
        return type(b) is np.ndarray and a.dtype == b.dtype and same_bits(a, b)
    return type(a) is type(b) and np.float64(a).tobytes() == np.float64(b).tobytes()
