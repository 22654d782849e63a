"""What there is to combine, found by walking subclasses, and a value for every parameter.

Nothing here names a kind of knowledge, a proposer or a wrapper that could be found: what a part is
built with comes from its declared parameters, by their names. A part with a required parameter that
has no value here makes :func:`check_tables` fail.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from surefoot import OGD
from surefoot.core.constants import Constants
from surefoot.core.errors import SurefootError
from surefoot.core.parameters import parameters_of
from surefoot.knowledge import (
    AnnouncedDrift,
    Choices,
    Column,
    Columns,
    ContextHull,
    Curvature,
    Errors,
    Knowledge,
    LipschitzHull,
    Response,
)
from surefoot.knowledge.context import ContextKind
from surefoot.proposers.base import Proposer
from surefoot.proposers.leader import Leader
from surefoot.rules.wrappers.wrapper import Wrapper
from surefoot.sets import Ball, Box
from tests._names import KINDS, NAMES
from tests.composition.worlds import UP, World, read_low

STEP = 0.0625
"""Of grids; every start is on it."""
LOADED = NAMES  # a class is found once its file is loaded
DOMAINS = ("none", "ball", "box", "grid", "endless grid", "off or", "off or steps", "mixed")
ENDLESS = ("none", "endless grid", "off or steps")
"""Those that know no dimension, and so no reach."""
ERRORS = ("value", "slope", "drift")


def walk(kind: type) -> Iterator[type]:
    """Yield all subclasses of a class."""
    for sub in kind.__subclasses__():
        yield sub
        yield from walk(sub)


def is_concrete(kind: type) -> bool:
    """Return whether objects of a class are made: it is the library's, public, and complete."""
    is_own = kind.__module__.startswith("surefoot.")
    members = (getattr(kind, name, None) for name in dir(kind))
    is_complete = not any(getattr(member, "__isabstractmethod__", False) for member in members)
    return is_own and is_complete and not kind.__name__.startswith("_")


def find(kind: type, among: Any = None) -> list[type]:
    """Return the concrete subclasses of a class, by name; those of a package's public names."""
    public = None if among is None else set(among)
    found = {k for k in walk(kind) if is_concrete(k) and (public is None or k.__name__ in public)}
    return sorted(found, key=lambda k: k.__name__)


def find_knowledge() -> list[type]:
    """Return every kind of knowledge."""
    return find(Knowledge, KINDS)


def find_proposers() -> list[type]:
    """Return every proposer."""
    return find(Proposer)


def find_wrappers() -> list[type]:
    """Return every wrapper that is one by itself: its step is its own."""
    return [kind for kind in find(Wrapper) if "step" in vars(kind)]


def find_contexts() -> list[type]:
    """Return every kind of context."""
    return find(ContextKind, KINDS)


# --- knowledge -----------------------------------------------------------------------------------


class Setting(NamedTuple):
    """One way to make a kind of knowledge.

    Attributes:
        kind: its class, by name.
        shape: of the world.
        errors: which of them are allowed for.
        domain: which set holds every action.
        context: the class of its contexts, by name; empty for none.
        options: optional parameters that are given.
    """

    kind: str
    shape: str
    errors: tuple[str, ...] = ()
    domain: str = "ball"
    context: str = ""
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        words = [self.kind, self.shape, self.domain, *self.errors, self.context, *self.options]
        return " ".join(filter(None, words))


