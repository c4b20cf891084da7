"""The output of `hexlit bench`, and the machine behind the figures."""

from pathlib import Path
from typing import TYPE_CHECKING

from hexlit.commands.bench_settings import BenchConfig
from hexlit.errors import UsageError

if TYPE_CHECKING:  # torch is imported only for a measurement
    from hexlit.accelerate.profile import DeviceProfile
    from hexlit.bench.report import Report


def make_folders(config: BenchConfig) -> None:
    """Make the folders for results, before minutes are spent on them."""
    for key, folder in (("output", config.output), ("write", config.write and Path(config.write).parent)):
        try:
            if folder:
                Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{key}={getattr(config, key)}: cannot be written ({error.strerror})") from error


def give_out(report: "Report", config: BenchConfig) -> None:
    """Print the report, and write it if requested."""
    from hexlit.files import write_text_atomic
    from hexlit.reporting.bench import bench_page
    from hexlit.reporting.text import markdown, show, terminal

    page = bench_page(report)
    if config.json:
        print(report.to_json())
    elif config.markdown:
        print(markdown(page))
    else:
        show(page, terminal(wide=200))
    if config.output is not None:
        write_text_atomic(Path(config.output) / "bench.json", report.to_json() + "\n")
        write_text_atomic(Path(config.output) / "bench.md", markdown(page))


def machine(profile: "DeviceProfile") -> dict[str, str | int]:
    """The machine behind the figures."""
    import platform
    from importlib.metadata import version

    from hexlit.accelerate.host import processor_identity

    return {
        "device": str(profile.device),
        "threads": profile.threads,
        "processor": f"{platform.machine()} {processor_identity()}",
        **{name: version(name) for name in ("torch", "numba", "hexlit")},
    }
