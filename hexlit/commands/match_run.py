"""A match: its games, its results in its folder, and its run on Weights & Biases."""

import os
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from hexlit.accelerate.host import usable_cores
from hexlit.arena.matches import MatchWorker, balanced_openings
from hexlit.arena.player_spec import PlayerSpec, parse_players
from hexlit.arena.ratings import CHECKED_EVERY, Sprt
from hexlit.arena.tournament import (
    GameLog,
    Tournament,
    as_collection,
    standings,
)
from hexlit.commands.command_line import as_json, track
from hexlit.commands.composing import Composed
from hexlit.commands.kernels import player_kernels
from hexlit.commands.player_factory import PlayerFactory
from hexlit.commands.report_files import write_beside
from hexlit.commands.run_folder import resumable, settings_writer
from hexlit.errors import UsageError
from hexlit.files import write_text_atomic
from hexlit.hex.jit import use_threads
from hexlit.hex.notation import format_moves
from hexlit.reporting.board_svg import moves_svg
from hexlit.reporting.match import match_page, ratings
from hexlit.reporting.screen import Counting, Waiting
from hexlit.reporting.text import as_rows, show
from hexlit.tasks.hex.packaged import network_file
from hexlit.tasks.hex.warmup import Compiling

if TYPE_CHECKING:
    from hexlit.commands.match import MatchConfig
    from hexlit.tracking.tracked_run import TrackedRun

SAMPLES = 8
"""Games in the table."""
FILES = ("match.json", "games.csv", "games.sgf")
GAME_COLUMNS = ("pair", "black", "white", "winner", "ended", "length", "moves", "board")


def run_match(settings: "MatchConfig", composed: Composed, console: Console | None = None) -> Path:
    """Play the missing games of the match; output for people goes to `console`. Returns its
    folder.
    """
    console = console or Console(highlight=False, stderr=settings.json)
    specs = parse_players(settings.players, simulations=settings.search.simulations)
    check_players(settings, specs)
    for spec in specs:
        if spec.of_network:
            network_file(spec.source)
    if settings.resume is None:  # a resumed match keeps its settings
        settings_writer(composed)()
    with resumable("hexlit match", composed.folder, composed.overrides):
        play(settings, specs, composed, console)
    return composed.folder


def check_players(config: "MatchConfig", specs: Sequence[PlayerSpec]) -> None:
    """Refuse impossible combinations of players and settings."""
    names = [spec.label for spec in specs]
    if len(names) < 2:
        raise UsageError(f"players: {len(names)} of them; a match needs two or more")
    if config.anchor is not None and config.anchor not in names:
        raise UsageError(
            f"anchor={config.anchor}: there is no such player; choose from {', '.join(names)}"
        )
    if config.sprt.elo1 is not None and len(names) != 2:
        raise UsageError(
            f"sprt.elo1={config.sprt.elo1:g}: the test is between two players, here are {len(names)}"
        )


def play(
    config: "MatchConfig", specs: Sequence[PlayerSpec], composed: Composed, console: Console
) -> None:
    """As `run_match`, once the settings are kept in its folder."""
    folder = composed.folder
    openings = config.openings
    title = f"hexlit match · {len(specs)} players"
    tournament = load(config, specs, folder, title, console)
    log = tournament.log
    before = len(log.games)
    started = time.monotonic()
    title = f"{title} on {log.size}x{log.size}"
    with Counting(title, tournament.games, done=before, console=console) as bar:
        tournament.play(lambda pair: bar.advance(len(pair)))
    seconds = time.monotonic() - started
    names = [spec.label for spec in specs]
    anchor = config.anchor or ("random" if "random" in names else names[0])
    document = {
        "board": log.size,
        "seed": config.seed,
        "mode": config.mode,
        "swap": config.swap,
        "openings": {
            "count": config.pairs,
            "plies": openings.length(swap=config.swap),
            "balanced": openings.balanced,
        },
        "specs": {spec.label: asdict(spec) for spec in specs},
        **standings(tournament, anchor, sprt=test_of(config), seed=config.seed),
        "seconds": seconds,
        "games_per_second": (len(log.games) - before) / seconds,
    }
    write_text_atomic(folder / "match.json", as_json(document) + "\n")
    write_text_atomic(folder / "games.sgf", as_collection(log.games, log.size))
    if config.report:
        write_beside(folder)
    sources = [spec.source for spec in specs if spec.of_network]
    log_match = partial(log_tables, document, log)
    track(config, composed, document, log_match, "match", sources, FILES)
    if config.json:
        print(as_json(document))
        return
    console.print()
    show(match_page(document), console)
    console.print(f"\nEverything of this match: {os.path.relpath(folder)}", soft_wrap=True)


def load(
    config: "MatchConfig", specs: Sequence[PlayerSpec], folder: Path, title: str, console: Console
) -> Tournament:
    """The tournament of `set_up`; its kernels compile during the import of torch, and a display
    shows the wait.
    """
    has_network = any(spec.of_network for spec in specs)
    loading = "loading PyTorch and players" if has_network else "loading players"
    with (
        closing(Compiling(player_kernels(specs))) as kernels,
        Waiting(title, loading, kernels.status, console=console),
    ):
        tournament = set_up(config, specs, folder)
        if kernels.running and not console.is_terminal:
            console.print(kernels.status(), soft_wrap=True)
        kernels.wait()
    return tournament


def log_tables(document: dict[str, Any], log: GameLog, run: "TrackedRun") -> None:
    """Log the players, who met whom with what score, some games with their last positions, and the
    ratings.
    """
    run.table("match/players", *as_rows(ratings(document)), 0)
    cross = []
    for name, others in document["cross"].items():
        for other, cell in others.items():
            games, wins = cell["games"], cell["wins"]
            cross.append([name, other, games, wins, wins / games])
    run.table("match/cross", ("player", "opponent", "games", "wins", "score"), cross, 0)
    samples = []
    for game in log.games[:SAMPLES]:
        sample = [
            game.pair,
            game.black,
            game.white,
            game.won_by,
            str(game.ending),
            len(game.moves),
            format_moves(game.moves, log.size),
            moves_svg(game.moves, log.size),
        ]
        samples.append(sample)
    run.table("match/games", GAME_COLUMNS, samples, 0)
    elo = {f"elo/{row['name']}": row["elo"] for row in document["players"]}
    run.log({"match/games_played": document["games"], **elo}, 0)


def set_up(config: "MatchConfig", specs: Sequence[PlayerSpec], folder: Path) -> Tournament:
    """The tournament with its openings and the games already in the folder."""
    use_threads(config.accelerator.threads or usable_cores())
    factory = PlayerFactory(specs, config, config.board)
    size = factory.size
    plies = config.openings.length(swap=config.swap)
    balanced = config.openings.balanced
    openings = balanced_openings(size, config.pairs, plies, config.seed, balanced=balanced)
    # Players may be refused, so they come before any file is made.
    contestants = [factory.contestant(spec) for spec in specs]
    sprt = test_of(config)
    stage = config.pairs if sprt is None else min(config.pairs, CHECKED_EVERY)
    at_once = min(config.at_once, stage)
    return Tournament(
        MatchWorker(contestants, size, at_once=at_once, swap=config.swap),
        dict(enumerate(openings)),
        GameLog(folder / "games.csv", size),
        mode=config.mode,
        every=None if sprt is None else CHECKED_EVERY,
        decided=lambda counts: sprt is not None and sprt.decision(counts) != "",
    )


def test_of(config: "MatchConfig") -> Sprt | None:
    """The requested sequential test."""
    return None if config.sprt.elo1 is None else Sprt(config.sprt)
