"""F22: what two ranks tell each other, and the batch norm of both together; one rank alone changes nothing."""

import multiprocessing
from typing import Any

import pytest
import torch
from torch import nn

from hexlit.accelerate.batch_norm import RankedBatchNorm2d, over_ranks
from hexlit.accelerate.collectives import all_gather, all_gather_rows, all_reduce, broadcast, on_writer
from tests.accelerate.second_rank import images, net, trained, work

pytestmark = pytest.mark.row("F22")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Results of the first of two ranks."""
    store = tmp_path_factory.mktemp("ranks") / "store"
    process = multiprocessing.get_context("spawn").Process(target=work, args=(1, store), daemon=True)
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
