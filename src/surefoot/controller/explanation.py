"""Why the current action may be played."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.controller.loop import LoopState, Run
from surefoot.controller.return_path import ReturnPath
from surefoot.core.display import facts_html
from surefoot.core.types import Certificate, facts_of, limit_of
from surefoot.guarantees import Breach, Guarantee, Promises, Safety, explain_nothing
from surefoot.guarantees.promise import NO_PROMISES
from surefoot.knowledge import Errors, Estimate
from surefoot.problems import plant as plants  # whose names load when they are used

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why the current action may be played, as data; its ``str`` has a line for each fact.

    Attributes:
        round: the current round; the last completed one is the round before.
        certificate: the inequality that shows the action to be feasible, from algorithms whose
            steps are certified.
        slack: -g at the last action; of separate constraints, of the largest.
        feasibility_step: whether the half-space of the constraint moved the action.
        bound: an upper bound on g at the current action, by the certificate or else by the
            guarantee; None without both, or if the data contradict their premises.
        guarantee: the theorem, or what the knowledge of a rule without one certifies; of a plant,
            what is proved of it.
        unproved: why nothing is promised, in words; empty where something is.
        promises: what is promised, in three parts.
        ahead: the bound on the regret in advance, in words; empty without one.
        in_force: which of two rules plays, and why, in words; empty for one rule.
        regret_bound: an upper bound on the regret so far: from observed sums if steps are
            certified, else by the guarantee; None without one, or if it no longer applies.
        broken: the premises that the data contradict, each with its first round. A rejected round
            counts until it is reported again.
        errors: what the certificate allows for.
        halted: why nothing moves until the controller is resumed.
        uncovered: why the regret bound in advance ended without a contradiction, in words.
        remeasurement: the round in which the anchor is measured again, announced one before.
        estimate: of a constant that was not given, and how many violations may still follow.
        limits: of a plant, what is certified of each limit, in its unit.

    A field that an algorithm does not have is None.
    """

    round: int
    certificate: Certificate | None
    slack: float | None
    feasibility_step: bool | None
    bound: float | None
    guarantee: Guarantee | Safety | plants.PlantProof | None
    regret_bound: float | None
    broken: tuple[Breach, ...]
    errors: Errors | None = None
    halted: str | None = None
    uncovered: str | None = None
    remeasurement: int | None = None
    estimate: Estimate | None = None
    promises: Promises = NO_PROMISES
    ahead: str = ""
    in_force: str = ""
    unproved: str = ""
    limits: tuple[str, ...] = ()

    @property
    def is_proven(self) -> bool:
        """Whether the current action is proved feasible, or on the average if that is the limit."""
        return self.bound is not None and self.bound <= limit_of(self.certificate)

    def __repr__(self) -> str:
        return f"<Explanation of {self._headline()}; print it for the reason>"

    def _repr_html_(self) -> str:
        return facts_html(repr(self)[1:].partition(";")[0], dict(self._facts()))

    def __str__(self) -> str:
        lines = (f"  {name:<12} {text}" for name, text in self._facts())
        return "\n".join([self._headline(), *lines])

    def _headline(self) -> str:
        line = f"round {self.round}: {'' if self.is_proven else 'not '}proved"
        losing = [b for b in self.broken if b.affects != "regret"]
        if losing and not self.is_proven:
            line += f": round {losing[0].round} contradicted {losing[0].constant}"
        if self.limits:
            return f"{line}, {'; '.join(self.limits)}"
        return line if self.bound is None else f"{line}, g is at most {self.bound:.3g}"

    def _facts(self) -> Iterator[tuple[str, str]]:
        """Yield the text of each line, with its name."""
        yield from self._step()
        if self.errors is not None:
            yield "margin", str(self.errors)
        yield from self._state_promises()
        if self.in_force:
            yield "in force", self.in_force
        if self.estimate is not None:
            yield "constant", str(self.estimate)
        if self.uncovered is not None:
            yield "uncovered", f"{self.uncovered}, which no regret bound in advance covers"
        if self.broken:
            yield "data", "; ".join(breach.sentence for breach in self.broken)
        elif self.guarantee is not None or self.certificate is not None:
            yield "data", "the data contradict nothing"
        if self.remeasurement is not None:
            yield "remeasure", f"the anchor is measured again in round {self.remeasurement}"
        if self.halted is not None:
            yield "halted", f"until resumed: {self.halted}"

    def _state_promises(self) -> Iterator[tuple[str, str]]:
        """Yield what is promised of the constraint, observed of the regret, and in advance."""
        feasibility, observed, in_advance = self.promises
        if self.guarantee is None:
            yield "feasibility", self.unproved
            return
        nothing = f"nothing is promised of the constraint: {self.guarantee.name} is on the regret"
        yield "feasibility", nothing if feasibility is None else str(self.guarantee)
        if observed is not None:
            words = "regret so far is not bounded"
            if self.regret_bound is not None:
                words = f"regret so far at most {self.regret_bound:.4g}"
            yield "observed", f"{words}: {observed.theorem}"
        if in_advance is None:
            yield "in advance", "nothing is promised of the regret"
        else:
            yield "in advance", f"{self.ahead}: {in_advance.theorem}"

    def _step(self) -> Iterator[tuple[str, str]]:
        """Yield what was measured, what that allows, and what was used of it."""
        steps = {None: "", True: ", feasibility step taken", False: ", no feasibility step needed"}
        match self.certificate:
            case None if self.round == 1:
                yield "measured", "nothing yet: this is the start"
            case None if self.slack is None:
                yield "measured", "the constraint was not reported"
            case None:
                yield "measured", f"slack {self.slack:.3g}{steps[self.feasibility_step]}"
            case certificate:
                facts = facts_of(certificate)
                yield from facts.items() if facts else [("why", str(certificate))]


