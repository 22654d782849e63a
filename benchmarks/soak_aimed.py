"""Attacks that are aimed at one weakness each: the true g is at most 0 in every round, exactly.

Each family takes what once led outside and varies it: steps and a drift below the rounding of what
is certified; errors that change from round to round; leaders that return NaN, infinity or anything
else; readings that come late, or not at all; rows that share an action which none of the past was.
One run is played at a time, on rows with few binary digits, so that g at an action is a fraction:
what is within a billionth of 0 in floats is computed exactly. A reported contradiction is a false
alarm and counts as a failure too.

Run by ``make soak``; prints rounds, violations and false alarms by family, and ends with status 1
on either. ``--factor 3`` is the negative control: errors and drift of three times what was told.
An attack is a pure function of its number.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from benchmarks import evidence
from surefoot import Ball, Controller, Feedback
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Info
from surefoot.guarantees import PremiseError, PremiseWarning
from surefoot.knowledge import Curvature, EmptyRegionError, Errors, LipschitzHull, Together
from surefoot.proposers import Leader
from surefoot.rules import (
    OGD,
    CertifiedPFS,
    CostProbing,
    Delayed,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
    ValuesAveraging,
    ValuesFollower,
)

COVERS = (*evidence.LIBRARY, "src/surefoot/controller/*.py", "benchmarks/soak_aimed.py")
ROUNDS = 10**6
KINDS = (
    "below rounding",
    "changing errors",
    "lying leaders",
    "late readings",
    "missed rounds",
    "rows apart",
)
PLAYED = 200


class Outcome(NamedTuple):
    """What came of an attack.

    Attributes:
        number: which it was.
        kind: the family.
        name: what was attacked.
        rounds: actions that were judged.
        violations: how many had a true g above 0.
        worst: the largest true g, relative to the slack of the start.
        alarms: contradictions that were reported.
        emptied: 1 where the attack ended because nothing was certified any more.
    """

    number: int
    kind: str
    name: str
    rounds: int
    violations: int
    worst: float
    alarms: int
    emptied: int


class World:
    """Rows a_i'x + c|x|^2/2 - b_i: the coefficients are 64ths, the b_i fractions that may move.

    Args:
        rng: that draws it.
        bent: whether c is above 0.
    """

    def __init__(self, rng: Any, bent: bool) -> None:
        d = int(rng.integers(1, 4))
        more = rng.integers(-48, 49, (int(rng.integers(0, 4)), d)) / 64
        self.A = np.vstack([np.eye(d), -np.eye(d), more])
        self.c = int(rng.integers(8, 65)) / 64 if bent else 0.0
        # Levels from 1/2 to 1 have the coarsest last digit for their size.
        self.full = [Fraction(int(k), 256) for k in rng.integers(128, 256, len(self.A))]
        self.reach = math.sqrt(d) * float(max(self.full)) * (1 + 1e-12)
        self.begin()

    def begin(self) -> None:
        """Set what follows from the rows."""
        self.b, self.tide = list(self.full), 1
        self.depth = float(min(self.full))
        # No more than rounding above what it is: a larger one would hide what is looked for.
        self.steep = max(float(np.linalg.norm(row)) for row in self.A) * (1 + 2.0**-51)
        self.G_g = (self.steep + self.c * self.reach) * (1 + 2.0**-51)

    def keep_one(self) -> None:
        """Keep the first row alone, a ball around -a/c with c|x + a/c|^2 <= 2b + |a|^2/c."""
        self.A, self.full = self.A[:1], self.full[:1]
        self.begin()
        root = math.sqrt(self.steep**2 + 2 * self.c * self.depth)
        self.reach = (self.steep + root) / self.c * (1 + 1e-12)

    def rows(self, x: Array) -> Array:
        """Return all rows at an action, in floats."""
        bent = 0.5 * self.c * float(x @ x)
        return np.asarray(self.A @ x + bent - np.array([float(b) for b in self.b]))

    def slopes(self, x: Array) -> Array:
        """Return all slopes there."""
        return np.asarray(self.A + self.c * x)

    def most(self, x: Array) -> float:
        """Return the largest row; computed exactly and rounded where it is close to 0."""
        rough = float(self.rows(x).max())
        if abs(rough) > 1e-9:
            return rough
        point = [Fraction(float(v)) for v in x]
        bent = Fraction(self.c) * sum((p * p for p in point), Fraction(0)) / 2
        exact = max(
            sum((Fraction(float(a)) * p for a, p in zip(row, point, strict=True)), bent) - b
            for row, b in zip(self.A, self.b, strict=True)
        )
        return float(exact) or math.copysign(5e-324, exact) if exact else 0.0

    def move(self, v: float) -> None:
        """Move all rows by exactly v: in until half of the slack is gone, then out again."""
        if v:
            least = min(b / f for b, f in zip(self.b, self.full, strict=True))
            most = max(b / f for b, f in zip(self.b, self.full, strict=True))
            self.tide = -1 if least < Fraction(1, 2) else 1 if most > 1 else self.tide
            self.b = [b - self.tide * Fraction(v) for b in self.b]


class Liar:
    """A leader that learns, and returns something else whenever it likes."""

    def __init__(self, rng: Any, radius: float, wild: bool) -> None:
        self.rng, self.wild = rng, wild  # whether it does what refuses the round
        self.honest = OGD(eta=0.1 * radius, domain=Ball(radius))

    def init(self, x1: Array) -> Any:
        """Begin as an honest learner does."""
        return self.honest.init(x1)

    def step(self, state: Any, feedback: Feedback) -> Any:
        """Return an honest state, or one with a point that is none."""
        after, said = self.honest.update(state, feedback), self.rng.random()
        if said < 0.4:
            return after, Info()
        lies = (math.nan, math.inf, -math.inf, 1e300, -1e308, 5e-324, 0.0)
        point = np.array(after.x)
        point[int(self.rng.integers(len(point)))] = self.rng.choice(lies)
        if said < 0.5 and self.wild:
            raise KeyError("no idea")
        if said < 0.55 and self.wild:
            return after._replace(x=point.tolist()), Info()
        if said < 0.6 and self.wild:
            return None
        return after._replace(x=point), Info()


# --- what is attacked, and how it answers ---------------------------------------------------------

Answer = Callable[[Any, Array, Any, Any, Any], tuple[Any, tuple[str, ...]]]


def _answer(player: Any) -> Answer:
    def answer(
        state: Any, proposal: Array, g: Any, s: Any, error: Any
    ) -> tuple[Any, tuple[str, ...]]:
        if player.needs.proposals:
            after, info = player.step(
                state, Feedback(None, g, s, proposal=state.x + proposal, value_error=error)
            )
        elif player.needs.cost_values:
            after, info = player.step(
                state, Feedback(None, g, s, -float(proposal @ state.x), error)
            )
        else:
            after, info = player.step(state, Feedback(-proposal, g, s, None, error))
        return after, tuple(word for word in info.contradictions if "the leader" not in word)

    return answer


def _players(world: World, rng: Any, told: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Return all players that a world can be given to, by name."""
    ball, reach = Ball(world.reach), world.reach
    flat = {"G_g": world.G_g, **told}
    errors = _errors(told)
    rho = world.depth * 10 ** rng.uniform(-3, -0.5)
    found: dict[str, Callable[[], Any]] = {
        "hull": lambda: RegionFilter(
            knowledge=LipschitzHull(reach=reach, G_g=world.G_g, errors=errors)
        ),
        "leader": lambda: LeaderFollower(domain=ball, **flat),
        "steps": lambda: CertifiedPFS(domain=ball, rho=rho, ratchet=False, **flat),
        "filter": lambda: SafetyFilter(domain=ball, rho=rho, **flat),
        "values": lambda: ValuesFollower(domain=ball, **flat),
        "costs by value": lambda: CostProbing(
            base=LeaderFollower(domain=ball, **flat),
            length=world.depth / world.G_g * 10 ** rng.uniform(-6, -0.5),
            seed=int(rng.integers(2**31)),
        ),
    }
    return found


