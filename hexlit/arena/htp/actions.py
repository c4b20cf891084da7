"""What commands do: moves, time and parameters, and analyses of network, search and solver."""

import contextlib
import logging
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hexlit.arena.htp.protocol import quoted
from hexlit.arena.htp.session import HtpSession, PlayerTime
from hexlit.arena.player_spec import LEVELS
from hexlit.arena.position import may_swap, read_first_game, replay
from hexlit.arena.thinker import stop_at
from hexlit.errors import UsageError
from hexlit.hex.board import board_text
from hexlit.hex.geometry import BLACK, LARGEST_BOARD, WHITE
from hexlit.hex.notation import SWAP, format_cell, format_moves, parse_cell
from hexlit.hex.records.sgf import board_of
from hexlit.hex.solver import Solution
from hexlit.hex.solver.bitboard import MAX_SIZE
from hexlit.search.config import MOST_SIMULATIONS
from hexlit.search.search import TreeNode

log = logging.getLogger(__name__)

RESIGN = "resign"
SMALLEST_BOARD = 2
LONGEST_TIME = 1e9
"""Seconds."""
LARGEST_NUMBER = 999_999_999

_RANGES = {
    "level": (0, len(LEVELS), int),
    "resign": (0, 0.5, float),
    "simulations": (1, MOST_SIMULATIONS, int),
    "solver_seconds": (0.01, LONGEST_TIME, float),
}
"""Parameter of a game -> least and largest value, and its type."""
_TRUTH = {"true": "1", "false": "0"}
_COLOURS = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}
COLOUR_NAMES = {BLACK: "black", WHITE: "white"}


def parse_colour(text: str) -> int:
    """+1 for Black, -1 for White; raises `UsageError`."""
    colour = _COLOURS.get(text.lower())
    if colour is None:
        raise UsageError(f"colour {quoted(text)}: b, black, w or white is needed")
    return colour


def parse_move(text: str, size: int) -> int | None:
    """The cell of a move, `size * size` for swap-pieces, None to resign; upper or lower case.
    Raises `UsageError`.
    """
    return None if text.lower() == RESIGN else parse_cell(text, size)


def parse_number(
    text: str, name: str, least: float, most: float, kind: Callable[[str], float] = float
) -> float:
    """A number of a `kind` in [least, most]; raises `UsageError` that calls it `name`."""
    with contextlib.suppress(ValueError):
        number = kind(text)
        if least <= number <= most:
            return number
    whole = "a whole number" if kind is int else "a number"
    raise UsageError(f"{name} {quoted(text)}: must be {whole} from {least:.9g} to {most:.9g}")


def parse_whole(text: str, name: str, least: int, most: int) -> int:
    """As `parse_number`, a whole one."""
    return int(parse_number(text, name, least, most, int))


def boardsize(session: HtpSession, *numbers: str) -> None:
    """Start a new game on a board of this size; the second number, if there, must be the first."""
    sizes = [parse_whole(text, "size", 0, LARGEST_NUMBER) for text in numbers]
    session.start(playable(sizes[0], sizes[-1]))


def playable(width: int, height: int) -> int:
    """Rows of a playable board; raises `UsageError` for any other."""
    if width != height or not SMALLEST_BOARD <= width <= LARGEST_BOARD:
        raise UsageError(
            f"board size {width}x{height}: must be square, {SMALLEST_BOARD} to {LARGEST_BOARD} rows"
        )
    return width


def clear_board(session: HtpSession) -> None:
    """Start a new game on a board of the same size."""
    session.start(session.size)


def play(session: HtpSession, colour_text: str, move_text: str) -> None:
    """Play a move of either colour, whoever is to move."""
    colour = parse_colour(colour_text)
    move = parse_move(move_text, session.size)
    position = session.position
    session.position = position.resign(colour) if move is None else position.play(colour, move)


def genmove(session: HtpSession, colour_text: str) -> str:
    """Choose a move and play it. A resignation is not played: a graphical program would not undo
    it.
    """
    colour = parse_colour(colour_text)
    if session.position.winner:
        return RESIGN
    started = time.monotonic()
    thought = session.think(colour)
    session.clocks[colour].spend(time.monotonic() - started)
    if (1 + thought.value) / 2 < session.settings.resign:
        return RESIGN
    session.position = session.position.play(colour, thought.action)
    name = format_cell(thought.action, session.size)
    log.info("%s %s, winning chance %.3f", COLOUR_NAMES[colour][0], name, (1 + thought.value) / 2)
    return name


def reg_genmove(session: HtpSession, colour_text: str) -> str:
    """Choose a move as genmove does, without playing it or using the clock."""
    colour = parse_colour(colour_text)
    if session.position.winner:
        return RESIGN
    return format_cell(session.think(colour).action, session.size)


