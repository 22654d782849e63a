r"""pandapower: set points of static generators that always keep a network within its limits.

Three lines::

    limits = Limits(net)
    loop = Controller(limits.make_filter(beta, drift=0.02), start)
    SafeSetPoints(net, limits, loop)  # and then run_timeseries(net)

A round is a time step. What the meters showed in the last one, and the slopes there, certify the
set points of the next, before its power flow is computed.

**Limits** are ``max_vm_pu`` and ``min_vm_pu`` of buses and ``max_loading_percent`` of lines, where
they are finite. A voltage is reported as :math:`(v - v_{max})/u` with u = ``voltage_unit``, a
current at either end of a line as :math:`\frac12((i/i_{max})^2 - 1)`, which is smooth at 0.

**Slopes.** With S(x) the complex power injected at the buses and x the angles and magnitudes of
their voltages, :math:`dx = J^{-1}dS`. The J that Newton's method leaves behind
(``net._ppc["internal"]["J"]``) belongs to the step before the last, and is absent if it began at
the solution. So J is computed again at the solution, by the solver's own function. The remaining
error is the tolerance of the solver, which :data:`TOLERANCE` bounds. Loads that depend on the
voltage and a distributed slack are not in J: give their share as a slope error.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from surefoot.adapters._keeper import check_filter
from surefoot.controller import Controller
from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.types import Array, ArrayLike
from surefoot.knowledge import EmptyRegionError, Errors
from surefoot.rules import RegionFilter
from surefoot.sets import Box

_PURPOSE = "surefoot.adapters.pandapower"
_pp = need("pandapower", "pandapower", _PURPOSE)
_control = need("pandapower.control", "pandapower", _PURPOSE)
_newton = need("pandapower.pypower.dSbus_dV", "pandapower", _PURPOSE)
_linalg = need("scipy.linalg", "pandapower", _PURPOSE)

if TYPE_CHECKING:
    from pandapower import pandapowerNet as Net

__all__ = ["Limits", "SafeSetPoints"]

ENDS = ("from", "to")
TOLERANCE = 1e-6
"""How far g and its slopes may be off because a power flow ends within 1e-8 MVA of balance."""


class Limits:
    """The limits of a network as functions of the set points of its static generators.

    An action is the active power of each generator in MW, and then the reactive power of each in
    Mvar.

    Args:
        net: with limits, ``sn_mva`` of the generators and, where reactive power is to be used,
            their ``min_q_mvar`` and ``max_q_mvar``.
        sgens: the index of the generators that are controlled; all that are in service unless
            given.
        voltage_unit: how many p.u. of voltage count as 1, so that one drift fits all limits.

    Attributes:
        names: what each limit is, in words.
        ratings: the box that holds all set points.
    """

    def __init__(
        self, net: Net, sgens: Sequence[int] | None = None, voltage_unit: float = 0.05
    ) -> None:
        checks.positive(voltage_unit=voltage_unit)
        table = net.sgen
        self.sgens: list[int] = list(table.index[table.in_service] if sgens is None else sgens)
        if not self.sgens or not set(self.sgens) <= set(table.index):
            raise checks.invalid("sgens", "static generators of the network", self.sgens)
        if not np.isfinite(table.sn_mva.loc[self.sgens]).all():
            raise InvalidValueError("sn_mva must be given for every generator, got nan")
        self.voltage_unit: float = float(voltage_unit)
        self.ratings: Box = self._box(table.loc[self.sgens], "sn_mva")
        self.over: list[int] = _finite(net.bus, "max_vm_pu")
        self.under: list[int] = _finite(net.bus, "min_vm_pu")
        self.lines: list[int] = _finite(net.line, "max_loading_percent")
        self.names: tuple[str, ...] = (
            *(f"voltage of bus {i}" for i in self.over),
            *(f"least voltage of bus {i}" for i in self.under),
            *(f"current of line {i} at its {end}" for end in ENDS for i in self.lines),
        )
        if not self.names:
            raise InvalidValueError(
                "the network must have limits: max_vm_pu or min_vm_pu of buses, or "
                "max_loading_percent of lines, got none"
            )

    def box(self, net: Net) -> Box:
        """Return the set points that the generators can have now."""
        return self._box(net.sgen.loc[self.sgens], "max_p_mw")

    def _box(self, table: Any, most: str) -> Box:
        empty = table.reindex(columns=["min_p_mw", "min_q_mvar", "max_q_mvar"]).fillna(0.0)
        low = np.concatenate([empty.min_p_mw, empty.min_q_mvar])
        p = table[most].fillna(table.sn_mva) if most in table else table.sn_mva
        return Box(low, np.maximum(low, np.concatenate([p, empty.max_q_mvar])))

    def write(self, net: Net, action: Array) -> None:
        """Write an action into the network."""
        net.sgen.loc[self.sgens, ["p_mw", "q_mvar"]] = action.reshape(2, -1).T

    def make_filter(
        self, beta: ArrayLike, *, drift: float = 0.0, slope_error: float = 0.0
    ) -> RegionFilter:
        """Return the filter that certifies set points; it assumes of no limit that it is convex.

        Args:
            beta: the smoothness constant of each limit, as :meth:`curvatures` finds it, with a
                margin.
            drift: by how much any of them changes in a time step by what is not controlled.
            slope_error: of slopes, beside that of the solver.
        """
        errors = Errors(drift=drift, slope=slope_error + TOLERANCE, evaluation=TOLERANCE)
        rows = len(self.names)
        safe = RegionFilter.for_rows(beta, self.ratings, rows=rows, convex=False)
        return safe.allowing(errors)

    def values(self, net: Net) -> Array:
        """Return what the meters show of each limit after a power flow; above 0 it is exceeded."""
        voltage, current, unit = net.res_bus.vm_pu, net.res_line, self.voltage_unit
        high = (voltage - net.bus.max_vm_pu).loc[self.over] if self.over else []
        low = (net.bus.min_vm_pu - voltage).loc[self.under] if self.under else []
        shares = [current.loc[self.lines, f"i_{end}_ka"] / self._ratings(net) for end in ENDS]
        squares = [0.5 * (np.square(share) - 1) for share in shares]
        excess = np.concatenate([np.divide(high, unit), np.divide(low, unit), *squares])
        if not np.isfinite(excess).all():
            name = self.names[int(np.argmin(np.isfinite(excess)))]
            raise InvalidValueError(
                f"every limit must have a reading after a power flow, got {name} without supply"
            )
        return excess

    def slopes(self, net: Net) -> Array:
        """Return the slope of each limit at what the last power flow found."""
        sizes, currents = self._move(net)
        bus, unit = net._pd2ppc_lookups["bus"], self.voltage_unit
        squared = np.square(self._ratings(net))[:, None]
        high, low = sizes[bus[self.over]] / unit, -sizes[bus[self.under]] / unit
        return np.concatenate([high, low, *(part / squared for part in currents)])

    def _ratings(self, net: Net) -> Array:
        """Return the largest current of each line in kA."""
        line = net.line.loc[self.lines]
        rated = line.max_i_ka * line.df * line.parallel * line.get("max_loading_percent", 100) / 100
        return rated.to_numpy(dtype=np.float64)

    def _move(self, net: Net) -> tuple[Array, list[Array]]:
        """Return how actions move voltages, and half of the squared currents in kA."""
        inner = net._ppc["internal"]
        V, base, pq = inner["V"], inner["baseMVA"], inner["pq"]
        both = np.concatenate([inner["pv"], pq])
        by_size, by_angle = _newton.dSbus_dV(inner["Ybus"], V)
        dS = np.hstack([by_angle[:, both].toarray(), by_size[:, pq].toarray()])
        # There is no equation of the slack, and none of Q where a voltage is held.
        J = np.vstack([dS[both].real, dS[pq].imag])
        bus = net._pd2ppc_lookups["bus"][net.sgen.bus.loc[self.sgens]]
        scale = (net.sgen.scaling * net.sgen.in_service).loc[self.sgens].to_numpy() / base
        injection = _linalg.block_diag(*((at[:, None] == bus) * scale for at in (both, pq)))
        x = np.linalg.solve(J, injection)
        angles, sizes = np.zeros((2, len(V), injection.shape[1]))
        angles[both], sizes[pq] = x[: len(both)], x[len(both) :]
        turned = V[:, None] * (1j * angles + sizes / np.abs(V)[:, None])
        first, _ = net._pd2ppc_lookups["branch"]["line"]
        place = first + net.line.index.get_indexer(self.lines)
        in_use = inner["branch_is"]
        row = np.where(in_use[place], np.cumsum(in_use)[place] - 1, 0)
        currents = []
        for end in ENDS:
            Y = inner[f"Y{end[0]}"][row]
            kilovolts = net.bus.vn_kv.loc[net.line.loc[self.lines, f"{end}_bus"]].to_numpy()
            squared = base**2 / (3 * kilovolts[:, None] ** 2)  # the unit of the currents, in kA
            part = (np.conj(Y @ V)[:, None] * (Y @ turned)).real * squared
            currents.append(np.where(in_use[place, None], part, 0.0))
        return sizes, currents

    def curvatures(self, net: Net, actions: Sequence[Array], step: float = 1e-3) -> Array:
        """Return by how much each limit curves upwards at some actions: an estimate, no bound.

        Slopes are compared with those a step away along each coordinate, in a copy of the network
        with the loads that it has: some power flows for each action. Let actions and loads be
        those at which limits curve most, and take a multiple of it.

        Args:
            net: the network.
            actions: where.
            step: how far points are apart.
        """
        net, most = copy.deepcopy(net), np.zeros(len(self.names))
        _pp.runpp(net, numba=False)

        def slopes(action: Array) -> Array:
            self.write(net, action)
            _pp.runpp(net, numba=False, init="results")
            return self.slopes(net)

        for action in actions:
            here = slopes(action)
            ways = step * np.eye(len(action))
            changes = np.stack([(slopes(action + way) - here) / step for way in ways], axis=1)
            hessians = 0.5 * (changes + changes.transpose(0, 2, 1))
            most = np.maximum(most, np.linalg.eigvalsh(hessians)[:, -1])
        return most


class SafeSetPoints(_control.basic_controller.Controller):  # type: ignore[misc, name-defined]
    r"""A controller in ``net.controller`` that writes certified set points in every time step.

    It reports all limits of the last time step to the loop, with their slopes, and a proposal: a
    step down the cost :math:`\|p - p_{max}\|^2 + c\|q\|^2`, to all available power and 1 - c of the
    last reactive power. A ``ConstControl`` may write the available power, ``max_p_mw``; the next
    set points are certified within it. If it falls by more than is certified, the action is
    reported as another than the one asked for, and ``loop.explain()`` says that it was not
    certified. A time step whose power flow did not converge is a missing measurement, for which
    the loop's ``on_missing`` decides.

    Args:
        net: the network.
        limits: that are to be kept.
        loop: a controller of a filter whose knowledge is that of the limits.
        reactive_cost: c, what the square of a Mvar costs if that of a MW costs 1.
        options: of pandapower's controllers, such as ``order`` and ``level``.
    """

    json_excludes: ClassVar[tuple[str, ...]] = ("self", "__class__", "loop", "limits")
    loop: Controller | None = None  # a copy of the network, or one from a file, has none

    def __init__(
        self, net: Net, limits: Limits, loop: Controller, reactive_cost: float = 0.1, **options: Any
    ) -> None:
        checks.positive(reactive_cost=reactive_cost)
        player: Any = loop.algorithm
        check_filter(player)
        rows, count = player.knowledge.row_count, len(limits.names)
        if rows != count:
            raise InvalidValueError(f"loop must have {count} separate limits, got {rows}")
        super().__init__(net, **options)
        self.limits: Limits = limits
        self.loop = loop
        self.kept: float = max(0.0, 1.0 - float(reactive_cost))
        self.played: Array = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy: all but the loop, which belongs to one network."""
        return {name: value for name, value in vars(self).items() if name != "loop"}

    def is_converged(self, net: Net) -> bool:
        """Return True: the set points of a time step are certified before it."""
        return True

    def time_step(self, net: Net, time: int) -> None:
        """Report the last time step, and write the set points of this one."""
        if self.loop is None:
            raise InvalidValueError(
                "loop must be given: a copy of a network has none, make SafeSetPoints anew"
            )
        box = self.limits.box(net)
        if self.played is not None:
            self._tell(self.loop, net, box)
        self.played = np.minimum(self.loop.ask(), box.upper)
        self.limits.write(net, self.played)

    def _tell(self, loop: Controller, net: Net, box: Box) -> None:
        if not net.converged:
            loop.tell(missing=True)
            return
        p, q = np.split(box.upper, 2)[0], np.split(self.played, 2)[1]
        report: dict[str, Any] = {
            "constraint_value": self.limits.values(net),
            "constraint_subgradient": self.limits.slopes(net),
            "proposal": np.concatenate([p, self.kept * q]),
            "action": None if (self.played == loop.ask()).all() else self.played,
        }
        try:
            loop.tell(**report, within=box)
        except EmptyRegionError:
            loop.tell(**report)  # more power is gone than is certified


def _finite(table: Any, column: str) -> list[int]:
    """Return the index of the rows that are in service and have a finite limit."""
    if column not in table:
        return []
    return list(table.index[table.in_service & np.isfinite(table[column])])
