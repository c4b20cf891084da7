"""`hexlit report`: the page of a run, match or strength run, a comparison of runs, and the results
of a sweep.
"""

from dataclasses import dataclass, field
from pathlib import Path

from hexlit.commands.application import command
from hexlit.commands.composing import flags_and_overrides
from hexlit.errors import UsageError
from hexlit.settings import Settings, number
from hexlit.tuning.space import quoted


@dataclass
class ReportConfig(Settings):
    """Settings of `hexlit report`."""

    folder: str | None = None
    """Folder of a run, sweep, match or strength run. None: the newest below `runs`."""
    runs: list[str] = field(default_factory=list)
    """Folders of runs to compare, instead of `folder`."""
    by: list[str] = field(default_factory=list)
    """Settings that tell compared runs apart (`runs`, or the folder of a plain --multirun), such as
    value_weight or optimizer.lr, or lr: means and intervals over the runs that agree in them.
    Empty: all settings but the seed. `seed`: each run by itself.
    """
    output: str | None = None
    """File for the page of a run, match or strength run, or for the comparison of `runs`. None:
    `report.html` in the folder, and `comparison.html` here.
    """
    epochs: list[int] = number((), "[1, inf)")
    """Numbers of epochs in the table of costs. Empty: that of the run, and larger round ones."""
    price: float | None = number(None, "[0, inf)")
    """Price of an hour on the run's machine, for the table of costs. None: hours only."""
    json: bool = False
    """Whether to print the results as JSON instead of text; nothing is written."""
    figures: bool = True
    """Whether to draw the figures and `report.html` of a sweep."""
    watch: bool = False
    """Whether to show a sweep until it ends, and then its results."""
    rows: int = number(20, "[1, inf)")
    """Trials in the table of a sweep."""
    wandb: str | None = None
    """ENTITY/PROJECT on Weights & Biases; its page is written instead. With `json` it is printed,
    and not saved.
    """

    def __post_init__(self) -> None:
        """Refuse impossible combinations."""
        super().__post_init__()
        if self.json and self.watch:
            raise UsageError("json=true, watch=true: choose one of the two")
        if (self.wandb is not None) + (self.folder is not None) + bool(self.runs) > 1:
            raise UsageError("folder, runs, wandb: choose one of them")


def written_out(argv: list[str]) -> list[str]:
    """`argv` with the bare path of a folder in it, `hexlit report FOLDER`, as an override, and
    `by=a,b` as a list.
    """
    _, words = flags_and_overrides(argv)
    result = []
    for word in argv:
        key, _, value = word.partition("=")
        if word in words and ("=" not in word or Path(word).is_dir()):
            result.append(f"folder={quoted(word)}")
        elif key == "by" and not value.startswith("["):
            names = value.strip("'\"")
            result.append(f"by=[{names}]")
        else:
            result.append(word)
    return result


main = command("report", ReportConfig, "report_run:report", prepare=written_out)
