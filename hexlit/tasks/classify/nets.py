"""Networks that classify texts: an encoder of tokens, the mean of its outputs, and a linear layer."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from hexlit.tasks.classify.config import TextNetConfig


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
        found: Tensor = self.embedding(tokens) * math.sqrt(self.width)
        return found


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
        layer = nn.TransformerEncoderLayer(
            width, config.heads, 2 * width, config.dropout, functional.gelu, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, config.layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.register_buffer("positions", sine_positions(length, width), persistent=False)
        self.positions: Tensor

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Outputs `[B, L, D]`; tokens outside `mask` are ignored."""
        words: Tensor = self.embedding(tokens) * math.sqrt(self.width)
        found: Tensor = self.layers(words + self.positions[: tokens.shape[1]], src_key_padding_mask=~mask)
        return found + words


class TextNet(nn.Module):
    """An encoder, the mean of its outputs over the tokens of a text, and a linear layer for the classes."""

    def __init__(self, encoder: nn.Module, width: int, classes: int, config: TextNetConfig) -> None:
        """`encoder(tokens, mask)` gives `[B, L, width]`."""
        super().__init__()
        self.encoder = encoder
        self.token_dropout = config.token_dropout
        self.dropout = nn.Dropout(config.dropout)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Logits float32 `[B, C]` of those `tokens` `[B, L]` with a true `mask` `[B, L]`."""
        if self.training and self.token_dropout:
            kept = torch.rand(tokens.shape, device=tokens.device) >= self.token_dropout
            kept[:, 0] = True  # a text without any token has no mean
            mask = mask & kept
        outputs = self.encoder(tokens, mask).masked_fill(~mask[:, :, None], 0.0)
        mean = outputs.sum(1) / mask.sum(1, keepdim=True)
        logits: Tensor = self.head(self.dropout(mean)).float()
        return logits


def build_net(config: TextNetConfig, *, vocabulary: int, length: int, classes: int) -> TextNet:
    """A fresh network from scratch for texts of up to `length` tokens."""
    encoder: MeanEncoder | SmallTransformer
    if config.kind == "mean":
        encoder = MeanEncoder(vocabulary, config.width)
    else:
        encoder = SmallTransformer(vocabulary, length, config)
    return TextNet(encoder, config.width, classes, config)


def forward_flops(net: TextNet, length: int) -> int:
    """Floating-point operations of one text of `length` tokens.

    It counts products of matrices, including those of attention; a multiplication and the addition to its sum are two.
    Norms, activations and the look-up of embeddings are left out.
    """
    was_training = net.training
    net.eval()
    tokens = torch.zeros(1, length, dtype=torch.long)
    # With gradients torch uses plain products, which the counter knows, instead of one operator per layer.
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        net(tokens, torch.ones_like(tokens, dtype=torch.bool))
    net.train(was_training)
    return int(counter.get_total_flops())


def sine_positions(steps: int, width: int) -> Tensor:
    """Sines and cosines of the positions, float32 `[steps, width]` (Vaswani et al. 2017)."""
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    angles = torch.arange(steps)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], 2).flatten(1)
