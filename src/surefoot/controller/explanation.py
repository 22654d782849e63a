"""Why the current action may be played."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from surefoot.algorithms import Breach, Guarantee
from surefoot.controller._ways import WayBack
from surefoot.core.display import facts_html
from surefoot.core.types import Certificate
from surefoot.regions import Errors

__all__ = ["Explanation", "Standing", "explained"]

Standing: TypeAlias = Literal["proved", "not proved"]
"""Whether the current action is proved to be feasible."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why the current action may be played, as data; its ``str`` is one line.

    Attributes:
        round: the current round; the last completed one is the round before.
        certificate: the inequality that shows the action to be feasible, from algorithms whose
            steps are certified.
        slack: -g at the last action; of the largest of separate constraints.
        feasibility_step: whether the half-space of the constraint moved the action.
        bound: an upper bound on g at the current action, by the certificate or else by the
            guarantee; None where neither says so, or the data contradict what they rest on.
        guarantee: what the theorem promises.
        regret_bound: no regret of the rounds told is larger: from what was observed where steps
            are certified, else the guarantee's; None where there is none or it no longer applies.
        broken: the premises that the data contradict, each with its first round; also by a round
            that was refused for it, until another is told in its place.
        errors: what the certificate allows for.
        halted: why nothing moves until the controller is resumed.

    What an algorithm does not have is None.
    """

    round: int
    certificate: Certificate | None
    slack: float | None
    feasibility_step: bool | None
    bound: float | None
    guarantee: Guarantee | None
    regret_bound: float | None
    broken: tuple[Breach, ...]
    errors: Errors | None = None
    halted: str | None = None

    @property
    def standing(self) -> Standing:
        """Whether the current action is proved to be feasible."""
        return "not proved" if self.bound is None or self.bound > 0 else "proved"

    @property
    def is_proven(self) -> bool:
        """Whether the current action is proved to be feasible."""
        return self.standing == "proved"

    def __repr__(self) -> str:
        bound = "" if self.bound is None else f", g at most {self.bound:.3g}"
        return (
            f"<Explanation of round {self.round}: {self.standing}{bound}; print it for the reason>"
        )

    def _repr_html_(self) -> str:
        return facts_html(repr(self)[1:].partition(";")[0], {"why": str(self)})

    def __str__(self) -> str:
        parts = [self._step()]
        if self.certificate is None and self.bound is not None:
            parts.append(f"the next g is at most {self.bound:.3g}")
        if self.errors is not None:
            parts.append(f"this {self.errors}")
        if self.guarantee is not None:
            parts.append(str(self.guarantee))
        if self.regret_bound is not None:
            parts.append(f"regret so far at most {self.regret_bound:.4g}")
        if self.broken:
            parts += [b.sentence for b in self.broken]
        elif self.guarantee is not None or self.certificate is not None:
            parts.append("the data contradict nothing")
        else:
            parts.append("no guarantee was given")
        if self.halted is not None:
            parts.append(f"halted until resumed: {self.halted}")
        return "; ".join(parts)

    def _step(self) -> str:
        told = self.round - 1
        if self.certificate is not None:
            return str(self.certificate)
        if not told:
            return "round 1: the start"
        if self.slack is None:
            return f"round {told}: the constraint was not told"
        taken = {
            None: "",
            True: ", feasibility step taken",
            False: ", no feasibility step needed",
        }[self.feasibility_step]
        return f"round {told}: slack {self.slack:.3g}{taken}"


def explained(live: Any) -> Explanation:
    """Return why the current action of a controller may be played."""
    value, told = live._value, live._round - 1
    # What was known of the action at hand does not stand where a round at it was refused.
    certificate = None if live._refused else live._certificate_now()
    guarantee = live._run.guarantee
    broken: tuple[Breach, ...] = (*live._broken, *live._refused)
    regular = not any(b.loses != "feasibility" for b in broken)
    bound = regret = None
    way = isinstance(certificate, WayBack)
    if certificate is not None and (live._is_safe or way):
        bound = certificate.bound
    elif live._is_safe and not live._refused and guarantee is not None:
        bound = float(guarantee.bounds(live._round).get("round", math.inf))
    if bound is not None and not bound < math.inf:
        bound = None
    if live._regret is not None and told:
        # Made of what was observed: it rests on convexity, and on no constant.
        if not any(b.constant == "constants" for b in broken):
            regret = live._regret.bound(live._run.algorithm, live._state)
    elif regular and guarantee is not None and told:
        limit = float(guarantee.regret_bound(told))
        regret = limit if limit < math.inf else None
    return Explanation(
        round=live._round,
        certificate=certificate,
        slack=None if value is None else 0.0 - float(np.max(value)),
        feasibility_step=live._cut if live._info is None else live._info.cut,
        bound=bound,
        guarantee=guarantee,
        regret_bound=regret,
        broken=broken,
        errors=None if certificate is None or way else live._errors,
        halted=None if live._halt is None else live._halt.reason,
    )
