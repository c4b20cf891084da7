"""Its configuration."""

from dataclasses import dataclass, replace

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.errors import UsageError
from hexlit.tasks.run_config import RunConfig


@dataclass
class LineConfig(RunConfig):
    """What `hexlit train task=line` takes."""

    slope: float = 3.0
    """Of the line."""
    points: int = 64
    """Points to learn from."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.points < 2:
            raise UsageError(f"points={self.points}: a line takes 2 or more")

    @property
    def hardware(self) -> AcceleratorConfig:
        return replace(self.accelerator, train_batch=16)
