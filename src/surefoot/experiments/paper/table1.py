"""The paper's Table 1, measured: every algorithm with each of its theorems, on the same streams.

The problems are the paper's toy, its variant whose best action is a corner, and a random polytope
with 20 entries and 60 rows. On the polytope a projection and a linear minimisation take a solver:
rows that need one in every round are played there for fewer rounds and trials, and so are rules
that cannot be compiled.
"""

from collections.abc import Sequence
from typing import Any

from surefoot.core.plain import PlainTable
from surefoot.core.types import needs_of
from surefoot.experiments import Spec, build_spec
from surefoot.experiments.build import ALGORITHMS_BY_NAME
from surefoot.experiments.paper import read_data

HORIZONS = (1_000, 3_162, 10_000, 31_623, 100_000)
SOLVER_HORIZON, SOLVER_TRIALS = 10_000, 5

_PLANE, _POLYTOPE = ["paper toy", "binding toy"], ["random polytope"]


def specification(horizons: Sequence[int] = HORIZONS, trials: int = 30) -> Spec:
    """Return the experiment, with every theorem of the catalogue.

    Args:
        horizons: the T's.
        trials: of each.

    Example:
        >>> spec = specification(horizons=[100, 316, 1_000], trials=5)
        >>> [row.title for row in spec.algorithms][:2]
        ['PFS.anytime', 'PFS.eventually']
    """
    data = read_data("table1") | {"trials": trials, "horizons": list(horizons)}
    data["algorithms"] = [
        row
        for rule in ALGORITHMS_BY_NAME.values()
        for tuning in rule.tunings
        for row in _rows(rule, tuning, horizons, trials)
    ]
    return build_spec(data)


def _rows(rule: type[Any], tuning: str, horizons: Sequence[int], trials: int) -> list[PlainTable]:
    """Return a theorem's row, short where its rule is slow; two where a solver is needed on one."""
    row: PlainTable = {"name": rule.__name__, "tuning": tuning}
    needs = needs_of(rule)
    shorter = [T for T in horizons if T <= SOLVER_HORIZON] or [min(horizons)]
    short = {"horizons": shorter, "trials": min(trials, SOLVER_TRIALS)}
    if needs.numpy_only:
        return [row | short]
    if not (needs.projections or needs.linear_minimisations):
        return [row]
    solver = {"label": f"{rule.__name__}.{tuning}, a solver a round", "only": _POLYTOPE}
    return [row | {"only": _PLANE}, row | solver | short]
