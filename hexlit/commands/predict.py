"""`hexlit predict`: a trained network applied to a file, or to one text."""

from dataclasses import dataclass
from pathlib import Path

from omegaconf import MISSING

from hexlit.commands.application import command
from hexlit.commands.tasks import part_of
from hexlit.errors import UsageError
from hexlit.training.checkpoint_files import checkpoint_file
from hexlit.tuning.space import quoted


@dataclass
class PredictConfig:
    """Settings of `hexlit predict`."""

    checkpoint: str = MISSING
    """Checkpoint of the network, or the folder of its run."""
    source: str | None = None
    """File with the data."""
    target: str | None = None
    """File to write, which must not exist; its name gives the format."""
    text: str | None = None
    """One text instead of files, for networks that classify texts."""

    def __post_init__(self) -> None:
        files = self.source is not None, self.target is not None
        if any(files) == (self.text is not None) or any(files) != all(files):
            raise UsageError(
                "name source=FILE and target=FILE, or else text=... for a network that reads texts"
            )
        (self.text or "").encode()  # a UnicodeError for bytes that are no UTF-8


def as_text(argument: str) -> str:
    """`text=...` as a string for Hydra: commas and apostrophes of a sentence have a meaning
    there.
    """
    key, _, value = argument.partition("=")
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return argument if key != "text" or is_quoted else f"text={quoted(value)}"


def predict(settings: PredictConfig) -> None:
    """Predict with the checkpoint's network, in the way of its task."""
    if settings.target is not None and Path(settings.target).exists():
        raise UsageError(f"target={settings.target}: exists already; name a file that does not")
    if settings.source is not None and not Path(settings.source).exists():
        raise UsageError(f"source={settings.source}: there is no such file")
    checkpoint = checkpoint_file(Path(settings.checkpoint))
    apply = part_of(task_of(checkpoint), "predict" if settings.text is None else "predict_text")
    given = (
        [settings.text]
        if settings.text is not None
        else [Path(str(settings.source)), Path(str(settings.target))]
    )
    print(apply(checkpoint, *given))


def task_of(checkpoint: Path) -> str:
    """The task that the network of `checkpoint` was trained for.

    Raises:
        UsageError: it is no checkpoint of hexlit.
    """
    from hexlit.training.checkpoints import read_checkpoint

    if checkpoint.suffix == ".safetensors":  # written by `hexlit export`, of networks of Hex alone
        return "hex"
    settings = read_checkpoint(checkpoint, "checkpoint").get("hyper_parameters", {})
    return str(settings.get("task", "hex"))  # old checkpoints of Hex name no task


main = command("predict", PredictConfig, predict, prepare=lambda argv: [*map(as_text, argv)])
