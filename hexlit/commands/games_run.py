"""The actions of `hexlit games`: reading with progress, the work of `hexlit.selfplay`, and the
drawing.
"""

import json
import logging
import shlex
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.arena.puzzles import GRADES, make_puzzles
from hexlit.arena.thinker import PlyReview, Thinker, exact_review, review
from hexlit.commands.command_line import print_results
from hexlit.commands.composing import Composed
from hexlit.commands.player_factory import Evaluators, applied_profile, networks_by_board
from hexlit.errors import UsageError
from hexlit.files import plain, write_json_atomic, write_text_atomic
from hexlit.hex.board import GameBoard
from hexlit.hex.geometry import LARGEST_BOARD
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.formats import format_of
from hexlit.hex.records.game import RecordError
from hexlit.hex.records.variations import Variation, read_variations
from hexlit.hex.solver.bitboard import MAX_SIZE
from hexlit.interruption import prints_resume_hint
from hexlit.reporting.board import ShownGame, draw_game, result_of
from hexlit.reporting.board_svg import game_svg
from hexlit.reporting.games import (
    export_page,
    import_page,
    overview_page,
    puzzles_page,
    verdict_page,
)
from hexlit.reporting.html import render
from hexlit.reporting.page import Page
from hexlit.reporting.screen import Counting, work_bar
from hexlit.reporting.text import show as show_page
from hexlit.search.config import SearchConfig
from hexlit.selfplay.exporting import Overview, Selection, export_games, format_for, swap_of
from hexlit.selfplay.importing import Duplicates, import_games, verify_games
from hexlit.selfplay.opening_tree import OpeningTree
from hexlit.selfplay.sources import GameReader
from hexlit.tasks.hex.packaged import fitting_network
from hexlit.web.pages import recorded_page

if TYPE_CHECKING:
    from hexlit.commands.games import GamesConfig

log = logging.getLogger(__name__)

Document = dict[str, Any]
"""Results as plain values."""

OPENING_PLIES = 2
"""Moves in an opening of the statistics."""
MOST = 10
"""Openings, players and problems in a table."""
SIMULATIONS = 256
"""Simulations for each position that a network judges."""
SECONDS = 10.0
"""Longest time of the exact solver for a position that it judges."""
_WINNERS = {"black": 1, "white": -1}


def games(settings: "GamesConfig", composed: Composed) -> bool:
    """Run the action; returns False if games are wrong."""
    reader = GameReader(settings.sources)
    if (alone := {"show": show, "puzzles": puzzles}.get(settings.action)) is not None:
        alone(settings, reader)
        return True
    title, action, page = ACTIONS[settings.action]
    words = [one for one in composed.overrides if not one.startswith("action=")]
    again = f"hexlit games import {shlex.join(words)}"
    kept = f"the games read are kept in {settings.target}"
    reporting = (
        prints_resume_hint("hexlit games", kept, again)
        if settings.action == "import"
        else nullcontext()
    )
    with (
        reporting,
        Counting(title, reader.size, unit="bytes", console=Console(stderr=True)) as shown,
    ):
        reader.progress = lambda reader: shown.update(reader.position, reader.games)
        document = action(settings, reader)
    if settings.json:
        print(json.dumps(document, ensure_ascii=False))
    else:
        show_page(page(document, settings.target), Console(highlight=False, soft_wrap=True))
    return bool(document.get("fine", True))


def import_to_store(settings: "GamesConfig", reader: GameReader) -> Document:
    """Add games to a store."""
    target = Path(str(settings.target))
    how = Duplicates(settings.duplicates)
    return import_games(reader, target, duplicates=how).as_json()


def export(settings: "GamesConfig", reader: GameReader) -> Document:
    """Write games to a file; returns also the facts that its format leaves out."""
    target = Path(str(settings.target))
    return export_games(
        reader, target, format_for(target, settings.format), selection=_selection(settings)
    ).as_json()


def show(settings: "GamesConfig", reader: GameReader) -> None:
    """Draw one game on the terminal, and as SVG if requested."""
    record = next(islice(_selection(settings).of(reader), settings.game - 1, None), None)
    if record is None:
        raise UsageError(
            f"game={settings.game}: {reader.games:,} games are there, not as many of those chosen"
        )
    if isinstance(record, RecordError):
        raise UsageError(f"game={settings.game}: {record}")
    ply = len(record.moves) if settings.ply is None else settings.ply
    if ply > len(record.moves):
        raise UsageError(f"ply={ply}: the game has {len(record.moves)} moves")
    message = reader.recorded
    facts = {"event": message.event, "date": message.date} if message else {}
    facts["swap"] = "swap-sides after the first stone" if swap_of(record) == "swap-sides" else ""
    facts["source"] = record.source
    shown = ShownGame(record, ply, {name: value for name, value in facts.items() if value})
    if settings.svg:
        write_text_atomic(Path(settings.svg), game_svg(shown))
    if settings.html:
        write_text_atomic(Path(settings.html), page_of(settings, shown, reader))
    Console(highlight=False, soft_wrap=True).print(draw_game(shown))


def stats(settings: "GamesConfig", reader: GameReader) -> Document:
    """Count the contents of the games."""
    overview, openings = Overview(OPENING_PLIES), OpeningTree()
    unreadable = 0
    for game in _selection(settings).of(reader):
        if isinstance(game, RecordError):
            unreadable += 1
        else:
            overview.add(game)
            if settings.html:
                openings.add(game)
    if not overview.games:
        raise UsageError(
            f"source={settings.sources[0]}: no game in it fits, of {reader.games:,} read"
        )
    if settings.html:
        write_text_atomic(Path(settings.html), openings_page(openings, settings.html))
    return {**overview.as_json(MOST), "unreadable": unreadable}


