"""Networks that classify texts, from scratch or pretrained, and learning from a batch of texts."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.together import joined
from hexlit.errors import UsageError
from hexlit.tasks.classify.config import ClassifyTrainConfig, TextNetConfig
from hexlit.tasks.classify.scores import scores_of
from hexlit.tasks.classify.tokens import TextBatch, TextTokens
from hexlit.tasks.supervised import SupervisedModule, sine_positions, transformer_layers
from hexlit.tasks.tables import first_line
from hexlit.training.batches import whole_size


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


class SmallTransformer(nn.Module):
    """A small pre-norm transformer encoder (Vaswani et al. 2017), with sines as positions.

    The embeddings are added to its outputs again, so that single words count from the first step on.
    """

    def __init__(self, vocabulary: int, length: int, config: TextNetConfig) -> None:
        """For texts of up to `length` tokens."""
        super().__init__()
        self.width = width = config.width
        self.embedding = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.layers = transformer_layers(width, config.heads, config.layers, config.dropout)
        self.register_buffer("positions", sine_positions(length, width), persistent=False)
        self.positions: Tensor

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Outputs `[B, L, D]`; tokens outside `mask` are ignored."""
        words: Tensor = self.embedding(tokens) * math.sqrt(self.width)
        outputs: Tensor = self.layers(words + self.positions[: tokens.shape[1]], src_key_padding_mask=~mask)
        return outputs + words


class TextNet(nn.Module):
    """An encoder, the mean of its outputs over the tokens of a text, and a linear layer for the classes."""

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


Encoder = MeanEncoder | SmallTransformer | HuggingFaceEncoder


def net_of(config: TextNetConfig, tokens: TextTokens, classes: int, encoder: str | None) -> TextNet:
    """A fresh network; `encoder` has the settings of a pretrained one as JSON, None for one from scratch."""
    if encoder is not None:
        library = quiet_transformers()
        settings = library.AutoConfig.for_model(**json.loads(encoder))
        return TextNet(HuggingFaceEncoder(library.AutoModel.from_config(settings)), classes, config)
    if config.kind == "mean":
        return TextNet(MeanEncoder(tokens.size, config.width), classes, config)
    return TextNet(SmallTransformer(tokens.size, tokens.max_length, config), classes, config)


def load_pretrained(name: str, max_length: int) -> tuple[HuggingFaceEncoder, TextTokens]:
    """The encoder and the tokenizer of the folder or hub name `name`, for texts of up to `max_length` tokens.

    Raises:
        UsageError: they cannot be loaded, they are no encoder, or it reads fewer tokens.
    """
    library = quiet_transformers()
    where = "folder" if Path(name).is_dir() else "model of the hub"
    try:
        tokenizer = library.AutoTokenizer.from_pretrained(name)
        model = library.AutoModel.from_pretrained(name, use_safetensors=True)
    except Exception as error:  # a broken folder can make the library raise anything
        raise UsageError(
            f"net.pretrained={name}: this {where} cannot be loaded ({type(error).__name__}: {first_line(error)})"
        ) from error
    if model.config.is_encoder_decoder or not hasattr(model.config, "hidden_size"):
        raise UsageError(f"net.pretrained={name}: a {model.config.model_type} is no encoder such as BERT")
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or tokenizer.pad_token_id is None:
        raise UsageError(f"net.pretrained={name}: its tokenizer has no JSON form with a padding token")
    most = getattr(model.config, "max_position_embeddings", None) or 0
    if most > 0 and model.config.model_type in ("roberta", "xlm-roberta", "camembert"):
        most -= model.config.pad_token_id + 1  # they count positions from the padding token on
    if 0 < most < max_length:
        raise UsageError(f"data.max_length={max_length}: {name} reads at most {most} tokens")
    return HuggingFaceEncoder(model), TextTokens(backend.to_str(), tokenizer.pad_token_id, len(tokenizer), max_length)


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
        self, net: TextNet, config: ClassifyTrainConfig, tokens: TextTokens, classes: list[str], profile: DeviceProfile
    ) -> None:
        """Train `net` on texts that become `tokens`."""
        facts = {"task": "classify", "net": asdict(config.net), "classes": classes, "column": config.data.text}
        super().__init__(net, config, profile, facts)
        self.tokens = tokens
        self.filled = self.fixed = 0
        self._judged: list[tuple[Tensor, Tensor]] = []

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
        judged = joined(self._judged)
        probabilities, labels = (torch.cat(parts).cpu().numpy() for parts in zip(*judged, strict=True))
        self._judged = []
        scores = scores_of(probabilities, labels.astype(np.int64))
        self.log_dict({f"val.{name}": getattr(scores, name) for name in ("macro_f1", "ece", "brier")})

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add tokenizer and encoder, which are too long for the loggers."""
        super().on_save_checkpoint(checkpoint)
        encoder = self.net.encoder
        pretrained = encoder.model.config.to_json_string(use_diff=False) if hasattr(encoder, "model") else None
        checkpoint["hyper_parameters"] |= {"tokens": asdict(self.tokens), "encoder": pretrained}

    def example_batch(self, count: int) -> TextBatch:
        """Texts of padding, with the longest readable length."""
        tokens = torch.full((count, self.tokens.max_length), self.tokens.pad, device=self.device)
        nothing = torch.zeros(count, dtype=torch.long, device=self.device)
        return TextBatch(tokens, torch.ones_like(tokens, dtype=torch.bool), nothing, nothing)
