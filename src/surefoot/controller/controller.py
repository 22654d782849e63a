"""A rule or a filter in a live loop: ask for an action, play it, tell the observation."""

import os
import threading
from collections.abc import Mapping
from typing import Any, Self

from surefoot.controller import records
from surefoot.controller.alarms import Alarm, OnAlarm, emit
from surefoot.controller.decide import announce, apply_order, decide
from surefoot.controller.explanation import Explanation, explain
from surefoot.controller.feedback import read_context, read_feedback
from surefoot.controller.journal import Journal, Position, Reader, bytes_in, now
from surefoot.controller.loop import POLICIES, LoopState, Missing, Run, check_text
from surefoot.controller.replaying import restore
from surefoot.core import checks
from surefoot.core.errors import InvalidValueError, warn_caller
from surefoot.core.feedback import Feedback
from surefoot.core.plain import Data, PlainTable, encode
from surefoot.core.types import ArrayLike, FloatArray, Player, Set, State
from surefoot.guarantees import Guarantee, PremiseWarning, Promises, Reaction, Tuned, unpack

__all__ = ["Controller", "JournalWarning", "Live", "player_difference"]


class JournalWarning(UserWarning):
    """Warn that a journal ended in the middle of a record, or was written elsewhere."""


class Live:
    """Players in a live loop: a report is in the journal before it changes the state.

    Attributes:
        on_alarm: a function that is called with every :class:`Alarm`, after the round is over.
    """

    __slots__ = ("__weakref__", "_asked", "_is_hint_named", "_journal", "_lock", "_now", "on_alarm")

    # All that changes: the run, its state, and the position in the journal.
    _now: tuple[Run, Any, Position | None]
    _journal: Journal | None

    def _set_up(self, run: Run, state: Any, on_alarm: OnAlarm | None) -> None:
        if on_alarm is not None:
            checks.function(on_alarm=on_alarm)
        self._lock, self._journal = threading.RLock(), None
        self.on_alarm: OnAlarm | None = on_alarm
        self._asked = 0  # the last round that was asked for
        self._is_hint_named = False  # whether the first invalid hint was reported
        self._now = (run, state, None)

    def _create(
        self, path: str | os.PathLike[str] | None, rotate: int | str | None, durable_every: int
    ) -> None:
        """Start a journal, if a path is given."""
        if isinstance(rotate, str):
            bytes_in(rotate)
        elif rotate is not None:
            rotate = checks.positive_int(rotate, "rotate")
        every = checks.positive_int(durable_every, "durable_every")
        run, state, _ = self._now
        if path is not None:
            header = records.header_of(run, rotate=rotate, durable_every=every)
            self._journal, at = Journal.create(path, header | self._encode(run, state))
            self._now = (run, state, at)

    @property
    def round(self) -> int:
        """The current round; the first is 1."""
        t: int = self._now[1].round
        return t

    def _check_context(self, loop: LoopState) -> None:
        """Raise while the context of a round, and so its action, is unknown."""
        if loop.awaits_context:
            raise InvalidValueError(
                f"round {loop.round} has no action before its context is known: "
                "tell(..., context=...) or announce(context=...)"
            )

    def _check_asked(self) -> None:
        """Raise unless the current round was asked for and not yet told."""
        t = self._now[1].round
        if self._asked == t:
            return
        if t == 1:
            raise InvalidValueError("tell must come after ask, got tell before the first ask")
        raise InvalidValueError(
            f"tell must come once after each ask, got a second tell for round {t - 1}: "
            f"ask for the action of round {t} first"
        )

    def _encode(self, run: Run, state: Any) -> PlainTable:
        """Return a state as plain data, from which an opened journal goes on."""
        raise NotImplementedError

    def _write(self, kind: str, what: Mapping[str, Any]) -> Position | None:
        """Write a record of a round, or of an event between two.

        A new file or a snapshot may come before a round, unless the round needs details of the
        last step.
        """
        (run, state, at), journal = self._now, self._journal
        if journal is None or at is None:
            return None
        is_usual = kind == "round" and "played" not in what
        if is_usual and journal.is_full(at):
            writing = {"rotate": journal.rotate, "durable_every": journal.durable_every}
            header = records.header_of(run, **writing, rounds=state.round - 1)
            at = journal.turn_over(at, header | self._encode(run, state))
        elif is_usual and at.since >= at.least:
            snapshot = {"kind": "snapshot", "round": state.round, **self._encode(run, state)}
            at = journal.append(at, snapshot, durable=False)
        record = {"kind": kind, "round": state.round, "time": now(), **what}
        return journal.append(at, record, durable=kind != "round")

    def _say_opened(self, kind: str, sentence: str, *, loud: bool = True, **what: object) -> None:
        """Report what the end of a journal shows, also in the journal."""
        run, state, _ = self._now
        assert self._journal is not None
        self._now = (run, state, self._write(kind, what | {"sentence": sentence}))
        sentence = f"{self._journal.name}: {sentence}"
        emit([Alarm.of(state.round, "journal", sentence)], self.on_alarm)
        if loud:
            warn_caller(sentence, JournalWarning)

    def _go_on(
        self, journal: Journal, reader: Reader, end: tuple[Run, Any, Position], on_alarm: Any
    ) -> None:
        """Go on from the end of a journal."""
        self._set_up(*end[:2], on_alarm)
        self._journal, self._now = journal, end
        journal.go_to(end[2].part)
        if reader.torn:
            t = self.round
            words = f"round {t} was being written; {t - 1} is the last certain round"
            self._say_opened("torn", words, bytes=reader.torn)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the journal, so that others can open it; without one nothing happens."""
        if self._journal is not None:
            self._journal.close(self._now[2])


class Controller(Live):
    """A player in a live loop: ``ask``, play the action, ``tell`` what was observed.

    Every input is checked: a call that raises has changed nothing, and the next correct call
    works. One run, NumPy, float64.

    Calls from several threads are taken one after the other; of two calls of ``tell`` for one
    round, one is rejected. ``ask``, ``explain`` and the properties never wait for the disk.

    Args:
        player: an algorithm, one with its guarantee (``Tuned``), or a filter such as
            ``SafetyFilter`` and ``RegionFilter``, which takes proposals.
        start: the first action.
        journal: path of a new file; every action, feedback and certificate is written to it before
            :meth:`ask` returns the next action, and :meth:`open` continues from it.
        on_contradiction: what to do when a round contradicts the guarantee or the constants of the
            algorithm. "raise" rejects the round if feasibility assumes it, and warns if only the
            regret bound does; "warn" accepts the round and warns; "record" accepts it. "hold" and
            "retreat" accept it, and stay or go back to the first action until :meth:`resume`.
            In every case :meth:`explain` reports the contradiction of an accepted round.
        on_missing: what to do in a round without a measurement: "hold", "retreat" or "raise".
        rotate: the number of rounds in a file of the journal, or its size ("64 MB"); after so many
            the run goes on in FILE.2, FILE.3 and so on.
        durable_every: how many rounds a power failure may lose; with 1 each round is on the disk
            when :meth:`tell` returns. The end of the process loses none.
        on_alarm: a function that is called with every :class:`Alarm`, after the round is over.
            The logger ``surefoot`` of the standard library gets them, too.
        context: that of the first round, for knowledge of contexts; :meth:`announce` takes it, too.

    Example:
        >>> from surefoot import Ball
        >>> from surefoot.rules import CertifiedPFS
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
        round 1: slack 0.5 and g rises by at most G_g = 1: certified length 0.5, step 0.296, cut;
        the next g is at most -0.204
    """

    __slots__ = ()

    _now: tuple[Run, LoopState, Position | None]

    def __init__(
        self,
        player: Player | Tuned[Any],
        start: ArrayLike,
        *,
        journal: str | os.PathLike[str] | None = None,
        on_contradiction: Reaction = "raise",
        on_missing: Missing = "hold",
        rotate: int | str | None = None,
        durable_every: int = 1,
        on_alarm: OnAlarm | None = None,
        context: object = None,
    ) -> None:
        run = Run.of(player, start, on_contradiction=on_contradiction, on_missing=on_missing)
        loop = run.begin()
        if (first := read_context(run, loop.state, context, current=True)) is not None:
            loop = announce(run, loop, first).loop
        self._set_up(run, loop, on_alarm)
        self._create(journal, rotate, durable_every)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        player: Player | Tuned[Any] | None = None,
        on_contradiction: Reaction | None = None,
        on_missing: Missing | None = None,
        at_least: int = 0,
        on_alarm: OnAlarm | None = None,
        **given: object,
    ) -> Self:
        """Continue from a journal, exactly as if nothing had happened.

        The current action may have been played already: its outcome is known only after
        :meth:`tell`. A round whose record was being written when the process or the power ended
        was never acknowledged: it is removed, with a warning and an alarm.

        Args:
            path: of the journal; of its first file, if it has several.
            player: the player that the journal must have: that of its beginning, or the one that
                it resumed with since; None for any.
            on_contradiction: another policy than before.
            on_missing: likewise.
            at_least: the minimum number of rounds that the journal must contain. A file that ends
                between two records is a whole journal: nothing in it shows that it is an old copy.
            on_alarm: as for a new controller.
            given: what could not be stored, by the name of the algorithm's field (functions,
                your sets), or ``algorithm`` itself if its class is not the library's.

        Raises:
            StoreError: if the file is not a journal, damaged, newer than this version or in use.
            InvalidValueError: if it is that of another player.
        """
        mine = None if player is None else unpack(player)
        with Journal.opening(path) as (journal, reader):
            shadow, self = restore(reader, given, at_least), cls.__new__(cls)
            if mine is not None and (other := player_difference(shadow.run, mine)):
                # It may be the player of its beginning.
                first = records.run_from(reader, reader.header, given, reader.size)
                if player_difference(first, mine):
                    raise InvalidValueError(
                        f"{reader.name} is that of another player: {other}; name that player, or "
                        "another journal"
                    )
            run = shadow.run.with_policies(on_contradiction=on_contradiction, on_missing=on_missing)
            loop = shadow.loop
            self._go_on(journal, reader, (run, loop, shadow.at), on_alarm)
            if shadow.engine != run.engine:
                words = f"steps are taken by {run.engine} from round {loop.round} on, and were by"
                more: PlainTable = {"engine": run.engine, "loop": records.encode_loop(loop)}
                self._say_opened("engine", f"{words} {shadow.engine}", loud=False, **more)
            elif shadow.is_rebuilt:
                words = f"the last rounds up to {loop.round - 1} were derived again, with other"
                self._say_opened("rebuilt", f"{words} last bits", loop=records.encode_loop(loop))
        return self

    @classmethod
    def open_or_create(
        cls,
        path: str | os.PathLike[str],
        player: Player | Tuned[Any],
        start: ArrayLike,
        *,
        given: Mapping[str, Any] | None = None,
        on_contradiction: Reaction | None = None,
        on_missing: Missing | None = None,
        rotate: int | str | None = None,
        durable_every: int = 1,
        on_alarm: OnAlarm | None = None,
        context: object = None,
    ) -> Self:
        """Continue from a journal if there is one at the path, else start one there.

        Args:
            path: of the journal.
            player: as for a new controller, and for :meth:`open`.
            start: the first action; not used if there is a journal.
            given: what could not be stored, as for :meth:`open`.
            on_contradiction: as for a new controller; None leaves that of the journal as it is.
            on_missing: likewise.
            rotate: as for a new controller; not used if there is a journal.
            durable_every: likewise.
            on_alarm: as for a new controller.
            context: that of the first round; not used if there is a journal.

        Example:
            >>> import tempfile
            >>> from surefoot import Ball
            >>> from surefoot.rules import SafetyFilter
            >>> safe = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     for _ in range(2):
            ...         with Controller.open_or_create(f"{folder}/run.db", safe, [0.0]) as loop:
            ...             print(loop.round)
            ...             x = loop.ask()
            ...             loop.tell(
            ...                 proposal=[1.0], constraint_value=-0.5, constraint_subgradient=[1.0]
            ...             )
            1
            2
        """
        if not os.path.lexists(path):
            return cls(
                player,
                start,
                journal=path,
                on_contradiction="raise" if on_contradiction is None else on_contradiction,
                on_missing="hold" if on_missing is None else on_missing,
                rotate=rotate,
                durable_every=durable_every,
                on_alarm=on_alarm,
                context=context,
            )
        return cls.open(
            path,
            player=player,
            on_contradiction=on_contradiction,
            on_missing=on_missing,
            on_alarm=on_alarm,
            **(given or {}),
        )

    # --- what a user asks ------------------------------------------------------------------------

    @property
    def algorithm(self) -> Player:
        """The rule or filter that chooses the actions."""
        algorithm: Player = self._now[0].algorithm
        return algorithm

    @property
    def guarantee(self) -> Guarantee | None:
        """The guarantee that the algorithm was tuned for, if any."""
        return self._now[0].guarantee

    @property
    def promises(self) -> Promises:
        """What is promised, in three parts, also without a theorem."""
        return self._now[0].promises

    @property
    def state(self) -> State:
        """The state of the algorithm."""
        return self._now[1].state

    @property
    def on_contradiction(self) -> Reaction:
        """What to do when the data contradict a premise; :meth:`resume` takes another."""
        policy: Reaction = self._now[0].on_contradiction  # type: ignore[assignment]
        return policy

    @property
    def halted(self) -> str | None:
        """Why nothing moves until :meth:`resume`; None in a loop that runs."""
        halt = self._now[1].halt
        return None if halt is None else halt.reason

    def ask(self) -> FloatArray:
        """Return the action to play in this round, as a read-only copy; the same until ``tell``.

        Warns if this round was rejected, for a contradiction or because drift leaves no certified
        action: its action is not proved then.
        """
        run, loop, _ = self._now
        if run.in_contexts:
            self._check_context(loop)
        if loop.refused:
            warn_caller(
                f"{loop.refused[0].sentence}; that round was rejected, and its action, which is "
                "no longer proved, is still the one at hand: retreat, or resume with a player",
                PremiseWarning,
            )
        x: FloatArray = loop.x.copy()
        x.setflags(write=False)
        self._asked = loop.round
        return x

    def tell(
        self,
        *,
        cost_gradient: ArrayLike | None = None,
        constraint_value: ArrayLike | float | None = None,
        constraint_subgradient: ArrayLike | None = None,
        cost_value: float | None = None,
        proposal: ArrayLike | None = None,
        action: ArrayLike | None = None,
        missing: bool = False,
        value_error: float | None = None,
        slope_error: float | None = None,
        within: Set | None = None,
        hint: ArrayLike | None = None,
        context: object = None,
        drift: float | None = None,
    ) -> None:
        """Report what was observed at the current action, and advance to the next.

        An algorithm that handles m constraints separately expects values of shape (m,) and
        subgradients of shape (m, d). One that does not use the constraint needs neither.

        Args:
            cost_gradient: a (sub)gradient of the round's cost.
            constraint_value: g; at most 0 is feasible.
            constraint_subgradient: one subgradient of g. Knowledge that certifies by values
                (``slopes`` other than "certify") needs none; the regret bound in advance may.
            cost_value: the cost: for rules that take costs by value, or for the journal.
            proposal: the proposed next action; for filters, instead of the cost.
            action: the action that was really played, if it is not the one asked for. Everything
                else was observed there, and the next certificate starts from there.
            missing: whether nothing was measured; then nothing else is reported.
            value_error: a bound on the error of this round's ``constraint_value``, for rules that
                allow for one.
            slope_error: likewise of this round's ``constraint_subgradient``.
            within: a set announced for the next round, which holds the next action; for rules that
                take one.
            hint: a forecast of the next cost's gradient, for rules that use one, such as
                ``OptimisticDualAveraging``; others reject it. A hint that is not finite or not of
                the action's shape is ignored, with a warning and an alarm at the first.
            context: that of the next round, for knowledge of contexts; :meth:`announce` takes one
                that is known later.
            drift: how far g may rise until the next round, for knowledge that takes it
                (``AnnouncedDrift``), instead of a context.

        Raises:
            InvalidValueError: for invalid input; nothing has changed then.
            PremiseError: for a contradiction of the guarantee, if the policy is "raise".
            EmptyRegionError: if no next action is certified. The round can be told again; under
                drift the action is not proved for another one.
            StoreError: if the journal cannot be written; nothing has changed then.
        """
        place: Any = context  # in numbers, once it is read
        feedback = Feedback(
            cost_gradient,
            constraint_value,
            constraint_subgradient,
            cost_value,
            value_error,
            slope_error,
            action,
            0,
            proposal,
            within,
            None,
            hint,
            place,
        )
        with self._lock:  # of two threads that tell one round, one is rejected
            run, loop, at = self._now
            self._check_asked()
            round_input = read_feedback(run, loop.state, feedback, missing=missing, drift=drift)
            decision = decide(run, loop, round_input)
            if decision.warning:
                warn_caller(decision.warning, PremiseWarning)
            if round_input.ignored and not self._is_hint_named:
                words = f"round {loop.round}: {round_input.ignored}"
                warn_caller(words, UserWarning)
                alarm = Alarm.of(loop.round, "hint", words)
                decision = decision._replace(alarms=(*decision.alarms, alarm))
                self._is_hint_named = True
            if decision.error is not None:
                at = self._write("refused", records.refusal(decision.loop))
            elif at is not None:
                at = self._write("round", records.describe_round(round_input, decision))
            self._now = (run, decision.loop, at)
        if decision.alarms:
            emit(decision.alarms, self.on_alarm)
        if decision.error is not None:
            raise decision.error

    def announce(self, *, context: object = None, drift: float | None = None) -> None:
        """Announce the context of the current round before it is played: ask for its action again.

        Until the round is told, another context may be announced, which replaces the first.

        Args:
            context: as for :meth:`tell`.
            drift: likewise.

        Raises:
            InvalidValueError: for invalid input; nothing has changed then.
            EmptyRegionError: if no action is certified in the context.
        """
        with self._lock:
            run, loop, _ = self._now
            place = read_context(run, loop.state, context, drift, current=True)
            if place is None:
                raise InvalidValueError("context must be given to announce, got None")
            self._order("announce", context=encode(place))

    def _encode(self, run: Run, state: LoopState) -> PlainTable:
        return {"loop": records.encode_loop(state)}

    def explain(self) -> Explanation:
        """Return why the current action may be played; its ``str`` is one line."""
        run, loop, _ = self._now
        return explain(run, loop)

    # --- what an operator orders between rounds --------------------------------------------------

    def hold(self, reason: str) -> None:
        """Keep the current action until :meth:`resume`; rounds are still told and journalled.

        For a fixed g that is proved safe for good. If g may drift, the controller holds while the
        bound allows it, and then takes the shortest return path.

        Args:
            reason: in words, for :meth:`explain` and the journal.
        """
        check_text(reason, "reason")
        self._order("hold", reason=reason)

    def retreat(self, reason: str, speed: float | None = None) -> None:
        """Go back towards the first action, and stay there until :meth:`resume`: ask again.

        For a convex and fixed g every point of the return path is feasible. If g is not convex it
        need not be; if g may drift, :meth:`explain` says how long it is.

        Args:
            reason: in words, for :meth:`explain` and the journal.
            speed: the distance per round, from the current one on; all of it at once unless given.
        """
        if speed is not None:
            checks.positive(speed=speed)
            speed = float(speed)
        check_text(reason, "reason")
        self._order("retreat", reason=reason, speed=speed)

    def note(self, text: str) -> None:
        """Write an operator's note to the journal; nothing else changes."""
        check_text(text, "text")
        with self._lock:
            run, loop, at = self._now
            if at is None:
                raise InvalidValueError("note needs a journal, got a controller without one")
            self._now = (run, loop, self._write("note", {"text": text}))

    def resume(
        self,
        player: Player | Tuned[Any] | None = None,
        *,
        start: ArrayLike | None = None,
        reason: str = "resumed",
        on_contradiction: Reaction | None = None,
        on_missing: Missing | None = None,
    ) -> None:
        """Go on after a hold, a retreat or a contradiction, in the same journal.

        Without a player the rule goes on from where it is, with its constants. A new player, which
        may have other constants, starts from the first action of the run, or from another start,
        and measures its slack again: ask again. Contradictions of the old player no longer count.

        Args:
            player: as for a new controller; None for the same.
            start: its first action; that of the run unless given.
            reason: in words, for the journal.
            on_contradiction: another policy than before.
            on_missing: likewise.
        """
        check_text(reason, "reason")
        if player is None and start is not None:
            raise InvalidValueError(f"start must come with a player, got only start={start!r}")
        with self._lock:
            before, loop, _ = self._now
            run = before.with_policies(on_contradiction=on_contradiction, on_missing=on_missing)
            if player is not None:
                at = before.start if loop.anchor is None else loop.anchor.x
                policies = {name: getattr(run, name) for name in POLICIES}
                run = Run.of(player, at if start is None else start, **policies)
            what: PlainTable = {"reason": reason}
            if run is not before:
                what |= {**records.player_of(run), "fresh": player is not None}
            self._order("resume", run, **what)

    def _order(self, kind: str, then: Run | None = None, /, **what: object) -> None:
        """Write an order and apply it.

        Args:
            kind: which.
            then: what is played from then on, if it changes.
            what: the fields of its line in the journal.
        """
        with self._lock:
            run, loop, at = self._now
            decision = apply_order(run, loop, {"kind": kind, **what}, then)
            after = decision.loop
            if decision.error is not None:
                at = self._write("refused", records.refusal(after))
            elif at is not None:
                more = {"loop": records.encode_loop(after)} if "player" in what else {}
                at = self._write(kind, what | more | records.next_action(after))
            self._now = (then or run, after, at)
            if kind != "resume" or what.get("fresh"):
                self._asked = 0
            emit(decision.alarms, self.on_alarm)
        if decision.error is not None:
            raise decision.error

    def __repr__(self) -> str:
        run, loop, _ = self._now
        where = "" if self._journal is None else f", journal='{self._journal.first}'"
        return f"<Controller of {run.algorithm!r} in round {loop.round}{where}>"


def player_difference(stored: Run, other: tuple[Any, Guarantee | None]) -> str:
    """Return in words how two players, each with its guarantee, differ; empty if they do not.

    All of their parts are compared, not their texts: the text of a long array is its shape.
    """
    first = (stored.algorithm, stored.guarantee)
    pairs = [[encode(part, leave_out=True) for part in parts] for parts in (first, other)]
    return next(filter(None, map(_find_difference, ("player", "guarantee"), *pairs)), "")


def _find_difference(name: str, one: Data, other: Data) -> str:
    """Return in words where two values first differ; empty if they do not."""
    if one == other:
        return ""
    there, here = (v.get("class", v) if isinstance(v, dict) else v for v in (one, other))
    parts: list[tuple[str, Data, Data]] = []
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        parts = [(f"{name}[{i}]", *pair) for i, pair in enumerate(zip(one, other, strict=True))]
    elif isinstance(there, str) and isinstance(one, dict) and there == here:  # of one class
        parts = [(f"{name}.{key}", one[key], other[key]) for key in one]
    for part in parts:
        if difference := _find_difference(*part):
            return difference
    return f"{name} is {checks.repr_line(there)} there and {checks.repr_line(here)} here"
