"""The display of the monitor: live on a terminal,
plain lines elsewhere, and what it says in the end.
"""

import io
from dataclasses import dataclass, field

from rich.console import Console

from hexlit.reporting.monitor import ResourceDisplay

MIB = 2**20
NO_DRIVER = {"device_bytes": "no NVIDIA driver", "device_utilisation": "no NVIDIA driver"}


@dataclass(frozen=True)
class Sample:
    seconds: float = 0.0
    processes: int = 3
    cpu_percent: float | None = 50.0
    host_bytes: int | None = 100 * MIB
    device_bytes: int | None = None
    device_utilisation: float | None = None
    reasons: dict[str, str] = field(default_factory=lambda: NO_DRIVER)


def display(
    live: bool = False, duration: float | None = 600
) -> tuple[ResourceDisplay, io.StringIO]:
    file = io.StringIO()
    console = Console(file=file, width=100, height=40, force_terminal=live, highlight=False)
    return ResourceDisplay(
        "process 7", duration=duration, interval=5, console=console, live=live
    ), file


def picture(shown: ResourceDisplay) -> str:
    console = Console(file=io.StringIO(), width=100, record=True)
    console.print(shown.render())
    return console.export_text()


def row(text: str, heading: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.strip(" │").startswith(heading))
    return line.strip(" │").removeprefix(heading).split()


def test_without_a_terminal_there_is_one_plain_line_a_sample() -> None:
    shown, file = display()
    with shown:
        shown.update(Sample(cpu_percent=None))
        shown.update(Sample(seconds=5.0, cpu_percent=97.4, processes=1))
        shown.update(Sample(seconds=10.0, device_bytes=None))
    lines = file.getvalue().splitlines()
    assert lines == [
        "watching process 7 every 5 s",
        "     0.0 s  cpu –, memory 100 MiB, device memory –, device busy –, processes 3",
        "     5.0 s  cpu 97%, memory 100 MiB, device memory –, device busy –, processes 1",
        "    10.0 s  cpu 50%, memory 100 MiB, device memory –, device busy –, processes 3",
    ]


def test_the_summary_has_means_and_peaks_and_says_how_many_trials_fit() -> None:
    shown, file = display()
    with shown:
        shown.update(
            Sample(cpu_percent=None, device_bytes=2 * MIB, device_utilisation=0.5, reasons={})
        )
        shown.update(Sample(5.0, 1, 100.0, 300 * MIB, 6 * MIB, 1.0, {}))
        shown.update(Sample(10.0, 4, 50.0, 200 * MIB, 4 * MIB, 0.0, {}))
    shown.summarise("process 7 has ended", "resources-7.csv", 3, "cores", "6 cores, 2.0 a trial")
    text = file.getvalue()
    assert "process 7 has ended · 3 samples in 10.0 s · resources-7.csv\n" in text
    summary = text[text.index("samples in") :]
    assert row(summary, "cpu")[:3] == ["50%", "75%", "100%"]
    assert row(summary, "memory")[2:6] == ["200", "MiB", "300", "MiB"]
    assert row(summary, "device memory")[2:6] == ["4.00", "MiB", "6.00", "MiB"]
    assert row(summary, "device busy")[:3] == ["0%", "50%", "100%"]
    assert row(summary, "processes")[:3] == ["4", "3", "4"]
    assert text.endswith(
        "parallel trials like this one: 3, limited by cores (6 cores, 2.0 a trial)\n"
    )
    assert "\x1b" not in text
