"""A match as a run on Weights & Biases: ratings, the cross table, games with pictures, and the networks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.arena.player_spec import PlayerSpec
from hexlit.arena.tournament import GameLog
from hexlit.commands.command_line import facts_of
from hexlit.reporting.board_image import game_image
from hexlit.reporting.match import ratings
from hexlit.reporting.text import as_rows
from hexlit.tasks.hex.checkpoint import network_file
from hexlit.tasks.hex.tracked import in_words
from hexlit.tracking.opening import open_run
from hexlit.tracking.tracked_run import Files
from hexlit.training.loggers import checkpoint_files, without_doubles

if TYPE_CHECKING:
    from hexlit.commands.match import MatchConfig

SAMPLES = 8
"""Games in the table."""
FILES = ("match.json", "games.csv", "games.sgf")
GAME_COLUMNS = ("pair", "black", "white", "winner", "ended", "length", "moves", "board")


def track_match(
    config: "MatchConfig", specs: Sequence[PlayerSpec], folder: Path, log: GameLog, document: Mapping[str, Any]
) -> None:
    """Log the match in `folder`; `document` is the content of its `match.json`."""
    run = open_run(
        config.logger.wandb,
        folder,
        name=f"match-{folder.name}",
        kind="match",
        tags=["match", f"{log.size}×{log.size}"],
        facts=facts_of(config, size=log.size, specs=document["specs"]),
        resumed=config.resume is not None,
    )
    if run is None:
        return
    for files in without_doubles(networks(specs)):
        run.used(files)
    run.table("match/players", *as_rows(ratings(document)), 0)
    cross = [
        [name, opponent, cell["games"], cell["wins"], cell["wins"] / cell["games"]]
        for name, opponents in document["cross"].items()
        for opponent, cell in opponents.items()
    ]
    run.table("match/cross", ("player", "opponent", "games", "wins", "score"), cross, 0)
    games = [
        [
            game.pair,
            game.black,
            game.white,
            game.won_by,
            str(game.ending),
            len(game.moves),
            in_words(game.moves, log.size),
            game_image(game.moves, log.size),
        ]
        for game in log.games[:SAMPLES]
    ]
    run.table("match/games", GAME_COLUMNS, games, 0)
    elo = {f"elo/{row['name']}": row["elo"] for row in document["players"]}
    run.log({"match/games_played": document["games"], **elo}, 0)
    run.flush()
    run.note(summary=document)
    run.made(Files(run.identity.artifact("match"), "match", [folder / name for name in FILES]))
    run.finish()


def networks(specs: Sequence[PlayerSpec]) -> list[Files]:
    """The checkpoints of the players."""
    return [checkpoint_files(network_file(spec.source)) for spec in specs if spec.of_network]
