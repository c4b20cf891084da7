"""The compiled kernels of a Hex run; compiling the first of them begins before the import of torch."""

from hexlit.commands.compiling import Compiling
from hexlit.tasks.hex.config import HexTrainConfig


def begin(settings: HexTrainConfig) -> Compiling:
    """Start to compile the kernels that the run needs first."""
    return Compiling(["selfplay"] if settings.data.source == "selfplay" else [])
