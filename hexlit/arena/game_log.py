"""The games of a match on disk: `games.csv`, two rows for each pair of games, written once both are over; and SGF."""

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from hexlit.arena.matches import ArenaGame, Pair
from hexlit.arena.ratings import PairCounts
from hexlit.errors import UsageError
from hexlit.files import write_text_atomic
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_moves, parse_moves
from hexlit.hex.record import Ending
from hexlit.hex.records.game import SWAP_PIECES, RecordedGame, RecordedMove
from hexlit.hex.records.sgf import write_sgf

COLUMNS = ("pair", "black", "white", "winner", "ending", "opening", "plies", "moves", "note")
WINNERS = {"black": 1, "white": -1}


class GameLog:
    """Keeps pairs of games; a match that is killed finds them again.

    Attributes:
        pairs: by the names of the first and the second player, then by the number of the opening.
    """

    def __init__(self, path: Path, size: int) -> None:
        """The games at `path` on boards of `size`; none without a file.

        A row torn by a kill, and a game without the other one of its pair, are dropped, from the file too.

        Raises:
            UsageError: the file holds something else.
        """
        self.path = path
        self.size = size
        self.pairs: dict[tuple[str, str], dict[int, Pair]] = {}
        try:
            whole, _, torn = (path.read_bytes() if path.exists() else b"").rpartition(b"\n")
            rows = list(csv.reader(io.StringIO(whole.decode("utf-8"), newline="")))
        except (UnicodeDecodeError, csv.Error) as error:
            raise UsageError(f"{path}: not the games of a match ({error})") from error
        if rows and tuple(rows[0]) != COLUMNS:
            raise UsageError(f"{path}: not the games of a match (its columns are not {', '.join(COLUMNS)})")
        games = [self._read(row, number) for number, row in enumerate(rows[1:], start=2)]
        for pair in zip(games[0::2], games[1::2], strict=False):
            self._keep(pair)
        if torn or len(games) % 2 or not rows:
            whole_pairs = [row for group in self.pairs.values() for pair in group.values() for row in self._rows(pair)]
            write_text_atomic(path, _as_text([COLUMNS, *whole_pairs]))

    def append(self, pair: Pair) -> None:
        """Keep `pair`; it is on disk when this returns."""
        self._keep(pair)
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(_as_text(self._rows(pair)))
            file.flush()
            os.fsync(file.fileno())

    def counts(self, first: str, second: str, *, forfeited: bool = True) -> PairCounts:
        """Numbers of pairs with none, one and both games won by `first`; pairs with a forfeit only if `forfeited`."""
        counts = [0, 0, 0]
        for pair in self.pairs.get((first, second), {}).values():
            if forfeited or not any(game.ending is Ending.FORFEITED for game in pair):
                counts[sum(game.won_by == first for game in pair)] += 1
        return counts[0], counts[1], counts[2]

    @property
    def games(self) -> list[ArenaGame]:
        """Every game, by players and pairs."""
        return [game for group in self.pairs.values() for _, pair in sorted(group.items()) for game in pair]

    def _keep(self, pair: Pair) -> None:
        self.pairs.setdefault((pair[0].black, pair[0].white), {})[pair[0].pair] = pair

    def _rows(self, pair: Pair) -> list[Sequence[object]]:
        return [
            (
                game.pair,
                game.black,
                game.white,
                "black" if game.winner > 0 else "white",
                game.ending.value,
                game.opening,
                len(game.moves),
                format_moves(game.moves, self.size),
                game.note,
            )
            for game in pair
        ]

    def _read(self, row: list[str], line: int) -> ArenaGame:
        try:
            pair, black, white, winner, ending, opening, _, moves, note = row
            cells = tuple(parse_moves(moves, self.size))
            return ArenaGame(int(pair), black, white, int(opening), cells, WINNERS[winner], Ending(ending), note)
        except (ValueError, KeyError) as error:
            raise UsageError(f"{self.path}, line {line}: not a game of a {self.size}x{self.size} match") from error


def _as_text(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def as_collection(games: Iterable[ArenaGame], size: int) -> str:
    """All games, one per line."""
    return "".join(as_sgf(game, size) for game in games)


def as_sgf(game: ArenaGame, size: int) -> str:
    """One game; the note of a forfeit is the comment of the last node."""
    return write_sgf(recorded(game, size), name=f"opening {game.pair + 1}")


def recorded(game: ArenaGame, size: int) -> RecordedGame:
    """The game for the formats of records."""
    actions = [SWAP_PIECES if move == size**2 else move for move in game.moves]
    return RecordedGame(
        size,
        tuple(RecordedMove(WHITE if ply % 2 else BLACK, action) for ply, action in enumerate(actions)),
        winner=game.winner,
        ending=game.ending,
        black=game.black,
        white=game.white,
        comment=game.note,
        opening=game.opening,
    )
