"""A tournament: its pairings and games, played and kept on disk; its standings; and SGF."""

import csv
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from hexlit.arena.matches import ArenaGame, Block, MatchWorker, Opening, Pair
from hexlit.arena.ratings import PairCounts, Sprt, rate
from hexlit.errors import UsageError
from hexlit.files import write_text_atomic
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_moves, parse_moves
from hexlit.hex.record import Ending
from hexlit.hex.records.game import SWAP_PIECES, RecordedGame, RecordedMove
from hexlit.hex.records.sgf import write_sgf

COLUMNS = ("pair", "black", "white", "winner", "ending", "opening", "plies", "moves", "note")
WINNERS = {"black": 1, "white": -1}


class GameLog:
    """Keeps pairs of games; a match that is killed finds them again.

    Attributes:
        pairs: by the names of the first and the second player, then by the number of the opening.
    """

    def __init__(self, path: Path, size: int) -> None:
        """The games at `path` on boards of `size`; none without a file.

        A row torn by a kill, and a game without the other one of its pair, are dropped, from the
        file too.

        Raises:
            UsageError: the file holds something else.
        """
        self.path = path
        self.size = size
        self.pairs: dict[tuple[str, str], dict[int, Pair]] = {}
        rows, torn = _whole_rows(path)
        games = [self._read(row, number) for number, row in enumerate(rows[1:], start=2)]
        for pair in zip(games[0::2], games[1::2], strict=False):
            self._keep(pair)
        if torn or len(games) % 2 or not rows:
            whole_rows: list[Sequence[object]] = [COLUMNS]
            for group in self.pairs.values():
                for pair in group.values():
                    whole_rows += self._rows(pair)
            write_text_atomic(path, _as_text(whole_rows))

    def append(self, pair: Pair) -> None:
        """Keep `pair`; it is on disk when this returns."""
        self._keep(pair)
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(_as_text(self._rows(pair)))
            file.flush()
            os.fsync(file.fileno())

    def counts(self, first: str, second: str) -> PairCounts:
        """Numbers of pairs with none, one and both games won by `first`."""
        wins = []
        pairs = self.pairs.get((first, second), {})
        for one, other in pairs.values():
            wins.append((one.won_by == first) + (other.won_by == first))
        return wins.count(0), wins.count(1), wins.count(2)

    @property
    def games(self) -> list[ArenaGame]:
        """Every game, by players and pairs."""
        games: list[ArenaGame] = []
        for group in self.pairs.values():
            for number in sorted(group):
                games += group[number]
        return games

    def _keep(self, pair: Pair) -> None:
        self.pairs.setdefault((pair[0].black, pair[0].white), {})[pair[0].pair] = pair

    def _rows(self, pair: Pair) -> list[Sequence[object]]:
        rows: list[Sequence[object]] = []
        for game in pair:
            row = (
                game.pair,
                game.black,
                game.white,
                "black" if game.winner > 0 else "white",
                game.ending.value,
                game.opening,
                len(game.moves),
                format_moves(game.moves, self.size),
                game.note,
            )
            rows.append(row)
        return rows

    def _read(self, row: list[str], line: int) -> ArenaGame:
        try:
            pair, black, white, winner, ending, opening, _, moves, note = row
            cells = tuple(parse_moves(moves, self.size))
            return ArenaGame(
                int(pair), black, white, int(opening), cells, WINNERS[winner], Ending(ending), note
            )
        except (ValueError, KeyError) as error:
            raise UsageError(
                f"{self.path}, line {line}: not a game of a {self.size}x{self.size} match"
            ) from error


def _whole_rows(path: Path) -> tuple[list[list[str]], bool]:
    """The rows of a file that a kill may have torn, and whether it did; no rows without a file.

    Raises:
        UsageError: the file holds something else.
    """
    whole, _, torn = (path.read_bytes() if path.exists() else b"").rpartition(b"\n")
    try:
        rows = list(csv.reader(io.StringIO(whole.decode("utf-8", errors="replace"), newline="")))
    except csv.Error as error:
        raise UsageError(f"{path}: not the games of a match ({error})") from error
    if rows and rows[0] != list(COLUMNS):
        raise UsageError(
            f"{path}: not the games of a match (its columns are not {', '.join(COLUMNS)})"
        )
    return rows, bool(torn)