def openings_page(openings: OpeningTree, name: str) -> str:
    """The tree of the openings on the board with the most games, to step through; `name` of the
    file.
    """
    games = openings.games()
    size = max(games, key=games.__getitem__)
    check_shown(size, name)
    facts = [f"{games[size]:,} games on {size}×{size}"]
    if len(games) > 1:
        facts.append(f"size=N chooses another board of {', '.join(map(str, sorted(games)))} rows")
    nothing = GameRecord(0, size, False, np.zeros(0, np.int16), 0, Ending.UNFINISHED)
    return recorded_page(
        nothing, ply=0, title=f"Openings, {facts[0]}", facts=facts, nodes=openings.nodes(size)
    )


def verify(settings: "GamesConfig", reader: GameReader) -> Document:
    """Replay the games."""
    verdict = verify_games(reader, most=MOST)
    if not reader.games:
        raise UsageError(f"source={settings.sources[0]}: there are no games in it")
    return verdict.as_json()


def puzzles(settings: "GamesConfig", reader: GameReader) -> None:
    """Make puzzles, and write them as SGF, as a page and as JSON; no games are read."""
    from hexlit.tasks.hex.checkpoint import load_network

    size = settings.board
    folder = Path(str(settings.target))
    began = time.monotonic()
    name = settings.checkpoint or str(fitting_network(size))
    network = Evaluators(load_network(name), size, applied_profile(AcceleratorConfig())).network
    folder.mkdir(parents=True, exist_ok=True)  # before minutes are spent on the results
    with work_bar("making puzzles") as advance:
        made = make_puzzles(network, settings.count, settings.seed, advance)
    facts = {
        "board": size,
        "checkpoint": name,
        "seed": settings.seed,
        "seconds": round(time.monotonic() - began, 1),
    }
    document = plain({**facts, "largest_grade": GRADES[-1], "puzzles": [*map(vars, made)]})
    page = puzzles_page(document, str(folder))
    write_text_atomic(
        folder / "puzzles.sgf", "".join(one.sgf(number) for number, one in enumerate(made, 1))
    )
    write_text_atomic(folder / "puzzles.html", render(page))
    write_json_atomic(folder / "puzzles.json", document)
    print_results(settings, document, page, Console(highlight=False, soft_wrap=True))


def _selection(settings: "GamesConfig") -> Selection:
    ending = None if settings.ending is None else Ending(settings.ending)
    return Selection(
        settings.size,
        _WINNERS.get(settings.winner or ""),
        ending,
        settings.games,
        settings.player,
        settings.event,
        settings.date,
        settings.opening,
    )


ACTIONS: dict[
    str, tuple[str, Callable[["GamesConfig", GameReader], Document], Callable[..., Page]]
] = {
    "import": ("importing", import_to_store, import_page),
    "export": ("exporting", export, export_page),
    "stats": ("counting", stats, lambda document, target: overview_page(document)),
    "verify": ("replaying", verify, lambda document, target: verdict_page(document)),
}
"""Action -> what the display of its progress says, its function, and the page of its results."""


def page_of(settings: "GamesConfig", shown: ShownGame, reader: GameReader) -> str:
    """The page of `shown`, the last game of `reader`.

    Raises:
        UsageError: the board is too large for the page, or no player can judge the game.
    """
    record = shown.record
    check_shown(record.size, str(settings.html))
    facts = [
        f"{record.size}×{record.size}",
        *shown.facts.values(),
        f"{len(record.moves)} moves",
        result_of(record),
    ]
    judgements: Sequence[PlyReview] = ()
    if settings.review:
        judgements, by = judged(settings, record)
        facts.append(f"judged by {by}")
    return recorded_page(
        record, ply=shown.ply, facts=facts, nodes=variations_of(reader), review=judgements
    )


def check_shown(size: int, name: str) -> None:
    """Raise `UsageError` for a board that the page, a file `name`, cannot show."""
    if size > LARGEST_BOARD:
        raise UsageError(f"html={name}: the page shows {LARGEST_BOARD} rows at most, not {size}")


def variations_of(reader: GameReader) -> list[Variation]:
    """The tree of the last game of `reader`, empty where its format has no variations."""
    game = reader.recorded
    if game is None or format_of(reader.file).name != "sgf":
        return []
    with reader.file.open(encoding="utf-8-sig", errors="replace") as lines:
        result = read_variations(lines, game.place)
    for error in result.unread:
        log.warning("%s: a variation is left out: %s", reader.file, error)
    return result.nodes


def judged(settings: "GamesConfig", record: GameRecord) -> tuple[list[PlyReview], str]:
    """The judgements of the positions of a game, and whose they are, in words."""
    board = GameBoard(
        record.size, swap=record.size**2 in record.moves[1:2], moves=record.moves.tolist()
    )
    if settings.checkpoint is None and record.size <= MAX_SIZE:
        result = exact_review(board, SECONDS)
        return result, f"the exact solver ({len(result)} of {len(record.moves) + 1} positions)"
    name = settings.checkpoint or fitting_network(record.size)
    if name is None:
        raise UsageError(
            f"review=true: boards above {MAX_SIZE} rows are judged by a network; add checkpoint=FILE"
        )
    networks = networks_by_board(name, board.size, AcceleratorConfig())
    thinker = Thinker(
        SearchConfig(),
        networks.make_evaluator,
        knows_swap=networks.knows_swap,
        shared_stones=networks.first_stones,
    )
    thinker.prepare(board.size, swap=board.swap)
    by = f"{name} with {SIMULATIONS} simulations"
    return list(review(thinker, board, SIMULATIONS, lambda: False)), by
