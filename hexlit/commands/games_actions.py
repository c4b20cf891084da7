"""The actions of `hexlit games`: reading with progress, the work of `hexlit.selfplay`, and the drawing."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from rich.console import Console

from hexlit.commands.again import same_command
from hexlit.commands.games_settings import GamesConfig
from hexlit.errors import UsageError
from hexlit.files import write_text_atomic
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.game import RecordError
from hexlit.interruption import says_how_to_continue
from hexlit.reporting.game import ShownGame, draw_game
from hexlit.reporting.game_svg import game_svg
from hexlit.reporting.games import ReadingProgress, export_page, import_page, overview_page, verdict_page
from hexlit.reporting.page import Page
from hexlit.reporting.text import show as show_page
from hexlit.selfplay.exporting import Overview, Selection, export_games, format_for, swap_of
from hexlit.selfplay.importing import Duplicates, import_games, verify_games
from hexlit.selfplay.sources import GameReader

_WINNERS = {"black": 1, "white": -1}


def import_games_to_store(settings: GamesConfig) -> None:
    """Add games to a store, and print the results."""
    target = Path(str(settings.target))
    reader = GameReader(settings.sources)
    again = same_command("hexlit games import", without="action")
    try:
        with (
            says_how_to_continue("hexlit games", lambda: f"the games read are kept in {target}", lambda: again),
            _progress(reader, "importing"),
        ):
            result = import_games(
                reader,
                target,
                duplicates=Duplicates(settings.duplicates),
                stop_at_error=settings.on_error == "stop",
            )
    except OSError as error:  # such as a full disk
        raise UsageError(f"target={target}: cannot be written to ({error.strerror})") from error
    _give_out(settings, result.as_json(), lambda document: import_page(document, str(target)))


def export(settings: GamesConfig) -> None:
    """Write games to a file, and print the facts that its format leaves out."""
    target = Path(str(settings.target))
    form = format_for(target, settings.format)
    reader = GameReader(settings.sources)
    with _progress(reader, "exporting"):
        result = export_games(reader, target, form, selection=_selection(settings))
    _give_out(settings, result.as_json(), lambda document: export_page(document, str(target)))


def show(settings: GamesConfig) -> None:
    """Draw one game on the terminal, and as SVG if requested."""
    reader = GameReader(settings.sources)
    games = (game for game in reader if isinstance(game, GameRecord))
    record = next(islice(games, settings.game - 1, None), None)
    if record is None:
        readable = sum(isinstance(game, GameRecord) for game in GameReader(settings.sources))
        raise UsageError(f"game={settings.game}: {readable:,} games can be read there")
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
        try:
            write_text_atomic(Path(settings.svg), game_svg(shown))
        except OSError as error:
            raise UsageError(f"svg={settings.svg}: cannot be written ({error.strerror})") from error
    if settings.html:
        from hexlit.commands.games_page import write_page

        write_page(settings, shown, reader)
    _console().print(draw_game(shown))


def stats(settings: GamesConfig) -> None:
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


def verify(settings: GamesConfig) -> bool:
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
    with ReadingProgress(reader.size, title) as shown:
        reader.progress = lambda reader: shown.update(reader.position, reader.games)
        yield


def _selection(settings: GamesConfig) -> Selection:
    ending = None if settings.ending is None else Ending(settings.ending)
    winner = None if settings.winner is None else _WINNERS[settings.winner]
    return Selection(settings.size, winner, ending, settings.games)


def _console() -> Console:
    return Console(highlight=False, soft_wrap=True)


def _give_out(settings: GamesConfig, document: dict[str, object], page: Callable[[dict[str, object]], Page]) -> None:
    """Print the document, as JSON or as its page."""
    if settings.json:
        print(json.dumps(document, ensure_ascii=False))
    else:
        show_page(page(document), _console())
