"""Set points in pandapower: slopes, limits, time steps that fail, and what the page prints."""

import copy
import io
import itertools
import re
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from surefoot import Ball, Controller
from surefoot.core.errors import InvalidValueError
from surefoot.guarantees import PremiseError
from surefoot.rules import SafetyFilter

pandapower = pytest.importorskip("pandapower")
pytestmark = [pytest.mark.cases, pytest.mark.filterwarnings("ignore")]  # its own, of pandas

import pandapower.networks as networks  # noqa: E402
from pandapower.timeseries import OutputWriter, run_timeseries  # noqa: E402

from surefoot.adapters.pandapower import Limits, SafeSetPoints  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "hosts.md"


def network():
    """A feeder of three buses with two plants, the second of which the line cannot carry."""
    net = pandapower.create_empty_network()
    buses = pandapower.create_buses(net, 3, vn_kv=20.0)
    pandapower.create_ext_grid(net, buses[0])
    for start, end in itertools.pairwise(buses):
        pandapower.create_line(net, start, end, 8.0, "NA2XS2Y 1x95 RM/25 12/20 kV")
    for bus in buses[1:]:
        pandapower.create_load(net, bus, p_mw=1.0, q_mvar=0.2)
        pandapower.create_sgen(net, bus, p_mw=0.0, sn_mva=8.0)
    net.sgen["max_p_mw"], net.sgen["max_q_mvar"], net.sgen["min_q_mvar"] = 8.0, 2.0, -2.0
    net.bus["max_vm_pu"] = [np.nan, 1.05, 1.05]
    net.line["max_loading_percent"] = 100.0
    return net


def controlled(net, drift=0.0, **policies):
    limits = Limits(net)
    beta = 2 * limits.curvatures(net, [np.zeros(4), limits.ratings.upper])
    safe = limits.make_filter(beta, drift=drift)
    return SafeSetPoints(net, limits, Controller(safe, np.zeros(4), **policies))


def run(net, steps, **options):
    OutputWriter(net, range(steps), log_variables=[("res_line", "loading_percent")])
    run_timeseries(net, range(steps), verbose=False, numba=False, **options)


def several():
    cigre = networks.create_cigre_network_mv(with_der="pv_wind")
    cigre.sgen.p_mw *= 10
    cigre.bus["max_vm_pu"], cigre.bus["min_vm_pu"] = 1.05, 0.95
    cigre.line["max_loading_percent"] = 100.0
    fused = (
        network()
    )  # with a bus behind a switch, a line out of service and a voltage that is held
    bus = pandapower.create_bus(fused, 20.0)
    pandapower.create_switch(fused, 2, bus, et="b")
    pandapower.create_sgen(fused, bus, p_mw=1.0, sn_mva=1.0, scaling=0.7)
    pandapower.create_line(fused, 0, 2, 3.0, "NA2XS2Y 1x95 RM/25 12/20 kV", in_service=False)
    pandapower.create_gen(fused, 1, p_mw=0.5, vm_pu=1.01)
    fused.line = fused.line.sort_index(ascending=False)
    fused.bus.loc[bus, "max_vm_pu"] = 1.04
    fused.line["max_loading_percent"] = 80.0
    return {"cigre": cigre, "fused": fused}


@pytest.mark.parametrize("name", ["cigre", "fused"])
def test_slopes_are_those_of_the_power_flow(name):
    net, rng = several()[name], np.random.default_rng(0)
    limits = Limits(net)
    x = net.sgen.loc[limits.sgens, ["p_mw", "q_mvar"]].to_numpy().T.ravel()

    def values(action):
        limits.write(net, action)
        pandapower.runpp(net, numba=False, tolerance_mva=1e-10)
        return limits.values(net)

    values(x)
    slopes = limits.slopes(net)
    assert slopes.shape == (len(limits.names), len(x))
    assert np.abs(slopes).max() > 0.01
    pandapower.runpp(net, numba=False, init="results")  # which needs no step, and leaves no J
    np.testing.assert_allclose(limits.slopes(net), slopes, atol=1e-9)
    for _ in range(3):
        way = rng.normal(size=len(x)) * 1e-4
        differences = 0.5 * (values(x + way) - values(x - way))
        np.testing.assert_allclose(slopes @ way, differences, atol=1e-9)


