"""Settings for evaluating on another machine."""

import pytest

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.tasks.hex.host import elsewhere_from


@pytest.mark.row("E14")
def test_a_cap_of_memory_holds_on_other_machines_and_their_threads_are_their_own() -> None:
    here = AcceleratorConfig(memory_cap=6.0, threads=8, inference_precision="fp32")
    there = elsewhere_from(here, "cuda", 2)
    assert (there.device, there.threads, there.memory_cap, there.inference_precision) == ("cuda", 2, 6.0, "fp32")
    assert elsewhere_from(here, "cpu", 2).memory_cap is None, "a cpu has none, and would refuse one"
