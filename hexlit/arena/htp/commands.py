"""The table of commands: the action of each, and its number of arguments.

Functions are named, not imported, so that the list of commands can be sent before anything is loaded.
"""

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hexlit.arena.htp.session import Session

Action = Callable[["Session", Sequence[str]], str]
"""Carries a command out with its arguments and returns the answer's text; raises `UsageError` with nothing done."""


class Command(NamedTuple):
    """One command of the protocol."""

    run: str
    """Its action as MODULE.FUNCTION of this package."""
    least: int = 0
    most: int = 0
    """Least and largest number of arguments."""
    takes: str = ""
    """Names of the arguments."""
    thinks: bool = False
    """Whether it needs the thinker, and so waits until it is ready."""

    def takes_number(self, given: int) -> bool:
        """Whether it takes this number of arguments."""
        return self.least <= given <= self.most

    def action(self) -> Action:
        """The function named by `run`; imports its module."""
        module, _, function = self.run.rpartition(".")
        found: Action = getattr(importlib.import_module(f"hexlit.arena.htp.{module}"), function)
        return found


def _analysis(function: str) -> Command:
    return Command(f"analysis.{function}", 1, 1, "COLOR", thinks=True)


QUIT = "quit"

COMMANDS: dict[str, Command] = {
    "protocol_version": Command("greeting.protocol_version"),
    "name": Command("greeting.name"),
    "version": Command("greeting.version"),
    "known_command": Command("greeting.known_command", 1, 1, "COMMAND"),
    "list_commands": Command("greeting.list_commands"),
    QUIT: Command("game.leave"),
    "boardsize": Command("game.boardsize", 1, 2, "W [H]"),
    "clear_board": Command("game.clear_board"),
    "play": Command("game.play", 2, 2, "COLOR MOVE"),
    "genmove": Command("game.genmove", 1, 1, "COLOR", thinks=True),
    "reg_genmove": Command("game.reg_genmove", 1, 1, "COLOR", thinks=True),
    "undo": Command("game.undo"),
    "showboard": Command("game.showboard"),
    "final_score": Command("game.final_score"),
    "all_legal_moves": Command("game.all_legal_moves"),
    "loadsgf": Command("game.loadsgf", 1, 2, "FILE [N]"),
    "time_left": Command("parameters.time_left", 0, 3, "[COLOR [SECONDS [MOVES]]]"),
    "time_settings": Command("parameters.time_settings", 3, 3, "SECONDS PERIOD MOVES"),
    "param_game": Command("parameters.param_game", 0, 2, "[NAME [VALUE]]"),
    "hexgui-analyze_commands": Command("greeting.analyze_commands"),
    "hexlit-best": _analysis("search_summary"),
    "hexlit-winrates": _analysis("search_winrates"),
    "hexlit-visits": _analysis("search_visits"),
    "hexlit-values": _analysis("search_values"),
    "hexlit-priors": _analysis("search_priors"),
    "hexlit-variation": _analysis("search_variation"),
    "hexlit-policy": _analysis("network_policy"),
    "hexlit-map": _analysis("network_map"),
    "hexlit-influence": _analysis("network_influence"),
    "hexlit-chance": _analysis("network_value"),
    "hexlit-winning": Command("exact.winning_moves", 1, 1, "COLOR"),
    "dfpn-solver-find-winning": Command("exact.winning_moves", 1, 1, "COLOR"),
    "dfpn-solve-state": Command("exact.winner", 1, 1, "COLOR"),
    "gogui-gfx-analyze": Command("live.analyze", 1, 1, "COLOR", thinks=True),
}

MENU = (
    ("gfx", "Live analysis", "gogui-gfx-analyze"),
    ("string", "Search: best move", "hexlit-best"),
    ("pspairs", "Search: winning chances (%)", "hexlit-winrates"),
    ("pspairs", "Search: visits", "hexlit-visits"),
    ("pspairs", "Search: Q values", "hexlit-values"),
    ("pspairs", "Search: priors (%)", "hexlit-priors"),
    ("varc", "Search: expected moves", "hexlit-variation"),
    ("pspairs", "Network: policy (%)", "hexlit-policy"),
    ("pspairs", "Network: chances after each move (%)", "hexlit-map"),
    ("gfx", "Network: influence", "hexlit-influence"),
    ("string", "Network: winning chance", "hexlit-chance"),
    ("plist", "Exact winning moves", "hexlit-winning"),
    ("string", "Exact winner", "dfpn-solve-state"),
)
"""Type, label and name of the entries for a program's menu; each takes a colour."""
