"""The promises of every residual block."""

from typing import TYPE_CHECKING

from hexlit.nets.config import NetConfig

if TYPE_CHECKING:  # torch takes seconds to import, and the other suites need none
    from torch import Tensor, nn


class BlockConformance:
    """The promises of a block of `net.block`, see `hexlit.nets.outside_blocks` and
    `hexlit.testing`.

    Attributes:
        sizes: boards to try.
        config: the network whose block is made.
        tolerance: by how much answers may differ that should be the same.
    """

    sizes: tuple[int, ...] = (2, 3, 8, 19)
    config = NetConfig(channels=8)
    tolerance = 1e-4

    def make(self, config: NetConfig) -> "nn.Module":
        """A new block for the network of `config`."""
        raise NotImplementedError

    def test_shape_and_number_format_stay(self) -> None:
        """On every board, in training and in evaluation."""
        block = self.make(self.config)
        for size in self.sizes:
            x = self._features(size)
            expected = tuple(x.shape), x.dtype
            for training in (True, False):
                answer = block.train(training)(x)
                actual = tuple(answer.shape), answer.dtype
                message = f"on {size}x{size}: it returned {actual} for {expected}"
                assert actual == expected, message

    def test_every_weight_learns(self) -> None:
        """Its gradient is there and finite."""
        block = self.make(self.config).train()
        for size in self.sizes:
            block.zero_grad()
            x = self._features(size)
            block(x.requires_grad_()).square().sum().backward()
            for name, weight in block.named_parameters():
                place = f"on {size}x{size}: {name}"
                assert weight.grad is not None, f"{place} has no gradient"
                finite = weight.grad.isfinite().all()
                assert finite, f"{place} has a gradient that is not finite"

    def test_an_answer_in_evaluation_depends_on_the_position_alone(self) -> None:
        """Not on the positions next to it, nor on what was asked before."""
        block = self._trained()
        for size in self.sizes:
            x = self._features(size)
            whole = block(x)
            alone = self._difference(block(x[1:2]), whole[1:2])
            again = self._difference(block(x), whole)
            difference = max(alone, again)
            message = f"on {size}x{size}: answers differ by {difference:.2g}"
            assert difference <= self.tolerance, message

    def test_its_state_is_all_that_another_one_needs(self) -> None:
        """A checkpoint keeps the state; a network is built again for evaluation and given it."""
        block = self._trained()
        other = self.make(self.config).eval()
        assert block is not other, "one module was returned twice"
        other.load_state_dict(block.state_dict())
        for size in self.sizes:
            x = self._features(size)
            difference = self._difference(other(x), block(x))
            message = f"on {size}x{size}: with the same state answers differ by {difference:.2g}"
            assert difference <= self.tolerance, message

    def _trained(self) -> "nn.Module":
        """A block in evaluation after a few steps, so that its statistics are not those of a new
        one.
        """
        import torch

        block = self.make(self.config).train()
        for size in self.sizes:
            block.zero_grad()
            x = self._features(size).requires_grad_()
            block(x + 1).square().mean().backward()
            with torch.no_grad():
                for weight in block.parameters():
                    if weight.grad is not None:
                        weight.sub_(weight.grad, alpha=1e-3)
        return block.eval()

    def _features(self, size: int) -> "Tensor":
        """The same `[4, C, size, size]` in every call."""
        import torch

        generator = torch.Generator().manual_seed(size)
        return torch.rand(4, self.config.channels, size, size, generator=generator)

    def _difference(self, actual: "Tensor", expected: "Tensor") -> float:
        return (actual - expected).detach().abs().max().item()
