"""Its configuration."""

from dataclasses import dataclass, replace

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.settings import number
from hexlit.tasks.run_config import RunConfig


@dataclass
class LineConfig(RunConfig):
    """What `hexlit train task=line` takes."""

    slope: float = 3.0
    """Of the line."""
    points: int = number(64, "[2, inf)")
    """Points to learn from."""

    @property
    def hardware(self) -> AcceleratorConfig:
        return replace(self.accelerator, train_batch=16)
