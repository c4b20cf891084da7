"""A run of Hex on Weights & Biases: names of its figures, pictures of openings and games, and its lineage."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hexlit.hex.notation import format_moves
from hexlit.hex.record import GameRecord
from hexlit.selfplay.store import part_files
from hexlit.tasks.hex.checkpoint import network_file
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.hex.data import HexDataModule
from hexlit.tracking.identity import Identity
from hexlit.tracking.metric_names import Metric
from hexlit.tracking.tracked_run import Files, TrackedRun
from hexlit.training.loggers import checkpoint_files

LOWEST = ("strength.*_brier", "strength.*_log_loss", "strength.*_error", "val.value_brier", "val.value_*_error")
HIGHEST = ("openings_right", "optimality", "_accuracy", "_share")
METRICS = (
    *(Metric(f"selfplay.{name}", axis=True) for name in ("games", "positions")),
    Metric("games.*", "data/*"),
    *(Metric(name, best="min") for name in LOWEST),
    Metric("val.*_accuracy", best="max"),
    Metric("strength.openings", best=None),
    *(Metric(f"strength.*{name}", best="max") for name in HIGHEST),
    *(Metric(name, best="max") for name in ("strength.score", "rating.elo")),
)
"""The game's lines of the table of names."""

COLUMNS = ("epoch", "game", "network_version", "length", "winner", "ended", "moves", "board")
SAMPLES = 4
"""Games in a table."""
GAMES = "games"
_COLOURS = {1: "Black", -1: "White", 0: "unknown"}


def show_openings(tracked: TrackedRun, figures: Mapping[str, Any], step: int) -> None:
    """Log the maps of openings, as the search judges them and by the value alone, if `figures` hold them."""
    from hexlit.reporting.board_svg import board_picture
    from hexlit.reporting.page import OpeningsBoard

    truth = figures.get("opening_truth")
    for key in ("opening_map", "value_opening_map"):
        if key in figures:
            tracked.picture(f"strength/{key}", board_picture(OpeningsBoard("", figures[key], truth))[1], step)


def show_games(tracked: TrackedRun, games: Sequence[GameRecord], step: int) -> None:
    """Log a table of `games`; nothing without games."""
    from hexlit.reporting.board_svg import moves_svg

    rows = []
    for record in games:
        moves, size, winner = record.moves.tolist(), record.size, _COLOURS[record.winner]
        facts = [step, record.game_id, record.network_version, len(moves), winner, str(record.ending)]
        rows.append([*facts, format_moves(moves, size), moves_svg(moves, size)])
    if rows:
        tracked.table("games/samples", COLUMNS, rows, step)


def used_games(config: HexTrainConfig, data: HexDataModule, identity: Identity) -> list[Files]:
    """The games of `data` and recorded ones, named by their places, and `init_from`.

    Games of self-play belong to the run `identity`; a store of recorded games has one name for all runs.
    """
    files = []
    if config.data.source != GAMES:
        counted = {name: count for name, count in data.summary().items() if name in ("games", "positions")}
        facts = {"board": config.board, "swap": config.swap, "source": config.data.source, **counted}
        files.append(Files(identity.artifact(GAMES), GAMES, data.files(), metadata=facts, reference=True))
    if config.data.path is not None:
        store = Path(config.data.path).resolve()
        name = re.sub(r"[^\w.-]+", "-", store.name)
        files.append(Files(f"{GAMES}-{name}", GAMES, part_files(store), metadata={"path": str(store)}, reference=True))
    if config.init_from is not None:
        files.append(checkpoint_files(network_file(config.init_from, "init_from")))
    return files
