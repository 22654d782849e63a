r"""What is promised where G_g or beta is unknown: a number of rounds outside; Theorem U.

Number and size of the violations are the theorems of :mod:`surefoot.regions.estimate`. The bounds
on the regret that leaders print (:class:`~surefoot.algorithms.LeaderRegret`) stand as they are: the
lemma of the leader and Theorem F use cuts that hold on X, which those of actions outside do, and
the lag as it was; no :math:`G_g` is in them.

**In advance**, with restarts: let the rule of Theorem G begin anew at :math:`x_1` whenever :math:`m
> \hat G`, then with :math:`\hat G = \theta m`. With :math:`G \ge G_g` the largest slope on the
ball, :math:`\kappa = GD/\alpha` and L the largest norm of a cost gradient,

.. math:: \mathrm{Reg}_T \le \theta^2\kappa^2DL\Big(\frac{31\sqrt T}{\sqrt{1-\theta^{-4}}}
          + \frac{\ln T + 22}{1-\theta^{-2}}\Big) + 2DLN, \qquad
          N = \lceil\log_\theta(G/m_1)\rceil .

*Proof.* Within a phase all slopes are at most :math:`\hat G` and all rounds feasible but its last,
which costs at most 2DL: Theorem G bounds the regret of the others, with :math:`\kappa_j = \hat
G_jD/\alpha \ge 1` and the :math:`T_j` rounds of the phase. Each restart multiplies m by more than
:math:`\theta`, so there are fewer than :math:`\log_\theta(G/m_1)`, and :math:`\hat G_j < \hat
G_{j+1}/\theta`, up to the last, which is at most :math:`\theta G`. So
:math:`\sum\kappa_j^2\sqrt{T_j} \le \sqrt{\sum\kappa_j^4}\sqrt T` with :math:`\sum\kappa_j^4 \le
\theta^4\kappa^4/(1-\theta^{-4})`, and :math:`\sum\kappa_j^2 \le \theta^2\kappa^2/(1-\theta^{-2})`.
Where :math:`\hat G` is cut off at a known :math:`G_{max} = G` there is at most one restart more,
the last two :math:`\hat G` are at most G, and :math:`1 + 1/(1-q) \le 1/(q(1-q))` for :math:`q =
\theta^{-4}` and :math:`\theta^{-2}`. ∎
"""

import math
from typing import ClassVar

import numpy as np

from surefoot.algorithms.bounds import as_floats
from surefoot.algorithms.guarantee import ConstraintForm, Guarantee, Kind, Measure, Premise
from surefoot.core.parameters import choice, count, flag, number, positive
from surefoot.core.types import Array, Number

__all__ = ["Estimated"]


class Estimated(Guarantee):
    r"""Theorem U: at most so many rounds are outside, though nobody knows G_g, or beta.

    .. math:: J\ln\theta + \sum_j\ln(1 + g_j/\sigma_j) \le \ln(G/m_1), \qquad
              J \le \lceil\log_\theta(G/m_1)\rceil - 1

    for the J rounds outside, no two of them adjacent; at most k where so many violations are
    allowed. What is left is known better after each round: the controller's ``explain()`` says it.

    Args:
        constants: needs R; G_g (or beta) and start_slack for the number in advance where k is not
            given, and with G_f for the regret bound.
        theta: :math:`\theta`.
        violations: k.
        largest_violation: what no g exceeds.
        constant: which one is unknown, "G_g" or "beta".
        restarts: whether the rule begins anew where the constant is disproved.

    Example:
        >>> from surefoot import Constants
        >>> promise = Estimated(Constants(R=2.0, G_g=4.0, start_slack=1.0))
        >>> float(promise.bounds(100)["rounds outside"])
        2.0
    """

    name: ClassVar[str] = "Theorem U (an unknown constant)"
    kind: ClassVar[Kind] = "rounds outside"
    horizon = None

    theta: float = number(default=2.0)
    violations: int | None = count(0, default=None)
    largest_violation: float | None = positive(default=None)
    constant: str = choice("G_g", "beta", default="G_g")
    restarts: bool = flag(default=False)

    @property
    def constraint_form(self) -> ConstraintForm:
        """Convex where G_g is unknown, any where beta is."""
        return "convex" if self.constant == "G_g" else "any"

    @property
    def ratio(self) -> float:
        """The largest that the constant can be of its first lower bound; inf where not known."""
        c = self.constants
        top, slack = c.G_g if self.constant == "G_g" else c.beta, c.start_slack or 0.0
        if top is None or not slack > 0:
            return math.inf
        first = slack / c.R if self.constant == "G_g" else 2 * slack / c.reach**2
        return max(top / first, 1.0)

    @property
    def most_outside(self) -> float:
        """How many rounds are outside at most."""
        if self.violations is not None:
            return self.violations
        return max(self._steps - 1, 0)

    @property
    def _steps(self) -> float:
        ratio = self.ratio
        return math.ceil(math.log(ratio) / math.log(self.theta)) if ratio < math.inf else ratio

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return the number of rounds outside; no two are adjacent, and the first is feasible."""
        bounds: dict[Measure, Array] = {
            "rounds outside": np.minimum(np.floor(as_floats(t) / 2), self.most_outside)
        }
        if self.largest_violation is not None:
            bounds["round"] = np.full_like(as_floats(t), self.largest_violation)
        return bounds

    def regret_bound(self, t: Number) -> Array:
        """Return the bound in advance of the rule with restarts; at most what costs differ by."""
        T, worst, c = as_floats(t), self._at_worst(t), self.constants
        if not self.restarts or not self.ratio < math.inf or c.G_f is None:
            return worst
        G, slack = c.require("G_g", "start_slack", by=self.name)
        D, q, kappa = c.reach, self.theta**-2, max(G * c.reach / slack, 1.0)
        usual = 31 * np.sqrt(T) / math.sqrt(1 - q * q) + (np.log(T) + 22) / (1 - q)
        return np.minimum(worst, D * c.G_f * (kappa**2 / q * usual + 2 * self._steps))

    @property
    def regret_exponent(self) -> float | None:
        """One half with restarts; None where only the observed bound is known."""
        return 0.5 if self.restarts else None

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The start, and the bounds that are known."""
        c, found = self.constants, []
        if c.G_f is not None:
            found.append(Premise("cost gradient", "G_f", c.G_f, only_regret=True))
        if c.G_g is not None:
            found.append(Premise("constraint subgradient", "G_g", c.G_g))
        if c.start_slack is not None:
            found.append(Premise("start", "the slack counted on", c.start_slack))
        return tuple(found)
