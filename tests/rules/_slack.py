"""How close a game came to each bound of its guarantee."""

import numpy as np

from surefoot.games import play
from surefoot.problems.constraints import ConstraintStream


def slack(trace):
    """The largest share of each bound that was used in any round: at most 1 if it holds.

    Keys: "regret", and the sums that the guarantee bounds; "rows" is the Euclidean norm of the
    positive sums of the constraints kept apart.
    """
    guarantee, t = trace.guarantee, trace.rounds
    assert len(t) == trace.horizon
    seen = {"regret": trace.regret().upper}
    positive = np.maximum(trace.constraint, 0.0)
    sums = {
        "positive_sum": np.maximum(np.cumsum(trace.constraint, axis=0), 0.0),
        "sum_positive": np.cumsum(positive, axis=0),
        "sum_squared": np.cumsum(positive**2, axis=0),
    }
    bounds = {"regret": guarantee.regret_bound(t), **guarantee.bounds(t)}
    each = bounds.pop("round", np.inf)
    assert (each >= trace.constraint.T).all()
    if "rows" in bounds:
        total = np.maximum(np.cumsum(_rows(trace), axis=0), 0.0)
        sums["rows"] = np.linalg.norm(total, axis=-1)
    seen |= {name: sums[name] for name in bounds if name != "regret"}
    return {name: _share(seen[name], bounds[name]) for name in bounds}


def _rows(trace):
    """Every constraint's value in every round, the constraints along the last axis."""
    x, constraint = trace.actions, trace.problem.constraint
    if isinstance(constraint, ConstraintStream):
        return np.array([constraint.query_all(t, now)[0] for t, now in enumerate(x)])
    g, _ = constraint.query_all(x.reshape(-1, x.shape[-1]))
    return g.reshape(*x.shape[:-1], -1)


def _share(seen, bound):
    bound = bound.reshape(-1, *[1] * (seen.ndim - 1))
    assert np.isfinite(seen).all()
    assert np.isfinite(bound).all()
    # A bound of 0 is held by nothing above it.
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(seen > 0, seen / bound, 0.0)
    return float(share.max())


def assert_bounds_hold(players, problem, horizon):
    """Play tuned algorithms, and compare with every bound after every round."""
    traces = [play(player, problem, horizon=horizon, watch="raise") for player in players]
    for trace in traces:
        found = slack(trace)
        assert max(found.values()) <= 1, (str(trace.guarantee), found)
    return traces
