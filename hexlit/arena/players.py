"""Players: what a match asks of them, and those that judge positions by search, by the policy
alone, or not at all.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.arena.first_stones import FirstStones
from hexlit.errors import UsageError
from hexlit.hex.arrays import FloatArray, Int8Array, Int16Array, Int64Array
from hexlit.hex.board import GameBoard
from hexlit.hex.encoding import blank_planes, encode
from hexlit.hex.frame import frame_actions
from hexlit.hex.geometry import WHITE
from hexlit.locks import Guarded, by_one_thread
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator
from hexlit.search.search import TreeSearch

RESIGN = -1
"""Answer of a player that resigns."""

PLAYOUTS = 32
"""Random playouts per leaf of the player `rollouts`, unless it has a setting."""


class Forfeit(Exception):  # noqa: N818 - it ends a game, not the program
    """A player fails and loses the game; the message is the note with the reason."""


class Player:
    """A player of games.

    One that plays many games at once implements `choose` and `reply`, for arrays of positions. One
    that plays a game after another, such as a foreign program, implements `begin`, `answer` and
    `close` instead.
    """

    def begin(self, size: int, *, swap: bool = False) -> None:
        """Start a new game on an empty board of `size` rows, with or without the swap rule; may
        raise `Forfeit`.
        """

    def answer(self, boards: Sequence[GameBoard]) -> Sequence[int]:
        """The move in each of several undecided games of one length; may raise `Forfeit`.

        A move is a cell (row * size + column), `size * size` for swap-pieces, or `RESIGN`.
        """
        cells = np.stack([board.cells for board in boards])
        to_move = np.array([board.to_move for board in boards], np.int8)
        moves = self.reply(cells) if boards[0].may_swap else self.choose(cells, to_move)
        as_list: list[int] = moves.tolist()
        return as_list

    def close(self) -> None:
        """Give back what the player holds; no game follows."""

    def choose(self, cells: Int8Array, to_move: Int8Array) -> Int16Array:
        """Moves int16 `[B]` for undecided positions int8 `[B, size*size]` with `to_move` int8 `[B]`
        (+1, -1).
        """
        raise NotImplementedError

    def reply(self, cells: Int8Array) -> Int16Array:
        """White's moves int16 `[B]` when it may swap: a cell, or `size*size` to swap.

        Each of the positions int8 `[B, size*size]` has one stone, a black one.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Contestant:
    """A named player of a match."""

    name: str
    make: Callable[[int], Player]
    """Number of games at once -> the player."""
    one_game: bool = False
    """Whether it plays one game after another only."""


class Judgement(NamedTuple):
    """Moves and values of B positions."""

    action: Int16Array
    """The move to play, a cell of the board, `[B]`."""
    value: FloatArray
    """In [-1, 1] for the side to move, `[B]`."""


Judging = Callable[[Int8Array, Int8Array], Judgement]
"""See `JudgingPlayer.judge`."""


class JudgingPlayer(Player):
    """A player of many games that judges positions; it swaps if it would stand worse without."""

    def judge(self, cells: Int8Array, to_move: Int8Array) -> Judgement:
        """Judge undecided positions int8 `[B, size*size]` with `to_move` int8 `[B]` (+1, -1)."""
        raise NotImplementedError

    def choose(self, cells: Int8Array, to_move: Int8Array) -> Int16Array:
        """See `Player`: the move that it judges best."""
        return self.judge(cells, to_move).action

    def reply(self, cells: Int8Array) -> Int16Array:
        """See `Player`: by the value. Swap-pieces exchanges rows, columns and colours, so it turns
        the value's sign.
        """
        swap = np.int16(cells.shape[1])
        white = np.full(len(cells), WHITE, np.int8)
        judged = self.judge(cells, white)
        return np.where(judged.value < 0, swap, judged.action)


