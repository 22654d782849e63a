"""SQLite files of the library: created whole, one writer at a time, arrays as npy bytes.

Only :mod:`~surefoot._sqlite.store` and :mod:`~surefoot._sqlite.connection` use :mod:`sqlite3`;
:mod:`~surefoot._sqlite.files` reads the first hundred bytes of a file before SQLite sees it,
:mod:`~surefoot._sqlite.npy` turns arrays into bytes and digests, and
:mod:`~surefoot._sqlite.mark` records beside a file how far it has been written.
"""

from surefoot._sqlite.files import DamagedError, Kind, StoreError
from surefoot._sqlite.npy import digest, from_bytes, read_array, to_bytes
from surefoot._sqlite.store import (
    Statement,
    Store,
    create,
    mending,
    open_reader,
    open_writer,
)

__all__ = [
    "DamagedError",
    "Kind",
    "Statement",
    "Store",
    "StoreError",
    "create",
    "digest",
    "from_bytes",
    "mending",
    "open_reader",
    "open_writer",
    "read_array",
    "to_bytes",
]
