"""Every format: a game written and read is the same game, or is refused.

The one exception: trmph loses whether the loser resigned."""

import pytest
from hypothesis import given, settings

from hexlit.hex.records.formats import FORMATS, RecordFormat, from_record
from hexlit.hex.records.game import PASS, RecordedGame, RecordedMove, RecordError, as_record
from tests.hex.records.games import built, essence, games, kept, sound_games

EXAMPLES = {
    "plain": from_record(as_record(built(10, 1, 100))),
    "swap-pieces": built(10, 1, 9, "swap-pieces", "resign"),
    "swap-sides": built(10, 1, 9, "swap-sides", "resign"),
    "setup": built(10, 4, 9, "setup"),
    "resign": built(10, 1, 6, end="resign"),
    "forfeit": built(10, 1, 6, end="forfeit"),
    "result": built(10, 1, 6, end="resigned by result"),
    "claimed": built(10, 1, 6, end="claimed"),
    "white": built(10, 1, 5, end="resign", loser=-1, white=True),
}
"""A game of each kind: complete, with a swap, with stones set up, given up by a move or by the
result alone, with a claimed winner, begun by White.
"""

SAYS = {
    "sgf": "plain swap-pieces swap-sides setup resign forfeit result claimed white",
    "littlegolem": "plain swap-pieces swap-sides resign result claimed white",
    "trmph": "plain resign forfeit result claimed",
    "hexworld": "plain swap-pieces swap-sides resign forfeit result",
    "wolve": "plain resign result claimed white",
    "htp": "plain swap-pieces resign result white",
    "six": "plain swap-pieces resign forfeit result white",
}


every_format = pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)


def test_the_examples_are_of_their_kinds() -> None:
    assert set(SAYS) == set(FORMATS)
    assert as_record(EXAMPLES["plain"]).ending == "connected"
    assert as_record(EXAMPLES["swap-sides"]).swap
    assert EXAMPLES["setup"].setup


@every_format
def test_what_a_format_can_say_it_says_and_the_rest_it_refuses(form: RecordFormat) -> None:
    for kind, game in EXAMPLES.items():
        text = written(form, game)
        assert (text is not None) == (kind in SAYS[form.name].split()), kind
        if text is not None:
            assert [essence(one) for one in sound_games(form, text)] == [kept(form, game)], kind


@every_format
@settings(max_examples=60)
@given(game=games())
def test_a_game_written_and_read_is_the_same_game(form: RecordFormat, game: RecordedGame) -> None:
    """Twice, and as a stored game once."""
    text = written(form, game)
    if text is not None:
        (again,) = sound_games(form, text)
        assert essence(again) == kept(form, game)
        (third,) = sound_games(form, form.write(again))
        assert essence(third) == kept(form, game)
    record = as_record(game, 7)
    text = written(form, from_record(record))
    if text is not None:
        (stored,) = sound_games(form, text)
        assert essence(stored)[2:] == kept(form, from_record(record))[2:]


@every_format
def test_games_of_one_file_are_read_in_order_each_at_its_place(form: RecordFormat) -> None:
    """Line and column, from 1."""
    some = [from_record(as_record(built(10, seed, 100))) for seed in range(4)]
    found = sound_games(form, "".join(form.write(game) for game in some))
    assert [essence(game) for game in found] == [essence(game) for game in some]
    lines = [game.place.line for game in found]
    assert lines == sorted(set(lines))
    assert all(game.place.file == "f" and game.place.column for game in found)


@every_format
def test_line_ends_of_other_systems_and_a_byte_order_mark_change_nothing(
    form: RecordFormat,
) -> None:
    game = from_record(as_record(built(10, 3, 100)))
    text = "\ufeff" + form.write(game).replace("\n", "\r\n")
    assert [essence(one) for one in sound_games(form, text)] == [essence(game)]


@every_format
def test_what_is_no_legal_game_is_refused(form: RecordFormat) -> None:
    """Boards and cells that there are not and, but for SGF, passes."""
    passed = RecordedGame(
        10, (RecordedMove(1, 5), RecordedMove(-1, PASS), RecordedMove(1, 6)), winner=1
    )
    nowhere = [RecordedGame(10, (RecordedMove(1, cell),), winner=1) for cell in (100, -9)]
    boards = [RecordedGame(size, ()) for size in (1, 27)]
    for game in (*boards, *nowhere, *([] if form.name == "sgf" else [passed])):
        assert written(form, game) is None, game


def written(form: RecordFormat, game: RecordedGame) -> str | None:
    """The text of `game`, None where the format refuses it, for the one reason that it may have."""
    try:
        return form.write(game)
    except RecordError as error:
        if error.reason != "cannot be written":
            raise
        return None
