"""The settings of `hexlit games`, and its actions by name."""

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hexlit.errors import UsageError

ACTIONS = ("import", "export", "show", "stats", "verify")
EXAMPLE = "hexlit games import source=FILE_OR_FOLDER target=FOLDER"
_CHOICES = {
    "duplicates": ("symmetric", "exact", "keep"),
    "on_error": ("skip", "stop"),
    "winner": ("black", "white", None),
    "ending": ("connected", "resigned", "forfeited", "unfinished", None),
}
_LEAST = {"size": 2, "games": 1, "game": 1, "ply": 0, "simulations": 1, "opening_plies": 1, "most": 1}


@dataclass
class GamesConfig:
    """What `hexlit games` takes."""

    action: str = ""
    """import, export, show, stats or verify; on the command line the first word."""
    source: Any = None
    """File of games, store, folder of such, or a list of them."""
    target: str | None = None
    """Import: folder of the store. Export: file."""
    duplicates: str = "symmetric"
    """Import: which equal games are dropped: symmetric (also those turned by 180 degrees), exact, keep (none)."""
    on_error: str = "skip"
    """Import, what cannot be read: skip (and count) it, or stop."""
    format: str | None = None
    """Export: name of the format; None: by the name of target."""
    size: int | None = None
    """Export, stats: only games on boards of so many rows."""
    winner: str | None = None
    """Export, stats: only games that black, or white, has won."""
    ending: str | None = None
    """Export, stats: only games that ended so: connected, resigned, forfeited, unfinished."""
    games: int | None = None
    """Export, stats: only the first so many of them."""
    game: int = 1
    """Show: number of the game, from 1."""
    ply: int | None = None
    """Show: moves on the board; None: all."""
    svg: str | None = None
    """Show: file for a picture, too."""
    html: str | None = None
    """Show: file for a page that steps through the game, without a server, too."""
    review: bool = False
    """Show: judge every position on that page, by `checkpoint`."""
    checkpoint: str | None = None
    """Show: network that judges, as for `hexlit play`. Null: the exact solver on boards of up to 8 rows, and above the
    packaged network that fits."""
    simulations: int = 256
    """Show: simulations for each position that a network judges."""
    seconds: float = 10.0
    """Show: longest time of the exact solver for a position."""
    opening_plies: int = 2
    """Stats: moves that make an opening."""
    most: int = 10
    """Stats: openings and players in the tables. Verify: problems told one by one."""
    json: bool = False
    """Print JSON instead of text."""

    def __post_init__(self) -> None:
        """Refuse what no action takes."""
        if self.action not in ACTIONS:
            raise UsageError(no_action(self.action))
        if not self.sources:
            raise UsageError(f"source has no value: add source=FILE_OR_FOLDER, or source=[ONE,OTHER] to {self.action}")
        if self.action in ("import", "export") and not self.target:
            what = "FOLDER" if self.action == "import" else "FILE"
            raise UsageError(f"target has no value: add target={what} to {self.action}")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise UsageError(f"{name}={getattr(self, name)}: choose one of {', '.join(filter(None, choices))}")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"{name}={value}: must be {least} or more")
        if not 0.01 <= self.seconds <= 3600:
            raise UsageError(f"seconds={self.seconds:g}: a time from 0.01 to 3600 is needed")
        if self.review and self.html is None:
            raise UsageError("review=true: the review is part of the page; add html=FILE")
        if self.checkpoint is not None and not self.review:
            raise UsageError(f"checkpoint={self.checkpoint}: a network reviews the game; add review=true html=FILE")
        if self.json and self.action == "show":
            raise UsageError("json=true: show draws; stats and verify answer as JSON")

    @property
    def sources(self) -> list[Path]:
        """The files and folders to read."""
        named = self.source if isinstance(self.source, list) else [self.source]
        return [Path(str(path)) for path in named if path not in (None, "")]


def no_action(word: str) -> str:
    """What to say of `word`, which is no action; empty where none was given."""
    near = difflib.get_close_matches(word, ACTIONS, n=1)
    if near:
        return f"{word!r} is no action: did you mean {near[0]}?"
    given = f"{word!r} is no action: " if word else ""
    return f"{given}say what to do first, {', '.join(ACTIONS[:-1])} or {ACTIONS[-1]}, as in `{EXAMPLE}`"
