"""Which combinations there are, and a sample of them."""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from surefoot import kernel
from surefoot.certified import Certified
from surefoot.core.errors import SurefootError
from surefoot.rules.wrappers.wrapper import Wrapper
from tests.composition import parts
from tests.composition.parts import Setting, Specimen, Wrapping

CONTRADICTION = ("raise", "warn", "record", "hold", "retreat")
MISSING = ("hold", "retreat", "raise")
RAMP = 0.125
"""How far an action may be from the last one, where there is a ramp: two steps of the grid."""
WRONG = 0.25
"""What constants are multiplied by that are wrong."""


class Case(NamedTuple):
    """One combination.

    Attributes:
        setting: the knowledge.
        proposer: its class, by name.
        option: which of its optional parameters is given; empty for none.
        ramp: "", "one" or "each": none, a number, or one per coordinate.
        wrappings: the wrappers, the innermost first.
        engine: what plays.
        is_wrong: whether constants are smaller than the true ones.
        seed: of the world, the orders and the readings.
        door: through which it is played: a controller, or a fleet of two members.
    """

    setting: Setting
    proposer: str
    option: str = ""
    ramp: str = ""
    wrappings: tuple[Wrapping, ...] = ()
    engine: str = "python"
    is_wrong: bool = False
    seed: int = 0
    door: str = "controller"

    def __str__(self) -> str:
        inside = f"{self.proposer} {self.option}".strip() + f" + {self.setting}"
        inside += f", ramp of {self.ramp}" if self.ramp else ""
        for wrapping in self.wrappings:
            inside = f"{wrapping}({inside})"
        wrong = ", wrong constants" if self.is_wrong else ""
        return f"{inside}, {self.engine}, {self.door}, seed {self.seed}{wrong}"

    @property
    def rng(self) -> np.random.Generator:
        """Random numbers by content: those of a case do not depend on other cases."""
        text = repr(self._replace(engine="")).replace(f", door={self.door!r}", "")
        return np.random.default_rng(zlib.crc32(text.encode()))


class Made(NamedTuple):
    """What plays, the world that it plays in, and what must hold of its actions.

    Attributes:
        player: the rule.
        make: the world with what is known of it.
        noise: the standard deviation of readings, where they are averaged.
        is_late: whether readings come late, and in the first rounds none.
    """

    player: Any
    make: Specimen
    noise: float = 0.0
    is_late: bool = False


def build(case: Case, *, factor: float | None = None) -> Made:
    """Return what plays a case; the library's own error where it is unsupported.

    Args:
        case: which.
        factor: what constants are multiplied by, if not as the case says.
    """
    if factor is None:
        factor = WRONG if case.is_wrong else 1.0
    make = Specimen(case.setting, case.rng, factor)
    kind = next(k for k in parts.find_proposers() if k.__name__ == case.proposer)
    ramp: Any = {"": None, "one": RAMP, "each": [RAMP] * make.world.d}[case.ramp]
    proposer = parts.make_proposer(kind, case.option, make)
    player: Any = Certified(proposer=proposer, knowledge=make.knowledge, ramp=ramp)
    noise, late = 0.0, False
    for wrapping in case.wrappings:
        player = parts.wrap(wrapping, player, make)
        noise = float(vars(player).get("sigma", noise))
        late = late or bool(vars(player).get("late"))
    return Made(player, make, noise, late)


def plays_compiled(player: Any, d: int) -> bool:
    """Return whether the kernel takes steps of a player, or of what it is made of."""
    while isinstance(player, Wrapper):
        player = player.base
    with kernel.engine(kernel.engines()[0]):
        return (
            isinstance(player, Certified) and player.compiled.rule(player, np.zeros(d)) is not None
        )


# --- all of them, and a sample -------------------------------------------------------------------


def bare_cases() -> Iterator[Case]:
    """Yield every knowledge with every proposer, ramp and option of each."""
    for knowledge in parts.find_knowledge():
        plain = [s for s in parts.settings_of(knowledge) if not s.errors and s.domain == "ball"]
        for proposer in parts.find_proposers():
            name = proposer.__name__
            for setting in parts.settings_of(knowledge):
                for ramp in ("", "one"):
                    yield Case(setting, name, ramp=ramp)
            for option in parts.variants_of(proposer)[1:]:
                for setting in plain:
                    yield Case(setting, name, option, "each")
                    yield Case(setting, name, option)


def wrapped_cases(depth: int, each: int) -> Iterator[Case]:
    """Yield every knowledge and proposer in every so many wrappers, with some settings of each.

    Args:
        depth: how many wrappers are around each other.
        each: how many settings are drawn for each knowledge, proposer and row of wrappers.
    """
    for knowledge in parts.find_knowledge():
        settings = parts.supported(knowledge)
        for proposer in parts.find_proposers():
            for wrappings in itertools.product(parts.wrappings(), repeat=depth):
                name = f"{knowledge.__name__} {proposer.__name__} {wrappings}"
                drawn = random.Random(zlib.crc32(name.encode()))
                for setting in drawn.sample(settings, min(each, len(settings))):
                    ramp = drawn.choice(("", "", "one"))
                    yield Case(setting, proposer.__name__, ramp=ramp, wrappings=wrappings)


def all_cases() -> Iterator[Case]:
    """Yield all combinations on each engine, with constants that are true and some that are not."""
    for engine in kernel.engines():
        for cases in (bare_cases(), wrapped_cases(1, 16), wrapped_cases(2, 2)):
            for case in cases:
                yield case._replace(engine=engine)
    for case in bare_cases():
        yield case._replace(engine=kernel.engines()[0], is_wrong=True)
    for engine in kernel.engines():
        for cases in (bare_cases(), wrapped_cases(1, 4)):
            for case in cases:
                yield case._replace(engine=engine, door="fleet")


def sample(each: int, seed: int, *, tries: int = 20, engines: Sequence[str] = ()) -> list[Case]:
    """Return some cases: of every knowledge in every wrapper, or in none, as many as of others.

    Args:
        each: how many that play are looked for, of each of these.
        seed: which.
        tries: how many are drawn for them at the most; those that are unsupported are returned,
            too.
        engines: which of them play; all of them unless said.
    """
    drawn, groups = random.Random(seed), {}
    for case in all_cases():
        if not engines or case.engine in engines:
            key = (case.setting.kind, case.wrappings[-1:], case.engine, case.is_wrong, case.door)
            groups.setdefault(key, []).append(case)
    found: list[Case] = []
    for cases in groups.values():
        playing = 0
        for case in drawn.sample(cases, min(tries, len(cases))):
            found.append(case)
            playing += is_supported(case)
            if playing == each:
                break
    return found


def is_supported(case: Case) -> bool:
    """Return whether a combination can be built."""
    try:
        build(case)
    except SurefootError:
        return False
    except Exception:  # which is found when it is played
        return True
    return True
