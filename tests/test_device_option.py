"""`pytest --device=...`: the device of the tests that can run on any."""

import pytest
import torch

from tests import conftest


class Config:
    """Stands in for that of pytest."""

    def __init__(self, device: str) -> None:
        self.device = device

    def getoption(self, name: str) -> str:
        assert name == "--device"
        return self.device


def configure(device: str) -> None:
    conftest.pytest_configure(Config(device))  # type: ignore[arg-type]


def test_the_fixture_gives_the_device_that_was_asked_for(device: torch.device, pytestconfig: pytest.Config) -> None:
    asked = pytestconfig.getoption("--device")
    assert asked == "auto" or device.type == torch.device(asked).type


@pytest.mark.parametrize("name", ["cpu", "auto"])
def test_what_every_machine_has_is_taken(name: str) -> None:
    configure(name)


@pytest.mark.row("A1")
@pytest.mark.parametrize(
    ("name", "said"),
    [("cuda:99", "--device=cuda:99: .*CUDA"), ("tpu", "--device=tpu: choose one of auto, cpu, cuda, cuda:N, mps")],
)
def test_a_device_that_is_not_there_is_refused_before_any_test(name: str, said: str) -> None:
    with pytest.raises(pytest.UsageError, match=said) as refused:
        configure(name)
    assert "\n" not in str(refused.value)
