"""Who sets the plants' power: the certified rule, and what people use."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pandapower
import pandas
from pandapower import control, timeseries
from pandapower.control.controller.DERController import DERController, QModelQVCurve, QVCurve

from cases.grid.network import REACTIVE_COST, Day, Recorder, draw_day, make_network, play
from surefoot import Controller
from surefoot.adapters.pandapower import Limits, SafeSetPoints
from surefoot.core.types import Array

with mock.patch("matplotlib.use"):  # the package asks for a window, which a server has not
    from grid_feedback_optimizer.engine.grad_proj_optimizer import GradientProjectionOptimizer
    from grid_feedback_optimizer.models.solve_data import OptimizationInputs, OptimizationModelData

OTHER_DAY = 99  # from which constants are estimated, and which is not played
MARGIN = 0.002  # of voltages in p.u., four times that of currents


def estimate_constants(margin: float = 2.0) -> tuple[Array, float]:
    """Return the curvature of each limit and the drift of all, as seen on another day.

    Args:
        margin: by how much more is allowed for than was seen.
    """
    net = make_network()
    limits, nominal = Limits(net), net.load[["p_mw", "q_mvar"]].copy()
    low, high = limits.ratings.lower, limits.ratings.upper
    on: Array = np.where(np.arange(len(low)) < len(low) // 2, high, low)  # all power, least voltage
    net.load[["p_mw", "q_mvar"]] = 0.6 * nominal
    beta = limits.curvatures(net, [0.5 * (on + abs(on)), on])
    day, seen = draw_day(OTHER_DAY, 24, net), []
    for share in day.loads:
        net.load[["p_mw", "q_mvar"]] = nominal.mul(share, axis=0)
        limits.write(net, 0.5 * on)
        pandapower.runpp(net, numba=False)
        seen.append(limits.values(net))
    return margin * beta, margin * float(np.abs(np.diff(seen, axis=0)).max())


def certified(day: Day, beta: Array, drift: float) -> Recorder:
    """Play certified set points: all that is known is in the constants."""
    net = make_network()
    limits = Limits(net)
    safe = limits.make_filter(beta, drift=drift)
    loop = Controller(safe, np.zeros(2 * len(limits.sgens)))
    SafeSetPoints(net, limits, loop, REACTIVE_COST)
    return play(net, day, limits, continue_on_divergence=True)  # such a round is missing


def uncontrolled(day: Day) -> Recorder:
    """Play all the power that there is."""
    net = make_network()
    Follow(net)
    return play(net, day, Limits(net))


def droop(day: Day) -> Recorder:
    """Play pandapower's Q(V): from 1 % off on, at the limit all the reactive power."""
    net = make_network()
    curve = QVCurve((0.97, 0.99, 1.01, 1.03), (0.33, 0.0, 0.0, -0.33))
    source = timeseries.DFData(pandas.DataFrame(day.plants * net.sgen.sn_mva.to_numpy()))
    DERController(
        net,
        net.sgen.index,
        q_model=QModelQVCurve(curve),
        data_source=source,
        p_profile=net.sgen.index,
        damping_coef=5,  # with its 2 it does not settle
        max_p_error=1e-3,
        max_q_error=1e-3,
    )
    return play(net, day, Limits(net))


class Follow(control.basic_controller.Controller):  # type: ignore[misc]
    """Feed in all the power that there is."""

    def is_converged(self, net: Any) -> bool:
        """Return True: nothing is controlled here."""
        return True

    def time_step(self, net: Any, time: int) -> None:
        """Write what there is as the power, and as what an optimal power flow should miss least."""
        net.sgen["p_mw"] = net.sgen.max_p_mw
        if len(net.poly_cost):
            net.poly_cost["cp1_eur_per_mw"] = -2 * net.sgen.max_p_mw.to_numpy()


def optimal(day: Day) -> Recorder:
    """Play pandapower's optimal power flow: it knows the network and the loads to come."""
    net = make_network()
    for plant in net.sgen.index:
        pandapower.create_poly_cost(
            net, plant, "sgen", cp1_eur_per_mw=0, cp2_eur_per_mw2=1, cq2_eur_per_mvar2=REACTIVE_COST
        )
    Follow(net)
    return play(net, day, Limits(net), run=pandapower.runopp, init="flat")


