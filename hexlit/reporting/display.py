"""A picture on the terminal that is drawn again and again while a command works."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Literal, Self

from rich.console import Console, RenderableType
from rich.live import Live

from hexlit.reporting.screen import is_screen

_REFRESHES_PER_SECOND = 4.0


class Display(ABC):
    """Draws `render` four times a second within a `with` block. Without a terminal it draws nothing.

    Args:
        console: the terminal.
        live: whether to draw; None decides by the console.
        transient: whether the picture is cleared in the end.
        vertical_overflow: treatment of a picture that is higher than the terminal.
    """

    def __init__(
        self,
        console: Console,
        *,
        live: bool | None = None,
        transient: bool = False,
        vertical_overflow: Literal["crop", "ellipsis"] = "ellipsis",
    ) -> None:
        self.console = console
        self.live = is_screen(console) if live is None else live
        self._transient = transient
        self._vertical_overflow = vertical_overflow
        self._drawn: Live | None = None

    def __enter__(self) -> Self:
        if self.live:
            self._drawn = Live(  # not made before: it calls `render` at once
                console=self.console,
                get_renderable=self.render,
                refresh_per_second=_REFRESHES_PER_SECOND,
                transient=self._transient,
                vertical_overflow=self._vertical_overflow,
            )
            self._drawn.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the terminal back, whatever happened."""
        self._end()

    def _end(self) -> None:
        if self._drawn is not None:
            self._drawn.stop()

    @abstractmethod
    def render(self) -> RenderableType:
        """The picture of this instant."""
