"""A rule or a filter in a live loop: ask for an action, play it, tell what was observed."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from surefoot.algorithms import Breach, Guarantee, PremiseWarning, Reaction, unpack
from surefoot.controller._checks import (
    check_player,
    check_policies,
    checked_run,
    first_memory,
)
from surefoot.controller._journal import Journal
from surefoot.controller._orders import Ordered
from surefoot.controller._plain import to_plain
from surefoot.controller._records import Run
from surefoot.controller._rows import open_for_replay, read_run
from surefoot.controller._told import measure
from surefoot.controller.explanation import Explanation, explained
from surefoot.core.errors import InvalidValueError, warn_caller
from surefoot.core.types import Array, ArrayLike, Region
from surefoot.regions import EmptyRegionError

__all__ = ["Controller"]


class Controller(Ordered):
    """A player in a live loop: :meth:`ask`, play the action, :meth:`tell` what was observed.

    Every input is checked: a call that raises has changed nothing, and the next correct call
    works. One run, NumPy, float64.

    Args:
        player: an algorithm, one with its guarantee (``Tuned``), or a filter such as
            ``SafetyFilter`` and ``RegionFilter``, which is told proposals.
        start: the first action.
        journal: path of a new file; every action, feedback and certificate is written to it before
            :meth:`ask` returns the next action, and :meth:`open` continues from it.
        on_contradiction: what to do when a round contradicts the guarantee or the constants of the
            algorithm. "raise" rejects the round if feasibility rests on it, and warns if only the
            regret bound does; "warn" accepts the round and warns; "record" accepts it. "hold" and
            "retreat" accept it, and stay or go back to the first action until :meth:`resume`.
            In every case :meth:`explain` reports the contradiction of an accepted round.
        on_missing: what to do in a round without a measurement: "hold", "retreat" or "raise".
        rotate: the number of rounds in a file of the journal, or its size ("64 MB"); after so many
            the run goes on in FILE.2, FILE.3 and so on.

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
        round 1: slack 0.5 and g rises by at most G_g = 1: certified length 0.5, step 0.296, cut;
        the next g is at most -0.204
    """

    __slots__ = ()

    def __init__(
        self,
        player: Any,
        start: ArrayLike,
        *,
        journal: str | os.PathLike[str] | None = None,
        on_contradiction: Reaction = "raise",
        on_missing: str = "hold",
        rotate: int | str | None = None,
    ) -> None:
        run = checked_run(player, start, on_contradiction, on_missing, rotate)
        memory = first_memory(run)
        written = None if journal is None else Journal.create(journal, run, memory)
        self._set_up(run, memory, None, written)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        on_contradiction: Reaction | None = None,
        on_missing: str | None = None,
        **given: Any,
    ) -> Self:
        """Continue from a journal, bit for bit as if nothing had happened.

        The current action may have been played already: the outcome of an action is known only
        after :meth:`tell`.

        Args:
            path: of the journal; of its first file, where it has several.
            on_contradiction: another policy than before.
            on_missing: likewise.
            given: what could not be stored, by the name of the algorithm's field (functions,
                sets of your own), or ``algorithm`` itself where its class is not the library's.

        Raises:
            StoreError: if the file is not a journal, damaged, newer than this version or in use.
        """
        both = {"on_contradiction": on_contradiction, "on_missing": on_missing}
        return cls._open(path, {name: p for name, p in both.items() if p is not None}, given)

    @classmethod
    def _open(
        cls,
        path: str | os.PathLike[str],
        changed: dict[str, Any],
        given: dict[str, Any],
        accept: Callable[[Run], None] | None = None,
    ) -> Self:
        """Continue from a journal, where what it plays is accepted, with other policies."""
        check_policies(**changed)
        journal, memory, last = Journal.open(path, given, accept)
        self = cls.__new__(cls)
        try:
            run = journal.run._replace(**changed)
            check_player(run)
            self._set_up(run, memory, last, journal)
        except BaseException:
            journal.close()
            raise
        return self

    @classmethod
    def open_or_create(
        cls,
        path: str | os.PathLike[str],
        player: Any,
        start: ArrayLike,
        *,
        given: dict[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """Continue from a journal if there is one at the path, else start one there.

        Args:
            path: of the journal.
            player: as for a new controller; it must be the one that the journal began with, or the
                one that was resumed with since.
            start: the first action; not used where there is a journal.
            given: what could not be stored, as for :meth:`open`.
            options: policies, as for a new controller.

        Raises:
            InvalidValueError: if the journal is that of another player.

        Example:
            >>> import tempfile
            >>> from surefoot import Ball
            >>> from surefoot.algorithms import SafetyFilter
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
            return cls(player, start, journal=path, **options)
        allowed = {n: p for n, p in options.items() if n in ("on_contradiction", "on_missing")}
        mine, left_out = unpack(player), given or {}

        def accept(run: Run) -> None:
            other = _difference((run.algorithm, run.guarantee), mine)
            if other is None:
                return
            with open_for_replay(path) as store:  # another may have taken its place since then
                first, _ = read_run(store, left_out)
            if _difference((first.algorithm, first.guarantee), mine) is not None:
                raise InvalidValueError(
                    f"journal '{os.fspath(path)}' is that of {other}: name that player, or another "
                    "journal"
                )

        return cls._open(path, allowed, left_out, accept)

    # --- what a user asks ------------------------------------------------------------------------

    @property
    def algorithm(self) -> Any:
        """The rule or filter that chooses the actions."""
        return self._run.algorithm

    @property
    def guarantee(self) -> Guarantee | None:
        """The guarantee that the algorithm was tuned for, if any."""
        guarantee: Guarantee | None = self._run.guarantee
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
    def on_contradiction(self) -> Reaction:
        """What to do when the data contradict a premise; may be set between rounds."""
        policy: Reaction = self._run.on_contradiction  # type: ignore[assignment]
        return policy

    @on_contradiction.setter
    def on_contradiction(self, policy: Reaction) -> None:
        """Set the policy from the next round on."""
        check_policies(on_contradiction=policy)
        run = self._run._replace(on_contradiction=policy)
        check_player(run)
        self._run = run

    @property
    def halted(self) -> str | None:
        """Why nothing moves until :meth:`resume`; None in a loop that runs."""
        return None if self._halt is None else self._halt.reason

    def ask(self) -> Array:
        """Return the action to play in this round, as a read-only copy; the same until ``tell``.

        Warns where this round was told and refused, by a contradiction or because drift leaves no
        action certified: it is not proved then.
        """
        if self._journal is not None:
            self._journal.settle()  # after a call that was interrupted twice
        if self._refused:
            warn_caller(
                f"{self._refused[0].sentence}; that round was refused, and its action, which is "
                "not proved any more, is still the one at hand: retreat, or resume with a player",
                PremiseWarning,
            )
        x = self._state.x.copy()
        x.setflags(write=False)
        self._asked = self._round
        return x

    def tell(
        self,
        *,
        cost_gradient: ArrayLike | None = None,
        constraint_value: Any = None,
        constraint_subgradient: ArrayLike | None = None,
        cost_value: float | None = None,
        cost: Callable[[Array], tuple[float, Array]] | None = None,
        constraint: Callable[[Array], tuple[Any, Array]] | None = None,
        proposal: ArrayLike | None = None,
        action: ArrayLike | None = None,
        missing: bool = False,
        value_error: float | None = None,
        within: Region | None = None,
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
            proposal: the next action that somebody wants; for filters, instead of the cost.
            action: the action that was really played, where it is not the one asked for. All else
                that is told was observed there, and the next certificate starts from there.
            missing: whether nothing was measured; then nothing else is told.
            value_error: a bound on the error of this round's ``constraint_value``, for rules that
                allow for one.
            within: a set that was announced for the next round, which holds the next action; for
                rules that take one.

        Raises:
            InvalidValueError: for invalid input; nothing has changed then.
            PremiseError: for a contradiction of the guarantee, if the policy is "raise".
            EmptyRegionError: where no next action is certified. The round can be told again; under
                drift the action is not proved for another one.
            StoreError: if the journal cannot be written; nothing has changed then.
        """
        with self._telling:  # of two threads that tell one round, one is refused
            if self._asked != self._round:
                self._refuse_telling()
            t = self._round
            told = (cost_gradient, constraint_value, constraint_subgradient, cost_value)
            others: tuple[Any, ...] = (cost, constraint, proposal, action, value_error, within)
            if missing is not False:
                self._tell_nothing(missing, (*told, *others))
                return
            before, seen, played = self._understood(*told, *others)
            broken = self._watch.look(t, *measure(seen, self._first_name))
            if self._tell_specially(t, before, seen, played):
                return
            try:
                # Numbers may be of any size; what overflows is refused, so NumPy need not warn.
                with np.errstate(over="ignore", invalid="ignore"):
                    after, info = self._step(seen, played, within)
            except EmptyRegionError as error:
                if self._errors.drift:  # which may have taken the action outside by the next round
                    self._refused = (Breach(t, "drift", str(error), "feasibility"),)
                raise
            if info is not None and (sentences := info.contradictions):
                # It stands for what the watch has to say about the constraint.
                kept = [b for b in broken if b.constant not in ("G_g", "the bound on g")]
                broken = [*kept, Breach(t, "constants", sentences[0], "both")]
            self._end(t, before, after, info, seen, broken, played, within)

    def explain(self) -> Explanation:
        """Return why the current action may be played; its ``str`` is one line."""
        self._certificate_now()
        return explained(self)

    def close(self) -> None:
        """Close the journal, so that others can open it; without one nothing happens."""
        if self._journal is not None:
            self._journal.close()

    def __repr__(self) -> str:
        where = "" if self._journal is None else f", journal='{self._journal.store.path}'"
        return f"<Controller of {self._run.algorithm!r} in round {self._round}{where}>"


def _difference(stored: Any, given: Any) -> str | None:
    """Return in words how two players, each with its guarantee, differ; None if they do not.

    All that they are made of is compared: the text of a long array is its shape.
    """
    if isinstance(stored, tuple):
        found = (_difference(*pair) for pair in zip(stored, given, strict=True))
        return next((words for words in found if words is not None), None)
    if repr(stored) != repr(given):
        return f"{stored!r}, not of {given!r}"
    if to_plain(stored, may_leave_out=True) == to_plain(given, may_leave_out=True):
        return None
    names = [
        name
        for name in getattr(stored, "__dataclass_fields__", {})
        if to_plain(getattr(stored, name, None), may_leave_out=True)
        != to_plain(getattr(given, name, None), may_leave_out=True)
    ]
    return f"another {type(stored).__name__}, by its {' and '.join(names) or 'content'}"
