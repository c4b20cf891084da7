"""Recorded games as examples: flat arrays of all games, batches drawn from them, and what is held
out.
"""

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.arrays import BoolArray, FloatArray, Int8Array, Int16Array, Int64Array
from hexlit.hex.geometry import BLACK, WHITE, Geometry, geometry
from hexlit.hex.jit import inline, kernel
from hexlit.hex.record import Ending
from hexlit.hex.rng import GOLDEN, key, mix, uniform
from hexlit.locks import alone
from hexlit.selfplay.rebuild import (
    Batch,
    Epoch,
    Histories,
    Ints,
    Part,
    drawn_part,
    further_targets,
    with_policy,
)
from hexlit.selfplay.store import checked_table, part_files, to_records
from hexlit.selfplay.targets import Target

COLUMNS = ["size", "swap", "moves", "winner", "ending", "opening", "values"]
SEARCHED_COLUMNS = ["policy_plies", "policies", "simulations"]

SEARCHED, PLAYED = "searched", "played"
"""What is learned from a game: see `ReadOptions.targets`."""

OTHER_SIZE = "games on another board"
UNFINISHED = "unfinished games"
NO_WINNER = "games without a winner"
NO_MOVE = "games without a move to learn from"
OPENING = "plies of an opening"
BEFORE_SWAP = "plies before a swap"
NO_POLICY = "plies without a searched policy"


class ReadOptions(NamedTuple):
    """Which games of a store are learned from, and what they teach."""

    size: int
    """Rows of the board; other games are left out."""
    swap: bool
    """Whether the network knows the swap rule."""
    claimed_results: bool = False
    """Whether to take the winner that the source of an unfinished game claims."""
    targets: str = SEARCHED
    """`searched`: of a game that a search played, the positions whose searched policy was kept; of
    another one all positions with the moves played. `played`: all positions with the moves played.
    """
    search_value_share: float = 0.0
    """Share of the searched value in the value target, where there is one."""
    further: Sequence[Target] = ()
    """Further targets."""


class FlatGames(NamedTuple):
    """G games with M moves in all, P positions to learn from, and Q searched policies; arrays of
    offsets have one more entry.
    """

    moves: Int16Array
    """All moves, one game after the other, `[M]`."""
    first_move: Int64Array
    """Index in `moves` of each game's first move, and M, `[G + 1]`."""
    first_row: Int64Array
    """Number of each game's first position, and P, `[G + 1]`."""
    winner: Int8Array
    """+1 Black, -1 White, `[G]`."""
    ply: Int16Array
    """Moves before each position, `[P]`."""
    value: FloatArray
    """Searched value for the player to move; NaN without one, `[P]`."""
    policy_row: Int64Array
    """Number of the position's policy in `policies`; -1 for the move played, `[P]`."""
    policies: NDArray[np.float16]
    """Searched policies over the board's actions, `[Q, A]`."""


class _Positions(NamedTuple):
    """The positions of some games to learn from, in the order of play; fields as in `FlatGames`."""

    counts: Int64Array
    """Positions of each game, `[G]`."""
    ply: Int16Array
    value: FloatArray
    policy_row: Int64Array
    policies: NDArray[np.float16]


def read_flat_games(
    parts: list[Path], options: ReadOptions
) -> tuple[FlatGames, dict[str, NDArray[np.float16]], dict[str, int]]:
    """The games in `parts` of a store for learning, their further targets `[P, ...]` by name, and
    the number of games or plies left out, by reason.

    Raises:
        UsageError: a file is damaged or holds other data, a winner is refuted by the last move, or
            nothing is left.
    """
    left_out: Counter[str] = Counter()
    games_read = []
    positions_read = []
    further: dict[str, list[NDArray[np.float16]]] = {one.name: [] for one in options.further}
    columns = None if further else COLUMNS + SEARCHED_COLUMNS * (options.targets == SEARCHED)
    for part in parts:
        table = checked_table(part, columns)
        for batch in table.combine_chunks().to_batches():
            games = _usable(batch, options, left_out, part)
            first_ply = _first_plies(games, options.size, options.swap)
            positions = _positions(games, first_ply, options)
            without_move = positions.counts == 0
            opening = games["opening"].to_numpy()[~without_move]
            left_out[OPENING] += int(opening.sum())
            left_out[BEFORE_SWAP] += int((first_ply[~without_move] - opening).sum())
            games = _without(games, without_move, NO_MOVE, left_out)
            lengths = games["moves"].value_lengths().to_numpy()
            candidates = int((lengths - first_ply[~without_move]).sum())
            left_out[NO_POLICY] += candidates - len(positions.ply)
            games_read.append(
                (games["moves"].flatten().to_numpy(), lengths, games["winner"].to_numpy())
            )
            positions_read.append(positions._replace(counts=positions.counts[~without_move]))
            if further:
                _add_further(further, games, positions_read[-1], options)
    if not any(len(winner) for *_, winner in games_read):
        counts = ", ".join(f"{count} {reason}" for reason, count in left_out.items() if count)
        advice = (
            "; data.claimed_results=true takes those with a claimed winner"
            if left_out[UNFINISHED]
            else ""
        )
        raise UsageError(
            f"data.path={parts[0].parent} board={options.size}: no position to learn from ({counts}){advice}"
        )
    moves, lengths, winner = map(np.concatenate, zip(*games_read, strict=True))
    flat = FlatGames(
        moves,
        _sums(lengths),
        _sums(np.concatenate([one.counts for one in positions_read])),
        winner,
        np.concatenate([one.ply for one in positions_read]),
        np.concatenate([one.value for one in positions_read]),
        _joined_rows(positions_read),
        np.concatenate([one.policies for one in positions_read]),
    )
    joined = {name: np.concatenate(arrays) for name, arrays in further.items()}
    return flat, joined, {reason: count for reason, count in sorted(left_out.items()) if count}


