"""`hexlit doctor`: abilities of this machine, found by trying:
devices, precisions, compiling, memory, versions.
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
        result = inspect_machine(
            compile=settings.compile, fused_obstacle=fused_obstacle, on_step=status.update
        )
    print_results(settings, result, doctor_page(result), Console(highlight=False))


def fused_obstacle() -> str:
    """Why the cpu does not evaluate networks with its fused operators;
    empty if it does, with the right results.
    """
    from hexlit.accelerate.config import AcceleratorConfig
    from hexlit.accelerate.inspection import warnings_of
    from hexlit.accelerate.profile import build_profile
    from hexlit.nets.config import NetConfig
    from hexlit.nets.evaluator import NetworkEvaluator
    from hexlit.nets.tower import build_net

    profile = build_profile(AcceleratorConfig(device="cpu", inference="fused"))
    net = build_net(NetConfig(channels=16, blocks=[1])).eval()
    with warnings_of("hexlit.nets.evaluator") as message:
        evaluator = NetworkEvaluator(net, size=5, swap=False, batch=8, profile=profile)
    return (
        ""
        if evaluator.backend == "fused"
        else " ".join(message) or f"{evaluator.backend} is taken instead"
    )


main = command("doctor", DoctorConfig, doctor)
