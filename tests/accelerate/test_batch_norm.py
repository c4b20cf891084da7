"""Batch norm by the size of images is a plain one for each size."""

import torch
from torch import Tensor, nn

from hexlit.accelerate.batch_norm import SizedBatchNorm2d


def images(size: int) -> Tensor:
    return size * torch.randn(8, 2, size, size) + size


def test_each_size_has_the_plain_batch_norm_of_its_own_batches() -> None:
    torch.manual_seed(0)
    sized = SizedBatchNorm2d(2, largest=9)
    plain = {size: nn.BatchNorm2d(2) for size in (3, 5)}
    for size in (3, 3, 5, 3, 5, 5):
        if not plain[5].num_batches_tracked:
            plain[5].running_mean = sized.means[5].clone()  # where a new size begins
            plain[5].running_var = sized.variances[5].clone()
        batch = images(size)
        found, expected = (batch.clone().requires_grad_() for _ in range(2))
        sized(found).pow(3).sum().backward()
        plain[size](expected).pow(3).sum().backward()
        torch.testing.assert_close(found.grad, expected.grad)
    sized.eval()
    for size, norm in plain.items():
        batch = images(size)
        expected = norm.eval()(batch)
        torch.testing.assert_close(sized(batch), expected)
        torch.testing.assert_close(sized.of_size(size)(batch), expected)
    assert torch.equal(sized.means[9], sized.means[2])
    assert sized.trained.nonzero().flatten().tolist() == [3, 5]
