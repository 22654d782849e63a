"""Results of experiments on disk: records, the file, rows, exports."""

from surefoot._sqlite import StoreError
from surefoot.results.export import to_csv, to_netcdf, to_parquet, to_xarray
from surefoot.results.record import CellResult, Facts, Place, Status
from surefoot.results.rows import Row, gather, mean_std
from surefoot.results.store import DamagedCellError, Results

__all__ = [
    "CellResult",
    "DamagedCellError",
    "Facts",
    "Place",
    "Results",
    "Row",
    "Status",
    "StoreError",
    "gather",
    "mean_std",
    "to_csv",
    "to_netcdf",
    "to_parquet",
    "to_xarray",
]
