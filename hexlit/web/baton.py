"""The searches of several browsers take turns: only the holder of the baton computes, first come, first served.

They share one processor and the kernels' threads. A search passes the baton on between two evaluations, so the others
never wait for all of it.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Baton:
    """A fair lock that its holder can pass on and take again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = False
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Wait for the baton; give it back at the end."""
        self._take()
        try:
            yield
        finally:
            self._give()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Give the baton back for work that need not block others, and wait for it at the end; for the holder."""
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


def passing(baton: Baton, until: Callable[[], bool]) -> Callable[[], bool]:
    """`until` for a search of the baton's holder: passes the baton on before each call."""

    def asked() -> bool:
        baton.pass_on()
        return until()

    return asked
