"""Put first on PYTHONPATH by tests of sweeps: trials become a light stand-in for training, with
planted accidents.

A trial "learns" for `trainer.max_epochs` epochs of STAND_IN_SECONDS each: at epoch e its value is
1 - |log10(optimizer.lr / 0.01)| * 0.3 - 0.1 / (e + 1), so 0.01 is the best rate. STAND_IN_ACCIDENTS
is a JSON object from the number of a trial to its accident: exit, kill, memory, memory once, error,
hang or grow.
"""

import json
import math
import os
import signal
import sys
import time
import types
from typing import Any


def train_trial(settings: Any, composed: Any, ticket: Any) -> Any:
    from hexlit.tuning.trial import running_trial

    folder = composed.folder
    accident = json.loads(os.environ.get("STAND_IN_ACCIDENTS", "{}")).get(str(ticket.number))
    seconds = float(os.environ.get("STAND_IN_SECONDS", "0"))

    def micro_batch_of(error: Exception) -> Any:
        return (settings.accelerator.micro_batch or 64) if isinstance(error, MemoryError) else None

    with running_trial(ticket, micro_batch_of) as trial:
        for number in range(ticket.seeds):
            epochs = settings.trainer.max_epochs
            value = 0.0
            for epoch in range(epochs):
                if epoch == 1:
                    happen(accident, settings, folder)
                time.sleep(seconds)
                value = (
                    1
                    - 0.3 * abs(math.log10(settings.optimizer.lr / 0.01))
                    - 0.1 / (epoch + 1)
                    + number
                )
                if trial.report(number * epochs + epoch, value) and epoch + 1 < epochs:
                    trial.pruned = True
                    break
            values = {"strength.score": value, "cost.flops": settings.optimizer.lr}
            trial.end_seed(values, epoch + 1)
            if trial.pruned:
                break
        trial.note(seconds=seconds)
    (folder / "summary.json").write_text("{}")
    return None if trial.pruned else trial.values[0]


def happen(accident: str | None, settings: Any, folder: Any) -> None:
    if accident == "exit":
        os._exit(3)
    if accident == "kill":
        (folder / ".summary.json.0a1b2c3d.tmp").write_text("torn")
        os.kill(os.getpid(), signal.SIGKILL)
    if accident == "error":
        raise RuntimeError("planted\nsecond line")
    if accident == "memory" or (accident == "memory once" and not settings.accelerator.micro_batch):
        raise MemoryError("planted: no memory")
    if accident == "hang":
        time.sleep(600)
    if accident == "grow":
        kept = bytearray(400 * 2**20)
        kept[::4096] = b"x" * len(kept[::4096])
        time.sleep(600)


if os.environ.get("STAND_IN_SECONDS"):
    stand_in = types.ModuleType("hexlit.commands.trial_training")
    stand_in.train_trial = train_trial  # type: ignore[attr-defined]
    sys.modules["hexlit.commands.trial_training"] = stand_in

if "no process" in os.environ.get("STAND_IN_ACCIDENTS", ""):
    import subprocess

    class Starved(subprocess.Popen):  # type: ignore[type-arg]
        """The system has no process left for anything with a session of its own."""

        def __init__(self, *arguments: Any, **settings: Any) -> None:
            if settings.get("start_new_session"):
                raise BlockingIOError(11, "Resource temporarily unavailable")
            super().__init__(*arguments, **settings)

    subprocess.Popen = Starved  # type: ignore[misc]
