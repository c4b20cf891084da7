"""The columns of a store of games: type and meaning of each, and the moves as people write them."""

from collections.abc import Sequence
from functools import cache

import pyarrow as pa

from hexlit.hex.notation import format_cell
from hexlit.hex.record import GameRecord
from hexlit.parquet import described

_ABOUT = (
    "Games of Hex, one row a game of T moves. Black moves first and connects top to bottom; White connects left to "
    "right. Black moves at even plies (0 = first move), White at odd ones. Cell a1 is top left: column letter, row "
    "number; its index is row * size + column, both from 0."
)

_COLUMNS: dict[str, tuple[pa.DataType, str]] = {
    "game_id": (pa.int64(), "Number of the game, unique in its store; in self-play also the key of its random draws."),
    "size": (pa.int8(), "Rows of the board, 2 to 26; there are as many columns."),
    "swap": (pa.bool_(), "Self-play: whether the swap rule was on. Other games: whether White swapped."),
    "moves": (pa.list_(pa.int16()), "Moves in order: cell index, or size * size for swap-pieces. [T]"),
    "winner": (pa.int8(), "1 Black, -1 White, 0 unknown; only claimed by the source where ending is unfinished."),
    "ending": (pa.string(), "connected, resigned, forfeited or unfinished."),
    "opening": (pa.int16(), "Plies at the start that nobody chose, such as random ones; never learned from."),
    "values": (
        pa.list_(pa.float32()),
        "Searched value before each move for the player to move, -1 lost to 1 won; 0 where not searched. [T] or empty",
    ),
    "simulations": (pa.list_(pa.int16()), "Simulations of the search for each move. [T] or empty"),
    "policy_plies": (pa.list_(pa.int16()), "Plies whose searched policy is kept. [K]"),
    "policies": (
        pa.list_(pa.float16()),
        "Searched policies of policy_plies one after the other: K * A probabilities by cell index of the board, with "
        "swap one more for it. A = size * size + swap.",
    ),
    "surprises": (
        pa.list_(pa.float32()),
        "Kullback-Leibler divergence of each kept policy from the network's prior, in nats. [K] or empty",
    ),
    "network_version": (pa.int32(), "Epochs that the network had been trained when the game started."),
    "seed": (pa.int64(), "Seed of the run."),
    "search": (pa.string(), "Settings of the search, JSON."),
    "would_resign": (pa.int8(), "Who would have resigned first where nobody may: 1 Black, -1 White, 0 nobody."),
    "may_resign": (pa.bool_(), "Whether the players were allowed to resign."),
    "black": (pa.string(), "Name of Black; after swap-sides who began as White."),
    "white": (pa.string(), "Name of White."),
    "source": (pa.string(), "Where an imported game was read, file:line."),
}

MOVES_TEXT = "moves_text"
_MOVES_TEXT = "The same moves by name, such as `a3 c4`; swap-pieces is a name, too. For people; hexlit reads moves."

SCHEMA = described(
    pa.schema(
        [(name, kind) for name, (kind, _) in _COLUMNS.items()],
        # Version 1 had no black, white and source, version 2 no surprises, version 3 no descriptions and no moves_text.
        metadata={"hexlit": "games, version 4"},
    ),
    _ABOUT,
    {name: said for name, (_, said) in _COLUMNS.items()},
)
"""The columns that say all of a game: what is read, and what a journal has."""

PART_SCHEMA = described(
    SCHEMA.insert(SCHEMA.get_field_index("moves") + 1, pa.field(MOVES_TEXT, pa.string())),
    _ABOUT,
    {**{name: said for name, (_, said) in _COLUMNS.items()}, MOVES_TEXT: _MOVES_TEXT},
)
"""Further columns of a part file: the moves as text."""


def with_text(table: pa.Table, records: Sequence[GameRecord]) -> pa.Table:
    """`table` of the games `records`, with the columns of PART_SCHEMA."""
    texts = pa.array([moves_text(record) for record in records], pa.string())
    field = PART_SCHEMA.field(MOVES_TEXT)
    return table.add_column(table.schema.get_field_index("moves") + 1, field, texts)


def moves_text(record: GameRecord) -> str:
    """The moves of `record` by name, `?` for a number that is no move on its board."""
    names = _names(record.size)
    return " ".join([names.get(move, "?") for move in record.moves.tolist()])


@cache
def _names(size: int) -> dict[int, str]:
    """Move -> its name; looked up, because stores write millions of them."""
    return {move: format_cell(move, size) for move in range(size * size + 1)}
