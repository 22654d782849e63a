"""Honest journals: every kind of knowledge and wrapper that the checker knows, with every order.

The constants are right and readings err by no more than they may, so that none may be blamed. Run
as ``python -m tests.controller._honest 200`` to play 200 seeds of each player, and see what is.
"""

import math
import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surefoot import Ball, Controller, kernel
from surefoot.controller.check import check
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import needs_of
from surefoot.guarantees import PremiseError
from surefoot.knowledge import (
    AnnouncedDrift,
    AverageLimit,
    CertifiedLength,
    Choices,
    Column,
    Columns,
    ContextHull,
    Curvature,
    CurvatureRows,
    EmptyRegionError,
    Errors,
    HullOfLog,
    LipschitzHull,
    RelativeCurvature,
    Together,
)
from surefoot.rules import (
    CertifiedDualAveraging,
    CertifiedOGD,
    CertifiedPFS,
    Delayed,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
    ValuesFollower,
)
from surefoot.sets import Box

# g(x; c) = max(a_i'x - b_i) + c, lopsided; the start has slack 0.2 and no row is longer than G_G.
ROWS = np.array([[0.6, 0.9], [-1.1, 0.3]])
LIMITS = np.array([0.5, 0.7])
G_G = float(np.linalg.norm(ROWS, axis=1).max()) * (1 + 2.0**-50)
START = np.array([0.2, 0.2])
SLACK = 0.2
BOX, BALL = Box([-1.0, -1.0], [1.0, 1.0]), Ball(1.5)
# The same two limits, in Pa and in K.
UNITS = np.array([1e5, 1e-2])
AROUND = START + 0.1 * np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])
POINTS = np.vstack([AROUND, np.random.default_rng(8).uniform(-0.6, 0.6, size=(20, 2))])


class Plant(NamedTuple):
    """What is played, and what is true.

    Attributes:
        player: with constants that are right.
        value: the error of a value, drift: of g per round, slope: of a slope.
        shape: of g: "max", "rows", "units", "swell", "context", or "drift" of one that is told.
        most: what g may be, of a limit on the average.
        scales: of limits that are read each by itself, what one is of each in its unit; errors and
            what moves g are so many times as large.
    """

    player: Any
    value: float = 0.0
    drift: float = 0.0
    slope: float = 0.0
    shape: str = "max"
    most: float = 0.0
    scales: tuple[float, ...] = ()


def errors_of(value: float = 0.0, drift: float = 0.0, slope: float = 0.0) -> Errors:
    return Errors(value=value, drift=drift, slope=slope)


def hull(domain: Any = BOX, start_bound: Any = None, **errors: float) -> LipschitzHull:
    found = {"errors": errors_of(**errors), "start_bound": start_bound}
    return LipschitzHull(G_g=G_G, domain=domain, **found)


# Limits that are read each by itself: the two, and one more, in other units.
SEVERAL = np.vstack([ROWS, [0.1, -0.8]])
MOST = np.array([*LIMITS, 0.6])
SCALES = {2: (1.0, 100.0), 3: (1.0, 0.01, 8.0)}


def _row(i: int, scale: float, kind: str, noise: dict[str, float], more: Any) -> Any:
    """Return what is known of one limit, by a kind of knowledge."""
    steep = float(np.linalg.norm(SEVERAL[i])) * scale * (1 + 2.0**-50)
    errors = errors_of(**{name: scale * size for name, size in noise.items()})
    if kind == "curved":
        return Curvature(beta=0.1 * scale, reach=1.5, errors=errors)
    if kind == "length":
        return CertifiedLength(G_g=steep, rho=0.05 * scale, domain=BALL, errors=errors)
    bound = more.get("start_bound")
    shared = {"reach": 1.5, "errors": errors, "start_bound": bound and bound * scale}
    if "column" in more:
        return ContextHull(G_g=steep, context=more["column"](scale), **shared)
    return LipschitzHull(G_g=steep, **shared)