def explain(run: Run, loop: LoopState) -> Explanation:
    """Return why the action at hand may be played."""
    guarantee, rounds = run.guarantee, loop.round - 1
    # A rejected round at the action at hand leaves no certificate.
    certificate = None if loop.refused else loop.certificate
    bound = loop.bound(run)
    is_way = isinstance(certificate, ReturnPath)
    knowledge = run.knowledge
    if is_way and knowledge is not None and knowledge.kind == "cumulative":
        # Only the sum counts, which assumes the certificate of each round.
        state: Any = loop.state
        is_kept = knowledge.leaves(state.memory, bound) and not loop.is_refuted
        bound = bound if is_kept else math.inf
    return Explanation(
        round=loop.round,
        certificate=certificate,
        slack=None if loop.value is None else 0.0 - float(np.max(loop.value)),
        feasibility_step=loop.cut if loop.info is None else loop.info.cut,
        bound=bound if bound < math.inf else None,
        guarantee=run.safety if guarantee is None else guarantee,
        promises=run.promises,
        ahead=_state_ahead(run, loop),
        in_force=run.describe(loop.state),
        regret_bound=_regret_bound(run, loop) if rounds else None,
        broken=(*loop.breaches, *loop.refused),
        errors=None if certificate is None or is_way else run.errors,
        halted=None if loop.halt is None else loop.halt.reason,
        uncovered=loop.uncovered,
        remeasurement=loop.remeasurement,
        estimate=run.estimate(loop.state),
        unproved="" if any(run.promises) else explain_nothing(run.algorithm),
    )


def _regret_bound(run: Run, loop: LoopState) -> float | None:
    """Return the bound on the regret so far; None without one."""
    breaches = (*loop.breaches, *loop.refused)
    if loop.regret is not None:
        # From observed sums: it assumes convexity, and no constant.
        wrong = any(b.constant == "constants" for b in breaches)
        bound = math.inf if wrong else loop.regret.bound(run.algorithm, loop.state)
        return bound if bound < math.inf else None
    if run.guarantee is None or run.promises.in_advance is None or _is_ended(run, loop):
        return None
    return float(run.guarantee.regret_bound(loop.round - 1))


def _is_ended(run: Run, loop: LoopState) -> bool:
    """Return whether the bound on the regret in advance no longer applies."""
    breaches = (*loop.breaches, *loop.refused)
    if loop.uncovered or not run.keeps_promise(loop.state):
        return True
    return any(b.affects != "feasibility" for b in breaches)


def _state_ahead(run: Run, loop: LoopState) -> str:
    """Return the bound on the regret in advance in words; empty without one."""
    guarantee = run.guarantee
    if guarantee is None or run.promises.in_advance is None:
        return ""
    if _is_ended(run, loop):
        return "no longer applies"
    T = guarantee.horizon or max(loop.round - 1, 1)
    words = f"regret at most {float(guarantee.regret_bound(T)):.4g} in {T:,} rounds"
    worth = guarantee.describe_worth(T)
    return f"{words} ({worth})" if worth else words
