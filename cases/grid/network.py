"""The CIGRE medium-voltage network with eight solar plants, a wind park, and days to play."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandapower
import pandas
from pandapower import control, networks, timeseries

from surefoot.adapters.pandapower import Limits
from surefoot.core.types import Array

MINUTES = 5
REACTIVE_COST = 0.1  # of a Mvar squared, where a MW squared that is not fed in costs 1


def make_network() -> Any:
    """Return pandapower's network with limits, and thirty times its sun and three times its wind.

    As they come, its plants reach no limit. Loads, lines and places are those of the network.
    """
    net = networks.create_cigre_network_mv(with_der="pv_wind")
    larger = np.where(net.sgen.type == "PV", 30.0, 3.0)
    net.sgen["sn_mva"] *= larger
    net.sgen["p_mw"] = 0.0
    net.sgen["min_p_mw"], net.sgen["max_p_mw"] = 0.0, net.sgen.sn_mva
    net.sgen["max_q_mvar"] = 0.33 * net.sgen.sn_mva  # as VDE-AR-N 4110 asks for
    net.sgen["min_q_mvar"] = -net.sgen.max_q_mvar
    net.sgen["controllable"] = True
    medium = net.bus.vn_kv < 110  # the transmission grid's voltage is not for us to keep
    net.bus["min_vm_pu"], net.bus["max_vm_pu"] = np.where(medium, [[0.97], [1.03]], np.nan)
    net.line["max_loading_percent"] = 100.0
    return net


@dataclass(frozen=True)
class Day:
    """Shares of the nominal loads and of the plants' ratings, one row for each round."""

    loads: Array
    plants: Array


def draw_day(seed: int, rounds: int, net: Any) -> Day:
    """Return a day around noon: loads that wander, clouds that jump, wind that wanders.

    Args:
        seed: of the day.
        rounds: how many times five minutes.
        net: whose loads and plants they are.
    """
    rng = np.random.default_rng(seed)
    hours = 12 + (np.arange(rounds) - rounds / 2) * MINUTES / 60
    noise = 0.015 * rng.uniform(-1, 1, (rounds, len(net.load))).cumsum(axis=0)
    loads = 0.4 + 0.08 * np.sin((hours[:, None] - 12) * 0.5) + np.clip(noise, -0.1, 0.1)
    clouds = np.repeat(rng.uniform(0.35, 1.0, -(-rounds // 4)), 4)[:rounds]
    sun = np.cos((hours - 12.5) * np.pi / 14) * clouds
    places = np.clip(sun[:, None] + rng.uniform(-0.05, 0.05, (rounds, len(net.sgen) - 1)), 0, 1)
    wind = np.clip(0.8 + 0.04 * rng.uniform(-1, 1, rounds).cumsum(), 0.3, 1.0)
    return Day(loads, np.column_stack([places, wind]))


class Recorder(control.basic_controller.Controller):  # type: ignore[misc]
    """What every rule's run is judged by: the largest limit and the cost of each round.

    A round whose power flow did not converge has no numbers.
    """

    def __init__(self, net: Any, limits: Limits) -> None:
        super().__init__(net, level=9)
        self.limits = limits
        self.g: list[float] = []
        self.unused: list[float] = []
        self.cost: list[float] = []

    def is_converged(self, net: Any) -> bool:
        """Return True: nothing is controlled here."""
        return True

    def finalize_step(self, net: Any, time: int) -> None:
        """Read the meters."""
        off = (net.sgen.max_p_mw - net.res_sgen.p_mw).to_numpy()
        q = net.res_sgen.q_mvar.to_numpy()
        self.g.append(self.limits.values(net).max() if net.converged else np.nan)
        self.unused.append(off.sum() * MINUTES / 60)
        self.cost.append((off @ off + REACTIVE_COST * (q @ q)) * MINUTES / 60)


def play(net: Any, day: Day, limits: Limits, **options: Any) -> Recorder:
    """Play a day with the controllers that are in the network, and return what was measured."""
    record = Recorder(net, limits)
    parts: Sequence[tuple[str, str, Array]] = (
        ("load", "p_mw", day.loads * net.load.p_mw.to_numpy()),
        ("load", "q_mvar", day.loads * net.load.q_mvar.to_numpy()),
        ("sgen", "max_p_mw", day.plants * net.sgen.sn_mva.to_numpy()),
    )
    for element, variable, values in parts:
        index = net[element].index
        source = timeseries.DFData(pandas.DataFrame(values, columns=index))
        control.ConstControl(
            net, element, variable, index, profile_name=index, data_source=source, recycle=False
        )
    options = {"numba": False, "init": "results"} | options
    pandapower.runpp(net, numba=False)  # where the first round begins
    timeseries.OutputWriter(net, range(len(day.loads)), log_variables=[])
    timeseries.run_timeseries(net, range(len(day.loads)), verbose=False, **options)
    return record
