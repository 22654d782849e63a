"""Comparisons from Python: players of any kind on one problem, kept like an experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.games import Engine
from surefoot.problems import Problem

if TYPE_CHECKING:
    from surefoot.experiments import Event
    from surefoot.experiments.comparison.result import Comparison

__all__ = ["Comparison", "compare"]


def compare(
    players: Sequence[Any] | Mapping[str, Any],
    problem: Problem | Callable[..., Problem],
    *,
    horizon: int | Sequence[int] | None = None,
    trials: int | None = None,
    folder: str | Path | None = None,
    seed: int = 0,
    engine: Engine = "auto",
    every: int | None = None,
    force: bool = False,
    progress: Callable[[Event], None] | None = None,
) -> Comparison:
    """Play several players, of any kinds, on the same streams, and keep the results in a folder.

    Needs the extra ``cli``. The results file is that of ``surefoot run``: called again after an
    interruption, only what is missing is played; ``surefoot report FOLDER`` makes the page. A
    change of a player, of the problem or of their code is noticed, and they are played anew.

    Args:
        players: algorithms, with or without guarantee; constructors, such as ``PFS.anytime``,
            which get constants, horizon and set from the problem; or pairs of a class and the name
            of its constructor. As a mapping, by the labels of tables and figures.
        problem: what is played, its runs are the trials; or a function of ``horizon``, ``trials``
            and ``streams``, the seed of its random numbers, that makes it.
        horizon: number of rounds, or several; all rounds of a problem's costs unless given.
        trials: how many; all runs of a problem, 30 of a function unless given.
        folder: for the results; a temporary one unless given.
        seed: root of the random numbers.
        engine: as for :func:`surefoot.play`.
        every: keep every so many rounds of the paths; so that about 200 are kept unless given.
        force: play again what is there.
        progress: called after each cell.

    Example:
        >>> from surefoot import OGD, LeaderFollower, problems
        >>> toy = problems.binding_toy(horizon=200, trials=3)
        >>> found = compare([LeaderFollower.default, (OGD, "fixed")], toy)
        >>> found
        <Comparison of 2 players on 'binding toy': 3 trials of 200 rounds, 2 cells; print its table>
        >>> [row.outside for row in found.rows]
        [0.0, 0.0]
    """
    # Imported here: the extra `cli` is needed to compare, not to import the library.
    from surefoot.experiments.comparison.playing import compare_players

    return compare_players(
        players, problem, horizon, trials, folder, seed, engine, every, force, progress
    )


def __getattr__(name: str) -> Any:
    if name == "Comparison":
        from surefoot.experiments.comparison.result import Comparison

        return Comparison
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
