"""Lines of a log of HTP, the Hex Text Protocol: commands and answers, behind any prefix of the log."""

import re
from typing import NamedTuple

GAME = {"boardsize", "clear_board", "loadsgf", "play", "genmove", "undo", "final_score"}
"""Commands that tell a game."""

OTHERS = {
    "protocol_version",
    "name",
    "version",
    "known_command",
    "list_commands",
    "quit",
    "reg_genmove",
    "showboard",
    "all_legal_moves",
    "time_left",
    "time_settings",
    "param_game",
    "hexgui-analyze_commands",
    "gogui-analyze_commands",
    "gogui-gfx-analyze",
}
"""Commands with answers that are no part of the game."""

_STAMP = r"[0-9]{1,4}(?:[-:/.,T][0-9]{1,6}){1,7}Z?"
_LEVEL = r"(?i:debug|info|notice|warning|warn|error|trace|stderr|stdout|stdin)"
_PREFIX = re.compile(
    rf"[\s\ufeff]*(?:(?:\[[^\]]{{0,80}}\]|{_STAMP}|{_LEVEL}(?=[\s:>\[]))[:\s]*)*"
    r"(?:([A-Za-z][A-Za-z0-9_.\-]{0,30})?\s*(?:>{1,3}|<{1,3}|:)\s*)?"
)
_ANSWER = re.compile(r"([=?])([0-9]{0,9})(?:\s+(.*))?\s*", re.DOTALL)
_COMMAND = re.compile(r"(?:([0-9]{1,9})\s+)?([A-Za-z][A-Za-z_\-]{0,40})((?:\s[^#]*)?)(?:#.*)?\s*", re.DOTALL)


class Line(NamedTuple):
    """A command or an answer."""

    tag: str
    """The program that is addressed, if the log has several: `B` in `B>> genmove b`."""
    sign: str
    """`=` or `?` of an answer, the name of a command."""
    id: str
    """Its number, empty without one."""
    words: list[str]
    """Arguments of the command, or words of the answer's first line."""
    column: int


def parse_line(line: str) -> Line | None:
    """The command or the answer of `line`; None if it is neither: a board, a comment, an engine's message."""
    prefix = _PREFIX.match(line)
    assert prefix is not None  # it matches the empty text
    start = prefix.end()
    answer = _ANSWER.fullmatch(line, start)
    if answer:
        return Line(prefix[1] or "", answer[1], answer[2], (answer[3] or "").split(), start + 1)
    command = _COMMAND.fullmatch(line, start)
    if command is None or command[2].lower() not in GAME | OTHERS:
        return None
    return Line(prefix[1] or "", command[2].lower(), command[1] or "", command[3].split(), start + 1)
