"""Cooper and humancompatible-train as players: Adam on the parameters, multipliers on the limits.

A round tells them what the others are told: the gradient of the loss and value and slope of every
row. A loss and limits that are linear with these slopes have the same gradients as the true ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from surefoot.core.feedback import Feedback
from surefoot.core.types import Array, Info, Needs

__all__ = ["Multipliers"]


class _Played(NamedTuple):
    """The parameters, as they are played and as PyTorch has them, and one step on them."""

    x: Array
    parameters: torch.nn.Parameter
    move: Callable[[Any, Any], Any]


class Multipliers:
    """Adam with a Lagrangian (Cooper) or an augmented one (humancompatible-train).

    Args:
        kind: "cooper" or "alm".
        rate: of the multipliers.
        rows: how many limits there are.
    """

    needs = Needs(separately=True)

    def __init__(self, kind: str, rate: float, rows: int) -> None:
        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float32)  # of the multipliers, which take the default
        self._kind, self._rate, self._rows = kind, rate, rows

    def init(self, x1: Array) -> _Played:
        """Begin at x1, with parameters and multipliers of this run's own."""
        x = torch.nn.Parameter(torch.tensor(x1, dtype=torch.float32))
        adam = torch.optim.Adam([x], lr=0.05)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _Played(x1, x, self._cooper(adam) if self._kind == "cooper" else self._alm(adam))

    def step(self, state: _Played, feedback: Feedback) -> tuple[_Played, Info]:
        """Take one step on the parameters and on the multipliers."""
        x = state.parameters
        way = x - x.detach()
        grad, g, s = (torch.tensor(np.asarray(part), dtype=torch.float32) for part in feedback[:3])
        state.move(grad @ way, g + s @ way)
        return state._replace(x=x.detach().numpy().astype(np.float64)), Info()

    def _cooper(self, adam: torch.optim.Adam) -> Callable[[Any, Any], Any]:
        import cooper

        class Limited(cooper.ConstrainedMinimizationProblem):  # type: ignore[misc]
            def __init__(self, rows: int) -> None:
                super().__init__()
                self.rows = cooper.Constraint(
                    multiplier=cooper.multipliers.DenseMultiplier(num_constraints=rows),
                    constraint_type=cooper.ConstraintType.INEQUALITY,
                )

            def compute_cmp_state(self, loss: Any, limits: Any) -> Any:
                seen = cooper.ConstraintState(violation=limits)
                return cooper.CMPState(loss=loss, observed_constraints={self.rows: seen})

        problem = Limited(self._rows)
        duals = torch.optim.SGD(problem.dual_parameters(), lr=self._rate, maximize=True)
        both = cooper.optim.SimultaneousOptimizer(
            cmp=problem, primal_optimizers=adam, dual_optimizers=duals
        )
        return lambda loss, limits: both.roll(
            compute_cmp_state_kwargs={"loss": loss, "limits": limits}
        )

    def _alm(self, adam: torch.optim.Adam) -> Callable[[Any, Any], Any]:
        from humancompatible.train.dual_optim import ALM

        duals = ALM(m=self._rows, lr=self._rate, penalty=1.0, is_ineq=True)

        def step(loss: Any, limits: Any) -> None:
            total = duals.forward_update(loss, limits)
            adam.zero_grad()
            total.backward()
            adam.step()

        return step
