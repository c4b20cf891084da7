"""The task `forecast`: a forecaster for the shared code of runs."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import torch

from hexlit.reporting.figures import draw
from hexlit.reporting.forecasts import draw_forecasts, report_sections
from hexlit.tasks.forecast.config import ForecastTrainConfig
from hexlit.tasks.forecast.evaluation import error_table, example_panels
from hexlit.tasks.forecast.module import (
    ForecastDataModule,
    ForecastModule,
    ForecastNet,
    blank_batch,
)
from hexlit.tasks.supervised import SupervisedTask, forward_flops
from hexlit.tracking.metric_names import Metric
from hexlit.training.checkpoints import check_same
from hexlit.training.task import Session

SHOWN = 6
"""Forecasts of the test set in the figure."""


class ForecastTask(SupervisedTask):
    """Teaches a network to forecast series."""

    unit = "windows"
    units = ("windows",)
    shown = ("loss", "mae", "skill_over_seasonal")
    sections = report_sections
    metrics = (
        *(Metric(name, best="min") for name in ("val.mae*", "val.rmse")),
        *(Metric(name, best="max") for name in ("val.r2", "val.skill_*")),
    )
    fresh_data = True
    config: ForecastTrainConfig
    module: ForecastModule
    data: ForecastDataModule

    def set_up(self, session: Session) -> None:
        self.session = session
        self.data = ForecastDataModule(
            self.config.data, seed=self.config.seed, profile=session.profile
        )
        self.module = ForecastModule(self.config, self.data.spec, session.profile)

    def forward_flops(self) -> int:
        # Shapes only; recurrent layers become plain products, which the counter knows.
        meta = torch.device("meta")
        with meta:
            net = ForecastNet(self.config.net, self.data.spec)
        return forward_flops(net, *blank_batch(self.data.spec, 1, meta)[:3])

    def check_resume(self, saved: Mapping[str, Any], folder: Path) -> None:
        check_same(folder, saved, {"net": asdict(self.config.net), "loss": self.config.loss})

    def test(self) -> list[dict[str, Any]]:
        """The errors on the test set by forecaster, target and step ahead.

        A few forecasts become `forecasts.svg`.
        """
        net, minutes = cast(ForecastNet, self.module.net_in_use), self.config.data.step_minutes
        unit = "hours" if minutes == 60 else f"steps of {minutes} minutes"
        shown = example_panels(net, self.data, SHOWN)
        target = self.data.spec.targets[0]
        self.save_figure(
            "forecasts.svg", draw(lambda panels: draw_forecasts(panels, target, unit), shown)
        )
        return error_table(net, self.data)

    def summary(self) -> Mapping[str, Any]:
        return {"data": self.data.summary()}
