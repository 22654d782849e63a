"""Compilations are kept for the next process, in a folder of the user's own."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from surefoot.testing import why_missing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(why_missing("jax")), reason="JAX is not installed"),
]

GAME = """
import jax
from surefoot import PFS, Ball, play, problems
toy = problems.paper_toy(64, trials=2)
trace = play(PFS(eta=0.02, rho=0.03, domain=Ball(1.0)), toy, engine="scan", watch="off")
print(float(trace.total_cost.sum()).hex(), trace.ledger.compile_seconds)
print(jax.config.jax_compilation_cache_dir, jax.config.jax_persistent_cache_min_compile_time_secs)
"""


def start(home, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XDG_"))}
    environment |= {"XDG_CACHE_HOME": str(home), **variables}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", GAME],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert err == ""
    total, seconds, folder, least = out.split()
    return total, float(seconds), folder, float(least)


def entries(home):
    return sorted(p.name for p in Path(home).rglob("*-cache"))


def test_the_next_process_reads_what_the_first_compiled(tmp_path):
    total, first, *settings = finish(start(tmp_path))
    (entry,) = entries(tmp_path)
    assert settings == ["None", 1.0]  # JAX is left as it was found
    again, second, *_ = finish(start(tmp_path))
    assert again == total
    assert second < 0.8 * first
    assert entries(tmp_path) == [entry]
    (folder,) = (tmp_path / "surefoot").iterdir()
    assert not list(folder.glob("new-*"))  # what was being written is gone
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_several_processes_may_compile_the_same_at_once(tmp_path):
    processes = [start(tmp_path) for _ in range(3)]
    totals = {finish(process)[0] for process in processes}
    assert len(totals) == 1
    assert len(entries(tmp_path)) == 1


def test_a_cache_that_the_user_has_set_up_is_the_one_used(tmp_path):
    theirs = tmp_path / "theirs"
    *_, folder, least = finish(
        start(
            tmp_path / "home",
            JAX_COMPILATION_CACHE_DIR=str(theirs),
            JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
        )
    )
    assert (folder, least) == (str(theirs), 0.0)
    assert any("rounds" in name for name in entries(theirs))
    assert entries(tmp_path / "home") == []


def test_a_cache_that_the_user_has_switched_off_stays_off(tmp_path):
    finish(start(tmp_path, JAX_ENABLE_COMPILATION_CACHE="0"))
    assert entries(tmp_path) == []


def test_a_folder_that_others_can_write_is_not_used(tmp_path):
    finish(start(tmp_path))
    (folder,) = (tmp_path / "surefoot").iterdir()
    (old,) = folder.glob("*-cache")
    old.unlink()
    folder.chmod(0o777)
    finish(start(tmp_path))
    assert entries(tmp_path) == []


def test_a_home_that_cannot_be_made_costs_the_compilation_only(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    finish(start(blocked))
