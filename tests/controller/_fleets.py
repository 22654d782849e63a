"""Honest journals of fleets: of the test's own writer, and of plants as the library writes them.

Members are told in calls of their own or together, are halted and resumed, come and leave; readings
err by no more than they may.
"""

import copy
import warnings
from types import SimpleNamespace

import numpy as np

from surefoot.controller import Fleet
from surefoot.controller.check.fleet import Fleet as Lines
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import needs_of

from ._columns import Writer, run_of
from ._honest import PLANTS, START, World, _context, _tell
from .test_check import JUDGED, played


def _groups():
    """The plants that can be told by one call, by what that brings."""
    groups = {"proposals": [], "gradients": [], "values": [], "contexts": [], "drifts": []}
    for name, plant in PLANTS.items():
        if plant.scales or plant.shape in ("rows", "units"):  # as many limits for each member
            needs = needs_of(plant.player)
            kind = "gradients" if needs.cost_gradients else "proposals"
            kind = plant.shape if plant.shape == "context" else kind
            groups.setdefault(f"{kind}, {len(plant.scales) or 2} limits", []).append(name)
        elif plant.shape in ("context", "drift"):
            groups[f"{plant.shape}s"].append(name)
        else:
            needs = needs_of(plant.player)
            kind = "gradients" if needs.constraint_subgradients else "values"
            groups[kind if needs.cost_gradients else "proposals"].append(name)
    return groups


GROUPS = _groups()


HULLS = {
    "north": JUDGED["hull filter"],
    "south": JUDGED["hull in a ball"],
    "west": JUDGED["ball of the other centre"],
}


def fleet_of(folder, players, rounds=12, seed=0, first=None, leaving=0.0, **options):
    """The journal of a fleet of some players."""
    folder.mkdir(exist_ok=True)
    runs = {}
    for name, player in players.items():
        runs[name] = run_of(played(folder / name, player, rounds, rotate=5))
    writer = Writer(folder / "fleet.jsonl", np.random.default_rng(seed), **options)
    return writer.write(runs, len(runs) if first is None else first, leaving)


def expand(found):
    """The rounds of all members in lines that nobody has changed, by name."""
    rounds, fleet = {}, Lines()
    for line in copy.deepcopy(found):
        for name, record in fleet.expand(line):
            if record["kind"] == "round":
                rounds.setdefault(name, []).append(record)
    return rounds


class Play:
    """A fleet in its world.

    Args:
        path: of its journal.
        names: of the plants that play in it; each is a member at first.
        seed: of all that is random.
        eventful: whether there are orders, and rounds without a measurement.
    """

    def __init__(self, path, names, seed, eventful=True):
        self.path, self.rng, self.eventful = path, np.random.default_rng([seed, 9]), eventful
        self.worlds = {name: World(PLANTS[name], self.rng) for name in names}
        self.has_contexts = PLANTS[names[0]].shape in ("context", "drift")
        self.options = {
            "on_missing": str(self.rng.choice(["hold", "retreat"])),
            "on_contradiction": str(self.rng.choice(["hold", "retreat", "record"])),
        }
        players = {name: world.plant.player for name, world in self.worlds.items()}
        rotate = int(self.rng.choice([0, 3, 7])) or None
        starts = dict.fromkeys(players, START)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            writing = {"journal": path, "rotate": rotate, "durable_every": 1000}
            self.fleet = Fleet(players, starts, **self.options, **writing)

    def play(self, calls):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(calls):
                self.call()
            self.fleet.close()
        return self.path

    def ask(self):
        try:
            return self.fleet.ask()
        except InvalidValueError:  # a context is not known
            self.announce(self.fleet.names)
            return self.fleet.ask()

    def announce(self, names):
        told = [_context(self.worlds[name]) for name in names]
        columns = {key: [each[key] for each in told] for key in told[0]}
        self.fleet.announce(members=names, **columns)

    def call(self):
        """Tell some of the members, or all."""
        self.ask()
        if self.eventful:
            self.order()
        chance = 0.8 if self.eventful else 1.0
        names = [name for name in self.fleet.names if self.rng.random() < chance]
        if not names:
            return
        actions = dict(zip(self.fleet.names, self.ask(), strict=True))
        told = [self.told(name, actions[name]) for name in names]
        keys = {key for each in told for key in each} - {"missing"}
        columns = {key: self.column(key, told) for key in sorted(keys)}
        if all("missing" in each for each in told):
            first = "cost_gradient" if self.needs.cost_gradients else "proposal"
            slopes = ("constraint_subgradient",) if self.needs.constraint_subgradients else ()
            for key in ("constraint_value", first, *slopes):
                columns[key] = self.column(key, told)
        self.fleet.tell(members=names, **columns)

    @property
    def needs(self):
        return needs_of(PLANTS[self.fleet.names[0].split(" #")[0]].player)

    def told(self, name, x):
        """What a round tells of one member."""
        world, halt = self.worlds[name], self.fleet.halted.get(name)
        t = self.fleet.rounds[name]
        told = _tell(SimpleNamespace(halted=halt), world.plant.player, world, t, x, self.eventful)
        if "missing" not in told and self.needs.constraint_subgradients:
            told.setdefault("constraint_subgradient", world.at(x)[1])
        return told

    def column(self, key, told):
        nothing = {"constraint_value": np.nan, "value_error": np.nan}
        if (limits := self.fleet.limits) is not None:
            nothing["constraint_value"] = np.full(limits, np.nan)
        if key in ("cost_gradient", "proposal", "constraint_subgradient"):
            nothing[key] = np.zeros(2)
            if limits is not None and key == "constraint_subgradient":
                nothing[key] = np.zeros((limits, 2))
        if key == "action":
            nothing[key] = np.full(2, np.nan)
        return [each.get(key, nothing.get(key)) for each in told]

    def order(self):
        """Give an order to some, open the journal again, or let a member come or leave."""
        chance, names = self.rng.random(), self.fleet.names
        some = [name for name in names if self.rng.random() < 0.3] or [names[0]]
        if chance < 0.1:
            self.fleet.hold("a look", some)
        elif chance < 0.2:
            self.fleet.retreat("a storm", some)
        elif chance < 0.4:
            self.fleet.resume("over", some)
        elif chance < 0.45:
            world = self.worlds[some[0]]
            self.fleet.resume("another one", some[:1], player=world.plant.player)
            self.begin(some[0], world)
        elif chance < 0.5 and self.has_contexts:
            self.announce(some)
        elif chance < 0.6:
            self.fleet.close()
            self.fleet = Fleet.open(self.path)
        elif chance < 0.7:
            self.come(some[0].split(" #")[0])
        elif chance < 0.75 and len(names) > 1:
            self.fleet.remove(some[0], "old")
        elif chance < 0.8:
            self.fleet.note("a note")
        self.ask()

    def begin(self, name, world):
        world.begin()
        if self.has_contexts:
            self.announce([name])

    def come(self, plant):
        name = f"{plant} #{len(self.worlds)}"
        world = self.worlds[name] = World(PLANTS[plant], self.rng)
        self.fleet.add(name, world.plant.player, START, "new", **self.options)
        if self.has_contexts:
            self.announce([name])
