"""Long work that a run starts before slow imports. Imports nothing heavy."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hexlit.accelerate.profile import DeviceProfile


class Warmup:
    """The warmup of a task that has none; base class of the others.

    A derived class takes the settings of the run and may start work before the import of torch.
    """

    def faster_profile(self, profile: "DeviceProfile") -> tuple["DeviceProfile", str]:
        """The profile of the run where `accelerator.device=auto` gave `profile`, and a line that
        tells why it is another one.
        """
        return profile, ""

    def start(self, profile: "DeviceProfile") -> None:
        """Start what needs `profile`, before the import of Lightning."""

    def status(self) -> str:
        """A few words to show during the imports; empty if nothing is to be shown."""
        return ""

    def close(self) -> None:
        """End the work; may be called again."""
