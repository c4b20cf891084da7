"""Legal games of many kinds, built or drawn by hypothesis, and reading text as from a file."""

import io
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from hexlit.hex.engine import empty_stones, play_sequence
from hexlit.hex.geometry import BLACK, WHITE, geometry
from hexlit.hex.record import Ending
from hexlit.hex.records.formats import RecordFormat
from hexlit.hex.records.game import (
    FORFEIT,
    RESIGN,
    SWAP_PIECES,
    SWAP_SIDES,
    RecordedGame,
    RecordedMove,
    RecordError,
    as_record,
)
from hexlit.hex.symmetry import mirror_cell

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=12)

KINDS = ("plain", "swap-pieces", "swap-sides", "setup")
ENDS = ("open", "resign", "forfeit", "resigned by result", "forfeited by result", "claimed")


def built(
    size: int,
    seed: int,
    plies: int,
    kind: str = "plain",
    end: str = "open",
    loser: int = BLACK,
    *,
    white: bool = False,
) -> RecordedGame:
    """A legal game of at most `plies` stones at random,
    cut where somebody connects; `white` lets White begin.
    """
    cells = np.random.default_rng(seed).permutation(size * size)[:plies].tolist()
    if kind == "swap-pieces" and cells:
        mirror = mirror_cell(cells[0], size)
        cells = [cells[0], size**2, *(cell for cell in cells[1:] if cell != mirror)]
    won_after = play_sequence(empty_stones(1, size), 0, np.array(cells, np.int16), geometry(size))
    cells = cells[:won_after] if won_after else cells
    stones = [
        RecordedMove(WHITE if ply % 2 else BLACK, SWAP_PIECES if cell == size**2 else cell)
        for ply, cell in enumerate(cells)
    ]
    if kind == "swap-sides" and cells:
        stones.insert(1, RecordedMove(WHITE, SWAP_SIDES))
    first = min(seed % 5, len(stones) - 1) if kind == "setup" and stones else 0
    setup = sorted(stones[:first], key=lambda move: -move.colour)
    moves = stones[first:]
    if end in ("resign", "forfeit"):
        moves.append(RecordedMove(loser, RESIGN if end == "resign" else FORFEIT))
    endings = {"resigned by result": Ending.RESIGNED, "forfeited by result": Ending.FORFEITED}
    winner = 0 if end in ("open", "resign", "forfeit") else -loser
    game = RecordedGame(
        size, tuple(moves), setup=tuple(setup), winner=winner, ending=endings.get(end)
    )
    return mirrored(game) if white else game


def essence(game: RecordedGame) -> tuple[int, bool, Sequence[int], int, Ending]:
    """The facts of a game that stay the same when it is written and read."""
    record = as_record(game)
    return record.size, record.swap, record.moves.tolist(), record.winner, record.ending


def kept(form: RecordFormat, game: RecordedGame) -> tuple[int, bool, Sequence[int], int, Ending]:
    """`essence` as it comes back from `form`,
    where trmph loses how a game ended, and nothing else is lost.
    """
    *rest, winner, ending = essence(game)
    given_up = ending in (Ending.RESIGNED, Ending.FORFEITED)
    return *rest, winner, Ending.UNFINISHED if form.name == "trmph" and given_up else ending  # type: ignore[return-value]


def mirrored(game: RecordedGame) -> RecordedGame:
    """The same game with rows and columns and the colours exchanged."""

    def turned(moves: tuple[RecordedMove, ...]) -> tuple[RecordedMove, ...]:
        return tuple(RecordedMove(-c, a if a < 0 else mirror_cell(a, game.size)) for c, a in moves)

    people = replace(game, black=game.white, white=game.black)
    return replace(people, moves=turned(game.moves), setup=turned(game.setup), winner=-game.winner)


@st.composite
def games(draw: st.DrawFn) -> RecordedGame:
    size = draw(st.one_of(st.integers(2, 6), st.just(10), st.integers(2, 26)))
    return built(
        size,
        draw(st.integers(0, 2**32)),
        draw(st.one_of(st.integers(0, 8), st.integers(0, size * size))),
        draw(st.sampled_from(KINDS)),
        draw(st.sampled_from(ENDS)),
        draw(st.sampled_from([BLACK, WHITE])),
        white=draw(st.booleans()),
    )


def read(form: RecordFormat, text: str) -> list[RecordedGame | RecordError]:
    """As from a file called `f`, line by line."""
    return list(form.read(io.StringIO(text, newline=None), "f"))


def sound_games(form: RecordFormat, text: str) -> list[RecordedGame]:
    found = read(form, text)
    games = [one for one in found if isinstance(one, RecordedGame)]
    assert games == found
    return games