def _without(
    games: pa.RecordBatch, wrong: NDArray[np.bool_] | pa.Array, reason: str, left_out: Counter[str]
) -> pa.RecordBatch:
    """The `games` that are not `wrong`; the others are counted under the `reason`."""
    wrong = pa.array(wrong, pa.bool_())
    left_out[reason] += wrong.true_count
    return games.filter(pc.invert(wrong))


def _usable(
    games: pa.RecordBatch, options: ReadOptions, left_out: Counter[str], part: Path
) -> pa.RecordBatch:
    """The `games` on the board of `options` that have a winner and moves of their players.

    Raises:
        UsageError: a winner is refuted by the last move.
    """
    games = _without(games, pc.not_equal(games["size"], options.size), OTHER_SIZE, left_out)
    if not options.claimed_results:
        unfinished = pc.equal(games["ending"], str(Ending.UNFINISHED))
        games = _without(games, unfinished, UNFINISHED, left_out)
    games = _without(games, pc.equal(games["winner"], 0), NO_WINNER, left_out)
    # Whoever connects has made the last move.
    last = np.where(games["moves"].value_lengths().to_numpy() % 2, BLACK, WHITE)
    connected = pc.equal(games["ending"], str(Ending.CONNECTED)).to_numpy(zero_copy_only=False)
    refuted = connected & (games["winner"].to_numpy() != last)
    if refuted.any():
        raise UsageError(
            f"data.path={part.parent}: {int(refuted.sum())} games have not their winner; "
            "see hexlit games verify"
        )
    only_opening = pc.greater_equal(games["opening"], games["moves"].value_lengths())
    return _without(games, only_opening, NO_MOVE, left_out)


def _positions(games: pa.RecordBatch, first_ply: Int64Array, options: ReadOptions) -> _Positions:
    """The positions of `games` from `first_ply` `[G]` on, as `options.targets` says."""
    lengths = games["moves"].value_lengths().to_numpy().astype(np.int64)
    number = np.arange(games.num_rows)
    if options.targets == PLAYED:
        counts = np.maximum(lengths - first_ply, 0)
        ply = _steps(counts) + np.repeat(first_ply, counts)
        unknown = np.full(len(ply), np.nan, np.float32)
        rows = np.full(len(ply), -1)
        none = np.zeros((0, options.size**2 + options.swap), np.float16)
        return _Positions(counts, ply.astype(np.int16), unknown, rows, none)
    kept = games["policy_plies"].value_lengths().to_numpy().astype(np.int64)
    simulations = games["simulations"].value_lengths().to_numpy()
    by_search = (kept > 0) | (simulations > 0)
    counts = np.where(by_search, 0, np.maximum(lengths - first_ply, 0))
    played_game = np.repeat(number, counts)
    played_ply = _steps(counts) + np.repeat(first_ply, counts)
    searched_game = np.repeat(number, kept)
    searched_ply = games["policy_plies"].flatten().to_numpy()
    late = searched_ply >= first_ply[searched_game]
    policies, known = _policies(games, searched_game, _steps(kept), options)
    row = np.where(known, np.arange(len(known)), -1)
    # In the order of the games, and of play within each.
    game = np.concatenate([played_game, searched_game[late]])
    ply = np.concatenate([played_ply, searched_ply[late]])
    policy_row = np.concatenate([np.full(len(played_ply), -1), row[late]])
    order = np.lexsort((ply, game))
    game, ply, policy_row = game[order], ply[order], policy_row[order]
    value_counts = games["values"].value_lengths().to_numpy()
    values = games["values"].flatten().to_numpy()
    value = np.full(len(ply), np.nan, np.float32)
    has_value = value_counts[game] > 0
    places = _sums(value_counts)[game[has_value]] + ply[has_value]
    value[has_value] = values[places]
    return _Positions(
        np.bincount(game, minlength=games.num_rows),
        ply.astype(np.int16),
        value,
        policy_row,
        policies,
    )


