"""A running attempt at a trial, as others see it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class UnderWay:
    """A running attempt."""

    give: Callable[[], None]
    """Gives a sign of life, and waits for the study's storage as long as necessary."""
    device: str = ""
    """The device of the attempt."""
    host_bytes: int = 0
    device_bytes: int = 0
    """Bytes that it takes of the device now, as far as is known."""
    _giving: threading.Thread | None = field(default=None, init=False)

    def alive(self) -> None:
        """Give a sign of life; to be called every minute or so.

        It returns at once, so that watching over time and memory does not depend on the storage. A pending sign stands
        for the next ones.
        """
        if self._giving is None or not self._giving.is_alive():
            self._giving = threading.Thread(target=self.give, name="sign of life", daemon=True)
            self._giving.start()
