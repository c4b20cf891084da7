"""One job at a time in a thread of its own; a new job ends the running one."""

import logging
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)

Work = Callable[[Callable[[], bool]], None]
"""A job of a lane; it often calls its argument to learn whether to stop."""


class Lane:
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
