r"""Regions for an unknown constant: rule U, and how often it may be wrong.

Let g be convex and fixed, its feasible set X in a known ball B(c, R), and :math:`G_g` unknown. What
was read *proves* a least value of it,

.. math:: m = \max_i\max\Big(\|s_i\|,\ \frac{-g_i}{R - \|x_i - c\|}\Big),

the second because the ball :math:`B(x_i, -g_i/G_g)` is in X. **Rule U** takes
:math:`\hat G = \theta m` for :math:`G_g`, :math:`\theta > 1`, in the hull of
:mod:`surefoot.knowledge.hull`. After a round outside, g(x) > 0, the next action is a mean of
actions that were seen, with a mean of their values of at most 0
(:mod:`surefoot.knowledge.hull_of_log`): that needs no constant.

**Theorem U (number and size in one budget).** *Let G be the largest slope on the ball,* :math:`m_1`
*the first m. Let rounds j = 1, ..., J be outside, by* :math:`g_j > 0`\ *, and* :math:`\sigma_j`
*the slack that their certificates used, that of the mean in them. Then*

.. math:: J\ln\theta + \sum_j\ln(1 + g_j/\sigma_j) \le \ln(G/m_1) ,

*no two of them are adjacent,* :math:`\hat G \le \theta G`\ *, and if* :math:`G_g` *bounds the
slopes on X alone,* :math:`J \le \lceil\log_\theta(G_g/m_1)\rceil - 1`\ *: none if* :math:`G_g \le
\theta m_1`.

*Proof.* The action y was certified with :math:`\hat G`: there is a mean v of actions, of values
with the mean :math:`-\sigma`, and :math:`\hat G\|y - v\| \le \sigma`. Were :math:`G_g \le \hat G`
it would be feasible: so a round outside proves :math:`G_g > \hat G`, and :math:`\sigma > 0`. For a
slope s at y, :math:`\|s\|\|y-v\| \ge s^\top(y-v) \ge g(y) - g(v) \ge g(y) + \sigma`, so
:math:`\|s\| \ge \hat G(1 + g(y)/\sigma)`. That enters m: the next :math:`\hat G` is at least
:math:`\theta(1 + g(y)/\sigma)` times the last. It began with :math:`\theta m_1`, so
:math:`\theta^{J+1}m_1\prod_j(1 + g_j/\sigma_j) \le \theta m \le \theta G`, because y is in the
ball: in every direction u, :math:`u^\top x_i - g_i/\hat G \le u^\top c + \|x_i-c\| + (R -
\|x_i-c\|)/\theta` for feasible rounds, and rounds outside have less. Before the round J outside,
:math:`\theta^Jm_1 \le \hat G < G_g`. The round after one outside is feasible by convexity. ∎

It is tight: :math:`g = M\|x - x_1\| - \alpha` with the slope 0 at the start uses all of it up in
one round. :math:`(g(y) + \sigma)/\|y - v\|` is used for m beside :math:`\|s\|`, and so is every
:math:`(g_j - g_i)/\|x_j - x_i\|`, which is at most :math:`\|s_j\|`: then the theorem needs no
slopes. A round without a measurement may be outside unseen; the next action is then a mean of
actions seen, and where k rounds may be outside it counts as one of them.

**Theorem U in any bounded set.** *Let every action be in a set D, which need not be convex nor hold
X, and let D be within* :math:`D_1` *of the start, which has the slack* :math:`\sigma_1`\ *. Let m
be the largest slope seen, and* :math:`m_1` *the larger of the first one and*
:math:`\sigma_1/D_1`\ *; rule U takes* :math:`\theta\max(m, m_1)`\ *. Then Theorem U holds with G
the larger of* :math:`m_1` *and the largest slope on D.* *Proof.* With J = 0 there is nothing to
prove. The first estimate is :math:`\theta m_1` or more, and
:math:`m \ge \hat G(1 + g_1/\sigma_1) > m_1` after the first round outside. From then on the proof
above holds as it is, and before it used no more of :math:`m_1`. ∎ So any number above 0 may take
the place of :math:`m_1`. Nothing is gained by a smaller one: were :math:`GD_1 \le \sigma_1`, all of
D would be feasible, by :math:`g(y) \le -\sigma_1 + s^\top(y-x_1)` for a slope s at y. A ball that
holds X proves more, because X ends in it.

**Theorem U under errors.** *Let* :math:`|\hat g_i - g_i| \le \nu_i` *and*
:math:`\|\hat s_i - s\| \le \tau_i` *for a slope s at* :math:`x_i`\ *. Let certificates and the ball
count* :math:`\hat g_i + \nu_i` *for* :math:`g_i`\ *, m count* :math:`\|\hat s_i\| - \tau_i` *and*
:math:`(\hat g_j - \nu_j - \hat g_i - \nu_i)/\|x_j - x_i\|`\ *, and let J count the rounds with*
:math:`\hat g_j - \nu_j > 0`\ *. Then*

.. math:: J\ln\theta + \sum_j\ln\Big(1 + \frac{\hat g_j - \nu_j}{\sigma_j}\Big) \le \ln(G/m_1) ,

*the other statements hold for these rounds, each round with* :math:`g_j > 2\nu_j` *is one of them,
and those with* :math:`0 < g \le 2\nu` *may be any number.* *Proof.* What m counts is at most G.
With v the mean of a certificate, :math:`g(v) \le -\sigma` by convexity, since every
:math:`\hat g_i + \nu_i \ge g_i`. A counted round has :math:`g(y) \ge \hat g - \nu > 0`. So
:math:`\|s\|\|y-v\| \ge g(y) - g(v) \ge (\hat g - \nu) + \sigma`, and the rest is as above with
:math:`\hat g_j - \nu_j` for :math:`g_j`. If :math:`g > 2\nu`, then :math:`\hat g - \nu > 0`. ∎ The
last statement cannot be improved: :math:`\nu` may be read where g is :math:`2\nu`, and where it is
0.

**A bound on the start** (``start_bound``). *Let* :math:`g(x_1) \le b < 0` *be known. It counts as
one more reading of the start, of the value b without an error: the theorems hold, with*
:math:`m_1 \ge -b/(R - \|x_1 - c\|)`\ *.* *Proof.* They use of a reading that counts as feasible
only that g is at most :math:`\hat g + \nu` there. ∎ For a g that drifts this is false: what was
proved of one g says nothing of the next.

**Theorem V (a number of violations).** *With k violations allowed and no more known, rule U is
played, and after the k-th round outside only means as above: at most k rounds are outside, whatever
g is. If* :math:`G_g \le \theta^km_1` *it is at most k - 1, and they are never needed. With a
(far too large)* :math:`G_{max} \ge G_g` *, after j rounds outside*
:math:`\hat G = \max(m, m_1(G_{max}/m_1)^{j/k})`\ *, at most* :math:`G_{max}`\ *: then at most
k rounds are outside, at most*
:math:`\lceil k\ln(G_g/m_1)/\ln(G_{max}/m_1)\rceil`\ *, and*
:math:`\hat G \le \max(m, G_g(G_{max}/m_1)^{1/k})`\ *: each that is allowed takes a root of the
pessimism.* *Proof.* A round outside proves :math:`G_g > \hat G`, which at :math:`G_{max}` is
impossible. The J-th has :math:`m_1(G_{max}/m_1)^{(J-1)/k} \le \hat G < G_g`. ∎ With k = 0 and
:math:`G_{max}` that is the rule that knows :math:`G_{max}`.

**Size as well.** With :math:`G_{max} \ge G`, radii of at most :math:`(\epsilon - g_i)/G_{max}` keep
every violation at most :math:`\epsilon`: :math:`g(y) \le -\sigma + G_{max}\|y-v\| \le \epsilon`.
Radii between two balls are means of theirs, so that the smaller of two kinds of radii has both
properties.

**Theorem W (curvature).** *g need not be convex. Let b be the largest of* :math:`2(g_j - g_i -
s_i^\top(x_j-x_i))/\|x_j-x_i\|^2` *over readings after one another and, where every feasible point
is within D of* :math:`x_i`\ *, of* :math:`2(-g_i + \|s_i\|D)/D^2`\ *;* :math:`\hat\beta = \theta b`
*in the region of* :mod:`surefoot.knowledge.curvature`\ *; after a round outside the next action is
the one before it. Then at most* :math:`\lceil\log_\theta(\beta/b_1)\rceil - 1` *rounds are
outside,* :math:`\beta` *the curvature on X, no two of them adjacent, and with* :math:`\beta'` *the
largest curvature along their steps*

.. math:: J\ln\theta + \sum_j\ln\Big(1 + \frac{2g_j}{\hat\beta_j\|d_j\|^2}\Big)
          \le \ln(\beta'/b_1) .

*Proof.* A round outside has :math:`U_{\hat\beta}(y) \le 0` and g(y) > 0, so :math:`\beta >
\hat\beta` by the certificate, and its pair shows :math:`b \ge \hat\beta + 2g(y)/\|d\|^2`; the rest
is as above. The floor: in the direction :math:`-s_i` the boundary is met at a length :math:`l \le
D`, :math:`0 \le g_i - \|s_i\|l + \beta l^2/2`, and :math:`(-g_i + \|s_i\|l)/l^2` falls with l. ∎

*In a ball that holds every action, but not X, the floor is no proof, and a guess as good as any
number above 0: the theorem holds with the larger of* :math:`\beta'` *and* :math:`b_1` *for*
:math:`\beta'`\ *,* :math:`\beta` *the curvature on the part of X in the ball.* *Proof.* The way
from x to p is in the ball, and so is the q where it would leave X first. A floor only raises
:math:`\hat\beta`, and with it what a round outside proves. With J = 0 there is nothing to prove.
The pair of the J-th round outside shows a curvature of :math:`\hat\beta_J(1 + 2g_J/(\hat\beta_J
\|d_J\|^2))` or more along its step, and :math:`\hat\beta_J \ge \theta^Jb_1\prod_{j<J}(1 +
2g_j/(\hat\beta_j\|d_j\|^2))`. ∎ So a limit of a network, whose feasible set no ball holds, needs a
ball around the weights alone.

**Rounding** (``rounding`` c: a host plays q, within c of what was certified, and plays an action
again to the last bit). *Let p be certified with* :math:`g + \hat m` *in place of g, by the estimate
of that round:* :math:`\hat m = \hat Gc`\ *, or* :math:`\hat m = (\|s\| + \hat\beta(2M + c))c` *for
a curvature. Where nothing may rest on an estimate, let the deepest action be played again, or the
one before a round outside. Then Theorems U, V and W hold as they are, with q for y.* *Proof.* Of a
round outside they use that the estimate certified its action, and of the round after it that it is
feasible whatever the constant. The latter was played and read before, and is not rounded. For the
former, there is a mean v, of values with the mean :math:`-\sigma`, and
:math:`\hat G\|p - v\| \le \sigma - \hat Gc`, so :math:`\hat G\|q - v\| \le \sigma`. With U the
quadratic bound by :math:`\hat\beta`, :math:`U(p) \le -\hat m` and :math:`\|p - x\| \le 2M`, so
:math:`U(q) \le U(p) + \|s\|c + \frac{\hat\beta}2(2\|p - x\|c + c^2) \le 0`. So q itself is
certified. ∎ A rounded action that is outside refutes the estimate, and its round is one of those
that the theorems count. With ``largest_violation`` the margin is :math:`G_{max}c`, which keeps
:math:`\epsilon`.
"""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.forms import Count, NonNegative, Span
from surefoot.core.parameters import count, nonnegative, number, positive, replace_unchecked
from surefoot.core.points import UNIT, diameter_of, reach_from, reach_of
from surefoot.core.types import Array, Certificate, Number, Set
from surefoot.knowledge.anchor import Anchor, StandingAnchor
from surefoot.knowledge.base import BALLS, Capability, Estimate, Knowledge, Memory, Reading
from surefoot.knowledge.contradictions import check_bound, check_reach
from surefoot.knowledge.curvature import Curvature, CurvatureMemory
from surefoot.knowledge.errors import Errors
from surefoot.knowledge.hull import HullMemory, LipschitzHull
from surefoot.knowledge.hull_of_log import HullOfLog, LogCertificate, LogMemory, LogRegion
from surefoot.knowledge.region import OnePoint, Recertified, Region
from surefoot.sets import Ball

