"""`hexlit.doctor`: devices, precisions, memory and versions of this machine."""

from html import escape
from typing import TYPE_CHECKING, Any

from hexlit.api.frames import frame

if TYPE_CHECKING:
    import pandas as pd


class Checkup:
    """Findings on this machine; a notebook shows the report of `hexlit doctor`.

    Attributes:
        found: all of it, the plain values of `hexlit doctor json=true`.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        """As above."""
        self.found = found

    @property
    def devices(self) -> "pd.DataFrame":
        """Each device with what works on it; a missing one says why in `reasons`."""
        return frame(self.found["devices"])

    @property
    def versions(self) -> "pd.DataFrame":
        """`package` and `version` of all that counts; None where it is not installed."""
        return frame(
            [{"package": name, "version": version} for name, version in self.found["versions"].items()],
            ("package", "version"),
        )

    def __str__(self) -> str:
        """The report of `hexlit doctor`."""
        import io

        from rich.console import Console

        from hexlit.reporting.doctor import print_report

        text = io.StringIO()
        print_report(self.found, Console(file=text, width=110, highlight=False))
        return text.getvalue()

    def _repr_html_(self) -> str:
        return f"<pre style='line-height:1.25'>{escape(str(self))}</pre>"


def doctor(compile: bool = False) -> Checkup:
    """Look at this machine as `hexlit doctor` does: devices, precisions, memory, versions.

    Args:
        compile: whether `torch.compile` is tried, too, which takes most of the time.
    """
    from hexlit.accelerate.inspection import inspect_machine
    from hexlit.commands.doctor import as_json, fused_obstacle
    from hexlit.commands.in_process import untouched_process

    with untouched_process():
        return Checkup(as_json(inspect_machine(compile=compile, fused_obstacle=fused_obstacle)))
