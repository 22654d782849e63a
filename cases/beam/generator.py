"""A certified rule as a generator of Xopt: every candidate is feasible before it is evaluated."""

from typing import Any, ClassVar

import numpy as np
import pandas as pd
from gest_api.vocs import GreaterThanConstraint, MaximizeObjective
from pydantic import Field, PrivateAttr
from xopt.generator import Generator

from surefoot.controller import Controller
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array
from surefoot.knowledge import CurvatureRows, Errors
from surefoot.rules import CertifiedDualAveraging, CostProbing
from surefoot.sets import Box

__all__ = ["CertifiedGenerator"]


class CertifiedGenerator(Generator):  # type: ignore[misc]
    """Learns from values of the objective; constraints are affine, with slopes told beforehand.

    Every row of its data is a round: the first is at the start. A row without numbers is a round in
    which nothing was read, and one at another point than the candidate is told as such.
    """

    name: ClassVar[str] = "certified"
    supports_single_objective: bool = True
    supports_constraints: bool = True

    start: dict[str, float] = Field(description="a feasible point, the first candidate")
    response: dict[str, list[float]] = Field(
        description="slopes of each constrained output, in the order of the variables"
    )
    value_error: float = Field(0.0, ge=0, description="of an output that was read, at most")
    slope_error: float = Field(0.0, ge=0, description="bound on the error of a row of slopes")
    length: float = Field(0.02, gt=0, description="of a probe, in units of the variables")
    seed: int = Field(0, ge=0, description="of the directions of probes")
    _controller: Any = PrivateAttr(None)

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        names = self.vocs.variable_names
        if wrong := {*self.start} ^ {*names} or {*self.response} ^ {*self.vocs.constraint_names}:
            raise InvalidValueError(
                "start must name the variables, and response the constraints of the VOCS, "
                f"got {sorted(wrong)} too many or too few"
            )

    def __deepcopy__(self, memo: Any = None) -> "CertifiedGenerator":
        """Return a twin, whose controller is made anew from its data; Xopt asks for one."""
        own, self._controller = self._controller, None
        try:
            twin: CertifiedGenerator = super().__deepcopy__(memo)
        finally:
            self._controller = own
        return twin

    def _control(self) -> Controller:
        """Return the controller, to which all data were told."""
        if self._controller is None:
            box = Box(*np.array(self.vocs.bounds).T)
            errors = Errors(value=self.value_error, slope=self.slope_error)
            rows = max(2, len(self.response))
            knowledge = CurvatureRows(beta=0.0, rows=rows, domain=box, errors=errors)
            radius = float(np.linalg.norm(box.upper - box.lower)) / 2
            base = CertifiedDualAveraging(knowledge=knowledge, radius=radius)
            player = CostProbing(base=base, length=self.length, seed=self.seed)
            start = [self.start[name] for name in self.vocs.variable_names]
            self._controller = Controller(player, start)
            if self.data is not None:
                self._tell(self.data)
        controller: Controller = self._controller
        return controller

    def _rows(self, seen: dict[str, float]) -> tuple[Array, Array]:
        """Return g of every constraint and its slopes."""
        limits = self.vocs.constraints
        signs = [-1.0 if isinstance(one, GreaterThanConstraint) else 1.0 for one in limits.values()]
        beyond = [seen[name] - limit.value for name, limit in limits.items()]
        slopes = np.array([self.response[name] for name in limits]) * np.transpose([signs])
        twice = 2 if len(signs) == 1 else 1  # rows are several: one is told twice
        return np.tile(np.multiply(signs, beyond), twice), np.tile(slopes, (twice, 1))

    def generate(self, n_candidates: int = 1) -> list[dict[str, float]]:
        """Return the next action, which is certified."""
        if n_candidates != 1:
            raise NotImplementedError("a certified generator gives one candidate at a time")
        action = self._control().ask().tolist()
        return [dict(zip(self.vocs.variable_names, action, strict=True))]

    def add_data(self, new_data: pd.DataFrame) -> None:
        """Tell every row as a round."""
        self._control()
        super().add_data(new_data)
        self._tell(new_data)

    def _tell(self, data: pd.DataFrame) -> None:
        (objective,) = self.vocs.objectives
        sign = -1.0 if isinstance(self.vocs.objectives[objective], MaximizeObjective) else 1.0
        for _, row in data.iterrows():
            seen = {name: float(row.get(name, np.nan)) for name in (objective, *self.response)}
            self._controller.ask()
            if not np.isfinite(list(seen.values())).all():
                self._controller.tell(missing=True)
                continue
            values, slopes = self._rows(seen)
            self._controller.tell(
                action=row[self.vocs.variable_names].to_numpy(dtype=float),
                cost_value=sign * seen[objective],
                constraint_value=values,
                constraint_subgradient=slopes,
            )
