"""Pairings of a tournament and their games: played, checked for repetitions, and kept."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from hexlit.arena.arena_game import ArenaGame, Opening
from hexlit.arena.blocks import Block, Hall, PlayBlocks
from hexlit.arena.config import MODES
from hexlit.arena.game_log import GameLog
from hexlit.arena.opening_set import position_key
from hexlit.arena.pairing import Contestant, Pair
from hexlit.arena.ratings import PairCounts
from hexlit.choices import check_word
from hexlit.hex.geometry import geometry


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
        self._hall = Hall(contestants, log.size, at_once=at_once, swap=swap)
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
            for pairs in map(self._hall.play, blocks) if elsewhere is None else elsewhere(parts):
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
