r"""Check a journal: was every action certified before it was played? It trusts nobody.

Run as ``surefoot check FILE``, or by itself, ``python path/to/check FILE``: this folder needs the
standard library alone. A journal passes if all of this is so:

1. Every line has the digest that it must have, only keys that are known, and each of them once
   (``lines``, ``keys``). Of a fleet each line is records of its members (``fleet``, ``columns``),
   and each member is judged by itself (``members``).
2. Every constant is that of the player in the journal, its one source, and is printed with the
   round from which it is used; only a resume with another player changes it (``players``).
3. Every stored state has the action at hand (``following``).
4. Every action is certified by the inequality of its kind of knowledge, in exact rationals, at the
   float64 action itself, from what was read; it is in its set and no further from the last than
   its ramp (``following``). What is known of g at an action is the least of all readings there,
   with their errors, and of what was certified there, aged by the drift.
5. The numbers that a certificate states are those of its inequality.
6. An action off the rule's own steps is on a return path, and an order, a halt or a round without
   a measurement says why (``way_back``).
7. No reading is above what was certified before, by more than rounding explains, row by row.

One file per kind of knowledge has its inequality:

=============  =================================================================================
``hull``       two balls: values, G_g, a convex g
``average``    the same, for what the rounds so far have left
``length``     a ball around the action drawn back, and what is left of a distance
``curvature``  a quadratic bound, for each row; ``relative``: as far as it holds
``log``        a mean of points of a log
``context``    a mean of rounds, with what g can rise by between their contexts
``together``   several constraints, each by its own kind, constants and readings
``way_back``   a controller's own: to hold, and to go back to an action that was measured
=============  =================================================================================

*If it says "certified", the constants are right, readings err by at most what the player says, and
g at the start is below 0 by more than that, then g <= 0 in every certified round*
(docs/journal.md); of a limit on the average, the sum of the values read so far. Anchors, shares and
weights of a certificate are hints: any that fulfil an inequality do. Roots are rounded up. What it
cannot judge it calls "not checked", with the rounds; what it takes on trust, :data:`TRUSTED` says.
"""

from __future__ import annotations

from typing import NamedTuple

from .exact import WrongError
from .lines import read_records
from .members import Judgement, Members

__all__ = ["TRUSTED", "Judgement", "Report", "check"]

TRUSTED = (
    "taken on trust: what was read (values, slopes, contexts and their errors), costs and "
    "proposals, clocks, notes and reasons, guarantees, what proposes, and of stored states all but "
    "their round, their action and whether they are halted"
)


_LONGEST = 400
"""How long a sentence about an error may be: it may quote what a file says."""


class Report(NamedTuple):
    """What was found in a journal; its ``str`` has a line for each sentence.

    Attributes:
        is_right: whether nothing is wrong with it.
        said: the verdict, and then each round that was not checked.
        constants: each player with the round that it plays from: all constants that were used.
        events: each order, halt and resume with its round.
        trusted: what was not checked of any journal.
        members: what was found of the rounds of each member, in the order in which they came.
    """

    is_right: bool
    said: list[str]
    constants: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    trusted: str = TRUSTED
    members: tuple[Judgement, ...] = ()

    @property
    def code(self) -> int:
        """The exit code: 0 all is certified, 1 something is wrong, 3 some is not checked."""
        return 1 if not self.is_right else 3 if len(self.said) > 1 else 0

    def __str__(self) -> str:
        return "\n".join([*self.said, *self.constants, *self.events, self.trusted])


def check(path: str) -> Report:
    """Return what is found in a journal, of all its files and of all its members."""
    members = Members()
    try:
        for record in read_records(path):
            members.take(record)
    except Exception as error:  # whoever writes a file can put anything into it
        words = str(error) if isinstance(error, WrongError) else f"it cannot be read: {error!r}"
        said, is_right = [f"NOT CERTIFIED: {members.place}{words[:_LONGEST]}"], False
    else:
        said, is_right = members.describe_rounds(), True
    found = (said, members.describe_players(), members.describe_events())
    said, constants, events = ([_print_on_one_line(words) for words in part] for part in found)
    judged = members.judge(is_right=is_right)
    return Report(is_right, said, tuple(constants), tuple(events), members=judged)


def _print_on_one_line(words: str) -> str:
    """Return a sentence with what is no sign of a line in ASCII: names are as a file has them."""
    if words.isprintable():
        return words
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in words)