def _together(
    kinds: str, noise: dict[str, float], domain: Any = BOX, shape: str = "rows", **more: Any
) -> Plant:
    """Return a filter that is told several limits, each with its own constants and errors."""
    each = kinds.split()
    scales = SCALES[len(each)]
    rows = [_row(i, scales[i], kind, noise, more) for i, kind in enumerate(each)]
    known = Together(rows=rows, domain=domain)
    player = RegionFilter(knowledge=known, ramp=more.get("ramp"))
    if delay := more.get("delay"):
        player = Delayed(base=player, delay=delay, copies=more["copies"])
    return Plant(player, shape=shape, scales=scales, **noise)


def _rows(word: str, noise: dict[str, float]) -> dict[str, Plant]:
    """Return every plant of several limits with an error, by name."""
    found = {
        f"together{word}": _together("hull hull", noise),
        f"together, three{word}": _together("hull hull hull", noise),
        f"together, known start{word}": _together("hull hull hull", noise, start_bound=-0.1),
        f"together, mixed{word}": _together("hull curved", noise),
        f"together, copies{word}": _together("hull hull", noise, delay=2, copies=True),
        f"together, ahead{word}": _together("hull curved", noise, delay=1, copies=False),
    }
    bounds = {f"{n}_error" if n == "value" else n: e for n, e in noise.items()}
    norms = np.linalg.norm(ROWS, axis=1) * (1 + 2.0**-50)
    leader = LeaderFollower(G_g=norms, domain=BALL, **bounds)
    found[f"together, leader{word}"] = Plant(leader, shape="rows", scales=(1.0, 1.0), **noise)
    columns = {
        "adds": lambda scale: Column(adds=scale),
        "lipschitz": lambda scale: Column(G_c=scale, worse="up"),
        "joint": lambda scale: Columns([Column(G_c=scale)], joint=True),
    }
    for name, column in columns.items():
        for bound in (None, -0.05):
            start = "" if bound is None else ", known start"
            found[f"together, {name}{start}{word}"] = _together(
                "hull hull hull", noise, shape="context", column=column, start_bound=bound
            )
    steps = Choices(BOX.lower, BOX.upper, step=(0.05, 0.0))
    found[f"together, steps{word}"] = _together("hull hull", noise, steps, start_bound=-0.1)
    if "drift" not in noise:
        found[f"together, ramp{word}"] = _together("hull hull hull", noise, ramp=0.05)
        found[f"together, lengths{word}"] = _together("hull length", noise)
    return found


