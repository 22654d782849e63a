"""The part of a controller that is not every round's: policies, orders, what the journal keeps."""

from __future__ import annotations

import math
import threading
from typing import Any, NoReturn

import numpy as np

from surefoot.algorithms import Breach, PremiseError, PremiseWarning
from surefoot.controller._causes import Cause, causes_of, evidence_of
from surefoot.controller._deciding import (
    Decision,
    Scene,
    after_contradiction,
    anchor_after,
    bound_of,
    deviation,
    on_the_way,
    outside,
    shifted,
    upper_bound,
)
from surefoot.controller._journal import Journal
from surefoot.controller._records import Memory, More, Round, Run
from surefoot.controller._told import call, check_announced, clean, one_of_both, played_instead
from surefoot.controller._watch import Watch
from surefoot.controller._ways import Halt, WayBack
from surefoot.core import checks
from surefoot.core.algorithm import errors_of, locate, rest
from surefoot.core.errors import InvalidValueError, warn_caller
from surefoot.core.files import Closing
from surefoot.core.types import (
    Array,
    Certificate,
    Feedback,
    Info,
    Region,
    RegretObserver,
    needs_of,
)
from surefoot.regions import Anchor, Errors

__all__ = ["LiveLoop"]

_NOTHING = Feedback(None, None, None)
# Rounds that the regret bound does not cover, by an order or a policy: nobody is warned.
_SILENT = ("missing", "halted")


