"""Games that people and programs have played,
where they are at hand: `HEXLIT_GAMES` names their folder.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

from hexlit.hex.record import Ending
from hexlit.hex.records.formats import read_file
from hexlit.hex.records.game import SWAP_PIECES, SWAP_SIDES, RecordedGame, RecordError, as_record

GAMES = Path(os.environ.get("HEXLIT_GAMES", Path(__file__).parents[3] / ".." / "shared" / "data"))
WOLVE = GAMES / "wolve_10x10.txt"
OLYMPIAD = GAMES / "olympiad_sgf"

wolve = pytest.mark.skipif(not WOLVE.is_file(), reason="the games of Wolve are not here")
olympiad = pytest.mark.skipif(
    not OLYMPIAD.is_dir(), reason="the games of the Olympiads are not here"
)

# In SGF the same colour puts the stone after the swap, in all of them: the people have changed.
# Nobody swapped in the others. Six's own files have swap-pieces, as which all of them end in a
# connection.
SIDES = """
    00_00.1.QH 00_00.2.HQ 03_03.2.MS 03_03.7.SM 03_03.8.MS 04_04.2.MS 04_04.6.MS 06_gm03.ws 06_gm09.ws 06_gm12.whk
    08_mohex-six-4 08_mohex-wolve-3 08_mohex-yopt-1 08_mohex-yopt-3 08_six-mohex-1 08_six-mohex-3 08_six-wolve-2
    08_six-wolve-4 08_six-yopt-1 08_six-yopt-4 08_wolve-mohex-2 08_wolve-mohex-4 08_wolve-six-1-redone 08_wolve-six-1
    08_wolve-yopt-1 08_wolve-yopt-3 08_yopt-mohex-2 08_yopt-mohex-4 08_yopt-six-2 08_yopt-six-3
"""
SWAPPED = {SWAP_SIDES: set(SIDES.split()), SWAP_PIECES: {"06_gm05.hks", "06_gm07.hks"}}


@wolve
def test_the_games_of_wolve_are_counted_as_they_are_known() -> None:
    reasons: Counter[str] = Counter()
    endings: Counter[Ending] = Counter()
    distinct: set[tuple[int, ...]] = set()
    for game in read_file(WOLVE):
        if isinstance(game, RecordError):
            reasons[game.reason] += 1
            continue
        record = as_record(game)
        endings[record.ending] += 1
        distinct.add(tuple(record.moves.tolist()))
        assert record.opening == 2
    assert reasons == {"merge-conflict marker": 3}
    assert sum(endings.values()) == 12_427
    assert endings[Ending.UNFINISHED] == 108
    assert (len(distinct), sum(map(len, distinct))) == (9_900, 383_524)


@olympiad
def test_the_games_of_the_olympiads_are_legal_each_with_its_swap() -> None:
    found: dict[int, set[str]] = {SWAP_SIDES: set(), SWAP_PIECES: set()}
    paths = sorted(path for path in OLYMPIAD.iterdir() if path.suffix in (".sgf", ".six"))
    assert len(paths) == 53
    for path in paths:
        (game,) = read_file(path)
        assert isinstance(game, RecordedGame)
        record = as_record(game)
        assert record.size == 11
        swaps = [number for number, move in enumerate(game.moves) if move.action < 0]
        assert record.swap == bool(swaps)
        if swaps:
            assert swaps == [1]
            found[game.moves[1].action].add(path.stem)
        if path.suffix == ".six":
            assert record.ending == Ending.CONNECTED
    assert found == SWAPPED
