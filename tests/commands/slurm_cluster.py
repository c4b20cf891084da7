"""A cluster of Slurm with two nodes on this machine, on loopback, for tests: nothing of it is left
at its end.

apt-get install -y slurm-wlm munge
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.tuning.database_servers import free_port

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun")
NODES = ("node1", "node2")
CORES = 4
"""Of each node, whatever the machine has."""
PLACES = os.pathsep.join(["/usr/sbin", os.environ.get("PATH", "")])


def missing() -> str | None:
    """Why no cluster can be started here; None: it can."""
    for program in PROGRAMS:
        if shutil.which(program, path=PLACES) is None:
            return f"{program} is not installed: apt-get install -y slurm-wlm munge"
    return None


class Cluster:
    """One controller and two nodes; clients find them by the environment variable SLURM_CONF."""

    def __init__(self, folder: Path) -> None:
        """Write the configuration of a cluster into the empty `folder`, and start it."""
        self.folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self.settings = folder / "slurm.conf"
        self._write()

    def start(self) -> None:
        """Start all, and wait until the nodes are idle."""
        munge = self.folder / "munge"
        own = "munge" if os.getuid() == 0 else None
        names = {
            "key-file": "key",
            "socket": "socket",
            "pid-file": "pid",
            "log-file": "log",
            "seed-file": "seed",
        }
        self._launch(
            "munged",
            "--foreground",
            *(f"--{name}={munge / file}" for name, file in names.items()),
            user=own,
        )
        wait_for(lambda: (munge / "socket").exists(), "munged")
        self._launch("slurmctld", "-D")
        for node in NODES:
            self._launch("slurmd", "-D", "-N", node)
        wait_for(lambda: self.states() == dict.fromkeys(NODES, "idle"), "slurmd")

    def stop(self) -> None:
        """End all jobs, then the cluster."""
        self.call("scancel", "--me")
        end = time.monotonic() + 30
        while {"idle"} != set(self.states().values()) and time.monotonic() < end:
            time.sleep(0.2)
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for process in psutil.process_iter(["cmdline", "environ"]):  # of jobs that would not end
            said = [
                *(process.info["cmdline"] or []),
                (process.info["environ"] or {}).get("SLURM_CONF", ""),
            ]
            if process.pid != os.getpid() and any(str(self.folder) in text for text in said):
                process.kill()

    def call(self, *command: object) -> str:
        """Output of a client of Slurm."""
        environment = {**os.environ, "SLURM_CONF": str(self.settings)}
        done = subprocess.run(
            list(map(str, command)), env=environment, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    def states(self) -> dict[str, str]:
        """Node -> its state, such as idle, mixed or drained."""
        lines = self.call("sinfo", "-h", "-N", "-o", "%N %t").splitlines()
        return dict(line.split() for line in lines)

    def jobs(self) -> dict[str, str]:
        """Job -> its state; those that ended a while ago are forgotten."""
        lines = self.call("squeue", "-h", "-r", "-t", "all", "-o", "%i %T").splitlines()
        return dict(line.split() for line in lines)

    def _write(self) -> None:
        munge = self.folder / "munge"
        for name in ("munge", "state", "spool", "log"):
            (self.folder / name).mkdir()
        key = munge / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        munge.chmod(0o711)
        if os.getuid() == 0:
            for path in (munge, key):
                shutil.chown(path, "munge", "munge")
        user = "root" if os.getuid() == 0 else psutil.Process().username()
        host, place = socket.gethostname(), self.folder
        lines = [
            "ClusterName=test",
            f"SlurmctldHost={host}(127.0.0.1)",
            f"SlurmctldPort={free_port()}",
            f"SlurmUser={user}",
            f"SlurmdUser={user}",
            *("AuthType=auth/munge", "CredType=cred/munge"),
            # a job that is queued again waits as long
            f"AuthInfo=socket={munge / 'socket'},cred_expire=5",
            f"StateSaveLocation={place / 'state'}",
            f"SlurmdSpoolDir={place / 'spool'}/%n",
            f"SlurmctldPidFile={place / 'slurmctld.pid'}",
            f"SlurmdPidFile={place}/slurmd-%n.pid",
            f"SlurmctldLogFile={place / 'log' / 'slurmctld'}",
            f"SlurmdLogFile={place / 'log'}/%n",
            *("ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "MpiDefault=none"),
            *(
                "SelectType=select/cons_tres",
                "SelectTypeParameters=CR_CPU",
                "SlurmdParameters=config_overrides",
            ),
            *(
                "AccountingStorageType=accounting_storage/none",
                "JobAcctGatherType=jobacct_gather/none",
            ),
            *("ReturnToService=2", "KillWait=2"),
            "SchedulerParameters=batch_sched_delay=1,sched_interval=2",
            *(
                f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs={CORES} State=UNKNOWN"
                for node in NODES
            ),
            "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
        ]
        self.settings.write_text("\n".join(lines) + "\n")
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")

    def _launch(self, program: str, *arguments: str, user: str | None = None) -> None:
        found = shutil.which(program, path=PLACES)
        assert found is not None, program
        with (self.folder / "log" / f"{program}.out").open("ab") as log:
            self._processes.append(
                subprocess.Popen(
                    [found, *arguments],
                    cwd=self.folder,
                    env={**os.environ, "SLURM_CONF": str(self.settings)},
                    user=user,
                    group=user,
                    extra_groups=None if user is None else [],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            )


def wait_for(condition: object, what: str, seconds: float = 60.0) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what} does not start"
        time.sleep(0.2)


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A running cluster in a folder of its own,
    not below pytest's, which other users may not enter.
    """
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        started = Cluster(Path(folder))
        try:
            started.start()
            yield started
        finally:
            started.stop()
