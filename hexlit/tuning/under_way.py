"""An attempt at a trial while it goes on, as others see it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class UnderWay:
    """An attempt while it goes on."""

    give: Callable[[], None]
    """Gives a sign of life, and waits for the study's storage as long as that takes."""
    device: str = ""
    """The device that it was given."""
    host_bytes: int = 0
    device_bytes: int = 0
    """What it takes now, as far as is known."""
    _giving: threading.Thread | None = field(default=None, init=False)

    def alive(self) -> None:
        """Say so; to be called every minute or so.

        It returns at once, so that who watches over time and memory does so without the storage, too. A sign that still
        waits stands for the next ones.
        """
        if self._giving is None or not self._giving.is_alive():
            self._giving = threading.Thread(target=self.give, name="sign of life", daemon=True)
            self._giving.start()
