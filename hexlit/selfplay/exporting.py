"""Games of a store: those selected, what they look like together, and their export to other
formats.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hexlit.errors import UsageError
from hexlit.files import replacing
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_moves
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.formats import FORMATS, RecordFormat, from_record
from hexlit.hex.records.game import (
    SWAP_SIDES,
    RecordedGame,
    RecordedMove,
    RecordError,
    as_record,
    begins,
)
from hexlit.hex.symmetry import rotate_moves
from hexlit.selfplay.importing import Account, Tally
from hexlit.selfplay.sources import GameReader
from hexlit.settings import check_word


@dataclass(frozen=True)
class Selection:
    """A choice of games; None in a field means any."""

    size: int | None = None
    """Rows of the board."""
    winner: int | None = None
    """+1 Black, -1 White."""
    ending: Ending | None = None
    games: int | None = None
    """Number of fitting games to take, from the first on."""
    player: str | None = None
    """Name of one of the players."""
    event: str | None = None
    """A part of the event's name, as the file has it; games of a store have none."""
    date: str | None = None
    """The beginning of the date, such as 2026-11."""
    opening: str | None = None
    """The first moves, such as `a3 swap-pieces`, also turned by 180 degrees."""

    def of(self, reader: GameReader) -> Iterator[GameRecord | RecordError]:
        """The chosen games of `reader`, and every error on the way."""
        fitting = 0
        for game in reader:
            if isinstance(game, RecordError):
                yield game
            elif self._fits(game) and self._was_on(reader.recorded):
                yield game
                fitting += 1
                if fitting == self.games:
                    return

    def _fits(self, game: GameRecord) -> bool:
        if self.size not in (None, game.size):
            return False
        if self.winner not in (None, game.winner):
            return False
        if self.player not in (None, game.black, game.white):
            return False
        return self.ending in (None, game.ending) and self._opens(game)

    def _was_on(self, recorded: RecordedGame | None) -> bool:
        event, date = ("", "") if recorded is None else (recorded.event, recorded.date)
        return (self.event or "").lower() in event.lower() and date.startswith(self.date or "")

    def _opens(self, game: GameRecord) -> bool:
        if self.opening is None:
            return True
        wanted = self.opening.split()
        first = game.moves[: len(wanted)]
        turned = rotate_moves(first, game.size)
        return any(format_moves(moves, game.size).split() == wanted for moves in (first, turned))


WINNERS = {1: "black", -1: "white", 0: "unknown"}


class Overview:
    """Counts over games, one `add` per game; an opening and its turn by 180 degrees count as the
    one that sorts first.

    Attributes:
        counts: `size`, `length`, `winner`, `ending`, `swap`, `opening`, `black_won`, `player` and
            `won` -> value -> games. Openings are size and first moves; `black_won` counts them, and
            `won` the players.
    """

    def __init__(self, opening_plies: int = 2) -> None:
        """The first `opening_plies` moves make an opening."""
        self.opening_plies = opening_plies
        self.counts: defaultdict[str, Counter[Any]] = defaultdict(Counter)
        self.games = 0

    def add(self, game: GameRecord) -> None:
        """Count one game."""
        self.games += 1
        first = game.moves[: self.opening_plies]
        values: dict[str, Any] = {
            "size": game.size,
            "length": len(game.moves),
            "winner": WINNERS[game.winner],
            "ending": str(game.ending),
            "swap": swap_of(game),
        }
        if len(first) == self.opening_plies:
            turned = rotate_moves(first, game.size)
            values["opening"] = game.size, min(tuple(first.tolist()), tuple(turned.tolist()))
            if game.winner == BLACK:
                values["black_won"] = values["opening"]
        for kind, value in values.items():
            self.counts[kind][value] += 1
        people = {BLACK: game.black, WHITE: game.white}
        for name in dict.fromkeys(people.values()):  # a game against oneself is one game
            if name:
                self.counts["player"][name] += 1
                self.counts["won"][name] += people.get(game.winner) == name

    def as_json(self, most: int = 10) -> dict[str, Any]:
        """Plain values by name, with the `most` most frequent openings and players."""
        counts = self.counts
        won = self.counts["black_won"]
        openings = [
            {
                "board": size,
                "moves": format_moves(moves, size),
                "games": games,
                "black_won": won[size, moves],
            }
            for (size, moves), games in counts["opening"].most_common(most)
        ]
        players = counts["player"].most_common(most)
        return {
            "games": self.games,
            "plies": sum(length * games for length, games in counts["length"].items()),
            "sizes": {str(size): games for size, games in sorted(counts["size"].items())},
            "lengths": {str(length): games for length, games in sorted(counts["length"].items())},
            "winners": {name: counts["winner"][name] for name in WINNERS.values()},
            "endings": {str(ending): counts["ending"][str(ending)] for ending in Ending},
            "swaps": dict(counts["swap"].most_common()),
            "different_openings": len(counts["opening"]),
            "openings": openings,
            "different_players": len(counts["player"]),
            "players": [
                {"name": name, "games": games, "won": counts["won"][name]}
                for name, games in players
            ],
        }


