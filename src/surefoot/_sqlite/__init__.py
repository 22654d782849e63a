"""SQLite files of the library: created whole, one writer at a time, arrays as npy bytes.

Only :mod:`~surefoot._sqlite.store`, :mod:`~surefoot._sqlite.connection` and
:mod:`~surefoot._sqlite.snapshot`, which reads what others write, use :mod:`sqlite3`;
:mod:`~surefoot._sqlite.files` reads the first hundred bytes of a file before SQLite sees it,
:mod:`~surefoot._sqlite.npy` turns arrays into bytes and digests, and
:mod:`~surefoot._sqlite.mark` keeps beside a file its last writes, durably, by one sync each.
"""

from surefoot._sqlite.files import DamagedError, Kind, StoreError
from surefoot._sqlite.mend import mending
from surefoot._sqlite.npy import digest, from_bytes, pack, read_array, to_bytes, unpack
from surefoot._sqlite.snapshot import snapshot
from surefoot._sqlite.store import (
    Statement,
    Store,
    create,
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
    "pack",
    "read_array",
    "snapshot",
    "to_bytes",
    "unpack",
]
