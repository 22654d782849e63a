"""The array libraries that an algorithm must work with, each imported when first used."""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.optional import MissingExtraError
from surefoot.core.types import Array

__all__ = ["BACKENDS", "asarray", "backends", "double_precision", "need_backend", "why_missing"]


class _Backend(NamedTuple):
    namespace: str  # the module that has asarray
    packages: tuple[str, ...]  # what must be installed
    install: str


_KNOWN = {
    "numpy": _Backend("numpy", ("numpy",), "numpy"),
    "array-api-strict": _Backend("array_api_strict", ("array_api_strict",), "array-api-strict"),
    "jax": _Backend("jax.numpy", ("jax",), "surefoot[jax]"),
    "torch": _Backend("torch", ("torch", "array_api_compat"), "surefoot[torch]"),
}

BACKENDS: tuple[str, ...] = tuple(_KNOWN)
"""The names of all backends, installed or not."""


def backends() -> list[str]:
    """Return the names of the backends that are installed.

    >>> backends()
    ['numpy', ...]
    """
    return [name for name in BACKENDS if why_missing(name) is None]


def why_missing(backend: str) -> str | None:
    """Return why a backend cannot be used here, as a reason to skip its checks; None if it can.

    >>> print(why_missing("numpy"))
    None
    """
    checks.one_of(BACKENDS, backend=backend)
    known = _KNOWN[backend]
    for package in known.packages:
        if find_spec(package) is None:
            return (
                f"the backend {backend!r} needs {package}, which is not installed: "
                f"pip install '{known.install}'"
            )
    return None


def need_backend(backend: str) -> None:
    """Raise if a backend is missing: a requested check must not be skipped silently."""
    reason = why_missing(backend)
    if reason is not None:
        raise MissingExtraError(reason)


def asarray(values: Any, backend: str) -> Array:
    """Return numbers as a float64 array of a backend, in fresh memory."""
    namespace = importlib.import_module(_KNOWN[backend].namespace)
    return namespace.asarray(np.array(values, dtype=np.float64))


def double_precision(backend: str) -> AbstractContextManager[Any]:
    """Return a context in which a backend computes in float64; JAX needs a switch."""
    if backend != "jax":
        return nullcontext()
    mode: AbstractContextManager[Any] = importlib.import_module("jax").enable_x64(True)
    return mode
