"""PV on a feeder for two minutes: certified regions, curtailment, a linear model, and a rival."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pages import table
from surefoot.core.types import Array
from surefoot.problems import cases
from surefoot.problems.cases.feeder import CAPACITY, HIGHEST

SECONDS, LATER = 120, 10
CERTIFIED = "**certified regions**"
RIVAL = "grid-feedback-optimizer"


def feedback_optimizer(feeder: cases.Feeder) -> cases.FeederRule:
    """Return grid-feedback-optimizer, gradient projection with its sensitivities at rated power."""
    from grid_feedback_optimizer.engine.grad_proj_optimizer import GradientProjectionOptimizer
    from grid_feedback_optimizer.engine.powerflow import PowerFlowSolver
    from grid_feedback_optimizer.models.network import Network
    from grid_feedback_optimizer.models.solve_data import OptimizationInputs
    from grid_feedback_optimizer.utils.utils import network_to_model_data

    def part(kind: str, names: str, **more: Any) -> list[dict[str, Any]]:
        kinds = [name.partition("=") for name in names.split()]
        return [
            {"index": i, **{mine: row[own or mine].item() for mine, _, own in kinds}, **more}
            for i, row in enumerate(feeder.data[kind])
        ]

    ends = "from_bus=from_node to_bus=to_node "
    told = "u1 u2 sn uk pk i0 p0 winding_from winding_to clock tap_side tap_min tap_max tap_size"
    gens = part("sym_gen", "bus=node", p_max=0.0, q_min=0.0, q_max=0.0)
    for gen, rated in zip(gens, feeder.rated, strict=True):
        gen["p_max"] = 1e3 * float(rated)
    network = Network.model_validate(
        {
            "buses": part("node", "u_rated", u_pu_max=HIGHEST, u_pu_min=0.8),
            "lines": part("line", ends + "r1 x1 c1 tan1 i_n"),
            "transformers": part("transformer", ends + told),
            "sources": part("source", "bus=node u_ref_pu=u_ref"),
            "renew_gens": gens,
            "loads": part("sym_load", "bus=node p_norm=p_specified q_norm=q_specified"),
        }
    )
    flow = PowerFlowSolver(network)
    known = flow.obtain_sensitivity(delta_p=1.0, delta_q=1.0, loading_meas_side="to")
    optimizer = GradientProjectionOptimizer(network_to_model_data(network), known, alpha=0.5)

    def rule(second: cases.Second) -> Array:
        last = np.column_stack([1e3 * second.action, 0.0 * second.action])
        seen = flow.run(gen_update=last)
        optimizer.p_max.value = optimizer.p_norm.value = 1e3 * second.upper
        wanted = optimizer.solve_problem(
            OptimizationInputs(
                u_pu_meas=seen["node"]["u_pu"],
                P_line_meas=seen["line"]["p_to"],
                Q_line_meas=seen["line"]["q_to"],
                P_transformer_meas=seen["transformer"]["p_to"],
                Q_transformer_meas=seen["transformer"]["q_to"],
                p_gen_last=last[:, 0],
                q_gen_last=last[:, 1],
            )
        )
        return np.clip(1e-3 * wanted[:, 0], 0.0, second.upper)

    return rule


def rules(feeder: cases.Feeder) -> dict[str, tuple[str, cases.FeederRule]]:
    """Return the rules by name, each with what it knows of the network."""
    certified = cases.CertifiedFeeder(feeder.curvatures())
    found: dict[str, tuple[str, cases.FeederRule]] = {
        "no limit": ("nothing, and ignores it", lambda second: second.upper),
        "uniform share": ("one safe share for all", cases.uniform_share(feeder)),
        CERTIFIED: ("curvatures, estimated; measures", certified),
        "projection onto a linear model": ("the network at half power", cases.linearised(feeder)),
    }
    if importlib.util.find_spec("grid_feedback_optimizer") is not None:
        knows = "sensitivities of the network at full power; measures"
        found[RIVAL] = (knows, feedback_optimizer(feeder))
    return found


def share_of_bounds(feeder: cases.Feeder, betas: Array, pairs: int = 20) -> float:
    """Return the largest share of a curvature bound that random pairs of points need."""
    draw, most = np.random.default_rng(1), 0.0
    for x, y in draw.uniform(size=(pairs, 2, len(feeder.rated))) * feeder.rated:
        (g, s), way = feeder.measure(x), y - x
        bend = 2.0 * (feeder.values(y) - g - s @ way) / (way @ way)
        most = max(most, float((bend / betas).max()))
    return most


def measure(images: Path | None, seconds: int = SECONDS) -> Iterator[str]:
    """Play all rules; yield the table, save the figure."""
    feeder = cases.pv_feeder()
    made = rules(feeder)
    done = {name: feeder.run(rule, seconds) for name, (_, rule) in made.items()}
    head = ["rule", "knows", "seconds over", "worst g, p.u.", f"the same after {LATER} s"]
    head += ["kWh delivered", "of available", "µs per decision"]
    lines = [
        [
            name,
            made[name][0],
            f"{d.over:,}",
            f"{d.worst:.2g}",
            f"{d.values[min(LATER, seconds - 1) :].max():.2g}",
            f"{d.delivered:.2f}",
            f"{d.delivered / d.available:.1%}",
            f"{d.microseconds:,.0f}",
        ]
        for name, d in done.items()
    ]
    yield from table(head, lines)
    yield ""
    full, limits = feeder.values(feeder.rated), len(feeder.ratings)
    own: Any = made[CERTIFIED][1]
    yield (
        f"{seconds} seconds, {len(full)} limits, {feeder.rated.sum():.0f} kW of inverters on a "
        f"transformer of {CAPACITY / 1e3:.0f} kVA. At full power the highest voltage is "
        f"{HIGHEST + full[: -limits - 2].max():.3f} p.u., the fullest cable carries "
        f"{np.sqrt(1 + 2 * full[-limits - 2 : -2].max()):.0%} of its rating and the transformer "
        f"{np.sqrt(1 + 2 * full[-2:].max()):.0%}. Certified regions fell back on the first "
        f"measurement in {own.restarts} seconds. Random pairs of points need at most "
        f"{share_of_bounds(feeder, own.curvatures):.0%} of an estimated curvature."
        + ("" if RIVAL in made else f" {RIVAL} is not installed here and was not run.")
    )
    if images is not None:
        draw(images / "cases_feeder.png", done)


def draw(path: Path, done: dict[str, cases.FeederRecord]) -> None:
    """Save power and largest g of every second."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    colours = ("#BBBBBB", "#E69F00", "#0072B2", "#009E73", "#CC79A7")
    for (name, d), colour in zip(done.items(), colours, strict=False):
        left.plot(d.power, color=colour, lw=1.3, label=name.strip("*"))
        right.plot(d.values, color=colour, lw=1.3)
    right.axhline(0.0, color="#333333", lw=0.8)
    left.set(xlabel="second", ylabel="kW fed in", ylim=(0, None))
    right.set(xlabel="second", ylabel="largest g, p.u.", ylim=(-0.06, 0.1))
    left.legend(frameon=False, fontsize=7)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
