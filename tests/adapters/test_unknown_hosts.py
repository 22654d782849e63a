"""Unknown constants in hosts that round: a network, an agent, and a host that cannot go back."""

from itertools import pairwise

import numpy as np
import pytest

from surefoot import Ball
from surefoot.core.errors import InvalidValueError
from surefoot.knowledge import Errors, EstimatedCurvature
from surefoot.rules import RegionFilter
from surefoot.sets import Box

pytestmark = pytest.mark.hosts


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rate", [0.1, 3.0])
def test_a_network_is_outside_as_often_as_the_theorem_counts(dtype, rate):
    torch = pytest.importorskip("torch")
    from surefoot.adapters.torch import KeepFeasible

    random = np.random.default_rng(0)
    group = random.random(300) < 0.4
    X = torch.tensor(random.normal(size=(300, 3)) + np.outer(group, [0.8, 0.0, 0.0]))
    kind = getattr(torch, dtype)
    labels = torch.tensor((X.numpy() @ [1.0, -1.0, 0.5] > 0.3).astype(float), dtype=kind)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    net.to(kind)
    torch.nn.init.zeros_(net[2].weight)

    def parity(a, b, c, d):
        p = torch.sigmoid(torch.tanh(X @ a.T + b) @ c.T + d)
        return (p[group].mean() - p[~group].mean()) ** 2 - 0.03**2

    safe, weights = RegionFilter.unknown_curvature(Ball(30.0)).algorithm, list(net.parameters())
    opt = KeepFeasible(torch.optim.SGD(weights, lr=rate, momentum=0.9), safe, weights)
    outside, before = [], [w.detach().clone() for w in weights]
    for t in range(120):
        opt.zero_grad()
        scores = net(X.to(kind)).squeeze(-1)
        torch.nn.functional.binary_cross_entropy_with_logits(scores, labels).backward()
        opt.step(constraint=parity)
        now = [w.detach().clone() for w in weights]
        if float(parity(*(w.double() for w in now))) > 0:
            outside.append(t)
        elif outside and outside[-1] == t - 1:  # the weights before it, to the last bit
            assert all(torch.equal(a, b) for a, b in zip(now, before, strict=True))
        before = now if not outside or outside[-1] != t else before
    assert all(b - a > 1 for a, b in pairwise(outside))
    memory = opt._blocks[0].state.memory
    assert memory.outside == sum(t < 119 for t in outside)
    assert "g <= 0 but in rounds from which beta is learnt" in opt.guarantee


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("told", [{}, {"violations": 1}, {"start_bound": -0.3}])
def test_an_agent_is_outside_as_often_as_the_theorem_counts(told, dtype):
    gymnasium = pytest.importorskip("gymnasium")
    from surefoot.adapters.gymnasium import SafeAction

    class Wall(gymnasium.Env):
        action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), dtype)
        observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return np.zeros(1, np.float32), {}

        def step(self, action):
            x = action.astype(np.float64)
            rows = [(0.5 * (x[0] + x[1]) - 0.5, [0.5, 0.5]), (30 * (x[0] - 0.4), [30.0, 0.0])]
            g, s = max(rows)
            seen = {"constraint_value": g, "constraint_subgradient": np.array(s)}
            return np.zeros(1, np.float32), 0.0, False, False, seen

    safe = RegionFilter.unknown(Box([-1.0, -1.0], [1.0, 1.0]), **told).algorithm
    env, random = SafeAction(Wall(), safe, [0.0, 0.0], action_only=True), np.random.default_rng(0)
    env.reset(seed=0)
    values = []
    for t in range(80):
        wish = np.ones(2) if t % 3 else random.uniform(-1, 1, 2)
        *_, info = env.step(wish.astype(dtype))
        values.append(float(info["constraint_value"]))
    outside = [t for t, g in enumerate(values) if g > 0]
    assert 0 < len(outside) <= told.get("violations", 6)
    assert all(b - a > 1 for a, b in pairwise(outside))
    assert env._keeper.state.memory.outside == len(outside)
    if not told.get("violations"):  # after the only one that is allowed nothing may move far
        assert max(values[-10:]) > -0.1


def test_a_host_that_adds_steps_refuses_an_unknown_constant():
    jax, optax = pytest.importorskip("jax"), pytest.importorskip("optax")
    from surefoot.adapters.optax import keep_feasible

    known = EstimatedCurvature(domain=Ball(1.0), errors=Errors(evaluation=1e-6))
    tx = keep_feasible(optax.sgd(0.1), RegionFilter(knowledge=known))
    w = jax.numpy.zeros(2)
    with pytest.raises(InvalidValueError, match="whose beta is unknown"):
        tx.update(w, tx.init(w), w, constraint_value=-1.0, constraint_grad=w)