def _policies(
    games: pa.RecordBatch, game: Int64Array, number: Int64Array, options: ReadOptions
) -> tuple[NDArray[np.float16], BoolArray]:
    """The searched policies `[Q, A]` over the actions of `options`, each by its `game` `[Q]` and its
    `number` `[Q]` there; and whether each has a move that these actions have.
    """
    cells = options.size**2
    stored = games["policies"].flatten().to_numpy()
    with_swap = games["swap"].to_numpy(zero_copy_only=False)
    first = _sums(games["policies"].value_lengths().to_numpy())[game]
    start = first + number * (cells + with_swap[game])
    result = np.zeros((len(game), cells + options.swap), np.float16)
    result[:, :cells] = stored[start[:, None] + np.arange(cells)]
    swaps = np.zeros(len(game), np.float16)
    swaps[with_swap[game]] = stored[start[with_swap[game]] + cells]
    if options.swap:
        result[:, cells] = swaps
        return result, np.ones(len(game), np.bool_)
    # Without the rule, the shares of the other moves are those among themselves.
    mass = result.sum(1, dtype=np.float32)
    known = mass > 0
    cut = known & (swaps > 0)
    result[cut] = result[cut] / mass[cut, None]
    return result, known


def _add_further(
    further: dict[str, list[NDArray[np.float16]]],
    games: pa.RecordBatch,
    positions: _Positions,
    options: ReadOptions,
) -> None:
    """Append to `further` the further targets of the `positions` of `games`."""
    plies = np.split(positions.ply, np.cumsum(positions.counts)[:-1])
    records = to_records(pa.Table.from_batches([games]))
    for record, chosen in zip(records, plies, strict=False):
        for target in options.further:
            further[target.name].append(target.of_game(record)[chosen])


def _joined_rows(chunks: Sequence[_Positions]) -> Int64Array:
    """The rows of policies of all `chunks`, whose policies follow one another."""
    result = []
    before = 0
    for one in chunks:
        result.append(np.where(one.policy_row >= 0, one.policy_row + before, -1))
        before += len(one.policies)
    return np.concatenate(result)


def _steps(counts: Int64Array) -> Int64Array:
    """0, 1, ... up to each of `counts`, one after the other."""
    starts = np.repeat(_sums(counts)[:-1], counts)
    steps: Int64Array = np.arange(len(starts)) - starts
    return steps


def _first_plies(games: pa.RecordBatch, size: int, swap: bool) -> Int64Array:
    """Moves before the first position to learn from with or without the swap rule, `[N]`.

    Without the rule the swap is no move, and the first stone of a swap game would be a poor target.
    A swap of sides is no move in a record either: the recorded answer to the first stone was played
    after the swap. In an imported record `swap` means that a player swapped, in one of self-play
    that the rule was on.
    """
    second_moves = pc.list_slice(games["moves"], 1, 2, return_fixed_size_list=True).flatten()
    is_swap_pieces = pc.fill_null(pc.equal(second_moves, size**2), False)
    pieces = is_swap_pieces.to_numpy(zero_copy_only=False)
    imported = games["values"].value_lengths().to_numpy() == 0
    swapped = games["swap"].to_numpy(zero_copy_only=False)
    sides = swapped & imported & ~pieces
    if swap:
        least = np.where(sides, 2, 0)
    else:
        least = np.where(pieces, 2, np.where(sides, 1, 0))
    first: Int64Array = np.maximum(least, games["opening"].to_numpy())
    return first


