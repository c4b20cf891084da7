"""`hexlit games`: recorded games imported, exported, drawn, counted and replayed; puzzles."""

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hexlit.commands.application import command
from hexlit.errors import UsageError
from hexlit.hex.notation import LARGEST, format_moves, parse_moves
from hexlit.settings import SEEDS, Settings, number, one_of

ACTIONS = ("import", "export", "show", "stats", "verify", "puzzles")
FORMATS = ("sgf", "littlegolem", "trmph", "hexworld", "wolve", "htp", "six")
"""Names of the formats of `hexlit.hex.records.formats`, which is imported only to read or write
them.
"""
DUPLICATES = ("symmetric", "keep")
ENDINGS = ("connected", "resigned", "forfeited", "unfinished")

CHOICES = ("size", "winner", "ending", "player", "event", "date", "opening")
ACTIONS_OF = {
    **dict.fromkeys(CHOICES, ("export", "show", "stats")),
    **dict.fromkeys(("game", "ply", "svg", "review"), ("show",)),
    **dict.fromkeys(("board", "count", "seed"), ("puzzles",)),
    "target": ("import", "export", "puzzles"),
    "duplicates": ("import",),
    "format": ("export",),
    "games": ("export", "stats"),
    "html": ("show", "stats"),
    "checkpoint": ("show", "puzzles"),
    "json": ("import", "export", "stats", "verify", "puzzles"),
}
"""Setting -> the actions that take it; the others are taken by all."""


@dataclass
class GamesConfig(Settings):
    """Settings of `hexlit games`."""

    action: str = one_of(ACTIONS, "")
    """Action; the first word on the command line."""
    source: Any = None
    """Games to read: a file, a store, a folder of these, or a list of them."""
    target: str | None = None
    """Import: folder of the store. Export: file. Puzzles: folder."""
    duplicates: str = one_of(DUPLICATES, "symmetric")
    """Import: equal games to drop. symmetric (also those turned by 180 degrees), keep (none)."""
    format: str | None = one_of(FORMATS, None)
    """Export: name of the format. None: from the name of target."""
    size: int | None = number(None, "[2, inf)")
    """Export, stats, show: rows of the board; only games on such boards. None: all games."""
    winner: str | None = one_of(("black", "white"), None)
    """Export, stats, show: winner; only games that it won. None: all games."""
    ending: str | None = one_of(ENDINGS, None)
    """Export, stats, show: ending; only such games. None: all games."""
    player: str | None = None
    """Export, stats, show: name of a player; only games in which it plays. None: all games."""
    event: str | None = None
    """Export, stats, show: a part of the event's name in a file. None: all games."""
    date: str | None = None
    """Export, stats, show: the beginning of the date in a file, such as 2026-11. None: all games."""
    opening: str | None = None
    """Export, stats, show: first moves, such as "a3 swap-pieces", turned by 180 degrees, too. None:
    all games.
    """
    games: int | None = number(None, "[1, inf)")
    """Export, stats: number of games; only the first ones. None: all games."""
    game: int = number(1, "[1, inf)")
    """Show: number of the game among those chosen, from 1; those that cannot be read count, too."""
    ply: int | None = number(None, "[0, inf)")
    """Show: number of moves on the board. None: all."""
    svg: str | None = None
    """Show: file for a picture in addition to the text."""
    html: str | None = None
    """Show: file for a page that steps through the game without a server, in addition to the text.
    Stats: file for such a page with the tree of the openings.
    """
    review: bool = False
    """Show: whether that page has a judgement of each position, by the exact solver or by a
    network.
    """
    checkpoint: str | None = None
    """Show: network that judges, as for `hexlit play`. Null: the exact solver on boards of up to 8
    rows; on larger boards the packaged network that fits. Puzzles: network that they are made for.
    Null: the packaged one that fits.
    """
    board: int = number(7, "[4, 8]")
    """Puzzles: rows of the board."""
    count: int = number(100, "[1, inf)")
    """Puzzles: number of them. Small boards may have fewer."""
    seed: int = number(0, SEEDS)
    """Puzzles: seed of the games that they come from."""
    json: bool = False
    """Whether to print JSON instead of text."""

    def __post_init__(self) -> None:
        """Refuse combinations that no action accepts."""
        super().__post_init__()
        if not self.sources and self.action != "puzzles":
            raise UsageError(
                f"source has no value: add source=FILE_OR_FOLDER, or source=[ONE,OTHER] to {self.action}"
            )
        if self.action in ("import", "export", "puzzles") and not self.target:
            what = "FILE" if self.action == "export" else "FOLDER"
            raise UsageError(f"target has no value: add target={what} to {self.action}")
        for setting in fields(self):
            value, actions = getattr(self, setting.name), ACTIONS_OF.get(setting.name, ACTIONS)
            if value != setting.default and self.action not in actions:
                raise UsageError(
                    f"{setting.name}={value}: belongs to {', '.join(actions)}, "
                    f"not to {self.action}; leave it out"
                )
        if self.opening is not None:
            moves = parse_moves(self.opening, LARGEST)
            self.opening = format_moves(moves, LARGEST)
        if self.review and self.html is None:
            raise UsageError("review=true: the review is part of the page; add html=FILE")
        if self.checkpoint is not None and not self.review and self.action != "puzzles":
            raise UsageError(
                f"checkpoint={self.checkpoint}: a network reviews the game; add review=true html=FILE"
            )

    @property
    def sources(self) -> list[Path]:
        """The files and folders to read."""
        named = self.source if isinstance(self.source, list) else [self.source]
        return [Path(str(path)) for path in named if path not in (None, "")]


def named(argv: list[str]) -> list[str]:
    """`argv` with its first word, `import` in `hexlit games import ...`, as a setting."""
    return [f"action={argv[0]}", *argv[1:]] if argv and re.fullmatch(r"\w+", argv[0]) else argv


main = command("games", GamesConfig, "games_run:games", prepare=named, whole=True)
