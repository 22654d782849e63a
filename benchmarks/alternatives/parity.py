"""Training a network under a limit: optimisers inside KeepFeasible beside multipliers.

A network with 32 hidden units and 449 weights scores people of two groups. On a fixed audit set,
the means of its scores in the groups may differ by 0.05 at most, after no step. The limit is not
convex in the weights, and nobody knows its curvature: 0.5 is a guess, which is checked in every
step. All start at the same weights and see the same batches of 128.
``python -m benchmarks.alternatives parity`` writes the table of docs/hosts.md, one number per seed;
``python -m benchmarks.alternatives.parity`` prints the time of a step.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import torch

from benchmarks.pages import table
from surefoot.adapters.torch import KeepFeasible
from surefoot.knowledge import CurvatureRows
from surefoot.rules import RegionFilter

AT_MOST = 0.05
STEPS = 1_500
SEEDS = (1, 2, 3)
RATES = (0.01, 0.1, 1.0)
HEAD = ("optimiser", "steps outside", "train loss", "test loss", "accuracy")


class Data(NamedTuple):
    """Features, labels and groups: 2,000 people are the audit set, 3,000 train, 5,000 test."""

    x: torch.Tensor
    y: torch.Tensor
    group: torch.Tensor

    def part(self, first: int, last: int) -> Data:
        """Return some of the people."""
        return Data(*(column[first:last] for column in self))


@cache
def draw() -> tuple[Data, Data, Data]:
    """Return audit set, training set and test set; labels bend, and depend on the group."""
    random = torch.Generator().manual_seed(0)
    group = (torch.rand(10_000, generator=random) < 0.4).float()
    x = torch.randn(10_000, 12, generator=random)
    x[:, :4] += 0.5 * group[:, None]
    score = x @ torch.linspace(1.0, -0.6, 12) + 0.8 * (x[:, 4] * x[:, 5] + x[:, 6] ** 2 - 1.0)
    y = (score + torch.randn(10_000, generator=random) > 0.3).float()
    everyone = Data(x, y, group)
    return everyone.part(0, 2_000), everyone.part(2_000, 5_000), everyone.part(5_000, 10_000)


def build() -> torch.nn.Sequential:
    """Return the network, at weights that keep the limit."""
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))


def find_gap(*weights: torch.Tensor) -> torch.Tensor:
    """Return the difference of the groups' mean scores on the audit set."""
    audit = draw()[0]
    first, bias, second, last = weights
    hidden = torch.tanh(audit.x.to(first.dtype) @ first.T + bias)
    scores = torch.sigmoid(hidden @ second.T + last).squeeze(-1)
    return scores[audit.group > 0].mean() - scores[audit.group == 0].mean()


def limits(*weights: torch.Tensor) -> torch.Tensor:
    """Return g of both rows."""
    gap = find_gap(*weights)
    return torch.stack([gap, -gap]) - AT_MOST


class Outcome(NamedTuple):
    """What a run came to."""

    outside: int
    train: float
    test: float
    accuracy: float


Stepper = Callable[[torch.Tensor], Any]
Way = Callable[[torch.nn.Sequential], Stepper]


def alone(make: Callable[[Any], Any]) -> Way:
    """Return training by an optimiser that ignores the limit."""

    def begin(model: torch.nn.Sequential) -> Stepper:
        base = make(model.parameters())

        def step(loss: torch.Tensor) -> None:
            base.zero_grad()
            loss.backward()
            base.step()

        return step

    return begin


def measured(make: Callable[[Any], Any]) -> Way:
    """Return training without a filter, which takes the limit's gradients in float64, too."""

    def begin(model: torch.nn.Sequential) -> Stepper:
        base, weights = make(model.parameters()), list(model.parameters())

        def step(loss: torch.Tensor) -> None:
            base.zero_grad()
            loss.backward()
            at = [p.detach().to(torch.float64).requires_grad_() for p in weights]
            for g in limits(*at):
                torch.autograd.grad(g, at, retain_graph=True)
            base.step()

        return step

    return begin


def kept(make: Callable[[Any], Any], metric: Any = None) -> Way:
    """Return training by an optimiser inside KeepFeasible."""

    def begin(model: torch.nn.Sequential) -> Stepper:
        rows = CurvatureRows(beta=(0.5, 0.5), reach=50.0, convex=False)
        opt = KeepFeasible(make(model.parameters()), RegionFilter(knowledge=rows), metric=metric)

        def step(loss: torch.Tensor) -> None:
            opt.zero_grad()
            loss.backward()
            opt.step(constraint=limits)

        return step

    return begin