def _sums(counts: NDArray[Any]) -> Int64Array:
    """Sum of the counts before each, and of all, `[G + 1]`."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


LAYOUT = 5
"""Raised when the meaning of the arrays or the checks of the games change, so that older caches are
not read.
"""


FURTHER = "further"
"""Folder of the further targets, a file for each."""


class GamePositions:
    """Positions of recorded games, with a policy and the game's result as targets.

    The positions of one game have consecutive numbers (rows), in the order of play. Other processes
    that get a copy map the same files.
    """

    def __init__(self, folder: Path, size: int, swap: bool, search_value_share: float) -> None:
        """Map the arrays in `folder`, made by `open`."""
        self.folder = folder
        self.size = size
        self.swap = swap
        self.search_value_share = search_value_share
        arrays = {name: _mapped(folder / f"{name}.npy") for name in FlatGames._fields}
        self.flat = FlatGames(**arrays)
        files = sorted((folder / FURTHER).glob("*.npy"))
        self.further = {file.stem: _mapped(file) for file in files}
        self.left_out: dict[str, int] = json.loads(
            (folder / "left_out.json").read_text(encoding="utf-8")
        )

    @classmethod
    def open(cls, folder: Path, options: ReadOptions, cache: Path) -> Self:
        """The positions of the games in the store `folder` that `options` choose.

        Left out, and counted in `left_out`: games on other boards; games that did not end, unless
        `claimed_results` takes the winner that their source claims; plies of an opening. A swap is
        a target if `swap` is set: the network knows the rule; otherwise a game begins at the
        position after its swap. A swap of sides leaves no move, so it is never a target: with the
        rule such a game begins after the next move.

        The arrays are kept in `cache`; of several processes that ask at once, one makes them.

        Raises:
            UsageError: there is no store, or nothing in it to learn from.
        """
        parts = part_files(folder)
        if not parts:
            raise UsageError(
                f"data.path={folder}: no games here (part-*.parquet); hexlit games import makes them"
            )
        sources = [(target.name, target.source) for target in options.further]
        chosen = options._replace(further=(), search_value_share=0.0)
        digest = _digest(parts, [LAYOUT, *chosen, *sources])

        def build(target: Path) -> None:
            games, further, left_out = read_flat_games(parts, options)
            (target / FURTHER).mkdir()
            for name, array in games._asdict().items():
                np.save(target / f"{name}.npy", array, allow_pickle=False)
            for name, array in further.items():
                np.save(target / FURTHER / f"{name}.npy", array, allow_pickle=False)
            (target / "left_out.json").write_text(json.dumps(left_out), encoding="utf-8")

        make_folder_once(cache / digest, build)
        return cls(cache / digest, options.size, options.swap, options.search_value_share)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process maps the files."""
        return type(self), (self.folder, self.size, self.swap, self.search_value_share)

    def __len__(self) -> int:
        """Number of positions."""
        return int(self.flat.first_row[-1])

    @property
    def games(self) -> int:
        """Number of games."""
        return len(self.flat.winner)

    @property
    def actions(self) -> int:
        """Actions of a policy: the cells, and the swap if the rule is on."""
        return self.size**2 + self.swap

    def games_of(self, rows: Int64Array) -> Int64Array:
        """Number of the game of each position, `[B]`."""
        return np.searchsorted(self.flat.first_row, rows, side="right") - 1

    def batch(self, rows: Int64Array, turned: BoolArray) -> Batch:
        """The positions `rows` `[B]`, each turned by 180 degrees where `turned` `[B]` is set."""
        games = self.flat
        game = self.games_of(rows)
        ply = games.ply[rows]
        first_move = games.first_move[game]
        may_swap = (ply == 1) & self.swap
        histories = Histories(games.moves, first_move, ply, may_swap)
        source = np.zeros((len(rows), self.actions), np.float32)
        searched = games.policy_row[rows] >= 0
        source[searched] = games.policies[games.policy_row[rows[searched]]]
        move = games.moves[first_move + ply]
        played = np.flatnonzero(~searched)
        source[played, move[played]] = 1
        winner = games.winner[game]
        result = np.where(ply % 2 == 0, winner, -winner)
        share = np.where(np.isnan(games.value[rows]), 0, self.search_value_share)
        value = (1 - share) * result + share * np.nan_to_num(games.value[rows])
        planes, policy = with_policy(histories, self.size, source, turned)
        further = further_targets(self.further, rows, ply, turned, self.size)
        return Batch(planes, policy, value.astype(np.float32), further)

    def targets_in_words(self, rows: Int64Array) -> str:
        """What the positions `rows` teach, such as `1,200 searched policies`."""
        searched = int((self.flat.policy_row[rows] >= 0).sum())
        counts = {"searched policies": searched, "moves played": len(rows) - searched}
        return " and ".join(f"{count:,} {name}" for name, count in counts.items() if count)


def _mapped(file: Path) -> NDArray[Any]:
    """The array of `file`, a plain view: a memmap would cost time at every access."""
    array: NDArray[Any] = np.load(file, mmap_mode="r").view(np.ndarray)
    return array


