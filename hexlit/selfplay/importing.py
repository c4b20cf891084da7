"""Import of games of any known format into a store, all counted; and the check of a store."""

import json
import time
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path
from typing import Any

from hexlit import __version__
from hexlit.errors import UsageError
from hexlit.files import write_text_atomic
from hexlit.hex.engine import empty_stones, play_sequence
from hexlit.hex.geometry import BLACK, WHITE, geometry
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.game import RecordError
from hexlit.hex.symmetry import rotate_moves
from hexlit.selfplay.sources import SUMMARY, GameReader, file_name
from hexlit.selfplay.store import GameStore, part_files


class Tally(dict[str, dict[str, Any]]):
    """Reason -> its `count`, and `place` and `message` (a sentence) of the first example."""

    def add(self, reason: str, place: str, message: str = "") -> None:
        """One more for `reason`."""
        self.setdefault(reason, {"count": 0, "place": place, "message": message})["count"] += 1

    @property
    def counts(self) -> dict[str, int]:
        """Reason -> count."""
        return {reason: entry["count"] for reason, entry in self.items()}


class Account:
    """Base of the counts of an action: dataclasses of plain values and tallies."""

    def as_json(self) -> dict[str, Any]:
        """The fields by name; in a tally the most frequent reason comes first."""
        return {
            name: dict(sorted(value.items(), key=lambda item: -item[1]["count"]))
            if isinstance(value, Tally)
            else value
            for name, value in vars(self).items()
        }


class Duplicates(StrEnum):
    """Rule for the equal games that a store keeps."""

    SYMMETRIC = "symmetric"
    """One of a game and the same game turned by 180 degrees."""
    KEEP = "keep"
    """All of them; only the same place in the same file is never stored twice."""


