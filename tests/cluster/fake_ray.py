"""As much of Ray as `RayTasks` uses, in this process:
tasks run in threads, and objects stay where they are.
"""

import concurrent.futures
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from hexlit.cluster import tasks
from hexlit.cluster.connection import Connection


class RayError(Exception):
    pass


class WorkerCrashedError(RayError):
    pass


class RayTaskError(RayError):
    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class ObjectStoreFullError(RayError):
    pass


class OutOfDiskError(RayError):
    pass


class FakeRay:
    exceptions = sys.modules[__name__]

    def __init__(self, processes: int) -> None:
        self.options: dict[str, Any] = {}
        self.puts: list[Any] = []
        self.begun = 0
        self.losses: set[int] = set()
        """Numbers of the beginnings of tasks whose process ends before the result arrives."""
        self.processors = 4.0
        self.full = False
        self.shut_down = False
        self._threads = ThreadPoolExecutor(processes)

    def remote(self, **settings: Any) -> Any:
        def task(function: Callable[..., Any]) -> Any:
            return SimpleNamespace(
                remote=lambda *arguments: self._threads.submit(self._run, function, arguments)
            )

        self.options = settings
        return task

    def _run(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        found = [
            argument.result() if isinstance(argument, Future) else argument
            for argument in arguments
        ]
        for _ in range(1 + self.options["max_retries"]):
            number, self.begun = self.begun, self.begun + 1
            try:
                result = function(*found)
            except RayError:
                raise
            except Exception as error:
                raise RayTaskError(error) from error
            if number not in self.losses:
                return result
        raise WorkerCrashedError("The worker died unexpectedly while executing this task.")

    def put(self, value: Any) -> Future[Any]:
        if self.full:
            raise ObjectStoreFullError("Failed to put object: the object store is full")
        self.puts.append(value)
        stored: Future[Any] = Future()
        stored.set_result(value)
        return stored

    def wait(
        self, references: list[Future[Any]], timeout: float
    ) -> tuple[list[Future[Any]], list[Future[Any]]]:
        done, left = concurrent.futures.wait(references, timeout if self.processors else 0.01)
        return list(done), list(left)

    def get(self, reference: Future[Any]) -> Any:
        return reference.result()

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": self.processors}

    def available_resources(self) -> dict[str, float]:
        return {"CPU": 1.0}

    def shutdown(self) -> None:
        self.shut_down = True


def stand_in(monkeypatch: pytest.MonkeyPatch, processes: int = 1) -> FakeRay:
    """A `FakeRay` that every connection leads to;
    jobs at a time share what `make` gives where it is set up once.
    """
    fake = FakeRay(processes)
    monkeypatch.setattr(tasks, "connect", lambda config, count: Connection(fake, owned=True))
    monkeypatch.setitem(sys.modules, "ray", fake)
    return fake
