"""Training under limits in PyTorch: KeepFeasible beside Cooper and humancompatible-train.

Two tasks, both under Adam with the same batches and the same feasible first parameters; every step
counts, as if each model were served. *spectral*: a network with three layers, none of which may
have a singular value above 1. *fairness*: a linear score whose covariance with a group, on a fixed
audit set, may not exceed 0.02. The rivals follow multipliers; of three rates of these, the one with
the fewest steps outside is shown, and of equals the one with the least loss.

Run as ``python -m benchmarks.alternatives.torch_limits``; needs PyTorch and the group ``rivals``.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from surefoot import Constants
from surefoot.adapters.torch import KeepFeasible
from surefoot.knowledge import CurvatureRows
from surefoot.rules import RegionFilter, SafetyFilter

RATES = (0.01, 0.1, 1.0)


class Task(NamedTuple):
    """A model, its limits and its data."""

    model: torch.nn.Module
    limits: Callable[[torch.dtype], torch.Tensor]  # g of every row, at the parameters as they are
    keep: Callable[[Any], tuple[Any, Callable[[], Any]]]  # an optimiser -> one that is kept, a step
    batches: list[tuple[torch.Tensor, torch.Tensor]]
    test: tuple[torch.Tensor, torch.Tensor]
    rate: float


class Outcome(NamedTuple):
    """What a run came to."""

    name: str
    outside: int
    steps: int
    worst: float
    loss: float
    accuracy: float


def _batches(x: torch.Tensor, y: torch.Tensor, steps: int, seed: int) -> list[Any]:
    random = torch.Generator().manual_seed(seed)
    picks = (torch.randint(len(x), (64,), generator=random) for _ in range(steps))
    return [(x[i], y[i]) for i in picks]


def spectral(steps: int, seed: int = 0) -> Task:
    """Limit the singular values of three layers to 1; the labels follow a curved surface."""
    torch.manual_seed(seed)
    x = torch.randn(4_000, 10)
    y = ((x[:, :3] ** 2).sum(1) - (x[:, 3:6] ** 2).sum(1) + x[:, 6] > 0).float()
    model = torch.nn.Sequential(
        torch.nn.Linear(10, 32), torch.nn.ReLU(), torch.nn.Linear(32, 32), torch.nn.ReLU(),
        torch.nn.Linear(32, 1),
    )  # fmt: skip
    weights = [layer.weight for layer in model if isinstance(layer, torch.nn.Linear)]
    with torch.no_grad():
        for w in weights:
            w.mul_(0.5 / torch.linalg.matrix_norm(w, 2))

    def g(w: torch.Tensor) -> torch.Tensor:
        return torch.linalg.matrix_norm(w, 2) - 1.0

    def limits(kind: torch.dtype) -> torch.Tensor:
        return torch.stack([g(w.to(kind)) for w in weights])

    def keep(base: Any) -> tuple[Any, Callable[[], Any]]:
        # A matrix with singular values of at most 1 is as long as the root of their number.
        known = [Constants(R=min(w.shape) ** 0.5, G_g=1.001, start_slack=0.5) for w in weights]
        kept = KeepFeasible(base, [SafetyFilter.default(k) for k in known], [[w] for w in weights])
        return kept, lambda: kept.step(constraint=[g] * len(weights))

    return Task(
        model,
        limits,
        keep,
        _batches(x[:3_000], y[:3_000], steps, seed),
        (x[3_000:], y[3_000:]),
        1e-2,
    )


def fairness(steps: int, seed: int = 0) -> Task:
    """Limit the covariance of a linear score with a group, on the audit set, to 0.02."""
    torch.manual_seed(seed)
    group = (torch.rand(5_000) < 0.4).float()
    x = torch.randn(5_000, 20) + 0.5 * group[:, None] * (torch.arange(20) < 5)
    y = (x @ torch.linspace(1.0, -0.5, 20) + torch.randn(5_000) > 0.5).float()
    model = torch.nn.Sequential(torch.nn.Linear(20, 1))
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
    audit, z = x[:1_000].double(), group[:1_000].double()
    slope = ((z - z.mean())[:, None] * audit).mean(0)  # of the covariance, in the weights
    weight = model[0].weight

    def g(w: torch.Tensor) -> torch.Tensor:
        covariance = w.reshape(-1) @ slope.to(w.dtype)
        return torch.stack([covariance, -covariance]) - 0.02

    def keep(base: Any) -> tuple[Any, Callable[[], Any]]:
        rows = CurvatureRows(beta=(0.0, 0.0), reach=30.0)  # linear: no curvature
        kept = KeepFeasible(base, RegionFilter(knowledge=rows), [weight])
        return kept, lambda: kept.step(constraint=g)

    parts = _batches(x[1_000:4_000], y[1_000:4_000], steps, seed)
    return Task(model, lambda kind: g(weight.to(kind)), keep, parts, (x[4_000:], y[4_000:]), 1e-2)


# --- one step of each ----------------------------------------------------------------------------


def _plain(task: Task, base: Any, rate: float) -> Callable[[torch.Tensor], None]:
    def step(loss: torch.Tensor) -> None:
        base.zero_grad()
        loss.backward()
        base.step()

    return step


def _kept(task: Task, base: Any, rate: float) -> Callable[[torch.Tensor], None]:
    optimiser, admit = task.keep(base)

    def step(loss: torch.Tensor) -> None:
        optimiser.zero_grad()
        loss.backward()
        admit()

    return step


def _cooper(task: Task, base: Any, rate: float) -> Callable[[torch.Tensor], None]:
    import cooper

    class Limited(cooper.ConstrainedMinimizationProblem):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            rows = len(task.limits(torch.float32))
            self.rows = cooper.Constraint(
                multiplier=cooper.multipliers.DenseMultiplier(num_constraints=rows),
                constraint_type=cooper.ConstraintType.INEQUALITY,
            )

        def compute_cmp_state(self, loss: torch.Tensor) -> Any:
            seen = cooper.ConstraintState(violation=task.limits(torch.float32))
            return cooper.CMPState(loss=loss, observed_constraints={self.rows: seen})

    problem = Limited()
    duals = torch.optim.SGD(problem.dual_parameters(), lr=rate, maximize=True)
    optimiser = cooper.optim.SimultaneousOptimizer(
        cmp=problem, primal_optimizers=base, dual_optimizers=duals
    )
    return lambda loss: optimiser.roll(compute_cmp_state_kwargs={"loss": loss})


def _alm(task: Task, base: Any, rate: float) -> Callable[[torch.Tensor], None]:
    from humancompatible.train.dual_optim import ALM

    rows = len(task.limits(torch.float32))
    duals = ALM(m=rows, lr=rate, penalty=1.0, is_ineq=True)

    def step(loss: torch.Tensor) -> None:
        lagrangian = duals.forward_update(loss, task.limits(torch.float32))
        base.zero_grad()
        lagrangian.backward()
        base.step()

    return step


METHODS: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "Adam alone": (_plain, (0.0,)),
    "Cooper": (_cooper, RATES),
    "humancompatible ALM": (_alm, RATES),
    "KeepFeasible": (_kept, (0.0,)),
}


def train(make: Callable[[int], Task], name: str, rate: float, steps: int) -> Outcome:
    """Train once, and look at the limits in float64 after every step."""
    task = make(steps)
    base = torch.optim.Adam(task.model.parameters(), lr=task.rate)
    step = METHODS[name][0](task, base, rate)
    entropy = torch.nn.functional.binary_cross_entropy_with_logits
    outside, worst = 0, -float("inf")
    for x, y in task.batches:
        step(entropy(task.model(x).squeeze(-1), y))
        with torch.no_grad():
            value = float(task.limits(torch.float64).max())
        outside, worst = outside + (value > 0), max(worst, value)
    with torch.no_grad():
        score = task.model(task.test[0]).squeeze(-1)
        loss = float(entropy(score, task.test[1]))
        right = float(((score > 0) == (task.test[1] > 0)).float().mean())
    return Outcome(name, outside, steps, worst, loss, right)


def compare(make: Callable[[int], Task], steps: int) -> list[Outcome]:
    """Return the outcome of each method, at the best of its rates."""
    found = []
    for name, (_, rates) in METHODS.items():
        tried = [train(make, name, rate, steps) for rate in rates]
        found.append(min(tried, key=lambda o: (o.outside, o.loss)))
    return found


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2_000)
    steps = parser.parse_args().steps
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for make in (spectral, fairness):
        print(f"\n{make.__name__}, {steps} steps of Adam, float32\n")
        print("| method | steps outside | worst g | test loss | test accuracy |")
        print("|---|---:|---:|---:|---:|")
        for o in compare(make, steps):
            print(f"| {o.name} | {o.outside} | {o.worst:.2g} | {o.loss:.3f} | {o.accuracy:.1%} |")


if __name__ == "__main__":
    main()
