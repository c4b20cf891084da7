"""The host's resources for this process; a container's limit counts."""

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from hexlit.accelerate import host
from hexlit.accelerate.host import allocated_cores


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of 1,000 bytes, 800 of them free, and its folder of control groups."""
    monkeypatch.setattr(host, "CGROUPS", tmp_path)
    monkeypatch.setattr(
        psutil, "virtual_memory", lambda: SimpleNamespace(total=1000, available=800)
    )
    (tmp_path / "memory").mkdir()
    return tmp_path


def limit(folder: Path, names: tuple[str, str, str], limit: str, use: int, cache: int) -> None:
    for name, text in zip(
        (*names[:2], "memory.stat"), (limit, str(use), f"anon 1\n{names[2]} {cache}"), strict=True
    ):
        (folder / name).write_text(f"{text}\n")


V2 = ("memory.max", "memory.current", "inactive_file")
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def test_without_a_container_the_machine_s_own_memory_counts(machine: Path) -> None:
    assert (host.total_host_bytes(), host.free_host_bytes()) == (1000, 800)
    limit(machine, V2, "max", 5, 0)
    assert (host.total_host_bytes(), host.free_host_bytes()) == (1000, 800)


@pytest.mark.parametrize(("folder", "names"), [(".", V2), ("memory", V1)])
def test_a_container_s_limit_counts_and_its_file_cache_is_free(
    folder: str, names: tuple[str, str, str], machine: Path
) -> None:
    limit(machine / folder, names, "500", 300, 100)
    assert (host.total_host_bytes(), host.free_host_bytes()) == (500, 300)
    limit(machine / folder, names, "9223372036854771712", 300, 100)
    assert (host.total_host_bytes(), host.free_host_bytes()) == (1000, 800)
    limit(machine / folder, names, "500", 700, 100)
    assert host.free_host_bytes() == 0


@pytest.mark.parametrize(
    ("environment", "cores"),
    [
        ({}, None),
        (
            {
                "SLURM_JOB_ID": "7",
                "SLURM_CPUS_ON_NODE": "8",
                "SLURM_CPUS_PER_TASK": "2",
                "SLURM_STEP_ID": "0",
            },
            2,
        ),
        ({"SLURM_JOB_ID": "7", "SLURM_CPUS_ON_NODE": "8", "SLURM_CPUS_PER_TASK": "2"}, 8),
        ({"SLURM_JOB_ID": "7", "SLURM_CPUS_ON_NODE": "4", "SLURM_STEP_ID": "0"}, 4),
        ({"SLURM_CPUS_ON_NODE": "4"}, None),
        ({"SLURM_JOB_ID": "7", "SLURM_CPUS_ON_NODE": "(null)"}, None),
    ],
)
def test_cores_are_those_of_the_allocation(environment: dict[str, str], cores: int | None) -> None:
    assert allocated_cores(environment) == cores


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "150000 100000"}, 2),
        ({"cpu.max": "50000 100000"}, 1),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "300000", "cpu/cpu.cfs_period_us": "100000"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_a_container_s_quota_of_processor_time_counts(
    files: dict[str, str], cores: int | None, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine / "cpu").mkdir()
    for name, text in files.items():
        (machine / name).write_text(f"{text}\n")
    assert host.quota_cores() == cores
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(64)))
    assert host.usable_cores() == (cores or 64)


def test_a_mac_uses_its_fast_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `sysctl` knows them; an Intel Mac has one kind."""
    answers = iter(["6\n", ""])

    def run(command: list[str], **settings: object) -> SimpleNamespace:
        assert command == ["sysctl", "-n", "hw.perflevel0.logicalcpu"]
        return SimpleNamespace(stdout=next(answers))

    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr("subprocess.run", run)
    monkeypatch.setattr(host, "quota_cores", lambda: None)
    monkeypatch.setattr("os.cpu_count", lambda: 10)
    for cores in (6, 10):
        host.fast_cores.cache_clear()
        assert host.usable_cores() == cores
    host.fast_cores.cache_clear()