class Specimen:
    """A world and what is known of it.

    Args:
        setting: how it is made.
        rng: what draws the world.
        factor: what constants are multiplied by; 1 where they are true.
    """

    def __init__(self, setting: Setting, rng: np.random.Generator, factor: float = 1.0) -> None:
        self.setting, self.rng, self.factor = setting, rng, factor
        drifts = "drift" in setting.errors or setting.context == "AnnouncedDrift"
        by_place = bool(setting.context) and setting.context != "AnnouncedDrift"
        moves = drifts or by_place
        # Contexts and drift make more feasible, and so does a limit on the average for a round.
        more = moves or "most" in parameters_of(KINDS[setting.kind])
        self.world = World(setting.shape, rng, 0.25 * max(drifts + by_place, more))
        if setting.domain.startswith("off"):
            self.world.start = abs(self.world.start)
        if setting.domain == "mixed":
            self.world.start[1::3] = abs(self.world.start[1::3])
        slack = self.world.slack
        sizes = {"value": 0.1 * slack, "slope": 0.3 * slack, "drift": 0.01 * slack}
        self.errors = {name: sizes[name] for name in setting.errors}
        # What the start is never above, in any round and context.
        self.most = Fraction(-0.25 * slack) if moves else self.world.g(self.world.start)
        self.knowledge = self.build()

    def build(self) -> Any:
        """Return the knowledge, with a value for each parameter that is required or asked for."""
        kind = KINDS[self.setting.kind]
        given: dict[str, Any] = {}
        for name, one in parameters_of(kind).items():
            if name in ALWAYS or one.is_required or name in self.setting.options:
                given[name] = PARAMETERS[name](self)
        return kind(**given)

    @property
    def domain(self) -> Any:
        """The set that holds every action; None for none."""
        d = self.world.d
        box = Box(np.full(d, -3.0), np.full(d, 2.5))
        return {
            "none": lambda: None,
            "ball": lambda: Ball(4.0),
            "box": lambda: box,
            "grid": lambda: Choices(box.lower, box.upper, step=STEP),
            "endless grid": lambda: Choices(step=STEP),
            "off or": lambda: Choices(np.full(d, STEP), 5.0, off=True),
            "off or steps": lambda: Choices(STEP, 5.0, step=0.5 * STEP, off=True),
            "mixed": lambda: Choices(
                np.where(np.arange(d) % 3 == 1, STEP, -3.0),
                2.5,
                step=np.where(np.arange(d) % 3 == 0, STEP, 0.0),
                off=np.arange(d) % 3 == 1,
            ),
        }[self.setting.domain]()

    @property
    def start_bound(self) -> float:
        """What the start is never above, rounded up."""
        return float(self.most) * (1 - 2.0**-50)

    @property
    def reach(self) -> float | None:
        """The largest norm of a feasible point, where no set says it."""
        if self.setting.domain in ENDLESS:
            return max(self.world.reach, 0.5)
        return None

    @property
    def context(self) -> Any:
        """What is known of contexts: G_c is the true one."""
        make, changes = CONTEXTS[self.setting.context], None
        if "changes" in self.setting.options:
            changes = CHANGES * self.world.slack
        return make(self.factor, changes)

    @property
    def at_rest(self) -> Any:
        """What is known of g where the plant has settled, with a bound at the start or none.

        A lag counts slopes wherever somebody acts: here that is 8 from where the start may be.
        """
        bound = self.start_bound if self.rng.integers(2) else None
        errors, domain = Errors(**self.errors), self.domain
        steep = max(self.world.steepest(row, 12.0) for row in self.world.rows) * self.factor
        shared: dict[str, Any] = {"errors": errors, "domain": domain, "reach": self.reach}
        return LipschitzHull(G_g=steep, start_bound=bound, **shared)

    @property
    def rows(self) -> tuple[Any, ...]:
        """A knowledge for each row: slopes of all, or of the one and curvatures of the next."""
        errors, reach = Errors(**self.errors), max(self.world.reach, 4.0)
        shared: dict[str, Any] = {"reach": reach, "errors": errors}
        made: list[Any] = []
        mixes = bool(self.rng.integers(2))
        if self.setting.context:
            shared |= {"context": self.context, "start_bound": self.start_bound}
            hull = ContextHull
        else:
            hull = LipschitzHull
        for i, steep in enumerate(self.world.slopes):
            if mixes and i % 2 and not self.setting.context:
                bend = self.world.beta * self.factor
                made.append(Curvature(beta=bend, reach=reach, errors=errors))
            else:
                steep = max(steep, 2.0**-10) * self.factor
                made.append(hull(G_g=steep, **shared))
        return tuple(made)

    @property
    def steep(self) -> float:
        """The bound on slopes."""
        return self.world.G_g * self.factor

    @property
    def steep_in_domain(self) -> float:
        """The bound on slopes on all of the domain."""
        radius = 3.0 * self.world.d**0.5 + 1.0
        return max(self.world.steepest(row, radius) for row in self.world.rows) * self.factor

    @property
    def bend(self) -> float:
        """The bound on the curvature."""
        return self.world.beta * self.factor

    @functools.cached_property
    def log(self) -> tuple[np.ndarray, np.ndarray]:
        """Points of a log, the start among them, and what was read there."""
        ways = self.rng.integers(-8, 9, size=(6, self.world.d)) * STEP
        points = np.vstack([self.world.start, self.world.start + ways])
        error = self.errors.get("value", 0.0)
        return points, np.array([read_low(self.world.g(p), error, -1.0) for p in points])


def _columns(*words: str, joint: bool = False) -> Callable[[float, float | None], Columns]:
    """Return what makes columns that add, are bounded, or bounded upwards."""

    def make(G_c: float, changes: float | None) -> Columns:
        kinds: dict[str, dict[str, Any]] = {
            "adds": {"adds": 1.0},
            "bounded": {"G_c": G_c},
            "upwards": {"G_c": G_c, "worse": "up"},
        }
        return Columns([Column(**kinds[word], changes=changes) for word in words], joint=joint)

    return make


