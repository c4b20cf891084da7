"""Blocks as other packages bring them, sound and unsound,
and a package that brings them for as long as a test runs.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from hexlit.nets.blocks import ConvNorm
from hexlit.nets.config import NetConfig
from hexlit.settings import BLOCK_GROUP, entry_points_of

OUTSIDE = Path(__file__).resolve().parent.parent / "outside"
SEPARABLE = "separable = separable:Separable"
"""The entry point of the example in `docs/extending/network.md`, which normalises by batches."""


@contextmanager
def package(
    folder: Path, *lines: str, name: str = "blocks", group: str = BLOCK_GROUP
) -> Iterator[None]:
    """A package in the new `folder` that brings parts; the `lines` are its entry points."""
    metadata = folder / f"{name}-0.1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    (metadata / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]) + "\n")
    before = sys.path.copy()
    sys.path[:0] = [str(folder), str(OUTSIDE)]
    entry_points_of.cache_clear()
    try:
        yield
    finally:
        sys.path[:] = before
        entry_points_of.cache_clear()


def line(block: object) -> str:
    """The entry point of a block of this module, whose name is the block's in small letters."""
    name = block.__name__  # type: ignore[attr-defined]
    return f"{name.lower()} = {__name__}:{name}"


class Gated(nn.Module):
    """A buffer that training changes, a counter,
    norm over groups, and one of hexlit's own layers.
    """

    level: Tensor
    passes: Tensor

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.conv = ConvNorm(config.channels, config.channels, 3)
        self.norm = nn.GroupNorm(2, config.channels)
        self.register_buffer("level", torch.ones(config.channels, 1, 1))
        self.register_buffer("passes", torch.tensor(0))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            with torch.no_grad():
                self.level.lerp_(x.abs().mean((0, 2, 3))[:, None, None], 0.1)
                self.passes += 1
        y: Tensor = self.norm(self.conv(x)) / (self.level + 0.1 * self.passes.item())
        return x + y


class Plain(nn.Module):
    """One convolution."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.conv = nn.Conv2d(config.channels, config.channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv(x).relu()
        return x + y


class Noisy(Plain):
    """It draws random numbers whenever it answers."""

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv(x) * torch.rand_like(x)
        return x + y


class Wider(Plain):
    """It adds a column."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat((x, x[..., :1]), 3)


class Doubled(Plain):
    """It answers in another number format."""

    def forward(self, x: Tensor) -> Tensor:
        return x.double()


ONE = Plain(NetConfig(channels=8))


def single(config: NetConfig) -> nn.Module:
    """The same module every time."""
    return ONE


def failing(config: NetConfig) -> nn.Module:
    """It cannot be made."""
    raise KeyError("groups")
