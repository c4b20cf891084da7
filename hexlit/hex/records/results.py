"""Results in formats that express them by moves alone."""

from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.boards import check_board
from hexlit.hex.records.errors import RecordError
from hexlit.hex.records.game import FORFEIT, RESIGN, RecordedGame, RecordedMove, as_record


def told_by_moves(game: RecordedGame) -> tuple[RecordedMove, ...]:
    """The moves of `game`, and a last resignation or forfeit that only its result tells."""
    action = {Ending.RESIGNED: RESIGN, Ending.FORFEITED: FORFEIT}.get(game.ending or Ending.UNFINISHED)
    if action is None or not game.winner or (game.moves and game.moves[-1].action in (RESIGN, FORFEIT)):
        return game.moves
    return (*game.moves, RecordedMove(-game.winner, action))


def check_told(game: RecordedGame, who: str) -> None:
    """Raise `RecordError` if `who`, a format of moves alone, cannot express `game`.

    That is a game with stones set up, with a winner that neither board nor moves show, or an illegal one.
    """
    record = legal(game)
    if game.setup:
        raise RecordError("cannot be written", f"{who} has no stones set up", game.place)
    if record.ending == Ending.UNFINISHED and record.winner:
        said = f"{who} has no winner whom neither the board nor a resignation shows"
        raise RecordError("cannot be written", said, game.place)


def legal(game: RecordedGame) -> GameRecord:
    """`as_record` of a game to be written."""
    try:
        return as_record(game)
    except RecordError as error:
        raise RecordError("cannot be written", f"no legal game: {error.said}", game.place) from error


def check_writable(game: RecordedGame) -> None:
    """Raise `RecordError` if `game` is on no board of Hex."""
    try:
        check_board(game.size, game.size, game.place)
    except RecordError as error:
        raise RecordError("cannot be written", error.said, game.place) from error