__all__ = [
    "EstimatedCertificate",
    "EstimatedCurvature",
    "EstimatedHull",
    "EstimatedMemory",
    "UnknownConstant",
]


class EstimatedCertificate(NamedTuple):
    """Why the next action is feasible if a constant is at most the value used for it.

    Attributes:
        round: the round that was played.
        estimate: the estimate of the constant.
        part: why, if it is at most the value used.
        bound: the next g is at most this, whatever the constant is; infinite where none is known.
        cut: whether the region changed the proposal.
        errors: the errors that the bound allows for.
    """

    round: int
    estimate: Estimate
    part: Certificate
    bound: float
    cut: bool = False
    errors: Errors = Errors()

    def __str__(self) -> str:
        name, why = self.estimate.constant, str(self.part).partition(": ")[2]
        limit = f"; at most {self.bound:.3g} in any case" if self.bound < math.inf else ""
        return f"round {self.round}: if {name} <= {self.estimate.used:.3g}, {why}{limit}"


class EstimatedMemory(NamedTuple):
    """The readings, and what they prove.

    Attributes:
        rounds: the number of rounds so far.
        part: the memory of the region.
        first: what the first estimate is theta times of; 0 before the first reading.
        proved: the largest so far.
        used: the value in place of the constant.
        outside: the number of violations, counted or assumed.
        spent: the left side of the theorem's budget.
        back: whether the next action must be one that needs no constant.
        unseen: how many of the rounds outside nobody has measured.
        error: the largest error of a value.
    """

    rounds: Count
    part: Memory
    first: NonNegative = 0.0
    proved: NonNegative = 0.0
    used: NonNegative = 0.0
    outside: Annotated[int, Span(0)] = 0
    spent: NonNegative = 0.0
    back: bool = False
    unseen: Annotated[int, Span(0)] = 0
    error: NonNegative = 0.0


