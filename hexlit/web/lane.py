"""One thing at a time in a thread of its own; what comes next ends what is under way."""

import logging
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)

Work = Callable[[Callable[[], bool]], None]
"""A job of a lane; it asks its argument, often, whether to stop."""


class Lane:
    """Carries out the newest work that it was given, and stops the work before.

    The thread starts with the first work, and ends by `close`.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._change = threading.Condition()
        self._next: Work | None = None
        self._refused: Callable[[], None] = lambda: None
        """Tells that the work in `_next` never begins."""
        self._stop = threading.Event()
        """Tells the work that is under way to end; each work has its own."""
        self._closed = False
        self._thread: threading.Thread | None = None

    def begin(self, work: Work, refused: Callable[[], None]) -> None:
        """Carry `work` out once the work under way has stopped, unless newer work comes before; waits for nothing.

        `refused` is called in place of work that never began.
        """
        with self._change:
            self._drop(None if self._closed else (work, refused))

    def stop(self) -> None:
        """Stop the work under way, and drop the work that waits; waits for nothing."""
        with self._change:
            self._drop(None)

    def close(self, timeout: float | None = None) -> None:
        """Stop for good, and wait for the thread, `timeout` seconds at most."""
        with self._change:
            self._closed = True
            self._drop(None)
        if self._thread is not None:
            self._thread.join(timeout)

    def _drop(self, following: tuple[Work, Callable[[], None]] | None) -> None:
        """Put `following` in the place of the work that waits."""
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
