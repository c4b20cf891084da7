"""The games of a store as flat arrays: which are learned from, and what their positions teach."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.arrays import BoolArray, FloatArray, Int8Array, Int16Array, Int64Array
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.record import Ending
from hexlit.selfplay.store import checked_table, to_records
from hexlit.selfplay.targets import Target

COLUMNS = [
    *("size", "swap", "moves", "winner", "ending", "opening"),
    *("values", "simulations", "policy_plies", "policies"),
]

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
    policies = 0
    for part in parts:
        table = checked_table(part, None if further else COLUMNS)
        for batch in table.combine_chunks().to_batches():
            games = _usable(batch, options, left_out, part)
            first_ply = _first_plies(games, options.size, options.swap)
            positions = _positions(games, first_ply, options, policies)
            policies += len(positions.policies)
            without_move = positions.counts == 0
            opening = games["opening"].to_numpy()[~without_move]
            left_out[OPENING] += int(opening.sum())
            left_out[BEFORE_SWAP] += int((first_ply[~without_move] - opening).sum())
            games = _without(games, without_move, NO_MOVE, left_out)
            lengths = _lengths(games["moves"])
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
        np.concatenate([one.policy_row for one in positions_read]),
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


def _positions(
    games: pa.RecordBatch, first_ply: Int64Array, options: ReadOptions, policies_before: int
) -> _Positions:
    """The positions of `games` from `first_ply` `[G]` on, as `options.targets` says; the rows of
    their policies begin with `policies_before`.
    """
    searches = options.targets == SEARCHED
    number = np.arange(games.num_rows)
    lengths = _lengths(games["moves"])
    kept = _lengths(games["policy_plies"]) * searches
    by_search = (kept > 0) | (_lengths(games["simulations"]) * searches > 0)
    counts = np.where(by_search, 0, np.maximum(lengths - first_ply, 0))
    played_game = np.repeat(number, counts)
    played_ply = _steps(counts) + np.repeat(first_ply, counts)
    searched_game = np.repeat(number, kept)
    searched_ply = games["policy_plies"].flatten().to_numpy()[: len(searched_game)]
    policies, known = _policies(games, searched_game, _steps(kept), options)
    row = np.where(known, np.arange(len(known)) + policies_before, -1)
    late = searched_ply >= first_ply[searched_game]
    # In the order of the games, and of play within each.
    game = np.concatenate([played_game, searched_game[late]])
    ply = np.concatenate([played_ply, searched_ply[late]])
    policy_row = np.concatenate([np.full(len(played_ply), -1), row[late]])
    order = np.lexsort((ply, game))
    game, ply, policy_row = game[order], ply[order], policy_row[order]
    value_counts = _lengths(games["values"])
    value = np.full(len(ply), np.nan, np.float32)
    has_value = value_counts[game] * searches > 0
    places = _sums(value_counts)[game[has_value]] + ply[has_value]
    value[has_value] = games["values"].flatten().to_numpy()[places]
    counts = np.bincount(game, minlength=games.num_rows)
    return _Positions(counts, ply.astype(np.int16), value, policy_row, policies)


def _policies(
    games: pa.RecordBatch, game: Int64Array, number: Int64Array, options: ReadOptions
) -> tuple[NDArray[np.float16], BoolArray]:
    """The searched policies `[Q, A]` over the actions of `options`, each by its `game` `[Q]` and its
    `number` `[Q]` there; and whether each has a move that these actions have.
    """
    cells = options.size**2
    stored = games["policies"].flatten().to_numpy()
    with_swap = games["swap"].to_numpy(zero_copy_only=False)
    first = _sums(_lengths(games["policies"]))[game]
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


def _sums(counts: Int64Array) -> Int64Array:
    """Sum of the counts before each, and of all, `[G + 1]`."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _lengths(lists: pa.ListArray) -> Int64Array:
    """Entries in each of the lists, `[N]`."""
    lengths: Int64Array = lists.value_lengths().to_numpy().astype(np.int64)
    return lengths
