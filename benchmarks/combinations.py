"""What goes with what: every pair of needs, and every need at every door, is built and played.

``python -m benchmarks.combinations --write`` plays them and writes the tables of
``docs/combinations.md``; with ``--times`` it measures live rounds instead. A cell says "yes" if the
combination was built as a user would build it and played: every action was judged in exact
rationals, and ``surefoot check`` passed the journal.
Else it has the number of the library's own sentence. An error of any other kind ends the program.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.pages import table, write_section
from surefoot import Ball, Controller
from surefoot.controller import Fleet
from surefoot.controller.check import check
from surefoot.controller.export import c_header
from surefoot.controller.service import ControllerService
from surefoot.core.algorithm import Algorithm
from surefoot.core.errors import SurefootError
from surefoot.core.types import needs_of
from surefoot.knowledge import (
    Choices,
    Column,
    ContextHull,
    Errors,
    LipschitzHull,
    Response,
    Settling,
    Together,
)
from surefoot.rules import (
    Averaged,
    CostProbing,
    Delayed,
    LeaderFollower,
    RegionFilter,
    ValuesFollower,
)
from surefoot.sets import Box

__all__ = ["DOORS", "NEEDS", "TRIPLES", "Cell", "Need", "build", "lines_of", "play"]

PAGE = Path(__file__).parents[1] / "docs/combinations.md"
ROUNDS = 24


class Cable(NamedTuple):
    """Some loads on one cable, as a small plant.

    Attributes:
        heat: what the square of each load adds to the first limit.
        share: what each load adds to the second.
        most: how much of that there may be.
        pull: the gradient of the cost.
    """

    heat: tuple[Fraction, ...]
    share: Fraction
    most: Fraction
    pull: tuple[float, ...]

    @property
    def start(self) -> tuple[float, ...]:
        """The first action: no load."""
        return (0.0,) * len(self.heat)

    def box(self, most: float = 0.9) -> Box:
        """Return the box of all loads up to a number."""
        return Box(self.start, [most] * len(self.heat))


TWO = Cable((Fraction(4, 5), Fraction(1, 2)), Fraction(1, 2), Fraction(3, 5), (-0.5, -0.9))
SIX = Cable(
    tuple(Fraction(tenths, 10) for tenths in (8, 5, 6, 7, 4, 3)),
    Fraction(1, 4),
    Fraction(2, 5),
    (-0.5, -0.9, -0.7, -0.6, -0.8, -0.4),
)
START = TWO.start


class Need(NamedTuple):
    """One thing that a user may need.

    Attributes:
        name: in the tables.
        words: what it is, for a user.
        call: what the user types for it.
    """

    name: str
    words: str
    call: str


NEEDS = (
    Need("value error", "readings of g err by at most 0.02", "`value_error=0.02`"),
    Need("drift", "g changes by at most 0.001 per round", "`drift=0.001`"),
    Need(
        "context",
        "g moves with what is known before the round",
        "`context=Column(adds=1.0, changes=0.02)`",
    ),
    Need("ramp", "an action moves by at most 0.05 per round", "`ramp=0.05`"),
    Need("steps", "actions are multiples of 0.05", "`domain=Choices(0.0, [0.9, 0.9], step=0.05)`"),
    Need(
        "off or on",
        "each entry is 0, or from 0.2 to 0.9",
        "`domain=Choices(0.2, [0.9, 0.9], off=True)`",
    ),
    Need("box", "a box holds every action, the start at its corner", "`domain=Box(...)`"),
    Need("start bound", "g at the start is below -0.3 in every round", "`start_bound=-0.3`"),
    Need("noise", "readings have random errors", "`Averaged(base=..., sigma=0.01)`"),
    Need("delay", "readings come two rounds late", "`Delayed(base=..., delay=2)`"),
    Need(
        "slow plant",
        "a reading shows half of a step, and the rest in later rounds",
        "`response=Response(time_constants=[1.5], round=1.0)`",
    ),
    Need("no slope", "only values of g are read", "`ValuesFollower(...)`"),
    Need("no gradient", "only values of the cost are read", "`CostProbing(base=..., length=0.05)`"),
    Need("unknown G_g", "no Lipschitz constant is known", "`LeaderFollower.unknown(...)`"),
    Need("rows", "two limits, each read by itself", "`G_g=[1.6, 1.0]`"),
    Need("filter", "somebody else proposes the actions", "`RegionFilter(...)`"),
    Need("missing", "some rounds are not measured", "`tell(missing=True)`"),
    Need("announced", "a set is announced for the next round", "`tell(within=Box(...))`"),
)
NAMES = tuple(need.name for need in NEEDS)

NOT_NEEDED = {
    frozenset({"value error", "noise"}): "`Averaged` bounds the error of its averages by itself",
    frozenset({"no slope", "filter"}): "a filter certifies by values and needs no slope",
    frozenset({"no gradient", "filter"}): "a filter is told a proposal in place of a cost",
    frozenset({"steps", "off or on"}): "`Choices(..., step=0.05, off=True)` is both",
    frozenset({"steps", "box"}): "`least` and `most` of `Choices` are the box",
    frozenset({"off or on", "box"}): "`least` and `most` of `Choices` are the box",
}
"""Pairs of which one is in the other, with the reason."""

TRIPLES: tuple[tuple[str, ...], ...] = (
    ("no slope", "context", "ramp"),
    ("no slope", "context", "value error"),
    ("no slope", "value error", "missing"),
    ("slow plant", "no slope", "value error", "missing"),
    ("slow plant", "ramp", "drift", "start bound"),
    ("slow plant", "rows", "value error"),
    ("no slope", "context", "ramp", "value error", "missing", "box"),
    ("context", "drift", "start bound"),
    ("context", "ramp", "drift", "start bound"),
    ("context", "off or on", "value error"),
    ("steps", "value error", "missing"),
    ("off or on", "value error", "no slope"),
    ("unknown G_g", "box", "value error"),
    ("unknown G_g", "no slope", "missing"),
    ("no gradient", "box", "announced"),
    ("no gradient", "no slope", "value error"),
    ("filter", "context", "ramp"),
    ("filter", "unknown G_g", "box"),
    ("delay", "value error", "drift"),
    ("noise", "delay", "missing"),
    ("rows", "context", "value error", "start bound"),
)
"""Combinations that people ask for."""


class Cell(NamedTuple):
    """What became of a combination.

    Attributes:
        plays: whether it was built and played.
        words: why it is unsupported, or what is to be said of it.
        violations: how many rounds were in violation.
    """

    plays: bool
    words: str = ""
    violations: int = 0


def in_words(error: Exception) -> str:
    """Return the sentence of an error, without the value that was given."""
    return str(error).partition(", got ")[0]


# --- how a user builds it -------------------------------------------------------------------------


WRAPPERS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "noise": (Averaged, {"sigma": 0.01, "failure": 0.05}),
    "no gradient": (CostProbing, {"length": 0.05}),
    "delay": (Delayed, {"delay": 2}),
}
"""What is written around a rule, the innermost first."""


def rule_for(needs: frozenset[str]) -> type[Any]:
    """Return the class that a user takes."""
    if "filter" in needs:
        return RegionFilter
    return ValuesFollower if "no slope" in needs else LeaderFollower


def domain_for(needs: frozenset[str], cable: Cable) -> Any:
    """Return the set of all actions."""
    most = [0.9] * len(cable.heat)
    if "steps" in needs:
        return Choices(0.0, most, step=0.05)
    if "off or on" in needs:
        return Choices(0.2, most, off=True)
    return cable.box() if "box" in needs else Ball(0.9)


def options_for(needs: frozenset[str]) -> dict[str, Any]:
    """Return what a user writes beside the constant and the set."""
    options: dict[str, Any] = {}
    if "value error" in needs:
        options["value_error"] = 0.02
    if "drift" in needs:
        options["drift"] = 0.001
    if "context" in needs:
        options["context"] = Column(adds=1.0, changes=0.02)
    if needs & {"start bound", "context"}:  # without one a harsher context has no action
        options["start_bound"] = -0.3
    if "ramp" in needs:
        options["ramp"] = 0.05
    if "slow plant" in needs:
        through = "drift" in needs  # which is that of the plant here
        options["response"] = Response(time_constants=[1.5], round=1.0, through=through)
    if "rows" in needs and "unknown G_g" in needs:
        options["rows"] = 2
    return options


def build(names: Iterable[str], cable: Cable = TWO) -> Any:
    """Return the player for some needs, as a user would write it."""
    needs = frozenset(names)
    kind, domain, options = rule_for(needs), domain_for(needs, cable), options_for(needs)
    if "unknown G_g" in needs:
        player = kind.unknown(domain, **options).algorithm
    elif kind is RegionFilter:
        ramp = options.pop("ramp", None)
        player = RegionFilter(knowledge=knowledge_for(needs, domain, options), ramp=ramp)
    else:
        G_g: Any = [1.6, 1.0] if "rows" in needs else 1.6
        player = kind(G_g=G_g, domain=domain, **options)
    for need, (wrapper, fields) in WRAPPERS.items():
        if need in needs and frozenset({need, "filter"} & needs) not in NOT_NEEDED:
            player = wrapper(base=player, **fields)
    return player


def knowledge_for(needs: frozenset[str], domain: Any, options: dict[str, Any]) -> Any:
    """Return what a filter is given."""
    errors = Errors(value=options.pop("value_error", 0.0), drift=options.pop("drift", 0.0))
    kind: Any = ContextHull if "context" in needs else LipschitzHull
    response = options.pop("response", None)
    if "rows" not in needs:
        known = kind(G_g=1.6, domain=domain, errors=errors, **options)
        return known if response is None else Settling(knowledge=known, response=response)
    rows = [kind(G_g=G_g, reach=2.0, errors=errors, **options) for G_g in (1.6, 1.0)]
    if response is not None:
        rows = [Settling(knowledge=row, response=response) for row in rows]
    return Together(rows=tuple(rows), domain=domain)


# --- the plant ------------------------------------------------------------------------------------


class Plant:
    """A cable whose limit moves as far as the needs say.

    Args:
        needs: which of them there are.
        cable: the cable.
    """

    def __init__(self, needs: Iterable[str], cable: Cable = TWO) -> None:
        self.needs, self.cable = frozenset(needs), cable
        self.now = 0
        self.before = self.shown = self.rows(cable.start, 1)

    def show(self, x: Any, t: int) -> list[Fraction]:
        """Return what a meter shows of each limit: of a slow plant, half of what is new."""
        rows = self.rows(x, t)
        if "slow plant" not in self.needs:
            return rows
        if t > self.now:
            self.before = self.shown
        self.now = t
        self.shown = [(old + new) / 2 for old, new in zip(self.before, rows, strict=True)]
        return self.shown

    def context(self, t: int) -> float:
        """Return the context of a round."""
        return round(0.05 * math.sin(0.3 * t), 6) if "context" in self.needs else 0.0

    def rows(self, x: Any, t: int) -> list[Fraction]:
        """Return each limit of a round at an action, exactly."""
        loads = [Fraction(float(part)) for part in x]
        rise = Fraction(self.context(t))
        if "drift" in self.needs:
            rise += Fraction(1, 1000) * abs(t % 40 - 20)
            rise -= Fraction(2, 100)
        each = zip(self.cable.heat, loads, strict=True)
        heat = sum((weight * load * load for weight, load in each), Fraction(-2, 5))
        return [heat + rise, self.cable.share * sum(loads) - self.cable.most + rise]

    def slopes(self, x: Any) -> list[list[float]]:
        """Return a subgradient of each limit."""
        heat = [2 * float(w) * load for w, load in zip(self.cable.heat, x, strict=True)]
        return [heat, [float(self.cable.share)] * len(heat)]

    def cost(self, x: Any) -> float:
        """Return the cost of an action: minus the income."""
        return float(np.dot(self.cable.pull, x))


class Game:
    """A plant and what is reported of it in each round.

    Args:
        names: the needs.
        player: what plays.
        cable: the plant.
    """

    def __init__(self, names: Iterable[str], player: Any, cable: Cable = TWO) -> None:
        self.needs, self.plant = frozenset(names), Plant(names, cable)
        self.rng = np.random.default_rng(5)
        self.fields = needs_of(player)
        self.violations = 0

    def judge(self, x: Any, t: int) -> None:
        """Count a violation, exactly."""
        rows = self.plant.rows(x, t)
        self.violations += max(rows if "rows" in self.needs else rows[:1]) > 0

    def report(self, x: Any, t: int) -> dict[str, Any]:
        """Return the arguments of ``tell``."""
        report: dict[str, Any] = {}
        cable = self.plant.cable
        if "context" in self.needs:
            report["context"] = self.plant.context(t + 1)
        shown = self.plant.show(x, t)
        if "missing" in self.needs and t % 5 == 3:
            return report | {"missing": True}
        values = [float(row) for row in shown]
        error = {"value error": 0.02, "noise": 0.01}
        for name, size in error.items():
            if name in self.needs:
                values = [value + size * self.rng.uniform(-1, 1) for value in values]
        if "rows" not in self.needs:
            report["constraint_value"] = values[0]
        else:
            report["constraint_value"] = values
        if "no slope" not in self.needs and "filter" not in self.needs:
            slopes = self.plant.slopes(x)
            report["constraint_subgradient"] = slopes if "rows" in self.needs else slopes[0]
        if "filter" in self.needs:
            report["proposal"] = [0.6, 0.8] * (len(cable.heat) // 2)
        elif "no gradient" in self.needs:
            report["cost_value"] = self.plant.cost(x)
        else:
            report["cost_gradient"] = list(cable.pull)
        if "announced" in self.needs:
            report["within"] = cable.box(0.8)
        return report


def play(names: Sequence[str]) -> Cell:
    """Return what becomes of a combination of needs in a controller with a journal."""
    try:
        player = build(names)
        game = Game(names, player)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.jsonl"
            first = game.plant.context(1) if "context" in game.needs else None
            with Controller(player, START, journal=path, context=first) as loop:
                for t in range(1, ROUNDS + 1):
                    x = loop.ask()
                    game.judge(x, t)
                    loop.tell(**game.report(x, t))
            report = check(str(path))
    except SurefootError as error:
        return Cell(False, in_words(error))
    if not report.is_right:
        raise AssertionError(f"{' x '.join(names)}: {report.said[0]}")
    if game.violations and "unknown G_g" not in game.needs:
        raise AssertionError(f"{' x '.join(names)}: {game.violations} rounds in violation")
    return Cell(True, "" if report.code == 0 else "not checked", game.violations)


# --- doors ----------------------------------------------------------------------------------------


def by_controller(names: Sequence[str]) -> Cell:
    """Play one loop."""
    cell = play(names)
    return cell._replace(words="") if cell.plays else cell


def by_fleet(names: Sequence[str]) -> Cell:
    """Play two members of a fleet."""
    player = build(names)
    game = Game(names, player)
    first = [game.plant.context(1)] * 2 if "context" in game.needs else None
    with Fleet(player, {"north": START, "south": START}, context=first) as fleet:
        for t in range(1, ROUNDS + 1):
            actions = fleet.ask()
            for x in actions:
                game.judge(x, t)
            reports = [game.report(x, t) for x in actions]
            if reports[0].pop("missing", False):
                reports = [r | {"constraint_value": math.nan} for r in reports]
                empty = np.full(2, math.nan)
                first_name = "proposal" if "filter" in game.needs else "cost_gradient"
                if needs_of(player).cost_values:
                    first_name = "cost_value"
                for r in reports:
                    r.pop("missing", None)
                    r.setdefault(first_name, math.nan if first_name == "cost_value" else empty)
                    if "no slope" not in game.needs and "filter" not in game.needs:
                        r.setdefault("constraint_subgradient", empty)
            columns: dict[str, Any] = {n: [r[n] for r in reports] for n in reports[0]}
            for name in columns.keys() - {"context", "within"}:
                columns[name] = np.array(columns[name])
            fleet.tell(**columns)
    return Cell(not game.violations or "unknown G_g" in game.needs)


def by_service(names: Sequence[str]) -> Cell:
    """Play by lines of JSON."""
    made = build(names)
    game = Game(names, made)
    first = game.plant.context(1) if "context" in game.needs else None
    service = ControllerService(Controller(made, START, context=first))
    for t in range(1, ROUNDS + 1):
        answer = json.loads(service.answer(b'{"do": "ask"}'))
        x = np.array(answer["action"])
        game.judge(x, t)
        report = game.report(x, t)
        if "within" in report:
            report["within"] = {"class": "Box", "lower": [0.0, 0.0], "upper": [0.8, 0.8]}
        answer = json.loads(service.answer(json.dumps({"do": "tell", **report}).encode()))
        if not answer["ok"]:
            return Cell(False, answer["error"].partition(", got ")[0])
    return Cell(True)


def by_c_header(names: Sequence[str]) -> Cell:
    """Write the step as a C header."""
    c_header(build(names), 2, name="cable", start=np.array(START))
    return Cell(True)


def by_engine(names: Sequence[str]) -> Cell:
    """Return which engine plays."""
    inner: Any = build(names)
    while isinstance(inner, Algorithm) and inner.inner is not None:
        inner = inner.inner
    return Cell(True, str(inner.engine))


def by_checker(names: Sequence[str]) -> Cell:
    """Have the journal checked."""
    cell = play(names)
    return cell._replace(words=cell.words or "certified") if cell.plays else cell


def by_gymnasium(names: Sequence[str]) -> Cell:
    """Let a filter correct an agent of gymnasium."""
    import gymnasium

    from surefoot.adapters.gymnasium import SafeAction

    game = Game([*names, "filter"], player := build({*names, "filter"}))
    space = gymnasium.spaces.Box(0.0, 0.9, (2,), np.float64)

    class Cable(gymnasium.Env[Any, Any]):  # type: ignore[misc]
        """Two loads on one cable."""

        action_space = observation_space = space
        t = 0

        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
            self.t = 0
            return np.zeros(2), {}

        def step(self, x: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            self.t += 1
            game.judge(x, self.t)
            report = game.report(x, self.t)
            g = report.get("constraint_value")
            slope = game.plant.slopes(x) if "rows" in game.needs else game.plant.slopes(x)[0]
            told = {"constraint_value": g, "constraint_subgradient": np.array(slope)}
            return np.zeros(2), -game.plant.cost(x), False, False, told

    cable = Cable()
    claim: dict[str, Any] = {"action_only": True}
    if "context" in names:
        claim = {"context": lambda seen, info: [game.plant.context(cable.t + 1)]}
    env = SafeAction(cable, player, START, **claim)
    env.reset(seed=0)
    for _ in range(ROUNDS):
        env.step(np.array([0.6, 0.8]))
    return Cell(not game.violations or "unknown G_g" in game.needs)


def by_torch(names: Sequence[str]) -> Cell:
    """Let a filter correct an optimiser of PyTorch."""
    import torch

    from surefoot.adapters.torch import KeepFeasible

    game = Game([*names, "filter"], player := build({*names, "filter"}))
    w = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
    optimiser = KeepFeasible(torch.optim.SGD([w], lr=0.1), player)
    for t in range(1, ROUNDS + 1):
        x = w.detach().numpy().copy()
        game.judge(x, t)
        w.grad = torch.tensor([-0.5, -0.9], dtype=torch.float64)
        report = game.report(x, t)
        slope = game.plant.slopes(x) if "rows" in game.needs else game.plant.slopes(x)[0]
        if "constraint_value" in report:
            optimiser.step(constraint=(report["constraint_value"], np.array(slope)))
    return Cell(not game.violations or "unknown G_g" in game.needs)


HOSTS: dict[str, Callable[[Sequence[str]], Cell]] = {"gymnasium": by_gymnasium, "torch": by_torch}
"""Doors of other libraries, which not every environment has."""

OWN_DOORS: dict[str, Callable[[Sequence[str]], Cell]] = {
    "controller": by_controller,
    "fleet": by_fleet,
    "serve": by_service,
    "export-c": by_c_header,
    "check": by_checker,
    "engine": by_engine,
}
DOORS = OWN_DOORS | HOSTS


def at_door(door: str, names: Sequence[str]) -> Cell:
    """Return what becomes of a need at a door."""
    try:
        return DOORS[door](names)
    except SurefootError as error:
        return Cell(False, in_words(error))


# --- times ----------------------------------------------------------------------------------------

TIMED_ROUNDS = 250
TARGET = 2e-3
"""What a live round may take, in seconds."""


class RoundTime(NamedTuple):
    """How long live rounds of a combination took.

    Attributes:
        names: the needs.
        median: of ``ask`` and ``tell`` together, in seconds of the processor.
        high: the ninth decile.
    """

    names: tuple[str, ...]
    median: float
    high: float


def time_rounds(names: Sequence[str], rounds: int = TIMED_ROUNDS) -> RoundTime | None:
    """Return how long live rounds with six loads take; None for what is unsupported."""
    try:
        player = build(names, SIX)
        game, taken = Game(names, player, SIX), []
        first = game.plant.context(1) if "context" in game.needs else None
        loop = Controller(player, SIX.start, context=first)
        for t in range(1, rounds + 1):
            begun = time.process_time()
            x = loop.ask()
            asked = time.process_time() - begun
            game.judge(x, t)
            report = game.report(x, t)
            begun = time.process_time()
            loop.tell(**report)
            taken.append(asked + time.process_time() - begun)
    except SurefootError:
        return None
    if game.violations and "unknown G_g" not in game.needs:
        raise AssertionError(f"{' x '.join(names)}: {game.violations} rounds in violation")
    middle, high = np.quantile(taken, [0.5, 0.9])
    return RoundTime(tuple(names), float(middle), float(high))


def time_all(rounds: int = TIMED_ROUNDS) -> list[RoundTime]:
    """Return the times of every need, pair and triple that plays, the slowest first."""
    together: list[tuple[str, ...]] = [(name,) for name in NAMES]
    together += list(itertools.combinations(NAMES, 2)) + list(TRIPLES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times = [time_rounds(names, rounds) for names in together]
    return sorted((one for one in times if one), key=lambda one: -one.median)


def time_lines(times: Sequence[RoundTime], most: int = 10) -> list[str]:
    """Return the table of the slowest, after a sentence on all."""
    over = sum(one.median > TARGET for one in times)
    middle = float(np.median([one.median for one in times]))
    rows = [
        [", ".join(one.names), f"{1e3 * one.median:.2f}", f"{1e3 * one.high:.2f}"]
        for one in times[:most]
    ]
    return [
        f"Live rounds with six loads, of {len(times)} needs, pairs and triples: {1e3 * middle:.2f} "
        f"ms on the median; {over} of them take more than {1e3 * TARGET:g} ms. The slowest:",
        "",
        *table(["together", "median, ms", "nine of ten below, ms"], rows),
    ]


# --- the page -------------------------------------------------------------------------------------


class Notes:
    """Sentences by number, in the order of their first use."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def mark(self, words: str) -> str:
        """Return the mark of a sentence."""
        return f"no [{self.numbers.setdefault(words, len(self.numbers) + 1)}]"

    @property
    def lines(self) -> list[str]:
        """The numbered sentences."""
        return [f"{number}. {words}" for words, number in self.numbers.items()]


