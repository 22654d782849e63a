r"""The guarantee of certified rules if readings have errors or the constraint drifts.

With :math:`|\hat g_t - g_t(x_t)| \le \nu`, :math:`\|\hat s_t - s_t\| \le \tau` for some subgradient
:math:`s_t`, and :math:`|g_{t+1}(p) - g_t(p)| \le v` for every p, every action has a certificate
that allows for them; docs/errors.md has the proofs.
"""

from typing import ClassVar

from surefoot.core.constants import Constants
from surefoot.core.parameters import flag, rounds
from surefoot.guarantees.bounds import StrictStart
from surefoot.guarantees.guarantee import ConstraintForm, Guarantee
from surefoot.guarantees.premise import Premise

__all__ = ["TheoremN", "under_errors"]


class TheoremN(StrictStart):
    r"""Certified under errors: the *true* g is at most 0 in every round; no regret is promised.

    .. math:: g_t(x_t) \le 0 \ \forall t

    for any :math:`\nu, \tau \ge 0`, and under drift for as long as any action is certified. If none
    is left, the rule raises :class:`surefoot.knowledge.EmptyRegionError`. A reading may be above 0
    by :math:`\nu`.

    There is no bound on the regret in advance. Errors hide a slack of up to :math:`2\nu + v`, and a
    rule that is safe for every g they allow keeps that distance. So the regret grows with T, by
    about :math:`L(2\nu + v + 2R\tau)/\sigma` per round if the best action is on the boundary.

    Args:
        constants: needs start_slack, and value_error, slope_error or drift; also G_g or beta if the
            rule does.
        slopes: whether the certificate uses G_g.
        horizon: the number of rounds, if a parameter was chosen for it.
    """

    name: ClassVar[str] = "Theorem N (certified under errors)"

    slopes: bool = flag(default=True)
    horizon: int | None = rounds(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.constants.require(*["G_g"] * self.slopes, by=self.name)

    @property
    def allowed_errors(self) -> dict[str, float]:
        """The errors and the drift that the constants name."""
        return allowed_errors_of(self.constants)

    @property
    def changing(self) -> bool:
        """Whether the constraint may differ from round to round: if it drifts."""
        return (self.constants.drift or 0.0) > 0

    @property
    def constraint_form(self) -> ConstraintForm:
        """Convex if the certificate uses G_g; any form if it uses beta."""
        return "convex" if self.slopes else "any"

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The start as measured; G_g plus the error of a subgradient, if it is used."""
        c = self.constants
        premises = [Premise("start", "the slack counted on", self._slack - (c.value_error or 0.0))]
        if self.slopes:
            limit = self._G_g + (c.slope_error or 0.0)
            premises.append(Premise("constraint subgradient", "G_g", limit))
        return self._and_horizon(*premises)


def allowed_errors_of(c: Constants) -> dict[str, float]:
    """Return the errors and the drift that constants name, by their words.

    >>> allowed_errors_of(Constants(R=1.0, value_error=0.05))
    {'values err': 0.05}
    """
    sizes = {
        "values err": c.value_error,
        "slopes err": c.slope_error,
        "g drifts per round": c.drift,
    }
    return {what: size for what, size in sizes.items() if size}


def under_errors(theorem: Guarantee) -> Guarantee:
    """Return the theorem itself, or Theorem N if its constants have errors or drift.

    Example:
        >>> from surefoot.rules.certified.certified_pfs import TheoremD
        >>> from surefoot import Constants
        >>> toy = Constants(R=1.0, G_g=1.0, start_slack=0.5, start_reach=1.0, value_error=0.05)
        >>> print(under_errors(TheoremD(toy, 0.1)))
        Theorem N (certified under errors) for any number of rounds (every round)
    """
    c = theorem.constants
    if not (c.value_error or c.slope_error or c.drift):
        return theorem
    slopes = any(premise.constant == "G_g" for premise in theorem.premises)
    return TheoremN(c, slopes, theorem.horizon)