def game_identity(record: GameRecord, place: str = "") -> tuple[int, bool]:
    """An id of 63 bits, made of size and moves, and whether the game is the turned form.

    A game and the same turned by 180 degrees share the id of the form with the smaller move
    numbers. If a `place` is part of the id, they do not.
    """
    content = record.moves.astype(">i2").tobytes()
    turned = rotate_moves(record.moves, record.size).astype(">i2").tobytes()
    is_turned = turned < content
    if is_turned and not place:
        content = turned
    digest = blake2b(bytes([record.size]) + content + place.encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1, is_turned


GAMES_AT_ONCE = 500
"""New games between two writes to the journal; after a kill the next import reads no more than
these again.
"""

GAMES_OF_A_PART = 5000

_DUPLICATES = {True: "duplicate", False: "duplicate, turned by 180°"}
"""Reason for a game that was there before, by whether it was turned alike."""


@dataclass
class ImportResult(Account):
    """Counts of an import."""

    read: int = 0
    """Games that could be read, duplicates among them."""
    imported: int = 0
    """Games that are new in the store."""
    plies: int = 0
    """Moves of these."""
    dropped: Tally = field(default_factory=Tally)
    """Games that were not imported, and files of no known format."""
    noted: Tally = field(default_factory=Tally)
    """Remarks. Unfinished games are counted among `imported`, as `verify_games` counts them in the
    store; games whose file names another winner, and duplicates with another result, among `read`.
    """
    in_store: int = 0
    """Games in the store after the import."""
    seconds: float = 0.0
    stopped: str = ""
    """Why the import ended before the end of its sources; empty if it did not."""

    def as_json(self) -> dict[str, Any]:
        """Plain values by name."""
        return super().as_json() | {
            "games_per_second": round(self.read / self.seconds) if self.seconds else None
        }


def import_games(
    reader: GameReader, target: Path, *, duplicates: Duplicates = Duplicates.SYMMETRIC
) -> ImportResult:
    """Add the games of `reader` to the store in the folder `target`, and record it in its
    `import.json`.

    Games that the store has already are skipped, so an import can be repeated, and continues after
    a kill.

    Args:
        reader: reads the sources.
        target: made if it does not exist; all its games were imported under the same rule of
            duplicates.
        duplicates: rule for equal games.

    Raises:
        UsageError: the target is no folder for these games, a file is damaged, or there is nothing
            to import.
    """
    started = time.perf_counter()
    result = ImportResult(stopped="interrupted")
    batch = list[GameRecord]()
    for file in reader.passed_over:
        result.dropped.add(file.reason, str(file.place), file.message)
    new: dict[int, tuple[bool, int, Ending]] = {}
    """Id of each game of this import -> whether it came turned, and its result."""
    with GameStore(target) as store:
        history = _history(target, duplicates)
        _write_summary(target, duplicates, history)
        try:
            for game in reader:
                if isinstance(game, RecordError):
                    result.dropped.add(game.reason, str(game.place), game.message)
                    continue
                result.read += 1
                if reader.claims_another_winner(game):
                    result.noted.add("the file says another winner", game.source)
                place = reader.place_of(game) if duplicates == Duplicates.KEEP else ""
                game_id, turned = game_identity(game, place)
                if game_id in new:
                    first_turned, *first_result = new[game_id]
                    result.dropped.add(_DUPLICATES[first_turned == turned], game.source)
                    if first_result != [game.winner, game.ending]:
                        result.noted.add("duplicate with another result", game.source)
                elif game_id in store:
                    result.dropped.add("in the store already", game.source)
                else:
                    new[game_id] = turned, game.winner, game.ending
                    result.imported += 1
                    result.plies += len(game.moves)
                    _note_unfinished(game, result.noted)
                    batch.append(replace(game, game_id=game_id))
                    if len(batch) == GAMES_AT_ONCE:
                        store.append(batch)
                        batch = []
                        if result.imported % GAMES_OF_A_PART == 0:
                            store.flush()
            result.stopped = ""
        finally:  # neither a damaged file nor Ctrl-C costs a game that was read before it
            store.append(batch)
            store.flush()
            result.in_store = len(store)
            result.seconds = round(time.perf_counter() - started, 3)
            entry = {"files": [file_name(file) for file in reader.files], **result.as_json()}
            _write_summary(target, duplicates, [*history, entry])
    if not result.read:
        such = [f", such as {one['place']}: {one['message']}" for one in result.dropped.values()]
        raise UsageError(
            f"source={reader.files[0]}: there are no games that can be read{(such or [''])[-1]}"
        )
    return result


def _history(target: Path, duplicates: Duplicates) -> list[dict[str, Any]]:
    """The accounts of the imports into `target` before, under the same rule of duplicates."""
    path = target / SUMMARY
    if not path.exists():
        if part_files(target):
            raise UsageError(f"target={target}: its games were not imported, there is no {SUMMARY}")
        return []
    summary = json.loads(path.read_text(encoding="utf-8"))
    if summary["duplicates"] != duplicates:
        raise UsageError(
            f"target={target}: its games were imported with duplicates={summary['duplicates']}; set the same"
        )
    history: list[dict[str, Any]] = summary["imports"]
    return history


def _write_summary(target: Path, duplicates: Duplicates, imports: list[dict[str, Any]]) -> None:
    document = {"hexlit": __version__, "duplicates": str(duplicates), "imports": imports}
    write_text_atomic(target / SUMMARY, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


_NAMES = {BLACK: "Black", WHITE: "White", 0: "nobody"}


@dataclass
class Verdict(Account):
    """Result of a check of all games."""

    games: int = 0
    """Games that could be read."""
    plies: int = 0
    wrong: Tally = field(default_factory=Tally)
    """Errors by reason."""
    problems: list[dict[str, str]] = field(default_factory=list)
    """The first errors one by one: `reason`, `place`, `message`."""
    noted: Tally = field(default_factory=Tally)
    """Remarks that are no errors: duplicates, unfinished games."""

    def add(self, reason: str, place: str, message: str, most: int) -> None:
        """Count one more error; it is listed if it is among the first `most`."""
        self.wrong.add(reason, place, message)
        if len(self.problems) < most:
            problem = {"reason": reason, "place": place, "message": message}
            self.problems.append(problem)

    @property
    def fine(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong

    def as_json(self) -> dict[str, Any]:
        """Plain values by name."""
        return {"fine": self.fine, **super().as_json()}


def verify_games(reader: GameReader, *, most: int = 20) -> Verdict:
    """Replay every game; up to `most` problems are listed one by one, and all are counted."""
    verdict = Verdict()
    ids: set[tuple[Path, int]] = set()  # of a store, whose parts stand in one folder
    seen: dict[int, bool] = {}
    for game in reader:
        if isinstance(game, RecordError):
            verdict.add(game.reason, str(game.place), game.message, most)
            continue
        verdict.games += 1
        verdict.plies += len(game.moves)
        problems = {}
        error = wrong_result(game)
        if error:
            problems["result"] = error
        if reader.recorded is None:
            if (reader.file.parent, game.game_id) in ids:
                problems["id twice"] = f"{game.game_id} is the id of a game before it"
            ids.add((reader.file.parent, game.game_id))
        elif reader.claims_another_winner(game):
            problems["result"] = (
                f"the file says another winner than {_NAMES[game.winner]} ({game.ending})"
            )
        for reason, message in problems.items():
            verdict.add(reason, game.source, message, most)
        if not problems:
            _note_unfinished(game, verdict.noted)
            key, turned = game_identity(game)
            if key in seen:
                verdict.noted.add(_DUPLICATES[seen[key] == turned], game.source)
            seen.setdefault(key, turned)
    return verdict


def wrong_result(game: GameRecord) -> str:
    """The error of the result of a game with legal moves; empty if it is right."""
    won_after = play_sequence(empty_stones(1, game.size), 0, game.moves, geometry(game.size))
    if won_after and won_after < len(game.moves):
        return f"{len(game.moves) - won_after} moves come after the connection"
    winner = 0
    if won_after:
        winner = BLACK if won_after % 2 else WHITE
    if game.ending == Ending.CONNECTED or winner:
        if winner != game.winner or game.ending != Ending.CONNECTED:
            return f"{_NAMES[game.winner]} won by the record ({game.ending}), but {_NAMES[winner]} has connected"
    elif game.ending != Ending.UNFINISHED and not game.winner:
        return f"{game.ending}, but the winner is {game.winner}"
    return ""


def _note_unfinished(game: GameRecord, noted: Tally) -> None:
    if game.ending == Ending.UNFINISHED:
        noted.add("unfinished, winner only claimed" if game.winner else "unfinished", game.source)