def _plants() -> dict[str, Plant]:
    """Return every plant by name: kinds, wrappers and errors."""
    found: dict[str, Plant] = {}
    noises = {
        "": {},
        ", errors": {"value": 0.01},
        ", drift": {"drift": 1e-3},
        ", both": {"value": 0.01, "drift": 1e-3},
    }
    for word, noise in noises.items():
        known = hull(**noise)
        bounds = {f"{n}_error" if n == "value" else n: e for n, e in noise.items()}
        leader = LeaderFollower(G_g=G_G, domain=BALL, **bounds)
        found[f"hull{word}"] = Plant(RegionFilter(knowledge=known), **noise)
        found |= _rows(word, noise)
        found[f"leader{word}"] = Plant(leader, **noise)
        found[f"known start{word}"] = Plant(
            RegionFilter(knowledge=hull(start_bound=-0.1, **noise)), **noise
        )
        found[f"ramp{word}"] = Plant(RegionFilter(knowledge=known, ramp=0.05), **noise)
        found[f"ramp, known start{word}"] = Plant(
            RegionFilter(knowledge=hull(start_bound=-0.1, **noise), ramp=(0.03, 0.06)), **noise
        )
        found[f"probing{word}"] = Plant(ValuesFollower(G_g=G_G, domain=BALL, **bounds), **noise)
        for copies in (True, False):
            for late in (True, False):
                kind = f"{'copies' if copies else 'ahead'}{', late' if late else ''}{word}"
                player = Delayed(base=leader, delay=2, copies=copies, late=late)
                found[kind] = Plant(player, **noise)
        curved = Curvature(beta=0.1, reach=1.5, errors=errors_of(**noise))
        rows = CurvatureRows(beta=0.1, rows=2, domain=BOX, errors=errors_of(**noise))
        units = CurvatureRows(beta=(0.0, 0.0), domain=BOX, errors=errors_of(**noise))
        found[f"curved{word}"] = Plant(RegionFilter(knowledge=curved), shape="row", **noise)
        found[f"descent{word}"] = Plant(
            CertifiedOGD(knowledge=rows, radius=1.5), shape="rows", **noise
        )
        found[f"dual{word}"] = Plant(
            CertifiedDualAveraging(knowledge=rows, radius=1.5), shape="rows", **noise
        )
        found[f"late rows{word}"] = Plant(
            Delayed(base=RegionFilter(knowledge=rows), delay=1, copies=False), shape="rows", **noise
        )
        if not noise.get("drift") and not noise.get("value"):
            found["units"] = Plant(RegionFilter(knowledge=units), shape="units")
        found[f"lengths{word}"] = Plant(
            CertifiedPFS(
                G_g=G_G,
                domain=BALL,
                rho=0.05,
                **{f"{n}_error" if n == "value" else n: e for n, e in noise.items()},
            ),
            **noise,
        )
        if "drift" in noise:
            continue
        value = {"value_error": noise.get("value", 0.0)}
        found[f"lengths, sigma{word}"] = Plant(
            CertifiedPFS(G_g=G_G, domain=BOX, rho=0.05, sigma=0.2, decreasing=False, **value),
            **noise,
        )
        found[f"safety{word}"] = Plant(
            SafetyFilter(G_g=G_G, domain=BALL, rho=0.05, **value), **noise
        )
        grid = hull(domain=Choices(BOX.lower, BOX.upper, step=(0.05, 0.1)), **noise)
        found[f"grid{word}"] = Plant(RegionFilter(knowledge=grid), **noise)
        average = AverageLimit(G_g=G_G, domain=BOX, most=0.3, errors=errors_of(**noise))
        found[f"average{word}"] = Plant(RegionFilter(knowledge=average), most=0.3, **noise)
        relative = RelativeCurvature(L_0=0.0, L_1=1.1, reach=2.0, errors=errors_of(**noise))
        found[f"relative{word}"] = Plant(RegionFilter(knowledge=relative), shape="swell", **noise)
        log = HullOfLog(
            points=POINTS,
            values=(POINTS @ ROWS.T - LIMITS).max(axis=1),
            G_g=100.0,
            domain=BOX,
            errors=errors_of(**noise),
        )
        found[f"log{word}"] = Plant(RegionFilter(knowledge=log), **noise)
        contexts = {
            "additive": Column(adds=1.0),
            "lipschitz": Column(G_c=1.0),
            "one side": Column(G_c=1.0, worse="up"),
            "joint": Columns([Column(G_c=1.0)], joint=True),
            "told drift": AnnouncedDrift(),
        }
        for name, context in contexts.items():
            for bound in (None, -0.05):
                known = ContextHull(
                    G_g=G_G,
                    domain=BOX,
                    context=context,
                    start_bound=bound,
                    errors=errors_of(**noise),
                )
                shape = "drift" if name == "told drift" else "context"
                kind = f"{name}{'' if bound is None else ', known start'}{word}"
                found[kind] = Plant(RegionFilter(knowledge=known), shape=shape, **noise)
    slopes = CurvatureRows(beta=0.1, rows=2, reach=1.5, errors=errors_of(value=0.01, slope=0.01))
    found["slopes err"] = Plant(
        RegionFilter(knowledge=slopes), value=0.01, slope=0.01, shape="rows"
    )
    return found


PLANTS = _plants()


