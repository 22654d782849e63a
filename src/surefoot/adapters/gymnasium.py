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
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsFloat, TypeAlias

import numpy as np

from surefoot.adapters._keeper import (
    Alarm,
    Keeper,
    OnContradiction,
    check_filter,
    check_precision,
    flat,
)
from surefoot.certified import Certified
from surefoot.core import checks
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.core.optional import need
from surefoot.core.types import Array, ArrayLike, Context

if TYPE_CHECKING:
    from gymnasium import Env

_gym = need("gymnasium", "gymnasium", "surefoot.adapters.gymnasium")

__all__ = ["Look", "Reading", "SafeAction", "cost_below"]

Facts: TypeAlias = Mapping[str, Array]
Reading: TypeAlias = Callable[[Array, Facts], tuple[Array | None, Array | None]]
"""From the action played and the step's ``info`` to the value of g and a subgradient there; None
for no subgradient, and for no value where nothing was measured."""
Look: TypeAlias = Callable[[Any, Facts], Any]
"""From an observation and its ``info`` to the context of the next action, one number per column."""


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
    ``drift=v``. If it depends on the action and on what was observed before it, give the filter's
    knowledge a context, and say by ``context`` where it stands. Otherwise nothing is claimed, and
    the wrapper is a heuristic. A claim that a reading refutes is answered in one sentence: as a
    warning, or as an error before the next action is played.

    **In contexts** the context of the *next* action is computed after ``reset`` and after each
    step; what a step measures belongs to the context in which it was played. If it cannot be read
    (it is not finite, of another length, or the step failed), the next step plays the start, whose
    ``start_bound`` holds in every context, and ``info["surefoot"]`` says why. A step without a
    reading changes nothing else: what was measured before certifies the next action. Observations
    are often float32: a context in float32 is rejected, unless the filter's ``evaluation`` covers
    what rounding it changes g by; ``float(observation[1])`` is your word that it is exact.

    Args:
        env: an environment whose actions are a ``Box``.
        filter: that takes proposals, as :class:`surefoot.rules.SafetyFilter`.
        start: the first action after each reset, strictly feasible.
        constraint: how g is read, a :data:`Reading`; from ``info["constraint_value"]`` and
            ``info["constraint_subgradient"]`` unless given.
        action_only: whether g depends only on the action.
        context: the context of the next action, a :data:`Look`: needed by a filter in contexts, and
            by no other.
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
        context: Look | None = None,
        on_contradiction: OnContradiction = "warn",
    ) -> None:
        _gym.utils.RecordConstructorArgs.__init__(
            self,
            filter=filter,
            start=start,
            constraint=constraint,
            action_only=action_only,
            context=context,
            on_contradiction=on_contradiction,
        )
        _gym.Wrapper.__init__(self, env)
        space = env.action_space
        if not isinstance(space, _gym.spaces.Box):
            raise InvalidValueError(f"env must have a Box as its action space, got {space}")
        self._filter, self._start = filter, np.array(start, dtype=space.dtype).reshape(space.shape)
        self._read: Reading = _from_info if constraint is None else constraint
        self._action_only, self._alarm = bool(action_only), Alarm(on_contradiction)
        self._look = context
        self._box = flat(space.low), flat(space.high)
        self._at_start: _Known | None = None
        self._false_claim = ""
        check_filter(filter, contexts=True)
        _check_contexts(filter, self._start, context, self._action_only)
        self._begin()

    def _begin(self) -> None:
        dtype, contexts = self.env.action_space.dtype, self._look is not None
        self._keeper = Keeper(self._filter, self._start, dtype, self._box, self._alarm, contexts)
        self._reading: tuple[Array, Array | None] | None = None  # at the action played last
        self._at_last: _Known | None = None
        self._is_new = True
        self._next: Context | None = None
        self._trouble = "" if self._look is None else "reset was not called"

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment and the filter; the next action is the start."""
        result = self.env.reset(seed=seed, options=options)
        self._begin()
        observation, info = result
        self._look_ahead(observation, info)
        if self._next is not None:
            self._keeper.announce(self._next)
        return observation, {**info, "guarantee": self.guarantee}

    def step(self, action: ArrayLike) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Play what is certified of the action, and read g where it was played."""
        space, proposed, said = self.env.action_space, np.array(action), ""
        if proposed.shape != space.shape:
            raise InvalidValueError(f"action.shape must be {space.shape}, got {proposed.shape}")
        if self._false_claim:
            self._alarm.report([self._false_claim])
        if self._look is not None:
            said = self._choose_in_context(proposed)
        elif self._reading is not None:
            self._keeper.offer(proposed, *self._reading)
        elif not self._is_new and (reason := self._keeper.obstacle_to_repeats):
            raise InvalidValueError(
                f"the last step must have been measured, because {reason}: call reset, got no "
                "reading"
            )
        # That reading says nothing about the action to come, nor that context of what follows.
        self._reading, self._is_new, self._next = None, False, None
        is_readable, self._trouble = not said, "the step before failed" if self._look else ""
        played = self._keeper.action().reshape(space.shape)
        observation, reward, *cost, terminated, truncated, info = self.env.step(played.copy())
        info = dict(info)
        if cost:
            info["cost"] = float(cost[0])
        g, s = self._read(played.copy(), info)
        if g is None:
            info.setdefault("cost", math.nan)
        else:
            reading = value, _ = self._check(played, g, s)
            self._reading = reading if is_readable else None  # of an unknown context, it says none
            info.setdefault("cost", max(float(value.max()), 0.0))
            self._compare(played, value)
        self._look_ahead(observation, info)
        if said:
            info["surefoot"] = said
        info |= {
            "constraint_value": g,
            "action_played": played,
            "action_proposed": proposed,
            "certificate": self._keeper.certificate,
        }
        return observation, reward, terminated, truncated, info

    def _choose_in_context(self, proposed: Array) -> str:
        """Take a proposal to a certified action; return why the start is played instead, if so."""
        keeper = self._keeper
        g, s = (None, None) if self._reading is None else self._reading
        if not self._is_new:
            keeper.offer(proposed, g, s, context=self._next)
        if self._next is not None:
            return ""
        keeper.stand(self._start)
        return f"the start is played, because {self._trouble}"

    def _look_ahead(self, observation: Any, info: Facts) -> None:
        """Read the context of the next action; note why if it cannot be read."""
        if self._look is None:
            return
        self._next, self._trouble = None, "the context of the next action was not computed"
        numbers = self._look(observation, info)
        check_precision(self._filter.errors, context=np.asarray(numbers))
        try:
            self._next, self._trouble = self._keeper.read_context(numbers), ""
        except SurefootError as error:
            self._trouble = str(error)

    def _compare(self, played: Array, value: Array) -> None:
        """Note whether g differs from what was read at the same action, if it must not."""
        now = _Known(played.copy(), np.array(value, copy=True))
        if self._action_only and not self._filter.errors.drift and self._look is None:
            errors = self._filter.errors
            allowed = 2 * (float(errors.value) + float(errors.evaluation))
            for before in (self._at_start, self._at_last):
                moved = 0.0 if before is None else before.find_move(now)
                if moved > allowed:
                    self._false_claim = (
                        f"g depends on the state (its reading moved by {moved:.3g} at the same "
                        "action): give a drift or a context"
                    )
        if np.array_equal(played, self._start):
            self._at_start = now
        self._at_last = now

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
        if self._false_claim:
            return f"nothing: {self._false_claim}"
        if self._look is not None:
            return self._keeper.promise("g depends only on the action and the context")
        if self._filter.errors.drift:
            return self._keeper.guarantee
        if self._action_only:
            return self._keeper.promise("g depends only on the action")
        return (
            "nothing is claimed: g may depend on more than the action; say action_only=True if it "
            "does not, or give the filter a drift or a context"
        )