CHANGES = 0.05
"""How far a context moves in a round where it says so, of the start's slack."""
CONTEXTS: dict[str, Callable[[float, float | None], ContextKind]] = {
    "adds": _columns("adds"),
    "bounded": _columns("bounded", "bounded"),
    "upwards": _columns("upwards"),
    "mixed": _columns("adds", "upwards"),
    "joint": _columns("bounded", "adds", joint=True),
    "AnnouncedDrift": lambda G_c, changes: AnnouncedDrift(),
}
"""Contexts whose entries add as much as they may, with G_c times what is true."""


def _of_rows(make: Specimen) -> Any:
    """Return how many rows there are, or what is known of each."""
    return make.rows if make.setting.kind == "Together" else len(make.world.rows)


PARAMETERS: dict[str, Callable[[Specimen], Any]] = {
    "errors": lambda make: Errors(**make.errors),
    "knowledge": lambda make: make.at_rest,
    "response": lambda make: Response(time_constants=[2.0], round=1.0, through=True),
    "convex": lambda make: make.world.is_convex,
    "domain": lambda make: make.domain,
    "reach": lambda make: make.reach,
    "context": lambda make: make.context,
    "rows": _of_rows,
    "points": lambda make: make.log[0],
    "values": lambda make: make.log[1],
    "G_g": lambda make: make.steep,
    "beta": lambda make: make.bend,
    "L_0": lambda make: make.world.relative[0],
    "L_1": lambda make: make.world.relative[1] * make.factor,
    "rho": lambda make: 0.25 * make.world.slack,
    "most": lambda make: 0.25,
    "start_bound": lambda make: make.start_bound,
    "credit": lambda make: 0.5 * make.world.slack,
    "decreasing": lambda make: True,
    "violations": lambda make: 2,
    "largest_G_g": lambda make: make.steep_in_domain,
    "largest_beta": lambda make: max(make.bend, 2.0**-10),
    "largest_violation": lambda make: 0.25 * make.world.slack,
}
"""The value of every parameter of knowledge that is required, or varied."""
ALWAYS = {"errors", "convex", "domain", "reach"}
"""Parameters that are always given."""
EXACT = {"HullOfLog": ("G_g",), "CurvatureRows": ("rows",)}
"""Options without which what is called feasible is so up to rounding alone, or is not known."""
FIXED = {"theta", "sigma"}
"""Optional parameters whose default is played."""


def shapes_of(kind: type) -> tuple[str, ...]:
    """Return the worlds that a kind of knowledge speaks of, by the names of its constants."""
    names = parameters_of(kind)
    if "L_1" in names:
        return ("quartic", "bowl", "well")
    if "rows" in names:
        return ("rows", "bowl", "well") if "beta" in names else ("rows",)
    if "largest_beta" in names:  # whose domain holds the feasible set
        return ("bowl", "quartic", "well")
    if "beta" in names:
        return ("bowl", "line", "quartic", "saddle", "well")
    return ("rows", "bowl", "well")


@functools.cache
def supported(kind: type) -> list[Setting]:
    """Return the settings that a kind of knowledge does not refuse by itself."""
    found = []
    for setting in settings_of(kind):
        try:
            Specimen(setting, np.random.default_rng(0))
        except SurefootError:
            continue
        found.append(setting)
    return found


def settings_of(kind: type) -> Iterator[Setting]:
    """Yield all ways to make a kind of knowledge: every error, set, context and option."""
    names = parameters_of(kind)
    contexts = list(CONTEXTS) if "context" in names else [""]
    if hasattr(kind, "context") and "context" not in names:  # its rows may be in contexts
        contexts = ["", *CONTEXTS]
    always = EXACT.get(kind.__name__, ())
    optional = [n for n, one in names.items() if not one.is_required and n not in ALWAYS | FIXED]
    options: list[tuple[str, ...]] = [always]
    options += [(*always, name) for name in optional if name not in always]
    if "largest_violation" in names:
        options[options.index(("largest_violation",))] = ("largest_G_g", "largest_violation")
    if "context" in names and "start_bound" in names:
        options.append((*always, "changes", "start_bound"))
    subsets = [s for n in range(4) for s in itertools.combinations(ERRORS, n)]
    for shape, errors, domain, context, option in itertools.product(
        shapes_of(kind), subsets, DOMAINS, contexts, options
    ):
        # A set that is not bounded has no reach: then a domain must say it.
        if shape in ("line", "saddle") and domain in ENDLESS:
            continue
        yield Setting(kind.__name__, shape, errors, domain, context, option)


# --- proposers -----------------------------------------------------------------------------------