class Feedback(control.basic_controller.Controller):  # type: ignore[misc]
    """grid-feedback-optimizer's projected gradient step in every round, with its own settings.

    Args:
        net: the network.
        margin: by how much tighter limits are told: of voltages in p.u., of currents in shares.
    """

    def __init__(self, net: Any, margin: float) -> None:
        super().__init__(net)
        n, watt = len(net.sgen), 1e6
        volts = net.bus.vn_kv.loc[net.line.from_bus].to_numpy()
        self.model = OptimizationModelData(
            p_min=np.zeros(n),
            p_max=watt * net.sgen.sn_mva.to_numpy(),
            q_min=watt * net.sgen.min_q_mvar.to_numpy(),
            q_max=watt * net.sgen.max_q_mvar.to_numpy(),
            c1_p=np.zeros(n),
            c2_p=np.ones(n),
            c1_q=np.zeros(n),
            c2_q=np.full(n, REACTIVE_COST),
            p_norm=watt * net.sgen.sn_mva.to_numpy(),
            q_norm=np.zeros(n),
            u_pu_max=net.bus.max_vm_pu.fillna(2.0).to_numpy() - margin,
            u_pu_min=net.bus.min_vm_pu.fillna(0.0).to_numpy() + margin,
            s_line=watt * np.sqrt(3) * net.line.max_i_ka.to_numpy() * volts * (1 - 4 * margin),
        )
        self.step = GradientProjectionOptimizer(self.model, self._sensitivities(net))
        self.begun = False

    def _read(self, net: Any) -> tuple[Array, Array, Array]:
        line = net.res_line
        return (
            net.res_bus.vm_pu.to_numpy(),
            1e6 * line.p_from_mw.to_numpy(),
            1e6 * line.q_from_mvar.to_numpy(),
        )

    def _sensitivities(self, net: Any) -> dict[str, Array]:
        """Return differences around the network as it is, as the package finds them."""
        found: dict[str, list[Array]] = {}
        pandapower.runpp(net, numba=False)
        base = self._read(net)
        for column, letter in (("p_mw", "p"), ("q_mvar", "q")):
            for plant in net.sgen.index:
                before = net.sgen.at[plant, column]
                net.sgen.at[plant, column] = before + 1e-3
                pandapower.runpp(net, numba=False)
                net.sgen.at[plant, column] = before
                for name, new, old in zip(
                    ("u", "P_line", "Q_line"), self._read(net), base, strict=True
                ):
                    found.setdefault(f"d{name}_d{letter}", []).append((new - old) / 1e3)
        return {name: np.column_stack(parts) for name, parts in found.items()}

    def is_converged(self, net: Any) -> bool:
        """Return True: one step a round, by what was measured in the last."""
        return True

    def time_step(self, net: Any, time: int) -> None:
        """Write the set points that follow from the last round's measurements."""
        most = 1e6 * net.sgen.max_p_mw.to_numpy()
        if self.begun:
            voltage, p, q = self._read(net)
            self.step.p_max.value = self.step.p_norm.value = most
            last = 1e6 * net.sgen.p_mw.to_numpy(), 1e6 * net.sgen.q_mvar.to_numpy()
            told = OptimizationInputs(
                u_pu_meas=voltage,
                P_line_meas=p,
                Q_line_meas=q,
                p_gen_last=last[0],
                q_gen_last=last[1],
            )
            found = self.step.solve_problem(told) / 1e6
            net.sgen["p_mw"], net.sgen["q_mvar"] = found[:, 0], found[:, 1]
        self.begun = True
        net.sgen["p_mw"] = np.minimum(net.sgen.p_mw, most / 1e6)


def feedback(day: Day, margin: float = 0.0) -> Recorder:
    """Play grid-feedback-optimizer; with a margin, limits are told tighter."""
    net = make_network()
    Feedback(net, margin)
    return play(net, day, Limits(net))
