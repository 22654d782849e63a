"""States from a file: each is compared with the first state of its run."""

from typing import Any

import numpy as np

from surefoot.controller.loop import Run
from surefoot.core.feedback import Feedback
from surefoot.core.restore import check_form, lengths_of
from surefoot.knowledge.anchor import ANCHORS, Anchor
from surefoot.knowledge.base import find_knowledge

__all__ = ["check_loop"]


def check_loop(run: Run, loop: Any) -> None:
    """Raise unless a decoded value has the form of a state of a run.

    Args:
        run: what is played.
        loop: the decoded value.

    Raises:
        InvalidValueError: for a part of another class, shape, type of numbers or range; the
            sentence has its name, the rule and the value.
    """
    d = len(run.start)
    zeros = np.zeros(d)
    feedback = Feedback(zeros, 0.0, zeros, 0.0, 0.0, 0.0, zeros, 0, zeros, None, zeros, zeros)
    examples: dict[type, object] = {Feedback: feedback}
    examples |= dict.fromkeys(ANCHORS, Anchor(zeros, 0.0, 0))
    lengths = lengths_of(run.algorithm, d)
    if not run.needs.separately or run.rows is not None:
        lengths["row"] = run.rows or 0 if run.needs.separately else 0
    knowledge = find_knowledge(run.algorithm)
    if knowledge is None or not knowledge.in_contexts:
        lengths["place"] = 0
    fresh = run.begin()._replace(value=0.0)
    check_form(loop, fresh, "loop", run.name, examples=examples, lengths=lengths)
