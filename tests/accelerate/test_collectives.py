"""F22: what two ranks tell each other,
and the batch norm of both together; one rank alone changes nothing.
"""

import multiprocessing
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import torch
from torch import nn

from hexlit.accelerate import collectives
from hexlit.accelerate.batch_norm import RankedBatchNorm2d, over_ranks
from hexlit.accelerate.collectives import (
    all_gather,
    all_gather_rows,
    all_reduce,
    broadcast,
    on_writer,
    rendezvous,
)
from hexlit.accelerate.ranks import Ranks
from hexlit.commands.rank_processes import reserved_port
from hexlit.errors import UsageError
from tests.accelerate.second_rank import images, net, trained, work


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Results of the first of two ranks."""
    store = tmp_path_factory.mktemp("ranks") / "store"
    process = multiprocessing.get_context("spawn").Process(
        target=work, args=(1, store), daemon=True
    )
    process.start()
    found = work(0, store)
    process.join()
    assert process.exitcode == 0
    return found


def test_gradients_and_statistics_are_those_of_the_whole_batch(both: Any) -> None:
    """The ranks have different numbers of examples."""
    gradients, state, _ = both
    alone = net()
    for found, expected in zip(gradients, trained(alone, images(), 1.0), strict=True):
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    assert state.keys() == alone.state_dict().keys()
    for name, expected in alone.state_dict().items():
        torch.testing.assert_close(state[name], expected, atol=1e-5, rtol=1e-5)


def test_all_hear_the_first_one_and_one_another(both: Any) -> None:
    assert both[2] == [0, ["asked", 0], [{"rank": 0}, {"rank": 1}], [0, 10, 1, 11]]


def test_one_rank_alone_changes_nothing() -> None:
    rows, numbers = [torch.ones(2)], torch.ones(2)
    all_reduce([numbers])
    assert numbers.tolist() == [1, 1]
    assert all_gather_rows(rows) is rows
    assert (broadcast(3), all_gather(3), on_writer(lambda: 3)) == (3, [3], 3)
    plain, ranked = net(), net()
    over_ranks(ranked)
    assert isinstance(ranked[1], RankedBatchNorm2d)
    assert ranked[1].weight is dict(ranked.named_parameters())["1.weight"]
    assert torch.equal(plain(images()), ranked(images()))


def test_a_batch_norm_of_other_things_stays() -> None:
    model = nn.Sequential(nn.BatchNorm1d(3), nn.LayerNorm(3))
    over_ranks(model)
    assert [type(layer) for layer in model] == [nn.BatchNorm1d, nn.LayerNorm]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_says_whom_it_waits_for_and_ends_in_time(
    rank: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(collectives, "PATIENCE", 0.05)
    with reserved_port() as port:
        place = Ranks(rank, 3, rank, 3, port=port)
        missing = "1, 2" if rank == 0 else "0"
        told = f"WORLD_SIZE=3: waits for rank {missing} at 127.0.0.1:{port}"
        with pytest.raises(
            UsageError, match=f"{told}, which did not come within accelerator.rank_timeout"
        ):
            rendezvous(place, timedelta(seconds=0.3))
    assert [record.message for record in caplog.records] == [
        f"{told}; to train in one process, unset that variable"
    ]


def test_ranks_that_come_one_after_the_other_find_each_other() -> None:
    """The later ones while the first one waits, and the other way round."""
    with reserved_port() as port, ThreadPoolExecutor(2) as pool:
        second = pool.submit(rendezvous, Ranks(1, 2, 1, 2, port=port), timedelta(seconds=60))
        time.sleep(0.2)
        first = rendezvous(Ranks(0, 2, 0, 2, port=port), timedelta(seconds=60))
        store = second.result()
        first.set("from the first", "word")
        assert store.get("from the first") == b"word"


def test_a_port_that_another_program_uses_is_refused_in_one_line() -> None:
    with socket.socket() as other:
        other.bind(("0.0.0.0", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(
            UsageError, match=f"^MASTER_PORT={port}: another program uses it on 127.0.0.1$"
        ):
            rendezvous(Ranks(0, 2, 0, 2, port=port), timedelta(seconds=60))


def test_no_other_program_gets_the_port_of_ranks_that_are_about_to_begin() -> None:
    with reserved_port() as port, socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port))
