"""An algorithm in a live loop: ask for an action, play it, tell what was observed."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any, NoReturn, get_args

import numpy as np

from surefoot import _check
from surefoot._array import record, rough_square
from surefoot._closing import Closing
from surefoot.controller._journal import Journal, Memory, Round, Run
from surefoot.controller._stepping import step_of
from surefoot.controller._told import call, clean, measure
from surefoot.controller._watch import HUGE, Watch
from surefoot.controller.explanation import Explanation
from surefoot.errors import InvalidValueError, warn_caller
from surefoot.theory import Breach, Guarantee, Policy, PremiseError, PremiseWarning, unpack
from surefoot.types import (
    Array,
    Certificate,
    Feedback,
    Info,
    Observing,
    RegretObserver,
    needs_of,
)

__all__ = ["Controller"]

_INF = math.inf
_FLOAT64 = np.dtype(np.float64)
# Bound once, as in _array: they are looked up in every round.
ndarray = np.ndarray


class Controller(Closing):
    """An algorithm in a live loop: :meth:`ask`, play the action, :meth:`tell` what was observed.

    Every input is checked: a call that raises has changed nothing, and the next correct call
    works. One run, NumPy, float64.

    Args:
        player: an algorithm, or one with its guarantee (``Tuned``).
        start: the first action.
        journal: path of a new file; every action, feedback and certificate is written to it before
            :meth:`ask` returns the next action, and :meth:`open` continues from it.
        on_contradiction: what to do when a round contradicts the guarantee or the constants of the
            algorithm. "raise" rejects the round if feasibility rests on it, and warns if only the
            regret bound does; "warn" accepts the round and warns; "record" accepts it. In every
            case :meth:`explain` reports the contradiction of an accepted round.

    Example:
        >>> from surefoot import Ball
        >>> from surefoot.algorithms import CertifiedPFS
        >>> player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
        >>> controller = Controller(player, start=[0.0, 0.0])
        >>> controller.ask()
        array([0., 0.])
        >>> controller.tell(  # the constraint is x[1] <= 0.5
        ...     cost_gradient=[-1.0, -3.0],
        ...     constraint_value=-0.5,
        ...     constraint_subgradient=[0.0, 1.0],
        ... )
        >>> controller.ask().round(6)
        array([0.158114, 0.25    ])
        >>> print(controller.explain().certificate)
        round 1: slack 0.5 and g rises by at most G_g = 1: certified length 0.5, step 0.5 of 1.41
        wanted, then cut by the half-space; the next g is at most 0
    """

    __slots__ = (
        "__weakref__",
        "_algorithm",
        "_asked",
        "_broken",
        "_certificate",
        "_cut",
        "_guarantee",
        "_info",
        "_journal",
        "_limits",
        "_needs",
        "_on_contradiction",
        "_regret",
        "_round",
        "_rows",
        "_seen",
        "_shape",
        "_state",
        "_step",
        "_watch",
    )

    def __init__(
        self,
        player: Any,
        start: Array,
        *,
        journal: str | os.PathLike[str] | None = None,
        on_contradiction: Policy = "raise",
    ) -> None:
        algorithm, guarantee = unpack(player)
        step_of(algorithm)  # which may refuse it, before there is a file
        _check.one_of(get_args(Policy), on_contradiction=on_contradiction)
        x1 = _check.vector(start, "start")
        regret = algorithm.observer() if isinstance(algorithm, Observing) else None
        memory = Memory(algorithm.init(x1), (), regret)
        run = Run(algorithm, guarantee, on_contradiction, x1)
        written = None if journal is None else Journal.create(journal, run, memory)
        self._set_up(run, memory, None, written)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        on_contradiction: Policy | None = None,
        **given: Any,
    ) -> Controller:
        """Continue from a journal, bit for bit as if nothing had happened.

        The current action may have been played already: the outcome of an action is known only
        after :meth:`tell`.

        Args:
            path: of the journal.
            on_contradiction: another policy than before.
            given: what could not be stored, by the name of the algorithm's field (functions,
                sets of your own), or ``algorithm`` itself where its class is not the library's.

        Raises:
            StoreError: if the file is not a journal, damaged, newer than this version or in use.
        """
        if on_contradiction is not None:
            _check.one_of(get_args(Policy), on_contradiction=on_contradiction)
        journal, memory, last = Journal.open(path, given)
        self = cls.__new__(cls)
        run = journal.run
        if on_contradiction is not None:
            run = run._replace(on_contradiction=on_contradiction)
        self._set_up(run, memory, last, journal)
        return self

    def _set_up(
        self, run: Run, memory: Memory, last: Round | None, journal: Journal | None
    ) -> None:
        algorithm = run.algorithm
        self._algorithm, self._guarantee = algorithm, run.guarantee
        self._needs = needs_of(algorithm)
        # What most algorithms are told has this shape, and a short way; the others' has none.
        whole = self._needs.constraint_values and self._needs.constraint_subgradients
        self._shape = run.start.shape if whole and not self._needs.apart else None
        self._step = step_of(algorithm)
        self._rows: int | None = getattr(algorithm, "rows", None)
        self._on_contradiction: Policy = run.on_contradiction  # type: ignore[assignment]
        self._state, broken = memory.state, memory.broken
        self._regret: RegretObserver | None = memory.regret
        self._watch_on(broken)
        self._round = 1 if last is None else last.number + 1
        self._asked = 0  # the last round that was asked for
        self._info: Info | None = None
        self._cut = memory.cut  # of the last round told, where it was read from a journal
        self._seen: Feedback | None = None if last is None else last.seen
        self._certificate: Certificate | None = None if last is None else last.certificate
        self._journal = journal

    def _watch_on(self, broken: tuple[Breach, ...]) -> None:
        self._watch = Watch.of(self._guarantee, broken)
        self._limits = self._watch.limits if self._watch.still else None
        self._broken = broken

    # --- what a user asks ------------------------------------------------------------------------

    @property
    def algorithm(self) -> Any:
        """The algorithm that chooses the actions."""
        return self._algorithm

    @property
    def guarantee(self) -> Guarantee | None:
        """The guarantee that the algorithm was tuned for, if any."""
        guarantee: Guarantee | None = self._guarantee
        return guarantee

    @property
    def round(self) -> int:
        """The current round; the first is 1."""
        return self._round

    @property
    def state(self) -> Any:
        """The state of the algorithm."""
        return self._state

    @property
    def on_contradiction(self) -> Policy:
        """What to do when the data contradict a premise; may be set between rounds."""
        return self._on_contradiction

    @on_contradiction.setter
    def on_contradiction(self, policy: Policy) -> None:
        """Set the policy from the next round on."""
        _check.one_of(get_args(Policy), on_contradiction=policy)
        self._on_contradiction = policy

    def ask(self) -> Array:
        """Return the action to play in this round, as a read-only copy; the same until ``tell``."""
        if self._journal is not None:
            self._journal.settle()  # after a call that was interrupted twice
        x = self._state.x.copy()
        x.setflags(write=False)
        self._asked = self._round
        return x

    def tell(
        self,
        *,
        cost_gradient: Array = None,
        constraint_value: Any = None,
        constraint_subgradient: Array = None,
        cost_value: float | None = None,
        cost: Callable[[Array], tuple[float, Array]] | None = None,
        constraint: Callable[[Array], tuple[Any, Array]] | None = None,
    ) -> None:
        """Report what was observed at the current action, and advance to the next.

        An algorithm with m separate constraints takes m values and m rows of subgradients; an
        algorithm that does not use the constraint needs neither.

        Args:
            cost_gradient: a (sub)gradient of the round's cost.
            constraint_value: g; at most 0 is feasible.
            constraint_subgradient: one subgradient of g.
            cost_value: the cost, if the journal should store it.
            cost: a function from the action to the cost and its gradient, instead of both.
            constraint: likewise for g and a subgradient, such as ``query`` of a constraint.

        Raises:
            InvalidValueError: for invalid input; nothing has changed then.
            PremiseError: for a contradiction of the guarantee, if the policy is "raise".
            StoreError: if the journal cannot be written; nothing has changed then.
        """
        if self._asked != self._round:
            self._refuse_telling()
        before, t = self._state, self._round
        if cost is not None:
            cost_value, cost_gradient = call(cost, before.x, "cost", cost_gradient, cost_value)
        if constraint is not None:
            constraint_value, constraint_subgradient = call(
                constraint, before.x, "constraint", constraint_value, constraint_subgradient
            )
        if (
            type(cost_gradient) is ndarray
            and type(constraint_value) is float
            and type(constraint_subgradient) is ndarray
            and cost_gradient.shape == self._shape == constraint_subgradient.shape
            and cost_gradient.dtype is _FLOAT64 is constraint_subgradient.dtype
            and cost_value is None
        ):
            # Copies, because a caller may use its arrays again.
            gradient, g, s = cost_gradient.copy(), constraint_value, constraint_subgradient.copy()
            seen = record(Feedback, (gradient, g, s, None, None))
            # Comparisons that a NaN fails. Where all hold there is nothing to look at closely.
            fine: Any
            if (limits := self._limits) is None:
                fine = -_INF < g <= 0.0 and rough_square(gradient) < HUGE and rough_square(s) < HUGE
            else:
                most, steepest, near, steep, last = limits
                slope = rough_square(s)
                fine = (
                    rough_square(gradient) < most
                    and slope < steepest
                    and -_INF < g <= 0.0
                    and (g < near or slope > steep)
                    and 1 < t <= last
                )
            broken = None if fine else self._watch.look(t, *measure(seen))
        else:
            told = (cost_gradient, constraint_value, constraint_subgradient, cost_value)
            seen = clean(before.x, self._needs, self._rows, *told)
            broken = self._watch.look(t, *measure(seen))
        # A step raises rather than return an action that is not finite.
        if broken is None:
            after, info = self._step(before, seen)
        else:  # it may be of any size; what overflows is refused, so NumPy need not warn
            with np.errstate(over="ignore", invalid="ignore"):
                after, info = self._step(before, seen)
        if info is not None and (sentences := info.contradictions):
            # It stands for what the watch has to say about the constraint.
            others = [b for b in broken or () if b.constant not in ("G_g", "the bound on g")]
            broken = [*others, Breach(t, "constants", sentences[0], "both")]
        regret, certificate = self._regret, None
        if regret is not None:
            regret = regret.after(info)
        if broken:
            broken = self._judge(broken)
        if self._journal is not None:
            if info is not None:
                certificate = info.certificate
            cut = None if info is None else info.cut
            memory = Memory(after, (*self._broken, *(broken or ())), regret, cut)

            def take() -> None:
                self._take(t, info, seen, memory, certificate)

            self._journal.append(t, before.x, seen, certificate, memory, take)
            return
        # Nothing can fail from here on.
        if broken:
            self._watch_on((*self._broken, *broken))
        self._info, self._seen, self._state = info, seen, after
        self._regret, self._certificate = regret, certificate
        self._round = t + 1

    def _take(self, t: int, info: Any, seen: Feedback, memory: Memory, certificate: Any) -> None:
        """Load a round that is in the journal; repeating this changes nothing."""
        if memory.broken != self._broken:
            self._watch_on(memory.broken)
        self._info, self._seen, self._state = info, seen, memory.state
        self._regret, self._certificate = memory.regret, certificate
        self._round = t + 1

    def explain(self) -> Explanation:
        """Return why the current action may be played; its ``str`` is one line."""
        seen, told = self._seen, self._round - 1
        info = self._info
        if self._certificate is None and info is not None:
            self._certificate = info.certificate
        certificate, guarantee = self._certificate, self._guarantee
        safe = not any(b.loses != "regret" for b in self._broken)
        regular = not any(b.loses != "feasibility" for b in self._broken)
        bound = regret = None
        if safe and certificate is not None:
            bound = certificate.bound
        elif safe and guarantee is not None:
            limit = float(guarantee.bounds(self._round).get("round", _INF))
            bound = limit if limit < _INF else None
        if self._regret is not None and told:
            # Made of what was observed: it rests on convexity, and on no constant.
            if not any(b.constant == "constants" for b in self._broken):
                regret = self._regret.bound(self._algorithm, self._state)
        elif regular and guarantee is not None and told:
            limit = float(guarantee.regret_bound(told))
            regret = limit if limit < _INF else None
        value = None if seen is None else seen.constraint_value
        return Explanation(
            round=self._round,
            certificate=certificate,
            slack=None if value is None else 0.0 - float(np.max(value)),
            feasibility_step=self._cut if info is None else info.cut,
            bound=bound,
            guarantee=guarantee,
            regret_bound=regret,
            broken=self._broken,
        )

    def close(self) -> None:
        """Close the journal, so that others can open it; without one nothing happens."""
        if self._journal is not None:
            self._journal.close()

    def __repr__(self) -> str:
        where = "" if self._journal is None else f", journal='{self._journal.store.path}'"
        return f"<Controller of {self._algorithm!r} in round {self._round}{where}>"

    def _memory(self) -> Memory:
        cut = self._cut if self._info is None else self._info.cut
        return Memory(self._state, self._broken, self._regret, cut)

    # --- the checks ------------------------------------------------------------------------------

    def _refuse_telling(self) -> NoReturn:
        if self._round == 1:
            raise InvalidValueError("tell must come after ask, got tell before the first ask")
        raise InvalidValueError(
            f"tell must come once after each ask, got a second tell for round {self._round - 1}: "
            f"ask for the action of round {self._round} first"
        )

    def _judge(self, broken: list[Breach]) -> list[Breach]:
        """Raise, warn about or record what a round has broken."""
        serious = [b.sentence for b in broken if b.loses != "regret"]
        if serious and self._on_contradiction == "raise":
            raise PremiseError(serious[0])
        known = {b.constant for b in self._broken}
        new = [b for b in broken if b.constant not in known]
        if new and self._on_contradiction != "record":
            warn_caller("; ".join(b.sentence for b in new), PremiseWarning)
        return new
