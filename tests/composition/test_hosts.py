"""Every kind of knowledge in the hands of a host, in float64 and float32, against an adversary.

Hosts (an environment, an optimiser) pass points between their own numbers and a filter through
:class:`surefoot.adapters._keeper.Keeper`; what is judged is the point that they play.
"""

from __future__ import annotations

import random
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from surefoot.adapters._keeper import Keeper
from surefoot.certified import Certified
from surefoot.core.errors import SurefootError
from surefoot.knowledge import AverageLimit, Choices, LipschitzHull, UnknownConstant
from surefoot.proposers.proposals import Proposals
from surefoot.rules import RegionFilter
from surefoot.sets import Box
from tests.composition.live import one_sentence
from tests.composition.parts import Setting, Specimen, find_knowledge, supported
from tests.composition.worlds import read_low, read_slope

ROUNDS = 30


class HostedRun:
    """A host that wants to leave the set, and plays what the keeper returns.

    Args:
        setting: the knowledge.
        dtype: of the host's numbers.
        rng: what draws the world, the wishes and the readings.
        ramp: how far an action may be from the last, where that is limited.
        boxed: whether the host accepts the actions of a box alone.
    """

    def __init__(
        self, setting: Setting, dtype: str, rng: np.random.Generator, ramp: Any, boxed: bool
    ) -> None:
        self.rng, self.make = rng, Specimen(setting, rng)
        self.world, self.ramp = self.make.world, ramp
        d = self.world.d
        safe = Certified(proposer=Proposals(), knowledge=self.make.knowledge, ramp=ramp)
        box = (np.full(d, -0.75), np.full(d, 0.75)) if boxed else None
        self.keeper = Keeper(safe, self.world.start, dtype, box)
        self.box, self.sum, self.is_sentence = box, Fraction(0), True

    def play(self) -> int:
        """Play all rounds; return how many were judged. A round that is refused is the last."""
        last = None
        for t in range(ROUNDS):
            x = np.array(self.keeper.action(), dtype=np.float64)
            self.judge(x, last)
            try:
                self.offer(x)
            except SurefootError as error:
                self.is_sentence = bool(one_sentence(error))
                return t
            last = x
            if speed := self.make.errors.get("drift", 0.0):
                self.world.drift(speed, self.make.most)
        return ROUNDS

    def offer(self, x: np.ndarray) -> None:
        """Report g where the host is, as low as it may be read, and want to be elsewhere."""
        error, steep = self.make.errors.get("value", 0.0), self.make.errors.get("slope", 0.0)
        values, slopes = self.world.values(x), self.world.gradients(x)
        if self.keeper.filter.needs.separately:
            g: Any = [read_low(value, error, -1.0) for value in values]
            s: Any = np.array([read_slope(one, steep, self.rng) for one in slopes])
        else:
            i = int(np.argmax(values))
            g, s = read_low(values[i], error, -1.0), read_slope(slopes[i], steep, self.rng)
        if not self.keeper.filter.needs.constraint_subgradients:
            s = None
        way = self.rng.normal(size=self.world.d) * 10.0 ** self.rng.uniform(-6, 2)
        metric = None
        if self.rng.random() < 0.3 and not isinstance(self.make.domain, Choices):
            metric = 10.0 ** self.rng.uniform(-9, 3, self.world.d)  # of an optimiser
        self.keeper.offer(x + way, g, s, metric=metric)

    def judge(self, x: np.ndarray, last: np.ndarray | None) -> None:
        """Compare what is played with the limit, the domain, the ramp and the box."""
        g, knowledge = self.world.g(x), self.make.knowledge
        self.sum += g
        if not isinstance(knowledge, UnknownConstant):  # which violates while it learns
            is_average = isinstance(knowledge, AverageLimit)
            assert self.sum <= knowledge.credit if is_average else g <= 0
        domain = self.make.domain
        assert domain is None or bool(domain.contains(x))
        if self.box is not None:
            assert ((self.box[0] <= x) & (x <= self.box[1])).all()
        if self.ramp is not None and last is not None:
            assert np.linalg.norm(x - last) <= self.ramp * (1 + 2.0**-50)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", find_knowledge(), ids=lambda kind: kind.__name__)
def test_what_a_host_plays_is_feasible_or_refused_in_a_sentence(kind, dtype):
    drawn, settings = random.Random(7), []
    for in_contexts, most in ((False, 48), (True, 6)):  # in contexts all are refused
        some = [one for one in supported(kind) if bool(one.context) is in_contexts]
        settings += drawn.sample(some, min(most, len(some)))
    played = refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number, setting in enumerate(settings):
            rng = np.random.default_rng(number)
            ramp = 0.125 if number % 3 == 1 else None
            try:
                run = HostedRun(setting, dtype, rng, ramp, boxed=number % 4 == 3)
            except SurefootError as error:
                refused += bool(one_sentence(error))
                continue
            if dtype == "float32":
                assert not isinstance(run.make.domain, Choices)
                assert run.ramp is None
            played += run.play()
            assert run.is_sentence
    assert played > 60 or refused == len(settings)


def test_a_box_whose_border_float32_does_not_have_is_kept():
    # float32(0.1) is above 0.1.
    knowledge = LipschitzHull(G_g=1.0, domain=Box([-0.1], [0.1]))
    keeper = Keeper(RegionFilter(knowledge=knowledge), [0.0], "float32")
    for _ in range(4):
        keeper.offer([9.0], float(keeper.played[0]) - 0.5, [1.0])
        assert knowledge.domain.contains(keeper.played)
    assert keeper.played[0] > 0.0999
