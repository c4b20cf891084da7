"""Conformance of every format: a game written and read is the same game, or is refused.

The one exception is what `RecordFormat.loses_endings` says of a format."""

import pytest
from hypothesis import given, settings

from hexlit.hex.records.formats import FORMATS, RecordFormat
from hexlit.hex.records.game import RecordedGame, as_record
from hexlit.testing import RecordFormatConformance
from hexlit.testing.formats import EXAMPLES
from tests.hex.records.games import games

SAYS = {
    "sgf": "plain swap-pieces swap-sides setup resign forfeit result claimed white",
    "littlegolem": "plain swap-pieces swap-sides resign result claimed white",
    "trmph": "plain resign forfeit result claimed",
    "hexworld": "plain swap-pieces swap-sides resign forfeit result",
    "wolve": "plain resign result claimed white",
    "htp": "plain swap-pieces resign result white",
    "six": "plain swap-pieces resign forfeit result white",
}


class TestFormats(RecordFormatConformance):
    random_games = 5  # hypothesis draws more of them below

    @pytest.fixture(autouse=True, params=FORMATS)
    def _one_of_them(self, request: pytest.FixtureRequest) -> None:
        self.form = FORMATS[request.param]
        self.says = frozenset(SAYS[request.param].split())
        self.says_no_games = request.param == "sgf"


def test_the_examples_are_of_their_kinds() -> None:
    assert set(SAYS) == set(FORMATS)
    assert as_record(EXAMPLES["plain"]).ending == "connected"
    assert as_record(EXAMPLES["swap-sides"]).swap
    assert EXAMPLES["setup"].setup


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
@settings(max_examples=60)
@given(game=games())
def test_a_game_written_and_read_is_the_same_game(form: RecordFormat, game: RecordedGame) -> None:
    suite = RecordFormatConformance()
    suite.form = form
    suite.check_round_trip(game)