def pair_lines(cells: dict[frozenset[str], Cell], notes: Notes) -> list[str]:
    """Return the table of needs and needs."""

    def text(a: str, b: str) -> str:
        if a == b:
            return ""
        pair = frozenset({a, b})
        if pair in NOT_NEEDED:
            return "–"
        cell = cells[pair]
        return "yes" if cell.plays else notes.mark(cell.words)

    return table(["", *NAMES], [[f"**{a}**", *(text(a, b) for b in NAMES)] for a in NAMES])


def door_lines(cells: dict[tuple[str, str], Cell], notes: Notes) -> list[str]:
    """Return the table of needs and doors."""

    def text(name: str, door: str) -> str:
        cell = cells[name, door]
        if not cell.plays:
            return notes.mark(cell.words)
        return cell.words or "yes"

    rows = [[f"**{name}**", *(text(name, door) for door in DOORS)] for name in NAMES]
    return table(["", *DOORS], rows)


def triple_lines(cells: dict[tuple[str, ...], Cell], notes: Notes) -> list[str]:
    """Return the table of what people ask for."""
    rows = []
    for names, cell in cells.items():
        text = "yes" if cell.plays else notes.mark(cell.words)
        rows.append([", ".join(names), text])
    return table(["together", ""], rows)


def lines_of() -> dict[str, list[str]]:
    """Play everything; return the lines of each section of the page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = [name for name in NAMES if not play([name]).plays]
        if alone:
            raise AssertionError(f"{alone[0]} does not play by itself: {play([alone[0]]).words}")
        pairs = {frozenset(pair): play(pair) for pair in itertools.combinations(NAMES, 2)}
        doors = {(name, door): at_door(door, [name]) for name in NAMES for door in DOORS}
        triples = {names: play(names) for names in TRIPLES}
    notes = Notes()
    needs = table(
        ["need", "in words", "what you write"],
        [[f"**{n}**", words, call] for n, words, call in NEEDS],
    )
    matrix = pair_lines(pairs, notes)
    others = [f"- {' and '.join(sorted(pair))}: {why}." for pair, why in NOT_NEEDED.items()]
    asked, at_doors = triple_lines(triples, notes), door_lines(doors, notes)
    count = sum(cell.plays for pair, cell in pairs.items() if pair not in NOT_NEEDED)
    summary = (
        f"{count} of {len(pairs) - len(NOT_NEEDED)} pairs play; {len(NOT_NEEDED)} more are one "
        "thing said twice."
    )
    return {
        "needs": needs,
        "pairs": [
            summary,
            "",
            *matrix,
            "",
            "A dash is a pair of which one is in the other:",
            "",
            *others,
        ],
        "triples": asked,
        "doors": at_doors,
        "sentences": notes.lines,
    }


def main() -> int:
    """Play all combinations; print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.combinations", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the tables into the page")
    parser.add_argument("--times", action="store_true", help="only measure live rounds")
    given = parser.parse_args()
    sections = {"times": time_lines(time_all())} if given.times else lines_of()
    for name, lines in sections.items():
        if given.write:
            write_section(PAGE, name, lines)
        else:
            print(f"\n## {name}\n", *lines, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
