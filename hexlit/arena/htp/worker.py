"""A thread for thinking beside the one for answers: loading and compiling delay no answer that needs neither.

Networks, captured graphs and compiled operators are used in the thread that made them, as some of them require.
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Worker:
    """Runs calls one after another in its own thread.

    Args:
        failed: called once, from that thread, when a call of `begin` has failed.
    """

    def __init__(self, failed: Callable[[], None] = lambda: None) -> None:
        self.error: Exception | None = None
        """Error of a call of `begin`; every later call raises it."""
        self._failed = failed
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any] | None]] = queue.SimpleQueue()
        self._left = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._work, name="htp-worker", daemon=True).start()

    def begin(self, call: Callable[[], object]) -> None:
        """Run `call` after those before it; returns at once."""
        self._put(call, None)

    def do(self, call: Callable[[], T]) -> T:
        """Run `call` after those before it; returns its result, raises its error."""
        answer: Future[T] = Future()
        self._put(call, answer)
        return answer.result()

    @property
    def busy(self) -> bool:
        """Whether a call is under way or waits."""
        return self._left > 0

    def _put(self, call: Callable[[], Any], answer: "Future[Any] | None") -> None:
        with self._lock:
            self._left += 1
        self._calls.put((call, answer))

    def _work(self) -> None:
        while True:
            call, answer = self._calls.get()
            try:
                if self.error is not None:
                    raise self.error
                result = call()
            except Exception as error:
                if answer is not None:
                    self._done()
                    answer.set_exception(error)
                elif self.error is None:
                    self.error = error
                    self._done()
                    self._failed()
                else:
                    self._done()
            else:
                self._done()
                if answer is not None:
                    answer.set_result(result)

    def _done(self) -> None:
        with self._lock:
            self._left -= 1