def _errors(told: dict[str, Any]) -> Errors:
    """Return what is told in advance as a region is told it."""
    return Errors(value=told.get("value_error") or 0.0, drift=told.get("drift") or 0.0)


def _told(rng: Any, world: World, *names: str) -> dict[str, Any]:
    """Draw errors that are told in advance; each name is there in half of the attacks."""
    sizes = {
        "value_error": world.depth * 10 ** rng.uniform(-4, -0.7),
        "drift": world.depth * 10 ** rng.uniform(-5, -2),
    }
    return {name: sizes[name] if rng.random() < 0.5 else 0.0 for name in names}


def _wish(rng: Any, world: World, x: Array) -> Array:
    """Draw a way to go: outwards, or anywhere; from a rounding away to far outside."""
    way = world.A[int(rng.integers(len(world.A)))] + 0.3 * rng.normal(size=len(x))
    return np.asarray(world.reach * 10 ** rng.uniform(-4, 1) * way)


def _read(rng: Any, g: float, nu: float) -> float:
    """Return a reading that errs by what it may."""
    return g + nu * float(rng.choice([-1.0, 1.0, 1.0, rng.uniform(-1, 1)]))


class _Judge:
    """Counts what was played."""

    def __init__(self, world: World) -> None:
        self.world, self.rounds, self.violations, self.worst = world, 0, 0, -math.inf

    def see(self, x: Array) -> bool:
        """Judge an action in the round in which it is played; return whether it is inside."""
        most = self.world.most(x)
        self.rounds += 1
        self.violations += most > 0
        self.worst = max(self.worst, most / self.world.depth)
        return not most > 0


