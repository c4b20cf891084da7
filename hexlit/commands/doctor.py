"""`hexlit doctor`: abilities of this machine, found by trying: devices, precisions, compiling,
memory, versions.
"""

from dataclasses import dataclass

from rich.console import Console

from hexlit.commands.application import command
from hexlit.commands.command_line import print_results


@dataclass
class DoctorConfig:
    """Settings of `hexlit doctor`."""

    compile: bool = True
    """Whether to try `torch.compile`, which takes most of the time."""
    json: bool = False
    """Whether to print one JSON object instead of text."""


def doctor(settings: DoctorConfig) -> None:
    """Inspect the machine and print the results; failures are part of the answer."""
    from hexlit.accelerate.inspection import inspect_machine
    from hexlit.reporting.doctor import doctor_page

    with Console(stderr=True).status("looking around") as status:
        result = inspect_machine(compile=settings.compile, on_step=status.update)
    print_results(settings, result, doctor_page(result), Console(highlight=False))


main = command("doctor", DoctorConfig, doctor)
