"""`hexlit match`: games between players, and the players' ratings."""

import re
from dataclasses import dataclass, field
from typing import Any

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.arena.config import MODES, OpeningsConfig, SprtConfig
from hexlit.commands.application import command
from hexlit.commands.command_line import refuse_tensorboard
from hexlit.commands.run_folder import resumed_arguments
from hexlit.search.config import BOARDS, SearchConfig
from hexlit.settings import SEEDS, Settings, number, one_of
from hexlit.training.config import LoggerConfig
from hexlit.tuning.space import quoted

MAY_CHANGE = ("json=", "accelerator", "logger")
"""Beginnings of the overrides that a resumed match takes."""
QUOTES = ("'", '"')
COMMA_BETWEEN_WORDS = re.compile(r""",(?=(?:[^"']|"[^"]*"|'[^']*')*$)""")
"""A comma outside quotes."""


@dataclass
class MatchConfig(Settings):
    """Settings of `hexlit match`."""

    players: Any = None
    """Two players or more, in the grammar of `hexlit.arena.player_spec`: a list, or a mapping from
    names.
    """
    board: int | None = number(None, BOARDS)
    """Rows of the board. Null: the board of the first network."""
    pairs: int = number(50, "[1, inf)")
    """Openings for each meeting of two players; each is played twice, with colours exchanged."""
    swap: bool = False
    """Whether the swap rule holds: an opening is one move, and the second player may answer it with
    swap-pieces.
    """
    mode: str = one_of(MODES, "round_robin")
    """Who meets whom. `round_robin`: all players meet each other; `gauntlet`: the first player
    meets all others.
    """
    at_once: int = number(128, "[1, inf)")
    """Most games that a player moves in at once; twice as many games run at the same time."""
    seed: int = number(1, SEEDS)
    """Seed of the openings, of the players' random draws and of the ratings' intervals."""
    anchor: str | None = None
    """Player with the rating 0. Null: `random` if it plays, else the first player."""
    resume: str | None = None
    """Folder of an interrupted match to continue."""
    json: bool = False
    """Whether to print the content of `match.json` instead of tables."""
    report: bool = True
    """Whether to write `report.html` at the end of the match."""
    openings: OpeningsConfig = field(default_factory=OpeningsConfig)
    sprt: SprtConfig = field(default_factory=SprtConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    accelerator: AcceleratorConfig = field(default_factory=AcceleratorConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)

    def __post_init__(self) -> None:
        """Refuse impossible combinations."""
        super().__post_init__()
        refuse_tensorboard(self.logger)
        self.openings.length(swap=self.swap)


def arguments(argv: list[str]) -> list[str]:
    """`argv` for Hydra: players quoted, and with `resume=FOLDER` the settings of that match.

    Raises:
        UsageError: the folder holds no match, or the overrides change its settings.
    """
    return resumed_arguments([quoted_players(argument) for argument in argv], MAY_CHANGE)


def quoted_players(argument: str) -> str:
    """`players=[checkpoint=a.ckpt,random]` with the quotes that Hydra needs around a word with `=`
    in it.

    Words that have quotes stay as they are.
    """
    key, _, value = argument.partition("=")
    if (
        key != "players"
        or not (value.startswith("[") and value.endswith("]"))
        or any(c in value for c in "{\\")
    ):
        return argument
    words = [word.strip() for word in COMMA_BETWEEN_WORDS.split(value[1:-1])]
    return f"players=[{','.join(quoted(word) if '=' in word and word[0] not in QUOTES else word for word in words)}]"


main = command("match", MatchConfig, "match_run:run_match", prepare=arguments, whole=True)
