"""Which compiled kernels a Hex run needs, and the first of them begun before torch is imported."""

from hexlit.commands.compiling import Compiling
from hexlit.tasks.hex.train_config import HexTrainConfig


def begin(settings: HexTrainConfig) -> Compiling:
    """Start to compile what the run needs before it begins."""
    return Compiling(["selfplay"] if settings.data.source == "selfplay" else [])


def sets_to_measure(settings: HexTrainConfig) -> list[str]:
    """The kernels that its first evaluation needs, by the names in `hexlit.commands.kernels`."""
    from hexlit.hex.openings import SOLVED

    if not settings.evaluation.every_epochs:
        return []
    return ["search", "roots", *(["solver", "positions"] if settings.board in SOLVED else [])]
