"""A water network in EPANET: what its gauges read at given pump speeds and demands."""

import logging
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import wntr
from wntr.epanet.exceptions import EpanetException
from wntr.epanet.toolkit import ENepanet
from wntr.epanet.util import EN
from wntr.library.model_library import ModelLibrary

from surefoot.core.types import Array

__all__ = ["KY10", "NET3", "Network", "NoSteadyState", "Plant", "Reading", "make_day"]

ROUNDS = 144
"""Rounds of ten minutes in a day."""
FAILED = {1, 2, 3}
"""EPANET's warnings that its answer is none: not balanced, not stable, disconnected."""
DIFFERENCE = 1e-4  # how far from the action the runs are that slopes are taken from


@dataclass(frozen=True)
class Network:
    """What is taken from a file of EPANET's library, and what is changed.

    Args:
        name: of the file.
        share: demands are so much of the file's.
        least: p_min at every demand junction, in metres of water.
        knobs: the speeds of the pumps are this times the action.
        lowest: the least action.
        highest: the largest.
        start: the first action, at which all pressures are high.
        apart: the differences between the pumps that a controller of the common speed keeps.
    """

    name: str
    share: float
    least: float
    knobs: Array
    lowest: Array
    highest: Array
    start: Array
    separately: Array


NET3 = Network(
    "Net3",
    share=1.0,
    least=30.0,
    # The speed of both, and by how much the lake's pump is ahead of the river's, in units of 0.3.
    knobs=np.array([[1.0, 0.15], [1.0, -0.15]]),
    lowest=np.array([0.45, 0.5]),
    highest=np.array([1.0, 1.0]),
    start=np.array([1.0, 0.5]),
    separately=np.array([0.88]),  # the least power at noon
)
# The common speed of all 13, and their differences in a basis of their own, in units of 0.1.
KY10 = Network(
    "ky10",
    share=0.3,
    least=25.0,
    knobs=np.hstack([np.ones((13, 1)), 0.1 * np.linalg.svd(np.ones((1, 13)))[2][1:].T]),
    lowest=np.append(0.8, np.full(12, -0.25)),
    highest=np.append(1.05, np.full(12, 0.25)),
    start=np.append(1.05, np.zeros(12)),
    separately=np.zeros(12),
)


class NoSteadyState(Exception):  # noqa: N818
    """EPANET found no steady state, or raised."""


class Reading(NamedTuple):
    """What a run shows: metres of water at each demand junction, and kW of each pump."""

    pressure: Array
    power: Array


