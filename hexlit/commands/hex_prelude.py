"""The compiled kernels of a Hex run; compiling the first of them begins before the import of torch."""

from hexlit.commands.compiling import Compiling
from hexlit.tasks.hex.train_config import HexTrainConfig


def begin(settings: HexTrainConfig) -> Compiling:
    """Start to compile the kernels that the run needs first."""
    return Compiling(["selfplay"] if settings.data.source == "selfplay" else [])


def sets_to_measure(settings: HexTrainConfig) -> list[str]:
    """The kernels of its first evaluation, by the names in `hexlit.commands.kernels`."""
    from hexlit.hex.openings import SOLVED

    if not settings.evaluation.every_epochs:
        return []
    return ["search", "roots", *(["solver", "positions"] if settings.board in SOLVED else [])]
