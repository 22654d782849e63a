"""Why the current action may be played."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot._display import facts_html
from surefoot.theory import Breach, Guarantee
from surefoot.types import Certificate

__all__ = ["Explanation"]


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
        broken: the premises that the data contradict, each with its first round.

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

    @property
    def is_proven(self) -> bool:
        """Whether the current action is proved to be feasible."""
        return self.bound is not None and self.bound <= 0

    def __repr__(self) -> str:
        proved = "proved" if self.is_proven else "not proved"
        bound = "" if self.bound is None else f", g at most {self.bound:.3g}"
        return f"<Explanation of round {self.round}: {proved}{bound}; print it for the reason>"

    def _repr_html_(self) -> str:
        return facts_html(repr(self)[1:].partition(";")[0], {"why": str(self)})

    def __str__(self) -> str:
        parts = [self._step()]
        if self.certificate is None and self.bound is not None:
            parts.append(f"the next g is at most {self.bound:.3g}")
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
