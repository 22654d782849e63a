"""Train a network whose layers may have no singular value above 1, after no step.

Adam proposes, KeepFeasible keeps the weights feasible; biases are not limited and left alone.
Needs ``surefoot[torch]``.
"""

from __future__ import annotations

import torch

from surefoot import Constants
from surefoot.adapters.torch import KeepFeasible
from surefoot.rules import SafetyFilter


def above_one(w: torch.Tensor) -> torch.Tensor:
    """Return g: the largest singular value, less 1."""
    return torch.linalg.matrix_norm(w, 2) - 1.0


def train(safe: bool, steps: int = 500) -> tuple[int, float]:
    """Return after how many steps a layer was over its limit, and the accuracy at the end."""
    torch.manual_seed(0)
    x = torch.randn(2_000, 10)
    y = ((x[:, :3] ** 2).sum(1) > (x[:, 3:6] ** 2).sum(1)).float()
    first, second = torch.nn.Linear(10, 32), torch.nn.Linear(32, 1)
    model = torch.nn.Sequential(first, torch.nn.ReLU(), second)
    weights = [first.weight, second.weight]
    with torch.no_grad():
        for w in weights:
            w.mul_(0.5 / torch.linalg.matrix_norm(w, 2))
    adam = torch.optim.Adam(model.parameters(), lr=1e-2)
    # A feasible matrix is at most as long as the root of the number of its singular values.
    known = [Constants(R=min(w.shape) ** 0.5, G_g=1.001, start_slack=0.5) for w in weights]
    limits = [SafetyFilter.default(k) for k in known]
    kept = KeepFeasible(adam, limits, [[w] for w in weights])
    outside = 0
    for t in range(steps):
        batch = torch.arange(64 * t, 64 * (t + 1)) % 1_500
        score = model(x[batch]).squeeze(-1)
        adam.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(score, y[batch]).backward()
        if safe:
            kept.step(constraint=[above_one, above_one])
        else:
            adam.step()
        outside += any(float(above_one(w.detach().double())) > 0 for w in weights)
    right = (model(x[1_500:]).squeeze(-1) > 0) == (y[1_500:] > 0)
    return outside, float(right.float().mean())


if __name__ == "__main__":
    for safe in (False, True):
        outside, accuracy = train(safe)
        name = "KeepFeasible" if safe else "Adam alone"
        print(f"{name}: over the limit after {outside} of 500 steps, accuracy {accuracy:.1%}")
