"""Commands for the settings of play: time, and the rules and limits of a game."""

from collections.abc import Sequence

from hexlit.arena.htp.arguments import colour_name, parse_colour, parse_number, parse_whole
from hexlit.arena.htp.clock import PlayerTime, game_time
from hexlit.arena.htp.protocol import quoted
from hexlit.arena.htp.session import Session
from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.search.config import MOST_SIMULATIONS

LONGEST_TIME = 1e9
_TRUTH = {"1": True, "true": True, "0": False, "false": False}


def time_left(session: Session, arguments: Sequence[str]) -> str:
    """Tell the players' time, or set that of one; a number of moves may follow, as in GTP."""
    if not arguments:
        return ", ".join(f"{colour_name(colour)} {session.clocks[colour]}" for colour in (BLACK, WHITE))
    colour = parse_colour(arguments[0])
    clock = session.clocks[colour]
    if len(arguments) == 1:
        return str(clock)
    left = parse_number(arguments[1], "time", 0, LONGEST_TIME)
    moves = parse_whole(arguments[2], "number of moves", 0, 999) if len(arguments) == 3 else 0
    session.clocks[colour] = PlayerTime(left, moves, clock.period, clock.period_moves)
    return ""


def time_settings(session: Session, arguments: Sequence[str]) -> str:
    """Set both players' time of every game as in GTP: main time, then periods with a number of moves each."""
    main = parse_number(arguments[0], "time", 0, LONGEST_TIME)
    period = parse_number(arguments[1], "time", 0, LONGEST_TIME)
    moves = parse_whole(arguments[2], "number of moves", 0, 999)
    session.set_clocks(game_time(main, period, moves))
    return ""


def param_game(session: Session, arguments: Sequence[str]) -> str:
    """Tell the parameters of a game, or set one."""
    if not arguments:
        return "\n".join(["", *(f"{name} {value}" for name, value in _values(session).items())])
    name = arguments[0]
    if name not in _values(session):
        raise UsageError(f"unknown parameter {quoted(name)}: there are {', '.join(_values(session))}")
    if len(arguments) == 1:
        return _values(session)[name]
    _set(session, name, arguments[1])
    return ""


def _values(session: Session) -> dict[str, str]:
    return {
        "allow_swap": str(int(session.swap)),
        "game_time": str(session.clocks[BLACK]),
        "resign": f"{session.settings.resign:g}",
        "simulations": str(session.simulations),
        "solver_nodes": str(session.settings.solver_nodes or "no limit"),
        "solver_seconds": f"{session.settings.solver_seconds:g}",
    }


def _set(session: Session, name: str, value: str) -> None:
    if name == "allow_swap":
        if value.lower() not in _TRUTH:
            raise UsageError(f"allow_swap {quoted(value)}: 0 or 1 is needed")
        session.allow_swap = _TRUTH[value.lower()]
        session.get_ready()
    elif name == "game_time":
        seconds = parse_number(value, name, 0, LONGEST_TIME)
        session.set_clocks(game_time(seconds))
    elif name == "resign":
        session.settings.resign = parse_number(value, name, 0, 0.5)
    elif name == "solver_nodes":
        session.settings.solver_nodes = parse_whole(value, name, 1, 999_999_999)
    elif name == "solver_seconds":
        session.settings.solver_seconds = parse_number(value, name, 0.01, LONGEST_TIME)
    else:
        session.simulations = parse_whole(value, name, 1, MOST_SIMULATIONS)
