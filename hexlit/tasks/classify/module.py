"""The text classifier as a LightningModule: learning from a batch of texts."""

from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.together import joined
from hexlit.tasks.classify.batches import TextBatch
from hexlit.tasks.classify.config import TextNetConfig
from hexlit.tasks.classify.metrics import scores_of
from hexlit.tasks.classify.nets import TextNet
from hexlit.tasks.classify.pretrained import settings_of
from hexlit.tasks.classify.tokens import TextTokens
from hexlit.training.batches import whole_size
from hexlit.training.config import OptimizerConfig, TrainerConfig
from hexlit.training.module import TrainedModule


class ClassifyModule(TrainedModule):
    """Learns the class of a text by cross-entropy.

    Validation logs `val.loss`, `val.accuracy`, `val.macro_f1`, `val.ece` and `val.brier`. A checkpoint's
    hyperparameters are all that a prediction needs, including the tokenizer; see `hexlit.tasks.classify.checkpoint`.

    Attributes:
        filled: tokens of the training batches so far, padding included.
        fixed: the same number if every text were padded to the longest readable length.
    """

    dynamic_shapes = True  # a batch is as long as its longest text

    def __init__(
        self,
        net: TextNet,
        config: TextNetConfig,
        tokens: TextTokens,
        classes: list[str],
        optimizer: OptimizerConfig,
        trainer: TrainerConfig,
        profile: DeviceProfile,
        *,
        column: str = "text",
    ) -> None:
        """Train `net` with the settings `config` on texts that become `tokens`; `column` is their column."""
        super().__init__(net, optimizer, trainer, profile)
        learning = {**asdict(optimizer), "ema_decay": trainer.ema_decay, "train_batch": profile.train_batch}
        self.save_hyperparameters(
            {"task": "classify", "net": asdict(config), "classes": classes, "column": column, "learning": learning}
        )
        self.tokens = tokens
        self.filled = self.fixed = 0
        self._judged: list[tuple[Tensor, Tensor]] = []

    def forward(self, batch: TextBatch) -> Tensor:
        """The trained network's logits `[B, C]`."""
        logits: Tensor = self.net(batch.tokens, batch.mask)
        return logits

    def output(self, batch: TextBatch) -> Tensor:
        net = self.net if self.training else self.net_in_use
        logits: Tensor = net(batch.tokens, batch.mask)
        return logits

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
        found = scores_of(probabilities, labels.astype(np.int64))
        self.log_dict({f"val.{name}": getattr(found, name) for name in ("macro_f1", "ece", "brier")})

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add tokenizer and encoder, which are too long for the loggers."""
        super().on_save_checkpoint(checkpoint)
        checkpoint["hyper_parameters"] |= {"tokens": asdict(self.tokens), "encoder": settings_of(self.net.encoder)}

    def example_batch(self, count: int) -> TextBatch:
        """Texts of padding, with the longest readable length."""
        tokens = torch.full((count, self.tokens.max_length), self.tokens.pad, device=self.device)
        nothing = torch.zeros(count, dtype=torch.long, device=self.device)
        return TextBatch(tokens, torch.ones_like(tokens, dtype=torch.bool), nothing, nothing)