class UnknownConstant(Knowledge):
    r"""Knowledge with a constant that is estimated from readings: the module's theorems.

    Args:
        theta: :math:`\theta > 1`, the factor on the proved bound.
        violations: k, how many rounds may violate at most; one that rests on a guess and that
            nobody measured counts. None for as many as the theorem says.
        rounding: c, how far from a certified action the one may be that a host plays for it. The
            host must play an earlier action again to the last bit.
    """

    theta: float = number(default=2.0)
    violations: int | None = count(0, default=None)
    rounding: float = nonnegative(default=0.0)

    constant: ClassVar[str]
    unsupported: ClassVar[Mapping[str, str]] = {
        **Knowledge.unsupported,
        "drift": "what readings prove is of one g that does not change",
        "context": "what readings prove is of one g, and contexts move it; ContextHull takes a G_g "
        "that may be far too large",
        "ramp": "after a violation no action that is near need be feasible",
    }
    kind: ClassVar[Literal["few violations"]] = "few violations"
    makes_room: ClassVar[bool] = True
    allows: ClassVar[frozenset[Capability]] = frozenset({"value", "slope"})
    offers = BALLS

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.theta > 1:
            raise checks.invalid("theta", "above 1", self.theta)

    @property
    def largest(self) -> float | None:
        """An upper bound on the constant; None if unknown."""
        largest: float | None = vars(self)[f"largest_{self.constant}"]
        return largest

    @property
    @abstractmethod
    def known(self) -> Any:
        """The knowledge for a constant of 1."""

    @property
    def reach(self) -> float:
        """The largest norm of a point of the domain."""
        return float(self.known.reach)

    @property
    def constants(self) -> dict[str, float]:
        """The constants that a contradiction may disprove: the largest one, if it is given."""
        return {} if self.largest is None else {f"largest_{self.constant}": self.largest}

    @property
    def claim(self) -> str:
        """What certified actions keep, in words."""
        return f"g <= 0 but in rounds from which {self.constant} is learnt"

    def with_constant(self, constant: float) -> Any:
        """Return the knowledge for a value of the constant."""
        return replace_unchecked(self.known, **{self.constant: constant})

    @abstractmethod
    def prove(self, memory: EstimatedMemory, reading: Reading) -> float:
        """Return a lower bound on the constant, from a reading and those before."""

    @abstractmethod
    def excess(self, memory: EstimatedMemory, reading: Reading) -> float:
        """Return w, the share by which a violation proves that the constant is larger."""

    @abstractmethod
    def find_safe(self, memory: EstimatedMemory, errors: Errors) -> Region:
        """Return actions that need no constant."""

    @property
    def parts(self) -> tuple[Knowledge, ...]:
        """The knowledge for a constant of 1; it receives bounds as exact readings."""
        return (self.known,)

    def first(self, x1: Array) -> EstimatedMemory:
        """Return the memory before the first round."""
        error = float(self.errors.value)
        return EstimatedMemory(0.0, self.known.first(x1), back=True, error=error)

    def learn(self, memory: EstimatedMemory, reading: Reading) -> EstimatedMemory:
        """Return the memory after a reading."""
        first, outside, spent = memory.first, memory.outside, memory.spent
        t, error = memory.rounds + 1.0, max(memory.error, float(reading.errors.value))
        proved = max(memory.proved, self.prove(memory, reading))
        violates = float(reading.g - reading.errors.value) > 0
        if not first:
            first = self.begin(proved, reading)
        elif violates and not memory.back and self._is_certified(memory, reading):
            w = self.excess(memory, reading)
            proved = max(proved, memory.used * (1.0 + w))
            outside, spent = outside + 1, spent + math.log(self.theta) + math.log1p(w)
        used = self.choose(first, max(proved, first), outside)
        if not used < math.inf:
            rule = f"a value after which an estimate of {self.constant} is finite"
            raise checks.invalid("constraint_value", rule, reading.g)
        part = memory.part._replace(rounds=memory.part.rounds + 1.0)
        if not memory.first or not self._is_frozen(memory.outside):
            part = self._remember(memory, reading, used)
        room = self._raise(part, used) if self.rounding else part
        back = violates or self._is_frozen(outside) or not self.has_ball(room, used)
        counts = (outside, spent, back, memory.unseen, error)
        return EstimatedMemory(t, part, first, proved, used, *counts)

    def _remember(self, memory: EstimatedMemory, reading: Reading, used: float) -> Memory:
        """Return the part with a reading; a certificate from a guess is no bound."""
        x, g, s, errors, _ = reading
        exact = Reading(x, g + errors.value, s, self._exact)
        return self.with_constant(used).learn(memory.part, exact)

    @cached_property
    def _exact(self) -> Errors:
        return Errors(evaluation=self.errors.evaluation)

    def has_ball(self, part: Memory, used: float) -> bool:
        """Return whether an estimate leaves anything but rounding of the slacks."""
        return True

    def _is_certified(self, memory: EstimatedMemory, reading: Reading) -> bool:
        """Return whether an action is one that the last estimate certified."""
        return bool(self.place(self._region(memory, reading.errors)).contains(reading.x))

    def begin(self, proved: float, reading: Reading) -> float:
        """Return what the first estimate is theta times of.

        Raise for a start that proves more than the largest constant.
        """
        if self.largest is not None and proved > self.largest * (1 + 1e-12):
            rule = f"at least what the start proves, {proved:.6g}"
            raise checks.invalid(f"largest_{self.constant}", rule, self.largest)
        return proved

    def choose(self, first: float, proved: float, outside: int) -> float:
        """Return the value in place of the constant in the next round."""
        largest, k, used = self.largest, self.violations, self.theta * proved
        if largest is not None and k is not None:
            steps = math.inf if outside >= k else (largest / first) ** (outside / k) * first
            used = max(proved, steps)
        return used if largest is None else min(used, largest)

    def _is_frozen(self, outside: int) -> bool:
        """Return whether only actions that need no constant remain: no violation is allowed."""
        return self.violations is not None and self.largest is None and outside >= self.violations

    def age(self, memory: EstimatedMemory, x: Array) -> EstimatedMemory:
        """Return the memory after a round without a reading: it may have been outside."""
        part = self.known.age(memory.part, x)
        is_guess = memory.first and memory.used != self.largest and not memory.back
        if self.violations is not None and is_guess:
            outside, unseen = memory.outside + 1, memory.unseen + 1
            used = self.choose(memory.first, max(memory.proved, memory.first), outside)
            memory = memory._replace(used=used, outside=outside, unseen=unseen)
        return memory._replace(rounds=memory.rounds + 1.0, part=part, back=True)

    def certify(self, memory: EstimatedMemory, errors: Errors) -> Region:
        """Return the region for the value used for the constant; or one that needs none."""
        if not self.rounding:
            return self._region(memory, errors)
        way_back = self.find_played(memory, errors)
        if memory.back:
            return way_back
        memory = memory._replace(part=self._raise(memory.part, memory.used))
        return OrPlayed(self._region(memory, errors), way_back)

    def _region(self, memory: EstimatedMemory, errors: Errors) -> Region:
        """Return what is certified if nothing is rounded."""
        if memory.back:
            return self.find_safe(memory, errors)
        part: Region = self.with_constant(memory.used).certify(memory.part, errors)
        return Recertified(part, lambda why: self._certify(memory, why))

    def _raise(self, part: Memory, used: float) -> Memory:
        """Return the readings of g plus what it may rise by rounding, if the estimate is right."""
        s = getattr(part, "s", None)
        margin = self.with_constant(used).rise(s, self.rounding)
        return raise_values(part, float(margin))

    @abstractmethod
    def find_played(self, memory: EstimatedMemory, errors: Errors) -> OnePoint:
        """Return the action that needs no constant and that was played, so that none is rounded."""

    def _certify(self, memory: EstimatedMemory, why: Any) -> EstimatedCertificate:
        estimate, bound = self.estimate(memory), self.bound_any(memory, why)
        assert estimate is not None
        return EstimatedCertificate(int(memory.rounds), estimate, why, bound, why.cut, why.errors)

    @abstractmethod
    def bound_any(self, memory: EstimatedMemory, why: Any) -> float:
        """Return an upper bound on g at a certified action, for any constant."""

    def estimate(self, memory: EstimatedMemory) -> Estimate | None:
        """Return the estimate of the constant; None before the first reading."""
        if not memory.first:
            return None
        used, largest, k, theta = memory.used, self.largest, self.violations, self.theta
        limit, remaining = used * theta * theta, 2
        if largest is not None:
            # The j-th violation from now on has theta^(j-1) used < the constant.
            limit = largest
            steps = (math.log(limit) - math.log(used)) / math.log(theta)
            remaining = max(math.ceil(steps - 1e-9), int(used < limit))
        if k is not None:
            remaining = 0 if used == largest else k - memory.outside
            limit = math.inf if largest is None else largest
        numbers = (
            memory.proved,
            used,
            memory.outside - memory.unseen,
            remaining,
            limit,
            memory.spent,
        )
        hidden = 2 * memory.error + float(self.errors.evaluation)
        return Estimate(self.constant, *numbers, memory.unseen, hidden)

    def contradictions(self, memory: EstimatedMemory, reading: Reading) -> tuple[str, ...]:
        """Return contradictions to the largest constant, or to every constant."""
        x, g, _, errors, _ = reading
        t, sentences = int(memory.rounds) + 1, list(self._check_known(memory, reading))
        if memory.first and (memory.back or bool((x == memory.part.last.x).all())):
            safe = self.find_safe(memory, errors)
            bound = float(safe.certificate(x).bound) if safe.contains(x) else math.inf
            rounding = 4 * float(safe.noise) + 8 * UNIT * float(abs(g) + errors.value)
            if g - errors.value > bound + rounding:
                sentences.append(
                    f"round {t}: g = {g:.6g} is above its bound {bound:.3g}, which uses no "
                    "constant: g is not fixed, or not convex"
                )
        return tuple(sentences)

    def _check_known(self, memory: EstimatedMemory, reading: Reading) -> tuple[str, ...]:
        """Return contradictions to the largest constant; without one, to the known ball."""
        if self.largest is not None:
            knowledge = self.with_constant(self.largest)
            return tuple(knowledge.contradictions(memory.part, reading))
        x, upper = reading.x, float(reading.g + reading.errors.value)
        return check_reach(int(memory.rounds) + 1, x, upper, float(reach_of(self.domain)))

    def with_rounding(self, length: float) -> Knowledge:
        """Return the knowledge for a host that plays actions within a length of certified ones."""
        return replace(self, rounding=length)

    def rise(self, s: Array, length: float, *, ahead: bool = False) -> Number:
        """Return a bound on the rise of g over a length; infinite without one."""
        if self.largest is None:
            return math.inf
        return self.with_constant(self.largest).rise(s, length, ahead=ahead)