def undo(session: HtpSession) -> None:
    """Take back the last move."""
    if session.position.previous is None:
        raise UsageError("cannot undo: no move has been played")
    session.position = session.position.previous


def showboard(session: HtpSession) -> str:
    """The board for a person."""
    position = session.position
    colour, state = (
        (position.winner, "has won") if position.winner else (position.to_move, "to move")
    )
    return f"\n{board_text(position.cells, position.size)}\n{COLOUR_NAMES[colour]} {state}"


def final_score(session: HtpSession) -> str:
    """Who has won."""
    return {1: "B+", -1: "W+", 0: "cannot score"}[session.position.winner]


def all_legal_moves(session: HtpSession) -> str:
    """Moves of the side to move; none after the end."""
    position = session.position
    if position.winner:
        return ""
    cells = [format_cell(int(cell), position.size) for cell in np.flatnonzero(position.cells == 0)]
    return " ".join(
        [*cells, SWAP] if session.swap and may_swap(position.cells, position.to_move) else cells
    )


def loadsgf(session: HtpSession, file: str, moves: str | None = None) -> None:
    """Load the main line of an SGF file, all of it or its first N moves."""
    count = None if moves is None else parse_whole(moves, "number of moves", 0, LARGEST_NUMBER)
    try:
        game = read_first_game(Path(file))
        size = playable(*board_of(game))
        position = replay(game, count)
    except UsageError as error:
        raise UsageError(f"file {quoted(file)}: {error}") from error
    if size == session.size:
        session.get_ready()
    else:
        session.start(size)
    session.position = position


def time_left(
    session: HtpSession, colour_text: str | None = None, left: str | None = None, moves: str = "0"
) -> str | None:
    """Report the players' time, or set that of one; a number of moves may follow, as in GTP."""
    if colour_text is None:
        return ", ".join(
            f"{COLOUR_NAMES[colour]} {session.clocks[colour]}" for colour in (BLACK, WHITE)
        )
    colour = parse_colour(colour_text)
    if left is None:
        return str(session.clocks[colour])
    seconds = parse_number(left, "time", 0, LONGEST_TIME)
    count = parse_whole(moves, "number of moves", 0, 999)
    session.clocks[colour] = PlayerTime(seconds, count)
    return None


def time_settings(session: HtpSession, main: str, extra: str, moves: str) -> None:
    """Set both players' time, as in GTP: seconds for the game, or else so many for so many moves."""
    seconds = parse_number(main, "main time", 0, LONGEST_TIME)
    period = parse_number(extra, "extra time", 0, LONGEST_TIME)
    count = parse_whole(moves, "number of moves", 0, 999)
    if seconds == 0 and count == 0:
        seconds_left = None if period else 0.0  # GTP: no limit
        session.set_clocks(PlayerTime(seconds_left))
    elif seconds == 0:
        session.set_clocks(PlayerTime(period, count))
    else:
        session.set_clocks(PlayerTime(seconds))


def param_game(
    session: HtpSession, name: str | None = None, value: str | None = None
) -> str | None:
    """Report the parameters of a game, or set one."""
    settings = session.settings
    values = {
        "allow_swap": str(int(session.swap)),
        "game_time": str(session.clocks[BLACK]),
        "level": str(session.level),
        "resign": f"{settings.resign:g}",
        "simulations": str(session.simulations),
        "solver_seconds": f"{settings.solver_seconds:g}",
    }
    if name is None:
        lines = [f"{name} {value}" for name, value in values.items()]
        return "\n".join(["", *lines])
    if name not in values:
        raise UsageError(f"unknown parameter {quoted(name)}: there are {', '.join(values)}")
    if value is None:
        return values[name]
    if name == "allow_swap":
        session.allow_swap = bool(parse_whole(_TRUTH.get(value.lower(), value), name, 0, 1))
        session.get_ready()
    elif name == "game_time":
        session.set_clocks(PlayerTime(parse_number(value, name, 0, LONGEST_TIME)))
    else:
        number = parse_number(value, name, *_RANGES[name])
        setattr(session if name in ("simulations", "level") else settings, name, number)
    return None


def network_policy(session: HtpSession, colour: str) -> str:
    """The network's probabilities of moves, in percent."""
    cells = session.undecided().cells
    policy, _ = session.thinker.look(cells, parse_colour(colour))
    percentages = {}
    for cell in np.flatnonzero(cells == 0).tolist():
        percentages[cell] = f"{100 * policy[cell]:.1f}"
    return _pairs(session, percentages)


def network_map(session: HtpSession, colour: str) -> str:
    """The network's winning chance after each move, in percent.

    On the empty board it is its map of openings.
    """
    position = session.undecided()
    mover = parse_colour(colour)
    chances = {}
    for cell in np.flatnonzero(position.cells == 0).tolist():
        after = position.place(mover, cell)
        chance = 1.0
        if not after.winner:
            if session.interrupted():
                raise UsageError("interrupted")
            chance = (1 - session.thinker.look(after.cells, -mover)[1]) / 2
        chances[cell] = f"{100 * chance:.0f}"
    return _pairs(session, chances)


