"""Play one case in a live loop, judge every action, and say what was found."""

from __future__ import annotations

import logging
import traceback
import warnings
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surefoot import kernel
from surefoot.controller.check import check
from surefoot.core.algorithm import locate
from surefoot.core.errors import SurefootError
from surefoot.core.feedback import Feedback
from surefoot.core.types import needs_of
from surefoot.knowledge import AverageLimit, Choices
from surefoot.sets import Ball
from tests.composition.cases import CONTRADICTION, MISSING, Case, Made, build
from tests.composition.doors import open_door
from tests.composition.orders import Program
from tests.composition.parts import CHANGES
from tests.composition.worlds import exact, read_low, read_slope

HARSHEST = 0.7
"""What a context adds to g at most, of the start's slack; each entry adds itself."""
ROUNDS = 40
"""How many rounds a case has."""


class Finding(NamedTuple):
    """Something that must not be.

    Attributes:
        kind: "violation", "outside of the domain", "off the grid", "beyond the ramp", "Python's own
            error", "no sentence", "changed by a refusal", "another action after opening" or
            "contradiction", where all that was told is true; "blamed" by ``surefoot check``.
        case: where.
        round: when.
        words: what.
    """

    kind: str
    case: Case
    round: int
    words: str

    def __str__(self) -> str:
        return f"{self.kind}: round {self.round} of {self.case}: {self.words}"


class Outcome(NamedTuple):
    """What became of a case.

    Attributes:
        unsupported: the sentence that refused the combination; empty where it was played.
        rounds: how many were told.
        proved: how many actions were called proved, and judged.
        orders: how often each was given.
        refused: the sentences of calls that were refused, by their class.
        findings: what must not be.
    """

    unsupported: str = ""
    rounds: int = 0
    proved: int = 0
    orders: Mapping[str, int] = Counter()
    refused: Mapping[str, int] = Counter()
    findings: tuple[Finding, ...] = ()


def play(case: Case, folder: Path) -> Outcome:
    """Return what becomes of a case.

    Args:
        case: which.
        folder: where its journal is written.
    """
    with kernel.engine(case.engine), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            return _play(case, folder)
        finally:
            logging.disable(logging.NOTSET)


def _play(case: Case, folder: Path) -> Outcome:
    try:
        made = build(case)
        run = LiveRun(case, made, folder)
    except SurefootError as error:
        return Outcome(unsupported=one_sentence(error))
    except Exception:
        words = traceback.format_exc(limit=-3)
        return Outcome(findings=(Finding("Python's own error", case, 0, words),))
    with np.errstate(all="ignore"):
        run.play()
    for file in folder.iterdir():
        file.unlink()
    return run.outcome


def one_sentence(error: BaseException) -> str:
    """Return the sentence of an error; empty if it is none."""
    words = str(error)
    return words if words.strip() and "\n" not in words.strip() else ""


class EndOfRun(Exception):  # noqa: N818
    """A run that cannot go on: nothing is certified any more, or something was found."""


