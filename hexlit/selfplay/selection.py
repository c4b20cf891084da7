"""Some of the games of a source."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.errors import RecordError


@dataclass(frozen=True)
class Selection:
    """A choice of games; None in a field means any."""

    size: int | None = None
    """Rows of the board."""
    winner: int | None = None
    """+1 Black, -1 White."""
    ending: Ending | None = None
    games: int | None = None
    """Number of fitting games to take, from the first on."""

    def of(self, games: Iterable[GameRecord | RecordError]) -> Iterator[GameRecord | RecordError]:
        """The chosen games of `games`, and every error on the way."""
        left = self.games
        for game in games:
            if isinstance(game, RecordError):
                yield game
            elif self._fits(game):
                yield game
                if left is not None:
                    left -= 1
                    if left == 0:
                        return

    def _fits(self, game: GameRecord) -> bool:
        return (
            self.size in (None, game.size) and self.winner in (None, game.winner) and self.ending in (None, game.ending)
        )