def swap_of(game: GameRecord) -> str:
    """`swap-pieces`, `swap-sides` or `none`."""
    if game.size**2 in game.moves[1:2]:
        return "swap-pieces"
    # In self-play `swap` means that the rule was on, in an imported record that a player swapped.
    return "swap-sides" if game.swap and not len(game.values) else "none"


_OF_A_RECORD = {
    "winner": "winner",
    "ending": "how it ended",
    "swap": "swap",
    "opening": "which moves nobody chose",
}
_OF_A_RECORD |= {"black": "name of Black", "white": "name of White"}
_OF_A_FILE = {"event": "event", "date": "date", "comment": "comments"}


@dataclass
class ExportResult(Account):
    """Counts of an export."""

    format: str
    written: int = 0
    """Games in the file."""
    not_written: Tally = field(default_factory=Tally)
    """Games that the format cannot express, or that could not be read."""
    lost: Tally = field(default_factory=Tally)
    """Facts about games in the file that the format cannot express."""
    bytes: int = 0
    """Size of the file."""
    seconds: float = 0.0


def format_for(target: Path, name: str | None = None) -> RecordFormat:
    """The format called `name`, or else the one for the suffix of `target`.

    Raises:
        UsageError: there is no such format, or the name of the file does not show it.
    """
    if name is not None:
        check_word("format", name, FORMATS)
        return FORMATS[name]
    fitting = [form for form in FORMATS.values() if target.suffix.lower() in form.suffixes]
    if len(fitting) == 1:
        return fitting[0]
    names = [form.name for form in fitting or FORMATS.values()]
    raise UsageError(
        f"target={target}: its name does not show the format; add format=NAME, {' or '.join(names)}"
    )


def export_games(
    reader: GameReader, target: Path, form: RecordFormat, *, selection: Selection | None = None
) -> ExportResult:
    """Write the games of `reader` to the file `target`, which is replaced when all are written.

    Every game is read back from its text; one that would come back as another game is left out.

    Raises:
        UsageError: no game can be written.
    """
    started = time.perf_counter()
    result = ExportResult(form.name)
    with replacing(target) as temporary:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            for game in (selection or Selection()).of(reader):
                file.write(_written(game, reader.recorded, form, result))
            result.bytes = file.tell()
        if not result.written:
            such = [f": {one['place']}: {one['message']}" for one in result.not_written.values()]
            raise UsageError(
                f"target={target}: no game fits or can be written as {form.name}{(such or [''])[0]}"
            )
    result.seconds = round(time.perf_counter() - started, 3)
    return result


def _written(
    game: GameRecord | RecordError,
    recorded: RecordedGame | None,
    form: RecordFormat,
    result: ExportResult,
) -> str:
    """The text of one game; empty, and counted, if the format has none."""
    if isinstance(game, RecordError):
        result.not_written.add(game.reason, str(game.place), game.message)
        return ""
    if recorded is None:
        stated = _as_stated(game, form)
    else:
        # As its file states it, but with the result of the record, so that all files state the
        # same one.
        winner = -game.winner if begins(recorded) == WHITE else game.winner
        stated = replace(recorded, winner=winner, ending=game.ending)
    try:
        text = form.write(stated)
        lines = text.splitlines(keepends=True)
        read = next(iter(form.read(lines, "")), RecordError("", "nothing is there"))
        if isinstance(read, RecordError):
            raise read
        back = as_record(read)
        if back.size != game.size or back.moves.tolist() != game.moves.tolist():
            raise RecordError("", f"would not be the same game in {form.name}")
    except RecordError as error:
        result.not_written.add(error.message, game.source, error.message)
        return ""
    result.written += 1
    for name, what in _OF_A_RECORD.items():
        if getattr(game, name) != getattr(back, name):
            result.lost.add(what, game.source, str(getattr(game, name)))
    for name, what in _OF_A_FILE.items():
        if getattr(stated, name) != getattr(read, name):
            result.lost.add(what, game.source, str(getattr(stated, name)))
    if len(game.values) or len(game.policies):
        result.lost.add("searched values and policies", game.source)
    return text


def _as_stated(game: GameRecord, form: RecordFormat) -> RecordedGame:
    """A stored game for a file; the swap of sides, which leaves no move, is written if `form` knows
    it.
    """
    stated = from_record(game)
    if swap_of(game) != "swap-sides" or not stated.moves:
        return stated
    moves = (stated.moves[0], RecordedMove(WHITE, SWAP_SIDES), *stated.moves[1:])
    swapped = replace(stated, moves=moves, black=stated.white, white=stated.black)
    try:
        form.write(swapped)
    except RecordError:
        return stated
    return swapped
