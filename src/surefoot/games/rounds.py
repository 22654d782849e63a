"""Play the rounds of a block, one by one: what the loop and the batch share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from surefoot.core.arrays import norm, to_numpy
from surefoot.core.types import Number
from surefoot.games.oracle import Oracle
from surefoot.games.record import Block

__all__ = ["play_rounds"]


def play_rounds(
    algorithm: Any,
    oracle: Oracle,
    state: Any,
    block: Block,
    kept: list[int],
    column: Callable[[Number], Any],
) -> Any:
    """Play a block's rounds, fill in its columns, and return the state after them.

    Args:
        algorithm: of one run, or of all runs of the block.
        oracle: what answers it.
        state: before the block.
        block: the columns of these runs.
        kept: the rounds whose actions are kept, in order.
        column: from a number of a round, as the backend has it, to one entry per run.
    """
    start, cost, values, actions, gradients, subgradients, row_sums = block
    wanted = 0
    for k in range(len(cost)):
        x = state.x
        seen = oracle.ask(k, x)
        cost[k], values[k] = column(seen.cost), column(seen.worst)
        if actions is not None and wanted < len(kept) and kept[wanted] == k:
            actions[wanted] = to_numpy(x)
            wanted += 1
        if gradients is not None and subgradients is not None:
            gradients[k] = column(norm(seen.gradient))
            subgradients[k] = column(seen.steepest)
        if row_sums is not None:
            row_sums += to_numpy(seen.rows)
        try:
            state, _ = algorithm.step(state, seen.feedback)
        except ValueError as error:
            error.args = (f"round {start + k + 1}: {error}",)
            raise
    return state
