"""A Ray cluster of several nodes on this machine,
on loopback, for tests; nothing of it is left at its end.
"""

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import pytest

ON_RAY = [
    pytest.mark.services,
    # Looked for and not imported: it reads the environment, which `cluster_of` sets first.
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is the extra ray"),
]
"""What a module marks its tests with that runs them on a cluster."""
ROOT = str(Path(__file__).resolve().parents[2])
STORE = 80 * 2**20
"""Bytes of a node's object store."""
_MARK = "HEXLIT_TEST_CLUSTER"
_SIGNS = ("ray::", "/ray/core/src/ray/", "/ray/_private/")
"""In the command lines of Ray's processes."""


@contextmanager
def cluster_of(
    nodes: int, *, cpus: int = 1, head_store: int = 150 * 2**20, **settings: Any
) -> Iterator[Any]:
    """A head without processors and `nodes` nodes with `cpus` each; `settings` are Ray's own
    (`_system_config`).

    The object store of the head has `head_store` bytes, those of the nodes `STORE`.
    """
    # Ray reads these when it is imported. Processes that it starts find the tests; nothing listens
    # beyond loopback.
    os.environ |= {
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "5",  # by default 15, at which nothing moves on a busy machine
        _MARK: secrets.token_hex(8),
        # processes that write their name over their command line leave the mark where it is
        "SPT_NOENV": "1",
        "PYTHONPATH": os.pathsep.join([ROOT, *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 0,
            "node_ip_address": "127.0.0.1",
            "include_dashboard": False,
            "include_log_monitor": False,
            "object_store_memory": head_store,
            # By default a node that is gone is missed after 15 seconds, and tasks are sent there
            # until then.
            "_system_config": {
                "health_check_initial_delay_ms": 1000,
                "health_check_period_ms": 1000,
            }
            | settings,
        },
    )
    try:
        for _ in range(nodes):
            add_node(cluster, cpus)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
        end = time.monotonic() + 90  # agents of a killed node notice its end within a minute
        while left := ray_processes():
            if time.monotonic() > end:
                for process in left:
                    process.kill()
                raise AssertionError(f"processes of Ray are left: {left}")
            time.sleep(0.5)


def add_node(cluster: Any, cpus: int = 1) -> Any:
    return cluster.add_node(num_cpus=cpus, node_ip_address="127.0.0.1", object_store_memory=STORE)


def ray_processes() -> list[psutil.Process]:
    """Processes of Ray that still run for the latest cluster of this process,
    and none of anybody else.
    """
    return [
        process
        for process in psutil.process_iter(["cmdline", "status"])
        if process.info["status"] != psutil.STATUS_ZOMBIE
        and any(sign in " ".join(process.info["cmdline"] or []) for sign in _SIGNS)
        and _is_ours(process)
    ]


def workers(doing: str = "do_job") -> list[psutil.Process]:
    """Processes whose name in Ray shows that they run this function."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if "".join(process.info["cmdline"] or []).startswith(f"ray::{doing}") and _is_ours(process)
    ]


def _is_ours(process: psutil.Process) -> bool:
    try:
        mark = process.environ().get(_MARK)
    except psutil.Error:  # it has ended
        return False
    return bool(process.pid != os.getpid() and mark == os.environ[_MARK])