Played = tuple[str, int, int]  # what was attacked, false alarms, whether nothing was certified


def _run(
    player: Any,
    world: World,
    judge: _Judge,
    rounds: int,
    drift: float,
    turn: Callable[[int, Any], tuple[Array, float, Any]],
) -> tuple[int, int]:
    """Play one run; ``turn`` draws the wish, the error made and the error told of a round."""
    answer, alarms = _answer(player), 0
    state = player.init(np.zeros(world.A.shape[1]))
    separately = isinstance(getattr(player, "knowledge", None), Together)
    for t in range(rounds):
        x = state.x
        if not judge.see(x):
            break
        rows, slopes = world.rows(x), world.slopes(x)
        at = int(rows.argmax())
        proposal, made, error = turn(t, state)
        g, s = (rows + made, slopes) if separately else (float(rows[at]) + made, slopes[at])
        if not player.needs.constraint_subgradients:
            s = None
        world.move(drift)
        try:
            state, sentences = answer(state, proposal, g, s, error)
        except EmptyRegionError:
            return alarms, 1
        except InvalidValueError as refused:
            if "the leader" not in str(refused):
                raise
            sentences = ()  # nothing has changed: the action is played again
        alarms += len(sentences)
    return alarms, 0


def _below_rounding(rng: Any, judge: _Judge, world: World, played: int, factor: float) -> Played:
    # A row of length 1 is the nearest: then the rounding of a step is that of the level.
    world.full[0] = min(world.full)
    world.begin()
    nu = world.depth * 10 ** rng.uniform(-3, -0.5)
    v = 2.0 ** -rng.uniform(52, 58) if rng.random() < 0.3 else 0.0
    players = _players(world, rng, {"value_error": nu, "drift": v})
    if world.c:
        world.keep_one()
        known = Curvature(beta=world.c, reach=world.reach, errors=Errors(value=nu, drift=v or 0.0))
        players = {"ball": lambda: RegionFilter(knowledge=known)}
    name = str(rng.choice(sorted(players)))
    last, way = played - 5, world.A[0]

    def turn(t: int, state: Any) -> tuple[Array, float, Any]:
        # The first reading is as low as it may be; later ones are too high to count. Half of the
        # last digit of a level from 1/2 to 1 is 2^-54.
        made = -factor * nu if t == 0 else factor * 0.9 * nu
        tiny = 2.0 ** -rng.uniform(54.02, 56) if rng.random() < 0.95 else 0.0
        return (tiny if t < last else 10 * world.reach) * way, made, None

    alarms, emptied = _run(players[name](), world, judge, played, factor * (v or 0.0), turn)
    return name, alarms, emptied


def _changing_errors(rng: Any, judge: _Judge, world: World, played: int, factor: float) -> Played:
    told = {} if world.c else _told(rng, world, "drift")
    players = _players(world, rng, told)
    if world.c:
        world.keep_one()
        known, steep = Curvature(beta=world.c, reach=world.reach), world.steep
        players = {
            "ball": lambda: RegionFilter(knowledge=known),
            "averaging": lambda: ValuesAveraging(
                knowledge=known, radius=world.reach, start_slope=steep, share=rng.uniform(0.05, 0.5)
            ),
        }
    name = str(rng.choice(sorted(players)))

    def turn(t: int, state: Any) -> tuple[Array, float, Any]:
        # The base of a probe is often read badly and its ends well.
        probes = getattr(state, "probing", -1) >= 0  # of Measuring; of Probing the learner knows
        probes = probes or getattr(getattr(state, "learner", None), "probes", 0) > 0
        bad = rng.random() < (0.2 if probes else 0.6)
        nu = world.depth * 10 ** rng.uniform(-4, -0.7) if bad else 0.0
        return _wish(rng, world, state.x), factor * _read(rng, 0.0, nu), nu

    v = factor * (told.get("drift") or 0.0)
    alarms, emptied = _run(players[name](), world, judge, played, v, turn)
    return name, alarms, emptied


