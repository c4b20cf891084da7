"""Blocks of openings: independent parts of a tournament, so that any process can play them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hexlit.arena.arena_game import Opening
from hexlit.arena.pairing import Contestant, Pair, play_pairs


@dataclass(frozen=True)
class Block:
    """Openings of games between two players."""

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


class Hall:
    """Plays blocks between its contestants, in this process."""

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
