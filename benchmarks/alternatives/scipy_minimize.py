"""One convex program: scipy.optimize.minimize, SafeCMA, LB-SGD and certified rules.

Every evaluated point counts: the task is that of a plant which is tried at the points that an
optimiser asks for. ``python -m benchmarks.alternatives scipy_minimize``
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.alternatives.rows import TRIALS, Program, Row, named, tabulated
from surefoot.core.feedback import Feedback
from surefoot.knowledge import Curvature
from surefoot.rules import LBSGD, CertifiedOGD, CertifiedPFS
from surefoot.sets import Ball

TITLE = "One program, every evaluated point counts"


def by_scipy(program: Program, method: str, *, keep: bool = False) -> Any:
    """Minimise with scipy; gradients where the method takes them."""
    from scipy.optimize import NonlinearConstraint, minimize

    slopes: dict[str, Any] = {}
    if method in ("SLSQP", "trust-constr"):
        slopes = {"jac": program.cost_gradient}
    limit = NonlinearConstraint(
        program.limit,
        -np.inf,
        0.0,
        **({"jac": lambda x: program.limit_gradient(x)[None]} if slopes else {}),
        keep_feasible=keep,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = minimize(program.cost, program.start, method=method, constraints=[limit], **slopes)
    return found.x


def rule(program: Program, player: Any, rounds: int) -> Any:
    """Let a rule play the program round by round."""
    state = player.init(program.start)
    for _ in range(rounds):
        x = state.x
        g: Any = program.limit(x)
        s = program.limit_gradient(x)
        if isinstance(player, LBSGD):
            g, s = np.array([g]), s[None]
        state = player.update(state, Feedback(program.cost_gradient(x), g, s))
    return x


def safe_cma(program: Program, sigma: float, generations: int, seed: int = 1) -> Any:
    """Minimise with SafeCMA from ten safe seeds near the centre; it uses values only."""
    from cmaes.safe_cma import SafeCMA

    d = program.dimension
    seeds = np.random.default_rng(seed).uniform(-0.1, 0.1, (10, d))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimiser = SafeCMA(
            sigma=sigma,
            safety_threshold=np.zeros(1),
            safe_seeds=seeds,
            seeds_evals=np.array([program.cost(x) for x in seeds]),
            seeds_safe_evals=np.array([[program.limit(x)] for x in seeds]),
            seed=seed,
        )
        best, where = np.inf, seeds[0]
        for _ in range(generations):
            tried = []
            for _ in range(optimiser.population_size):
                x = optimiser.ask()
                value = program.cost(x)
                if value < best:
                    best, where = value, x
                tried.append((x, value, np.array([program.limit(x)])))
            optimiser.tell(tried)
    return where


def tuned_sigma(trials: int, generations: int) -> float:
    """Return the sigma with the fewest points outside, then the least cost, of optuna's tries."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def score(trial: Any) -> float:
        row = Program().row(
            "",
            "",
            lambda p: safe_cma(p, trial.suggest_float("sigma", 0.01, 1.0, log=True), generations),
        )
        return row.outside + float(row.result.split("=")[1])

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(score, n_trials=trials)
    return float(study.best_params["sigma"])


def rows(trials: int = TRIALS, generations: int = 25) -> Iterator[Row]:
    """Yield what each tool did."""
    p = Program()
    for method in ("SLSQP", "COBYLA", "COBYQA", "trust-constr"):
        knows = "f and g at any point" + (
            ", gradients" if method in ("SLSQP", "trust-constr") else ""
        )
        yield p.row(named("scipy", method), knows, lambda q, m=method: by_scipy(q, m))  # type: ignore[misc]
    yield p.row(
        named("scipy", "trust-constr, keep_feasible"),
        "f and g at any point, gradients",
        lambda q: by_scipy(q, "trust-constr", keep=True),
    )
    sigma = tuned_sigma(trials, generations)
    yield p.row(
        named("cmaes", "SafeCMA"),
        f"ten safe points; sigma = {sigma:.2g} by optuna, {trials} tries",
        lambda q: safe_cma(q, sigma, generations),
    )
    beta = p.condition
    weights = np.geomspace(1e-5, 1e-1, 8)
    tries = [
        p.row(
            f"LB-SGD, weight {w:.1e}, the best of 8 in hindsight",
            "curvature of f and of g",
            lambda q, w=w: rule(q, LBSGD(weight=w, beta=beta, cost_curvature=1.0), 200),  # type: ignore[misc]
        )
        for w in weights
    ]
    yield min(tries, key=lambda r: float(r.result.split("=")[1]))
    known = Curvature(beta=beta, reach=1.0)
    for rounds in (20, 200):
        player = CertifiedOGD(knowledge=known, radius=1.0, eta=1.0, ratchet=False)
        yield p.row(
            f"**Surefoot, `CertifiedOGD`**, {rounds} rounds",
            "curvature of g; step 1/L",
            lambda q, n=rounds, a=player: rule(q, a, n),  # type: ignore[misc]
        )
    steepest = beta**0.5
    pfs = CertifiedPFS(G_g=steepest, domain=Ball(1.0), rho=0.1, decreasing=True)
    yield p.row(
        "**Surefoot, `CertifiedPFS`**, 2,000 rounds",
        "a bound on the slope of g",
        lambda q: rule(q, pfs, 2_000),
    )


def measure() -> list[str]:
    """Return the table."""
    return tabulated(rows())