PROPOSALS: dict[str, Callable[[Specimen], Any]] = {
    "as_steps": lambda make: True,
    "algorithm": lambda make: OGD(eta=0.25, domain=Ball(5.0)),
    "domain": lambda make: _convex_domain(make),
    "radius": lambda make: 5.0,
    "eta": lambda make: 0.5,
    "leader": lambda make: OGD(eta=0.25, domain=Ball(5.0)),
    "strong_convexity": lambda make: 0.5,
    "ratchet": lambda make: False,
    "far": lambda make: 0.5,
    "cuts": lambda make: 3,
    "Probing.leader": lambda make: Leader(domain=_convex_domain(make)),
    "probe": lambda make: 0.25,
    "doubt": lambda make: 0.0,
    "near": lambda make: 1.0,
}
"""The value of every parameter of proposers; with the class, where others share its name."""
AS_IS = {"features"}
"""Optional parameters that are functions, which no journal can store."""


def _convex_domain(make: Specimen) -> Any:
    """Return a convex set around the feasible set: what a leader learns in."""
    domain = make.domain
    if isinstance(domain, Choices):
        domain = domain.inside
    return Ball(5.0) if domain is None else domain


def variants_of(kind: type) -> list[str]:
    """Return which one optional parameter a proposer is given; empty for none."""
    names = parameters_of(kind)
    return ["", *(n for n, one in names.items() if not one.is_required and n not in AS_IS)]


def make_proposer(kind: type, option: str, make: Specimen) -> Any:
    """Return a proposer, for a world."""
    names = parameters_of(kind)
    given = {}
    for name, one in names.items():
        if one.is_required or name == option:
            given[name] = PROPOSALS.get(f"{kind.__name__}.{name}", PROPOSALS.get(name))(make)
    return kind(**given)


# --- wrappers ------------------------------------------------------------------------------------


class Wrapping(NamedTuple):
    """One way to wrap a rule.

    Attributes:
        kind: the class of the wrapper, by name.
        flags: those of its optional flags that are not as they are by default.
    """

    kind: str
    flags: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.kind, *self.flags))


def constants_of(make: Specimen) -> Constants:
    """Return the constants of a bound in advance; most gradients are longer than its G_f."""
    slack = -float(make.world.g(make.world.start))
    return Constants(R=8.0, G_f=0.01, G_g=make.steep, start_slack=slack)


WRAPPED: dict[str, Callable[[Specimen], Any]] = {
    "delay": lambda make: int(make.rng.integers(1, 4)),
    "sigma": lambda make: 0.02 * make.world.slack,
    "failure": lambda make: 1e-9,
    "longest": lambda make: 8,
    "length": lambda make: 0.0078125,
    "start_slope": lambda make: 2.0 * make.world.G_g,
    "constants": constants_of,
}
"""The value of every parameter of wrappers that is required, or must be given."""
GIVEN = {"failure", "longest"}
"""Optional parameters that are given: bounds must not fail by chance in a million runs."""


def wrappings() -> list[Wrapping]:
    """Return every wrapper with every combination of its flags."""
    found = []
    for kind in find_wrappers():
        flags = [n for n, one in parameters_of(kind).items() if isinstance(one.default, bool)]
        subsets = [s for n in range(len(flags) + 1) for s in itertools.combinations(flags, n)]
        found += [Wrapping(kind.__name__, chosen) for chosen in subsets]
    return found


def wrap(wrapping: Wrapping, base: Any, make: Specimen) -> Any:
    """Return a rule in a wrapper."""
    kind = next(k for k in find_wrappers() if k.__name__ == wrapping.kind)
    given: dict[str, Any] = {"base": base}
    for name, one in parameters_of(kind).items():
        if name in wrapping.flags:
            given[name] = not one.default
        elif name != "base" and (one.is_required or name in GIVEN):
            given[name] = WRAPPED[name](make)
    return kind(**given)


def check_tables() -> list[str]:
    """Return a sentence for every parameter of a part that this file has no value for."""
    lost = []
    tables = (
        (find_knowledge(), PARAMETERS, ALWAYS | FIXED, "PARAMETERS"),
        (find_proposers(), PROPOSALS, AS_IS, "PROPOSALS"),
        (find_wrappers(), WRAPPED, {"base"}, "WRAPPED"),
    )
    made = {type(make(1.0, None)) for make in CONTEXTS.values()}
    lost += [
        f"{kind.__name__} is a new kind of contexts, which CONTEXTS lacks"
        for kind in find_contexts()
        if kind not in made
    ]
    for kinds, table, other, name in tables:
        for kind in kinds:
            for parameter, one in parameters_of(kind).items():
                is_varied = name != "WRAPPED" or one.is_required
                if is_varied and parameter not in table and parameter not in other:
                    lost.append(
                        f"{kind.__name__} is a new part with a parameter {parameter!r} that no "
                        f"combination gives: add a value to {name} in tests/composition/parts.py"
                    )
    return lost


__all__ = [
    "UP",
    "Setting",
    "Specimen",
    "Wrapping",
    "check_tables",
    "find_knowledge",
    "find_proposers",
    "find_wrappers",
    "make_proposer",
    "settings_of",
    "variants_of",
    "wrap",
    "wrappings",
]