class OrPlayed(Recertified):
    """The points of a region, and an action that may be played again whatever they are.

    Args:
        part: the region, which answers with its last action where it certifies nothing.
        played: the region of that action alone.
    """

    def __init__(self, part: Region, played: OnePoint) -> None:
        super().__init__(part, part.certificate)
        self.played = played

    def within(self, *sets: Set | None) -> Region:
        """Return the part that is in further sets; the action was played, so it is in them."""
        return OrPlayed(self.part.within(*sets), self.played)

    def stays(self, w: Array) -> bool:
        """Return whether a point is the action."""
        return self.played.contains(w)

    def certificate(self, x: Array, cut: bool = False) -> Certificate:
        """Return the region's reason, or that of the action."""
        is_played = not self.part.contains(x) and self.played.contains(x)
        return (self.played if is_played else self.part).certificate(x, cut)


def raise_values(part: Memory, margin: float) -> Memory:
    """Return a memory of readings, each higher by a margin."""
    changes = {}
    for name in ("last", "anchor", "start", "ladder"):
        reading = getattr(part, name, None)
        if reading is not None:
            changes[name] = reading._replace(value=reading.value + margin)
    return part._replace(**changes)


class HullOnDomain(LipschitzHull):
    """A hull whose G_g bounds the subgradients on the whole domain."""

    @property
    def G_g_holds_to(self) -> float:
        """The largest g at which G_g bounds every subgradient."""
        return math.inf


