"""The state of leader and follower, and what one of their steps knew."""

from __future__ import annotations

from typing import Any, NamedTuple

from surefoot._array import to_numpy
from surefoot.algorithms._cuts import Cuts
from surefoot.regions import HullCertificate, HullMemory, HullRegion
from surefoot.types import Array, Number

__all__ = ["FollowInfo", "LeaderFollowerState"]


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