def _lying_leaders(rng: Any, judge: _Judge, world: World, played: int, factor: float) -> Played:
    told = _told(rng, world, "value_error", "drift")
    # Under drift a round that is refused leaves nothing certified.
    leader = Liar(rng, world.reach, wild=not told["drift"])
    player = LeaderFollower(G_g=world.G_g, domain=Ball(world.reach), leader=leader, **told)
    nu, v = (factor * (told[name] or 0.0) for name in ("value_error", "drift"))

    def turn(t: int, state: Any) -> tuple[Array, float, Any]:
        return _wish(rng, world, state.x), _read(rng, 0.0, nu), None

    alarms, emptied = _run(player, world, judge, played, v, turn)
    return "leader", alarms, emptied


def _late_readings(rng: Any, judge: _Judge, world: World, played: int, factor: float) -> Played:
    told = _told(rng, world, "value_error", "drift")
    nu, v = (factor * (told[name] or 0.0) for name in ("value_error", "drift"))
    base = _players(world, rng, told)[str(rng.choice(["leader", "steps"]))]()
    ahead = isinstance(base.proposer, Leader) and rng.random() < 0.5
    delay = int(rng.integers(1, 4))
    player = Delayed(base=base, delay=delay, copies=not ahead, late=True)
    state, seen, alarms = player.init(np.zeros(world.A.shape[1])), [], 0
    for _ in range(played):
        if not judge.see(state.x):
            break
        rows = world.rows(state.x)
        at = int(rows.argmax())
        proposal = _wish(rng, world, state.x)
        seen.append(Feedback(-proposal, _read(rng, float(rows[at]), nu), world.slopes(state.x)[at]))
        world.move(v)
        try:
            if len(seen) <= delay:
                state = player.rest(state, state.x)
                continue
            state, info = player.step(state, seen.pop(0))
        except EmptyRegionError:
            return type(base.proposer).__name__, alarms, 1
        alarms += len(info.contradictions)
    return type(base.proposer).__name__, alarms, 0


def _missed_rounds(rng: Any, judge: _Judge, world: World, played: int, factor: float) -> Played:
    told = _told(rng, world, "value_error", "drift")
    nu, v = (factor * (told[name] or 0.0) for name in ("value_error", "drift"))
    players = _players(world, rng, told)
    name = str(rng.choice(["hull", "leader", "steps", "filter", "costs by value"]))
    start = np.zeros(world.A.shape[1])
    loop = Controller(players[name](), start, on_missing="retreat" if rng.integers(2) else "hold")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PremiseWarning)
        for _ in range(played):
            x = loop.ask()
            # A halted loop, or one that drift has emptied, says that nothing is proved.
            if (loop.explain().is_proven or loop.round == 1) and not judge.see(x):
                break
            rows = world.rows(x)
            at, proposal = int(rows.argmax()), _wish(rng, world, x)
            world.move(v)
            try:
                if loop.halted and rng.random() < 0.3:
                    loop.resume()
                elif rng.random() < 0.3 and loop.round > 1:
                    loop.tell(missing=True)
                else:
                    told_first: dict[str, Any] = {"cost_gradient": -proposal}
                    if name in ("hull", "filter"):
                        told_first = {"proposal": x + proposal}
                    elif name == "costs by value":
                        told_first = {"cost_value": -float(proposal @ x)}
                    loop.tell(
                        **told_first,
                        constraint_value=_read(rng, float(rows[at]), nu),
                        constraint_subgradient=world.slopes(x)[at],
                    )
            except EmptyRegionError:
                return name, 0, 1
            except PremiseError:
                return name, 1, 0
    return name, 0, 0


