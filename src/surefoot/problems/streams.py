"""Draw the random numbers of a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError


def draw_streams(
    draw: Callable[[Any, tuple[int, ...]], Any],
    rng: Any,
    horizon: int,
    trials: int | None,
    streams: Any,
    part: int = 0,
) -> Any:
    """Return the numbers of all rounds and runs, ``(T, ...)`` or ``(T, trials, ...)``.

    Without ``streams`` in one call on ``rng``. With it run k has a generator of its own,
    ``SeedSequence(streams, spawn_key=(k, part))``, asked once for all rounds in their order: so
    fewer rounds are the first of more, and fewer runs the first of more.

    Args:
        draw: takes a generator and the leading axes.
        rng: the generator of the problem itself.
        horizon: T.
        trials: the number of runs; None for one run without a run axis.
        streams: seed of the streams alone.
        part: tells apart several numbers that are drawn for one stream.
    """
    checks.check_horizon(horizon)
    runs = 1 if trials is None else checks.positive_int(trials, "trials")
    if streams is None:
        return draw(rng, (horizon,) if trials is None else (horizon, runs))
    if not isinstance(streams, (int, np.integer)) or streams < 0:
        raise InvalidValueError(f"streams must be a whole number >= 0, got {streams!r}")
    sources = (
        np.random.default_rng(np.random.SeedSequence(int(streams), spawn_key=(k, part)))
        for k in range(runs)
    )
    if trials is None:
        return draw(next(sources), (horizon,))
    first = draw(next(sources), (horizon,))
    together = np.empty((horizon, runs, *first.shape[1:]))
    together[:, 0] = first
    for k, source in enumerate(sources, start=1):
        together[:, k] = draw(source, (horizon,))
    return together
