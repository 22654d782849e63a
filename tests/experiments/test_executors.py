import os
import sys
from functools import partial

import pytest

from surefoot.core.optional import MissingExtraError
from surefoot.experiments import cluster, executors
from surefoot.experiments.cluster import Cluster, ClusterError, Tls, checked_address
from surefoot.experiments.executors import Here, Pool, make_executor


@pytest.fixture
def no_network(monkeypatch):
    """Nobody may so much as look for the library that could connect."""

    def refuse(*_):
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(cluster, "need", refuse)


@pytest.mark.parametrize(
    "address",
    [
        "tcp://10.0.0.7:8786",
        "10.0.0.7:8786",
        "tcp://example.org:8786",
        "tcp://127.0.0.1.example.org:8786",
        "tcp://127.0.0.1@example.org:8786",
        "tcp://localhost.example.org:8786",
        "tcp://0.0.0.0:8786",
        "tcp://[::]:8786",
        "tcp://[::ffff:10.0.0.7]:8786",
    ],
)
def test_a_remote_cluster_without_tls_is_refused_before_anything_is_sent(no_network, address):
    with pytest.raises(ClusterError, match="is not on this machine and has no TLS"):
        Cluster(address)
    assert checked_address(address, insecure=True).startswith("tcp://")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.4.5.6", "localhost", "[::1]"])
def test_this_machine_is_trusted(host):
    assert checked_address(f"{host}:8786") == f"tcp://{host}:8786"
    assert checked_address(f"tcp://{host}:8786") == f"tcp://{host}:8786"


@pytest.mark.parametrize(
    "address",
    ["", "tcp://", "tcp://localhost", "localhost", "ws://localhost:1", "tcp://:80", "a:b"],
)
def test_what_is_no_address_is_refused(no_network, address):
    with pytest.raises(ClusterError, match="must be tcp://host:port or tls://host:port"):
        Cluster(address, insecure=True)


def test_tls_needs_its_files_and_files_need_tls(no_network, tmp_path):
    with pytest.raises(ClusterError, match="needs certificates"):
        Cluster("tls://10.0.0.7:8786")
    files = Tls(*(tmp_path / name for name in ("ca.pem", "cert.pem", "key.pem")))
    for path in files[:2]:
        path.touch()
    with pytest.raises(ClusterError, match=r"the TLS file '.*key\.pem' does not exist"):
        Cluster("tls://10.0.0.7:8786", tls=files)
    files.key.touch()
    assert checked_address("tls://10.0.0.7:8786", tls=files) == "tls://10.0.0.7:8786"
    with pytest.raises(ClusterError, match="certificates are for tls:// addresses"):
        Cluster("tcp://127.0.0.1:8786", tls=files)


def test_the_extra_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match="a cluster needs distributed"):
        Cluster("tcp://127.0.0.1:8786")


def test_which_executor_is_meant():
    assert isinstance(make_executor(0), Here)
    pool = make_executor()
    assert isinstance(pool, Pool)
    assert pool.width == executors.cores() + 1
    for workers in (-1, 1.5, True):
        with pytest.raises(ValueError, match="workers must be a whole number >= 1"):
            make_executor(workers)
    with pytest.raises(ValueError, match="workers must not be given with a cluster"):
        make_executor(2, cluster="tcp://127.0.0.1:8786")


def test_what_happens_here_is_a_future_too():
    future = Here().submit(divmod, 7, 3)
    assert future.result() == (2, 1)
    assert isinstance(Here().submit(divmod, 7, 0).exception(), ZeroDivisionError)


def test_a_worker_has_one_thread_a_library_and_the_caller_keeps_its_own(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("XLA_FLAGS", "--xla_mine=1")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with Pool(1) as pool:
        theirs = {name: pool.submit(os.getenv, name).result() for name in executors.PINNED}
    assert theirs.pop("XLA_FLAGS") == "--xla_mine=1 --xla_cpu_multi_thread_eigen=false"
    assert set(theirs.values()) == {"1"}
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "OPENBLAS_NUM_THREADS" not in os.environ


def test_a_worker_ends_when_its_parent_has_ended(monkeypatch):
    happened = []

    class Parent:
        def join(self):
            happened.append("the parent has ended")

    monkeypatch.setattr(executors, "parent_process", Parent)
    monkeypatch.setattr(executors.os, "_exit", happened.append)
    executors._end_with_parent()
    assert happened == ["the parent has ended", 1]


@pytest.mark.slow
def test_workers_that_cannot_start_are_an_error_and_not_a_cells_fault(monkeypatch):
    monkeypatch.setattr(executors, "_begin_worker", partial(os._exit, 9))
    pool = Pool(1)
    with pytest.raises(RuntimeError, match="end before they have anything to do"):
        pool.renew()
    pool.stop()
