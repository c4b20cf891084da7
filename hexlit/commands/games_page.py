"""`hexlit games show html=FILE`: the page of a game, and who judges its positions."""

import logging
from collections.abc import Sequence
from pathlib import Path

from hexlit.arena.thinker import PlyReview, exact_review, review
from hexlit.commands.games import GamesConfig
from hexlit.errors import UsageError
from hexlit.files import write_text_atomic
from hexlit.hex.board import Board
from hexlit.hex.record import GameRecord
from hexlit.hex.records.formats import format_of
from hexlit.hex.records.variations import Variation, read_variations
from hexlit.hex.solver.bitboard import MAX_SIZE
from hexlit.reporting.game import ShownGame, result_of
from hexlit.selfplay.sources import GameReader
from hexlit.tasks.hex.packaged import fitting_network
from hexlit.web.pages import recorded_page

log = logging.getLogger(__name__)

LARGEST_BOARD = 19


def write_page(settings: GamesConfig, shown: ShownGame, reader: GameReader) -> None:
    """Write the page of `shown`, the last game of `reader`, to the file `html`.

    Raises:
        UsageError: the board is too large for the page, no player can judge the game, or the file cannot be written.
    """
    record = shown.record
    if record.size > LARGEST_BOARD:
        raise UsageError(
            f"html={settings.html}: the page shows {LARGEST_BOARD} rows at most; this game has {record.size}"
        )
    facts = [f"{record.size}×{record.size}", *shown.facts.values(), f"{len(record.moves)} moves", result_of(record)]
    judgements: Sequence[PlyReview] = ()
    if settings.review:
        judgements, by = judged(settings, record)
        facts.append(f"judged by {by}")
    page = recorded_page(record, ply=shown.ply, facts=facts, nodes=variations_of(reader), review=judgements)
    try:
        write_text_atomic(Path(str(settings.html)), page)
    except OSError as error:
        raise UsageError(f"html={settings.html}: cannot be written ({error.strerror})") from error


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


def judged(settings: GamesConfig, record: GameRecord) -> tuple[list[PlyReview], str]:
    """The judgements of the positions of a game, and whose they are, in words."""
    board = Board(record.size, swap=record.size**2 in record.moves[1:2], moves=record.moves.tolist())
    if settings.checkpoint is None and record.size <= MAX_SIZE:
        result = exact_review(board, settings.seconds)
        return result, f"the exact solver ({len(result)} of {len(record.moves) + 1} positions)"
    name = settings.checkpoint or fitting_network(record.size)
    if name is None:
        raise UsageError(f"review=true: boards above {MAX_SIZE} rows are judged by a network; add checkpoint=FILE")
    return searched(settings, board, name), f"{name} with {settings.simulations} simulations"


def searched(settings: GamesConfig, board: Board, checkpoint: str) -> list[PlyReview]:
    """The judgements of the network of `checkpoint`."""
    from hexlit.accelerate.config import AcceleratorConfig
    from hexlit.arena.thinker import Thinker
    from hexlit.commands.networks import network_judge
    from hexlit.search.config import SearchConfig

    network = network_judge(checkpoint, board.size, AcceleratorConfig())
    knows_swap = network.knows_swap(board.size)
    thinker = Thinker(SearchConfig(), network.make_evaluator, knows_swap=knows_swap)
    thinker.prepare(board.size, swap=board.swap and knows_swap)
    return list(review(thinker, board, settings.simulations, lambda: False))
