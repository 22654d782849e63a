"""The table on disk: what was played, with which constants, and what came of it."""

from surefoot._sqlite import StoreError
from surefoot.results.export import to_csv, to_netcdf, to_parquet, to_xarray
from surefoot.results.record import CellResult, Place, Status
from surefoot.results.store import DamagedCellError, Results

__all__ = [
    "CellResult",
    "DamagedCellError",
    "Place",
    "Results",
    "Status",
    "StoreError",
    "to_csv",
    "to_netcdf",
    "to_parquet",
    "to_xarray",
]