class World:
    """What is true in each round, and what is read of it.

    Args:
        plant: what is played.
        rng: of all that is random.
    """

    def __init__(self, plant: Plant, rng: Any) -> None:
        self.plant, self.rng = plant, rng
        self.shift, self.moved = 0.0, 0.0
        self.begin()

    def begin(self) -> None:
        """Begin with a player at its start: a late reading is of its own actions."""
        self.actions: list[Any] = []
        self.shifts: list[float] = []
        self.read_rounds = 0

    def pass_by(self) -> float:
        """Let a round pass; return the context of the next."""
        most = {"context": 0.12, "drift": 0.08}.get(self.plant.shape, 0.0)
        step = 0.03 if most else self.plant.drift
        most = most or min(0.08, 60 * self.plant.drift)
        before = self.shift
        wanted = before + step * self.rng.uniform(-1, 1)
        self.shift = float(np.clip(wanted, -most, most))
        self.moved = abs(self.shift - before) * (1 + 1e-9)
        return self.shift

    def at(self, x: Any, shift: float | None = None) -> tuple[Any, Any]:
        """Return g and its slope at an action, as they are."""
        shift = self.shift if shift is None else shift
        if scales := self.plant.scales:
            m = len(scales)
            rows = np.array(scales)[:, None] * SEVERAL[:m]
            return rows @ x + np.array(scales) * (shift - MOST[:m]), rows
        values, shape = ROWS @ x - LIMITS + shift, self.plant.shape
        if shape in ("rows", "units"):
            return (UNITS * values, UNITS[:, None] * ROWS) if shape == "units" else (values, ROWS)
        if shape == "row":
            return float(values[0]), ROWS[0]
        if shape == "swell":
            rise = math.exp(float(ROWS[0] @ x))
            return rise - 1.65, rise * ROWS[0]
        i = int(values.argmax())
        return float(values[i]), ROWS[i]

    def read(self, x: Any, shift: float | None = None) -> tuple[Any, Any]:
        """Return what is read of g at an action: wrong by as much as may be, at most."""
        g, s = self.at(x, shift)
        plant, rng = self.plant, self.rng
        if plant.value:
            off = plant.value * rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], size=np.shape(g))
            g = g + (1 - 1e-9) * off * (plant.scales or 1.0)
        if plant.slope:
            way = rng.normal(size=np.shape(s))
            s = s + 0.99 * plant.slope * way / np.linalg.norm(way, axis=-1, keepdims=True)
        return (float(g) if np.ndim(g) == 0 else g), s


def play(path: Path, name: str, seed: int, rounds: int = 40, eventful: bool = True) -> Path:
    """Play a plant, with orders and events at random; return its journal."""
    plant, rng = PLANTS[name], np.random.default_rng([seed, len(name), ord(name[0])])
    world, engine = World(plant, rng), rng.choice(kernel.engines())
    options: dict[str, Any] = {
        "on_missing": rng.choice(["hold", "retreat"]),
        "on_contradiction": rng.choice(["raise", "hold", "retreat", "record"]),
    }
    rotate = int(rng.choice([0, 7, 11])) or None
    if plant.shape == "context":
        options["context"] = world.pass_by()
    with warnings.catch_warnings(), kernel.engine(str(engine)):
        warnings.simplefilter("ignore")
        loop = Controller(
            plant.player, START, journal=path, durable_every=1000, rotate=rotate, **options
        )
        for t in range(1, rounds + 1):
            loop = _play_round(path, loop, world, t, eventful)
        loop.close()
    return path


def _play_round(path: Path, loop: Any, world: World, t: int, eventful: bool) -> Any:
    rng, player = world.rng, world.plant.player
    try:
        x = loop.ask()
    except InvalidValueError:  # its context is not known
        try:
            loop.announce(**_context(world))
        except EmptyRegionError:
            loop.retreat("nothing is certified in this context")
            loop.announce(**_context(world))
        x = loop.ask()
    if eventful:
        loop = _order(path, loop, world)
        x = loop.ask()
    told = _tell(loop, player, world, t, x, eventful)
    later = "context" in told and eventful and rng.random() < 0.2
    if later or ("drift" in told and eventful and rng.random() < 0.2):
        told = {n: v for n, v in told.items() if n not in ("context", "drift")}
    try:
        loop.tell(**told)
    except EmptyRegionError:
        loop.retreat("nothing is certified")
        loop.ask()
        with suppress(EmptyRegionError, InvalidValueError):
            loop.tell(**({"action": np.array(x)} | told))  # which was read before the order
    except PremiseError:
        loop.retreat("a contradiction")
    except InvalidValueError as error:  # a new player where somebody's own action was infeasible
        if "strictly feasible" not in str(error):
            raise
        loop.resume(world.plant.player, start=START, reason="from the start")
        world.begin()
        if world.plant.shape in ("context", "drift"):
            with suppress(EmptyRegionError):
                loop.announce(**_context(world))
    return loop


def _context(world: World) -> dict[str, float]:
    if world.plant.shape == "drift":
        return {"drift": world.moved}
    return {"context": world.shift}


