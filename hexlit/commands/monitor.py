"""`hexlit monitor`: a run's use of the machine, watched from outside, and how many such runs fit at
a time.
"""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hexlit.commands.application import command
from hexlit.errors import UsageError
from hexlit.settings import Settings, number

if TYPE_CHECKING:  # psutil and rich are imported only for a real watch
    from hexlit.accelerate.machine import ProcessTree, ResourceSampler

RUNS = Path("runs")


@dataclass
class MonitorConfig(Settings):
    """Settings of `hexlit monitor`."""

    duration: float | None = number(600.0, "(0, inf)", unit="seconds")
    """Length of the watch, in seconds. Null: until the target ends or Ctrl-C."""
    interval: float = number(5.0, "(0, inf)", unit="seconds")
    """Time between two samples, in seconds."""
    pid: int | None = number(None, "[1, inf)")
    """Number of the process to watch, with all its descendants."""
    run: str | None = None
    """Folder of the run to watch. Null, and no pid: the newest running one below `runs`."""
    csv: str | None = None
    """File for the samples. Null: `monitor.csv` in the run's folder, or `resources-PID.csv`
    here.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pid is not None and self.run is not None:
            raise UsageError(f"pid={self.pid}, run={self.run}: name one of the two")


def monitor(settings: MonitorConfig) -> None:
    """Watch the target until it ends, the time is up or Ctrl-C, and print the results."""
    pid, name, table = find_target(settings)
    from psutil import NoSuchProcess

    from hexlit.accelerate.machine import ProcessTree, ResourceSampler
    from hexlit.reporting.monitor import ResourceDisplay

    display = ResourceDisplay(name, duration=settings.duration, interval=settings.interval)
    try:
        tree = ProcessTree(pid)
    except NoSuchProcess as error:
        raise UsageError(f"pid={pid}: there is no such process") from error
    how_it_ended = ""
    with closing(tree):
        sampler = ResourceSampler(tree, settings.interval, table, display.update)
        try:
            with display, sampler:
                if sampler.ended.wait(settings.duration):
                    how_it_ended = f"process {pid} has ended"
        except KeyboardInterrupt:  # the usual end without a time limit: the result is printed too
            how_it_ended = "interrupted"
        display.summarise(how_it_ended, str(table), *recommend(tree, sampler))


def find_target(settings: MonitorConfig) -> tuple[int, str, Path]:
    """The id of the process to watch, its name, and the file for its table.

    Raises:
        UsageError: there is no such run, or it has ended.
    """
    from hexlit.accelerate.machine import newest_live_run, read_process_file

    if settings.pid is not None:
        return (
            settings.pid,
            f"process {settings.pid}",
            Path(settings.csv or f"resources-{settings.pid}.csv"),
        )
    folder = None if settings.run is None else Path(settings.run)
    process = None if folder is None else read_process_file(folder)
    if folder is None:
        folder, process = newest_live_run(RUNS) or (RUNS, None)
    if process is None or not process.alive:
        raise UsageError(
            f"run={folder}: no run is running there; name what to watch, run=FOLDER or pid=N"
        )
    return (
        process.pid,
        f"{folder}, process {process.pid}",
        Path(settings.csv or folder / "monitor.csv"),
    )


def recommend(tree: "ProcessTree", sampler: "ResourceSampler") -> tuple[int, str, str]:
    """Number of trials like the target that fit at a time, itself included; their limit; and the
    figures behind it.
    """
    from hexlit.accelerate.host import free_host_bytes, usable_cores
    from hexlit.accelerate.machine import recommended_trials
    from hexlit.reporting.quantities import format_bytes

    seen = sampler.summary()
    last = sampler.samples[-1] if sampler.samples and tree.alive else None
    cores = usable_cores()
    cores_a_trial = max(1.0, (seen.cpu_percent or 0.0) / 100)
    held = (last.host_bytes or 0, last.device_bytes or 0) if last else (0, 0)
    host = free_host_bytes() + held[0]
    free_device = sum(tree.nvml.free_bytes()) or None
    device = None if free_device is None else free_device + held[1]
    device_a_trial = seen.device_bytes
    resources = {"host memory": (host, seen.host_bytes), "cores": (cores, cores_a_trial)}
    trials, limit = recommended_trials(resources | {"device memory": (device, device_a_trial)})
    basis = [f"{cores} cores, {cores_a_trial:.1f} a trial"]
    basis.append(f"{format_bytes(host)} of memory, {format_bytes(seen.host_bytes)} a trial")
    if device is not None and device_a_trial:
        basis.append(f"{format_bytes(device)} on devices, {format_bytes(device_a_trial)} a trial")
    return trials, limit, "; ".join(basis)


main = command("monitor", MonitorConfig, monitor)
