"""Who computes when at the server: a fair lock among browsers, and a queue of one job for each browser.

The searches of several browsers take turns, first come, first served, for they share one processor and the kernels'
threads. A search passes the lock on between two evaluations, so the others never wait for all of it.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)

Work = Callable[[Callable[[], bool]], None]
"""A job; it often calls its argument to learn whether to stop."""


class FairLock:
    """A fair lock that its holder can pass on and take again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = False
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Wait for the lock; give it back at the end."""
        self._take()
        try:
            yield
        finally:
            self._give()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Give the lock back for work that need not block others, and wait for it at the end; for the holder."""
        self._give()
        try:
            yield
        finally:
            self._take()

    def pass_on(self) -> None:
        """Let the waiting ones run, then continue; only the holder may call this."""
        with self._lock:
            if not self._waiting:
                return
        self._give()
        self._take()

    def _take(self) -> None:
        with self._lock:
            if not self._held:
                self._held = True
                return
            turn = threading.Event()
            self._waiting.append(turn)
        turn.wait()

    def _give(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()  # it stays held: by the next one
            else:
                self._held = False


def passing(lock: FairLock, until: Callable[[], bool]) -> Callable[[], bool]:
    """`until` for a search of the lock's holder: passes the lock on before each call."""

    def asked() -> bool:
        lock.pass_on()
        return until()

    return asked


class JobQueue:
    """Carries out its newest work, and stops the previous work.

    The thread starts with the first work, and ends with `close`.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._change = threading.Condition()
        self._next: Work | None = None
        self._refused: Callable[[], None] = lambda: None
        """Called if the work in `_next` never begins."""
        self._stop = threading.Event()
        """Tells the running work to end; each work has its own."""
        self._closed = False
        self._thread: threading.Thread | None = None

    def begin(self, work: Work, refused: Callable[[], None]) -> None:
        """Carry `work` out once the running work has stopped, unless newer work comes first; does not wait.

        `refused` is called for work that never began.
        """
        with self._change:
            self._drop(None if self._closed else (work, refused))

    def stop(self) -> None:
        """Stop the running work, and drop the waiting one; does not wait."""
        with self._change:
            self._drop(None)

    def close(self, timeout: float | None = None) -> None:
        """Stop for good, and wait for the thread, at most `timeout` seconds."""
        with self._change:
            self._closed = True
            self._drop(None)
        if self._thread is not None:
            self._thread.join(timeout)

    def _drop(self, following: tuple[Work, Callable[[], None]] | None) -> None:
        """Replace the waiting work by `following`."""
        self._stop.set()
        if self._next is not None:
            self._refused()
        self._next = None
        if following is not None:
            self._next, self._refused = following
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        self._change.notify()

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._next is not None or self._closed)
                if self._next is None:
                    return
                work, self._next = self._next, None
                stop = self._stop = threading.Event()
            try:
                work(stop.is_set)
            except Exception:
                log.exception("%s: work failed", self._name)
