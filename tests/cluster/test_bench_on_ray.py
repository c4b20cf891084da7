"""Actors beside worker processes:
`pytest -m services -n 0 -s tests/cluster/test_bench_on_ray.py` prints the table.
"""

import json
import os
import subprocess
import sys

from tests.cluster.local_cluster import ON_RAY, ROOT, cluster_of

pytestmark = ON_RAY

SECONDS = os.environ.get("HEXLIT_BENCH_SECONDS", "3")


def test_one_two_and_four_actors_are_measured_beside_as_many_workers() -> None:
    with cluster_of(3, cpus=2) as cluster:
        command = [
            sys.executable,
            "-m",
            "hexlit",
            "bench",
            "what=actors",
            f"ray.address='{cluster.address}'",
        ]
        command += [
            "accelerator=cpu",
            "board=9",
            "net=small",
            f"seconds={SECONDS}",
            "repeats=3",
            "json=true",
        ]
        run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    lines = json.loads(run.stdout)["measurements"]
    print()
    for line in lines:
        print(f"{line['what']:45} {line['median']:9,.0f} {line['unit']}, {line['detail']}")
    counts = [line["what"].split(",")[0].removeprefix("self-play in ") for line in lines]
    assert counts == ["1 worker", "1 actor", "2 workers", "2 actors", "4 workers", "4 actors"]
    assert all(line["median"] > 0 for line in lines)
