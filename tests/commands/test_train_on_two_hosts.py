"""F22: ranks on two hosts with addresses of their own train as one process does; a host that is
gone ends the other.

As root, pytest -m services -n 0 -s tests/commands/test_train_on_two_hosts.py
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.commands.test_train_ranks import HEX, assert_equal, trained, wait_for_rows
from tests.commands.test_train_ranks import forecast as forecast  # a fixture
from tests.tables import rows_of
from tests.two_hosts import Host, missing, two_hosts

pytestmark = [pytest.mark.services]

WITHIN = 90.0
"""Seconds for the ranks of a host to end after they lose the other host."""


@pytest.fixture
def hosts() -> Iterator[tuple[Host, Host]]:
    if why := missing():
        pytest.skip(why)
    with two_hosts() as made:
        yield made


class Ranks:
    """`hexlit train` in one process on each of the `hosts`, started by torchrun."""

    def __init__(self, hosts: tuple[Host, Host], folder: Path, *settings: str) -> None:
        self.folder = folder
        self.output = [
            folder.with_name(f"{folder.name}-{number}.txt") for number in range(len(hosts))
        ]
        self.starters = []
        fixed = ["--nnodes", len(hosts), "--nproc-per-node", 1, "--master-addr", hosts[0].address]
        for number, host in enumerate(hosts):
            starter = [sys.executable, "-m", "torch.distributed.run", *fixed, "--node-rank", number]
            whole = [*starter, "-m", "hexlit", "train", *settings, f"hydra.run.dir={folder}"]
            with self.output[number].open("w") as output:
                self.starters.append(host.start(*whole, stdout=output, stderr=subprocess.STDOUT))

    def processes(self) -> list[psutil.Process]:
        """The rank of each host."""
        return [psutil.Process(starter.pid).children()[0] for starter in self.starters]


def test_two_hosts_train_as_one_process_does(hosts: tuple[Host, Host], tmp_path: Path) -> None:
    settings = [*HEX, "trainer.max_epochs=2"]
    one = trained(tmp_path / "one", *settings, "selfplay.workers=2", "selfplay.ahead=false")
    ranks = Ranks(hosts, tmp_path / "two", *settings)
    assert [starter.wait(900) for starter in ranks.starters] == [0, 0], ranks.output[0].read_text()[
        -3000:
    ]
    two = rows_of(tmp_path / "two" / "metrics.csv")
    assert_equal(two, one)
    assert [row["selfplay.games"] for row in two] == [row["selfplay.games"] for row in one]
    pairs = zip(two, one, strict=True)
    largest = max(
        abs(float(ours["train.loss"]) - float(theirs["train.loss"])) for ours, theirs in pairs
    )
    print(f"\ntwo hosts beside one process: losses differ by {largest:.1e} at most")


def test_a_host_that_is_gone_ends_the_other(
    hosts: tuple[Host, Host], forecast: list[str], tmp_path: Path
) -> None:
    """The second host loses its processes."""
    ranks = Ranks(hosts, tmp_path / "run", *forecast, "trainer.max_epochs=100000")
    wait_for_rows(ranks.starters[0], ranks.folder)
    first, second = ranks.processes()
    began = time.monotonic()
    ranks.starters[1].kill()
    second.kill()
    assert not psutil.wait_procs([first, second], timeout=WITHIN)[1]
    print(f"\nboth ranks have ended after {time.monotonic() - began:.1f} s")
