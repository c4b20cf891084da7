"""`hexlit.match`: games between players, in this process, and what they came to."""

import json
import shlex
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from hexlit.api.interface import console_for, frame, overrides
from hexlit.api.records import Game
from hexlit.api.runs import Model
from hexlit.commands.application import typed
from hexlit.commands.in_process import call
from hexlit.commands.match import MatchConfig
from hexlit.errors import UsageError
from hexlit.hex.notation import format_moves
from hexlit.hex.records.game import as_record
from hexlit.tuning.space import quoted

if TYPE_CHECKING:
    import pandas as pd

    from hexlit.arena.matches import ArenaGame


class Match:
    """A match, read from its folder; a notebook shows the ratings.

    Attributes:
        folder: the folder of the match.
        document: the content of `match.json`.
    """

    def __init__(self, folder: str | Path) -> None:
        """The match in `folder`.

        Raises:
            UsageError: there is none, or it has not come to its end.
        """
        self.folder = Path(folder)
        path = self.folder / "match.json"
        if not path.is_file():
            raise UsageError(f"{self.folder}: no match that has come to its end (it has no match.json)")
        self.document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))

    @property
    def ratings(self) -> "pd.DataFrame":
        """The players, best first: `name`, `elo`, `low` and `high` (95% interval), `games`, `wins`, `score`."""
        columns = ("name", "elo", "low", "high", "games", "wins", "score")
        return frame(self.document["players"], columns)

    @property
    def cross(self) -> "pd.DataFrame":
        """Wins of the player of a row against that of a column; empty where they did not meet."""
        rows = [
            {"player": name, **{other: cell["wins"] for other, cell in row.items()}}
            for name, row in self.document["cross"].items()
        ]
        return frame(rows).set_index("player").reindex(columns=list(self.document["cross"])).astype("Int64")

    @property
    def games(self) -> "pd.DataFrame":
        """Every game: `pair`, `black`, `white`, `winner` (a name), `ending`, `plies`, `opening`, `moves`."""
        size = self.document["board"]
        rows = [
            {
                "pair": game.pair,
                "black": game.black,
                "white": game.white,
                "winner": game.won_by,
                "ending": game.ending.value,
                "plies": len(game.moves),
                "opening": game.opening,
                "moves": format_moves(game.moves, size),
            }
            for game in self._games
        ]
        return frame(rows, ("pair", "black", "white", "winner", "ending", "plies", "opening", "moves"))

    @property
    def sgf(self) -> Path:
        """The file with all games, which any Hex program reads."""
        return self.folder / "games.sgf"

    def __len__(self) -> int:
        """Number of games."""
        return len(self._games)

    def __getitem__(self, number: int) -> Game:
        """A game by its row in `games`; a notebook draws it."""
        from hexlit.arena.tournament import recorded

        return Game(as_record(recorded(self._games[number], self.document["board"])))

    @cached_property
    def _games(self) -> "list[ArenaGame]":
        from hexlit.arena.tournament import GameLog

        return GameLog(self.folder / "games.csv", self.document["board"]).games

    def _repr_html_(self) -> str:
        from hexlit.reporting.html import notebook
        from hexlit.reporting.match import match_page

        return notebook(match_page(self.document, where=str(self.folder)))


def match(
    players: Sequence[str | Model] | Mapping[str, str | Model], *arguments: str, quiet: bool = False, **settings: Any
) -> Match:
    """Play a match as `hexlit match` does with the same settings, in this process.

    Args:
        players: two or more: lines as on the command line (`"rollouts simulations=100"`, `"random"`), models, or what
            `Model.player` gives; or a mapping from names to these.
        arguments: overrides as on the command line, such as `"openings.plies=1"`.
        quiet: show nothing meanwhile.
        settings: overrides with values of Python: `board`, `pairs` (openings, each played twice), `swap`, `seed`.

    Raises:
        UsageError: a mistake, in one line that says what would be right.

    >>> import hexlit
    >>> played = hexlit.match({"one": "random", "two": "random"}, board=3, pairs=2, quiet=True)
    >>> len(played), sorted(played.ratings["name"])
    (4, ['one', 'two'])
    >>> hexlit.match(["random"])
    Traceback (most recent call last):
    ...
    hexlit.errors.UsageError: players: 1 of them; a match needs two or more
    """
    named = _lines(players)
    argv = [f"players={named}", *overrides(arguments, settings)]
    with console_for(quiet) as console:
        from hexlit.commands.match_run import play_match

        def task(config: DictConfig) -> Path:
            return play_match(config, typed(config, MatchConfig), console)

        return Match(call(task, "match", argv))


def _lines(players: Sequence[str | Model] | Mapping[str, str | Model]) -> str:
    """The players as Hydra reads a list of lines; names come first, as a foreign program's command line comes last."""
    if isinstance(players, str):
        raise UsageError(f"players={players}: a list is needed, such as ['random', 'rollouts']")
    named = isinstance(players, Mapping)
    lines = []
    for name, player in players.items() if isinstance(players, Mapping) else enumerate(players):
        line = player.player() if isinstance(player, Model) else str(player)
        lines.append(f"name={shlex.quote(str(name))} {line}" if named else line)
    return "[" + ",".join(map(quoted, lines)) + "]"
