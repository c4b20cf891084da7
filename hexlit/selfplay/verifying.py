"""Whether games are what they claim: every move legal, the result as on the board, no id twice in a store."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hexlit.hex.engine import empty_stones, play_sequence
from hexlit.hex.geometry import BLACK, WHITE, geometry
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.errors import RecordError
from hexlit.selfplay.checking import illegal_move
from hexlit.selfplay.identity import Duplicates, game_identity
from hexlit.selfplay.sources import GameReader, claimed_winner
from hexlit.selfplay.tally import Tally

_GAMES_BETWEEN_REPORTS = 100

_NAMES = {BLACK: "Black", WHITE: "White", 0: "nobody"}


@dataclass
class Verdict:
    """Result of a check of all games."""

    games: int = 0
    """Games that could be read."""
    plies: int = 0
    wrong: Tally = field(default_factory=Tally)
    """Errors by reason."""
    problems: list[dict[str, str]] = field(default_factory=list)
    """The first errors one by one: `reason`, `place`, `said`."""
    noted: Tally = field(default_factory=Tally)
    """Remarks that are no errors: duplicates, unfinished games."""

    def add(self, reason: str, place: str, said: str, most: int) -> None:
        """Count one more error; it is listed if it is among the first `most`."""
        self.wrong.add(reason, place, said)
        if len(self.problems) < most:
            self.problems.append({"reason": reason, "place": place, "said": said})

    @property
    def fine(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong.total

    def as_json(self) -> dict[str, Any]:
        """Plain values by name."""
        return {"fine": self.fine, **vars(self), "wrong": self.wrong.as_json(), "noted": self.noted.as_json()}


def verify_games(
    reader: GameReader, *, most: int = 20, progress: Callable[[GameReader], None] = lambda reader: None
) -> Verdict:
    """Replay every game; up to `most` problems are listed one by one, and all are counted."""
    verdict = Verdict()
    ids: set[tuple[Path, int]] = set()  # of a store, whose parts stand in one folder
    seen: dict[int, bool] = {}
    for number, game in enumerate(reader, 1):
        if number % _GAMES_BETWEEN_REPORTS == 0:
            progress(reader)
        if isinstance(game, RecordError):
            verdict.add(game.reason, str(game.place), game.said, most)
            continue
        verdict.games += 1
        verdict.plies += len(game.moves)
        found = check_record(game)
        if reader.recorded is None:
            if (reader.file.parent, game.game_id) in ids:
                found.append(("id twice", f"{game.game_id} is the id of a game before it"))
            ids.add((reader.file.parent, game.game_id))
        elif game.ending != Ending.UNFINISHED and claimed_winner(reader.recorded) == -game.winner:
            found.append(("result", f"the file says another winner than {_NAMES[game.winner]} ({game.ending})"))
        for reason, said in found:
            verdict.add(reason, game.source, said, most)
        if not found:
            _note(game, seen, verdict.noted)
    progress(reader)
    return verdict


def check_record(game: GameRecord) -> list[tuple[str, str]]:
    """Errors of one game, as (reason, sentence): one about its moves, or those about its searches and its result."""
    illegal = illegal_move(game.moves.tolist(), game.size, game.swap)
    if illegal:
        return [("illegal move", illegal)]
    found = []
    for name in ("values", "simulations"):
        if (length := len(getattr(game, name))) not in (0, len(game.moves)):
            found.append(("searches", f"{length} {name} for {len(game.moves)} moves"))
    result = _wrong_result(game)
    return [*found, ("result", result)] if result else found


def _wrong_result(game: GameRecord) -> str:
    won_after = play_sequence(empty_stones(1, game.size), 0, game.moves, geometry(game.size))
    if won_after and won_after < len(game.moves):
        return f"{len(game.moves) - won_after} moves come after the connection"
    winner = (BLACK if won_after % 2 else WHITE) if won_after else 0
    if game.ending == Ending.CONNECTED or winner:
        if winner != game.winner or game.ending != Ending.CONNECTED:
            said = f"{_NAMES.get(game.winner, game.winner)} is said to have won ({game.ending})"
            return f"{said}, but {_NAMES[winner]} has connected"
    elif game.winner not in _NAMES or (game.ending != Ending.UNFINISHED and not game.winner):
        return f"{game.ending}, but the winner is {game.winner}"
    return ""


def _note(game: GameRecord, seen: dict[int, bool], noted: Tally) -> None:
    if game.ending == Ending.UNFINISHED:
        noted.add("unfinished, winner only claimed" if game.winner else "unfinished", game.source)
    key, turned = game_identity(game, Duplicates.SYMMETRIC)
    if key in seen:
        noted.add("duplicate" if seen[key] == turned else "duplicate, turned by 180°", game.source)
    seen.setdefault(key, turned)
