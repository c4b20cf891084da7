"""Networks that classify texts, their scores, and the Lightning modules of data and learning."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from itertools import chain
from typing import Any, Self

import lightning as L
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from hexlit.accelerate.collectives import all_gather_rows
from hexlit.accelerate.loaders import make_loader
from hexlit.accelerate.profile import DeviceProfile
from hexlit.errors import UsageError
from hexlit.tasks.classify.config import HEADS, ClassifyTrainConfig, TextDataConfig, TextNetConfig
from hexlit.tasks.classify.data import (
    LengthBuckets,
    PaddedTexts,
    TextBatch,
    TextTokens,
    read_labelled,
    split_texts,
)
from hexlit.tasks.supervised import SupervisedModule, check_unchanged
from hexlit.tasks.tables import SPLITS, first_line
from hexlit.training.batches import whole_size
from hexlit.training.module import Learning

Probabilities = NDArray[np.floating[Any]]
Counts = NDArray[np.int64]
BINS = 15
"""Bins of equal width for the calibration error, as in Guo et al. 2017."""


def scores_of(probabilities: Probabilities, truth: Counts) -> dict[str, float]:
    """Scores of `probabilities` `[N, C]`; `truth` `[N]` are the indices of the true classes.

    `macro_f1` is the unweighted mean of the classes' F1, `log_loss` the mean of minus the logarithm
    of the true class's probability, `ece` the expected calibration error (the mean distance of
    confidence and accuracy, 0 at best), and `brier` the mean squared distance from the true class,
    summed over classes: 0 at best, 2 at worst.
    """
    from sklearn.metrics import f1_score  # takes a second to import

    chosen, classes = probabilities.argmax(1), probabilities.shape[1]
    own = probabilities[np.arange(len(truth)), truth]
    return {
        "accuracy": float((chosen == truth).mean()),
        "macro_f1": float(
            f1_score(truth, chosen, labels=range(classes), average="macro", zero_division=0)
        ),
        "log_loss": float(-np.log(np.maximum(own, 1e-12)).mean()),
        "ece": calibration_error(probabilities.max(1), chosen == truth),
        "brier": float(((probabilities - np.eye(classes)[truth]) ** 2).sum(1).mean()),
    }


def calibration_error(
    confidence: Probabilities, right: NDArray[np.bool_], bins: int = BINS
) -> float:
    """Mean distance over texts of a bin's confidence and accuracy; `confidence` and `right` are
    `[N]`.
    """
    numbers = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(numbers, confidence - right, minlength=bins)
    return float(np.abs(gaps).sum() / len(confidence))


def surprises(probabilities: Probabilities, truth: Counts, most: int) -> list[int]:
    """The numbers of at most `most` misclassified texts, the most confident first."""
    wrong = np.flatnonzero(probabilities.argmax(1) != truth)
    confidence = probabilities[wrong].max(1)
    order = np.argsort(-confidence, kind="stable")
    chosen = wrong[order][:most]
    return chosen.tolist()  # type: ignore[no-any-return]


class ClassifyDataModule(L.LightningDataModule):
    """Training, validation and test texts.

    Call `use_tokens` before any loader. One loader serves all epochs, so its processes stay alive
    between them.

    Attributes:
        classes: their names, sorted; a label is an index in this list.
        splits: rows by split, and the dropped texts.
        texts: by split.
        labels: by split, int64 `[N]`.
        cut: number of texts that were cut, by split.
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
        self.texts: dict[str, list[str]] = {}
        names: dict[str, list[str]] = {}
        for split, rows in self.splits.rows.items():
            self.texts[split] = [source.texts[row] for row in rows]
            names[split] = [source.labels[row] for row in rows]
        self.classes = sorted(set(chain.from_iterable(names.values())))
        self.labels = {
            split: np.searchsorted(self.classes, labels).astype(np.int64)
            for split, labels in names.items()
        }
        self.cut: dict[str, int] = {}
        self._padded: dict[str, PaddedTexts] = {}

    def use_tokens(self, tokens: TextTokens) -> None:
        """Turn all texts into `tokens`."""
        for split in SPLITS:
            encoded, self.cut[split] = tokens.encode(self.texts[split])
            self._padded[split] = PaddedTexts(encoded, self.labels[split], tokens.pad)

    @property
    def mean_length(self) -> int:
        """Mean number of tokens of a training text."""
        return round(float(self._padded["train"].lengths.mean()))

    def train_dataloader(self) -> DataLoader[Any]:
        """Every training text once, in batches that depend on the epoch's number."""
        data = self._padded["train"]
        order = LengthBuckets(data.lengths, self.profile.train_batch, self.seed)
        return make_loader(data, self.profile, sampler=order, batch_size=None)

    def val_dataloader(self) -> DataLoader[Any]:
        """Every validation text once, the longest first."""
        return self.in_order("validation")

    def in_order(self, split: str) -> DataLoader[Any]:
        """Every text of `split` once, the longest first."""
        data = self._padded[split]
        return make_loader(
            data,
            self.profile,
            sampler=data.in_order(self.profile.evaluation_batch),
            batch_size=None,
        )

    def summary(self) -> dict[str, Any]:
        """Plain containers: texts of the splits, and the texts dropped, cut or read as Latin-1."""
        counts = np.bincount(
            np.concatenate(list(self.labels.values())), minlength=len(self.classes)
        )
        return {
            "texts": {split: len(texts) for split, texts in self.texts.items()},
            "dropped": self.splits.dropped,
            "classes": dict(zip(self.classes, counts.tolist(), strict=True)),
            "latin1": self.latin1,
            "cut": self.cut,
            "max_length": self.config.max_length,
            "train_tokens": int(self._padded["train"].lengths.sum()),
        }

    def state_dict(self) -> dict[str, Any]:
        """Classes, and a digest of the texts of each split in their order."""
        digests = {
            split: hashlib.sha256("\0".join(self.texts[split]).encode()).hexdigest()
            for split in SPLITS
        }
        return {"classes": self.classes, "texts": digests}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a checkpoint, with the same texts in the same splits.

        Raises:
            UsageError: the texts or their splits differ from those of the run.
        """
        check_unchanged(state_dict["texts"], self.state_dict()["texts"])


class MeanEncoder(nn.Module):
    """Embeddings of the tokens: with a mean on top, the order of the words has no effect."""

    def __init__(self, vocabulary: int, width: int) -> None:
        """`vocabulary` embeddings of `width` numbers."""
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.width = width

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Outputs `[B, L, D]`."""
        outputs: Tensor = self.embedding(tokens) * math.sqrt(self.width)
        return outputs


