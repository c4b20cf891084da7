"""The configuration of `hexlit train task=forecast`."""

from dataclasses import dataclass, field, replace

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.choices import check_words, one_of
from hexlit.errors import UsageError
from hexlit.tasks.forecast.config import ForecastDataConfig, ForecastNetConfig
from hexlit.tasks.run_config import RunConfig

LOSSES = ("mae", "mse", "huber")


@dataclass
class ForecastTrainConfig(RunConfig):
    """Settings of `hexlit train task=forecast`."""

    loss: str = one_of(LOSSES, "mae")
    """Loss to minimise, over scaled values."""
    figures: int = 6
    """Number of forecasts of the test set in the final figure; 0: none."""
    net: ForecastNetConfig = field(default_factory=ForecastNetConfig)
    data: ForecastDataConfig = field(default_factory=ForecastDataConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_words(self)
        if self.figures < 0:
            raise UsageError(f"figures={self.figures}: must be 0 or more")

    def check_installed(self) -> None:
        if self.data.path is None:
            from hexlit.tasks.forecast.source import packaged_weather

            packaged_weather()

    @property
    def subject(self) -> str:
        return f"{self.net.kind}, {self.data.horizon} steps ahead of {self.data.history}"

    @property
    def hardware(self) -> AcceleratorConfig:
        """Windows per step come from the recipe, unless the hardware's section overrides them."""
        asked = self.accelerator
        return replace(asked, train_batch=self.data.batch if asked.train_batch is None else asked.train_batch)
