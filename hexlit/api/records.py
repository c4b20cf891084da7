"""`hexlit.games`, `hexlit.match` and `hexlit.load`: what files and folders hold, as data frames and
pictures.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hexlit.api.boards import NAMES, Board, Drawn, Picture
from hexlit.api.interface import DataFrame, console_for, frame, overrides, pandas_here
from hexlit.api.runs import Run, Sweep
from hexlit.api.searches import Model
from hexlit.arena.matches import ArenaGame
from hexlit.arena.tournament import GameLog, recorded
from hexlit.commands.in_process import called
from hexlit.commands.match import MatchConfig
from hexlit.commands.match import arguments as prepared
from hexlit.commands.report_files import MATCH, SWEEP, document_of, kind_of, own_values
from hexlit.errors import UsageError
from hexlit.hex.notation import format_cell, format_moves
from hexlit.hex.record import GameRecord
from hexlit.hex.records.game import RecordError, as_record
from hexlit.reporting.board import ShownGame, result_of
from hexlit.reporting.board_svg import game_svg
from hexlit.reporting.games import import_page, overview_page
from hexlit.reporting.html import notebook
from hexlit.reporting.match import match_page
from hexlit.selfplay.exporting import Overview, swap_of
from hexlit.selfplay.importing import Duplicates, import_games
from hexlit.selfplay.sources import GameReader
from hexlit.settings import check_word
from hexlit.tasks.hex.packaged import is_packaged
from hexlit.tuning.space import quoted

COLUMNS = ("size", "black", "white", "winner", "ending", "plies", "swap", "moves", "source")


class Game(Drawn):
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
        moves = self.record.moves[: self._ply if ply is None else self.at(ply)._ply].tolist()
        return Board(self.size, swap=self.size**2 in moves, moves=moves)

    def picture(self) -> Picture:
        """The board with numbered stones."""
        return Picture(game_svg(ShownGame(self.record, self._ply, {})))


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

    @property
    def frame(self) -> DataFrame:
        """A row a game: `size`, `black`, `white`, `winner`, `ending`, `plies`, `swap`, `moves`,
        `source`.
        """
        rows = []
        for one in self._records:
            ends = NAMES.get(one.winner, ""), one.ending.value, len(one.moves), swap_of(one)
            rows.append(
                (
                    one.size,
                    one.black,
                    one.white,
                    *ends,
                    format_moves(one.moves.tolist(), one.size),
                    one.source,
                )
            )
        return frame(rows, COLUMNS)

    def statistics(self, opening_plies: int = 2, most: int = 10) -> dict[str, Any]:
        """Counts of all kinds, as `hexlit games stats json=true` has them; tables of the `most`
        most frequent.
        """
        overview = Overview(opening_plies)
        for one in self._records:
            overview.add(one)
        return {**overview.as_json(most), "unreadable": len(self.unreadable)}

    def openings(self, plies: int = 2, most: int = 10) -> DataFrame:
        """The most frequent openings: `board`, `moves`, `games`, `black_won`; turned boards are
        counted together.
        """
        return frame(
            self.statistics(plies, most)["openings"], ("board", "moves", "games", "black_won")
        )

    def players(self, most: int = 10) -> DataFrame:
        """Those who played most: `name`, `games`, `won`."""
        return frame(self.statistics(most=most)["players"], ("name", "games", "won"))

    def store(self, target: str | Path, duplicates: str = "symmetric") -> "Stored":
        """Import the games into the store `target`, as `hexlit games import` does; equal games are
        dropped.

        Args:
            target: a folder; games that it has already are passed over.
            duplicates: rule for equal games: `symmetric` (also turned by 180 degrees) or `keep`.

        Raises:
            UsageError: the folder cannot take these games.
        """
        check_word("duplicates", duplicates, Duplicates)
        result = import_games(
            GameReader(self._paths), Path(target), duplicates=Duplicates(duplicates)
        )
        return Stored(Path(target), result.as_json())

    def _repr_html_(self) -> str:
        none = f"0 games; {len(self.unreadable):,} cannot be read"
        return notebook(overview_page(self.statistics(most=3))) if self._records else none


@dataclass
class Stored:
    """The account of an import.

    Attributes:
        folder: the store.
        account: how many games were read, imported and dropped, and why; as in `import.json`.
    """

    folder: Path
    account: dict[str, Any]

    @property
    def dropped(self) -> DataFrame:
        """`reason`, `games`, and in `first` where the first of them stands."""
        rows = [
            (reason, one["count"], one["place"]) for reason, one in self.account["dropped"].items()
        ]
        return frame(rows, ("reason", "games", "first"))

    def _repr_html_(self) -> str:
        return notebook(import_page(self.account, str(self.folder)))


def games(source: str | Path, *sources: str | Path) -> Games:
    """Read games: files of any format that hexlit knows, stores, the games of a run, and folders of
    these.

    Args:
        source: a path; that of a run's games is `run.games`.
        sources: further ones.

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
    return Games([Path(one) for one in (source, *sources)])


