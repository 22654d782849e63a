"""Follow the records of one member, and judge every action before it is played."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from .amending import Amendment, confirm_amendment
from .context import Contexts
from .exact import (
    Bounds,
    Point,
    UnjudgedError,
    WrongError,
    dot,
    least,
    minus,
    number,
    numbers,
    vector,
)
from .kind import Certificate, Kind, Reading, close
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

    def __init__(self, drifts: list[Fraction]) -> None:
        self.drifts = drifts
        self.known: dict[tuple[Fraction, ...], Bounds] = {}

    def learn(self, x: Point, bounds: Bounds, t: int) -> None:
        """Keep what g is at most at an action in round t."""
        first = _age(bounds, self.drifts, -t)
        self.known[tuple(x)] = least(first, self.known.get(tuple(x))) or first

    def forget(self, x: Point) -> None:
        """Keep nothing of an action."""
        self.known.pop(tuple(x), None)

    def level(self, x: Point, t: int) -> Bounds | None:
        """Return what g is at most at an action in round t; None where nothing is known."""
        found = self.known.get(tuple(x))
        return None if found is None else _age(found, self.drifts, t)


def _age(bounds: Bounds, drifts: list[Fraction], rounds: int) -> Bounds:
    """Return bounds that rise by the drift of each row for some rounds; most limits do not move."""
    if not any(drifts):
        return bounds
    return [up + drift * rounds for up, drift in zip(bounds, drifts, strict=True)]


class Refutation(NamedTuple):
    """A reading that no constants in use explain.

    Attributes:
        round: in which it was made.
        since: the first round in which these constants were used.
        said: the round in which the journal says so; None if it never does.
    """

    round: int
    since: int
    said: int | None

    def __str__(self) -> str:
        words = f"round {self.round} refuted the constants in use from round {self.since} on"
        if self.said == self.round:
            return words
        when = "never says" if self.said is None else f"says in round {self.said}"
        return f"{words}, which the journal {when}"


class Follower:
    """What is known of a run, line by line; :class:`surefoot.controller.check.kind.Run` has more.

    Args:
        header: the first line.
        kinds: what is known by other members; see :class:`Player`.

    Attributes:
        action: the one at hand, for round t.
        current: the bounds on g there in round t, by its certificate; None where it has none.
        claims_nothing: whether its certificate is a return path that leaves g unknown there.
        is_halted: whether the player takes no step until it is resumed.
        on_contradiction: what the player does after a contradiction.
        certified: how many rounds were certified before they were played.
        uncertified: the rounds that were not; of these the first is the start.
        unjudged: by round, why it is not judged.
        players: by round, what was played from there on.
        events: by round, what an operator or a contradiction did.
        amendments: what changed what is known of a plant.
        refutations: the readings that refuted the constants in use.
        is_ordered: whether an operator ordered the halt.
        contradicted: the first round in which the journal itself says that a premise of feasibility
            broke, since the player began; None if it does not.
        is_refuted: whether a reading did, since then: then the constants decide nothing any more.
        doubted: the round whose reading did, where the journal has not said so yet.
    """

    t: int
    certified: int
    is_halted: bool
    player: Player
    kind: Kind
    drift: Fraction
    drifts: list[Fraction]
    start: Point
    start_bound: Fraction | None
    start_bounds: list[Fraction | None]
    delay: int
    d: int
    action: Point
    is_inherited: bool
    claims_nothing: bool
    read: Places
    proved: Places
    contradicted: int | None
    doubted: int | None

    def __init__(self, header: dict[str, Any], kinds: dict[int, Kind] | None = None) -> None:
        self.kinds = kinds
        self.t, self.certified, self.is_halted = 1, 0, False
        self.on_contradiction = header.get("on_contradiction")
        self.uncertified: set[int] = set()
        self.unjudged: dict[int, str] = {}
        self.players: dict[int, Player] = {}
        self.events: list[tuple[int, str]] = []
        self.amendments: list[Amendment] = []
        self.refutations: list[Refutation] = []
        self.is_ordered, self.doubted, self.began = False, None, 1
        self._begin(header)
        if self.player.plant is not None and not self.player.plant.is_first:
            raise WrongError("a plant must begin with the factor 1 and all recoveries")
        self._compare_state(header)

    def _begin(self, line: dict[str, Any]) -> None:
        """Begin with a player at its start: what was proved by another is not by it."""
        self.refutations = self.all_refutations
        before = next(reversed(self.players.values()), None)
        player = self.players[self.t] = Player(line, self.kinds)
        self.player, self.kind, self.drift = player, player.kind, player.errors.drift
        for row in self.kind.settling:
            row.begin(player.start, None if before is None else before.reach)
        self.drifts = [row.drift for row in player.rows]
        self.start, self.delay, self.start_bounds = player.start, player.delay, player.start_bounds
        bounds = [bound for bound in self.start_bounds if bound is not None]
        self.start_bound = max(bounds) if len(bounds) == len(self.start_bounds) else None
        self.d, self.action, self.began = len(self.start), self.start, self.t
        self.is_refuted = self.is_start_refuted = False
        self.contradicted, self.doubted = None, None
        self.stated: dict[int, Bounds] = {}  # by round, the bounds that its certificate states
        self.current: Bounds | None = None
        self.is_inherited, self.claims_nothing = False, False
        self.told_errors: dict[int, dict[str, Any]] = {}  # by round of a reading, as told with it
        self.read, self.proved = Places(self.drifts), Places(self.drifts)
        self.levels_read = Places(self.drifts)  # however a value is rounded
        self.readings: dict[int, Reading] = {}
        self.heard: set[int] = set()  # the rounds whose reading was told to a player that runs
        self.used: dict[int, int] = {}  # by round of a reading, the step that took it
        self.firsts: dict[int, int] = {}  # by copy, the round of its first reading
        self.actions: dict[int, Point] = {}
        self.proofs: dict[int, Bounds] = {}  # by round, what was certified before it was played
        self.by_kind: set[int] = set()  # the rounds whose action has a certificate of the kind
        self.places: dict[int, Point] = {}
        self.last_known: int | None = None  # the last round whose context was known, under a ramp
        self.here: tuple[Point, Bounds | None] = (self.start, None)
        if self.kind.in_contexts:
            self._take_context(
                line["loop"]["state"]["memory"]["context"] or self.kind.first_context
            )

    # --- what is said at the end -----------------------------------------------------------------

    @property
    def all_events(self) -> list[tuple[int, str]]:
        """The events, and the amendments with the rounds that were certified before and since."""
        amended = [
            (t, f"{words}; {before} certified before, {self.certified - before} since")
            for t, words, before in self.amendments
        ]
        return sorted([*self.events, *amended], key=lambda event: event[0])

    @property
    def all_refutations(self) -> list[Refutation]:
        """The refutations, also one that the journal does not say."""
        if self.doubted is None:
            return self.refutations
        return [*self.refutations, Refutation(self.doubted, self.began, None)]

    @property
    def estimates(self) -> set[str]:
        """The paths of all constants of plants that are estimates."""
        plants = [player.plant for player in self.players.values() if player.plant is not None]
        return {path for plant in plants for path in plant.described.estimates}

    # --- what a kind of knowledge asks -----------------------------------------------------------

    @property
    def place(self) -> Point | None:
        """The context of the current round; None where it is not known."""
        return self.places.get(self.t)

    def level(self, x: Point) -> Bounds | None:
        """Return the least that is known of g at an action in the current round."""
        always = self._always if x == self.start else None
        if self.kind.in_contexts:  # what was read elsewhere is that of another context
            return always
        return least(self.read.level(x, self.t), self.proved.level(x, self.t), always)

    @property
    def _always(self) -> Bounds | None:
        """What every row is at most at the start for ever; None where one row does not say."""
        bounds = [bound for bound in self.start_bounds if bound is not None]
        return bounds if len(bounds) == len(self.start_bounds) else None

    def levels(self, reading: Reading) -> list[Bounds]:
        """Return what a player may count on where something was read, the least first."""
        rounds, found = self.t - reading.round, [self.level(reading.x)]
        found += [_age(bounds, self.drifts, rounds) for bounds in (reading.own, reading.raw)]
        return [bounds for bounds in found if bounds is not None]

    def level_in(self, reading: Reading, t: int) -> Bounds:
        """Return what g was at most in another round, where something was read."""
        aged = _age(reading.own, self.drifts, abs(t - reading.round))
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
        if any(line.get(name) != part for name, part in self.player.encoded.items()):
            raise WrongError("another player must come with a fresh start, by a resume")

    def _take_file(self, line: dict[str, Any]) -> None:
        """Take the first line of a later file of a fleet, as far as it is about this member."""
        self._refuse_another(line)

    def _take_left(self, line: dict[str, Any]) -> None:
        """Take the end of a member."""
        self.events.append((self.t, "left"))

    def _take_snapshot(self, line: dict[str, Any]) -> None:
        """Take a snapshot: its state is compared."""
        if "loop" not in line:
            raise WrongError("a snapshot has no state")

    def _take_refused(self, line: dict[str, Any]) -> None:
        """Take a refusal: what was known of the action at hand does not stand.

        In a fleet a member whose numbers could not be used is refused, too: that breaks nothing.
        """
        if line.get("breaches") == []:
            return
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
        before, c = self.actions.get(self.t - 1), line["certificate"] or {}
        is_ramped = c.get("class") in self.kind.certificates and not self.is_halted
        is_ramped = is_ramped or (c.get("class") == "ReturnPath" and self.player.keeps_ramp)
        if before is not None and is_ramped:
            self._check_ramp(minus(self.action, before))
        if self.t == 1 and self.action == self.start:  # which nothing has to certify
            self.unjudged.pop(self.t, None)

    def _take_hold(self, line: dict[str, Any]) -> None:
        """Take an order to hold."""
        self._halt(f"ordered to {line['kind']}", self.t, is_order=True)
        self._judge(line, self.action)

    _take_retreat = _take_hold

    def _halt(self, why: str, t: int, *, is_order: bool = False) -> None:
        self.is_halted, self.is_ordered = True, is_order
        self.events.append((t, why))

    def _take_resume(self, line: dict[str, Any]) -> None:
        """Take an order to go on, perhaps with another player, from its start."""
        p, plant = vector(line["next"], self.d, "next"), self.player.plant
        if plant is not None and "player" in line:
            raise WrongError("what is known of a plant changes by an amendment alone")
        # The order ends; of a plant what was contradicted stands.
        stands = plant is not None and self.is_ordered and self.contradicted is not None
        self.is_halted = stands and self.on_contradiction == "retreat"
        self.is_ordered = False
        self.on_contradiction = line.get("on_contradiction", self.on_contradiction)
        if not line.get("fresh"):
            if "player" in line:  # other policies
                self._refuse_another(line)
            if p != self.action:
                raise WrongError("a resume without another player moves the action")
            return
        # It starts where something was read, by whatever player, or is known for ever.
        known = None if self.kind.in_contexts else self.read.level(p, self.t)
        known = least(known, self._always if p == self.start else None)
        t, unjudged = self.t, self.unjudged
        self._begin(line)
        self.events.append((t, "resumed with another player"))
        if p != self.start:
            raise WrongError("another player must begin at its start")
        self.current, self.is_inherited = least(known, self.level(p)), True
        unjudged.pop(t, None)
        if self.current is None or max(self.current) > 0:
            self.current, unjudged[t] = None, "another player starts where nothing is known"

    def _take_amend(self, line: dict[str, Any]) -> None:
        """Take a change of what is known of a plant, which begins anew at its start."""
        before = self.player.plant
        is_refuted = self.contradicted is not None or self.is_refuted
        obstacle = self._obstacle_to_recovery
        words = confirm_amendment(line, before, obstacle, is_refuted=is_refuted)
        self.amendments.append(Amendment(self.t, words, self.certified))
        action = self.action
        self._begin(line)
        if before is not None and self.player.plant is not None:
            before.refuse_jump(action, self.player.plant)
        self.is_halted = self.is_ordered  # which a resume ends
        self.on_contradiction = line.get("on_contradiction")
        self.current = self.level(self.start)
        if vector(line["next"], self.d, "next") != self.start:
            raise WrongError("an amendment must begin at the start of its plant")
        self._judge(line, self.start)

    @property
    def _obstacle_to_recovery(self) -> str:
        """Why a recovery is not due, in words; empty where it is."""
        if not self.is_halted or self.contradicted is None:
            return "nothing was contradicted that halted the plant"
        if self.is_ordered:
            return "an operator's order stands"
        if self.action != self.start:
            return "the plant is not at its start"
        return "its start was refuted" if self.is_start_refuted else ""

    # --- a round ---------------------------------------------------------------------------------

    def _take_context(self, context: Any) -> None:
        """Keep the context of the current round; where it is not told yet, nothing is certified."""
        self.places.pop(self.t, None)
        self.unjudged.pop(self.t, None)
        if context is not None:
            place = self.places[self.t] = [number(part, "context") for part in context["place"]]
            if self.player.plant is not None:
                self.player.plant.refuse_context(place)

    def _take_round(self, line: dict[str, Any]) -> None:
        """Take a round: what was read in it, and the next action."""
        if "round" not in line:
            raise WrongError("a line says a round and not which")
        is_own, is_step = self._take_action(line), "how" not in line
        x, proved = self.actions[self.t], self.current
        if is_step and (line.get("missing") or self.is_halted):
            raise WrongError("a step was taken in a round that was halted or not measured")
        if is_step and self.is_refuted:
            raise WrongError(f"{self._refuted} and the player goes on by them")
        if self.contradicted is None and self._says_contradiction(line):
            self.contradicted = self.t
        reading = self._take_reading(line, is_step)
        self.kind.count(reading, proved, is_own, self)
        aged = self._begin_next_round(line, None if self.is_refuted else proved, reading)
        if not is_step:
            self._find_event(line, reading, is_own or proved is None or self.claims_nothing)
        self._judge(line, x, aged, is_step)

    def _take_action(self, line: dict[str, Any]) -> bool:
        """Keep what was played and proved; return whether it is another action than asked for."""
        t, x = self.t, self.action
        self._refuse_jump()
        if self.current is None and t > 1 and self.kind.in_contexts:
            self.unjudged.setdefault(t, "its context was not told")
        if "played" in line:
            x = vector(line["played"], self.d, "played")
        is_own = x != self.action
        self._confirm_plant(line, x)
        if is_own:
            self.current = None
            self.by_kind.discard(t)
            self.unjudged[t] = "another action was played than the one asked for"
        self.actions[t] = x
        for row in self.kind.settling:
            row.move(x, t)
        if self.current is None:
            self.uncertified.add(t)
        else:
            self.certified += 1
            if not self.is_inherited:
                self.proofs[t] = self.current
        return is_own

    def _confirm_plant(self, line: dict[str, Any], x: Point) -> None:
        """Raise unless the value of g is that of the readings of a plant.

        A round at the start, of which a meter shows more than its margin allows, is not certified,
        though nothing was told to the player.
        """
        plant = self.player.plant
        if plant is None:
            return
        if line.get("constraint_value") is not None:
            plant.confirm_readings(line)
        elif x == self.start and plant.distrusts_start(line):
            self.current = None
            self.unjudged[self.t] = "a reading at the start was beyond what its margin allows"

    def _refuse_jump(self) -> None:
        """Raise where a context moved further than it changes, and a ramp counts on that."""
        kind, last, now = self.kind, self.last_known, self.place
        if now is None or self.player.ramp is None or not isinstance(kind, Contexts):
            return
        if last is not None and kind.find_jump(self.places[last], now, self.t - last):
            raise WrongError("a context moved further than it changes: a constant is wrong")
        self.last_known = self.t

    def _take_reading(self, line: dict[str, Any], is_step: bool) -> Reading | None:
        """Keep what was read, if anything, and let the player take its step with a reading."""
        t, reading = self.t, None
        if line.get("constraint_value") is not None:
            if self.kind.in_contexts and self.place is None:
                raise WrongError("something was read in a round whose context nobody knows")
            reading = self._read(line, t - self.delay if self.player.is_late else t, is_step)
            if is_step:
                self.heard.add(reading.round)
        if is_step:
            self._use(t - self.delay)
        return reading

    def _begin_next_round(
        self, line: dict[str, Any], proved: Bounds | None, reading: Reading | None
    ) -> Bounds | None:
        """Begin the next round; return what another player knew of the action, if it still counts.

        That is so until this one has read something, or another context comes.
        """
        self.t, self.current = self.t + 1, None
        if self.kind.in_contexts:
            self._take_context(line.get("context"))
            proved = None
        self.is_inherited = self.is_inherited and proved is not None and reading is None
        if proved is None or not self.is_inherited:
            return None
        return _age(proved, self.drifts, 1)

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

    def _read(self, line: dict[str, Any], i: int, is_step: bool) -> Reading:
        """Keep what was read in round i, and the least of it and of what was proved before."""
        kind, x = self.kind, self.actions.get(i, self.start)
        values = self._values(line["constraint_value"])
        errors, tau = self._take_errors(line, i)
        if not kind.certificates:  # what is not judged may have any number of rows
            return Reading(i, x, values, values, values, None, tau)
        each = list(zip(values, errors, kind.noises, strict=True))
        gaps = kind.gaps(self.t)
        raw, low = ([g + sign * (error + noise) for g, error, noise in each] for sign in (1, -1))
        raw = [up + above for up, (_, above) in zip(raw, gaps, strict=True)]
        low = [down - below for down, (below, _) in zip(low, gaps, strict=True)]
        slopes = self._slopes(line.get("constraint_subgradient"))
        reading = Reading(i, x, raw, least(raw, self.proofs.get(i)) or raw, low, slopes, tau)
        if not kind.holds(x):
            return reading
        if words := self._find_contradiction(reading):
            self._take_refutation(line, reading, words, is_step)
            if self.is_refuted:  # else the player goes on with what it has certified
                reading = reading._replace(own=raw)
        if self.is_refuted and (kind.in_contexts or self.drift):
            return reading
        self.readings[i] = reading
        self.read.learn(x, reading.own, i)
        if not kind.in_contexts:
            rounded = zip(values, errors, kind.evaluations, gaps, strict=True)
            levels = [g + error + off + above for g, error, off, (_, above) in rounded]
            self.levels_read.learn(x, levels, i)
        return reading

    def _values(self, g: Any) -> list[Fraction]:
        """Return the values that were read, one per row."""
        values = [number(part, "constraint_value") for part in (g if isinstance(g, list) else [g])]
        if self.kind.certificates and len(values) != self.kind.rows:
            raise WrongError("constraint_value must have an entry per row")
        return values

    def _take_errors(self, line: dict[str, Any], i: int) -> tuple[Bounds, Bounds]:
        """Return the errors of a reading of round i, of the value and slope of each row.

        Those that are told are kept, and are those of all rows; of the other the largest is.
        """
        player, value, slope = self.player, line.get("value_error"), line.get("slope_error")
        told = {"value": value, "slope": slope}
        self.told_errors[i] = {name: part for name, part in told.items() if part is not None}
        if not self.told_errors[i]:
            return [row.value for row in player.rows], [row.slope for row in player.rows]
        error = player.errors.value if value is None else number(value, "value_error", 0)
        tau = player.errors.slope if slope is None else number(slope, "slope_error", 0)
        return [error] * len(player.rows), [tau] * len(player.rows)

    def _find_contradiction(self, reading: Reading) -> str:
        """Return how g was read above what was certified of its action, or is known there."""
        i, x, kind = reading.round, reading.x, self.kind
        bounds = self.proofs.get(i)
        if not kind.in_contexts and (i == self.t or not self.drift):
            bounds = least(bounds, self.read.level(x, i), self.proved.level(x, i))
        is_above = self._is_above(reading, bounds) or self._refutes_start(reading)
        return "what was read contradicts what was certified or is known" if is_above else ""

    def _is_hidden(self, reading: Reading) -> bool:
        """Return whether the journal must have noticed that a reading refutes a constant.

        That is so where it is above what the certificate of its action states, or above what holds
        at the start for ever. This checker knows more: every reading of before.
        """
        bounds, stated = self.proofs.get(reading.round), self.stated.get(reading.round)
        if bounds is not None and stated is not None:
            bounds = [max(pair) for pair in zip(bounds, stated, strict=True)]
        return self._is_above(reading, bounds) or self._refutes_start(reading)

    def _refutes_start(self, reading: Reading) -> bool:
        """Return whether g was read at the start above what it is at most for ever."""
        return reading.x == self.start and self._is_above(reading, self.start_bounds)

    def _is_above(self, reading: Reading, bounds: Sequence[Fraction | None] | None) -> bool:
        """Return whether g was read above bounds, by more than rounding explains."""
        each = enumerate(bounds or ())
        return any(
            most is not None and reading.low[row] > most + self.kind.tolerance(reading, row)
            for row, most in each
        )

    def _says_contradiction(self, line: dict[str, Any]) -> bool:
        """Return whether a line says that a premise of feasibility broke."""
        return any(breach.get("affects") != "regret" for breach in line.get("breaches") or ())

    def _take_refutation(
        self, line: dict[str, Any], reading: Reading, words: str, is_step: bool
    ) -> None:
        """Keep that a reading refuted the constants; raise where the journal does not say so.

        It has said so, too, where it halted for a contradiction that no value shows, such as that
        of two slopes. Then no constant decides any more: what is left is the start, and of a limit
        that is fixed what was read.
        """
        is_start = self._refutes_start(reading)
        said = reading.round if self._says_contradiction(line) else None
        if said is None and self.is_halted:
            said = self.contradicted
        if self.is_refuted and not is_start:
            return
        if is_step or said is None or self.on_contradiction != "retreat":
            if self.player.plant is None or self._is_hidden(reading):
                raise WrongError(f"{words}: a constant is wrong")
            if self.doubted is None:  # this checker alone has noticed
                self.doubted = reading.round
            return
        if not self.is_refuted:
            first = reading.round if self.doubted is None else self.doubted
            self.refutations.append(Refutation(first, self.began, said))
        self.is_refuted, self.current, self.doubted = True, None, None
        if is_start:
            self.start_bound, self.start_bounds = None, [None] * self.kind.rows
            self.is_start_refuted = True
        is_fixed = not (self.kind.in_contexts or self.drift)
        kept = [r._replace(own=r.raw) for r in self.readings.values()] if is_fixed else []
        # A lag rests on the constant that was refuted.
        kept = [r for r in kept if not any(map(any, self.kind.gaps(r.round)))]
        self.readings = {r.round: r for r in kept}
        self.proofs, self.by_kind, self.stated = {}, set(), {}
        self.read, self.proved = Places(self.drifts), Places(self.drifts)
        for r in kept:
            self.read.learn(r.x, r.raw, r.round)
        if not is_fixed:
            self.used, self.levels_read = {}, Places(self.drifts)

    @property
    def _refuted(self) -> str:
        """Which round refuted the constants, as a sentence begins with it."""
        return f"round {self.refutations[-1].said} refuted the constants,"

    def _use(self, i: int) -> None:
        """Let the player take a step with the reading of round i, where there is one."""
        if i not in self.readings or i not in self.heard:
            return
        copy, is_start = (i + self.delay) % self.player.turns, self.readings[i].x == self.start
        is_bound = any(bound is not None for bound in self.start_bounds)
        if self.delay and is_bound and copy not in self.firsts and not is_start:
            return  # the copy waits until its start was read
        if not self.used:
            if max(self.readings[i].raw) >= 0 and any(map(any, self.kind.gaps(i))):
                return  # the plant has not settled at its start
            self.kind.refuse_start(self.readings[i])
        self._search(self.readings[i])
        self.used[i] = i + self.delay
        self.firsts.setdefault(copy, i)

    def _search(self, reading: Reading) -> None:
        """Find what was known of an action before it was read, where no certificate says so.

        That is so of what somebody else played and of return paths; and, with a delay, of what was
        read since the certificate. It matters where readings err, or g drifts.
        """
        i, turns = reading.round, self.player.turns
        each = zip(reading.raw, reading.low, self.kind.noises, strict=True)
        errs = any(high - low > 2 * noise for high, low, noise in each)
        is_exact = reading.raw == reading.low or not (errs or any(self.drifts) or any(reading.tau))
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
        self.claims_nothing = c.get("class") == "ReturnPath" and claims_nothing(c)
        if is_step and c.get("class") == "ReturnPath":
            raise WrongError("a return path is taken, and no order, halt or missing round says why")
        inherited = self.current if self.is_inherited else None
        self.here = (x, least(self.level(x), aged, inherited))
        if self.kind.in_contexts:
            self.here = self._last_in_context()
        stays = p == self.action and line["kind"] != "announce"
        known = least(self.level(p), self.current if stays else None, aged if p == x else None)
        self.action = p
        if self.kind.in_contexts and self.place is None and line.get("certificate") is None:
            self.current = None  # there is no action before its context is told
            return
        try:
            self.current = self._certify(p, c, known)
            self._keep_proof(self.current, c, is_moved=p != x)
            if is_step:
                self._confirm_errors(c)
            self._check_sets(p, c, line.get("within") if is_step else None)
            if self.doubted is not None and not (p == self.start and self.start_bound is not None):
                words = f"round {self.doubted} refuted the constants, and the journal does not say"
                raise UnjudgedError(f"{words} so")
        except UnjudgedError as why:
            self.unjudged[self.t], self.current = str(why), None
        if self.current is not None and c and not claims_nothing(c):
            self.stated[self.t] = self._read_stated(c)
        is_ramped = is_step or (line["kind"] == "round" and self.player.keeps_ramp)
        if c and is_ramped:
            self._check_ramp(minus(p, x))

    def _read_stated(self, c: Certificate) -> Bounds:
        """Return the bounds that a certificate states, one per row; 0 where it states none."""
        parts = [c] * self.kind.rows
        if c.get("class") == "TogetherCertificate":
            parts = numbers(c["rows"], "rows of its certificate")
        return [number(part.get("bound", 0), "bound") for part in parts]

    def _last_in_context(self) -> tuple[Point, Bounds | None]:
        """Return the action of the last round, and what is known of g there in its context."""
        i = self.t - 1
        x, reading = self.actions.get(i, self.start), self.readings.get(i)
        read = None if reading is None or reading.x != x else reading.own
        return x, least(self.proofs.get(i), read, self.level(x))

    def _keep_proof(self, bounds: Bounds, c: Certificate, *, is_moved: bool) -> None:
        """Keep what is proved of the action at hand; where that moved, nobody else has proved it.

        Args:
            bounds: on g there.
            c: its certificate.
            is_moved: whether it is another than in the round before.
        """
        if is_moved or not self.is_inherited:
            self.is_inherited = False
            self.proved.learn(self.action, bounds, self.t)
        self.unjudged.pop(self.t, None)
        if c.get("class") in self.kind.certificates:
            self.by_kind.add(self.t)
        else:  # as after an order
            self.by_kind.discard(self.t)

    def _certify(self, p: Point, c: Certificate, known: Bounds | None) -> Bounds:
        """Return the bounds on g at an action, which are at most what the next g may be."""
        name, kind = c.get("class"), self.kind
        limit = kind.limit()
        is_way, is_of_kind = name == "ReturnPath", name in kind.certificates
        if is_of_kind and self.is_refuted:
            raise WrongError(f"{self._refuted} and they certify an action")
        if is_way:
            known = self._certify_way(p, c, known, limit)
        elif is_of_kind:
            known = least(known, kind.certify(self, p, c))
        if known is None or not kind.certificates:
            raise UnjudgedError(f"the {name or 'choice'} of this player is not judged")
        if max(known) > limit and not self._is_read_inside(p, limit):
            if name is None:
                raise UnjudgedError("nothing is proved of it, and it has no certificate")
            if not (is_way or is_of_kind):
                raise UnjudgedError(f"the {name} of this player is not judged")
            raise WrongError(f"its action is not certified: g may be {float(max(known)):.3g}")
        if is_way:
            confirm_way(self, kind, p, c, known)
        elif is_of_kind:
            kind.confirm(self, p, c)
        return known

    def _certify_way(
        self, p: Point, c: Certificate, known: Bounds | None, limit: Fraction
    ) -> Bounds | None:
        """Return the bounds on g at an action of a return path: its own, where it claims less."""
        if known is not None and max(known) <= limit:
            most, off = max(known), 4 * self.kind.noise
            if claims_nothing(c) or (bound := number(c["bound"], "bound")) >= most:
                return known
            if close(bound, most, off):
                return known
        elif claims_nothing(c):
            raise UnjudgedError("nothing is proved of it, as its return path says")
        return least(known, certify_way(self, self.kind, p, c))

    def _is_read_inside(self, p: Point, limit: Fraction) -> bool:
        """Return whether g was read at an action as it may be, however its value is rounded."""
        level = self.levels_read.level(p, self.t)
        return limit >= 0 and level is not None and max(level) <= 0

    def _confirm_errors(self, c: Certificate) -> None:
        """Raise unless a certificate counts with the errors of the player, or of its round."""
        if c.get("class") not in self.kind.certificates:
            return  # one of another class is not judged
        i = self.t - 1 - self.delay
        told = self.told_errors[i] if i in self.heard else {}
        self.kind.confirm_errors(c, self.player.rows, told, self.player.errors)

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
