"""The input of every engine: what a round reveals, and what happens between blocks of rounds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import find_largest, is_one_run, is_sparse, namespace, norm, to_numpy
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.types import Array, CostStream, Index, Needs, Number, Player, needs_of
from surefoot.games.record import Recorder
from surefoot.problems import Problem
from surefoot.problems.constraints import Constraint, ConstraintStream, PlayedOnly
from surefoot.problems.costs import ArrayCosts


class Answer(NamedTuple):
    """The answer of an oracle to the action of a round.

    Attributes:
        feedback: what the algorithm asks for and receives.
        cost: the round's cost.
        gradient: its gradient, whether or not the algorithm receives it.
        largest: g, the largest constraint.
        steepest: norm of the longest subgradient that was revealed.
        rows: the values of all constraints, where a guarantee bounds their sums.
    """

    feedback: Feedback
    cost: Number
    gradient: Array
    largest: Number
    steepest: Number
    rows: Array | None = None


@dataclass(frozen=True, slots=True)
class Oracle:
    """Answers an algorithm's needs in a block of rounds.

    Args:
        costs: the costs of the block, for the runs that play.
        constraint: a constraint, or the constraints of the block's rounds.
        needs: what the algorithm asks for; it receives nothing else.
        watched: whether norms are computed.
        rows: whether the values of all constraints are returned, for a guarantee about their sums.
        directions: a unit vector for each round, for algorithms that explore.
    """

    costs: CostStream
    constraint: Constraint | ConstraintStream
    needs: Needs
    watched: bool
    rows: bool = False
    directions: Array | None = None

    def ask(self, k: Index, x: Array) -> Answer:
        """Answer round k of the block, at the action played."""
        costs, g, needs = self.costs, self.constraint, self.needs
        if isinstance(g, PlayedOnly):
            g.allow(x)
        if isinstance(costs, ArrayCosts):
            cost, gradient = costs.query(k, x)
        else:
            gradient, cost = costs.gradient(k, x), costs.value(k, x)
        rows = None
        if needs.separately or self.rows:
            rows, slopes = g.query_all(x) if isinstance(g, Constraint) else g.query_all(k, x)
        if needs.separately:
            value, slope, largest = rows, slopes, find_largest(rows)[0]
        else:
            value, slope = g.query(x) if isinstance(g, Constraint) else g.query(k, x)
            largest = value
        steepest: Number = _steepest(slope, x) if self.watched else 0.0
        if not needs.constraint_values:
            value = None
        if not needs.constraint_subgradients:
            slope = None
        feedback = Feedback(
            gradient if needs.cost_gradients else None,
            value,
            slope,
            cost if needs.cost_values else None,
            direction=None if self.directions is None else self.directions[k],
        )
        all_values = rows if self.rows else None
        return Answer(feedback, cost, gradient, largest, steepest, all_values)


def _steepest(slope: Array, x: Array) -> Number:
    """Return the norm of a subgradient, or of the longest of several."""
    if slope.ndim == x.ndim:
        return norm(slope)
    if is_sparse(slope):  # its rows stay so
        return math.sqrt(float(slope.multiply(slope).sum(axis=1).max()))
    xp = namespace(slope)
    squares = xp.sum(slope * slope, axis=-1)
    return xp.sqrt(xp.max(squares, axis=-1, keepdims=not is_one_run(x)))


class Played(NamedTuple):
    """The result of an engine beside what it gave to the recorder.

    Attributes:
        final: the actions that would come next.
        compile_seconds: what the engine took to compile; 0 where this process had compiled it
            before; None where nothing is compiled.
    """

    final: Array
    compile_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Game:
    """An algorithm against each stream of a problem: the runs.

    Attributes:
        algorithm: of all runs.
        problem: what is played.
        start: the first action, of all runs.
        recorder: takes the blocks; it knows how many runs and rounds there are.
        directions: that algorithms with bandit feedback explore along.
    """

    algorithm: Player
    problem: Problem
    start: Array
    recorder: Recorder
    directions: Directions

    def blocks(self, length: int) -> Iterator[tuple[int, int, CostStream]]:
        """Yield the first round, the last and the costs of each block, of so many rounds."""
        horizon = self.recorder.horizon
        for first in range(0, horizon, length):
            stop = min(first + length, horizon)
            yield first, stop, self.problem.costs.rounds(first, stop)

    def oracle(self, costs: CostStream, first: int, stop: int, runs: int | slice) -> Oracle:
        """Return what answers one run, or some of a batch, in the rounds from first to stop."""
        needs, g = needs_of(self.algorithm), self.problem.constraint
        return Oracle(
            costs.run(runs),
            g if isinstance(g, Constraint) else g.rounds(first, stop),
            needs,
            self.recorder.watch.is_on,
            self.recorder.rows > 0,
            self.directions.draw(first, stop, runs) if needs.directions else None,
        )

    def check_oracle(self, oracle: Oracle, x: Array) -> None:
        """Check the shapes before the first round, so that an error names the user's functions.

        Args:
            oracle: the oracle of the first rounds.
            x: the first action or actions.
        """
        gradient = oracle.costs.gradient(0, x)
        checks.read_gradient(x, Feedback(gradient, None, None))
        # Not watched: norms come after the shapes are checked.
        answer = replace(oracle, watched=False).ask(0, x)
        if oracle.needs.constraint_values and oracle.needs.constraint_subgradients:
            check = (
                checks.read_feedback_separately if oracle.needs.separately else checks.read_feedback
            )
            check(x, answer.feedback._replace(cost_gradient=gradient))
        want = () if len(x.shape) == 1 else (x.shape[0], 1)
        for name, value in (("cost_value", answer.cost), ("constraint_value", answer.largest)):
            if tuple(np.shape(value)) != want:
                raise InvalidValueError(
                    f"{name}.shape must be {want}, got {tuple(np.shape(value))}"
                )

    def status(self, run: int, final: Array) -> str:
        """Return "ok", or why a run has no more actions; ``final`` are those that come next.

        The sentence is that of the live loop, from playing the run once more in NumPy.
        """
        at = int(self.recorder.lost[run])
        if at == 0 and np.isfinite(final[run]).all():
            return "ok"
        stop = at or self.recorder.horizon
        try:
            state = self.algorithm.init(to_numpy(self.start))
            oracle = self.oracle(self.problem.costs.rounds(0, stop), 0, stop, run)
            for t in range(stop):
                answer = oracle.ask(t, state.x)
                try:
                    state, _ = self.algorithm.step(state, answer.feedback)
                except ValueError as error:
                    return f"round {t + 1}: {error}"
                if not np.isfinite(answer.largest):
                    sentence = f"the constraint value must be finite, got {answer.largest!r}"
                    return f"round {t + 1}: {sentence}"
                if not np.isfinite(state.x).all():
                    return f"round {t + 1}: the next action must be finite, got {state.x!r}"
        except Exception:
            # A user's functions may accept only the arrays of the engine; the game has been played,
            # and an error here must not lose it.
            pass
        return f"round {at}: g is not finite" if at else f"round {stop}: the action is not finite"


class Directions:
    """Unit vectors at random, of each run from its own generator, in the order of the rounds.

    Args:
        seed: of the game.
        runs: how many there are.
        dimension: entries of a vector.
    """

    def __init__(self, seed: int, runs: int, dimension: int) -> None:
        self._seed, self._runs, self._dimension = seed, runs, dimension
        # Of each run, how many rounds were drawn for, and its generator.
        self._sources: dict[int, tuple[int, np.random.Generator]] = {}

    def draw(self, first: int, stop: int, runs: int | slice) -> Array:
        """Return the vectors of some rounds, of one run or of some.

        A block that is asked for again, to explain a lost run, is drawn again from the start.
        """
        if isinstance(runs, int):
            return self._draw(first, stop, runs)
        return np.stack([self._draw(first, stop, r) for r in range(self._runs)[runs]], axis=1)

    def _draw(self, first: int, stop: int, run: int) -> Array:
        position, source = self._sources.get(run, (0, None))
        if source is None or position > first:
            source = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(run,)))
            position = 0
        source.normal(size=(first - position, self._dimension))
        ways = source.normal(size=(stop - first, self._dimension))
        self._sources[run] = stop, source
        return ways / np.linalg.norm(ways, axis=1, keepdims=True)