def multiplied(make: Callable[[Any], Any], rate: float) -> Way:
    """Return training by an optimiser of loss plus multiplier times g, both followed."""

    def begin(model: torch.nn.Sequential) -> Stepper:
        base, weight = make(model.parameters()), 0.0

        def step(loss: torch.Tensor) -> None:
            nonlocal weight
            g = limits(*model.parameters()).max()
            weight = max(0.0, weight + rate * float(g.detach()))
            base.zero_grad()
            (loss + weight * g).backward()
            base.step()

        return step

    return begin


def train(way: Way, seed: int, steps: int = STEPS) -> Outcome:
    """Train once, and look at the limit in float64 after every step."""
    _, people, test = draw()
    model, entropy = build(), torch.nn.functional.binary_cross_entropy_with_logits
    step, random, outside = way(model), torch.Generator().manual_seed(seed), 0
    for _ in range(steps):
        some = torch.randint(3_000, (128,), generator=random)
        step(entropy(model(people.x[some]).squeeze(-1), people.y[some]))
        with torch.no_grad():
            outside += bool((limits(*(p.double() for p in model.parameters())) > 0).any())
    with torch.no_grad():
        ahead, after = (float(entropy(model(d.x).squeeze(-1), d.y)) for d in (people, test))
        right = ((model(test.x).squeeze(-1) > 0) == (test.y > 0)).float().mean()
    return Outcome(outside, ahead, after, float(right))


def adam(parameters: Any) -> torch.optim.Optimizer:
    """Return Adam."""
    return torch.optim.Adam(parameters, lr=0.01)


def momentum(parameters: Any) -> torch.optim.Optimizer:
    """Return SGD with momentum."""
    return torch.optim.SGD(parameters, lr=0.02, momentum=0.9)


WAYS: dict[str, Way] = {
    "SGD with momentum in `KeepFeasible`": kept(momentum),
    "Adam in `KeepFeasible`, Euclid's metric (`metric=torch.ones_like`)": kept(
        adam, torch.ones_like
    ),
    "**Adam in `KeepFeasible`, its own metric**": kept(adam),
    **{f"Adam with a multiplier, rate {rate:g}": multiplied(adam, rate) for rate in RATES},
    "Adam, which ignores the limit": alone(adam),
}


def cells(name: str, runs: list[Outcome]) -> list[str]:
    """Return the cells of a row, one number per seed."""
    columns = list(zip(*runs, strict=True))
    return [
        name,
        " ".join(f"{n:,}" for n in columns[0]),
        *(" ".join(f"{loss:.3f}" for loss in losses) for losses in columns[1:3]),
        " ".join(f"{100 * share:.1f}" for share in columns[3]) + " %",
    ]


def rows(steps: int = STEPS, seeds: tuple[int, ...] = SEEDS) -> Iterator[list[str]]:
    """Yield the cells of each way to train."""
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a contradiction of the guess would be one
        for name, way in WAYS.items():
            yield cells(name, [train(way, seed, steps) for seed in seeds])


def measure() -> list[str]:
    """Return the table."""
    return table(HEAD, rows())


def time_steps(repeats: int = 80, steps: int = 8) -> dict[str, float]:
    """Return the processor time of a step in milliseconds, the least of interleaved pieces."""
    torch.set_num_threads(1)
    _, people, _ = draw()
    entropy = torch.nn.functional.binary_cross_entropy_with_logits
    ways = WAYS | {"Adam, which only measures the limit, in float64": measured(adam)}
    models = {name: build() for name in ways}
    runs = {name: ways[name](model) for name, model in models.items()}
    least = dict.fromkeys(ways, float("inf"))
    for turn in range(repeats):
        for name, step in runs.items():
            begin = time.process_time()
            for i in range(steps):
                some = slice(64 * i, 64 * i + 128)
                step(entropy(models[name](people.x[some]).squeeze(-1), people.y[some]))
            if turn:  # the first loads modules
                least[name] = min(least[name], (time.process_time() - begin) / steps)
    return {name: 1e3 * seconds for name, seconds in least.items()}


if __name__ == "__main__":
    for name, milliseconds in time_steps().items():
        print(f"{milliseconds:.2f} ms per step: {name}")
