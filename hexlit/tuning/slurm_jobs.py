"""Jobs that submitit gives to Slurm: its controller tells the state of each, so no accounting is needed."""

import re
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from hexlit.tuning.runner import first_line

LAUNCHER = "submitit_slurm"

LEFT = "jobs of Slurm outlive their sweep: squeue --me lists them, scancel NUMBER ends one"
"""Said where trials are given up whose jobs cannot be called back."""
_ASKED_EVERY = 10
"""Seconds between two requests to the controller; each covers all jobs."""
_GOES_ON = {
    "CONFIGURING",
    "REQUEUE_FED",
    "REQUEUE_HOLD",
    "RESIZING",
    "SIGNALING",
    "SPECIAL_EXIT",
    "STAGE_OUT",
    "STOPPED",
    "SUSPENDED",
}
"""States of jobs that have not ended, in addition to those that submitit knows."""
_NO_OUTPUT = re.compile(r"^Job (\w+).*\(state: (\w+)", re.DOTALL)


class AskTheController(Callback):
    """Makes submitit ask Slurm's controller before Hydra launches jobs there. Hydra builds it from `conf/`."""

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Called when a sweep is about to begin."""
        if config.hydra.runtime.choices.get("hydra/launcher") == LAUNCHER:
            ask_the_controller()


def ask_the_controller() -> None:
    """Make submitit ask `squeue`. By default it asks `sacct` every ten minutes, and waits forever without accounting.

    A cancelled job leaves no result file, and submitit would check nothing else.
    """
    from submitit.slurm.slurm import SlurmInfoWatcher, SlurmJob

    class QueueWatcher(SlurmInfoWatcher):
        """Reads `squeue`, which forgets a job some minutes after its end."""

        def _make_command(self) -> list[str] | None:
            self._asked = self._registered - self._finished
            numbers = sorted({job.partition("_")[0] for job in self._asked})
            # squeue rejects a number that it has forgotten, so all jobs of this user are listed.
            return ["squeue", "--me", "-h", "-r", "-t", "all", "-o", "%i|%T|%N"] if numbers else None

        def read_info(self, string: bytes | str) -> dict[str, dict[str, str]]:
            text = string if isinstance(string, str) else string.decode()
            result = {job: {"JobID": job, "State": "ENDED", "NodeList": ""} for job in self._asked}
            for line in text.splitlines():
                job, state, nodes = (part.strip() for part in line.split("|"))
                known = "PENDING" if state in _GOES_ON else state
                result[job] = {"JobID": job, "State": known, "NodeList": nodes}
            return result

    SlurmJob.watcher = QueueWatcher(delay_s=_ASKED_EVERY)


def failure_of(error: BaseException) -> str:
    """Why a launched job has failed, in one line, such as `job 12 of Slurm ended as CANCELLED`."""
    result = _NO_OUTPUT.match(str(error))
    if type(error).__name__ == "UncompletedJobError" and result:
        return f"job {result[1]} of Slurm ended as {result[2]}"
    return f"{type(error).__name__}: {first_line(error)}"
