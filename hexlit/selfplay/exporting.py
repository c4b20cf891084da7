"""Games of a store: those selected, what they look like together, and their export to other formats."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hexlit.errors import UsageError
from hexlit.files import replacing
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_moves
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.formats import FORMATS, RecordFormat, from_record
from hexlit.hex.records.game import SWAP_SIDES, RecordedGame, RecordedMove, RecordError, as_record, begins
from hexlit.hex.symmetry import rotate_moves
from hexlit.selfplay.importing import Tally, with_tallies
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

    def of(self, games: Iterable[GameRecord | RecordError]) -> Iterator[GameRecord | RecordError]:
        """The chosen games of `games`, and every error on the way."""
        fitting = 0
        for game in games:
            if isinstance(game, RecordError):
                yield game
            elif all(getattr(self, name) in (None, getattr(game, name)) for name in ("size", "winner", "ending")):
                yield game
                fitting += 1
                if fitting == self.games:
                    return


WINNERS = {1: "black", -1: "white", 0: "unknown"}


@dataclass
class Overview:
    """Counts over games, one `add` per game."""

    opening_plies: int = 2
    """Moves that make an opening."""
    games: int = 0
    plies: int = 0
    sizes: Counter[int] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    """Number of moves -> games."""
    winners: Counter[str] = field(default_factory=Counter)
    """`black`, `white` or `unknown`; for unfinished games as their files claim."""
    endings: Counter[str] = field(default_factory=Counter)
    swaps: Counter[str] = field(default_factory=Counter)
    """`swap-pieces`, `swap-sides` or `none`."""
    openings: Counter[tuple[int, tuple[int, ...]]] = field(default_factory=Counter)
    """Size and first moves -> games; of an opening and its turn by 180 degrees the one that sorts first."""
    openings_won: Counter[tuple[int, tuple[int, ...]]] = field(default_factory=Counter)
    """The same -> games that Black has won."""
    played: Counter[str] = field(default_factory=Counter)
    """Name -> games."""
    won: Counter[str] = field(default_factory=Counter)

    def add(self, game: GameRecord) -> None:
        """Count one game."""
        self.games += 1
        self.plies += len(game.moves)
        self.sizes[game.size] += 1
        self.lengths[len(game.moves)] += 1
        self.winners[WINNERS[game.winner]] += 1
        self.endings[str(game.ending)] += 1
        self.swaps[swap_of(game)] += 1
        first = game.moves[: self.opening_plies]
        if len(first) == self.opening_plies:
            turned = rotate_moves(first, game.size)
            opening = game.size, min(tuple(first.tolist()), tuple(turned.tolist()))
            self.openings[opening] += 1
            self.openings_won[opening] += game.winner == BLACK
        for name, colour in ((game.black, BLACK), (game.white, -BLACK)):
            if name:
                self.played[name] += 1
                self.won[name] += game.winner == colour

    def as_json(self, most: int = 10) -> dict[str, Any]:
        """Plain values by name, with the `most` most frequent openings and players."""
        won = self.openings_won
        openings = [
            {"board": size, "moves": format_moves(moves, size), "games": games, "black_won": won[size, moves]}
            for (size, moves), games in self.openings.most_common(most)
        ]
        players = self.played.most_common(most)
        return {
            "games": self.games,
            "plies": self.plies,
            "sizes": {str(size): games for size, games in sorted(self.sizes.items())},
            "lengths": {str(length): games for length, games in sorted(self.lengths.items())},
            "winners": {name: self.winners[name] for name in WINNERS.values()},
            "endings": {str(ending): self.endings[str(ending)] for ending in Ending},
            "swaps": dict(self.swaps.most_common()),
            "different_openings": len(self.openings),
            "openings": openings,
            "different_players": len(self.played),
            "players": [{"name": name, "games": games, "won": self.won[name]} for name, games in players],
        }


def swap_of(game: GameRecord) -> str:
    """`swap-pieces`, `swap-sides` or `none`."""
    if game.size**2 in game.moves[1:2]:
        return "swap-pieces"
    # In self-play `swap` says that the rule was on, in an imported record that a player swapped.
    return "swap-sides" if game.swap and not len(game.values) else "none"


_OF_A_RECORD = {
    "winner": "winner",
    "ending": "how it ended",
    "swap": "swap",
    "opening": "which moves nobody chose",
    "black": "name of Black",
    "white": "name of White",
}
_OF_A_FILE = {"event": "event", "date": "date", "comment": "comments"}


@dataclass
class ExportResult:
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

    def as_json(self) -> dict[str, Any]:
        """Plain values by name."""
        return with_tallies(self)


def format_for(target: Path, name: str | None = None) -> RecordFormat:
    """The format called `name`, or else the one for the suffix of `target`.

    Raises:
        UsageError: there is no such format, or the name of the file does not tell it.
    """
    if name is not None:
        check_word("format", name, FORMATS)
        return FORMATS[name]
    suffix = target.suffix.lower()
    fitting = [form for form in FORMATS.values() if suffix in form.suffixes]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise UsageError(f"target={target}: say which: format={' or format='.join(form.name for form in fitting)}")
    suffixes = ", ".join(f"{form.suffixes[0]} ({form.name})" for form in FORMATS.values())
    raise UsageError(f"target={target}: no format has files named so; the formats are {suffixes}, or add format=NAME")


def export_games(
    reader: GameReader,
    target: Path,
    form: RecordFormat,
    *,
    selection: Selection | None = None,
    progress: Callable[[GameReader], None] = lambda reader: None,
) -> ExportResult:
    """Write the games of `reader` to the file `target`, which is replaced when all are written.

    Every game is read back from its text; one that would come back as another game is left out.

    Raises:
        UsageError: no game can be written, or the file cannot be.
    """
    started = time.perf_counter()
    result = ExportResult(form.name)
    if target.is_dir():
        raise UsageError(f"target={target}: is a folder; games are exported to a file")
    try:
        with replacing(target) as temporary:
            with temporary.open("w", encoding="utf-8", newline="\n") as file:
                for game in (selection or Selection()).of(reader.read(progress)):
                    file.write(_written(game, reader.recorded, form, result))
                result.bytes = file.tell()
            if not result.written:
                raise UsageError(_nothing_written(result))
    except OSError as error:
        raise UsageError(f"target={target}: cannot be written ({error.strerror})") from error
    result.seconds = round(time.perf_counter() - started, 3)
    return result


def _written(
    game: GameRecord | RecordError, recorded: RecordedGame | None, form: RecordFormat, result: ExportResult
) -> str:
    """The text of one game; empty, and counted, if the format has none."""
    if isinstance(game, RecordError):
        result.not_written.add(game.reason, str(game.place), game.said)
        return ""
    if recorded is None:
        said = _as_said(game, form)
    else:  # as its file states it, but with the result of the record, so that all files state the same one
        winner = -game.winner if begins(recorded) == WHITE else game.winner
        said = replace(recorded, winner=winner, ending=game.ending)
    try:
        text = form.write(said)
        read = next(iter(form.read(text.splitlines(keepends=True), "")), RecordError("", "nothing is there"))
        back = read if isinstance(read, RecordError) else as_record(read)
    except RecordError as error:
        result.not_written.add(error.said, game.source, error.said)
        return ""
    if isinstance(back, RecordError) or back.size != game.size or back.moves.tolist() != game.moves.tolist():
        result.not_written.add(f"would not be the same game in {form.name}", game.source, str(back))
        return ""
    result.written += 1
    for one, other, names in ((game, back, _OF_A_RECORD), (said, read, _OF_A_FILE)):
        for name, what in names.items():
            if (value := getattr(one, name)) != getattr(other, name):
                result.lost.add(what, game.source, str(value))
    if len(game.values) or len(game.policies):
        result.lost.add("searched values and policies", game.source)
    return text


def _as_said(game: GameRecord, form: RecordFormat) -> RecordedGame:
    """A stored game for a file; the swap of sides, which leaves no move, is written if `form` knows it."""
    said = from_record(game)
    if swap_of(game) != "swap-sides" or not said.moves:
        return said
    moves = (said.moves[0], RecordedMove(WHITE, SWAP_SIDES), *said.moves[1:])
    swapped = replace(said, moves=moves, black=said.white, white=said.black)
    try:
        form.write(swapped)
    except RecordError:
        return said
    return swapped


def _nothing_written(result: ExportResult) -> str:
    for reason, first in result.not_written.items():
        return f"no game can be written as {result.format}: {first['place']}: {first['said'] or reason}"
    return "no game fits what is asked for, of size, winner and ending"