def _order(path: Path, loop: Any, world: World) -> Any:
    """Give an order, or close and open the journal again, once in a while."""
    rng, chance = world.rng, world.rng.random()
    has_ways = loop.algorithm is not None
    try:
        if chance < 0.03:
            loop.hold("a look")
        elif chance < 0.06:
            speed = 0.05 if rng.random() < 0.5 and has_ways else None
            try:
                loop.retreat("a storm", speed=speed)
            except InvalidValueError:  # on a grid
                loop.retreat("a storm")
        elif chance < 0.08 or (loop.halted is not None and chance < 0.4):
            loop.resume(on_missing=str(rng.choice(["hold", "retreat"])))
        elif chance < 0.10:
            loop.resume(world.plant.player, reason="another one")
            world.begin()
            if world.plant.shape == "context":
                loop.announce(context=world.shift)
        elif chance < 0.12 and world.plant.shape in ("context", "drift"):
            loop.announce(**_context(world))
        elif chance < 0.16:
            loop.close()
            loop = Controller.open(path)
        elif chance < 0.18:
            loop.note("a note")
    except EmptyRegionError:
        pass
    return loop


def _tell(loop: Any, player: Any, world: World, t: int, x: Any, eventful: bool) -> dict[str, Any]:
    """Return what a round is told, and let it pass."""
    rng, needs = world.rng, needs_of(player)
    played, delay = np.array(x), getattr(player, "delay", 0)
    is_free = world.read_rounds > delay + 1 and not isinstance(player.knowledge.domain, Choices)
    if eventful and is_free and rng.random() < 0.08:
        played = np.array(x) + rng.choice([1e-3, 0.05, 0.4]) * rng.normal(size=len(x))
        if world.plant.drift or world.plant.shape != "max":  # who plays outside of the known set
            played = np.clip(played, -1.0, 1.0)  # refutes its reach, or makes it an anchor
    world.actions.append(played)
    world.shifts.append(world.shift)
    back = delay if getattr(player, "late", False) else 0
    is_read = len(world.shifts) > back
    g, s = None, None
    if is_read:
        g, s = world.read(world.actions[-1 - back], world.shifts[-1 - back])
    world.pass_by()
    told: dict[str, Any] = _context(world) if world.plant.shape in ("context", "drift") else {}
    if not is_read or (eventful and rng.random() < 0.06):
        own = {} if np.array_equal(played, x) else {"action": played}
        return told | own | {"missing": True}
    world.read_rounds += loop.halted is None
    target = np.array([1.2 * np.sin(0.7 * t), 0.4 + 1.1 * np.cos(0.31 * t)])
    proposal = 0.8 * (np.array(x) - target)
    told |= {"cost_gradient": proposal} if needs.cost_gradients else {"proposal": x - proposal}
    told |= {"constraint_value": g}
    certifies = not world.plant.scales or getattr(player, "needs_slopes", True)
    if needs.constraint_subgradients and (certifies or rng.random() < 0.7):
        told["constraint_subgradient"] = s
    if not np.array_equal(played, x):
        told["action"] = played
    if eventful and world.plant.value and rng.random() < 0.1 and len({*world.plant.scales}) < 2:
        told["value_error"] = 2 * world.plant.value
    return told


def main() -> None:
    """Play seeds of every plant, and print what is blamed."""
    seeds, only = int(sys.argv[1]), sys.argv[2:]
    began, blamed, said = time.time(), Counter[str](), Counter[str]()
    for name in PLANTS:
        if only and not any(word in name for word in only):
            continue
        for seed in range(seeds):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    path = play(Path(folder) / "run", name, seed)
                except Exception as error:
                    print(f"{name}, seed {seed}: played: {error!r}"[:300])
                    said["not played"] += 1
                    continue
                report = check(str(path))
            said["journals"] += 1
            said["certified"] += int(report.said[0].split()[1]) if report.is_right else 0
            said["not checked"] += len(report.said) - 1
            if not report.is_right:
                blamed[name] += 1
                if blamed[name] <= 3:
                    print(f"{name}, seed {seed}: {report.said[0]}")
    print(dict(said), f"{sum(blamed.values())} blamed", f"{time.time() - began:.0f} s")


if __name__ == "__main__":
    main()
