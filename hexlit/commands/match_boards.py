"""Last positions of a match on the terminal: games of the players who came closest to each other."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from rich.text import Text

from hexlit.arena.matches import ArenaGame
from hexlit.hex.board import Board
from hexlit.hex.record import Ending
from hexlit.hex.symmetry import stone_cells
from hexlit.reporting.board import BLACK_STYLE, WHITE_STYLE, draw_board

_ENDS = {Ending.CONNECTED: "connects", Ending.RESIGNED: "wins by resignation", Ending.FORFEITED: "wins by forfeit"}


def closest_games(games: Sequence[ArenaGame], count: int) -> list[ArenaGame]:
    """Up to `count` games: the longest one of each two players, those first whose score is the nearest to even.

    With fewer meetings than `count`, the second longest games follow, and so on.
    """
    meetings: dict[frozenset[str], list[ArenaGame]] = defaultdict(list)
    for game in games:
        meetings[frozenset((game.black, game.white))].append(game)
    order = sorted(meetings.items(), key=lambda meeting: (_distance(*meeting), sorted(meeting[0])))
    by_length = [sorted(played, key=lambda game: (-len(game.moves), game.pair)) for _, played in order]
    return list(_in_turn(by_length))[:count]


def draw_games(games: Sequence[ArenaGame], size: int) -> Text:
    """The last position of each game, with its players and its end."""
    parts = []
    for game in games:
        board = Board(size, swap=True, moves=game.moves)
        last = stone_cells(game.moves, size)[-1] if game.moves else None
        message = f"{'Black' if game.winner > 0 else 'White'} {_ENDS[game.ending]} after {len(game.moves)} moves"
        names = Text.assemble(("X ", BLACK_STYLE), game.black, (" – ", "dim"), ("O ", WHITE_STYLE), game.white)
        parts.append(Text("\n").join([Text(), names, draw_board(board.cells, size, last=last), Text(message, "bold")]))
    return Text("\n").join(parts)


def _distance(players: frozenset[str], games: Sequence[ArenaGame]) -> float:
    """Distance of the score of one of the two players from a half."""
    one = min(players)
    return abs(sum(game.won_by == one for game in games) / len(games) - 0.5)


def _in_turn(rows: Sequence[Sequence[ArenaGame]]) -> Iterator[ArenaGame]:
    for place in range(max(map(len, rows), default=0)):
        yield from (row[place] for row in rows if place < len(row))
