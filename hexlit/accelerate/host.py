"""The host's resources for this process: cores and memory. Imports no torch, so that light commands
can use it.
"""

import contextlib
import hashlib
import math
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import psutil

CGROUPS = Path("/sys/fs/cgroup")
CPU_FILE = Path("/proc/cpuinfo")
"""Linux only; on other systems the platform names the processor."""


def in_notebook() -> bool:
    """Whether this process is an IPython kernel, as behind a notebook; a terminal of IPython is
    none.
    """
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


def pid_namespace() -> int:
    """Inode of Linux's namespace of process numbers, such as a container's; 0 on other systems."""
    with contextlib.suppress(OSError):
        return Path("/proc/self/ns/pid").stat().st_ino
    return 0


def process_space() -> str:
    """Space of process numbers: a machine, or a container on it. Equal numbers in equal spaces are
    the same process.
    """
    return f"{socket.gethostname()}/{pid_namespace()}"


def usable_cores() -> int:
    """CPU cores that this process may use: those of the machine, or fewer by its affinity,
    container or Slurm job. On a Mac the fast ones alone: equal slices wait for the slowest core.
    """
    if sys.platform == "darwin":
        cores = fast_cores() or os.cpu_count() or 1
    elif hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(cores, allocated_cores(os.environ) or cores, quota_cores() or cores)


@cache
def fast_cores() -> int | None:
    """Performance cores of a Mac; None where it has one kind of cores."""
    with contextlib.suppress(OSError, ValueError):
        command = ["sysctl", "-n", "hw.perflevel0.logicalcpu"]
        return int(subprocess.run(command, capture_output=True, text=True).stdout)
    return None


def quota_cores() -> int | None:
    """Cores that the container's CPU quota is worth, rounded up; None without a quota."""
    with contextlib.suppress(OSError, ValueError):  # ValueError: "max", no quota
        quota, period = map(int, (CGROUPS / "cpu.max").read_text().split())
        return max(1, math.ceil(quota / period))
    with contextlib.suppress(OSError, ValueError):
        quota, period = (
            int((CGROUPS / "cpu" / f"cpu.cfs_{name}_us").read_text())
            for name in ("quota", "period")
        )
        return max(1, math.ceil(quota / period)) if quota > 0 else None  # -1: no quota
    return None


def allocated_cores(environment: Mapping[str, str]) -> int | None:
    """Cores that Slurm has given to this process: to its task, or to its job on this machine; None
    outside a job.

    Slurm may leave it to the process to respect the number.
    """
    names = (
        ["SLURM_CPUS_PER_TASK"] if "SLURM_STEP_ID" in environment else []
    )  # a batch script is no task
    for name in (*names, "SLURM_CPUS_ON_NODE"):
        value = environment.get(name, "")
        if "SLURM_JOB_ID" in environment and value.isdecimal() and int(value) > 0:
            return int(value)
    return None


def processor_identity() -> str:
    """Model of the processor with a digest of its features, such as `AMD EPYC 9B45 1f2e3d4c`.

    Two machines of one model can offer different features: a virtual machine may hide some.
    """
    model, flags = platform.processor() or platform.machine(), ""
    with contextlib.suppress(OSError):
        entries = {}
        for line in reversed(CPU_FILE.read_text(encoding="utf-8").splitlines()):
            name, _, value = line.partition(":")
            entries[name.strip().lower()] = value.strip()
        model = entries.get("model name", model)
        flags = entries.get("flags", entries.get("features", ""))
    digest = hashlib.sha256(" ".join(sorted(flags.split())).encode()).hexdigest()[:8]
    return f"{model} {digest}"


def total_host_bytes() -> int:
    """Memory of the machine, or of the container if that has less, in bytes."""
    return min(int(psutil.virtual_memory().total), _limit_and_use()[0])


def free_host_bytes() -> int:
    """Memory that new processes can take without swapping, in bytes; a container's limit counts."""
    limit, use = _limit_and_use()
    return max(0, min(int(psutil.virtual_memory().available), limit - use))


def _limit_and_use() -> tuple[int, int]:
    """Limit of the container, and its use without the file cache, in bytes; without a limit the
    largest one, and 0.
    """
    for folder, limit_name, use_name, cache_name in (
        (CGROUPS, "memory.max", "memory.current", "inactive_file"),
        (
            CGROUPS / "memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
    ):
        with contextlib.suppress(
            OSError, ValueError, KeyError
        ):  # no such version here, or "max": no limit
            limit = int((folder / limit_name).read_text())
            use = int((folder / use_name).read_text())
            lines = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
            cache = {name: int(number) for name, number in lines}[cache_name]
            return limit, use - cache
    return sys.maxsize, 0