def _rows_apart(rng: Any, judge: _Judge, world: World, played: int, factor: float) -> Played:
    told = _told(rng, world, "value_error", "drift")
    nu, v = (factor * (told[name] or 0.0) for name in ("value_error", "drift"))
    reach = world.reach
    rows = tuple(
        Curvature(beta=world.c, reach=reach, errors=_errors(told))
        if rng.random() < 0.5
        else LipschitzHull(G_g=world.G_g, reach=reach, errors=_errors(told))
        for _ in world.A
    )

    def turn(t: int, state: Any) -> tuple[Array, float, Any]:
        made = np.array([_read(rng, 0.0, nu) for _ in rows])
        return _wish(rng, world, state.x), made, None  # type: ignore[return-value]

    player = RegionFilter(knowledge=Together(rows=rows))
    alarms, emptied = _run(player, world, judge, max(played // 4, 1), v, turn)
    return "together", alarms, emptied


_FAMILIES = (
    _below_rounding,
    _changing_errors,
    _lying_leaders,
    _late_readings,
    _missed_rounds,
    _rows_apart,
)


def attack(
    number: int, kind: str | None = None, played: int = PLAYED, factor: float = 1.0
) -> Outcome:
    """Play one attack.

    Args:
        number: which it is.
        kind: the family; by the number unless given.
        played: rounds; twenty times as many where steps below rounding must add up.
        factor: by what errors and drift exceed what was told.
    """
    rng = np.random.default_rng([20, number])
    kind = KINDS[number % len(KINDS)] if kind is None else kind
    at = KINDS.index(kind)
    bent = kind in ("below rounding", "changing errors", "rows apart") and rng.random() < 0.5
    world = World(rng, bool(bent))
    judge = _Judge(world)
    played = 20 * played if kind == "below rounding" else played
    name, alarms, emptied = _FAMILIES[at](rng, judge, world, played, factor)
    return Outcome(number, kind, name, judge.rounds, judge.violations, judge.worst, alarms, emptied)


def attacks(
    first: int, workers: int, factor: float, kinds: tuple[str, ...] = KINDS
) -> Iterator[Outcome]:
    """Return the outcomes of all attacks from the first on, in their order."""
    with ProcessPoolExecutor(workers) as pool:

        def send(n: int) -> Any:
            return pool.submit(attack, n, kinds[n % len(kinds)], factor=factor)

        pending = [send(first + i) for i in range(4 * workers)]
        for n in itertools.count(first + 4 * workers):
            yield pending.pop(0).result()
            pending.append(send(n))


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=float, default=ROUNDS, help="at least so many")
    parser.add_argument("--first", type=int, default=0, help="number of the first attack")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS, help="what to attack")
    parser.add_argument("--factor", type=float, default=1.0, help="errors beyond what is told")
    evidence.add_option(parser)
    options = parser.parse_args()
    stamp = evidence.begin(options, "aimed soak", "safety.aimed", COVERS, KINDS)
    counts = evidence.Counts("slack of the start")
    found: dict[str, list[Outcome]] = {kind: [] for kind in KINDS}
    total = 0
    for outcome in attacks(options.first, options.workers, options.factor, tuple(options.kinds)):
        found[outcome.kind].append(outcome)
        total += outcome.rounds
        if options.factor <= 1 and (outcome.violations or outcome.alarms):
            print(f"VIOLATED: {outcome}", flush=True)
        if total >= options.rounds:
            break
    print(f"{'':18}{'rounds':>12}{'outside':>9}{'alarms':>8}{'emptied':>9}  worst g/slack")
    lost = 0
    for kind, of_kind in found.items():
        if of_kind:
            rounds, outside = sum(o.rounds for o in of_kind), sum(o.violations for o in of_kind)
            alarms, emptied = sum(o.alarms for o in of_kind), sum(o.emptied for o in of_kind)
            lost += outside + (alarms if options.factor <= 1 else 0)
            worst = max(o.worst for o in of_kind)
            counts.add(kind, rounds, outside, worst)
            print(f"{kind:18}{rounds:12,}{outside:9,}{alarms:8,}{emptied:9,}  {worst:.3g}")
    print(f"{total:,} rounds, errors {options.factor:g} times what was told")
    status = int(lost > 0) if options.factor <= 1 else int(lost == 0)
    if stamp is not None:
        print(stamp.write(evidence.typed_command("soak_aimed"), counts.rows.values(), status))
    return status


if __name__ == "__main__":
    sys.exit(evidence.run(main))
