"""The display of a running run, as the run sees it."""

from collections.abc import Mapping
from typing import Any, Protocol, Self

from hexlit.training.phases import PhaseListener


class FigureDisplay(Protocol):
    """Shows the losses and figures of a run."""

    def update(
        self, *, epoch: int, losses: Mapping[str, float] | None = None, figures: Mapping[str, object] | None = None
    ) -> None:
        """Show the losses of `epoch`, the figures of its evaluation, or both."""


class Display(FigureDisplay, PhaseListener, Protocol):
    """Shows the phases too; in its `with` block it may take over the terminal."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *stop: Any) -> None: ...