class NetworkPlayer(JudgingPlayer):
    """A player by an evaluator, which knows the swap rule or not."""

    first_stones: FirstStones | None = None
    """By which it opens and swaps, if the evaluator does not know the swap."""

    def __init__(self, evaluator: Evaluator, *, size: int, batch: int, swap: bool = False) -> None:
        """`evaluator` takes `batch` positions per call; `swap`: whether its policies have a swap
        action.
        """
        self._evaluator = evaluator
        self._size = size
        self._batch = batch
        self._swap = swap

    def answer(self, boards: Sequence[GameBoard]) -> Sequence[int]:
        """See `Player`: where the swap rule is on, the first stone is one that is fair."""
        opens = boards[0].swap and not boards[0].moves
        if self._swap or self.first_stones is None or not opens:
            return super().answer(boards)
        stone = self.first_stones.fairest(self._size)
        return [stone] * len(boards)

    def judge(self, cells: Int8Array, to_move: Int8Array, *, may_swap: bool = False) -> Judgement:
        """See `JudgingPlayer`; the swap is open in all positions or in none."""
        raise NotImplementedError

    def reply(self, cells: Int8Array) -> Int16Array:
        """See `Player`: with the swap as an action if the evaluator knows it, else by the value of
        the first stone.
        """
        white = np.full(len(cells), WHITE, np.int8)
        if self._swap:
            return self.judge(cells, white, may_swap=True).action
        if self.first_stones is None:
            return super().reply(cells)
        moves = self.judge(cells, white).action
        for row, board in enumerate(cells):
            answer = self.first_stones.answer(board, WHITE)
            if answer is not None:
                moves[row] = answer[0]
        return moves


class SearchPlayer(NetworkPlayer, Guarded):
    """Plays the move of a search without noise."""

    def __init__(
        self,
        config: SearchConfig,
        evaluator: Evaluator,
        *,
        size: int,
        batch: int,
        swap: bool = False,
    ) -> None:
        """As for `NetworkPlayer`."""
        if batch < config.leaves:
            raise UsageError(
                f"search.leaves={config.leaves}: the evaluator's batch has room for {batch}"
            )
        Guarded.__init__(self)
        super().__init__(evaluator, size=size, batch=batch // config.leaves, swap=swap)
        self._search = TreeSearch(config, size=size, games=self._batch, swap=swap, rows=batch)

    @by_one_thread
    def judge(self, cells: Int8Array, to_move: Int8Array, *, may_swap: bool = False) -> Judgement:
        """See `NetworkPlayer`: the searched move and its value; see `TreeSearch.shortest`."""
        # The search allows a swap at ply 1 alone.
        if may_swap:
            ply = np.ones(len(cells), np.int16)
        else:
            ply = (np.count_nonzero(cells, axis=1) + 2).astype(np.int16)
        moves = np.zeros(len(cells), np.int16)
        values = np.zeros(len(cells), np.float32)
        for start in range(0, len(cells), self._batch):
            rows = slice(start, start + self._batch)
            result = self._search.run(cells[rows], to_move[rows], self._evaluator, ply=ply[rows])
            for game in range(len(result.action)):
                row = start + game
                action, value = int(result.action[game]), float(result.value[game])
                moves[row], values[row] = self._search.shortest(cells[row], action, value, game)
        return Judgement(moves, values)


def drawn_actions(
    cells: Int8Array, policy: FloatArray, temperature: float, seed: int | None
) -> Int64Array:
    """Actions int64 `[B]` drawn from policy^(1 / `temperature`), float32 `[B, A]`; at 0 the
    likeliest.

    A draw depends on `seed` and the position, `cells` int8 `[B, size*size]`.
    """
    scores: NDArray[np.floating] = policy
    if temperature > 0:  # the largest of log p - T log e, e exponential, is a draw from p^(1/T)
        actions = policy.shape[1]
        noise = np.stack([drawing(seed, board).exponential(size=actions) for board in cells])
        with np.errstate(divide="ignore"):
            scores = np.log(policy) - temperature * np.log(noise)
    best: Int64Array = scores.argmax(1)
    return best


class PolicyPlayer(NetworkPlayer):
    """Plays by the network's policy, without any search: its likeliest move, or a drawn one."""

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        size: int,
        batch: int,
        swap: bool = False,
        temperature: float = 0.0,
        seed: int | None = 0,
    ) -> None:
        """As for `NetworkPlayer`. Moves are drawn with a probability proportional to policy^(1 /
        `temperature`).

        A draw depends on `seed` and position. The temperature 0 takes the likeliest move.
        """
        if temperature < 0:
            raise UsageError(f"temperature={temperature:g}: must be 0 or more")
        super().__init__(evaluator, size=size, batch=batch, swap=swap)
        self._temperature = temperature
        self._seed = seed

    def judge(self, cells: Int8Array, to_move: Int8Array, *, may_swap: bool = False) -> Judgement:
        """See `NetworkPlayer`: the most likely action, and the evaluator's value of the
        position.
        """
        planes = blank_planes(self._batch, self._size)
        policy = np.zeros((self._batch, self._size**2 + self._swap), np.float32)
        value = np.zeros(self._batch, np.float32)
        moves = np.zeros(len(cells), np.int16)
        values = np.zeros(len(cells), np.float32)
        for start in range(0, len(cells), self._batch):
            rows = slice(start, start + self._batch)
            colours = to_move[rows]
            count = len(colours)
            planes[:count] = encode(cells[rows], colours, np.full(count, may_swap))
            self._evaluator.evaluate(planes, policy, value)
            # The swap action, if there is one, comes last: it is left out if it is not open.
            open_moves = policy[:count, : self._size**2 + may_swap]
            best = drawn_actions(cells[rows], open_moves, self._temperature, self._seed)
            moves[rows] = frame_actions(best, colours, self._size)
            values[rows] = value[:count]
        return Judgement(moves, values)


