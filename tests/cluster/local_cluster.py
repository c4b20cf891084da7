"""A Ray cluster of several nodes on this machine, on loopback, for tests; nothing of it is left at its end."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

ROOT = str(Path(__file__).resolve().parents[2])


@contextmanager
def cluster_of(nodes: int, **settings: Any) -> Iterator[Any]:
    """A head without processors and `nodes` nodes with one each; `settings` are Ray's own (`_system_config`)."""
    # Ray reads these when it is imported. Processes that it starts find the tests; nothing listens beyond loopback.
    os.environ |= {
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "5",  # by default 15, at which nothing moves on a busy machine
        "PYTHONPATH": os.pathsep.join([ROOT, *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    import ray
    from ray.cluster_utils import Cluster

    before = {process.pid for process in ray_processes()}
    cluster = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 0,
            "node_ip_address": "127.0.0.1",
            "include_dashboard": False,
            "include_log_monitor": False,
            # By default a node that is gone is missed after 15 seconds, and actors are sent there until then.
            "_system_config": {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 1000} | settings,
        },
    )
    try:
        for _ in range(nodes):
            add_node(cluster)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
        end = time.monotonic() + 90  # agents of a killed node notice its end within a minute
        while left := [process for process in ray_processes() if process.pid not in before]:
            if time.monotonic() > end:
                for process in left:
                    process.kill()
                raise AssertionError(f"processes of Ray are left: {left}")
            time.sleep(0.5)


def add_node(cluster: Any) -> Any:
    return cluster.add_node(num_cpus=1, node_ip_address="127.0.0.1", object_store_memory=80 * 2**20)


def ray_processes() -> list[psutil.Process]:
    """Processes of Ray on this machine that still run."""
    found = []
    for process in psutil.process_iter(["name", "cmdline", "status"]):
        command = " ".join(process.info["cmdline"] or [])
        if process.info["status"] != psutil.STATUS_ZOMBIE and (
            command.startswith("ray::") or "/ray/core/src/ray/" in command or "/ray/_private/" in command
        ):
            found.append(process)
    return found


def actors(doing: str = "") -> list[psutil.Process]:
    """Actors; with a method such as `.more`, those of which Ray says by the name of their process that they run it."""
    found = psutil.process_iter(["cmdline"])
    return [process for process in found if "".join(process.info["cmdline"] or []).startswith(f"ray::GameActor{doing}")]
