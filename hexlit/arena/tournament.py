"""A tournament: its pairings and their games, played, checked for repetitions and kept; and its standings."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from hexlit.arena.config import MODES
from hexlit.arena.game_log import GameLog
from hexlit.arena.matches import ArenaGame, Opening, Pair, play_pairs, position_key
from hexlit.arena.players import Contestant
from hexlit.arena.ratings import PairCounts, Rating, Sprt, rate
from hexlit.choices import check_word
from hexlit.hex.geometry import geometry
from hexlit.hex.record import Ending


@dataclass(frozen=True)
class Block:
    """Openings of games between two players: an independent part of a tournament, which any process can play."""

    first: str
    """Name of the player who has Black first."""
    second: str
    openings: Mapping[int, Opening]
    """The openings by number."""

    def cut(self, at_once: int) -> "list[Block]":
        """Blocks of `at_once` openings, which a player plays in parallel, and the rest."""
        numbers = list(self.openings)
        parts = [numbers[start : start + at_once] for start in range(0, len(numbers), at_once)]
        return [Block(self.first, self.second, {number: self.openings[number] for number in part}) for part in parts]


PlayBlocks = Callable[[Sequence[Block]], Iterator[Iterable[Pair]]]
"""Gives the pairs of each block, in the order of the blocks."""


class MatchWorker:
    """Plays blocks of openings between its contestants, in this process."""

    def __init__(self, contestants: Sequence[Contestant], size: int, *, at_once: int, swap: bool = False) -> None:
        """As for `play_pairs`."""
        self._contestants = {contestant.name: contestant for contestant in contestants}
        self._size = size
        self._at_once = at_once
        self._swap = swap

    def play(self, block: Block) -> Iterator[Pair]:
        """The pairs of `block`, each as soon as both games are over."""
        first, second = self._contestants[block.first], self._contestants[block.second]
        return play_pairs(first, second, block.openings, self._size, at_once=self._at_once, swap=self._swap)


def pairings(names: Sequence[str], mode: str) -> list[tuple[str, str]]:
    """Pairings: all players meet all others, or in a `gauntlet` only the first one does."""
    check_word("mode", mode, MODES)
    return list(combinations(names, 2)) if mode == "round_robin" else [(names[0], name) for name in names[1:]]


class Tournament:
    """Plays the missing games between contestants, from the same openings in every pairing.

    Attributes:
        repeated: games dropped with the other one of their pair, because the same players had played them before.
    """

    def __init__(
        self,
        contestants: Sequence[Contestant],
        openings: Mapping[int, Opening],
        log: GameLog,
        *,
        at_once: int,
        swap: bool = False,
        mode: str = "round_robin",
        every: int | None = None,
        decided: Callable[[PairCounts], bool] = lambda counts: False,
    ) -> None:
        """Games go to `log`; at most `at_once` of them wait for the same player's move. With `swap` an opening of one
        move may be answered by swap-pieces.

        `decided` checks the results of a pairing after each block of `every` openings (None: one block of all), and can
        end it.
        """
        self.pairings = pairings([contestant.name for contestant in contestants], mode)
        self.repeated = 0
        self._worker = MatchWorker(contestants, log.size, at_once=at_once, swap=swap)
        self._openings = openings
        self._log = log
        self.at_once = at_once
        self._every = every
        self._decided = decided
        self._seen = {_key(game, log.size) for game in log.games}

    @property
    def games(self) -> int:
        """Games of the whole tournament, unless it ends early."""
        return 2 * len(self._openings) * len(self.pairings)

    def play(self, played: Callable[[Pair], None], elsewhere: PlayBlocks | None = None) -> None:
        """Play to the end, here or `elsewhere`; `played` gets each new pair once it is kept.

        Pairs are kept in the same order wherever they are played. Elsewhere a block is cut in the same way, into
        `at_once` openings, and is kept when all of it is played.
        """
        for blocks in self._stages():
            parts = [part for block in blocks for part in block.cut(self.at_once)]
            for pairs in map(self._worker.play, blocks) if elsewhere is None else elsewhere(parts):
                for pair in pairs:
                    if self._is_new(pair):
                        self._log.append(pair)
                        played(pair)

    def _stages(self) -> Iterator[list[Block]]:
        """The missing games, as lists of blocks that are independent of each other's results."""
        if self._every is None:
            yield [block for pairing in self.pairings if (block := self._missing(pairing, self._openings)).openings]
            return
        numbers = list(self._openings)
        for pairing in self.pairings:
            for start in range(0, len(numbers), self._every):
                several = numbers[start : start + self._every]
                block = self._missing(pairing, several)
                # Results are checked only after whole blocks, so that a resumed match ends at the same place.
                if len(block.openings) == len(several) and self._decided(self._log.counts(*pairing)):
                    break
                if block.openings:
                    yield [block]

    def _missing(self, pairing: tuple[str, str], numbers: Iterable[int]) -> Block:
        known = self._log.pairs.get(pairing, {})
        return Block(*pairing, {number: self._openings[number] for number in numbers if number not in known})

    def _is_new(self, pair: Pair) -> bool:
        keys = {_key(game, self._log.size) for game in pair}
        self.repeated += len(keys & self._seen)
        new = not keys & self._seen
        self._seen |= keys
        return new