@dataclass
class Plant:
    """A network without its controls and tanks, in steady states.

    Args:
        network: which.
    """

    network: Network

    def __post_init__(self) -> None:
        logging.getLogger("wntr").setLevel(logging.CRITICAL)  # a pump beyond its curve, each run
        path = ModelLibrary().get_filepath(self.network.name)
        model = wntr.network.WaterNetworkModel(path)
        for name in list(model.control_name_list):
            model.remove_control(name)
        for _, pump in model.pumps():
            pump.initial_status = "Open"
        give_curves(model)
        tanks = [link for tank in model.tank_name_list for link in model.get_links_for_node(tank)]
        for name in tanks:
            model.get_link(name).initial_status = "Closed"
        model.add_pattern("flat", [1.0])
        usual = model.options.hydraulic.pattern or "1"
        self.names = [name for name, junction in model.junctions() if junction.base_demand > 0]
        hours = []
        for name in self.names:
            demand = model.get_node(name).demand_timeseries_list[0]
            pattern = model.get_pattern(demand.pattern_name or usual).multipliers
            hours.append(1e3 * self.network.share * demand.base_value * np.resize(pattern, 25))
        for _, junction in model.junctions():
            for demand in junction.demand_timeseries_list:
                demand.pattern_name = "flat"
        options = model.options
        options.hydraulic.pattern, options.hydraulic.accuracy = "flat", 1e-9
        options.hydraulic.trials, options.time.duration = 200, 0
        times = np.arange(ROUNDS + 1) / 6
        self.usual = np.array([np.interp(times, np.arange(25), hour) for hour in hours]).T
        self._epanet: Any = ENepanet()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            at = str(Path(folder) / "network")
            wntr.network.write_inpfile(model, f"{at}.inp", units="LPS")
            self._epanet.ENopen(f"{at}.inp", f"{at}.rpt", f"{at}.bin")
        self._epanet.ENopenH()
        self._junctions = [self._epanet.ENgetnodeindex(name) for name in self.names]
        self._pumps = [self._epanet.ENgetlinkindex(name) for name in model.pump_name_list]

    def run(self, action: Array, demand: Array) -> Reading:
        """Return the steady state.

        Args:
            action: what the knobs are at.
            demand: in litres per second at each demand junction.

        Raises:
            NoSteadyState: if there is none.
        """
        epanet, speeds = self._epanet, self.network.knobs @ action
        try:
            for i, litres in zip(self._junctions, demand, strict=True):
                epanet.ENsetnodevalue(i, EN.BASEDEMAND, litres)
            epanet.ENinitH(0)
            for i, speed in zip(self._pumps, speeds, strict=True):
                epanet.ENsetlinkvalue(i, EN.SETTING, speed)
            epanet.ENrunH()
        except EpanetException as error:
            raise NoSteadyState from error
        if epanet.errcode in FAILED:
            raise NoSteadyState(f"EPANET warns of code {epanet.errcode}")
        pressure = [epanet.ENgetnodevalue(i, EN.PRESSURE) for i in self._junctions]
        power = [epanet.ENgetlinkvalue(i, EN.ENERGY) for i in self._pumps]
        return Reading(np.array(pressure), np.array(power))

    def differentiate(self, action: Array, demand: Array) -> Reading:
        """Return the slopes of pressures and power, by runs on both sides; a column per knob."""
        sides = []
        for step in DIFFERENCE * np.eye(len(action)):
            up, down = self.run(action + step, demand), self.run(action - step, demand)
            sides.append([(a - b) / (2 * DIFFERENCE) for a, b in zip(up, down, strict=True)])
        return Reading(*(np.array(part).T for part in zip(*sides, strict=True)))


def give_curves(model: Any) -> None:
    """Give pumps whose power alone is known, and so no speed, EPANET's curve through one point.

    That is what they deliver at nine in the morning, with the file's tanks; where that is next to
    nothing, three quarters of their power at 60 m.
    """
    powered = [name for name, pump in model.pumps() if pump.pump_type == "POWER"]
    if not powered:
        return
    model.options.time.duration, model.options.time.pattern_start = 0, 9 * 3600
    with tempfile.TemporaryDirectory() as folder:
        seen = wntr.sim.EpanetSimulator(model).run_sim(file_prefix=f"{folder}/file")
    flows, heads = seen.link["flowrate"].iloc[0], seen.node["head"].iloc[0]
    for name in powered:
        pump = model.get_link(name)
        ends = pump.start_node_name, pump.end_node_name
        flow, lift = float(flows[name]), float(heads[ends[1]] - heads[ends[0]])
        if flow < 1e-3 or lift < 20:
            flow, lift = 0.75 * pump.power / (9_810 * 60), 60.0
        model.remove_link(name)
        model.add_curve(f"curve{name}", "HEAD", [(flow, lift)])
        model.add_pump(name, *ends, "HEAD", f"curve{name}")


def make_day(usual: Array, seed: int) -> Array:
    """Return a day's demands: the file's, between its hours, each with up to 20 % of its own.

    Args:
        usual: demands in every round, and in the one after.
        seed: of the day.
    """
    rng, own = np.random.default_rng(seed), np.empty_like(usual)
    own[0] = rng.uniform(-0.1, 0.1, usual.shape[1])
    for t in range(1, len(own)):
        own[t] = np.clip(own[t - 1] + rng.uniform(-0.02, 0.02, usual.shape[1]), -0.2, 0.2)
    return usual * (1 + own)
