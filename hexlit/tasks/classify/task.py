"""The task `classify`: a text classifier for the shared code of runs."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from rich.console import Console

from hexlit.accelerate.loaders import loading_lines
from hexlit.errors import UsageError
from hexlit.files import replacing
from hexlit.reporting.classification import ConfusionMatrix, draw_confusion, print_classify_summary
from hexlit.reporting.ending import print_ending
from hexlit.reporting.figures import draw
from hexlit.tasks.classify.baseline import require_sklearn
from hexlit.tasks.classify.checkpoint import net_of
from hexlit.tasks.classify.data_module import ClassifyDataModule
from hexlit.tasks.classify.evaluation import test_report
from hexlit.tasks.classify.module import ClassifyModule
from hexlit.tasks.classify.nets import TextNet, forward_flops
from hexlit.tasks.classify.pretrained import load_pretrained, with_classes
from hexlit.tasks.classify.tokens import TextTokens, fit_tokens
from hexlit.tasks.classify.train_config import ClassifyTrainConfig
from hexlit.tracking.metric_names import Metric
from hexlit.training.task import Session, Task

FIGURE = "confusion.svg"
"""The confusion matrix of the test set, in the folder of the run."""


class ClassifyTask(Task):
    """Teaches a network to classify texts, and uses the test set once, at the very end."""

    unit = "texts"
    units = ("texts",)
    shown = ("loss", "accuracy", "macro_f1")
    metrics = (
        Metric("val.accuracy", best="max"),
        Metric("val.macro_f1", best="max"),
        Metric("val.ece", best="min"),
        Metric("val.brier", best="min"),
    )
    module: ClassifyModule
    data: ClassifyDataModule

    def __init__(self, config: ClassifyTrainConfig, console: Console) -> None:
        """Output goes to `console`."""
        self._config = config
        self._console = console
        self._saved: Mapping[str, Any] | None = None

    def set_up(self, session: Session) -> None:
        config, profile = self._config, session.profile
        require_sklearn()
        self._session = session
        for line in loading_lines(profile):
            self._console.print(line, highlight=False)
        self.data = ClassifyDataModule(config.data, seed=config.seed, profile=profile)
        net, tokens = self._network()
        self.data.use_tokens(tokens)
        self._flops = forward_flops(net, self.data.mean_length)
        self.module = ClassifyModule(
            net,
            config.net,
            tokens,
            self.data.classes,
            config.optimizer,
            config.trainer,
            profile,
            column=config.data.text,
        )

    def _network(self) -> tuple[TextNet, TextTokens]:
        """The network and its tokens: those of the run to continue, a pretrained pair, or a fresh one."""
        config, classes = self._config, len(self.data.classes)
        if self._saved is not None:
            tokens = TextTokens(**self._saved["tokens"])
            return net_of(config.net, tokens, classes, self._saved["encoder"]), tokens
        if config.net.pretrained is not None:
            encoder, tokens = load_pretrained(config.net.pretrained, config.data.max_length)
            return with_classes(encoder, classes, config.net), tokens
        texts = self.data.texts["train"]
        tokens = fit_tokens(texts, config.net.vocabulary, config.data.max_length)
        return net_of(config.net, tokens, classes, None), tokens

    def forward_flops(self) -> int:
        """Operations of a training text of mean length."""
        return self._flops

    def check_resume(self, saved: Mapping[str, Any], folder: Path) -> None:
        wanted = {"net": asdict(self._config.net), "column": self._config.data.text}
        for name, value in wanted.items():
            if saved[name] != value:
                raise UsageError(f"{name}: the run in {folder} was started with {saved[name]}; keep it to resume")
        was = saved["tokens"]["max_length"]
        if was != self._config.data.max_length:
            raise UsageError(
                f"data.max_length={self._config.data.max_length}: the run in {folder} was started with {was}; keep it "
                "to resume"
            )
        self._saved = saved

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        return {"data": self.data.figures()}

    def finish(self) -> Mapping[str, Any]:
        """The report on the test set. Trials of a sweep are judged on validation data alone."""
        if self._session.trial:
            return {}
        report = test_report(cast(TextNet, self.module.net_in_use), self.data, self._config.errors)
        figure = draw(draw_confusion, ConfusionMatrix(**report["confusion"]))
        with replacing(self._session.folder / FIGURE) as temporary:
            temporary.write_bytes(figure)
        return {"test": report}

    def summary(self) -> Mapping[str, Any]:
        filled, fixed = self.module.filled, self.module.fixed
        padding = {"tokens": filled, "fixed_tokens": fixed, "saved": 1 - filled / fixed if fixed else None}
        return {"data": self.data.summary(), "padding": padding}

    def show_summary(self, summary: Mapping[str, Any]) -> None:
        print_classify_summary(self._console, summary, self._session.folder)

    def show_ending(self, ending: Mapping[str, Any], figures: Mapping[str, Any], command: str) -> None:
        print_ending(self._console, ending, figures, command)
