"""A rule or a filter in a live loop: ask for an action, play it, tell the observation."""

import os
from collections.abc import Callable, Mapping
from typing import Any, Self

from surefoot.controller import records
from surefoot.controller.alarms import Alarm, OnAlarm, emit
from surefoot.controller.decide import announce, decide
from surefoot.controller.explanation import Explanation, explain
from surefoot.controller.feedback import check_unknown, read_context, read_feedback
from surefoot.controller.journal import Journal, Position
from surefoot.controller.live import Amendment, Live, player_difference
from surefoot.controller.loop import LoopState, Missing, Run
from surefoot.controller.members import Name, Solo
from surefoot.controller.replaying import restore
from surefoot.core.errors import InvalidValueError, warn_caller
from surefoot.core.feedback import Feedback
from surefoot.core.plain import encode
from surefoot.core.types import ArrayLike, FloatArray, Player, Set, State
from surefoot.guarantees import Guarantee, PremiseWarning, Promises, Reaction, Tuned, unpack

__all__ = ["Controller"]


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

    _now: tuple[Solo, Position | None]

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
        self._begin(run, journal, rotate, durable_every, on_alarm, context)

    def _begin(
        self,
        run: Run,
        journal: str | os.PathLike[str] | None,
        rotate: int | str | None,
        durable_every: int,
        on_alarm: OnAlarm | None,
        context: object,
    ) -> None:
        """Begin with what is played, and perhaps a journal."""
        loop = run.begin()
        if (first := read_context(run, loop.state, context, current=True)) is not None:
            loop = announce(run, loop, first).loop
        self._set_up(Solo(run, loop), on_alarm)
        self._create(journal, rotate, durable_every)

    @classmethod
    def of_run(
        cls,
        run: Run,
        *,
        journal: str | os.PathLike[str] | None = None,
        rotate: int | str | None = None,
        on_alarm: OnAlarm | None = None,
    ) -> Self:
        """Return a controller of a run: of a plant, whose file says what is played."""
        self = cls.__new__(cls)
        self._begin(run, journal, rotate, 1, on_alarm, None)
        return self

    @classmethod
    def continue_run(
        cls,
        path: str | os.PathLike[str],
        accept: Callable[[Run], None],
        *,
        at_least: int = 0,
        on_alarm: OnAlarm | None = None,
    ) -> Self:
        """Continue from a journal if what it plays is accepted: of a plant, by its file.

        Args:
            path: of the journal.
            accept: raises for another run; the journal is unchanged then.
            at_least: as for :meth:`open`.
            on_alarm: likewise.
        """
        with Journal.opening(path) as (journal, reader):
            end, self = restore(reader, {}, at_least), cls.__new__(cls)
            run = end.members.get()[0]
            accept(run)
            self._go_on(journal, reader, (end.members, end.at), on_alarm)
            self._name_engine(end.engine, run.engine, end.is_rebuilt)
        return self

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
            end, self = restore(reader, given, at_least), cls.__new__(cls)
            before, loop = end.members.get()
            if mine is not None and (other := player_difference(before, mine)):
                # It may be the player of its beginning.
                first = records.run_from(reader, reader.header, given, reader.size)
                if player_difference(first, mine):
                    raise InvalidValueError(
                        f"{reader.name} is that of another player: {other}; name that player, or "
                        "another journal"
                    )
            run = before.with_policies(on_contradiction=on_contradiction, on_missing=on_missing)
            self._go_on(journal, reader, (Solo(run, loop), end.at), on_alarm)
            self._name_engine(end.engine, run.engine, end.is_rebuilt)
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
    def round(self) -> int:
        """The current round; the first is 1."""
        return self._now[0].loop.round

    @property
    def run(self) -> Run:
        """What is played, and how; no round changes it."""
        return self._now[0].run

    @property
    def loop(self) -> LoopState:
        """All that changes from round to round."""
        return self._now[0].loop

    @property
    def algorithm(self) -> Player:
        """The rule or filter that chooses the actions."""
        algorithm: Player = self._now[0].run.algorithm
        return algorithm

    @property
    def guarantee(self) -> Guarantee | None:
        """The guarantee that the algorithm was tuned for, if any."""
        return self._now[0].run.guarantee

    @property
    def promises(self) -> Promises:
        """What is promised, in three parts, also without a theorem."""
        return self._now[0].run.promises

    @property
    def state(self) -> State:
        """The state of the algorithm."""
        return self._now[0].loop.state

    @property
    def on_contradiction(self) -> Reaction:
        """What to do when the data contradict a premise; :meth:`resume` takes another."""
        policy: Reaction = self._now[0].run.on_contradiction  # type: ignore[assignment]
        return policy

    @property
    def halted(self) -> str | None:
        """Why nothing moves until :meth:`resume`; None in a loop that runs."""
        halt = self._now[0].loop.halt
        return None if halt is None else halt.reason

    def ask(self) -> FloatArray:
        """Return the action to play in this round, as a read-only copy; the same until ``tell``.

        Warns if this round was rejected, for a contradiction or because drift leaves no certified
        action: its action is not proved then.
        """
        run, loop = self._now[0]
        if run.in_contexts:
            self._check_context(run, loop)
        if loop.refused and run.plant is None:
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
        readings: ArrayLike | None = None,
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
            missing: whether nothing was measured; then at most the action that was really played
                and the context of the next round are reported.
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
            readings: what meters showed, in their own units, for the journal; NaN for none.

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
            readings,
        )
        with self._lock:  # of two threads that tell one round, one is rejected
            (run, loop), at = self._now
            if self._asked != loop.round:
                raise _not_asked(loop.round)
            round_input = read_feedback(run, loop.state, feedback, missing=missing, drift=drift)
            decision = decide(run, loop, round_input)
            if decision.warning and run.plant is None:  # a plant has alarms alone
                warn_caller(decision.warning, PremiseWarning)
            if round_input.ignored and not self._is_hint_named:
                words = f"round {loop.round}: {round_input.ignored}"
                warn_caller(words, UserWarning)
                alarm = Alarm.of(loop.round, "hint", words)
                decision = decision._replace(alarms=(*decision.alarms, alarm))
                self._is_hint_named = True
            if at is not None:
                at = self._write([records.describe_told(loop.round, round_input, decision)])
            self._now = (Solo(run, decision.loop), at)
        if decision.alarms:
            emit(decision.alarms, self.on_alarm)
        if decision.error is not None:
            raise decision.error

    def announce(
        self, *, context: object = None, drift: float | None = None, unknown: bool = False
    ) -> None:
        """Announce the context of the current round before it is played: ask for its action again.

        Until the round is told, another context may be announced, which replaces the first.

        Args:
            context: as for :meth:`tell`.
            drift: likewise.
            unknown: whether nobody knows it: then the start is played, which its ``start_bound``
                proves, and the round is told with ``missing=True``.

        Raises:
            InvalidValueError: for invalid input; nothing has changed then.
            EmptyRegionError: if no action is certified in the context.
        """
        with self._lock:
            run, loop = self._now[0]
            place = read_context(run, loop.state, context, drift, current=True)
            if unknown:
                check_unknown(run, place)
                self._order("announce", {None: {"context": None}})
                return
            if place is None:
                raise InvalidValueError("context must be given to announce, got None")
            self._order("announce", {None: {"context": encode(place)}})

    def _forget_asked(self, name: Name) -> None:
        """Let the action be asked for again before a round is told."""
        self._asked = 0

    def explain(self) -> Explanation:
        """Return why the current action may be played; its ``str`` is one line."""
        return explain(*self._now[0])

    # --- what an operator orders between rounds --------------------------------------------------

    def hold(self, reason: str) -> None:
        """Keep the current action until :meth:`resume`; rounds are still told and journalled.

        For a fixed g that is proved safe for good. If g may drift, the controller holds while the
        bound allows it, and then takes the shortest return path.

        Args:
            reason: in words, for :meth:`explain` and the journal.
        """
        self._halt("hold", reason, [None])

    def retreat(self, reason: str, speed: float | None = None) -> None:
        """Go back towards the first action, and stay there until :meth:`resume`: ask again.

        For a convex and fixed g every point of the return path is feasible. If g is not convex it
        need not be; if g may drift, :meth:`explain` says how long it is.

        Args:
            reason: in words, for :meth:`explain` and the journal.
            speed: the distance per round, from the current one on; all of it at once unless given.
        """
        self._retreat(reason, [None], speed)

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
        policies = {"on_contradiction": on_contradiction, "on_missing": on_missing}
        self._resume([None], player, start, reason, policies)

    def amend(self, amendment: Amendment) -> None:
        """Begin anew by what is known of a plant now; see :class:`~surefoot.controller.Plant`."""
        self._amend({None: amendment})

    def __repr__(self) -> str:
        run, loop = self._now[0]
        where = "" if self._journal is None else f", journal='{self._journal.first}'"
        return f"<Controller of {run.algorithm!r} in round {loop.round}{where}>"


def _not_asked(t: int) -> InvalidValueError:
    """Return the error of a round that is told before it was asked for, or twice."""
    if t == 1:
        return InvalidValueError("tell must come after ask, got tell before the first ask")
    return InvalidValueError(
        f"tell must come once after each ask, got a second tell for round {t - 1}: "
        f"ask for the action of round {t} first"
    )
