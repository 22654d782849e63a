"""Compile with JAX, and cache compilations for the next process."""

from __future__ import annotations

import hashlib
import os
import platform
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Compiled", "cache_folder", "compile_kept"]


class Compiled(NamedTuple):
    """A compiled function.

    Attributes:
        call: the function.
        seconds: what tracing and compiling took, or reading what an earlier process compiled.
    """

    call: Any
    seconds: float


def compile_kept(jax: Any, function: Any, *arguments: Any) -> Compiled:
    """Compile a jitted function for arguments of these shapes."""
    began = time.perf_counter()
    lowered = function.lower(*arguments)
    with _kept(jax):
        call = lowered.compile()
    return Compiled(call, time.perf_counter() - began)


def cache_folder(jax: Any) -> Path:
    """Return the user's cache folder for this version of JAX and kind of processor.

    Machine code of one processor may not run on another, and home folders are shared.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not home.is_absolute():  # as its specification wants it
        home = Path.home() / ".cache"
    return home / "surefoot" / f"jax-{jax.__version__}-{_processor()}"


def _processor() -> str:
    """Return the machine's kind, and a digest of what its processor can do."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        flags = next(line for line in text.splitlines() if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        flags = platform.processor()
    return f"{platform.machine()}-{hashlib.sha256(flags.encode()).hexdigest()[:12]}"


@contextmanager
def _kept(jax: Any) -> Iterator[None]:
    """Use JAX's persistent cache in the user's folder for the compilations inside.

    JAX's own variables take precedence, if the user has set up or disabled its cache. JAX
    writes entries in place, where another process may read half of one; so it is given a folder of
    links to the entries that are there, and what it adds is moved over whole.
    """
    config = jax.config
    if config.jax_compilation_cache_dir is not None or not config.jax_enable_compilation_cache:
        yield
        return
    folder = cache_folder(jax)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _private(folder):
            yield
            return
        staged = tempfile.TemporaryDirectory(dir=folder, prefix="new-", ignore_cleanup_errors=True)
    except OSError:  # a home that cannot be written: every process compiles for itself
        yield
        return
    from jax.experimental.compilation_cache.compilation_cache import reset_cache

    settings = {
        "jax_compilation_cache_dir": staged.name,
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        # Further caches would put the folder's name into the key, and it is another every time.
        "jax_persistent_cache_enable_xla_caches": "",
    }
    before = {name: getattr(config, name) for name in settings}
    with staged:
        try:
            _link(folder, Path(staged.name))
            reset_cache()
            for name, value in settings.items():
                config.update(name, value)
            yield
        finally:
            for name, value in before.items():
                config.update(name, value)
            reset_cache()
            _publish(Path(staged.name), folder)


def _private(folder: Path) -> bool:
    """Return whether only this user can write there: cached programs are executed."""
    if not hasattr(os, "getuid"):
        return True
    found = folder.stat()
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _link(folder: Path, staged: Path) -> None:
    try:
        for entry in folder.glob("*-cache"):
            (staged / entry.name).symlink_to(entry)
    except OSError:
        pass  # no links here: nothing is found, and everything is compiled


def _publish(staged: Path, folder: Path) -> None:
    try:
        for entry in staged.glob("*-cache"):
            if not entry.is_symlink():
                entry.replace(folder / entry.name)
    except OSError:
        pass
