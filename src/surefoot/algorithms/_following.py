"""What leader and follower know, ask and remember: hull, a leader of your own, state and step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from surefoot.algorithms._cuts import Cuts
from surefoot.core.arrays import namespace, ndarray, to_numpy, where
from surefoot.core.convert import shown
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.core.types import Algorithm, Array, Feedback, Number
from surefoot.regions import HullCertificate, HullMemory, HullRegion, LipschitzHull
from surefoot.regions.aging import aged
from surefoot.sets import Ball

__all__ = ["FollowInfo", "Following", "LeaderFollowerState", "Remembering", "asked", "start_leader"]

S = TypeVar("S")


class LeaderFollowerState(NamedTuple):
    """What the next round needs; points are relative to the first action but for ``x``.

    Attributes:
        x: the action to play, the follower.
        start: the first action.
        reach: D, the largest distance from it to a point of the domain.
        seen: what the certified region is made of.
        start_value: g at the first action.
        cuts: the remembered half-spaces.
        leader: Z.
        own: the state of a leader of your own; empty unless there is one.
        gradients: theta, the sum of the cost gradients.
        energy: A, squared gradients and lag.
        inverse_eta: 1/eta, which never falls.
        depth: the anchor's radius when it had last grown by a tenth.
        deepened: the round of that.
        careful: 1 from the round on in which the careful mode began; 0 before.
    """

    x: Array
    start: Array
    reach: Number
    seen: HullMemory
    start_value: Number
    cuts: Cuts
    leader: Array
    own: Any
    gradients: Array
    energy: Number
    inverse_eta: Number
    depth: Number
    deepened: Number
    careful: Number


class FollowInfo(NamedTuple):
    """What a step knew; nothing is computed until a property is read.

    Attributes:
        x: the next action.
        start: the first action.
        leader: where the leader is, relative to the start.
        region: the certified region that the action was taken from.
        lost_leader: the sentence on a leader that gave no finite point; else empty.
        reach: D.
        size: the norm of the cost gradient.
        behind: the distance between follower and leader when it was observed.
        paid: its product with the action, relative to the start.
        before: 1/eta of the round before.
        scale: 1/eta of the round.
    """

    x: Array
    start: Array
    leader: Array
    region: HullRegion
    lost_leader: str
    reach: Number
    size: Number
    behind: Number
    paid: Number
    before: Number
    scale: Number

    @property
    def cut(self) -> bool:
        """Whether the next action differs from the leader."""
        return bool((to_numpy(self.x) != to_numpy(self.start + self.leader)).any())

    @property
    def certificate(self) -> HullCertificate:
        """Why the next action is feasible."""
        found = self.region.certificate(self.x, int(self.region.memory.rounds))
        return found._replace(cut=self.cut)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What is impossible if the constants and the leader are right, one sentence each."""
        found = self.region.contradictions
        return (*found, self.lost_leader) if self.lost_leader else found


class Remembering(Generic[S]):
    """A rule whose state has an action, ``x``, and what a region remembers, ``seen``."""

    __slots__ = ()

    @abstractmethod
    def init(self, x1: Array) -> S:
        """Return the state before the first round."""

    @abstractmethod
    def step(self, state: S, feedback: Feedback) -> tuple[S, Any]:
        """Return the state after a round and what the step knew."""

    @abstractmethod
    def _known(self) -> Any:
        """Return what is known about g."""

    def update(self, state: S, feedback: Feedback) -> S:
        """Return the state after a round: the lines of the class's docstring."""
        return self.step(state, feedback)[0]

    def moved(self, state: S, x: Array, missed: int = 0) -> S:
        """Return the state that starts from another action: its region is that of what is seen.

        Args:
            state: the last one.
            x: the action that was, or will be, played instead of its own.
            missed: how many rounds have passed without a measurement.
        """
        now: Any = state
        if not now.seen.rounds:
            return self.init(x)
        after: S = now._replace(x=x, seen=aged(self._known(), now.seen, missed))
        return after


class Following(Remembering[LeaderFollowerState]):
    """A rule whose constants are those of a hull, which is made once."""

    __slots__ = ("_hull",)
    _hull: LipschitzHull
    G_g: Number
    domain: Ball
    evaluation_error: Number | None
    value_error: Number | None
    slope_error: Number | None
    drift: Number | None

    def _known(self) -> LipschitzHull:
        try:
            return self._hull
        except AttributeError:  # no field: a copy makes its own
            pass
        reach, errors = self.domain.reach_from_origin, (self.value_error, self.slope_error)
        known = LipschitzHull.trusted(self.G_g, reach, self.evaluation_error, *errors, self.drift)
        if type(reach) is float:  # a tracer must not leave its trace
            object.__setattr__(self, "_hull", known)
        return known


def asked(
    leader: Algorithm[Any], own: Any, feedback: Feedback, point: Array, rounds: Number
) -> tuple[Any, Array, str]:
    """Ask a user's leader: return its state, its point, and a sentence if it is not finite.

    Args:
        leader: the learner.
        own: its state.
        feedback: of the round.
        point: where it is.
        rounds: how many rounds were seen.
    """
    after = _checked(leader, point, lambda: leader.update(own._replace(x=point), feedback))
    found = after.x
    if type(found) is ndarray and found.ndim == 1:
        if np.isfinite(found).all():
            return after, found, ""
        sentence = (
            f"round {int(rounds)}: the leader {type(leader).__name__} must return a finite point, "
            f"got {found[~np.isfinite(found)][0]!r}: its last one is followed"
        )
        return own, point, sentence
    xp = namespace(found)
    fine = xp.all(xp.isfinite(found), axis=-1, keepdims=found.ndim > 1)
    return after, where(fine, found, point), ""


def start_leader(leader: Algorithm[Any], x1: Array) -> Any:
    """Return the first state of a user's leader."""
    return _checked(leader, x1, lambda: leader.init(x1))


def _checked(leader: Algorithm[Any], point: Array, answer: Callable[[], Any]) -> Any:
    """Return a leader's answer; refuse one that is no state with a point like its last."""
    name, wanted = type(leader).__name__, f"an array of shape {tuple(point.shape)}"
    try:
        state = answer()
    except SurefootError:
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        raise InvalidValueError(f"the leader {name} must return a state, got {text}") from error
    found = getattr(state, "x", None) if hasattr(state, "_replace") else None
    fits = getattr(found, "shape", None) == point.shape
    if type(point) is ndarray:
        fits, wanted = fits and getattr(found, "dtype", None) == point.dtype, f"{wanted} of float64"
    if not fits:
        got = shown(state if found is None else found)
        raise InvalidValueError(
            f"the leader {name} must return a named tuple whose x is {wanted}, got {got}"
        )
    return state
