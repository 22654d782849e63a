"""A constant that is ten times too small is named in every host, and a refusal changes nothing.

pandapower has its own environment, and its own test of a wrong curvature.
"""

import pickle
import warnings

import numpy as np
import pytest

from surefoot.core.errors import InvalidValueError
from surefoot.guarantees import PremiseError, PremiseWarning
from surefoot.knowledge import LipschitzHull
from surefoot.problems.constraints import FunctionConstraint
from surefoot.rules import RegionFilter

pytestmark = pytest.mark.hosts

TRUE, LIE = 10.0, 1.0


def value(x):
    """A limit that looks flat from the start: G_g is 10, and 1 up to x[0] = 0.25."""
    return max(x - 0.5, TRUE * (x - 0.275))


def slope(x):
    return 1.0 if x - 0.5 >= TRUE * (x - 0.275) else TRUE


def safe(told):
    return RegionFilter(knowledge=LipschitzHull(G_g=told, reach=2.0))


class Torch:
    """An optimiser that wants to go up for ever."""

    words = "G_g = 1"

    def __init__(self, told, policy):
        import torch

        from surefoot.adapters.torch import KeepFeasible

        self.torch, self.w, self.spoiled = torch, torch.nn.Parameter(torch.zeros(1)), 0.0
        base = torch.optim.SGD([self.w], lr=0.3)
        self.opt = KeepFeasible(base, safe(told), on_contradiction=policy)

    def step(self):
        self.w.grad = self.torch.tensor([-1.0])
        x = self.at()
        self.opt.step(constraint=(np.float64(value(x) + self.spoiled), np.array([slope(x)])))

    def state(self):
        stored = self.opt.state_dict()["surefoot"]
        return [self.w.tolist(), [part.tolist() for part in stored]]

    def at(self):
        return float(self.w.detach())


class Gymnasium:
    """An agent that wants to go up for ever."""

    words = "G_g = 1"

    def __init__(self, told, policy):
        import gymnasium

        from surefoot.adapters.gymnasium import SafeAction

        host = self
        self.spoiled, self.last, self.steps = 0.0, 0.0, 0

        class Env(gymnasium.Env):
            action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
            observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

            def reset(self, *, seed=None, options=None):
                super().reset(seed=seed)
                return np.zeros(1, np.float32), {}

            def step(self, action):
                x = float(action[0])
                host.last, host.steps = x, host.steps + 1
                seen = {
                    "constraint_value": value(x) + host.spoiled,
                    "constraint_subgradient": np.array([slope(x)]),
                }
                return np.zeros(1, np.float32), 0.0, False, False, seen

        self.env = SafeAction(Env(), safe(told), [0.0], action_only=True, on_contradiction=policy)
        self.env.reset(seed=0)
        self.step()

    def step(self):
        self.env.step(np.ones(1, np.float32))

    def state(self):
        return self.env._keeper.vector().tolist()

    def at(self):
        return self.last


class Sklearn:
    """Least squares whose one weight wants to be 3."""

    words = "G_g = 1"

    def __init__(self, told, policy):
        from surefoot.adapters.sklearn import SafeRegressor

        self.spoiled = 0.0
        limit = FunctionConstraint(
            lambda w: value(float(w[0])) + self.spoiled,
            lambda w: np.array([slope(float(w[0]))]),
            bound=told,
        )
        self.model = SafeRegressor(
            limit, radius=0.6, fit_intercept=False, batch_size=8, on_contradiction=policy
        )
        self.step()

    def step(self):
        self.model.partial_fit(np.ones((8, 1)), np.full(8, 3.0))

    def state(self):
        parts = (part for name, part in vars(self.model).items() if name != "constraint")
        return [repr(part) for part in parts] + [repr(self.model._weights.state)]

    def at(self):
        return float(self.model.coef_[0])


class River:
    """The same from a stream, with a curvature as its constant."""

    words = "beta = 2"

    def __init__(self, told, policy):
        from surefoot.adapters.river import SafeLinearRegressor

        self.spoiled, bend = 0.0, 2.0 * told

        def limit(w):  # of curvature 2 TRUE
            a = w.get("a", 0.0)
            return TRUE * a * a - 0.5 + self.spoiled, {"a": 2 * TRUE * a}

        self.model = SafeLinearRegressor(1.0, limit, bend, on_contradiction=policy)

    def step(self):
        self.model.learn_one({"a": 1.0}, 3.0)

    def state(self):
        return pickle.dumps([self.model.weights, repr(self.model._weights.state)])

    def at(self):
        return self.model.weights.get("a", 0.0)


HOSTS = {"torch": Torch, "gymnasium": Gymnasium, "sklearn": Sklearn, "river": River}


def steps(one):
    for _ in range(40):
        one.step()
    return one


@pytest.fixture(params=HOSTS)
def host(request):
    pytest.importorskip(request.param)
    return HOSTS[request.param]


def test_a_lie_is_named_and_no_step_rests_on_it(host):
    liar = host(LIE, "raise")
    with pytest.raises(PremiseError, match=liar.words):
        steps(liar)
    before, x = liar.state(), liar.at()
    with pytest.raises(PremiseError, match=liar.words):  # and again, until somebody answers
        liar.step()
    assert liar.state() == before
    assert liar.at() == x


def test_a_lie_is_warned_of_once_and_the_truth_never(host):
    with pytest.warns(PremiseWarning, match=host.words) as found:
        steps(host(LIE, "warn"))
    assert len(found) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        honest = steps(host(TRUE, "warn"))
    limit = 0.275 if host is not River else (0.5 / TRUE) ** 0.5
    assert 0.9 * limit < honest.at() <= limit


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_refused_changes_nothing_and_the_next_step_goes_on(host, bad):
    spoiled, other = host(TRUE, "raise"), host(TRUE, "raise")
    for one in (spoiled, other):
        for _ in range(3):
            one.step()
    before, x = spoiled.state(), spoiled.at()
    spoiled.spoiled = bad
    with pytest.raises(InvalidValueError, match=r"constraint(_value)? must be finite|g of constr"):
        spoiled.step()
    if host is not Gymnasium:  # where the action had been played when its g was read
        assert spoiled.state() == before
        assert spoiled.at() == x
    spoiled.spoiled = 0.0
    for _ in range(3):
        spoiled.step()
        assert value(spoiled.at()) <= 0 or host is River
        other.step()
    if host is not Gymnasium:
        assert spoiled.at() == other.at()


@pytest.mark.parametrize("told", [LIE, TRUE])
def test_a_lie_is_named_in_optax(told):
    jax, optax = pytest.importorskip("jax"), pytest.importorskip("optax")
    from surefoot.adapters.optax import keep_feasible
    from surefoot.knowledge import Errors

    known = LipschitzHull(G_g=told, reach=2.0, errors=Errors(evaluation=1e-5))
    tx = keep_feasible(optax.sgd(0.3), RegionFilter(knowledge=known))
    w = jax.numpy.zeros(1)
    state = tx.init(w)

    def run():
        nonlocal w, state
        for _ in range(20):
            g, s = value(float(w[0])), jax.numpy.array([slope(float(w[0]))])
            updates, state = tx.update(
                -jax.numpy.ones(1), state, w, constraint_value=g, constraint_grad=s
            )
            w = jax.block_until_ready(optax.apply_updates(w, updates))

    if told == LIE:
        with pytest.warns(PremiseWarning, match="G_g = 1") as found:
            run()
        assert len(found) == 1
    else:
        run()
        assert 0.9 * 0.275 < float(w[0]) <= 0.275
