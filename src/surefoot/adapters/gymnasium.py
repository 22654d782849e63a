"""Gymnasium: a wrapper that plays only actions that are certainly feasible.

Three lines, with any agent (stable-baselines3, TorchRL, your own)::

    env = SafeAction(env, SafetyFilter.default(known), start=[0.0, 0.0], action_only=True)
    model = PPO("MlpPolicy", env).learn(2_048)
    observation, reward, terminated, truncated, info = env.step(action)

Agents that learn from their own actions keep the action that they proposed;
``info["action_played"]`` is the action that was played.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, SupportsFloat, TypeAlias

import numpy as np

from surefoot.adapters._keeper import Alarm, Keeper, OnContradiction, flat
from surefoot.certified import Certified
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.types import Array, ArrayLike

if TYPE_CHECKING:
    from gymnasium import Env

_gym = need("gymnasium", "gymnasium", "surefoot.adapters.gymnasium")

__all__ = ["Reading", "SafeAction", "cost_below"]

Facts: TypeAlias = Mapping[str, Array]
Reading: TypeAlias = Callable[[Array, Facts], tuple[Array | None, Array | None]]
"""From the action played and the step's ``info`` to the value of g and a subgradient there; None
for no subgradient, and for no value where nothing was measured."""


def _from_info(action: Array, info: Facts) -> tuple[Array | None, Array | None]:
    if "constraint_value" not in info:
        raise InvalidValueError(
            "info must have 'constraint_value', g at the action played, or SafeAction a function "
            f"as constraint, got {sorted(info)}"
        )
    return info["constraint_value"], info.get("constraint_subgradient")


def cost_below(limit: float) -> Reading:
    """Return a reading of safety-gymnasium's cost: g is ``info["cost"]`` less a limit, no slope.

    Only filters that certify by values can use it: those whose knowledge is of G_g, as
    ``RegionFilter(knowledge=LipschitzHull(...))``.

    Example:
        >>> cost_below(25.0)(np.zeros(2), {"cost": 20.0})
        (-5.0, None)
    """

    def read(action: Array, info: Facts) -> tuple[Array, Array | None]:
        return float(info["cost"]) - limit, None

    return read


class SafeAction(_gym.Wrapper, _gym.utils.RecordConstructorArgs):  # type: ignore[misc, name-defined]
    """Plays the certified action that a filter makes of the agent's, and measures g there.

    The first action after a reset is ``start``, whatever the agent proposes: nothing has been
    measured yet. The g and the slope at the action before certify each later one. Every action is
    in the box of the action space, with every filter, also under drift. If g was not measured in a
    step (None), or the step failed, or g was not a number, the action is played again, whatever the
    agent proposes, until g is measured there. A filter that allows for drift, or keeps a limit on
    the average, or has an unknown constant needs a reset instead. Certificates are computed in
    float64 and rounded to the action space last, with a margin for that
    (:mod:`surefoot.adapters._keeper`).

    ``info`` of a step has ``action_played``, ``action_proposed``, ``certificate`` (a named tuple,
    whose ``str`` is one sentence; None for the start), ``constraint_value`` and ``cost``. The cost
    is that of the environment if it has one (safety-gymnasium returns it as the third of six
    values, which become five here), else the positive part of g; NaN where g was not measured.

    :attr:`guarantee` has what is promised. If g depends only on the action, pass
    ``action_only=True``. If g also changes by at most v per step otherwise, give the filter
    ``drift=v``. Otherwise nothing is claimed, and the wrapper is a heuristic.

    Args:
        env: an environment whose actions are a ``Box``.
        filter: that takes proposals, as :class:`surefoot.rules.SafetyFilter`.
        start: the first action after each reset, strictly feasible.
        constraint: how g is read, a :data:`Reading`; from ``info["constraint_value"]`` and
            ``info["constraint_subgradient"]`` unless given.
        action_only: whether g depends only on the action.
        on_contradiction: what to do when a step is impossible if the constants are right: "warn"
            of the first one, or "raise" :class:`surefoot.guarantees.PremiseError` for each instead
            of playing. Each is logged by the logger "surefoot".

    Example:
        >>> import gymnasium
        >>> from surefoot import Constants, SafetyFilter
        >>> class Cable(gymnasium.Env):  # one load; the heat is its square
        ...     action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        ...     observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        ...     def reset(self, *, seed=None, options=None):
        ...         super().reset(seed=seed)
        ...         return np.zeros(1, np.float32), {}
        ...     def step(self, load):
        ...         x = load.astype(np.float64)  # in which g must be computed
        ...         heat = {"constraint_value": x @ x - 0.25, "constraint_subgradient": 2 * x}
        ...         return np.zeros(1, np.float32), float(load[0]), False, False, heat
        >>> known = Constants(R=1.0, G_g=2.0, start_slack=0.25)
        >>> env = SafeAction(Cable(), SafetyFilter.default(known), start=[0.0], action_only=True)
        >>> _ = env.reset(seed=0)
        >>> for _ in range(50):
        ...     *_, info = env.step(np.array([1.0], np.float32))
        >>> info["action_played"] <= 0.5, info["action_proposed"], info["cost"]
        (array([ True]), array([1.], dtype=float32), 0.0)
        >>> print(env.guarantee)
        g <= 0 in every round, if g is convex, no subgradient of g is longer than G_g = 2 (given),
        the start is strictly feasible and g depends only on the action; float32 keeps g below
        -1.2e-07
    """

    def __init__(
        self,
        env: Env,
        filter: Certified,  # noqa: A002
        start: ArrayLike,
        constraint: Reading | None = None,
        *,
        action_only: bool = False,
        on_contradiction: OnContradiction = "warn",
    ) -> None:
        _gym.utils.RecordConstructorArgs.__init__(
            self,
            filter=filter,
            start=start,
            constraint=constraint,
            action_only=action_only,
            on_contradiction=on_contradiction,
        )
        _gym.Wrapper.__init__(self, env)
        space = env.action_space
        if not isinstance(space, _gym.spaces.Box):
            raise InvalidValueError(f"env must have a Box as its action space, got {space}")
        self._filter, self._start = filter, np.array(start, dtype=space.dtype).reshape(space.shape)
        self._read: Reading = _from_info if constraint is None else constraint
        self._action_only, self._alarm = bool(action_only), Alarm(on_contradiction)
        self._box = flat(space.low), flat(space.high)
        self._begin()

    def _begin(self) -> None:
        dtype = self.env.action_space.dtype
        self._keeper = Keeper(self._filter, self._start, dtype, self._box, self._alarm)
        self._reading: tuple[Array, Array | None] | None = None  # at the action played last
        self._is_new = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment and the filter; the next action is the start."""
        result = self.env.reset(seed=seed, options=options)
        self._begin()
        observation, info = result
        return observation, {**info, "guarantee": self.guarantee}

    def step(self, action: ArrayLike) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Play what is certified of the action, and read g where it was played."""
        space, proposed = self.env.action_space, np.array(action)
        if proposed.shape != space.shape:
            raise InvalidValueError(f"action.shape must be {space.shape}, got {proposed.shape}")
        if self._reading is not None:
            self._keeper.offer(proposed, *self._reading)
        elif not self._is_new and (reason := self._keeper.obstacle_to_repeats):
            raise InvalidValueError(
                f"the last step must have been measured, because {reason}: call reset, got no "
                "reading"
            )
        # That reading says nothing about the action to come.
        self._reading, self._is_new = None, False
        played = self._keeper.action().reshape(space.shape)
        observation, reward, *cost, terminated, truncated, info = self.env.step(played.copy())
        info = dict(info)
        if cost:
            info["cost"] = float(cost[0])
        g, s = self._read(played.copy(), info)
        if g is None:
            info.setdefault("cost", math.nan)
        else:
            self._reading = value, _ = self._check(played, g, s)
            info.setdefault("cost", max(float(value.max()), 0.0))
        info |= {
            "constraint_value": g,
            "action_played": played,
            "action_proposed": proposed,
            "certificate": self._keeper.certificate,
        }
        return observation, reward, terminated, truncated, info

    def _check(self, played: Array, g: Array, s: Array | None) -> tuple[Array, Array | None]:
        """Return a reading as float64 numbers; reject what is none."""
        value, slope = self._keeper.read(g, s)
        if s is None and self._filter.knowledge.slopes == "certify":
            raise InvalidValueError(
                "constraint_subgradient must be reported to a filter that certifies by slopes, got "
                "None: RegionFilter(knowledge=LipschitzHull(...)) certifies by values"
            )
        if slope is not None and slope.size == played.size:
            slope = slope.reshape(-1)
        return value, slope

    @property
    def guarantee(self) -> str:
        """What is promised of every action played, in words; "nothing is claimed" otherwise."""
        if self._filter.errors.drift:
            return self._keeper.guarantee
        if self._action_only:
            return self._keeper.promise("g depends only on the action")
        return (
            "nothing is claimed: g may depend on more than the action; say action_only=True if it "
            "does not, or give the filter a drift"
        )
