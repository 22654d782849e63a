"""Follow a journal line by line, and judge every action before it is played."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .exact import (
    Bounds,
    Point,
    UnjudgedError,
    WrongError,
    dot,
    least,
    minus,
    number,
    vector,
)
from .kind import Certificate, Kind, Reading
from .known_sets import refuse_outside
from .players import Player
from .return_path import certify_way, claims_nothing, confirm_way

__all__ = ["Follower"]

_STEEP = 1 + Fraction(1, 2**38)
"""What rounding may make of a step as long as its ramp."""
_KEPT = 3
"""How many readings a step may rest on: one that somebody else caused need not be used."""


class Places:
    """The least that is known of g at each action, in every round from then on.

    What is known of one action ages at one rate, whenever it was learnt: so one number is enough.
    """

    def __init__(self, drift: Fraction) -> None:
        self.drift = drift
        self.known: dict[tuple[Fraction, ...], Bounds] = {}

    def learn(self, x: Point, bounds: Bounds, t: int) -> None:
        """Keep what g is at most at an action in round t."""
        first = [up - self.drift * t for up in bounds]
        self.known[tuple(x)] = least(first, self.known.get(tuple(x))) or first

    def forget(self, x: Point) -> None:
        """Keep nothing of an action."""
        self.known.pop(tuple(x), None)

    def level(self, x: Point, t: int) -> Bounds | None:
        """Return what g is at most at an action in round t; None where nothing is known."""
        found = self.known.get(tuple(x))
        return None if found is None else [up + self.drift * t for up in found]


class Follower:
    """What is known of a run, line by line; :class:`surefoot.controller.check.kind.Run` has more.

    Args:
        header: the first line.

    Attributes:
        action: the one at hand, for round t.
        current: the bounds on g there in round t, by its certificate; None where it has none.
        is_halted: whether the player takes no step until it is resumed.
        on_contradiction: what the player does after a contradiction.
        certified: how many rounds were certified before they were played.
        unjudged: by round, why it is not judged.
        players: by round, what was played from there on.
        events: by round, what an operator or a contradiction did.
    """

    t: int
    certified: int
    is_halted: bool
    player: Player
    kind: Kind
    drift: Fraction
    start: Point
    start_bound: Fraction | None
    delay: int
    d: int
    action: Point
    is_inherited: bool
    read: Places
    proved: Places

    def __init__(self, header: dict[str, Any]) -> None:
        self.t, self.certified, self.is_halted = 1, 0, False
        self.on_contradiction = header.get("on_contradiction")
        self.unjudged: dict[int, str] = {}
        self.players: dict[int, Player] = {}
        self.events: list[tuple[int, str]] = []
        self._begin(header)
        self._compare_state(header)

    def _begin(self, line: dict[str, Any]) -> None:
        """Begin with a player at its start: what was proved by another is not by it."""
        player = self.players[self.t] = Player(line)
        self.player, self.kind, self.drift = player, player.kind, player.drift
        self.start, self.start_bound, self.delay = player.start, player.start_bound, player.delay
        self.d, self.action = len(self.start), self.start
        self.current: Bounds | None = None
        self.is_inherited = False
        self.told_errors: dict[int, dict[str, Any]] = {}  # by round of a reading, as told with it
        self.read, self.proved = Places(self.drift), Places(self.drift)
        # By action, what was read there at most, less the drift from round 0 to that round.
        self.levels_read: dict[tuple[Fraction, ...], Fraction] = {}
        self.readings: dict[int, Reading] = {}
        self.heard: set[int] = set()  # the rounds whose reading was told to a player that runs
        self.used: dict[int, int] = {}  # by round of a reading, the step that took it
        self.firsts: dict[int, int] = {}  # by copy, the round of its first reading
        self.actions: dict[int, Point] = {}
        self.proofs: dict[int, Bounds] = {}  # by round, what was certified before it was played
        self.by_kind: set[int] = set()  # the rounds whose action has a certificate of the kind
        self.places: dict[int, Point] = {}
        self.here: tuple[Point, Bounds | None] = (self.start, None)
        if self.kind.in_contexts:
            self._take_context(line["loop"]["state"]["memory"]["context"])

    # --- what a kind of knowledge asks -----------------------------------------------------------

    @property
    def place(self) -> Point | None:
        """The context of the current round; None where it is not known."""
        return self.places.get(self.t)

    def level(self, x: Point) -> Bounds | None:
        """Return the least that is known of g at an action in the current round."""
        always = None
        if self.start_bound is not None and x == self.start:
            always = [self.start_bound] * self.kind.rows
        if self.kind.in_contexts:  # what was read elsewhere is that of another context
            return always
        return least(self.read.level(x, self.t), self.proved.level(x, self.t), always)

    def levels(self, reading: Reading) -> list[Bounds]:
        """Return what a player may count on where something was read, the least first."""
        aged = (self.t - reading.round) * self.drift
        found = [self.level(reading.x)]
        found += [[up + aged for up in bounds] for bounds in (reading.own, reading.raw)]
        return [bounds for bounds in found if bounds is not None]

    def level_in(self, reading: Reading, t: int) -> Bounds:
        """Return what g was at most in another round, where something was read."""
        aged = [up + abs(t - reading.round) * self.drift for up in reading.own]
        return aged if self.drift else least(aged, self.level(reading.x)) or aged

    def round_of(self, count: Any) -> int:
        """Return the round of a reading, from the count of the copy that takes the step."""
        turns, step = self.player.turns, self.t - 1
        ahead = self.delay if turns == 1 else 0  # one player, that counts what it has waited
        whole = number(count, "a round")
        return int(self.firsts.get(step % turns, 1) + (whole - 1) * turns + ahead)

    def first(self) -> Reading:
        """Return the first reading that the player took a step with."""
        if not self.used:
            raise WrongError("it rests on a reading, and nothing was read")
        return self.readings[min(self.used)]

    def last(self) -> list[Reading]:
        """Return the readings that the last step may rest on, the latest first."""
        turns, step = self.player.turns, self.t - 1
        rounds = [i for i, when in self.used.items() if (step - when) % turns == 0]
        rounds = sorted(rounds, reverse=True)
        own = (k for k, i in enumerate(rounds, start=1) if i in self.proofs)
        return [self.readings[i] for i in rounds[: next(own, len(rounds)) + _KEPT]]

    # --- lines -----------------------------------------------------------------------------------

    def take(self, line: dict[str, Any]) -> None:
        """Take the next line."""
        if "round" in line and line["round"] != self.t:
            raise WrongError(f"its record is missing, got that of {line['round']!r}")
        take = getattr(self, f"_take_{line['kind']}", None)
        if take is not None:
            take(line)
        if "loop" in line:
            self._compare_state(line)

    def _compare_state(self, line: dict[str, Any]) -> None:
        """Raise unless a stored state is that of the action at hand."""
        loop = line["loop"]
        if loop["round"] != self.t:
            raise WrongError(f"a stored state is that of round {loop['round']!r}")
        if vector(loop["state"]["x"], self.d, "the action of a stored state") != self.action:
            raise WrongError("a stored state has another action than the one at hand")
        if (loop["halt"] is not None) != self.is_halted:
            raise WrongError("a stored state is halted and the player is not, or it is not")

    def _take_journal(self, line: dict[str, Any]) -> None:
        """Take the first line of a later file."""
        if line["rounds"] != self.t - 1:
            raise WrongError(f"a file says that {line['rounds']!r} rounds came before it")
        self._refuse_another(line)

    def _refuse_another(self, line: dict[str, Any]) -> None:
        """Raise where a line has another player than the one that plays."""
        if any(line[name] != part for name, part in self.player.encoded.items()):
            raise WrongError("another player must come with a fresh start, by a resume")

    def _take_snapshot(self, line: dict[str, Any]) -> None:
        """Take a snapshot: its state is compared."""
        if "loop" not in line:
            raise WrongError("a snapshot has no state")

    def _take_refused(self, line: dict[str, Any]) -> None:
        """Take a refusal: what was known of the action at hand does not stand."""
        self.current = None
        self.proved.forget(self.action)
        self.proofs.pop(self.t, None)
        self.unjudged[self.t] = "a reading at its action was refused"

    def _take_announce(self, line: dict[str, Any]) -> None:
        """Take the context of the current round."""
        if self.kind.certificates and not self.kind.in_contexts:
            raise WrongError("a context is told to a player that knows none")
        self._take_context(line["context"])
        self.current = None
        self._judge(line, self.action)

    def _take_hold(self, line: dict[str, Any]) -> None:
        """Take an order to hold."""
        self._halt(f"ordered to {line['kind']}", self.t)
        self._judge(line, self.action)

    _take_retreat = _take_hold

    def _halt(self, why: str, t: int) -> None:
        self.is_halted = True
        self.events.append((t, why))

    def _take_resume(self, line: dict[str, Any]) -> None:
        """Take an order to go on, perhaps with another player, from its start."""
        p = vector(line["next"], self.d, "next")
        self.is_halted = False
        self.on_contradiction = line.get("on_contradiction", self.on_contradiction)
        if not line.get("fresh"):
            if "player" in line:  # other policies
                self._refuse_another(line)
            if p != self.action:
                raise WrongError("a resume without another player moves the action")
            return
        # It starts where something was read, by whatever player, or is known for ever.
        known = None if self.kind.in_contexts else self.read.level(p, self.t)
        always = self.start_bound is not None and p == self.start
        known = least(known, [self.start_bound or Fraction(0)] * self.kind.rows if always else None)
        t, unjudged = self.t, self.unjudged
        self._begin(line)
        self.events.append((t, "resumed with another player"))
        if p != self.start:
            raise WrongError("another player must begin at its start")
        self.current, self.is_inherited = least(known, self.level(p)), True
        unjudged.pop(t, None)
        if self.current is None or max(self.current) > 0:
            self.current, unjudged[t] = None, "another player starts where nothing is known"

    # --- a round ---------------------------------------------------------------------------------

    def _take_context(self, context: Any) -> None:
        """Keep the context of the current round; where it is not told yet, nothing is certified."""
        self.places.pop(self.t, None)
        self.unjudged.pop(self.t, None)
        if context is not None:
            self.places[self.t] = [number(part, "context") for part in context["place"]]

    def _take_round(self, line: dict[str, Any]) -> None:
        """Take a round: what was read in it, and the next action."""
        t, x = self.t, self.action
        if "round" not in line:
            raise WrongError("a line says a round and not which")
        is_own = "played" in line and vector(line["played"], self.d, "played") != x
        if is_own:
            x = vector(line["played"], self.d, "played")
            self.current = None
            self.by_kind.discard(t)
            self.unjudged[t] = "another action was played than the one asked for"
        proved, self.actions[t] = self.current, x
        self.certified += proved is not None
        if proved is not None and not self.is_inherited:
            self.proofs[t] = proved
        is_step = "how" not in line
        if is_step and (line.get("missing") or self.is_halted):
            raise WrongError("a step was taken in a round that was halted or not measured")
        reading = None
        if line.get("constraint_value") is not None:
            reading = self._read(line, t - self.delay if self.player.is_late else t)
            if is_step:
                self.heard.add(reading.round)
        if is_step:
            self._use(t - self.delay)
        self.kind.count(reading, proved, is_own, self)
        aged = None if proved is None else [up + self.drift for up in proved]
        self.t, self.current = t + 1, None
        if self.kind.in_contexts:
            self._take_context(line.get("context"))
            aged = None  # that of another context
        self.is_inherited = self.is_inherited and aged is not None and reading is None
        if not is_step:
            self._find_event(line, reading, is_own or proved is None)
        self._judge(line, x, aged if self.is_inherited else None, is_step)

    def _find_event(self, line: dict[str, Any], reading: Reading | None, unproved: bool) -> None:
        """Raise unless something says why the rule has taken no step."""
        why = line.get("why") or {}
        if self.is_halted or line.get("missing"):
            return
        policy = why.get("policy")
        is_ordered = policy in ("hold", "retreat") and policy == self.on_contradiction
        if is_ordered and (line.get("breaches") or why.get("causes")):
            self._halt("halted by a contradiction", self.t - 1)
            return
        violates = unproved and reading is not None
        if reading is not None and self.kind.certificates:  # else its errors are not known
            violates = unproved and max(reading.raw) > 0
        if violates:
            return
        raise WrongError("a return path is taken, and no order, halt or missing round says why")

    def _read(self, line: dict[str, Any], i: int) -> Reading:
        """Keep what was read in round i, and the least of it and of what was proved before."""
        kind, player, x = self.kind, self.player, self.actions.get(i, self.start)
        g: Any = line["constraint_value"]
        g = [number(part, "constraint_value") for part in (g if isinstance(g, list) else [g])]
        if kind.certificates and len(g) != kind.rows:
            raise WrongError("constraint_value must have an entry per row")
        value, slope = line.get("value_error"), line.get("slope_error")
        error = player.value if value is None else number(value, "value_error", 0)
        tau = player.slope if slope is None else number(slope, "slope_error", 0)
        told = {"value": value, "slope": slope}
        self.told_errors[i] = {name: part for name, part in told.items() if part is not None}
        raw, low = ([part + sign * (error + kind.noise) for part in g] for sign in (1, -1))
        before = self.proofs.get(i)
        slopes = self._slopes(line.get("constraint_subgradient"))
        reading = Reading(i, x, raw, least(raw, before) or raw, low, slopes, tau)
        if not kind.certificates or not kind.holds(x):
            return reading
        if not kind.in_contexts and (i == self.t or not self.drift):
            before = least(before, self.read.level(x, i), self.proved.level(x, i))
        if self.start_bound is not None and x == self.start:
            before = least(before, [self.start_bound] * kind.rows)
        for row, most in enumerate(before or ()):
            if low[row] > most + kind.tolerance(reading, row):
                words = "what was read contradicts what was certified or is known"
                raise WrongError(f"{words}: a constant is wrong")
        self.readings[i] = reading
        self.read.learn(x, reading.own, i)
        if not kind.in_contexts:
            level, place = max(g) + error + kind.evaluation - i * self.drift, tuple(x)
            self.levels_read[place] = min(level, self.levels_read.get(place, level))
        return reading

    def _use(self, i: int) -> None:
        """Let the player take a step with the reading of round i, where there is one."""
        if i not in self.readings or i not in self.heard:
            return
        copy, is_start = (i + self.delay) % self.player.turns, self.readings[i].x == self.start
        if self.delay and self.start_bound is not None and copy not in self.firsts and not is_start:
            return  # the copy waits until its start was read
        if not self.used and self.kind.needs_start and max(self.readings[i].raw) >= 0:
            raise WrongError("the start is not strictly feasible")
        self._search(self.readings[i])
        self.used[i] = i + self.delay
        self.firsts.setdefault(copy, i)

    def _search(self, reading: Reading) -> None:
        """Find what was known of an action before it was read, where no certificate says so.

        That is so of what somebody else played and of return paths; and, with a delay, of what was
        read since the certificate. It matters where readings err, or g drifts.
        """
        i, turns = reading.round, self.player.turns
        is_exact = reading.raw == reading.low or not (
            self.drift or reading.tau or reading.raw[0] - reading.low[0] > 2 * self.kind.noise
        )
        if is_exact or (i in self.by_kind and not self.delay and not self.kind.in_contexts):
            return
        earlier = [
            j for j, when in sorted(self.used.items()) if (when - i - self.delay) % turns == 0
        ]
        found = self.kind.search(self, reading, [self.readings[j] for j in earlier])
        if found is not None:
            own = least(reading.own, found) or found
            self.readings[i] = reading._replace(own=own)
            self.read.learn(reading.x, own, i)

    def _slopes(self, s: Any) -> list[Point] | None:
        """Return the subgradients that were read, one per row; None where none was."""
        rows = s if isinstance(s, list) and s and isinstance(s[0], list) else [s]
        return None if s is None else [vector(r, self.d, "constraint_subgradient") for r in rows]

    # --- an action -------------------------------------------------------------------------------

    def _judge(
        self, line: dict[str, Any], x: Point, aged: Bounds | None = None, is_step: bool = False
    ) -> None:
        """Find why the next action of a line is certified for the current round.

        Args:
            line: which brings it.
            x: the action before it.
            aged: what another player knew of x, where this one has read nothing yet.
            is_step: whether the rule took a step, rather than an order or a return path.
        """
        p, c = vector(line["next"], self.d, "next"), line["certificate"] or {}
        if is_step and c.get("class") == "ReturnPath":
            raise WrongError("a return path is taken, and no order, halt or missing round says why")
        inherited = self.current if self.is_inherited else None
        self.here = (x, least(self.level(x), aged, inherited))
        stays = self.current if p == self.action and line["kind"] != "announce" else None
        self.action = p
        try:
            known = least(self.level(p), aged if p == x else None, stays)
            self.current = self._certify(p, c, known)
            if not self.is_inherited or p != x:
                self.is_inherited = False
                self.proved.learn(p, self.current, self.t)
            self.unjudged.pop(self.t, None)
            if c.get("class") in self.kind.certificates:
                self.by_kind.add(self.t)
                if is_step:
                    self._confirm_errors(c)
            self._check_sets(p, c, line.get("within") if is_step else None)
        except UnjudgedError as why:
            self.unjudged[self.t], self.current = str(why), None
        if c and (is_step or (line["kind"] == "round" and self.player.keeps_ramp)):
            self._check_ramp(minus(p, x))

    def _certify(self, p: Point, c: Certificate, known: Bounds | None) -> Bounds:
        """Return the bounds on g at an action, which are at most what the next g may be."""
        name, kind = c.get("class"), self.kind
        limit = kind.limit()
        if name == "ReturnPath":
            is_known = known is not None and max(known) <= limit
            if claims_nothing(c):
                if not is_known:
                    raise UnjudgedError("nothing is proved of it, as its return path says")
            elif known is None or not is_known or number(c["bound"], "bound") < max(known):
                known = least(known, certify_way(self, kind, p, c))
        elif name in kind.certificates:
            known = least(known, kind.certify(self, p, c))
        if known is None or not kind.certificates:
            raise UnjudgedError(f"the {name or 'choice'} of this player is not judged")
        # Where g was read, its value is known as it was computed, however that is rounded.
        read = self.levels_read.get(tuple(p))
        is_read = limit >= 0 and read is not None and read + self.t * self.drift <= 0
        if max(known) > limit and not is_read:
            if name is None:
                raise UnjudgedError("nothing is proved of it, and it has no certificate")
            if name not in ("ReturnPath", *kind.certificates):
                raise UnjudgedError(f"the {name} of this player is not judged")
            raise WrongError(f"its action is not certified: g may be {float(max(known)):.3g}")
        if name == "ReturnPath":
            confirm_way(self, kind, p, c, known)
        elif name in kind.certificates:
            kind.confirm(self, p, c)
        return known

    def _confirm_errors(self, c: Certificate) -> None:
        """Raise unless a certificate counts with the errors of the player, or of its round."""
        i = self.t - 1 - self.delay
        told = self.told_errors[i] if i in self.heard else {}
        if c["errors"] != self.player.errors | told:
            raise WrongError("its certificate has other errors than the player or its round")

    def _check_sets(self, p: Point, c: Certificate, within: Any) -> None:
        """Raise unless an action is in the domain, and in a set that was announced for it."""
        for known_set in (self.kind.domain, within):
            if known_set is not None and c:  # else it is no action yet
                refuse_outside(known_set, p)

    def _check_ramp(self, step: Point) -> None:
        """Raise unless a step is no longer than the ramp, up to rounding."""
        ramp = self.player.ramp
        if isinstance(ramp, list):
            fits = all(abs(a) <= b * _STEEP for a, b in zip(step, ramp, strict=True))
        else:
            fits = ramp is None or dot(step, step) <= (ramp * _STEEP) ** 2
        if not fits:
            raise WrongError("its action is further from the last than the ramp")
