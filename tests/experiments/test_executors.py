import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from surefoot.core.optional import MissingExtraError
from surefoot.experiments import executors, run
from surefoot.experiments.executors import Cluster, InProcess, Pool, RunError, Workers, make_workers


def test_the_extra_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match="a cluster needs distributed"):
        Cluster("tcp://127.0.0.1:8786")


def test_which_executor_is_meant():
    assert isinstance(make_workers(0), InProcess)
    pool = make_workers()
    assert isinstance(pool, Pool)
    assert pool.width == executors.cores() + 1
    pool.close()
    for workers in (-1, 1.5, True):
        with pytest.raises(ValueError, match="workers must be a whole number >= 1"):
            make_workers(workers)
    with pytest.raises(ValueError, match="workers must not be given with a cluster"):
        make_workers(2, cluster="tcp://127.0.0.1:8786")


def test_what_happens_here_is_a_future_too():
    future = InProcess().submit(divmod, 7, 3)
    assert future.result() == (2, 1)
    assert isinstance(InProcess().submit(divmod, 7, 0).exception(), ZeroDivisionError)


@pytest.mark.slow
def test_a_worker_has_one_thread_a_library_and_the_caller_keeps_its_own(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("XLA_FLAGS", "--xla_mine=1")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    pool = Pool(1)
    theirs = {name: pool.submit(os.getenv, name).result() for name in executors.PINNED}
    pool.close()
    assert theirs.pop("XLA_FLAGS") == "--xla_mine=1 --xla_cpu_multi_thread_eigen=false"
    assert set(theirs.values()) == {"1"}
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "OPENBLAS_NUM_THREADS" not in os.environ


def test_a_worker_ends_when_its_driver_has_ended(monkeypatch):
    ours, theirs = executors.get_context("spawn").Pipe(duplex=False)
    ended = threading.Event()
    monkeypatch.setattr(executors.os, "_exit", lambda code: ended.set())
    monkeypatch.setattr(executors.signal, "signal", lambda *_: None)
    executors._begin_worker(ours)
    assert not ended.wait(0.05)
    theirs.close()
    assert ended.wait(5)


def test_any_executor_plays_and_belongs_to_its_caller(work, tmp_path):
    made = work.spec()
    with ThreadPoolExecutor(2) as threads:
        outcome = run(made, tmp_path / "threads", executor=threads)
        assert threads.submit(divmod, 7, 3).result() == (2, 1)
    assert (outcome.done, outcome.failed) == (4, 0)
    run(made, tmp_path / "here", workers=0)
    assert work.contents(tmp_path / "threads") == work.contents(tmp_path / "here")
    with pytest.raises(ValueError, match="executor must be an Executor, got 3"):
        make_workers(executor=3)
    broken = Workers(threads, 1)
    with pytest.raises(RunError, match="the executor broke"):
        broken.renew()


@pytest.mark.slow
def test_workers_that_cannot_start_are_an_error_and_not_a_cells_fault(monkeypatch):
    monkeypatch.setattr(executors, "_begin_worker", os._exit)
    pool = Pool(1)
    with pytest.raises(RuntimeError, match="end before they have anything to do"):
        pool.renew()
    pool.stop()