class GameRows(NamedTuple):
    """Some positions of a store's games, such as those for training."""

    positions: GamePositions
    rows: Int64Array
    """Their numbers, `[P]`."""

    def shuffled(self, *, batch: int, seed: int, epoch: int) -> Epoch:
        """Batches of `batch` positions, in an order drawn by `seed` and `epoch`; each is turned
        with probability 1/2.

        All batches are whole: the rest at the end is dropped, unless it is all there is.
        """
        batch = min(batch, len(self.rows))
        ends = np.arange(batch, len(self.rows) + 1, batch)
        return Epoch(
            drawn_part(np.random.default_rng([seed, epoch]), self.positions, self.rows, ends)
        )

    def in_order(self, *, batch: int) -> Epoch:
        """All positions in batches of `batch` (the last may be smaller); none is turned."""
        parts = np.split(self.rows, range(batch, len(self.rows), batch))
        return Epoch(Part(self.positions, parts, [np.zeros(len(part), np.bool_) for part in parts]))


def _digest(parts: list[Path], settings: list[Any]) -> str:
    digest = hashlib.sha256(json.dumps(settings).encode())
    for part in parts:
        with part.open("rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()[:24]


SIDE, CHOICE = range(2)
"""Purposes of a draw: the side of a game, and its rank when only some games are taken."""


class Split(NamedTuple):
    """Rows of `GamePositions`, in rising order."""

    train_rows: Int64Array
    """`[P]`."""
    validation_rows: Int64Array
    """`[Q]`."""


def split_games(
    positions: GamePositions,
    *,
    share: float = 0.2,
    seed: int,
    by: str = "game",
    opening_plies: int = 2,
    most: int = 500_000,
) -> Split:
    """Draw about `share` of the games for validation, each game or each opening as a whole.

    `by="opening"` keeps games together if their first `opening_plies` moves are the same, turned or
    not. If a store has more than `most` positions, some games are drawn by `seed`, with at most
    `most` positions on both sides together.

    Raises:
        UsageError: one side would be empty.
    """
    games = positions.flat
    table = geometry(positions.size)
    starts = games.first_move[:-1]
    lengths = np.diff(games.first_move)
    together = lengths if by == "game" else np.minimum(lengths, opening_plies)
    validates = _draws(games.moves, starts, together, seed, SIDE, table) < share
    counts = np.diff(games.first_row)
    order = np.argsort(_draws(games.moves, starts, lengths, seed, CHOICE, table), kind="stable")
    chosen = np.zeros(positions.games, np.bool_)
    chosen[order[np.cumsum(counts[order]) <= most]] = True
    train_rows = np.flatnonzero(np.repeat(chosen & ~validates, counts))
    validation_rows = np.flatnonzero(np.repeat(chosen & validates, counts))
    for name, rows in (("training", train_rows), ("validation", validation_rows)):
        if not len(rows):
            settings = f"data.split={by} data.validation_share={share}"
            raise UsageError(f"{settings}: none of {int(chosen.sum())} games is left for {name}")
    return Split(train_rows, validation_rows)


@kernel
def _draws(
    moves: Int16Array, starts: Ints, lengths: Ints, seed: int, purpose: int, table: Geometry
) -> NDArray[np.float64]:
    """For each game a number in [0, 1) that depends on its first moves, `seed` and `purpose`,
    `[G]`.
    """
    drawn = np.empty(len(starts))
    for game in range(len(starts)):
        plain = np.uint64(lengths[game])
        turned = plain
        for i in range(starts[game], starts[game] + lengths[game]):
            plain = _with_move(plain, moves[i])
            turned = _with_move(turned, table.rotated[moves[i]])
        drawn[game] = uniform(key(seed, int(min(plain, turned)), 0, purpose), 0)
    return drawn


@inline
def _with_move(content: np.uint64, move: int) -> np.uint64:
    return mix((content + GOLDEN) ^ np.uint64(move))


def make_folder_once(folder: Path, build: Callable[[Path], None]) -> None:
    """Fill `folder` by `build`, unless it exists; of several processes at once, one builds and the
    others wait.

    All files of `build` reach the disk before the folder gets its name. Remains of a killed build
    go at the next one. Folders next to each other are built one after the other.
    """
    with alone(folder.parent / ".lock"):
        if folder.exists():
            return
        for torn in folder.parent.glob(".*.building"):
            shutil.rmtree(torn)
        temporary = folder.with_name(f".{folder.name}.building")
        temporary.mkdir()
        try:
            build(temporary)
            os.sync()
            temporary.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