class SmallTransformer(MeanEncoder):
    """A small pre-norm transformer encoder (Vaswani et al. 2017), with sines as positions.

    The embeddings are added to its outputs again, so that single words count from the first step
    on.
    """

    def __init__(self, vocabulary: int, length: int, config: TextNetConfig) -> None:
        """For texts of up to `length` tokens."""
        super().__init__(vocabulary, config.width)
        width = config.width
        layer = nn.TransformerEncoderLayer(
            width,
            HEADS,
            2 * width,
            config.dropout,
            functional.gelu,
            batch_first=True,
            norm_first=True,
        )
        self.layers = nn.TransformerEncoder(
            layer, config.layers, nn.LayerNorm(width), enable_nested_tensor=False
        )
        rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
        angles = torch.arange(length)[:, None] * rates
        positions = torch.stack([angles.sin(), angles.cos()], 2).flatten(1)
        self.register_buffer("positions", positions, persistent=False)
        self.positions: Tensor

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Outputs `[B, L, D]`; tokens outside `mask` are ignored."""
        words = super().forward(tokens, mask)
        outputs: Tensor = self.layers(
            words + self.positions[: tokens.shape[1]], src_key_padding_mask=~mask
        )
        return outputs + words


class TextNet(nn.Module):
    """An encoder, the mean of its outputs over the tokens of a text, and a linear layer for the
    classes.
    """

    def __init__(self, encoder: "Encoder", classes: int, config: TextNetConfig) -> None:
        """`encoder(tokens, mask)` gives `[B, L, encoder.width]`."""
        super().__init__()
        self.encoder = encoder
        self.token_dropout = config.token_dropout
        self.dropout = nn.Dropout(config.dropout)
        self.head = nn.Linear(encoder.width, classes)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Logits float32 `[B, C]` of those `tokens` `[B, L]` with a true `mask` `[B, L]`."""
        if self.training and self.token_dropout:
            visible = torch.rand(tokens.shape, device=tokens.device) >= self.token_dropout
            visible[:, 0] = True  # a text without any token has no mean
            mask = mask & visible
        outputs = self.encoder(tokens, mask).masked_fill(~mask[:, :, None], 0.0)
        mean = outputs.sum(1) / mask.sum(1, keepdim=True)
        logits: Tensor = self.head(self.dropout(mean)).float()
        return logits


