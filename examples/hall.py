"""A data hall to practise on: ``python examples/hall.py year.csv`` writes a year of its log.

Six set points cool it, its hottest spot may have 27 degC, and weather and computers warm it.
"""

import csv
import sys
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]
NAMES = ("fan1", "fan2", "fan3", "pump1", "pump2", "chiller")
METER = 0.2  # readings err by at most this


def hot_spot(percent: ArrayLike, outside: ArrayLike, load: ArrayLike) -> Numbers:
    """Return the temperature of the hottest spot, convex in the set points."""
    u = np.asarray(percent) / 100
    air = 0.15 + 0.85 * (u[..., :3] @ [0.5, 0.3, 0.2])
    water = 0.2 + 0.8 * (u[..., 3:5] @ [0.6, 0.4])
    warmth = np.asarray(load) * (6.0 / air + 2.5 / water)
    return np.asarray(8.0 + 8.0 * (1 - u[..., 5]) + warmth + 0.12 * (np.asarray(outside) - 15.0))


def power(percent: ArrayLike) -> Numbers:
    """Return what the set points cost, in kW."""
    u = np.asarray(percent) / 100
    return np.asarray(u[..., :5] ** 3 @ [12.0, 9.0, 6.0, 4.0, 3.0] + 31.0 * u[..., 5])


def weather(hour: ArrayLike) -> tuple[Numbers, Numbers]:
    """Return the temperature outside (degC) and the load (MW) at hours of the year."""
    turn = 2 * np.pi * np.asarray(hour, dtype=np.float64)
    outside = 11 - 11 * np.cos(turn / 8760) - 4 * np.cos(turn / 24 - 0.8) + 3 * np.sin(turn / 97)
    load = 0.85 + 0.12 * np.sin(turn / 24 - 2.1) + 0.09 * np.sin(turn / 168 + 0.4)
    return outside, load + 0.06 * np.sin(turn / 610 + 1.0)


def write_log(path: Path, hours: int = 8760, hold: int = 12, seed: int = 0) -> None:
    """Write the log of operators who hold set points of 70 to 100 % for some hours."""
    rng, hour = np.random.default_rng(seed), np.arange(hours)
    percent = rng.integers(70, 101, (-(-hours // hold), 6)).repeat(hold, axis=0)[:hours]
    outside, load = weather(hour)
    heat = hot_spot(percent, outside, load) + rng.uniform(-METER, METER, hours)
    spot = np.where(hour % 271 == 270, "", heat.round(2).astype(str))  # a reading is lost at times
    time = np.datetime64("2025-01-01T00:00") + hour.astype("timedelta64[h]")
    columns = [time, *percent.T, outside.round(2), load.round(3), spot]
    names = ["outside [degC]", "IT load [MW]", "hot spot [degC]"]
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["time", *(f"{name} [%]" for name in NAMES), *names])
        table.writerows(zip(*(column.tolist() for column in columns), strict=True))


if __name__ == "__main__":
    write_log(Path(sys.argv[1]))
