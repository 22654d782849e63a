"""Arrays of numbers as npy bytes, and rows as bytes with their digests."""

from __future__ import annotations

import hashlib
import io
import math
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from surefoot.core.errors import InvalidValueError

__all__ = ["digest", "from_bytes", "pack", "read_array", "to_bytes", "unpack"]

_headers: dict[tuple[str, tuple[int, ...]], bytes] = {}


def to_bytes(array: np.ndarray) -> bytes:
    """Return an array of numbers as the bytes of an npy file.

    >>> from_bytes(to_bytes(np.array([1.5, -0.0])))
    array([ 1.5, -0. ])
    """
    key = (array.dtype.str, array.shape)
    header = _headers.get(key)
    if header is None:
        if array.dtype.kind not in "biuf":
            raise InvalidValueError(f"an array to be stored must hold numbers, got {array.dtype}")
        buffer = io.BytesIO()
        form = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape}
        np.lib.format.write_array_header_1_0(buffer, form)
        if len(_headers) > 256:
            _headers.clear()
        header = _headers[key] = buffer.getvalue()
    return header + array.tobytes()


def from_bytes(data: bytes) -> np.ndarray:
    """Return the array, writeable; raise ValueError unless the bytes are one npy array."""
    array, rest = read_array(data, 0)
    if rest != len(data):
        raise InvalidValueError("bytes after the end of an npy array")
    return array


def read_array(data: bytes, offset: int) -> tuple[np.ndarray, int]:
    """Return the first of several concatenated arrays, and where it ends."""
    if not isinstance(data, bytes):
        raise InvalidValueError(f"an npy array must be bytes, got {type(data).__name__}")
    begin = offset + 10 + int.from_bytes(data[offset + 8 : offset + 10], "little")
    try:
        shape, fortran, dtype = _read_header(data[offset:begin])
    except Exception as error:  # NumPy's parser of Python has many
        raise InvalidValueError("not an npy array of numbers") from error
    # The size is compared before anything of it is believed: a damaged header may ask for the moon.
    end = begin + math.prod(shape) * dtype.itemsize
    if fortran or dtype.kind not in "biuf" or min(shape, default=0) < 0 or end > len(data):
        raise InvalidValueError("not an npy array of numbers")
    count = math.prod(shape)
    flat = np.frombuffer(data, dtype=dtype, count=count, offset=begin)
    return flat.reshape(shape).copy(), end


@lru_cache(maxsize=256)
def _read_header(header: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the contents of an npy header; cached, since NumPy parses Python to read it."""
    stream = io.BytesIO(header)
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise InvalidValueError(f"npy format {version} is not one that is written here")
    return np.lib.format.read_array_header_1_0(stream)


def digest(*parts: bytes | str | float | int | None) -> bytes:
    """Return SHA-256 of the parts, each with its type and length, so that no two lists share one.

    >>> digest("a", None) == digest("a"), digest(0.0) == digest(-0.0)
    (False, False)
    """
    return hashlib.sha256(pack(*parts)).digest()


def pack(*parts: bytes | str | float | int | None) -> bytes:
    """Return the parts in one, each with its type and length.

    >>> unpack(pack("a", None, -0.0, 3, b"b"))
    ('a', None, -0.0, 3, b'b')
    """
    packed: list[bytes] = []
    for part in parts:
        if part is None:
            kind, raw = b"n", b""
        elif isinstance(part, bytes):
            kind, raw = b"b", part
        elif isinstance(part, str):
            kind, raw = b"s", part.encode()
        elif isinstance(part, float):
            kind, raw = b"f", struct.pack("<d", part)
        else:
            kind, raw = b"i", str(part).encode()
        packed += (kind, len(raw).to_bytes(8, "little"), raw)
    return b"".join(packed)


def unpack(data: bytes) -> tuple[bytes | str | float | int | None, ...]:
    """Return the parts that were packed; raise ValueError unless the bytes are such."""
    parts: list[bytes | str | float | int | None] = []
    at = 0
    while at < len(data):
        kind, begin = data[at : at + 1], at + 9
        at = begin + int.from_bytes(data[at + 1 : begin], "little")
        raw = data[begin:at]
        try:
            if kind not in _PARTS or at > len(data):
                raise ValueError
            parts.append(_PARTS[kind](raw))
        except (ValueError, struct.error) as error:
            raise InvalidValueError("not parts that were packed") from error
    return tuple(parts)


_PARTS: dict[bytes, Callable[[bytes], bytes | str | float | int | None]] = {
    b"n": lambda raw: None,
    b"b": bytes,
    b"s": lambda raw: raw.decode(),
    b"f": lambda raw: float(struct.unpack("<d", raw)[0]),
    b"i": lambda raw: int(raw),
}
