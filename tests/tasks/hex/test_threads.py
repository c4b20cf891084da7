"""The processes that play share the cores."""

import subprocess
import sys


def test_a_process_that_plays_keeps_torch_at_its_share_of_the_threads() -> None:
    """Numba starts its threads late, and sets the OpenMP that torch uses to all cores; so a fresh process it is."""
    program = (
        "import torch\n"
        "from hexlit.accelerate.config import AcceleratorConfig\n"
        "from hexlit.accelerate.profile import build_profile\n"
        "from hexlit.nets.config import NetConfig\n"
        "from hexlit.tasks.hex.host import HostMaker\n"
        "profile = build_profile(AcceleratorConfig(device='cpu', threads=2)).share(2)\n"
        "HostMaker(NetConfig(channels=8, blocks=[1]), 3, False, 4, profile)()\n"
        "print(torch.get_num_threads())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1"]