def drawing(seed: int | None, board: Int8Array) -> np.random.Generator:
    """The random numbers for a position, the same in every game; without a seed always others."""
    if seed is None:
        return np.random.default_rng()
    position = int.from_bytes(hashlib.blake2b(board.tobytes(), digest_size=8).digest())
    return np.random.default_rng([seed, position])


@dataclass(frozen=True)
class Network:
    """A network for boards of one size."""

    evaluator: Callable[[int], Evaluator]
    """Makes, or finds, the evaluator for a number of positions per call."""
    size: int
    swap: bool
    """Whether its policies have a swap action."""
    first_stones: FirstStones | None = None
    """By which its players open and swap, if they do not know the swap."""

    def player(
        self,
        config: SearchConfig | None,
        batch: int,
        *,
        temperature: float = 0.0,
        seed: int | None = 0,
    ) -> NetworkPlayer:
        """A player that searches by `config`, or plays by the policy alone, up to `batch` games at
        once.
        """
        player: NetworkPlayer
        if config is None:
            player = PolicyPlayer(
                self.evaluator(batch),
                size=self.size,
                batch=batch,
                swap=self.swap,
                temperature=temperature,
                seed=seed,
            )
        else:
            rows = max(batch, config.leaves)
            evaluator = self.evaluator(rows)
            player = SearchPlayer(config, evaluator, size=self.size, batch=rows, swap=self.swap)
        player.first_stones = self.first_stones
        return player


class RandomPlayer(Player):
    """Plays a random legal move, drawn by seed and position, independent of the other games of a
    batch.
    """

    def __init__(self, seed: int | None = 0) -> None:
        """Draws from `seed`, see `drawing`."""
        self._seed = seed

    def choose(self, cells: Int8Array, to_move: Int8Array) -> Int16Array:
        """See `Player`."""
        moves = [self._draw(board, np.flatnonzero(board == 0)) for board in cells]
        return np.array(moves, np.int16)

    def reply(self, cells: Int8Array) -> Int16Array:
        """See `Player`: it has no values, so the swap is a move like the others."""
        swap = cells.shape[1]
        moves = []
        for board in cells:
            actions = np.append(np.flatnonzero(board == 0), swap)
            moves.append(self._draw(board, actions))
        return np.array(moves, np.int16)

    def _draw(self, board: Int8Array, actions: NDArray[np.intp]) -> int:
        return int(drawing(self._seed, board).choice(actions))
