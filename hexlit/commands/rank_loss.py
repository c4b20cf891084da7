"""The end of a process whose run has lost a rank: orderly if that takes only seconds, else immediate.

A rank that waits for a lost one notices neither Ctrl-C nor, until its wait is over, a signal.
"""

import faulthandler
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from hexlit.errors import UsageError

GRACE, LAST = 1.0, 3.0
"""Seconds for this process to notice by itself that a rank is gone, and then to end in good order."""

_STUCK = GRACE + LAST + 1.0
"""Seconds before a process is ended whose main thread blocks all others."""


class RankLoss:
    """Tells this process of the loss of a rank, from any thread, and ends it."""

    def __init__(self) -> None:
        self.how: str | None = None
        """The lost rank, and the reason; None while all are there."""
        self._lost, self._over = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._hears, self._tells = False, True
        self._nowhere = Path(os.devnull).open("w")  # noqa: SIM115  # held as long as a watchdog may write to it

    @property
    def is_known(self) -> bool:
        """Whether a rank was lost, or the run is over."""
        return self._lost.is_set() or self._over.is_set()

    @contextmanager
    def heard_of(self) -> Iterator[None]:
        """Within the block a signal tells the main thread of a loss, and ends its wait."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def lost(number: int, frame: FrameType | None) -> None:
            if not self._over.is_set():
                raise self._ending()

        before = signal.signal(signal.SIGUSR1, lost)
        self._hears = True
        try:
            with self._terminated_in_any_wait():
                yield
        finally:
            self._hears = False
            signal.signal(signal.SIGUSR1, before)

    @contextmanager
    def ends_the_block(self) -> Iterator[None]:
        """End the block, a run, on a loss; errors caused by one, such as a broken connection, become that loss."""
        with self.heard_of():
            try:
                yield
            except UsageError:
                raise
            except Exception as error:
                if self._lost.wait(GRACE):
                    raise self._ending() from error
                raise
            except (KeyboardInterrupt, SystemExit) as stop:  # torchrun ends the remaining ranks
                if self._lost.is_set():
                    raise self._ending() from stop
                raise
            finally:
                self.over()

    def _ending(self) -> BaseException:
        return UsageError(str(self.how)) if self._tells else SystemExit(2)

    def lose(self, how: str, tells: bool = True) -> None:
        """Report that a rank is gone; the first call counts. It returns once `over` is called, or never.

        One rank `tells` people the reason; the others end silently.
        """
        with self._lock:
            if self.is_known:
                return
            self.how, self._tells = how, tells
            self._lost.set()
            faulthandler.dump_traceback_later(_STUCK, exit=True, file=self._nowhere)
        if self._over.wait(GRACE):
            return
        with self._lock:
            if self._hears and not self._over.is_set():
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
        if self._over.wait(LAST):
            return
        self._end_at_once(how)  # the main thread waits inside a device's library, which notices nothing

    def _end_at_once(self, how: str) -> NoReturn:
        """End this process in any state, with all that it has started. `how` is printed if there was no loss."""
        if self._tells:
            print(f"hexlit train: {self.how or how}", file=sys.stderr, flush=True)
        os._exit(2)

    def over(self) -> None:
        """The run has ended: no rank can be lost any more."""
        with self._lock:
            self._over.set()
            if self._lost.is_set():
                faulthandler.cancel_dump_traceback_later()

    @contextmanager
    def _terminated_in_any_wait(self) -> Iterator[None]:
        """Within the block SIGTERM ends this process even if its main thread does not react for `LAST` seconds.

        It is needed until the ranks have met: torch waits for the others. torchrun and srun kill only after half a
        minute.
        """
        handler = signal.getsignal(signal.SIGTERM)
        if not callable(handler):  # the system's default, which needs no help
            yield
            return
        heard = threading.Event()

        def hear(number: int, frame: FrameType | None) -> None:
            heard.set()
            handler(number, frame)

        def watch() -> None:
            while numbers := arrived.recv(64):
                if signal.SIGTERM in numbers and not heard.wait(LAST):
                    self._end_at_once("terminated while it waited for other ranks")

        arrived, arriving = socket.socketpair()
        with arrived, arriving:
            arriving.setblocking(False)
            watching = threading.Thread(target=watch, name="termination", daemon=True)
            watching.start()
            signal.signal(signal.SIGTERM, hear)
            before = signal.set_wakeup_fd(arriving.fileno(), warn_on_full_buffer=False)
            try:
                yield
            finally:
                signal.set_wakeup_fd(before)
                signal.signal(signal.SIGTERM, handler)
                arriving.close()
                watching.join()
