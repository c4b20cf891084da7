"""Trials by one of Hydra's launchers: joblib, submitit for Slurm, or in this process where nothing else works."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from hexlit.tuning.runner import Ending, Job, clean, first_line
from hexlit.tuning.slurm_jobs import failure_of
from hexlit.tuning.space import quoted
from hexlit.tuning.ticket import VARIABLE
from hexlit.tuning.under_way import UnderWay
from hexlit.tuning.watcher import SIGN_OF_LIFE

_LOOK_EVERY = 0.2


class LauncherRunner:
    """Gives each job to one of Hydra's launchers, one launch a job.

    A launched job cannot be recalled. When the sweep ends, its trial counts as interrupted, and the launcher decides
    about the job.
    """

    def __init__(self, make: Callable[[], Any], stop: threading.Event, *, at_once: bool) -> None:
        """`make()` gives a launcher that is set up. With `at_once` several launch in parallel, until `stop` is set."""
        self._make = make
        self._stop = stop
        self._turn = None if at_once else threading.Lock()

    def run(self, job: Job, under_way: UnderWay) -> Ending:
        """See `Runner`."""
        if job.slot is not None:
            job.slot.release()
        with self._in_turn() as mine:
            if not mine:
                return Ending(failure="interrupted with the sweep", interrupted=True)
            began = time.monotonic()
            told: list[str | None] = []
            # In a thread of its own: this one has to notice when the sweep ends.
            thread = threading.Thread(target=lambda: told.append(self._launch(job)), daemon=True)
            thread.start()
            message = began
            while thread.is_alive():
                thread.join(_LOOK_EVERY)
                if self._stop.is_set():
                    return Ending(failure="interrupted with the sweep", interrupted=True)
                if time.monotonic() - message > SIGN_OF_LIFE:
                    message = time.monotonic()
                    under_way.alive()
            return Ending(failure=told[0], seconds=time.monotonic() - began)

    @contextlib.contextmanager
    def _in_turn(self) -> Iterator[bool]:
        """Whether it is this job's turn; False when the sweep ends first."""
        if self._turn is None:
            yield not self._stop.is_set()
            return
        while not self._turn.acquire(timeout=_LOOK_EVERY):
            if self._stop.is_set():
                yield False
                return
        try:
            yield not self._stop.is_set()
        finally:
            self._turn.release()

    def _launch(self, job: Job) -> str | None:
        from hydra.core.utils import JobStatus

        overrides = [
            *job.overrides,
            "hydra.sweeper.storage=null",
            f"hydra.sweep.dir={quoted(str(job.folder.parent))}",
            f"hydra.sweep.subdir={quoted(job.folder.name)}",
            f"+hydra.job.env_set.{VARIABLE}={quoted(job.ticket.encoded())}",
        ]
        try:
            [result] = self._make().launch([overrides], initial_job_idx=job.ticket.number)
        except (Exception, SystemExit) as error:  # a job that exits or is killed ends its launcher
            return failure_of(error)
        finally:
            clean(job.folder)
        if result.status != JobStatus.COMPLETED:
            raised = result._return_value
            return f"{type(raised).__name__}: {first_line(raised)}"
        return None