def test_no_time_step_is_outside_and_the_line_is_used():
    net = network()
    plants = controlled(net)
    found = []
    for _ in range(4):
        run(net, 5)
        found.append(plants.limits.values(net).max())
    assert max(found) <= 0
    assert found[-1] > -1e-4
    assert net.sgen.p_mw.sum() > 5
    assert plants.loop.explain().is_proven


def test_set_points_are_within_what_there_is():
    net = network()
    plants = controlled(net, drift=0.01)
    run(net, 10)
    assert not plants.loop.explain().broken
    net.sgen.loc[0, "max_p_mw"] = 0.3  # which is less than what is certified
    run(net, 1)
    assert net.sgen.p_mw[0] <= 0.3 < plants.loop.ask()[0]
    run(net, 1)
    assert "was not certified" in plants.loop.explain().broken[0].sentence
    assert net.sgen.p_mw[0] <= 0.3


def test_a_power_flow_that_does_not_converge_is_a_missing_measurement():
    net = network()
    plants = controlled(net)
    run(net, 4)
    before = plants.loop.ask()
    net.load["p_mw"] = 1e4
    run(net, 2, continue_on_divergence=True)  # of which the second finds that the first failed
    after = plants.loop.ask()
    assert plants.loop.explain().certificate.reason == "no measurement"
    assert not net.converged
    assert np.abs(after - before).max() < 2.0
    net.load["p_mw"] = 1.0
    held = plants.loop.ask()
    run(net, 1)
    assert (plants.loop.ask() == held).all()  # twice missing, and held
    run(net, 3)
    assert plants.limits.values(net).max() <= 0

    strict = network()
    controlled(strict, on_missing="raise")
    run(strict, 1)
    strict.load["p_mw"] = 1e4
    with pytest.raises(PremiseError, match="nothing was measured"):
        run(strict, 2, continue_on_divergence=True)


def test_a_wrong_curvature_or_drift_stops_the_run():
    net = network()
    limits = Limits(net)
    loop = Controller(limits.make_filter(0.0), np.zeros(4))
    SafeSetPoints(net, limits, loop)
    with pytest.raises(PremiseError, match="beta"):
        run(net, 10)


def test_networks_that_cannot_be_kept_are_refused():
    net = network()
    net.bus["max_vm_pu"] = np.nan
    del net.line["max_loading_percent"]
    with pytest.raises(InvalidValueError, match="must have limits"):
        Limits(net)
    net = network()
    with pytest.raises(InvalidValueError, match="static generators of the network, got \\[7\\]"):
        Limits(net, [7])
    net.sgen["sn_mva"] = np.nan
    with pytest.raises(InvalidValueError, match="sn_mva must be given"):
        Limits(net)
    net = network()
    limits = Limits(net)
    net.line["in_service"] = False
    pandapower.runpp(net, numba=False)
    with pytest.raises(InvalidValueError, match="voltage of bus 1 without supply"):
        limits.values(net)


def test_a_loop_of_something_else_is_refused():
    net = network()
    one = Controller(SafetyFilter(G_g=1.0, rho=0.1, domain=Ball(20.0)), np.zeros(4))
    with pytest.raises(InvalidValueError, match="have 6 separate limits, got 1"):
        SafeSetPoints(net, Limits(net), one)
    with pytest.raises(InvalidValueError, match="rows must be 2"):
        Limits(net).make_filter([1.0, 2.0])


def test_a_copy_of_the_network_has_no_loop():
    net = network()
    controlled(net)
    run(net, 2)
    other = copy.deepcopy(net)
    with pytest.raises(InvalidValueError, match="loop must be given"):
        run(other, 1)
    stored = pandapower.from_json_string(pandapower.to_json(net))
    assert isinstance(stored.controller.object.at[0], SafeSetPoints)
    run(net, 1)


def test_what_the_page_says_is_what_it_prints():
    section = PAGE.read_text(encoding="utf-8").partition("## pandapower")[2]
    program, printed = re.search(
        r"```py\n(.*?)```\n\n```text\n(.*?)```", section, re.DOTALL
    ).groups()
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(program, PAGE.name, "exec", dont_inherit=True), {})
    assert out.getvalue() == printed
