"""Plants for tests: pumps, a hall in contexts, chargers, and what they do."""

import math

import numpy as np

from surefoot.problems.plant import (
    ActuatorDescription,
    ContextDescription,
    LimitDescription,
    PlantConstant,
    PlantDescription,
    PolicyDescription,
    RiseDescription,
)

C = PlantConstant


def pumps(**changes):
    """Return one pump that must hold a pressure: 3.1 bar at 50 Hz, 0.1 bar less per Hz."""
    speed = ActuatorDescription("speed", "Hz", 25.0, 50.0, start=50.0)
    pressure = LimitDescription(
        "pressure",
        "bar",
        2.5,
        "at_least",
        C(0.02),
        C(0.5),
        steepness={"speed": C(0.12)},
    )
    return PlantDescription("pumps", 1.0, (speed,), (pressure,), **changes)


def pressure_at(speed):
    """Return the pressure of the pumps."""
    return 3.1 - 0.1 * (50.0 - speed)


def hall(*, ramp=None, role="filter", policy=None, steep=1.0, **changes):
    """Return a hall of two fans whose temperature and noise are limited, in two contexts."""
    fans = (
        ActuatorDescription("fan1", "%", 30.0, 100.0, start=100.0, ramp=ramp),
        ActuatorDescription("fan2", "%", 30.0, 100.0, start=100.0),
    )
    contexts = (
        ContextDescription("outside", "degC", -20.0, 40.0, changes=0.1),
        ContextDescription("load", "MW", 0.4, 1.3, changes=0.02),
    )
    hot = LimitDescription(
        "hot_spot",
        "degC",
        27.0,
        "at_most",
        C(0.2),
        C(2.0),
        steepness={"fan1": C(0.12 * steep, "estimated"), "fan2": C(0.1 * steep, "estimated")},
        rise={
            "outside": RiseDescription(per=C(0.2), worse="up"),
            "load": RiseDescription(per=C(8.0)),
        },
    )
    flow = LimitDescription(
        "flow",
        "m3/s",
        5.0,
        "at_least",
        C(0.05),
        C(1.5),
        steepness={"fan1": C(0.03), "fan2": C(0.03)},
        rise={"outside": RiseDescription(adds=0.0), "load": RiseDescription(adds=0.0)},
    )
    policy = PolicyDescription(on_missing="retreat") if policy is None else policy
    return PlantDescription(
        "hall 3", 5.0, fans, (hot, flow), contexts, role=role, policy=policy, **changes
    )


def context_at(t):
    """Return the context of a round of the hall."""
    return {"outside": 20.0 + 10.0 * math.sin(t / 40.0), "load": 0.9 + 0.3 * math.sin(t / 60.0)}


def hall_at(points, context):
    """Return the temperature and the flow of the hall: convex, and as its constants say."""
    rest = [100.0 - points[name] for name in ("fan1", "fan2")]
    hot = 18.0 + 0.05 * rest[0] + 0.0004 * rest[0] ** 2 + 0.04 * rest[1] + 0.0003 * rest[1] ** 2
    hot += 0.15 * max(context["outside"] - 20.0, 0.0) + 6.0 * (context["load"] - 0.9)
    flow = 8.0 - 0.025 * sum(rest)
    return {"hot_spot": hot, "flow": flow}


def drive_hall(plant, rounds, *, noise=0.2, seed=0, report=None):
    """Play a hall for some rounds; return the largest excess over each limit, and the last points.

    Args:
        plant: the loop.
        rounds: how many.
        noise: of the temperature that is read.
        seed: of the noise.
        report: changes the report of a round, from its number.
    """
    rng, worst = np.random.default_rng(seed), {"hot_spot": -math.inf, "flow": -math.inf}
    points = {}
    for _ in range(rounds):
        t = plant.round
        points = plant.ask()
        values = hall_at(points, context_at(t))
        worst["hot_spot"] = max(worst["hot_spot"], values["hot_spot"] - 27.0)
        worst["flow"] = max(worst["flow"], 5.0 - values["flow"])
        seen = {
            name: value + noise * rng.uniform(-1, 1) * (name == "hot_spot")
            for name, value in values.items()
        }
        told = {"readings": seen, "context": context_at(t + 1)}
        if plant.description.role == "filter":
            told["wanted"] = {"fan1": 30.0, "fan2": 30.0}
        else:
            told["cost_slopes"] = {"fan1": 1.0, "fan2": 0.8}
        if report is not None:
            told |= report(t, points) or {}
        plant.tell(**told)
    return worst, points
