"""As much of Ray as `RayPlayers` uses, in this process: actors are threads, and objects stay where they are."""

import concurrent.futures
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any


class RayError(Exception):
    pass


class RayActorError(RayError):
    pass


class RayTaskError(RayError):
    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class ObjectStoreFullError(RayError):
    pass


class OutOfDiskError(RayError):
    pass


class FakeActor:
    def __init__(self, made: Any) -> None:
        self.made = made
        self.thread = ThreadPoolExecutor(1)
        self.asked: list[Future[Any]] = []
        self.dead = False

    def __getattr__(self, name: str) -> Any:
        def remote(*arguments: Any) -> Future[Any]:
            answer: Future[Any] = Future()
            self.asked.append(answer)
            if self.dead:
                answer.set_exception(RayActorError("The actor died unexpectedly before finishing this task."))
            else:
                self.thread.submit(self._run, name, arguments, answer)
            return answer

        return SimpleNamespace(remote=remote)

    def _run(self, name: str, arguments: tuple[Any, ...], answer: Future[Any]) -> None:
        found = [argument.result() if isinstance(argument, Future) else argument for argument in arguments]
        try:
            result = getattr(self.made, name)(*found)
        except RayError as error:
            result = error
        except Exception as error:
            result = RayTaskError(error)
        if not answer.done():
            if isinstance(result, RayError):
                answer.set_exception(result)
            else:
                answer.set_result(result)

    def die(self) -> None:
        """End as an actor whose process is killed."""
        self.dead = True
        for answer in self.asked:
            if not answer.done():
                answer.set_exception(RayActorError("The actor died unexpectedly before finishing this task."))


class FakeRay:
    """`make(cls)` makes what an actor consists of."""

    exceptions = SimpleNamespace(
        RayError=RayError,
        RayActorError=RayActorError,
        RayTaskError=RayTaskError,
        ObjectStoreFullError=ObjectStoreFullError,
        OutOfDiskError=OutOfDiskError,
    )

    def __init__(self, make: Callable[[type], Any] = lambda cls: cls()) -> None:
        self.make = make
        self.actors: list[FakeActor] = []
        self.options: dict[str, Any] = {}
        self.puts: list[Any] = []
        self.full = False
        self.shut_down = False

    def remote(self, cls: type) -> Any:
        def start() -> FakeActor:
            self.actors.append(FakeActor(self.make(cls)))
            return self.actors[-1]

        def options(**settings: Any) -> Any:
            self.options = settings
            return SimpleNamespace(remote=start)

        return SimpleNamespace(options=options)

    def put(self, value: Any) -> Future[Any]:
        if self.full:
            raise ObjectStoreFullError("Failed to put object: the object store is full")
        self.puts.append(value)
        stored: Future[Any] = Future()
        stored.set_result(value)
        return stored

    def wait(
        self, refs: list[Future[Any]], num_returns: int, timeout: float
    ) -> tuple[list[Future[Any]], list[Future[Any]]]:
        concurrent.futures.wait(refs, timeout, return_when=concurrent.futures.FIRST_COMPLETED)
        ready = [ref for ref in refs if ref.done()][:num_returns]
        return ready, [ref for ref in refs if ref not in ready]

    def get(self, ref: Future[Any]) -> Any:
        return ref.result()

    def kill(self, actor: FakeActor, no_restart: bool) -> None:
        actor.die()

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 4.0}

    def available_resources(self) -> dict[str, float]:
        return {"CPU": 1.0}

    def shutdown(self) -> None:
        self.shut_down = True
