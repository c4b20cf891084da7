"""The settings of Hydra's basic sweeper and of the launchers, with their meanings.

The names and defaults are those of Hydra and its plugins. The help does not read installed plugins, so it is the same
everywhere.
"""

from dataclasses import dataclass, field
from typing import Any

from hexlit.settings import one_of


@dataclass
class BasicSweeper:
    """Every combination of the values on the command line."""

    max_batch_size: int | None = None
    """Most trials that the launcher gets at a time. Null: all."""
    params: dict[str, str] | None = None
    """Values of further settings, as on the command line: {seed: "1,2,3"}."""


@dataclass
class BasicLauncher:
    """Trials on this machine."""


@dataclass
class Joblib:
    """Trials by joblib; needs the extra joblib."""

    n_jobs: int = -1
    """Trials at the same time; -1: one per core."""
    backend: str | None = None
    """Backend of joblib, such as loky. Null: by `prefer` and `require`."""
    prefer: str = one_of(("processes", "threads"), "processes")
    """Kind of workers, where `backend` is null."""
    require: str | None = one_of(("sharedmem",), None)
    """sharedmem: threads, whatever `prefer` says. Null: nothing."""
    verbose: int = 0
    """Amount of joblib's messages; 0: none."""
    timeout: float | None = None
    """Longest time of a trial, in milliseconds for loky. Null: no limit."""
    pre_dispatch: str = "2*n_jobs"
    """Trials that are handed out in advance."""
    batch_size: str = "auto"
    """Trials that a worker gets at a time."""
    temp_folder: str | None = None
    """Folder for large arrays that workers share. Null: joblib's own choice."""
    max_nbytes: str | None = None
    """Size above which an array is shared by a file, such as 1M. Null: never."""
    mmap_mode: str = "r"
    """Mode of these files, as in `numpy.memmap`."""


@dataclass
class SubmititLocal:
    """Trials by submitit on this machine, as on Slurm; needs the extra slurm."""

    submitit_folder: str = "${hydra.sweep.dir}/.submitit/%j"
    """Folder of a job's script and output; %j is its number."""
    timeout_min: int = 60
    """Time limit of a job, in minutes."""
    cpus_per_task: int | None = None
    """Cores of a task. Null: the cluster's default."""
    gpus_per_node: int | None = None
    """GPUs of each node. Null: none."""
    tasks_per_node: int = 1
    """Tasks on each node."""
    mem_gb: int | None = None
    """Memory of each node, in GB. Null: the cluster's default."""
    nodes: int = 1
    """Nodes of a job."""
    name: str = "${hydra.job.name}"
    """Name of the job."""
    stderr_to_stdout: bool = False
    """Whether errors go to the file of the output."""


@dataclass
class SubmititSlurm(SubmititLocal):
    """Each trial is a job of Slurm; needs the extra slurm."""

    partition: str | None = None
    """Partition, as in `sbatch --partition`. Null: the cluster's default."""
    qos: str | None = None
    """Quality of service, as in `sbatch --qos`."""
    comment: str | None = None
    """Comment on the job, as in `sbatch --comment`."""
    constraint: str | None = None
    """Features that a node must have, as in `sbatch --constraint`."""
    exclude: str | None = None
    """Nodes to leave out, as in `sbatch --exclude`."""
    gres: str | None = None
    """Generic resources, as in `sbatch --gres`, such as gpu:2."""
    cpus_per_gpu: int | None = None
    """Cores for each GPU, as in `sbatch --cpus-per-gpu`."""
    gpus_per_task: int | None = None
    """GPUs of a task, as in `sbatch --gpus-per-task`."""
    mem_per_gpu: str | None = None
    """Memory for each GPU, as in `sbatch --mem-per-gpu`."""
    mem_per_cpu: str | None = None
    """Memory for each core, as in `sbatch --mem-per-cpu`."""
    account: str | None = None
    """Account that the job is charged to, as in `sbatch --account`."""
    signal_delay_s: int = 120
    """Time between the signal USR1 and the end of a job at its time limit, in seconds."""
    max_num_timeout: int = 0
    """Times that a job at its time limit is submitted again."""
    additional_parameters: dict[str, Any] = field(default_factory=dict)
    """Further options of `sbatch`, such as {mail-user: me@example.org}."""
    array_parallelism: int = 256
    """Most jobs that run at the same time."""
    setup: list[str] | None = None
    """Commands of the job's script before its trial. Null: none."""


LAUNCHERS = {
    "basic": BasicLauncher,
    "joblib": Joblib,
    "submitit_local": SubmititLocal,
    "submitit_slurm": SubmititSlurm,
}
"""Entries of the group `hydra/launcher`."""
