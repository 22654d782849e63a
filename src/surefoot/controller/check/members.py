"""The members of a journal, each with its follower, and what is said of all of them.

A controller is one member without a name; of a fleet, every sentence names members and their own
rounds, and what is the same of many is said once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .fleet import Record
from .following import Follower
from .kind import Kind
from .players import Player

__all__ = ["Judgement", "Members"]

_NAMED = 3
"""How many members a sentence names."""
_LISTED = 10
"""How many sentences say what was not checked of a fleet, as many as the command line shows."""


class Member(NamedTuple):
    """A member that is or was there.

    Attributes:
        name: None of a controller.
        follower: what is known of its run.
    """

    name: str | None
    follower: Follower


class Judgement(NamedTuple):
    """What was found of the rounds of one member.

    Attributes:
        member: its name; None of a controller.
        rounds: how many were read.
        uncertified: the rounds that were not certified before they were played.
        unchecked: the rounds that are not judged.
        wrong: the round in which something was wrong, and after which nothing is judged; None if
            nothing was.
        refuted: the rounds whose readings refuted the constants in use.
    """

    member: str | None
    rounds: int
    uncertified: frozenset[int]
    unchecked: frozenset[int]
    wrong: int | None = None
    refuted: frozenset[int] = frozenset()

    def word(self, t: int) -> str:
        """Return what is found of a round: "yes", "no", "start" or "not checked".

        A round whose own reading refuted its constants was not certified by true ones.
        """
        if t == self.wrong or t in self.refuted:
            return "no"
        if t > self.rounds or t in self.unchecked:
            return "not checked"
        return "start" if t in self.uncertified else "yes"


class Members:
    """All members of a journal, also those that have left."""

    def __init__(self) -> None:
        self._all: list[Member] = []
        self._present: dict[str | None, Member] = {}
        self._at = ""  # of a member whose run has not begun
        self._last: Member | None = None  # whose record is taken
        self._kinds: dict[int, Kind] = {}  # of tables that followers keep

    def take(self, record: Record) -> None:
        """Take the next record: begin or end a member, or let its follower take it."""
        name, line = record
        self._last = self._present.get(name)
        if self._last is None:
            self._begin(record)
        else:
            self._last.follower.take(line)
            if line["kind"] == "left":
                del self._present[name]
        if name is not None:  # the next line may be wrong before it is known whose it is
            self._last = None

    def _begin(self, record: Record) -> None:
        name, line = record
        self._at = "" if name is None else f"member {name!r}, round 1: "
        member = Member(name, Follower(line, self._kinds))
        if line["kind"] == "joined":
            member.follower.events.append((1, "joined"))
        self._at, self._last = "", member
        self._present[name] = member
        self._all.append(member)

    @property
    def place(self) -> str:
        """The member and the round of the record that is taken, as a sentence begins with them."""
        if self._last is None:
            return self._at
        name, follower = self._last
        member = "" if name is None else f"member {name!r}, "
        return f"{member}round {follower.t}: "

    def judge(self, *, is_right: bool) -> tuple[Judgement, ...]:
        """Return what was found of each member, in the order in which they came.

        Args:
            is_right: whether nothing is wrong; else it is in the record that was taken last.
        """
        found = []
        for member in self._all:
            name, follower = member
            wrong = follower.t if not is_right and member is self._last else None
            sets = (frozenset(follower.uncertified), frozenset(follower.unjudged))
            refuted = frozenset(each.round for each in follower.all_refutations)
            found.append(Judgement(name, follower.t - 1, *sets, wrong, refuted))
        return tuple(found)

    # --- what is said ----------------------------------------------------------------------------

    @property
    def is_fleet(self) -> bool:
        """Whether members have names; where there is none, it is a fleet."""
        return all(member.name is not None for member in self._all)

    def describe_rounds(self) -> list[str]:
        """Return how many rounds are certified, and then which are not checked and why."""
        followers = [member.follower for member in self._all]
        certified = sum(follower.certified for follower in followers)
        rounds = sum(follower.t - 1 for follower in followers)
        if not self.is_fleet:
            gaps = sorted(followers[0].unjudged.items())
            said = f"{self._verdict}: {certified} of {rounds} rounds; the first is the start"
            return [said, *(f"not checked: round {t}: {why}" for t, why in gaps)]
        what = "1 member" if len(followers) == 1 else f"{len(followers)} members"
        said = (
            f"{self._verdict}: {certified} of {rounds} rounds of {what}; the first of each is its "
            "start"
        )
        return [said, *self._describe_gaps()]

    @property
    def _verdict(self) -> str:
        """What "certified" rests on, in words."""
        followers = [member.follower for member in self._all]
        count = sum(len(follower.estimates) for follower in followers)
        given = f"{count} estimate{'' if count == 1 else 's'}" if count else ""
        if any(follower.all_refutations for follower in followers):
            words = "certified given the constants of each piece"
            return f"{words}, with {given}" if given else words
        return f"certified given {given}" if given else "certified"

    def _describe_gaps(self) -> list[str]:
        """Return which rounds of a fleet are not checked: the first ones, and how many more."""
        gaps = [(name, *gap) for name, follower in self._all for gap in _find_gaps(follower)]
        kept = gaps if len(gaps) <= _LISTED else gaps[: _LISTED - 1]
        said = []
        for name, first, last, why in kept:
            rounds = f"round {first}" if first == last else f"rounds {first} to {last}"
            said.append(f"not checked: member {name!r}, {rounds}: {why}")
        if rest := gaps[len(kept) :]:
            count = sum(last - first + 1 for _, first, last, _ in rest)
            members = len({name for name, *_ in rest})
            said.append(f"not checked: {count} rounds more, of {members} members")
        return said

    def describe_players(self) -> tuple[str, ...]:
        """Return the players that played, with all their constants; of a fleet each once."""
        groups: dict[tuple[int, str], list[tuple[str | None, str]]] = {}
        for name, follower in self._all:
            for t, player in follower.players.items():
                words, start = _describe_player(player)
                groups.setdefault((t, words), []).append((name, start))
        said = self._describe_plants()
        for (t, words), several in groups.items():
            names, starts = zip(*several, strict=True)
            start = starts[0] if len(set(starts)) == 1 else "its own start, each"
            said.append(f"constants: {_name_all(names)}from round {t}: {words}, from {start}")
        return tuple(said)

    def _describe_plants(self) -> list[str]:
        """Return what plant files say, in engineering units; what is the same of many once."""
        groups: dict[tuple[int, str], list[str | None]] = {}
        for name, follower in self._all:
            for t, player in follower.players.items():
                for words in () if player.plant is None else player.plant.words:
                    groups.setdefault((t, words), []).append(name)
        return [f"plant: {_name_all(n)}from round {t}: {words}" for (t, words), n in groups.items()]

    def describe_events(self) -> tuple[str, ...]:
        """Return what was ordered, and of a fleet who joined and left; the same of many once."""
        groups: dict[tuple[int, str], list[str | None]] = {}
        said = []
        for name, follower in self._all:
            for t, what in follower.all_events:
                if name is None:
                    said.append(f"order: round {t}: {what}")
                else:
                    groups.setdefault((t, what), []).append(name)
        said += [f"order: {_name_all(n)}round {t}: {what}" for (t, what), n in groups.items()]
        for name, follower in self._all:
            member = "" if name is None else f"member {name!r}: "
            said += [f"refuted: {member}{found}" for found in follower.all_refutations]
        return tuple(said)


def _find_gaps(follower: Follower) -> Iterator[tuple[int, int, str]]:
    """Yield the rounds that are not checked, as many as follow each other for the same reason."""
    gap: tuple[int, int, str] | None = None
    for t, why in sorted(follower.unjudged.items()):
        if gap is not None and (t, why) == (gap[1] + 1, gap[2]):
            gap = (gap[0], t, why)
            continue
        if gap is not None:
            yield gap
        gap = (t, t, why)
    if gap is not None:
        yield gap


def _describe_player(player: Player) -> tuple[str, str]:
    """Return a player and its start in words."""
    try:
        return player.words, player.start_words
    except RecursionError:  # whoever writes a file can nest as deep as JSON allows
        return "a player that is nested too deep to be shown", "its start"


def _name_all(names: tuple[str | None, ...] | list[str | None]) -> str:
    """Return members as a sentence begins with them; nothing of a controller."""
    if names[0] is None:
        return ""
    several = ", ".join(map(repr, names[:_NAMED]))
    if len(names) > _NAMED:
        several += f" and {len(names) - _NAMED} more"
    return f"{'member' if len(names) == 1 else 'members'} {several}: "