class LiveRun:
    """A live loop against an adversary.

    Args:
        case: what is played.
        made: its player and its world.
        folder: where its journal is written.
    """

    def __init__(self, case: Case, made: Made, folder: Path) -> None:
        self.case, self.made, self.rng = case, made, case.rng
        self.rng.random(7)  # others than those that drew the world
        self.world, self.make, self.player = made.make.world, made.make, made.player
        self.needs, self.program = needs_of(self.player), Program.draw(self.rng)
        self.is_average = isinstance(self.make.knowledge, AverageLimit)
        self.is_true, self.sum = not case.is_wrong, Fraction(0)
        self.in_contexts = bool(case.setting.context)
        self.by_drift = case.setting.context == "AnnouncedDrift"
        self.size = self.make.knowledge.context.size if self.in_contexts else 1
        self.context = self.context_before = np.zeros(self.size)
        self.told_drift = 0.0
        self.path = folder / "run.jsonl"
        missing = MISSING if not made.is_late else MISSING[:2]
        self.policies = {
            "on_contradiction": str(self.rng.choice(CONTRADICTION)),
            "on_missing": str(self.rng.choice(missing)),
        }
        first = {"context": self.context} if self.in_contexts and not self.by_drift else {}
        rotate = int(self.rng.integers(3, 12)) if self.rng.random() < 0.3 else None
        self.door: Any = open_door(case.door)
        self.controller = self.door(
            self.player,
            self.world.start,
            journal=self.path,
            rotate=rotate,
            durable_every=10**6,
            **first,
            **self.policies,
        )
        self.way, self.readings = self.draw_way(), []
        self.played: np.ndarray | None = None  # from where a ramp counts; None where it does not
        self.was_outside = False  # whether somebody played an action outside of the domain
        # What a plant that is slow shows: half of a step in every round, more than is given.
        self.settled = self.world.values(self.world.start)
        self.rounds = self.proved = 0
        self.orders: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.findings: list[Finding] = []

    @property
    def outcome(self) -> Outcome:
        """What was found."""
        counts = (self.rounds, self.proved, self.orders, self.refused)
        return Outcome("", *counts, tuple(self.findings))

    def found(self, kind: str, words: str) -> None:
        """Note something that must not be."""
        self.findings.append(Finding(kind, self.case, self.controller.round, words))

    # --- the loop --------------------------------------------------------------------------------

    def play(self) -> None:
        """Play all rounds, then have the journal checked."""
        try:
            for _ in range(ROUNDS):
                self.before_round()
                self.ask_and_tell()
        except EndOfRun:
            pass
        except SurefootError as error:  # a call that every loop may make
            self.found("no way on", f"{type(error).__name__}: {error}")
        except Exception:
            self.found("Python's own error", traceback.format_exc(limit=-3))
        self.controller.close()
        report = check(str(self.path))
        # With wrong constants some certificates are wrong; all else must be right.
        words = ("a constant is wrong", "certificate", "not certified", "refuted the constants")
        refuted = self.case.is_wrong and any(word in report.said[0] for word in words)
        if not (report.is_right or refuted):
            self.found("blamed", report.said[0])

    def call(self, name: str, **what: Any) -> Exception | None:
        """Make a call; return the library's error where it is refused, with nothing changed."""
        before = self.controller.round, self.controller.state.x.copy()
        try:
            getattr(self.controller, name)(**what)
        except SurefootError as error:
            sentence = one_sentence(error)
            self.refused[f"{type(error).__name__}: {sentence}"] += 1
            if not sentence:
                self.found("no sentence", f"{name}: {error!r}")
            after = self.controller.round, self.controller.state.x
            if before[0] != after[0] or not np.array_equal(before[1], after[1]):
                self.found("changed by a refusal", f"{name}: {error}")
            return error
        return None

    def before_round(self) -> None:
        """Give an order, perhaps."""
        order = self.program.before(self.rng)
        if not order or (order == "resume" and self.controller.halted is None):
            return
        self.orders[order] += 1
        self.played = None  # a ramp is for ordinary rounds
        reason = {"reason": order}
        if order in ("hold", "resume"):
            self.call(order, **reason)
        elif order == "retreat":
            self.call("retreat", **reason)
        elif order == "retreat slowly":
            self.call("retreat", speed=float(self.rng.choice([0.01, 0.125])), **reason)
        elif order == "announce again":
            self.announce()
        elif order == "reopen":
            self.reopen()
        else:
            self.start_fresh(elsewhere=order == "fresh elsewhere")

    def start_fresh(self, *, elsewhere: bool) -> None:
        """Resume with a player whose constants are true, at its start or where it is now."""
        made = build(self.case, factor=1.0)
        start = None
        if elsewhere:
            start = np.array(self.controller.state.x)
            if not self.may_start_at(start):
                return
        if self.call("resume", player=made.player, start=start, reason="fresh") is not None:
            return
        self.is_true, self.sum = True, Fraction(0)
        self.readings = []
        if self.in_contexts and not self.by_drift:
            self.announce(harsher=False)
        if elsewhere:  # what is said of a start holds there
            self.world.start = start

    def may_start_at(self, x: np.ndarray) -> bool:
        """Return whether all that is said of a start is true of a point in every round."""
        if "start_bound" in self.case.setting.options or self.in_contexts:
            return False
        domain = self.make.domain
        inside = domain is None or bool(domain.contains(x))
        return inside and self.world.g(x) < -self.make.errors.get("value", 0.0)

    def reopen(self) -> None:
        """Open the journal: the same action must be at hand, and be called the same."""
        before = self.controller.state.x.copy(), self.controller.explain().is_proven
        self.controller.close()
        self.controller = self.door.open(self.path)
        after = self.controller.state.x, self.controller.explain().is_proven
        if not np.array_equal(before[0], after[0]):
            self.found("another action after opening", f"{before[0]} and {after[0]}")
        elif before[1] is not after[1]:
            self.found("another proof after opening", f"{before[1]} and {after[1]}")

    # --- contexts --------------------------------------------------------------------------------

    def draw_context(self, origin: np.ndarray, *, harsher: bool | None = None) -> np.ndarray:
        """Return a context: near another one, or anywhere; never worse than was said."""
        slack, n = self.world.slack, self.size
        most = (HARSHEST if harsher else float(self.rng.choice([0.1, HARSHEST]))) * slack
        near = origin + self.rng.normal(size=n) * 0.1 * slack / n
        far = self.rng.uniform(-0.2, most, size=n) / n
        drawn = far if harsher or self.rng.random() < 0.3 else near
        if "changes" in self.case.setting.options:
            changes = CHANGES * slack * (1 - 2.0**-40)
            drawn = np.clip(drawn, origin - changes, origin + changes)
        return np.clip(drawn, -0.2 / n, HARSHEST * slack / n)

    def enter(self, context: np.ndarray) -> None:
        """Make a context that of the round: each entry adds itself, as much as it may."""
        self.context = context
        self.world.lift = sum(exact(context), Fraction(0))

    def announce(self, harsher: bool | None = None) -> bool:
        """Tell the context of the round, perhaps anew."""
        if not self.in_contexts or self.by_drift:
            return True
        for attempt in range(4):
            again = harsher if not attempt else False
            context = self.draw_context(self.context_before, harsher=again)
            if self.call("announce", context=context) is None:
                self.enter(context)
                return True
            if attempt == 1:
                self.call("retreat", reason="no action is certified in the context")
            harsher = False
        return False

    # --- a round ---------------------------------------------------------------------------------

    def draw_way(self) -> np.ndarray:
        """Return a direction of wishes that stays for some rounds."""
        way = self.rng.normal(size=self.world.d)
        return way / np.linalg.norm(way)

    def wish_at(self, x: np.ndarray) -> np.ndarray:
        """Return how the action is to move: outwards, by any length."""
        if self.rng.random() < 0.15:
            self.way = self.draw_way()
        way = self.way
        if self.rng.random() < 0.5:
            slope = self.world.gradients(x)[int(np.argmax(self.world.values(x)))]
            if slope.any():
                way = slope / np.linalg.norm(slope)
        return way * 10.0 ** self.rng.uniform(-6, 3)

    def ask_and_tell(self) -> None:
        """Ask, judge, play, measure and tell; then the world goes on."""
        if self.in_contexts and self.controller._now[0].loop.awaits_context and not self.announce():
            raise EndOfRun
        x = np.array(self.controller.ask())
        self.judge(x)
        order = self.program.during(self.rng)
        age = locate(self.player, self.controller.state, Feedback()).age  # as the player says
        is_told = age <= len(self.readings)  # else the round is missing, and no action is told
        own = self.draw_own(order, x) if is_told else None
        place = x if own is None else own
        t = self.controller.round
        values, before = self.world.values(place), self.settled
        shown = self.show(values)
        self.readings.append((place, shown, self.world.gradients(place), self.wish_at(place)))
        told = self.measure(age, own, order)
        if order:
            self.orders[order] += 1
        if not self.tell(told, order, own):
            self.readings.pop()
            raise EndOfRun
        if self.controller.round == t + 1:
            self.rounds += 1
            self.sum += max(values)
            place = self.readings[-1][0]  # another one, where the round was refused at first
            self.settled = before
            self.settled = self.show(self.world.values(place))
            is_left_out = getattr(self.controller, "is_left_out", False)  # of a fleet
            is_usual = self.controller.halted is None and not told.get("missing")
            is_usual = is_usual and not is_left_out
            self.played = place if is_usual or own is None else None
            self.go_on(told)

    def show(self, values: list[Fraction]) -> list[Fraction]:
        """Return what a meter shows of values at rest: of a slow plant, the half of what is new."""
        if not self.make.knowledge.remembers:
            return values
        return [(old + new) / 2 for old, new in zip(self.settled, values, strict=True)]

    def go_on(self, told: dict[str, Any]) -> None:
        """Let the world drift, and its context be the next."""
        speed, most = self.make.errors.get("drift", 0.0), self.make.most
        self.context_before = self.context
        if self.by_drift:
            speed += told.get("drift") or 0.0
        elif "context" in told:
            self.enter(told["context"])
        if speed:
            if self.in_contexts and not self.by_drift:  # in the harshest context, too
                most -= Fraction(HARSHEST * self.world.slack)
            self.world.drift(speed, most)

    def draw_own(self, order: str, x: np.ndarray) -> np.ndarray | None:
        """Return an action that somebody plays instead; None for the one asked for."""
        if not order.startswith("own"):
            return None
        length = 10.0 ** self.rng.uniform(-3, 0)
        if order == "own, feasible":
            found = x + self.rng.random() * (self.world.start - x)
            if isinstance(self.make.domain, Choices):
                found = self.make.domain.project(found)
        elif order == "own, infeasible":
            found = x + length * self.draw_way()
            for _ in range(40):
                if self.world.g(found) > 0:
                    break
                found = x + 1.3 * (found - x)
            if isinstance(self.make.domain, Choices):
                found = self.make.domain.project(found)
        elif order == "own, off the grid":
            found = x + 0.01 * self.draw_way()
        else:
            found = x + 5.0 * self.draw_way()
        domain = self.make.domain
        if domain is not None and not bool(domain.contains(found)):
            self.was_outside = True
        return found

    def measure(self, age: int, own: np.ndarray | None, order: str) -> dict[str, Any]:
        """Return what is told of a round: the reading of one that was played so long ago."""
        told: dict[str, Any] = {}
        if order == "missing" or age >= len(self.readings):
            told["missing"] = True
        else:
            told |= self.read(*self.readings[-1 - age], order)
            if own is not None:
                told["action"] = own
            if order == "within":
                told["within"] = self.draw_within()
        if self.by_drift:
            told["drift"] = float(self.rng.choice([0.0, 0.01, 0.05])) * self.world.slack
        elif self.in_contexts and order != "context later":
            told["context"] = self.draw_context(self.context)
        return told

    def draw_within(self) -> Any:
        """Return a set that is announced for the next round."""
        x = self.controller.state.x
        return Ball(float(self.rng.choice([0.05, 0.5])), x + 0.04 * self.draw_way() / len(x))

    def read(
        self,
        place: np.ndarray,
        values: list[Fraction],
        slopes: np.ndarray,
        proposal: np.ndarray,
        order: str,
    ) -> dict[str, Any]:
        """Return a reading with its errors, and what moves the action."""
        told: dict[str, Any] = {}
        error = self.make.errors.get("value", 0.0)
        if order == "another error" and not self.made.noise:
            error *= float(self.rng.choice([0.0, 0.5, 1.5]))
            told["value_error"] = error
        steep = self.make.errors.get("slope", 0.0)
        lean = -1.0 if self.rng.random() < 0.7 else float(self.rng.uniform(-1, 1))
        if self.made.noise:  # of mean 0
            error, lean = self.made.noise, float(self.rng.choice([-1.0, 1.0]))
        if self.needs.separately:
            told["constraint_value"] = [read_low(value, error, lean) for value in values]
            slope: Any = np.array([read_slope(s, steep, self.rng) for s in slopes])
        else:
            i = int(np.argmax(values))
            told["constraint_value"] = read_low(values[i], error, lean)
            slope = read_slope(slopes[i], steep, self.rng)
        if self.needs.constraint_subgradients:
            told["constraint_subgradient"] = slope
        if self.needs.proposals:
            told["proposal"] = place + proposal
        elif self.needs.cost_gradients:
            told["cost_gradient"] = -proposal
        if self.needs.cost_values:
            told["cost_value"] = -float(proposal @ place)
        return told

    def tell(self, told: dict[str, Any], order: str, own: np.ndarray | None) -> bool:
        """Tell a round; where it is refused, another way on. Return whether there is one."""
        if order in ("nonsense", "refused, then told again"):
            wrong = dict(told) | {"constraint_value": float("nan"), "missing": False}
            if self.call("tell", **wrong) is None:
                self.found("no sentence", "a reading of nan was taken")
                return False
        error = self.call("tell", **told)
        if error is None:
            return True
        return self.tell_again(told, error)

    def tell_again(self, told: dict[str, Any], error: Exception) -> bool:
        """Find another way on from a round that was refused."""
        self.refused["a round was refused, and told again"] += 1
        usual = self.make.errors.get("value", 0.0)
        is_within_usual = told.get("value_error", 0.0) <= usual
        for name in ("within", "value_error") if is_within_usual else ("within",):
            if told.pop(name, None) is not None and self.call("tell", **told) is None:
                return True
        missing = {n: v for n, v in told.items() if n in ("context", "drift")} | {"missing": True}
        if self.case.setting.context and "context" in missing and self.rng.random() < 0.5:
            missing.pop("context")
        way = self.rng.random()
        self.played = None
        if way < 0.4:
            self.call("retreat", reason="a round was refused")
        elif way < 0.6:
            self.start_fresh(elsewhere=False)
            return True
        x = np.array(self.controller.ask())
        self.judge(x)
        told.clear()
        told.update(missing)
        if self.call("tell", **missing) is None:
            self.sum += self.world.g(x) - max(self.readings[-1][1])
            slopes, proposal = self.world.gradients(x), self.readings[-1][3]
            self.readings[-1] = (x, self.world.values(x), slopes, proposal)
            return True
        return False

    # --- the judge -------------------------------------------------------------------------------

    def judge(self, x: np.ndarray) -> None:
        """Compare an action with what it is called, in exact rationals."""
        why = self.controller.explain()
        broken = [b for b in why.broken if b.affects != "regret"]
        if broken and self.is_true and self.is_false_alarm(broken):
            self.found("contradiction", broken[0].sentence)
            raise EndOfRun
        if not why.is_proven or not (self.is_true or broken):
            return
        self.proved += 1
        g = self.world.g(x)
        if self.is_average:
            self.judge_sum(g)
        elif g > 0:
            self.found("violation", f"g = {float(g):.3g} at {x}: {why.certificate}")
            raise EndOfRun
        self.judge_sets(x, why.certificate)

    def judge_sum(self, g: Fraction) -> None:
        """Compare the sum of all rounds so far."""
        if self.sum + g > Fraction(self.make.knowledge.credit):
            self.found("violation", f"the sum of g is {float(self.sum + g):.3g}")
            raise EndOfRun

    def is_false_alarm(self, broken: list[Any]) -> bool:
        """Return whether a contradiction is none.

        That drift or a context leaves nothing is one; so is a feasible action of somebody's own
        that is outside of a domain, which by what was said holds all of them.
        """
        if self.was_outside and self.case.setting.shape in ("line", "saddle"):
            return False
        return any(b.constant not in ("drift", "context", "action") for b in broken)

    def judge_sets(self, x: np.ndarray, why: Any) -> None:
        """Compare an action with its domain, its grid and its ramp."""
        domain = self.make.domain
        if domain is not None and not bool(domain.contains(x)):
            kind = "no choice" if isinstance(domain, Choices) else "outside of the domain"
            self.found(kind, f"{x}: {why}")
            raise EndOfRun
        if self.case.ramp and self.played is not None:
            step = np.abs(x - self.played)
            longest = np.linalg.norm(step) if self.case.ramp == "one" else step.max()
            rounding = 2.0**-52 * float(np.abs(x).max())  # of the border of the ramp, and the step
            if longest > 0.125 * (1 + 2.0**-50) + rounding:
                self.found(
                    "beyond the ramp", f"a step of {longest:.3g} from {self.played} to {x}: {why}"
                )
                raise EndOfRun
