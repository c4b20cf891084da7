"""Labelled texts as a LightningDataModule: split by class, as tokens, in batches of similar lengths."""

import hashlib
from typing import Any

import lightning as L
import numpy as np
from torch.utils.data import DataLoader

from hexlit.accelerate.loaders import make_loader
from hexlit.accelerate.profile import DeviceProfile
from hexlit.errors import UsageError
from hexlit.tasks.classify.config import TextDataConfig
from hexlit.tasks.classify.texts import SPLITS, read_labelled, split_texts
from hexlit.tasks.classify.tokens import LengthBuckets, PaddedTexts, TextTokens, by_length


class ClassifyDataModule(L.LightningDataModule):
    """Training, validation and test texts.

    Call `use_tokens` before any loader. One loader serves all epochs, so its processes stay alive between them.

    Attributes:
        classes: their names, sorted; a label is an index in this list.
        splits: rows by split, and the dropped texts.
        texts: by split.
        labels: by split, int64 `[N]`.
    """

    def __init__(self, config: TextDataConfig, *, seed: int, profile: DeviceProfile) -> None:
        """Read and split the texts of `config`. `seed` decides the order in each epoch.

        Raises:
            UsageError: the texts cannot be read, or are too few.
        """
        super().__init__()
        self.config = config
        self.seed = seed
        self.profile = profile
        source = read_labelled(config)
        self.latin1 = source.latin1
        self.splits = split_texts(source, config)
        self.texts = {split: [source.texts[row] for row in rows] for split, rows in self.splits.rows.items()}
        names = {split: [source.labels[row] for row in rows] for split, rows in self.splits.rows.items()}
        self.classes = sorted({name for own in names.values() for name in own})
        self.labels = {split: np.searchsorted(self.classes, own).astype(np.int64) for split, own in names.items()}
        self._padded: dict[str, PaddedTexts] = {}

    def use_tokens(self, tokens: TextTokens) -> None:
        """Turn all texts into `tokens`."""
        self._padded = {
            split: PaddedTexts(tokens.encode(self.texts[split]), self.labels[split], tokens.pad) for split in SPLITS
        }

    @property
    def mean_length(self) -> int:
        """Mean number of tokens of a training text."""
        return round(float(self._padded["train"].encoded.lengths.mean()))

    def train_dataloader(self) -> DataLoader[Any]:
        """Every training text once, in batches that depend on the epoch's number."""
        data = self._padded["train"]
        order = LengthBuckets(data.encoded.lengths, self.profile.train_batch, self.seed)
        return make_loader(data, self.profile, sampler=order, batch_size=None)

    def val_dataloader(self) -> DataLoader[Any]:
        """Every validation text once, the longest first."""
        return self.in_order("validation")

    def in_order(self, split: str) -> DataLoader[Any]:
        """Every text of `split` once, the longest first."""
        data = self._padded[split]
        rows = by_length(np.arange(len(data)), data.encoded.lengths, self.profile.evaluation_batch)
        return make_loader(data, self.profile, sampler=rows, batch_size=None)

    def figures(self) -> dict[str, float]:
        """Texts of the splits that training uses, for the loggers."""
        return {f"{split}_texts": float(len(self.texts[split])) for split in ("train", "validation")}

    def summary(self) -> dict[str, Any]:
        """Plain containers: texts of the splits, and the texts dropped, cut or read as Latin-1."""
        counts = np.bincount(np.concatenate(list(self.labels.values())), minlength=len(self.classes))
        return {
            "texts": {split: len(texts) for split, texts in self.texts.items()},
            "dropped": self.splits.dropped,
            "crossing": self.splits.crossing,
            "classes": dict(zip(self.classes, counts.tolist(), strict=True)),
            "latin1": self.latin1,
            "cut": {split: data.encoded.cut for split, data in self._padded.items()},
            "max_length": self.config.max_length,
            "train_tokens": int(self._padded["train"].encoded.lengths.sum()),
        }

    def state_dict(self) -> dict[str, Any]:
        """Classes, and a digest of the texts of each split in their order."""
        digests = {split: hashlib.sha256("\0".join(self.texts[split]).encode()).hexdigest() for split in SPLITS}
        return {"classes": self.classes, "texts": digests}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a checkpoint, with the same texts in the same splits.

        Raises:
            UsageError: the texts or their splits differ from those of the run.
        """
        now = self.state_dict()
        for split in SPLITS:
            if now["texts"][split] != state_dict["texts"][split]:
                raise UsageError(
                    f"data: the {split} texts differ from those at the start of the run; keep file and settings to "
                    "resume"
                )