def network_value(session: HtpSession, colour: str) -> str:
    """The network's winning chance of the side to move."""
    _, value = session.thinker.look(session.undecided().cells, parse_colour(colour))
    return f"{(1 + value) / 2:.3f}"


def _shown(show: Callable[[TreeNode], str]) -> Callable[[HtpSession, str], str]:
    """An analysis that shows each move that the search has tried."""

    def analysis(session: HtpSession, colour: str) -> str:
        _study(session, colour)
        candidates = session.thinker.search.candidates()
        return _pairs(session, {candidate.action: show(candidate) for candidate in candidates})

    return analysis


search_visits = _shown(lambda candidate: str(candidate.visits))
search_winrates = _shown(lambda candidate: f"{50 * (1 + candidate.value):.0f}")
"""Winning chances in percent."""
search_priors = _shown(lambda candidate: f"{100 * candidate.prior:.1f}")
"""In percent."""


def search_variation(session: HtpSession, colour: str) -> str:
    """The moves that the search expects."""
    _study(session, colour)
    return format_moves(session.thinker.search.principal_variation(), session.size)


def search_summary(session: HtpSession, colour: str) -> str:
    """Best move, winning chance and simulations of the search."""
    action, value = _study(session, colour)
    return f"{format_cell(action, session.size)}, winning chance {(1 + value) / 2:.3f}, {_visits(session)} simulations"


def _visits(session: HtpSession) -> int:
    return sum(candidate.visits for candidate in session.thinker.search.candidates())


def _study(session: HtpSession, colour: str) -> tuple[int, float]:
    """Search the position, unless that has been done."""
    cells = session.undecided().cells
    mover = parse_colour(colour)
    return session.thinker.study(
        cells, mover, simulations=session.simulations, until=session.interrupted
    )


def _pairs(session: HtpSession, values: dict[int, str]) -> str:
    """Cells with their texts; a swap has no cell to show it on."""
    size = session.size
    return " ".join(
        f"{format_cell(cell, size)} {text}" for cell, text in values.items() if cell < size**2
    )


def analyze(session: HtpSession, colour: str) -> str:
    """Search the position and report on it every `interval` seconds.

    It ends at `# interrupt`, at any other command, at the end of the input, after
    `live_simulations`, or if the memory of the tree is used up. At least one report is given.
    """
    session.thinker.study(session.undecided().cells, parse_colour(colour), simulations=1)
    while True:
        enough = stop_at(time.monotonic() + session.settings.interval, session.followed)
        left = session.settings.live_simulations - _visits(session)
        if left > 0:
            session.thinker.study_more(left, until=enough)
        session.show(report(session))
        if left <= 0 or session.followed() or session.thinker.search.full:
            return ""


def report(session: HtpSession) -> str:
    """A block of the live analysis with its blank line: the moves, the most visited first, as
    KataGo writes them.

    The swap of a network that does not know it has no visits; it is the first where it is best.
    """
    search = session.thinker.search
    rows = [
        (one.action, one.visits, one.value, one.prior, search.principal_variation(one.action))
        for one in search.candidates()
    ]
    position, followed = session.position, session.followed
    if session.swap and may_swap(position.cells, -BLACK) and not session.thinker.searches_swap:
        worth = session.thinker.first_stones.value(
            session.size, int(position.cells.argmax()), followed
        )
        swap = (session.size**2, 0, worth, 0.0, [session.size**2])
        rows.insert(0 if worth > 0 else len(rows), swap)
    infos = []
    for order, (action, visits, value, prior, line) in enumerate(rows):
        infos.append(
            f"info move {format_cell(action, session.size)} visits {visits} "
            f"winrate {(1 + value) / 2:.4f} scoreLead {value:.4f} order {order} "
            f"prior {prior:.4f} pv {format_moves(line, session.size)}"
        )
    return "\n".join(["gogui-gfx:", "kata", " ".join(infos), "\n"])


def winning_moves(session: HtpSession, colour: str) -> str:
    """Every winning move, exactly; none where the side to move loses."""
    return format_moves(_solved(session, colour).winning_moves, session.size)


def winner(session: HtpSession, colour: str) -> str:
    """The colour that wins with best play."""
    return COLOUR_NAMES[_solved(session, colour).winner]


def _solved(session: HtpSession, colour_text: str) -> Solution:
    colour = parse_colour(colour_text)
    position = session.undecided()
    if position.size > MAX_SIZE:
        raise UsageError(f"positions are solved on boards up to {MAX_SIZE}x{MAX_SIZE}")
    seconds = session.settings.solver_seconds
    return session.solve(colour, seconds=seconds, interrupted=session.interrupted)
