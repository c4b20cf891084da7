"""The table of commands, and those about the program itself, which are answered before anything is loaded."""

import importlib
from collections.abc import Callable
from typing import NamedTuple

from hexlit import __version__
from hexlit.arena.htp.protocol import Request, format_reply

Action = Callable[..., str | None]
"""Carries a command out for a session and arguments; returns the answer's text, if any, or raises `UsageError` with
nothing done."""


class Command(NamedTuple):
    """One command of the protocol."""

    run: str | Callable[..., str]
    """Name of its function in `hexlit.arena.htp.actions`, or a function of the arguments alone."""
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
        """Its function of session and arguments; imports all actions."""
        if isinstance(self.run, str):
            action: Action = getattr(importlib.import_module("hexlit.arena.htp.actions"), self.run)
            return action
        answer = self.run
        return lambda session, *arguments: answer(*arguments)


def _analysis(function: str) -> Command:
    return Command(function, 1, 1, "COLOR", thinks=True)


QUIT = "quit"

COMMANDS: dict[str, Command] = {
    "protocol_version": Command(lambda: "2"),
    "name": Command(lambda: "hexlit"),
    "version": Command(lambda: __version__),
    "known_command": Command(lambda name: "true" if name in COMMANDS else "false", 1, 1, "COMMAND"),
    "list_commands": Command(lambda: "\n".join(COMMANDS)),
    QUIT: Command(lambda: ""),
    "boardsize": Command("boardsize", 1, 2, "W [H]"),
    "clear_board": Command("clear_board"),
    "play": Command("play", 2, 2, "COLOR MOVE"),
    "genmove": Command("genmove", 1, 1, "COLOR", thinks=True),
    "reg_genmove": Command("reg_genmove", 1, 1, "COLOR", thinks=True),
    "undo": Command("undo"),
    "showboard": Command("showboard"),
    "final_score": Command("final_score"),
    "all_legal_moves": Command("all_legal_moves"),
    "loadsgf": Command("loadsgf", 1, 2, "FILE [N]"),
    "time_left": Command("time_left", 0, 3, "[COLOR [SECONDS [MOVES]]]"),
    "time_settings": Command("time_settings", 3, 3, "SECONDS PERIOD MOVES"),
    "param_game": Command("param_game", 0, 2, "[NAME [VALUE]]"),
    "hexgui-analyze_commands": Command(lambda: "\n".join(f"{kind}/{label}/{name} %c" for kind, label, name in MENU)),
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
    "hexlit-winning": Command("winning_moves", 1, 1, "COLOR"),
    "dfpn-solver-find-winning": Command("winning_moves", 1, 1, "COLOR"),
    "dfpn-solve-state": Command("winner", 1, 1, "COLOR"),
    "gogui-gfx-analyze": Command("analyze", 1, 1, "COLOR", thinks=True),
}

MENU: tuple[tuple[str, str, str], ...] = (
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


def greeter(write: Callable[[str], None]) -> Callable[[Request], bool]:
    """A function that answers requests without a session by `write`, and returns whether it did."""

    def greet(request: Request) -> bool:
        command = COMMANDS.get(request.name)
        if (
            command is None
            or isinstance(command.run, str)
            or request.name == QUIT
            or not command.takes_number(len(request.arguments))
        ):
            return False
        write(format_reply(request, command.run(*request.arguments), success=True))
        return True

    return greet