class HuggingFaceEncoder(nn.Module):
    """A model of `transformers`; its last hidden states are the outputs."""

    def __init__(self, model: Any) -> None:
        """Wrap `model`."""
        super().__init__()
        self.model = model.train()  # it is loaded in evaluation mode, without dropout
        self.width = int(model.config.hidden_size)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Outputs `[B, L, D]`."""
        outputs: Tensor = self.model(input_ids=tokens, attention_mask=mask.long()).last_hidden_state
        return outputs


Encoder = MeanEncoder | HuggingFaceEncoder


def net_of(config: TextNetConfig, tokens: TextTokens, classes: int, encoder: str | None) -> TextNet:
    """A fresh network; `encoder` has the settings of a pretrained one as JSON, None for one from
    scratch.
    """
    if encoder is not None:
        library = quiet_transformers()
        settings = library.AutoConfig.for_model(**json.loads(encoder))
        return TextNet(HuggingFaceEncoder(library.AutoModel.from_config(settings)), classes, config)
    if config.kind == "mean":
        return TextNet(MeanEncoder(tokens.size, config.width), classes, config)
    return TextNet(SmallTransformer(tokens.size, tokens.max_length, config), classes, config)


def load_pretrained(name: str, max_length: int) -> tuple[HuggingFaceEncoder, TextTokens]:
    """The encoder and the tokenizer of the folder or hub name `name`, for texts of up to
    `max_length` tokens.

    Raises:
        UsageError: they cannot be loaded, they are no encoder, or it reads fewer tokens.
    """
    library = quiet_transformers()
    try:
        tokenizer = library.AutoTokenizer.from_pretrained(name)
        model = library.AutoModel.from_pretrained(name, use_safetensors=True)
        if model.config.is_encoder_decoder:
            raise ValueError(f"a {model.config.model_type} is no encoder such as BERT")
        tokens = TextTokens(
            tokenizer.backend_tokenizer.to_str(), tokenizer.pad_token_id, len(tokenizer), max_length
        )
        encoder = HuggingFaceEncoder(model)
    except Exception as error:  # a broken folder can make the library raise anything
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise UsageError(
            f"net.pretrained={name}: this encoder cannot be loaded ({reason})"
        ) from error
    most = min(
        tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", max_length)
    )
    if most < max_length:
        raise UsageError(f"data.max_length={max_length}: {name} reads at most {most} tokens")
    return encoder, tokens


def quiet_transformers() -> Any:
    """The package `transformers` without its output; it takes seconds to import."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return transformers


class ClassifyModule(SupervisedModule):
    """Learns the class of a text by cross-entropy.

    Validation logs `val.loss`, `val.accuracy`, `val.macro_f1`, `val.ece` and `val.brier`.

    Attributes:
        filled: tokens of the training batches so far, padding included.
        fixed: the same number if every text were padded to the longest readable length.
    """

    inputs = 2
    dynamic_shapes = True  # a batch is as long as its longest text

    def __init__(
        self,
        net: TextNet,
        config: ClassifyTrainConfig,
        tokens: TextTokens,
        classes: list[str],
        profile: DeviceProfile,
    ) -> None:
        """Train `net` on texts that become `tokens`."""
        facts = {
            "task": "classify",
            "net": asdict(config.net),
            "classes": classes,
            "column": config.data.text,
        }
        super().__init__(net, config.optimizer, config.trainer, profile, facts)
        self.tokens = tokens
        self.filled = self.fixed = 0
        self._judged: list[tuple[Tensor, Tensor]] = []

    @classmethod
    def from_hyperparameters(
        cls, settings: Mapping[str, Any], learning: Learning, profile: DeviceProfile
    ) -> Self:
        config = ClassifyTrainConfig(
            net=TextNetConfig(**settings["net"]),
            data=TextDataConfig(text=settings["column"]),
            **learning._asdict(),
        )
        tokens, classes = TextTokens(**settings["tokens"]), list(settings["classes"])
        net = net_of(config.net, tokens, len(classes), settings["encoder"])
        return cls(net, config, tokens, classes, profile)

    def losses(self, output: Tensor, batch: TextBatch) -> dict[str, Tensor]:
        return {"loss": functional.cross_entropy(output.float(), batch.label)}

    def measures(self, output: Tensor, batch: TextBatch) -> dict[str, Tensor]:
        """Accuracy; the probabilities for measures that are no means are kept until the epoch ends."""
        self._judged.append((output.float().softmax(1), batch.label))
        return {"accuracy": (output.argmax(1) == batch.label).float().mean()}

    def training_step(self, batch: TextBatch, batch_idx: int) -> dict[str, Tensor]:
        count = whole_size(self, batch)
        self.filled += count * batch.tokens.shape[1]
        self.fixed += count * self.tokens.max_length
        return super().training_step(batch, batch_idx)

    def on_validation_epoch_end(self) -> None:
        """Log the measures that are no means over batches."""
        judged = all_gather_rows(self._judged)
        probabilities, labels = (
            torch.cat(parts).cpu().numpy() for parts in zip(*judged, strict=True)
        )
        self._judged = []
        scores = scores_of(probabilities, labels.astype(np.int64))
        self.log_dict({f"val.{name}": scores[name] for name in ("macro_f1", "ece", "brier")})

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add tokenizer and encoder, which are too long for the loggers."""
        encoder = self.net.encoder
        pretrained = (
            encoder.model.config.to_json_string(use_diff=False)
            if hasattr(encoder, "model")
            else None
        )
        checkpoint["hyper_parameters"] |= {"tokens": asdict(self.tokens), "encoder": pretrained}

    def example_batch(self, count: int) -> TextBatch:
        """Texts of padding, with the longest readable length."""
        shape = count, self.tokens.max_length
        tokens = torch.full(shape, self.tokens.pad, device=self.device)
        mask = torch.ones_like(tokens, dtype=torch.bool)
        nothing = torch.zeros(count, dtype=torch.long, device=self.device)
        return TextBatch(tokens, mask, nothing, nothing)
