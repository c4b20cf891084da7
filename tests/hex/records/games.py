"""Legal games of many kinds, drawn by hypothesis, and reading text as from a file."""

import io

from hypothesis import strategies as st

from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.records.errors import RecordError
from hexlit.hex.records.formats import RecordFormat
from hexlit.hex.records.game import RecordedGame
from hexlit.testing.games import ENDS, KINDS, built

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=12)


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