class CappedHull(HullOnDomain):
    """A hull whose radii bound g by a level even for the largest G_g."""

    largest_G_g: float = positive()
    largest_violation: float = positive()

    def radius(self, level: Number, margin: float) -> Number:
        """Return the radius of a ball where g is at most a level."""
        capped = (self.largest_violation - level) / self.largest_G_g
        return np.minimum(-level / self.G_g, capped) - margin


class EstimatedHull(UnknownConstant):
    r"""Knowledge that g is convex, with an unknown Lipschitz constant: rule U.

    Args:
        domain: a bounded set that contains every action; a Ball must hold the feasible set.
        theta: :math:`\theta > 1`, the factor on the proved bound of G_g.
        violations: how many rounds may violate at most.
        largest_G_g: an upper bound on G_g on the domain, possibly far too large.
        largest_violation: an upper bound on every violation; needs ``largest_G_g``.
        start_bound: g at the start is at most this; None where that is not known.
        errors: bounds on the errors of readings; without drift.

    Example:
        >>> known = EstimatedHull(domain=Ball(2.0))
        >>> x, s = np.zeros(1), np.array([0.5])  # g(x) = max(x/2 - 1, 4x - 3.2)
        >>> memory = known.observe(known.init(x), Reading(x, -1.0, s, known.errors))
        >>> print(known.estimate(memory))
        G_g unknown: 0.5 is proved, 1 is used; at most 2 more rounds outside if G_g <= 4
        >>> known.region(memory, known.errors).nearest(np.array([3.0])).round(6)
        array([1.])
    """

    proved_by: ClassVar[str] = "Theorem U and V"
    slopes: ClassVar[Literal["certify", "steer", "unused"]] = "steer"
    refusals: ClassVar[Mapping[Capability, str]] = {
        "late": "0 where G_g is unknown",
        "margin": "whose G_g is unknown",
    }
    constant: ClassVar[str] = "G_g"

    largest_G_g: float | None = positive(default=None)
    largest_violation: float | None = positive(default=None)
    start_bound: float | None = number(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            reach_of(self.domain)
        except InvalidValueError:
            rule = "a bounded set where G_g is unknown: a Ball around the feasible set, or a Box"
            raise checks.invalid("domain", rule, self.domain) from None
        violation = self.largest_violation
        if violation is not None and self.largest_G_g is None:
            raise checks.invalid("largest_violation", "None without largest_G_g", violation)
        if self.start_bound is not None and not self.start_bound < 0:
            raise checks.invalid("start_bound", "below 0", self.start_bound)

    @property
    def allows(self) -> frozenset[Capability]:  # type: ignore[override]
        """As every unknown constant; with a bound on the start, a first reading that says less."""
        return super().allows | {"known start"} if self.bounds_start else super().allows

    @cached_property
    def known(self) -> LipschitzHull:
        """The hull with G_g = 1."""
        arguments: dict[str, Any] = {"G_g": 1.0, "domain": self.domain, "errors": self.errors}
        if self.largest_violation is None:
            return HullOnDomain(**arguments)
        arguments |= {"largest_G_g": self.largest_G_g, "largest_violation": self.largest_violation}
        return CappedHull(**arguments)

    def first(self, x1: Array) -> EstimatedMemory:
        """Return the memory before the first round; raise for a start on the sphere of a ball."""
        self._distance_to_sphere(x1, must_be_inside=True)
        return super().first(x1)

    def learn(self, memory: EstimatedMemory, reading: Reading) -> EstimatedMemory:
        """Return the memory after a reading; a bound on the start is one more, without an error."""
        bound = self.start_bound
        if bound is not None and not memory.first and bound < reading.upper:
            reading = reading._replace(g=bound, errors=replace(reading.errors, value=0.0))
        return super().learn(memory, reading)

    def prove(self, memory: EstimatedMemory, reading: Reading) -> float:
        r"""Return the largest of the slope, those between readings, and :math:`-g/(R-\|x-c\|)`."""
        x, g, s, errors, _ = reading
        proved = 0.0 if s is None else norm(s) - errors.slope
        # A sum includes the rounding of g and of a distance, so it proves at most G_g.
        rounding, evaluation = self._rounding(len(x)), float(errors.evaluation)
        part: HullMemory = memory.part
        steep = s is not None and errors.slope == 0  # as steep as any way to it
        for earlier in (part.anchor, part.last) if memory.first and not steep else ():
            rise = float(g - errors.value) - float(earlier.value) - 2 * evaluation
            proved = max(proved, rise / (float(norm(x - earlier.x)) + 2 * rounding))
        distance = self._distance_to_sphere(x, must_be_inside=not memory.first)
        slack = -float(g + errors.value) - evaluation
        return float(max(proved, slack / (max(distance, 0.0) + rounding)))

    def _rounding(self, d: int) -> float:
        """Return a bound on the rounding of g over G_g, and of a distance."""
        return 16 * (d + 8) * UNIT * self.reach

    def _distance_to_sphere(self, x: Array, *, must_be_inside: bool) -> float:
        """Return how far a ball that holds the feasible set goes on; infinite without one."""
        if not isinstance(self.domain, Ball):
            return math.inf
        distance = 2 * float(self.domain.radius) - float(self.domain.reach(x))
        if must_be_inside and not distance > self._rounding(len(x)):
            raise checks.invalid("the start", "inside of the ball, not on its sphere", x)
        return distance

    def begin(self, proved: float, reading: Reading) -> float:
        """Return the larger of what the start proves and its slack over the size of the domain."""
        assert self.domain is not None
        rounding = self._rounding(len(reading.x))
        share = -float(reading.upper) / max(reach_from(self.domain, reading.x), rounding)
        first = max(super().begin(proved, reading), share, sys.float_info.min)
        return first if self.largest is None else min(first, self.largest)

    def begin_with(self, slack: float) -> float:
        """Return a lower bound on the same, for every start that has a slack."""
        if isinstance(self.domain, Ball):
            return slack / float(self.domain.radius)
        return slack / max(min(diameter_of(self.domain), 2 * self.reach), UNIT * self.reach)

    def has_ball(self, part: HullMemory, used: float) -> bool:
        """Return whether the deepest action has a ball."""
        deepest = min(float(part.anchor.value), float(part.last.value))
        hull = self.with_constant(used)
        return bool(hull.radius(deepest, hull._lost(len(part.last.x))) > 0)

    def excess(self, memory: EstimatedMemory, reading: Reading) -> float:
        """Return the violation of an action, per slack that its certificate used."""
        certificate: Any = self._region(memory, reading.errors).certificate(reading.x)
        why = certificate.part
        slack = -((1.0 - why.share) * why.anchor_value + why.share * why.value)
        return float((reading.g - reading.errors.value) / slack)

    def bound_any(self, memory: EstimatedMemory, why: Any) -> float:
        """Return an upper bound on g for the largest G_g; infinite if it is unknown."""
        if why.distance == 0.0:
            return float(why.bound)
        if self.largest is None:
            return math.inf
        level = (1.0 - why.share) * why.anchor_value + why.share * why.value
        noise = self.with_constant(memory.used).noise(len(memory.part.last.x))
        return float(level + self.largest * why.distance + noise)

    def find_safe(self, memory: EstimatedMemory, errors: Errors) -> Region:
        """Return means of actions whose values have a mean of at most 0."""
        return MeanRegion.of(self, memory, errors)

    def find_played(self, memory: EstimatedMemory, errors: Errors) -> OnePoint:
        """Return the deepest action."""
        part: HullMemory = memory.part
        deepest = part.anchor if part.anchor.value < part.last.value else part.last
        reason = "back to the deepest action that was seen"
        return OnePoint(memory.rounds, deepest.x, float(deepest.value), errors, reason)

    def _raise(self, part: HullMemory, used: float) -> HullMemory:
        """Return the readings of g plus its rise; with a largest violation, that of any g."""
        steepest = used if self.largest_violation is None else self.largest_G_g
        assert steepest is not None
        memory: HullMemory = raise_values(part, steepest * self.rounding)
        return memory

    def _check_known(self, memory: EstimatedMemory, reading: Reading) -> tuple[str, ...]:
        """Return contradictions to the largest constant; without one, to the ball and convexity."""
        sentences = super()._check_known(memory, reading)
        if self.start_bound is not None and not memory.first:
            noise, words = 8 * UNIT * abs(float(reading.g)), f"start_bound = {self.start_bound}"
            noise += float(reading.errors.evaluation)
            sentences += check_bound(1, reading, self.start_bound, noise, f"{words} is too small")
        if self.largest is None and memory.rounds:
            sentences += self.with_constant(memory.used).check_subgradient(memory.part, reading)
        return sentences

    def noise(self, d: int) -> float:
        """Return a bound on the error of an observed g, if one is known."""
        if self.largest is None:
            return float(self.errors.evaluation)
        return float(self.with_constant(self.largest).noise(d))

    def standing(self, start: Array) -> StandingAnchor | None:
        """Return the start with the bound that is known there; None without one."""
        bound = self.start_bound
        return None if bound is None else StandingAnchor(start, bound, 0.0)

    @property
    def bounds_start(self) -> bool:
        """Whether a bound on g at the start is known."""
        return self.start_bound is not None

    def holds(self, x: Array) -> bool:
        """Return whether an action is in the domain."""
        return self.known.holds(x)


class MeanRegion(LogRegion):
    """Means of the actions that a hull remembers, whose values have a mean of at most 0."""

    rounds: Array

    @classmethod
    def of(cls, knowledge: EstimatedHull, memory: EstimatedMemory, errors: Errors) -> MeanRegion:
        """Return the means; the value used for G_g serves only for rounding."""
        part: HullMemory = memory.part
        ladder = (Anchor(*rung) for rung in zip(*part.ladder, strict=True))
        each = (*ladder, part.start, part.anchor, part.last)
        by_round = {(float(a.round), float(a.value)): a for a in each if a.value < math.inf}
        actions = [by_round[key] for key in sorted(by_round)]
        x, value, when = (np.array(each) for each in zip(*actions, strict=True))
        deepest = part.anchor if part.anchor.value < part.last.value else part.last
        # No rounding takes more than a small share of the deepest slack.
        G_g = min(memory.used, -deepest.value / (1024 * len(x[0]) * UNIT * knowledge.reach))
        log = HullOfLog(points=x, values=value, G_g=G_g, errors=knowledge._exact)
        region = cls(log, LogMemory(memory.rounds, deepest.x, float(deepest.value)), errors)
        region.rounds = when
        region.slope_norm, region.depth = memory.used, float(-deepest.value / memory.used)
        return region

    def certificate(self, x: Array, cut: bool = False) -> LogCertificate:
        """Return the weights of the actions in a mean, and the bound on g there."""
        why = super().certificate(x, cut)
        return why._replace(points=tuple(int(self.rounds[i]) for i in why.points), of="round")


class EstimatedCurvature(UnknownConstant):
    r"""Knowledge that g is smooth, with an unknown smoothness constant; g need not be convex.

    Args:
        domain: a Ball that contains every action. If it contains the feasible set as well, the
            first estimate is proved; if not, it is a first guess.
        theta: :math:`\theta > 1`, the factor on the proved bound of beta.
        violations: how many rounds may violate at most; after the last of them nothing moves any
            more, unless ``largest_beta`` is known.
        largest_beta: an upper bound on beta, possibly far too large.

    Example:
        >>> known = EstimatedCurvature(domain=Ball(2.0))
        >>> x, s = np.zeros(1), np.zeros(1)  # g(x) = x^2 - 1
        >>> memory = known.observe(known.init(x), Reading(x, -1.0, s, known.errors))
        >>> print(known.estimate(memory))  # 2 alpha/D^2, and beta is 2
        beta unknown: 0.5 is proved, 1 is used; at most 2 more rounds outside if beta <= 4
    """

    proved_by: ClassVar[str] = "Theorem W"
    allows: ClassVar[frozenset[Capability]] = frozenset({"nonconvex"})
    refusals: ClassVar[Mapping[Capability, str]] = {
        "value": "0 where beta is unknown",
        "slope": "0 where beta is unknown",
        "late": "0 where beta is unknown",
        "margin": "whose beta is unknown",
    }
    constant: ClassVar[str] = "beta"

    largest_beta: float | None = positive(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.domain, Ball):
            raise checks.invalid("domain", "a Ball that holds the feasible set", self.domain)

    @cached_property
    def known(self) -> Curvature:
        """The curvature of 1."""
        return Curvature(beta=1.0, convex=self.convex, domain=self.domain, errors=self.errors)

    def prove(self, memory: EstimatedMemory, reading: Reading) -> float:
        """Return the larger of the bounds by the last two readings and by the ball."""
        x, g, s, _, _ = reading
        proved = 0.0
        if memory.first:
            proved = float(self._remember(memory, reading, memory.used).curvature_seen)
        if g < 0:
            assert self.domain is not None
            D = reach_from(self.domain, x)
            proved = max(proved, 2 * float(-g + norm(s) * D) / D**2)
        return proved

    def excess(self, memory: EstimatedMemory, reading: Reading) -> float:
        """Return the violation of an action, relative to the quadratic term."""
        added = 0.5 * memory.used * float(norm(reading.x - memory.part.last.x)) ** 2
        return float(reading.g) / added if added > 0 else 0.0  # without a move, g is not fixed

    def bound_any(self, memory: EstimatedMemory, why: Any) -> float:
        """Return an upper bound on g for the largest beta; infinite if it is unknown."""
        if why.length == 0.0:
            return float(why.bound)
        more = math.inf if self.largest is None else 0.5 * (self.largest - why.beta)
        return float(why.bound + more * why.length**2) if more < math.inf else math.inf

    def find_safe(self, memory: EstimatedMemory, errors: Errors) -> OnePoint:
        """Return the last action that was measured as feasible."""
        part: CurvatureMemory = memory.part
        reason = "back to the last action that was seen feasible"
        return OnePoint(memory.rounds, part.last.x, float(part.last.value), errors, reason)

    def find_played(self, memory: EstimatedMemory, errors: Errors) -> OnePoint:
        """Return the same, which was played."""
        return self.find_safe(memory, errors)
