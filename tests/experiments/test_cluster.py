"""A real cluster: a scheduler and workers, each a process of its own, on this machine alone."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from surefoot.experiments import run
from surefoot.experiments.executors import RunError

pytestmark = pytest.mark.cluster
dask = pytest.importorskip("dask")
pytest.importorskip("distributed")

HERE = Path(__file__).parent
TLS = {"ca-file": "ca", "client.cert": "cert", "client.key": "key"}
"""What dask's own configuration calls the files of TLS."""


class LocalCluster:
    """``dask scheduler`` and ``dask worker`` as a user starts them, dashboards off; `with` ends."""

    def __init__(self, folder, tls=None, **environment):
        self.folder, self.tls = folder, tls
        self.processes = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"{'tls' if tls else 'tcp'}://127.0.0.1:{self.port}"
        where = ["--host", self.address.rpartition(":")[0], "--port", self.port]
        self._start("scheduler", *where, **environment)

    def _start(self, what, *arguments, **environment):
        files = []
        if self.tls:
            files = ["--tls-ca-file", self.tls / "ca.pem", "--tls-cert", self.tls / "cert.pem"]
            files += ["--tls-key", self.tls / "key.pem"]
        options = ["--no-dashboard", *files, *arguments]
        path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        with (self.folder / f"{what}{len(self.processes)}.log").open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", what, *map(str, options)],
                env={**os.environ, "PYTHONPATH": path, **environment},
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def worker(self, **environment):
        here = ["--host", "127.0.0.1", "--nthreads", "1", "--no-nanny"]
        return self._start("worker", self.address, *here, **environment)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path, work):
    with LocalCluster(tmp_path) as made:
        yield made


def test_a_cluster_gives_the_bits_of_one_process(work, cluster, tmp_path):
    cluster.worker()
    cluster.worker()
    outcome = run(work.mixed(), tmp_path / "cluster", cluster=cluster.address)
    assert (outcome.done, outcome.failed) == (8, 0)
    run(work.mixed(), tmp_path / "here", workers=0)
    assert work.contents(tmp_path / "cluster") == work.contents(tmp_path / "here")


def test_a_worker_killed_in_the_middle_changes_nothing(work, cluster, tmp_path):
    workers = {w.pid: w for w in (cluster.worker(), cluster.worker())}
    made = work.many()
    killed = []

    def kill(event):
        if event.done >= 4 and not killed:
            killed.append(int(work.played()[-1][0]))
            workers[killed[0]].kill()

    outcome = run(
        made, tmp_path / "cluster", cluster=cluster.address, progress=kill, _work=work.slowly
    )
    assert killed
    assert (outcome.done, outcome.set_aside, outcome.failed) == (40, 0, 0)
    run(made, tmp_path / "here", workers=0)
    assert work.contents(tmp_path / "cluster") == work.contents(tmp_path / "here")


def test_a_cell_that_kills_workers_is_set_aside(work, tmp_path):
    # One death is enough for the scheduler to say so; it is patient otherwise.
    with LocalCluster(tmp_path, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as cluster:
        for _ in range(3):
            cluster.worker()
        made = work.spec(horizons=[11, work.POISON, 23], etas=[0.1])
        outcome = run(made, tmp_path / "out", cluster=cluster.address, _work=work.deadly)
        assert (outcome.done, outcome.set_aside) == (2, 1)
        assert "T = 13: set aside: killed its worker" in outcome.notes[0]


def test_a_cluster_that_goes_away_is_one_sentence_and_loses_nothing(work, cluster, tmp_path):
    cluster.worker()
    made = work.many()

    def end(event):
        if event.done == 3:
            cluster.processes[0].kill()

    began = time.monotonic()
    with pytest.raises(RunError, match="lost; finished cells are stored"):
        run(made, tmp_path / "out", cluster=cluster.address, progress=end, _work=work.slowly)
    assert time.monotonic() - began < 60
    kept = work.contents(tmp_path / "out")
    assert 3 <= len(kept) < 40
    assert run(made, tmp_path / "out", workers=0).skipped == len(kept)


def test_a_worker_with_other_sources_is_told_so(work, cluster, tmp_path):
    # Another surefoot, first on the path of the worker: the same with one more line.
    import surefoot

    theirs = tmp_path / "theirs"
    source = Path(surefoot.__file__).parent
    for path in source.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            target = theirs / "surefoot" / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    with (theirs / "surefoot" / "__init__.py").open("a") as file:
        file.write('__version__ = "0.0.0"\n')
    cluster.worker(PYTHONPATH=f"{theirs}{os.pathsep}{HERE}")
    with pytest.raises(RunError, match=r"would play something else: surefoot is 0\.0\.0"):
        run(work.spec(), tmp_path / "out", cluster=cluster.address)


def test_tls_is_that_of_dasks_own_configuration(work, tmp_path):
    security = pytest.importorskip("distributed.security").Security.temporary()
    files = {"ca": "tls_ca_file", "cert": "tls_client_cert", "key": "tls_client_key"}
    for name, attribute in files.items():
        path = tmp_path / f"{name}.pem"
        path.touch(mode=0o600)
        path.write_text(getattr(security, attribute))
    tls = {
        f"distributed.comm.tls.{key}": str(tmp_path / f"{name}.pem") for key, name in TLS.items()
    }
    with LocalCluster(tmp_path, tmp_path) as cluster:
        cluster.worker()
        with dask.config.set(tls):
            outcome = run(work.spec(), tmp_path / "out", cluster=cluster.address)
        assert outcome.done == 4
        plain = cluster.address.replace("tls", "tcp")
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "3s"}),
            pytest.raises(RunError, match="must answer and have a worker"),
        ):
            run(work.spec(horizons=[55]), tmp_path / "out", cluster=plain)


def test_ctrl_c_leaves_the_cluster_as_it_was(work, cluster, tmp_path):
    cluster.worker()
    made = work.many()

    def press(event):
        if event.done == 2:
            signal.raise_signal(signal.SIGINT)

    outcome = run(
        made, tmp_path / "out", cluster=cluster.address, progress=press, _work=work.slowly
    )
    assert outcome.interrupted
    assert 2 <= outcome.done < 40
    assert run(made, tmp_path / "out", cluster=cluster.address).done == 40 - outcome.done