class LiveLoop(Closing):
    """The state of a controller and everything that changes it but the usual round."""

    __slots__ = (
        "__weakref__",
        "_anchor",
        "_asked",
        "_broken",
        "_certificate",
        "_cut",
        "_errors",
        "_filters",
        "_first_name",
        "_halt",
        "_info",
        "_journal",
        "_needs",
        "_refused",
        "_regret",
        "_round",
        "_rows",
        "_run",
        "_state",
        "_telling",
        "_value",
        "_watch",
    )

    # --- setting up ------------------------------------------------------------------------------

    def _set_up(
        self, run: Run, memory: Memory, last: Round | None, journal: Journal | None
    ) -> None:
        self._asked = 0  # the last round that was asked for
        self._telling = threading.RLock()
        self._journal = journal
        self._round = 1 if last is None else last.number + 1
        # Of the last round told. Its arrays are not kept: the next round has theirs sooner then.
        self._value: Any = None if last is None else last.seen.constraint_value
        self._certificate: Certificate | None = None if last is None else last.certificate
        self._load(run, memory)

    def _load(self, run: Run, memory: Memory) -> None:
        """Have a player and what it needs for the next round."""
        algorithm = run.algorithm
        self._run = run
        self._needs = needs_of(algorithm)
        self._filters = bool(self._needs.proposals)
        self._first_name = "proposal" if self._filters else "cost_gradient"
        self._rows: int | None = rows_of(algorithm)
        self._errors = errors_of(algorithm) or Errors()
        self._info: Info | None = None
        self._remember(memory)

    def _remember(self, memory: Memory) -> None:
        """Have what the next round needs."""
        self._refused: tuple[Breach, ...] = ()  # by which the current round was refused
        self._state = memory.state
        self._regret: RegretObserver | None = memory.regret
        self._cut = memory.cut  # of the last round told, where it was read from a journal
        self._anchor: Anchor | None = memory.anchor
        self._halt: Halt | None = memory.halt
        if memory.way is not None:
            self._certificate = memory.way
        self._broken = memory.broken
        self._watch = Watch.of(self._run.guarantee, memory.broken)

    def _memory(self) -> Memory:
        cut = self._cut if self._info is None else self._info.cut
        way = self._certificate if isinstance(self._certificate, WayBack) else None
        rest = (cut, self._anchor, self._halt, way)
        return Memory(self._state, self._broken, self._regret, *rest)

    def _certificate_now(self) -> Certificate | None:
        """Return the certificate of the current action, which is made when it is asked for."""
        if self._certificate is None and self._info is not None:
            self._certificate = self._info.certificate
        return self._certificate

    @property
    def _is_safe(self) -> bool:
        """Whether no premise of feasibility is contradicted."""
        return all(b.loses == "regret" for b in self._broken)

    def _scene(self, state: Any = None) -> Scene:
        bound = bound_of(self._certificate_now(), self._watch, self._round, is_safe=self._is_safe)
        state = self._state if state is None else state
        return Scene(self._round, self._run, state, self._errors, self._anchor, self._halt, bound)

    def _scene_unmeasured(self) -> Scene:
        """Return the same without a measurement; nothing is known where one was refused."""
        scene = self._scene()
        return scene._replace(bound=math.inf) if self._refused else scene

    # --- rounds that are not usual ---------------------------------------------------------------

    def _refuse_telling(self) -> NoReturn:
        if self._round == 1:
            raise InvalidValueError("tell must come after ask, got tell before the first ask")
        raise InvalidValueError(
            f"tell must come once after each ask, got a second tell for round {self._round - 1}: "
            f"ask for the action of round {self._round} first"
        )

    def _tell_nothing(self, missing: Any, others: tuple[Any, ...]) -> None:
        """End a round without a measurement."""
        if missing is not True:
            raise InvalidValueError(f"missing must be True or False, got {missing!r}")
        if any(other is not None for other in others):
            raise InvalidValueError("missing must be told alone, got a measurement beside it")
        policy = self._run.on_missing
        if policy == "raise" and self._halt is None:
            raise PremiseError(
                f"round {self._round}: nothing was measured, and on_missing is 'raise'"
            )
        t, asked = self._round, self._state.x
        decision = on_the_way(self._scene_unmeasured(), None, policy)
        lost = self._silent("missing", "nothing was measured")
        self._finish(t, asked, _NOTHING, decision, [lost], None, {"policy": policy})

    def _silent(self, name: str, words: str) -> Breach:
        """Return the record of a round that only the regret bound does not cover."""
        return Breach(self._round, name, f"round {self._round}: {words}", "regret")

    def _understood(
        self,
        gradient: Any,
        g: Any,
        s: Any,
        cost_value: Any,
        cost: Any,
        constraint: Any,
        proposal: Any,
        action: Any,
        value_error: Any,
        within: Region | None,
    ) -> tuple[Any, Feedback, np.ndarray | None]:
        """Return what was told in any form.

        Returns:
            The state at the action that was played, the feedback, and that action unless it is the
            one asked for.
        """
        algorithm, before = self._run.algorithm, self._state
        check_announced(algorithm, within)
        if value_error is not None and errors_of(algorithm) is None:
            raise InvalidValueError(
                "value_error must come with a rule that allows for one, got "
                f"{type(algorithm).__name__}"
            )
        played = played_instead(before.x, action)
        if played is not None:
            if errors_of(algorithm) is None:
                rest(algorithm, before, played)  # which says that it cannot
            before = before._replace(x=played)
        x = before.x
        if cost is not None:
            cost_value, gradient = call(cost, x, "cost", gradient, cost_value)
        if constraint is not None:
            g, s = call(constraint, x, "constraint", g, s)
        if self._filters or proposal is not None:
            gradient = one_of_both(gradient, proposal, filters=self._filters)
        seen = clean(x, self._needs, self._rows, gradient, g, s, cost_value, value_error)
        return before, seen, played

    def _step(
        self, seen: Feedback, played: np.ndarray | None = None, within: Region | None = None
    ) -> tuple[Any, Info | None]:
        """Take a step of the rule; an action that is not finite is refused."""
        told = seen._replace(action=played, within=within)
        if self._filters:
            told = told._replace(cost_gradient=None, proposal=seen.cost_gradient)
        after, info = self._run.algorithm.step(self._state, told)
        checks.refuse_unfinite(after.x, "the next action")
        return after, info

    def _tell_specially(
        self, t: int, before: Any, seen: Feedback, played: np.ndarray | None
    ) -> bool:
        """End a round that the rule takes no step after; return whether it was one."""
        asked = self._state.x
        if self._halt is not None:
            scene, read = self._scene(before), self._locate(seen, played)
            found = [self._silent("halted", "halted"), *shifted(scene, read)]
            scene = scene._replace(anchor=anchor_after(scene, read))
            decision = on_the_way(scene, read)
            self._finish(t, asked, seen, decision, found, played, {"policy": "halted"})
            return True
        if played is None:
            return False
        upper = self._upper(seen, played)
        if upper is None or upper <= 0:
            return False
        own = self._deviation(played, upper)
        decision = outside(self._scene(before), upper, own.sentence.partition(": ")[2])
        self._finish(t, asked, seen, decision, [own], played, {"policy": "outside"})
        return True

    def _locate(self, seen: Feedback, played: np.ndarray | None) -> Feedback:
        """Return what was measured, with the action that it belongs to and its age."""
        state = self._state if played is None else self._state._replace(x=played)
        return locate(self._run.algorithm, state, seen)

    def _upper(self, seen: Feedback, played: np.ndarray) -> float | None:
        """Return the largest that g can have been at the action played; None if not measured."""
        read = self._locate(seen, played)
        if seen.constraint_value is None or not (read.action == played).all():
            return None
        return upper_bound(self._errors, seen)

    def _deviation(self, played: np.ndarray, upper: float | None) -> Breach:
        scene, certificate = self._scene(), self._certificate_now()
        return deviation(scene, self._state.x, played, upper, self._info, certificate)

    def _end(
        self,
        t: int,
        before: Any,
        after: Any,
        info: Info | None,
        seen: Feedback,
        broken: list[Breach],
        played: np.ndarray | None,
        within: Region | None,
    ) -> None:
        """End a round that contradicts something, is the first, was moved, or is journalled."""
        asked = self._state.x
        why: dict[str, Any] = {} if within is None else {"within": within}
        decision = Decision(after, None, "told")
        if played is not None:
            broken = [*broken, self._deviation(played, self._upper(seen, played))]
        serious = [b for b in broken if b.loses != "regret"]
        if serious:
            scene, read = self._scene(before), self._locate(seen, played)
            here = bool((read.action == before.x).all())
            bound = scene.bound if here else math.inf
            evidence = evidence_of(read.action, seen, bound, self._anchor, info)
            # The first round is its own anchor.
            scene = scene._replace(anchor=anchor_after(scene, read))
            slack = 0.0 if scene.anchor is None else -scene.anchor.value
            knowledge = getattr(self._run.algorithm, "knowledge", None)
            policy, sentence = self._run.on_contradiction, serious[0].sentence
            causes = causes_of(knowledge, evidence, slack, sentence)
            if policy == "raise":
                self._refused = tuple(serious)
                raise PremiseError(_with_causes(sentence, causes), tuple(map(str, causes)))
            why["causes"] = [str(cause) for cause in causes]
            if policy in ("hold", "retreat") and seen.constraint_value is not None:
                decision = after_contradiction(scene, sentence, read)
                why["policy"] = policy
        self._finish(t, asked, seen, decision, broken, played, why, info)

    def _finish(
        self,
        t: int,
        asked: Array,
        seen: Feedback,
        decision: Decision,
        broken: list[Breach],
        played: np.ndarray | None,
        why: dict[str, Any],
        info: Info | None = None,
    ) -> None:
        """Write a round that has been decided, and take it."""
        usual = decision.how == "told"
        known = {b.constant for b in self._broken}
        new = tuple(b for b in broken if b.constant not in known)
        loud = [b for b in new if b.constant not in _SILENT]
        if loud:
            why["contradictions"] = [b.sentence for b in loud]
        # An action that was certified too is written down, and no more.
        if any(b.limit is not None or b.constant != "action" for b in loud):
            self._warn(why["contradictions"])
        regret, certificate = None, decision.certificate
        cut: bool | None = False
        if usual and played is None and self._regret is not None:
            regret = self._regret.after(info)
        if usual and info is not None:
            cut = info.cut
            if self._journal is not None:  # else it is made when it is asked for
                certificate = info.certificate
        elif usual:
            cut = None
        anchor = anchor_after(self._scene(), self._locate(seen, played))
        way = certificate if isinstance(certificate, WayBack) else None
        broken_now = (*self._broken, *new)
        memory = Memory(decision.state, broken_now, regret, cut, anchor, decision.halt, way)

        def take() -> None:
            self._take(t, info if usual else None, seen, memory, certificate)

        if self._journal is None:
            take()
            return
        why |= dict(decision.why)
        more = More(decision.how, played, {k: v for k, v in why.items() if v})
        before = None if self._run.rotate is None else self._memory()
        self._journal.append(t, asked, seen, certificate, memory, take, more, before)

    def _take(
        self,
        t: int,
        info: Info | None,
        seen: Feedback,
        memory: Memory,
        certificate: Any,
    ) -> None:
        """Load a round that has been written; repeating this changes nothing."""
        self._remember(memory)
        self._info, self._value, self._certificate = info, seen.constraint_value, certificate
        self._round = t + 1

    def _warn(self, sentences: list[str]) -> None:
        if self._run.on_contradiction != "record":
            warn_caller("; ".join(sentences), PremiseWarning)


def _with_causes(sentence: str, causes: tuple[Cause, ...]) -> str:
    listed = ", ".join(f"({i}) {cause}" for i, cause in enumerate(causes, start=1))
    return f"{sentence}; the likely causes, the likeliest first: {listed}"


def rows_of(algorithm: Any) -> int | None:
    """Return the number of constraints that are seen apart, if the player fixes it."""
    knowledge = getattr(algorithm, "knowledge", None)
    rows: int | None = getattr(algorithm, "rows", None)
    return rows if knowledge is None else int(knowledge.row_count)