def _as_text(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def as_collection(games: Iterable[ArenaGame], size: int) -> str:
    """All games as SGF, one per line; the note of a forfeit is the comment of the last node."""
    return "".join(
        write_sgf(recorded(game, size), name=f"opening {game.pair + 1}") for game in games
    )


def recorded(game: ArenaGame, size: int) -> RecordedGame:
    """The game for the formats of records."""
    moves = [
        RecordedMove(WHITE if ply % 2 else BLACK, SWAP_PIECES if move == size**2 else move)
        for ply, move in enumerate(game.moves)
    ]
    record = RecordedGame(
        size, tuple(moves), winner=game.winner, ending=game.ending, opening=game.opening
    )
    return replace(record, black=game.black, white=game.white, comment=game.note)


def pairings(names: Sequence[str], mode: str) -> list[tuple[str, str]]:
    """Pairings: all players meet all others, or in a `gauntlet` only the first one does."""
    if mode == "round_robin":
        return list(combinations(names, 2))
    return [(names[0], name) for name in names[1:]]


@dataclass
class Tournament:
    """Plays the missing games between contestants, from the same openings in every pairing.

    Attributes:
        pairings: names of the players who meet.
    """

    worker: MatchWorker
    """Its contestants meet."""
    openings: Mapping[int, Opening]
    log: GameLog
    """Keeps the games."""
    _: KW_ONLY
    mode: str = "round_robin"
    every: int | None = None
    """Openings of a block; None: one block of all."""
    decided: Callable[[PairCounts], bool] = lambda counts: False
    """Checks the results of a pairing after each block, and can end it."""

    def __post_init__(self) -> None:
        names = [contestant.name for contestant in self.worker.contestants]
        self.pairings = pairings(names, self.mode)

    @property
    def games(self) -> int:
        """Games of the whole tournament, unless it ends early."""
        return 2 * len(self.openings) * len(self.pairings)

    def play(self, played: Callable[[Pair], None]) -> None:
        """Play to the end; `played` gets each new pair once it is kept."""
        for block in self._blocks():
            for pair in self.worker.play(block):
                self.log.append(pair)
                played(pair)

    def _blocks(self) -> Iterator[Block]:
        """The missing games as blocks."""
        numbers = list(self.openings)
        every = self.every or len(numbers)
        for pairing in self.pairings:
            for start in range(0, len(numbers), every):
                stage = numbers[start : start + every]
                block = self._missing(pairing, stage)
                # Results are checked only after whole blocks, so that a resumed match ends at the
                # same place.
                complete = len(block.openings) == len(stage)
                if self.every and complete and self.decided(self.log.counts(*pairing)):
                    break
                if block.openings:
                    yield block

    def _missing(self, pairing: tuple[str, str], numbers: Iterable[int]) -> Block:
        played = self.log.pairs.get(pairing, {})
        missing = {}
        for number in numbers:
            if number not in played:
                missing[number] = self.openings[number]
        return Block(*pairing, missing)


def standings(
    tournament: Tournament, anchor: str, *, sprt: Sprt | None = None, seed: int = 0
) -> dict[str, Any]:
    """The standings from the games so far; `seed` is that of the ratings' intervals.

    `players` lists, best first, `name`, `elo`, `low`, `high`, `bound`, `games`, `wins` and `score`.
    `cross` holds `games` and `wins` by player and opponent. Counts are `games`, `pairs`,
    `split_pairs` (one game won by each player), `black_wins`, `swaps`, `resignations` and
    `forfeits`. `sprt` is None without a test. Players are rated once all of them have played.
    """
    log = tournament.log
    pairings = tournament.pairings
    names = [contestant.name for contestant in tournament.worker.contestants]
    results = {pairing: log.counts(*pairing) for pairing in pairings}
    playing: set[str] = set()
    for pairing, counts in results.items():
        if sum(counts):
            playing.update(pairing)
    games = log.games
    players = []
    if len(playing) == len(names):
        for rating in rate(names, results, anchor, seed=seed):
            players.append({**asdict(rating), "score": rating.wins / rating.games})
    return {
        "anchor": anchor,
        "players": sorted(players, key=lambda player: -player["elo"]),
        "cross": _cross_table(names, games),
        "games": len(games),
        "pairs": len(games) // 2,
        "split_pairs": sum(counts[1] for counts in results.values()),
        "black_wins": sum(game.winner > 0 for game in games),
        "swaps": sum(log.size**2 in game.moves for game in games),
        "resignations": sum(game.ending is Ending.RESIGNED for game in games),
        "forfeits": [_forfeit(game) for game in games if game.ending is Ending.FORFEITED],
        "sprt": None if sprt is None else _tested(sprt, pairings[0], log),
    }


def _cross_table(
    names: Sequence[str], games: Sequence[ArenaGame]
) -> dict[str, dict[str, dict[str, int]]]:
    """`games` and `wins` by player and opponent."""
    cross: dict[str, dict[str, dict[str, int]]] = {name: {} for name in names}
    for game in games:
        for name, opponent in ((game.black, game.white), (game.white, game.black)):
            cell = cross[name].setdefault(opponent, {"games": 0, "wins": 0})
            cell["games"] += 1
            cell["wins"] += game.won_by == name
    return cross


def _forfeit(game: ArenaGame) -> dict[str, Any]:
    return {
        "loser": game.white if game.winner > 0 else game.black,
        "black": game.black,
        "white": game.white,
        "pair": game.pair,
        "note": game.note,
    }


def _tested(sprt: Sprt, pairing: tuple[str, str], log: GameLog) -> dict[str, Any]:
    counts = log.counts(*pairing)
    config = sprt.config
    return {
        "elo0": config.elo0,
        "elo1": config.elo1,
        "alpha": config.alpha,
        "beta": config.beta,
        "log_likelihood_ratio": sprt.ratio(counts),
        "lower": sprt.lower,
        "upper": sprt.upper,
        "pairs": counts,
        "accepted": sprt.decision(counts) or None,
    }
