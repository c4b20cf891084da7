"""F22: whose rank a process is, as torchrun,
srun or hexlit says it, and what part of a batch is its.
"""

import pytest

from hexlit.accelerate.ranks import ALONE, Ranks, ranks
from hexlit.errors import UsageError

TORCHRUN = Ranks(rank=5, size=6, local_rank=1, local_size=2, address="a", port=29500).environment()
SRUN = {
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_STEP_NUM_NODES": "2",
    "SLURM_STEP_NODELIST": "node[07-08]",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
    "SLURM_JOB_ID": "123456",
    "SLURM_CPUS_PER_TASK": "3",
}


def test_torchrun() -> None:
    found = ranks(TORCHRUN)
    assert found == Ranks(5, 6, 1, 2, "a", 29500)
    assert (found.machine, found.machines, found.writes) == (2, 3, False)
    assert found.threads(9) == 4


def test_srun() -> None:
    found = ranks(SRUN)
    assert found == Ranks(3, 4, 1, 2, "node07", 18456, by_srun=True, cores=3)
    assert found.threads(16) == 3
    assert found.threads(2) == 2


def test_srun_on_one_machine_needs_no_name_of_it() -> None:
    found = ranks(SRUN | {"SLURM_STEP_NUM_NODES": "1", "SLURM_LOCALID": "3"})
    assert (found.address, found.local_size) == ("127.0.0.1", 4)
    lists = {"a": "a", "a,b": "a", "a[03-05,9],b": "a03", "rack[1,4]-x": "rack1-x"}
    assert [ranks(SRUN | {"SLURM_STEP_NODELIST": nodes}).address for nodes in lists] == [
        *lists.values()
    ]


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"RANK": "0", "WORLD_SIZE": "1"},
        SRUN | {"SLURM_STEP_NUM_TASKS": "1"},
        {"SLURM_NTASKS": "4"},
    ],
    ids=["nobody", "torchrun of one", "srun of one", "a batch script of many tasks"],
)
def test_a_process_alone(environment: dict[str, str]) -> None:
    assert ranks(environment) == ALONE
    assert (ALONE.writes, ALONE.several, ALONE.threads(7)) == (True, False, 7)


def test_machines_with_different_numbers_of_ranks_are_refused() -> None:
    with pytest.raises(UsageError, match="7 ranks, 2 of them here: every machine needs as many"):
        ranks(TORCHRUN | {"WORLD_SIZE": "7"})


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        ({"WORLD_SIZE": ""}, "WORLD_SIZE=: must be a whole number"),
        ({"RANK": "x"}, "RANK=x: must be a whole number"),
        ({"RANK": "6"}, "WORLD_SIZE=6: rank 6 is none of 6"),
        ({"LOCAL_RANK": "-1"}, "LOCAL_RANK=-1: must be a whole number"),
        ({"LOCAL_RANK": "2"}, "WORLD_SIZE=6: rank of this machine 2 is none of 2"),
        ({"LOCAL_WORLD_SIZE": "0"}, "rank of this machine 1 is none of 0"),
        ({"MASTER_PORT": "70000"}, "MASTER_PORT=70000: must be from 1 to 65535"),
    ],
)
def test_an_odd_value_of_torchrun_is_refused(odd: dict[str, str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        ranks(TORCHRUN | odd)


@pytest.mark.parametrize("name", [name for name in SRUN if name != "SLURM_STEP_NODELIST"])
def test_an_odd_value_of_srun_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name}=2x: must be a whole number"):
        ranks(SRUN | {name: "2x"})


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_parts_of_a_batch_are_the_batch(size: int, count: int) -> None:
    places = [Ranks(rank, size, rank, size) for rank in range(size)]
    batch = list(range(count))
    parts = [batch[place.part(count)] for place in places]
    assert all(parts), "every rank takes part in a step"
    assert (
        sorted(
            x
            for place, part in zip(places, parts, strict=True)
            if place.has_part(count)
            for x in part
        )
        == batch
    )
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
