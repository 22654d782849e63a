r"""The constants that theorems need, each with its origin.

====================  ================  ===========================================================
name                  paper             meaning
====================  ================  ===========================================================
``R``                 :math:`R`         the feasible set lies in a ball of this radius
``G_f``               :math:`G_f`       largest norm of a cost gradient
``G_g``               :math:`G_g`       largest norm of a subgradient of g on that ball
``sigma``             :math:`\sigma`    smallest norm of a subgradient of g where g = -epsilon
``epsilon``           :math:`\epsilon`  the level at which sigma holds
``start_slack``       :math:`\alpha`    g(x_1) <= -start_slack
``start_reach``       :math:`D_0`       largest distance from x_1 to a point of the ball, or 2R
``F``                 :math:`F`         largest difference of a cost between two points of the ball
``D_g``               :math:`D_g`       largest absolute value of any one constraint on the ball
``rows``              :math:`m`         number of constraints that g is the maximum of
``strong_convexity``  :math:`H`         modulus of strong convexity of every cost
``beta``              :math:`\beta`     smoothness constant of every constraint on the ball
``evaluation_error``                    largest rounding of g on the ball
``value_error``       :math:`\nu`       largest error of an observed g (sensors, not rounding)
``slope_error``       :math:`\tau`      largest error of an observed subgradient
``drift``             :math:`v`         largest change of g at any point from a round to the next
``inner_radius``      :math:`r`         the feasible set holds a ball of this radius around 0
``diameter``          :math:`D`         largest distance between two feasible points
``slater_margin``     :math:`\rho_S`    slack of one point for every constraint of every round
``slater_cost``       :math:`F_0`       most that this point loses to any other in a round
``rows_lipschitz``                      Lipschitz constant of the vector of all constraints
``cost_bound``                          largest absolute value of a cost on the feasible set
``mixing``            :math:`\lambda`   second largest singular value of a mixing matrix
====================  ================  ===========================================================

``convex`` is False if g may be nonconvex; then whatever assumes convexity is rejected.
The maximum g has the smoothness constant beta only if rows = 1. A rule that sees only the maximum
of several constraints must not use beta; one that sees all rows may.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, fields, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

from surefoot.core import checks
from surefoot.core.display import Table, facts_html
from surefoot.core.errors import InvalidTypeError, InvalidValueError
from surefoot.core.parameters import Declared, flag, nonnegative, number, positive, size

__all__ = ["Constants", "Origin", "as_constants", "polyak_rate"]

Origin: TypeAlias = Literal["given", "derived", "slater", "local", "conformal", "estimated"]
"""given by the user; derived exactly from the structure of the problem; from Slater's condition
(the paper's proposition); from its sharper local form; for the next machine of a fleet, with a
probability; estimated, without proof."""


def polyak_rate(sigma: float, G_g: float) -> float:
    r"""Return the paper's :math:`\xi = 1 - \sqrt{1 - \sigma^2/G_g^2}`, without loss of digits.

    With :math:`r = \sigma^2/G_g^2` the same number is :math:`r/(1 + \sqrt{1 - r})`, which has no
    cancellation when sigma is far below G_g; :func:`_contraction` has none when it is close.

    >>> polyak_rate(1e-9, 1.0)
    5e-19
    """
    if not 0 < sigma <= G_g:
        raise InvalidValueError(f"sigma must be > 0 and at most G_g = {G_g:g}, got {sigma!r}")
    return (sigma / G_g) ** 2 / (1.0 + math.sqrt(_contraction(sigma, G_g)))


def _contraction(sigma: float, G_g: float) -> float:
    r"""Return the paper's :math:`\gamma = 1 - \sigma^2/G_g^2`, factored.

    One minus a rounded square has an error of 2^-53. If sigma is nearly G_g, the root in xi turns
    it into 1e-8, more than the amount by which a corollary shortens its steps. A difference of
    close floats is exact, so the factored form keeps all digits.
    """
    return ((G_g - sigma) / G_g) * ((G_g + sigma) / G_g)


class Constants(Declared):
    r"""The constants of a problem. None means unknown; nothing is guessed.

    Example:
        >>> toy = Constants(R=1.0, G_f=14.5, G_g=1.0, sigma=0.5**0.5, epsilon=0.25)
        >>> round(toy.xi, 6)
        0.292893
        >>> print(toy.with_origin("derived", start_slack=0.5, start_reach=1.0))
        R = 1 (given), G_f = 14.5 (given), G_g = 1 (given), sigma = 0.707107 (given),
        epsilon = 0.25 (given), start_slack = 0.5 (derived), start_reach = 1 (derived)
    """

    R: float = size()
    G_f: float | None = positive(default=None)
    G_g: float | None = size(default=None)
    sigma: float | None = positive(default=None)
    epsilon: float | None = positive(default=None)
    start_slack: float | None = number(default=None)  # negative: x_1 is infeasible
    start_reach: float | None = positive(default=None)
    F: float | None = positive(default=None)
    D_g: float | None = positive(default=None)
    rows: int | None = positive(default=None)
    strong_convexity: float | None = positive(default=None)
    beta: float | None = nonnegative(default=None)  # 0: linear
    evaluation_error: float | None = nonnegative(default=None)  # 0: exact
    value_error: float | None = nonnegative(default=None)
    slope_error: float | None = nonnegative(default=None)
    drift: float | None = nonnegative(default=None)  # 0: the same g in every round
    inner_radius: float | None = positive(default=None)
    diameter: float | None = positive(default=None)
    slater_margin: float | None = positive(default=None)
    slater_cost: float | None = positive(default=None)
    rows_lipschitz: float | None = positive(default=None)
    cost_bound: float | None = positive(default=None)
    mixing: float | None = positive(default=None)
    convex: bool = flag(default=True)
    # Not hashed, because a mapping cannot be; constants with different origins are not equal.
    origins: Mapping[str, Origin] = field(default_factory=dict, repr=False, hash=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        values = {name: v for name in self.names() if (v := vars(self)[name]) is not None}
        for name, value in values.items():
            if not isinstance(value, float):
                raise InvalidValueError(f"{name} must be one number, got {value!r}")
        if self.sigma is not None:
            if self.epsilon is None:
                raise InvalidValueError(
                    f"sigma must come with the level epsilon at which it holds, "
                    f"got sigma = {self.sigma:g} without it"
                )
            if self.G_g is not None:
                checks.at_most(self.G_g, "G_g", sigma=self.sigma)
        if self.inner_radius is not None:
            checks.at_most(self.R * (1 + 1e-9), "the outer radius", inner_radius=self.inner_radius)
        unknown = set(self.origins) - set(self.names())
        if unknown:
            raise InvalidValueError(f"origins must name constants, got {sorted(unknown)!r}")
        for origin in self.origins.values():
            checks.one_of(get_args(Origin), origin=origin)
        origins = {name: self.origins.get(name, "given") for name in values}
        object.__setattr__(self, "origins", MappingProxyType(origins))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the constants, in the order they are shown."""
        return tuple(f.name for f in fields(cls) if f.name not in ("origins", "convex"))

    @classmethod
    def from_slater(
        cls, slack: float, *, R: float, G_g: float | None = None, share: float = 0.5
    ) -> Constants:
        r"""Apply the paper's proposition: a point with :math:`g \le -\zeta` gives both constants.

        :math:`\epsilon = c\zeta` and :math:`\sigma = (1-c)\zeta/(2R)` for any c in (0, 1).

        Args:
            slack: :math:`\zeta > 0`, the slack of the strictly feasible point.
            R: radius of a ball that contains the feasible set.
            G_g: the Lipschitz constant of g, if it is given.
            share: the proposition's c.

        >>> c = Constants.from_slater(0.5, R=1.0)
        >>> c.epsilon, c.sigma
        (0.25, 0.125)
        """
        checks.positive(slack=slack, R=R)
        checks.between(0, 1, share=share)
        return cls(
            R=R,
            G_g=G_g,
            epsilon=share * slack,
            sigma=(1 - share) * slack / (2 * R),
            origins={"epsilon": "slater", "sigma": "slater"},
        )

    def with_origin(self, origin: Origin, **values: float | None) -> Constants:
        """Return the constants with some of them replaced, and the origin of the new ones."""
        others = {name: o for name, o in self.origins.items() if name not in values}
        new: dict[str, Origin] = {name: origin for name, v in values.items() if v is not None}
        return replace(self, origins=others | new, **values)  # type: ignore[arg-type]

    def require(self, *names: str, by: str) -> tuple[float, ...]:
        """Return the named constants; if one is missing, raise and name who needs it."""
        numbers: tuple[Any, ...] = tuple(map(vars(self).get, names))
        if None in numbers:
            missing = [name for name in names if vars(self)[name] is None]
            advice = "which is unknown: give it"
            if len(missing) > 1:
                advice = "which are unknown: give them"
            raise InvalidValueError(f"{by} needs {' and '.join(missing)}, {advice}")
        return numbers

    def complete(self, reach: float, value: float | None = None) -> Constants:
        """Return the constants, with missing ones derived from the others.

        Args:
            reach: a bound on the distance from the start to a point of the ball.
            value: g at the start, if it was measured; a slack gives only an upper bound on g.

        Example:
            >>> Constants(R=1.0, G_f=3.0, start_slack=0.5).complete(2.0).F
            6.0
        """
        candidates: dict[str, float] = {"start_reach": reach, "rows": 1}
        if value is not None:
            candidates["start_slack"] = -value
        if self.G_f is not None:
            candidates["F"] = 2 * self.R * self.G_f
        if self.G_g is not None and value is not None:
            candidates["D_g"] = abs(value) + self.G_g * reach
        missing = {name: v for name, v in candidates.items() if vars(self)[name] is None}
        constants = self.with_origin("derived", **missing)
        level = 0.5 * (constants.start_slack or 0.0)
        if not constants.convex or constants.sigma is not None or not level > 0:
            return constants
        sigma = min(constants.local_sigma(level), constants.G_g or math.inf)
        return constants.with_origin("local", sigma=sigma, epsilon=level)

    def local_sigma(self, rho: float) -> float:
        r"""Return the error-bound constant that follows from the start at tightening rho.

        With :math:`g(x_1) \le -\alpha` and :math:`0 \le \rho < \alpha`, every x of the ball with
        :math:`g(x) > -\rho` has

        .. math::
            \mathrm{dist}(x, X_\rho)
            \le \frac{g(x) + \rho}{g(x) + \alpha} \|x - x_1\|
            \le \frac{g(x) + \rho}{(\alpha - \rho)/D_0}. \qquad (*)

        Proof: with :math:`\theta = (g(x)+\rho)/(g(x)+\alpha) \in (0, 1]`, convexity gives
        :math:`g(x + \theta(x_1 - x)) \le (1-\theta)g(x) - \theta\alpha = -\rho`. So Lemmas 1 and 2
        of the paper hold at this rho with :math:`\sigma_\rho = (\alpha - \rho)/D_0`. It is also a
        sigma in the sense of Assumption 4 at :math:`\epsilon = \rho`: where g(x) = -rho,
        :math:`-\alpha \ge g(x_1) \ge -\rho - \|s\| D_0` for every subgradient s.
        """
        (slack,) = self.require("start_slack", by="the local form (*)")
        if not 0 <= rho < slack:
            raise checks.invalid("rho", f">= 0 and below start_slack = {slack:g}", rho)
        return (slack - rho) / self.reach

    @property
    def reach(self) -> float:
        r""":math:`D_0`, how far the best action may be from the first; 2R if unknown."""
        return 2 * self.R if self.start_reach is None else self.start_reach

    @property
    def xi(self) -> float:
        r"""The paper's :math:`\xi = 1 - \sqrt{\gamma}`."""
        sigma, G_g = self.require("sigma", "G_g", by="xi")
        return polyak_rate(sigma, G_g)

    @property
    def gamma(self) -> float:
        r"""The paper's :math:`\gamma = 1 - \sigma^2/G_g^2`, the contraction of a Polyak step."""
        sigma, G_g = self.require("sigma", "G_g", by="gamma")
        return _contraction(sigma, G_g)

    def __str__(self) -> str:
        parts = [f"{name} = {vars(self)[name]:g} ({o})" for name, o in self.origins.items()]
        return ", ".join(parts + ["g need not be convex"] * (not self.convex))

    def __repr__(self) -> str:
        names = (*self.origins, *["convex"] * (not self.convex))
        values = ((name, vars(self)[name]) for name in names)
        return f"Constants({', '.join(f'{name}={value!r}' for name, value in values)})"

    def _repr_html_(self) -> str:
        return facts_html("Constants", {}, constants_table(self))

    def __getstate__(self) -> dict[str, object]:
        # A mapping proxy keeps `origins` read-only but cannot be pickled.
        return vars(self) | {"origins": dict(self.origins)}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "origins", MappingProxyType(dict(self.origins)))


def constants_table(constants: Constants) -> Table:
    """Return the constants that are not None as a table of value and origin."""
    origins = constants.origins.items()
    rows = [(name, f"{vars(constants)[name]:.6g}", origin) for name, origin in origins]
    return Table(("constant", "value", "origin"), rows, right=("value",))


def as_constants(value: object) -> Constants:
    """Return the constants unchanged; raise for another type.

    >>> as_constants({"R": 1.0})
    Traceback (most recent call last):
    surefoot.core.errors.InvalidTypeError: constants must be a surefoot.Constants, such as
    problem.constants, got a dict
    """
    if isinstance(value, Constants):
        return value
    raise InvalidTypeError(
        "constants must be a surefoot.Constants, such as problem.constants, "
        f"got a {type(value).__name__}"
    )