class Match:
    """A match, read from its folder; a notebook shows the ratings.

    Attributes:
        folder: the folder of the match.
        document: the content of `match.json`.
    """

    def __init__(self, folder: str | Path) -> None:
        """The match in `folder`.

        Raises:
            UsageError: there is none, or it has not come to its end.
        """
        self.folder = Path(folder)
        self.document = document_of(self.folder, MATCH)

    @property
    def ratings(self) -> DataFrame:
        """The players, best first: `name`, `elo`, `low` and `high` (95% interval), `games`, `wins`,
        `score`.
        """
        with own_values(self.folder, MATCH):
            return frame(
                self.document["players"], ("name", "elo", "low", "high", "games", "wins", "score")
            )

    @property
    def cross(self) -> DataFrame:
        """Wins of the player of a row against that of a column; empty where they did not meet."""
        with own_values(self.folder, MATCH):
            cells = self.document["cross"]
            wins = {}
            for name, row in cells.items():
                wins[name] = {other: cell["wins"] for other, cell in row.items()}
        return (
            pandas_here()
            .DataFrame(wins)
            .T.reindex(index=cells, columns=cells)
            .rename_axis("player")
            .astype("Int64")
        )

    @property
    def games(self) -> DataFrame:
        """Every game: `pair`, `black`, `white`, `winner` (a name), `ending`, `plies`, `opening`,
        `moves`.
        """
        rows = []
        for one in self._games:
            moves = format_moves(one.moves, self.document["board"])
            ends = one.ending.value, len(one.moves), one.opening, moves
            rows.append((one.pair, one.black, one.white, one.won_by, *ends))
        return frame(
            rows, ("pair", "black", "white", "winner", "ending", "plies", "opening", "moves")
        )

    @property
    def sgf(self) -> Path:
        """The file with all games, which any Hex program reads."""
        return self.folder / "games.sgf"

    def __len__(self) -> int:
        """Number of games."""
        return len(self._games)

    def __getitem__(self, number: int) -> Game:
        """A game by its row in `games`; a notebook draws it."""
        return Game(as_record(recorded(self._games[number], self.document["board"])))

    @cached_property
    def _games(self) -> list[ArenaGame]:
        with own_values(self.folder, MATCH):
            return GameLog(self.folder / "games.csv", self.document["board"]).games

    def _repr_html_(self) -> str:
        with own_values(self.folder, MATCH):
            return notebook(match_page(self.document, where=str(self.folder)))


def match(
    players: Sequence[str | Model] | Mapping[str, str | Model],
    *arguments: str,
    quiet: bool = False,
    **settings: Any,
) -> Match:
    """Play a match as `hexlit match` does with the same settings, in this process.

    Args:
        players: two or more: lines as on the command line (`"rollouts simulations=100"`,
            `"random"`), models, or what `Model.player` gives; or a mapping from names to these.
        arguments: overrides as on the command line, such as `"openings.plies=1"`.
        quiet: show nothing meanwhile.
        settings: overrides with values of Python: `board`, `pairs` (openings, each played twice),
            `swap`, `seed`.

    Raises:
        UsageError: a mistake, in one line that says what would be right.

    >>> import hexlit
    >>> played = hexlit.match({"one": "random", "two": "random"}, board=3, pairs=2, quiet=True)
    >>> len(played), sorted(played.ratings["name"])
    (4, ['one', 'two'])
    >>> hexlit.match(["random"])
    Traceback (most recent call last):
    ...
    hexlit.errors.UsageError: players: 1 of them; a match needs two or more
    """
    if isinstance(players, str):
        raise UsageError(f"players={players}: a list is needed, such as ['random', 'rollouts']")
    # Names come first, as a foreign program's command line comes last.
    given = (
        {f"name={shlex.quote(name)} ": one for name, one in players.items()}
        if isinstance(players, Mapping)
        else {}
    )
    named = given.items() or [("", one) for one in players]
    lines = [name + (one.player() if isinstance(one, Model) else one) for name, one in named]
    argv = [f"players=[{','.join(map(quoted, lines))}]", *overrides(arguments, settings)]
    from hexlit.commands.match_run import run_match

    with (
        console_for(quiet) as console,
        called("match", MatchConfig, argv, prepare=prepared) as command,
    ):
        return Match(run_match(*command, console))


def load(where: str | Path) -> Run | Sweep | Match | Model:
    """The run, the sweep, the match or the trained model at `where`.

    Args:
        where: the folder of a run, a sweep or a match; a checkpoint; or a packaged network such as
            `hexlit:small`. A checkpoint in the folder of a run gives that run with this checkpoint.
            Any other gives a model alone.

    Raises:
        UsageError: there is nothing of these.

    >>> import hexlit
    >>> run = hexlit.load("runs/hex5/2026-01-31_12-00-00_abcd")  # doctest: +SKIP
    >>> run.search(hexlit.Board(5)).move                         # doctest: +SKIP
    'c3'
    >>> hexlit.load("no/such/folder")
    Traceback (most recent call last):
    ...
    hexlit.errors.UsageError: folder=no/such/folder: there is no such folder
    """
    if is_packaged(where):
        return Model(where)
    path = Path(where)
    if path.is_file():
        folder = path.resolve().parent.parent
        return Run(folder, path) if (folder / ".hydra").is_dir() else Model(path)
    kind = kind_of(path)
    if kind == MATCH:
        return Match(path)
    return Sweep(path) if kind == SWEEP else Run(path)