GameKey = tuple[str, str, tuple[tuple[int, ...], tuple[int, ...]], tuple[int, ...]]


def _key(game: ArenaGame, size: int) -> GameKey:
    """A key shared by two games of the same players if they are equal, or turned by 180 degrees."""
    rotated = geometry(size).rotated
    turned = tuple(int(rotated[move]) for move in game.moves)
    opening = position_key(game.moves[: game.opening], size)
    continuation = min(
        way[game.opening :]
        for way in (game.moves, turned)
        if (tuple(sorted(way[: game.opening : 2])), tuple(sorted(way[1 : game.opening : 2]))) == opening
    )
    return game.black, game.white, opening, continuation


def standings(
    names: Sequence[str],
    pairings: Sequence[tuple[str, str]],
    log: GameLog,
    anchor: str,
    *,
    sprt: Sprt | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """The standings from the games of `log`; `seed` is that of the ratings' intervals.

    `players` lists, best first, `name`, `elo`, `low`, `high`, `bound`, `games`, `wins`, `score` and `played`. The last
    holds the same of the pairs without a forfeit, None if all have one or nothing was forfeited. `cross` holds `games`
    and `wins` by player and opponent. Counts are `games`, `pairs`, `split_pairs` (one game won by each player),
    `black_wins`, `swaps`, `resignations` and `forfeits`. `sprt` is None without a test. Players are rated once all of
    them have played.
    """
    results = {pairing: log.counts(*pairing) for pairing in pairings}
    met = [pairing for pairing, counts in results.items() if sum(counts)]
    playing = [name for name in names if any(name in pairing for pairing in met)]
    games = log.games
    cross = {name: {} for name in names}  # type: dict[str, dict[str, dict[str, int]]]
    for game in games:
        for name, opponent in ((game.black, game.white), (game.white, game.black)):
            cell = cross[name].setdefault(opponent, {"games": 0, "wins": 0})
            cell["games"] += 1
            cell["wins"] += game.won_by == name
    ratings = rate(names, results, anchor, seed=seed) if len(playing) == len(names) else []
    played = _played(names, pairings, log, anchor, seed)
    players = [{**_row(rating), "played": played.get(rating.name)} for rating in ratings]
    return {
        "anchor": anchor,
        "players": sorted(players, key=lambda player: -player["elo"]),
        "cross": cross,
        "games": len(games),
        "pairs": len(games) // 2,
        "split_pairs": sum(counts[1] for counts in results.values()),
        "black_wins": sum(game.winner > 0 for game in games),
        "swaps": sum(log.size**2 in game.moves for game in games),
        "resignations": sum(game.ending is Ending.RESIGNED for game in games),
        "forfeits": [
            {
                "loser": game.white if game.winner > 0 else game.black,
                "black": game.black,
                "white": game.white,
                "pair": game.pair,
                "note": game.note,
            }
            for game in games
            if game.ending is Ending.FORFEITED
        ],
        "sprt": None if sprt is None else _tested(sprt, pairings[0], log),
    }


def _row(rating: Rating) -> dict[str, Any]:
    return {**asdict(rating), "score": rating.wins / rating.games}


def _played(
    names: Sequence[str], pairings: Sequence[tuple[str, str]], log: GameLog, anchor: str, seed: int
) -> dict[str, dict[str, Any]]:
    """Ratings by the pairs without a forfeit, by name; empty if no game was forfeited, or too few pairs are left."""
    if not any(game.ending is Ending.FORFEITED for game in log.games):
        return {}
    results = {pairing: log.counts(*pairing, forfeited=False) for pairing in pairings}
    try:
        return {rating.name: _row(rating) for rating in rate(names, results, anchor, seed=seed)}
    except ValueError:  # without the forfeited games some players cannot be compared
        return {}


def _tested(sprt: Sprt, pairing: tuple[str, str], log: GameLog) -> dict[str, Any]:
    counts = log.counts(*pairing)
    return {
        "elo0": sprt.config.elo0,
        "elo1": sprt.config.elo1,
        "alpha": sprt.config.alpha,
        "beta": sprt.config.beta,
        "log_likelihood_ratio": sprt.ratio(counts),
        "lower": sprt.lower,
        "upper": sprt.upper,
        "pairs": counts,
        "accepted": sprt.decision(counts) or None,
    }