class _Known(NamedTuple):
    """What was read at an action."""

    action: Array
    value: Array

    def find_move(self, other: _Known) -> float:
        """Return how far g moved at the same action, beyond rounding; 0 at another."""
        same = self.value.shape == other.value.shape and np.array_equal(self.action, other.action)
        if not same:
            return 0.0
        moved = float(np.abs(self.value - other.value).max())
        return moved if moved > 2.0**-40 * float(np.abs(self.value).max()) else 0.0


def _check_contexts(
    filter: Certified,  # noqa: A002
    start: Array,
    look: Look | None,
    action_only: bool,
) -> None:
    """Raise unless both the filter and the host have contexts, or neither, with a way back."""
    knowledge = filter.knowledge
    if look is not None:
        checks.function(context=look)
    if knowledge.in_contexts and look is None:
        raise InvalidValueError(
            "context must be a function of the observation and the info, because the filter has "
            "contexts, got None"
        )
    if not knowledge.in_contexts and look is not None:
        raise InvalidValueError(
            "context must be None for a filter without contexts: RegionFilter(knowledge="
            f"ContextHull(context=Column(...), ...)) has them, got a {type(knowledge).__name__}"
        )
    if look is not None and knowledge.context.argument == "drift":
        raise InvalidValueError(
            "the filter's contexts must be columns, which an observation may have, got announced "
            "drifts: give the largest as errors=Errors(drift=...)"
        )
    if look is not None and action_only:
        raise InvalidValueError("action_only must be False where g depends on a context, got True")
    if look is not None and knowledge.standing(flat(start)) is None:
        raise InvalidValueError(
            "filter must have a start_bound in contexts, because a step whose context cannot be "
            f"read plays the start, got a {type(knowledge).__name__} without one"
        )
