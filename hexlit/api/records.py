"""`hexlit.games`: recorded games of any format, and stores of them, as data frames and pictures."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.api.boards import NAMES, Board
from hexlit.api.interface import frame
from hexlit.errors import UsageError
from hexlit.hex.notation import format_cell, format_moves
from hexlit.hex.record import GameRecord
from hexlit.hex.records.game import RecordError
from hexlit.reporting.board import ShownGame, result_of
from hexlit.reporting.board_svg import game_svg
from hexlit.reporting.page import Notes, Page
from hexlit.selfplay.exporting import Overview, swap_of
from hexlit.selfplay.importing import Duplicates, import_games
from hexlit.selfplay.sources import GameReader
from hexlit.settings import check_word

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("size", "black", "white", "winner", "ending", "plies", "swap", "moves", "source")


class Game:
    """One game; a notebook draws it with numbered stones.

    Attributes:
        record: the game with all that is known of it.
    """

    def __init__(self, record: GameRecord, ply: int | None = None) -> None:
        """Shown up to `ply`, None for the whole game."""
        self.record = record
        self._ply = len(record.moves) if ply is None else ply

    @property
    def size(self) -> int:
        """Rows of the board."""
        return int(self.record.size)

    @property
    def moves(self) -> list[str]:
        """All moves by name."""
        return [format_cell(int(move), self.size) for move in self.record.moves]

    @property
    def result(self) -> str:
        """How the game ended, in words."""
        return result_of(self.record)

    def at(self, ply: int) -> "Game":
        """The game as it stood after `ply` moves; raises `UsageError` where it has fewer."""
        if not 0 <= ply <= len(self.record.moves):
            raise UsageError(f"ply={ply}: the game has {len(self.record.moves)} moves")
        return Game(self.record, ply)

    def board(self, ply: int | None = None) -> Board:
        """The board after `ply` moves, None for those that are shown."""
        ply = self._ply if ply is None else ply
        moves = [int(move) for move in self.at(ply).record.moves[:ply]]
        return Board(self.size, swap=self.size**2 in moves, moves=moves)

    def _repr_svg_(self) -> str:
        return game_svg(ShownGame(self.record, self._ply, {}))


class Games(Sequence[Game]):
    """Games that were read; a notebook shows what is in them.

    Attributes:
        unreadable: what could not be read, with the place.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        """The games at `paths`; see `games`."""
        self._paths = paths
        self.unreadable: list[RecordError] = []
        self._records: list[GameRecord] = []
        for one in GameReader(paths):
            (self.unreadable if isinstance(one, RecordError) else self._records).append(one)  # type: ignore[arg-type]

    def __len__(self) -> int:
        """How many games could be read."""
        return len(self._records)

    def __getitem__(self, number: Any) -> Any:
        """One game, or for a slice a list of them."""
        result = self._records[number]
        return [Game(one) for one in result] if isinstance(number, slice) else Game(result)

    def __iter__(self) -> Iterator[Game]:
        """The games in their order."""
        return map(Game, self._records)

    @property
    def frame(self) -> "pd.DataFrame":
        """A row a game: `size`, `black`, `white`, `winner`, `ending`, `plies`, `swap`, `moves`, `source`."""
        rows = [
            {
                "size": one.size,
                "black": one.black,
                "white": one.white,
                "winner": NAMES.get(one.winner, ""),
                "ending": one.ending.value,
                "plies": len(one.moves),
                "swap": swap_of(one),
                "moves": format_moves(one.moves.tolist(), one.size),
                "source": one.source,
            }
            for one in self._records
        ]
        return frame(rows, COLUMNS)

    def statistics(self, opening_plies: int = 2, most: int = 10) -> dict[str, Any]:
        """Counts of all kinds, as `hexlit games stats json=true` has them; tables of the `most` most frequent."""
        overview = Overview(opening_plies)
        for one in self._records:
            overview.add(one)
        return {**overview.as_json(most), "unreadable": len(self.unreadable)}

    def openings(self, plies: int = 2, most: int = 10) -> "pd.DataFrame":
        """The most frequent openings: `board`, `moves`, `games`, `black_won`; turned boards are counted together."""
        return frame(self.statistics(plies, most)["openings"], ("board", "moves", "games", "black_won"))

    def players(self, most: int = 10) -> "pd.DataFrame":
        """Those who played most: `name`, `games`, `won`."""
        return frame(self.statistics(most=most)["players"], ("name", "games", "won"))

    def store(self, target: str | Path, duplicates: str = "symmetric") -> "Stored":
        """Import the games into the store `target`, as `hexlit games import` does; equal games are dropped.

        Args:
            target: a folder; games that it has already are passed over.
            duplicates: `symmetric` (the same, or the same turned by 180 degrees), `exact`, or `keep`.

        Raises:
            UsageError: the folder cannot take these games.
        """
        check_word("duplicates", duplicates, Duplicates)
        result = import_games(GameReader(self._paths), Path(target), duplicates=Duplicates(duplicates))
        return Stored(Path(target), result.as_json())

    def _repr_html_(self) -> str:
        from hexlit.reporting.games import overview_page
        from hexlit.reporting.html import notebook

        none = Page("", "", [], [Notes([f"0 games; {len(self.unreadable):,} cannot be read"])])
        return notebook(overview_page(self.statistics(most=3)) if self._records else none)


class Stored:
    """The account of an import.

    Attributes:
        folder: the store.
        account: how many games were read, imported and dropped, and why; as in `import.json`.
    """

    def __init__(self, folder: Path, account: dict[str, Any]) -> None:
        """As above."""
        self.folder = folder
        self.account = account

    @property
    def dropped(self) -> "pd.DataFrame":
        """`reason`, `games`, and in `first` where the first of them stands."""
        rows = [
            {"reason": reason, "games": one["count"], "first": one["place"]}
            for reason, one in self.account["dropped"].items()
        ]
        return frame(rows, ("reason", "games", "first"))

    def __repr__(self) -> str:
        account = self.account
        dropped = account["read"] - account["imported"]
        return (
            f"{account['read']:,} games read, {account['imported']:,} new, {dropped:,} dropped; "
            f"{account['in_store']:,} in {self.folder}"
        )


def games(*sources: str | Path) -> Games:
    """Read games: files of any format that hexlit knows, stores, the games of a run, and folders of these.

    Args:
        sources: paths; a run's are in `run.games`.

    Raises:
        UsageError: a path does not exist, or has no games.

    >>> import tempfile, pathlib, hexlit
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "one.trmph"
    >>> _ = file.write_text("#5,c3b3b4d2d4")
    >>> games = hexlit.games(file)
    >>> games.frame[["size", "plies", "moves"]].values.tolist()
    [[5, 5, 'c3 b3 b4 d2 d4']]
    >>> games[0].board(2).names
    ['c3', 'b3']
    """
    if not sources:
        raise UsageError("games: name a file or a folder")
    return Games([Path(source) for source in sources])
