"""The task `classify`: a text classifier for the shared code of runs."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import torch

from hexlit.reporting.classification import draw_confusion, report_sections
from hexlit.reporting.figures import draw
from hexlit.tasks.classify.config import ClassifyTrainConfig
from hexlit.tasks.classify.data import TextTokens, fit_tokens
from hexlit.tasks.classify.evaluation import report_on_test
from hexlit.tasks.classify.module import (
    ClassifyDataModule,
    ClassifyModule,
    TextNet,
    load_pretrained,
    net_of,
)
from hexlit.tasks.supervised import SupervisedTask, forward_flops
from hexlit.tracking.metric_names import Metric
from hexlit.training.checkpoints import check_same
from hexlit.training.task import Session

LOADING = """Device: {0.device.type}
DataLoader Configuration for {1}:
  Training Batch Size: {0.train_batch}
  Evaluation Batch Size: {0.evaluation_batch}
  Number of Workers: {0.workers}
  Pin Memory: {0.pin_memory}"""
"""The lines of a run about its device and about loading its data."""


class ClassifyTask(SupervisedTask):
    """Teaches a network to classify texts."""

    unit = "texts"
    units = ("texts",)
    shown = ("loss", "accuracy", "macro_f1")
    sections = report_sections
    metrics = (
        *(Metric(name, best="max") for name in ("val.accuracy", "val.macro_f1")),
        *(Metric(name, best="min") for name in ("val.ece", "val.brier")),
    )
    config: ClassifyTrainConfig
    module: ClassifyModule
    data: ClassifyDataModule
    saved: Mapping[str, Any] | None = None
    """The hyperparameters of the run to continue."""

    def set_up(self, session: Session) -> None:
        self.session = session
        profile = session.profile
        self.console.print(LOADING.format(profile, profile.device.type.upper()), highlight=False)
        self.data = ClassifyDataModule(self.config.data, seed=self.config.seed, profile=profile)
        net, tokens = self._network()
        self.data.use_tokens(tokens)
        example = torch.zeros(1, self.data.mean_length, dtype=torch.long)
        mask = torch.ones_like(example, dtype=torch.bool)
        self._flops = forward_flops(net, example, mask)
        self.module = ClassifyModule(net, self.config, tokens, self.data.classes, profile)

    def _network(self) -> tuple[TextNet, TextTokens]:
        """The network and its tokens: those of the run to continue, a pretrained pair, or a fresh
        one.
        """
        config, classes = self.config, len(self.data.classes)
        if self.saved is not None:
            tokens = TextTokens(**self.saved["tokens"])
            return net_of(config.net, tokens, classes, self.saved["encoder"]), tokens
        if config.net.pretrained is not None:
            encoder, tokens = load_pretrained(config.net.pretrained, config.data.max_length)
            return TextNet(encoder, classes, config.net), tokens
        tokens = fit_tokens(self.data.texts["train"], config.net.vocabulary, config.data.max_length)
        return net_of(config.net, tokens, classes, None), tokens

    def forward_flops(self) -> int:
        """Operations of a training text of mean length."""
        return self._flops

    def check_resume(self, saved: Mapping[str, Any], folder: Path) -> None:
        data = self.config.data
        check_same(folder, saved, {"net": asdict(self.config.net), "column": data.text})
        check_same(
            folder,
            {"data.max_length": saved["tokens"]["max_length"]},
            {"data.max_length": data.max_length},
        )
        self.saved = saved

    def test(self) -> dict[str, Any]:
        """The report on the test set; its confusion matrix becomes `confusion.svg`."""
        report = report_on_test(cast(TextNet, self.module.net_in_use), self.data)
        self.save_figure("confusion.svg", draw(draw_confusion, report["confusion"]))
        return report

    def summary(self) -> Mapping[str, Any]:
        filled, fixed = self.module.filled, self.module.fixed
        padding = {
            "tokens": filled,
            "fixed_tokens": fixed,
            "saved": 1 - filled / fixed if fixed else None,
        }
        return {"data": self.data.summary(), "padding": padding}
