"""A run of any task, read from its folder."""

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.api.frames import frame_of_csv
from hexlit.api.models import Model

if TYPE_CHECKING:
    import pandas as pd


class Run(Model):
    """A run: its settings, its figures as data frames, and its model.

    Attributes:
        folder: the folder of the run.
        checkpoint: the checkpoint of its model, the best one unless another was named.
        task: `hex`, `forecast`, `classify` or another.
    """

    def __init__(self, folder: str | Path, checkpoint: str | Path | None = None) -> None:
        """The run in `folder`, with the model of `checkpoint`, None for its best one.

        Raises:
            UsageError: there is no checkpoint yet.
        """
        self.folder = Path(folder)
        super().__init__(self.folder if checkpoint is None else checkpoint)

    @cached_property
    def config(self) -> dict[str, Any]:
        """All settings of the run, as plain values."""
        from omegaconf import OmegaConf

        result = OmegaConf.to_container(OmegaConf.load(self.folder / ".hydra" / "config.yaml"), resolve=True)
        assert isinstance(result, dict)
        return {str(name): value for name, value in result.items()}

    @property
    def summary(self) -> dict[str, Any]:
        """The content of `summary.json`: the results of a run that has ended; empty before."""
        path = self.folder / "summary.json"
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        return result

    @property
    def metrics(self) -> "pd.DataFrame":
        """Losses and figures, a row an epoch; empty cells where something was not measured."""
        return frame_of_csv(self.folder / "metrics.csv")

    @property
    def phases(self) -> "pd.DataFrame":
        """Time and work of each phase of each epoch."""
        return frame_of_csv(self.folder / "phases.csv")

    @property
    def steps(self) -> "pd.DataFrame":
        """Time of each part of the training steps, a row an epoch."""
        return frame_of_csv(self.folder / "steps.csv")

    @property
    def resources(self) -> "pd.DataFrame":
        """Processors, memory and device, a row a second."""
        return frame_of_csv(self.folder / "resources.csv")

    def judged(self, split: str = "test") -> "pd.DataFrame":
        """Every example of `split` as the network judges it, beside the truth; of `forecast` and `classify`.

        A text has `truth`, `predicted`, `confidence` and the probability `p_CLASS` of each class. A forecast has
        `steps_ahead`, `target`, `truth`, `model`, and the references `persistence`, `seasonal` and `ridge`.

        Args:
            split: train, validation or test.

        Raises:
            UsageError: the task has no such table, or the data of the run cannot be read any more.
        """
        from hexlit.api.tables import judged

        return judged(self.config, self.task, self.checkpoint, split)

    @property
    def games(self) -> Path:
        """The store of the games that a run of Hex played; see `hexlit.games`."""
        return self.folder / "games"

    def _repr_html_(self) -> str:
        from hexlit.commands.report_files import run_report
        from hexlit.reporting.html import notebook
        from hexlit.reporting.run_files import read_run

        return notebook(run_report(read_run(self.folder), self.folder))
