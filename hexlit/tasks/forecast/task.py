"""The task `forecast`: a forecaster for the shared code of runs."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np
from rich.console import Console

from hexlit.errors import UsageError
from hexlit.files import replacing
from hexlit.reporting.ending import print_ending
from hexlit.reporting.figures import draw
from hexlit.reporting.forecasts import ForecastPanel, ForecastPanels, draw_forecasts, print_forecast_summary
from hexlit.tasks.forecast.data_module import ForecastDataModule
from hexlit.tasks.forecast.evaluation import Example, examples, test_table
from hexlit.tasks.forecast.flops import forward_flops
from hexlit.tasks.forecast.module import ForecastModule
from hexlit.tasks.forecast.nets import ForecastNet
from hexlit.tasks.forecast.train_config import ForecastTrainConfig
from hexlit.tracking.metric_names import Metric
from hexlit.training.task import Session, Task

FIGURE = "forecasts.svg"
"""A few forecasts of the test set over the truth, in the folder of the run."""


class ForecastTask(Task):
    """Teaches a network to forecast series, and uses the test set once, at the very end."""

    unit = "windows"
    units = ("windows",)
    shown = ("loss", "mae", "skill_over_seasonal")
    metrics = (
        Metric("val.mae*", best="min"),
        Metric("val.rmse", best="min"),
        Metric("val.r2", best="max"),
        Metric("val.skill_*", best="max"),
    )
    fresh_data = True
    module: ForecastModule
    data: ForecastDataModule

    def __init__(self, config: ForecastTrainConfig, console: Console) -> None:
        """Output goes to `console`."""
        self._config = config
        self._console = console

    def set_up(self, session: Session) -> None:
        config, profile = self._config, session.profile
        self._session = session
        self.data = ForecastDataModule(config.data, seed=config.seed, profile=profile)
        self.module = ForecastModule(
            config.net, self.data.spec, config.optimizer, config.trainer, profile, loss=config.loss
        )

    def forward_flops(self) -> int:
        return forward_flops(self._config.net, self.module.shape)

    def check_resume(self, saved: Mapping[str, Any], folder: Path) -> None:
        for name, value in (("net", asdict(self._config.net)), ("loss", self._config.loss)):
            if saved[name] != value:
                raise UsageError(f"{name}: the run in {folder} was started with {saved[name]}; keep it to resume")

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        return {"data": self.data.figures()}

    def finish(self) -> Mapping[str, Any]:
        """The test table. Trials of a sweep have none: they are judged on validation data alone."""
        if self._session.trial:
            return {}
        net = cast(ForecastNet, self.module.net_in_use)
        self._draw(examples(net, self.data, self._config.figures) if self._config.figures else [])
        return {"test": [row.to_dict() for row in test_table(net, self.data)]}

    def summary(self) -> Mapping[str, Any]:
        return {"data": self.data.summary()}

    def show_summary(self, summary: Mapping[str, Any]) -> None:
        print_forecast_summary(self._console, summary, self._session.folder)

    def show_ending(self, ending: Mapping[str, Any], figures: Mapping[str, Any], command: str) -> None:
        print_ending(self._console, ending, figures, command)

    def _draw(self, shown: list[Example]) -> None:
        if not shown:
            return
        minutes = self.data.spec.step_minutes
        panels = [panel_of(example) for example in shown]
        unit = "hours" if minutes == 60 else f"steps of {minutes} minutes"
        figure = draw(draw_forecasts, ForecastPanels(value=shown[0].target, step=unit, panels=panels))
        with replacing(self._session.folder / FIGURE) as temporary:
            temporary.write_bytes(figure)


def panel_of(example: Example) -> ForecastPanel:
    """The window of `example`; its steps count from the last known value."""
    times = np.array([*example.past_times, *example.times], dtype="datetime64[m]")
    known = len(example.past)
    step = (times[known - 1] - times[known - 2]) if known > 1 else (times[known] - times[known - 1])
    steps = ((times - times[known - 1]) / step).tolist()
    return ForecastPanel(
        title=f"{example.series}, from {example.past_times[-1]}",
        past_steps=steps[:known],
        past=example.past,
        steps=steps[known:],
        truth=example.truth,
        forecast=example.forecast,
        naive=example.seasonal,
    )
