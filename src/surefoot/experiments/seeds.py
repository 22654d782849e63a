"""The seed tree: a run's random numbers depend only on its problem and its number.

From the root, the ``seed`` of a specification:

- a block of trials of a problem has ``SeedSequence(root, spawn_key=(*words, block))``, where the
  words are the SHA-256 of the problem's name and arguments as canonical JSON. Nothing else enters:
  not the algorithm, so that all play the same streams; not the horizon, so that a shorter game is
  the beginning of a longer one; not labels, order, workers or other rows;
- trial k of the block has ``SeedSequence(that, spawn_key=(k, part))``, with a part for each kind
  of number its stream consists of (:mod:`surefoot.problems`).

The geometry of a problem, such as the rows of a random polytope, comes from its own argument
``seed``: another root plays other costs on the same set.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

__all__ = ["canonical", "stream_seed"]


def canonical(data: Any) -> str:
    """Return plain data as the one JSON text that stands for it; refuse NaN and infinities.

    Example:
        >>> canonical({"b": 1.0, "a": [True, None]})
        '{"a":[true,null],"b":1.0}'
    """
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def stream_seed(root: int, problem: dict[str, Any], block: int) -> int:
    """Return the seed of a block of trials.

    Args:
        root: the specification's.
        problem: name and arguments, plain data.
        block: from 0.

    Example:
        >>> toy = {"name": "paper_toy", "arguments": {"published": None}}
        >>> stream_seed(0, toy, 0) == stream_seed(0, dict(reversed(toy.items())), 0)
        True
        >>> stream_seed(0, toy, 0) == stream_seed(0, toy, 1)
        False
    """
    # Not the source of a plugin: what another rule in it becomes does not change the streams.
    named = {key: problem[key] for key in ("name", "arguments")}
    digest = hashlib.sha256(canonical(named).encode()).digest()
    words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 32, 4)]
    state = np.random.SeedSequence(root, spawn_key=(*words, block)).generate_state(4, np.uint32)
    return int.from_bytes(state.astype("<u4").tobytes(), "little")
