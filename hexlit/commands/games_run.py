"""The actions of `hexlit games`: reading with progress, the work of `hexlit.selfplay`, and the drawing."""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from hexlit.arena.thinker import PlyReview, exact_review, review
from hexlit.commands.command_line import same_command
from hexlit.errors import UsageError
from hexlit.files import write_text_atomic
from hexlit.hex.board import GameBoard
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.formats import format_of
from hexlit.hex.records.game import RecordError
from hexlit.hex.records.variations import Variation, read_variations
from hexlit.hex.solver.bitboard import MAX_SIZE
from hexlit.interruption import says_how_to_continue
from hexlit.reporting.board import ShownGame, draw_game, result_of
from hexlit.reporting.board_svg import game_svg
from hexlit.reporting.games import export_page, import_page, overview_page, verdict_page
from hexlit.reporting.page import Page
from hexlit.reporting.screen import Counting
from hexlit.reporting.text import show as show_page
from hexlit.selfplay.exporting import Overview, Selection, export_games, format_for, swap_of
from hexlit.selfplay.importing import Duplicates, import_games, verify_games
from hexlit.selfplay.sources import GameReader
from hexlit.tasks.hex.packaged import fitting_network
from hexlit.web.pages import recorded_page

if TYPE_CHECKING:
    from hexlit.commands.games import GamesConfig

log = logging.getLogger(__name__)

LARGEST_BOARD = 19
_WINNERS = {"black": 1, "white": -1}


def import_games_to_store(settings: "GamesConfig") -> None:
    """Add games to a store, and print the results."""
    target, reader = Path(str(settings.target)), GameReader(settings.sources)
    how, stops = Duplicates(settings.duplicates), settings.on_error == "stop"
    again = same_command("hexlit games import", without="action")
    with (
        says_how_to_continue("hexlit games", lambda: f"the games read are kept in {target}", lambda: again),
        _progress(reader, "importing"),
    ):
        result = import_games(reader, target, duplicates=how, stop_at_error=stops)
    _give_out(settings, result.as_json(), lambda document: import_page(document, str(target)))


def export(settings: "GamesConfig") -> None:
    """Write games to a file, and print the facts that its format leaves out."""
    target = Path(str(settings.target))
    form = format_for(target, settings.format)
    reader = GameReader(settings.sources)
    with _progress(reader, "exporting"):
        result = export_games(reader, target, form, selection=_selection(settings))
    _give_out(settings, result.as_json(), lambda document: export_page(document, str(target)))


def show(settings: "GamesConfig") -> None:
    """Draw one game on the terminal, and as SVG if requested."""
    reader = GameReader(settings.sources)
    games = (game for game in reader if isinstance(game, GameRecord))
    record = next(islice(games, settings.game - 1, None), None)
    if record is None:
        raise UsageError(f"game={settings.game}: {reader.games:,} games are there")
    plies = len(record.moves)
    ply = plies if settings.ply is None else settings.ply
    if ply > plies:
        raise UsageError(f"ply={ply}: the game has {plies} moves")
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


def stats(settings: "GamesConfig") -> None:
    """Print the contents of the games."""
    reader = GameReader(settings.sources)
    overview = Overview(settings.opening_plies)
    unreadable = 0
    with _progress(reader, "counting"):
        for game in _selection(settings).of(reader):
            if isinstance(game, RecordError):
                unreadable += 1
            else:
                overview.add(game)
    if not overview.games:
        raise UsageError(f"source={settings.sources[0]}: no game in it fits, of {reader.games:,} read")
    document = {**overview.as_json(settings.most), "unreadable": unreadable}
    _give_out(settings, document, overview_page)


def verify(settings: "GamesConfig") -> bool:
    """Replay the games; returns whether all are correct."""
    reader = GameReader(settings.sources)
    with _progress(reader, "replaying"):
        verdict = verify_games(reader, most=settings.most)
    if not reader.games:
        raise UsageError(f"source={settings.sources[0]}: there are no games in it")
    _give_out(settings, verdict.as_json(), verdict_page)
    return verdict.fine


@contextmanager
def _progress(reader: GameReader, title: str) -> Iterator[None]:
    with Counting(title, reader.size, unit="bytes", console=Console(stderr=True)) as shown:
        reader.progress = lambda reader: shown.update(reader.position, reader.games)
        yield


def _selection(settings: "GamesConfig") -> Selection:
    ending = None if settings.ending is None else Ending(settings.ending)
    winner = None if settings.winner is None else _WINNERS[settings.winner]
    return Selection(settings.size, winner, ending, settings.games)


def _give_out(settings: "GamesConfig", document: dict[str, object], page: Callable[[dict[str, object]], Page]) -> None:
    """Print the document, as JSON or as its page."""
    if settings.json:
        print(json.dumps(document, ensure_ascii=False))
    else:
        show_page(page(document), Console(highlight=False, soft_wrap=True))


DONE_BY = {"import": import_games_to_store, "export": export, "show": show, "stats": stats, "verify": verify}
"""Action -> its function; False is an exit code of 1."""


def page_of(settings: "GamesConfig", shown: ShownGame, reader: GameReader) -> str:
    """The page of `shown`, the last game of `reader`.

    Raises:
        UsageError: the board is too large for the page, or no player can judge the game.
    """
    record = shown.record
    if record.size > LARGEST_BOARD:
        raise UsageError(f"html={settings.html}: the page shows {LARGEST_BOARD} rows at most, not {record.size}")
    facts = [f"{record.size}×{record.size}", *shown.facts.values(), f"{len(record.moves)} moves", result_of(record)]
    judgements: Sequence[PlyReview] = ()
    if settings.review:
        judgements, by = judged(settings, record)
        facts.append(f"judged by {by}")
    return recorded_page(record, ply=shown.ply, facts=facts, nodes=variations_of(reader), review=judgements)


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
    board = GameBoard(record.size, swap=record.size**2 in record.moves[1:2], moves=record.moves.tolist())
    if settings.checkpoint is None and record.size <= MAX_SIZE:
        result = exact_review(board, settings.seconds)
        return result, f"the exact solver ({len(result)} of {len(record.moves) + 1} positions)"
    name = settings.checkpoint or fitting_network(record.size)
    if name is None:
        raise UsageError(f"review=true: boards above {MAX_SIZE} rows are judged by a network; add checkpoint=FILE")
    from hexlit.accelerate.config import AcceleratorConfig
    from hexlit.arena.thinker import Thinker
    from hexlit.commands.players import network_judge
    from hexlit.search.config import SearchConfig

    network = network_judge(name, board.size, AcceleratorConfig())
    knows_swap = network.knows_swap(board.size)
    thinker = Thinker(SearchConfig(), network.make_evaluator, knows_swap=knows_swap)
    thinker.prepare(board.size, swap=board.swap and knows_swap)
    by = f"{name} with {settings.simulations} simulations"
    return list(review(thinker, board, settings.simulations, lambda: False)), by
