"""The format of a file, and reading it from disk."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hexlit.errors import UsageError
from hexlit.hex.records.formats import FORMATS, RecordFormat, format_of, from_record, read_file
from hexlit.hex.records.game import RecordedGame, RecordError, as_record
from tests.hex.records.games import built, essence

GAME = from_record(as_record(built(10, 1, 100)))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("suffix", [".txt", ".dat", ".sgf", ""])
def test_what_a_format_writes_is_known_again_by_its_content(
    name: str, suffix: str, tmp_path: Path
) -> None:
    path = tmp_path / f"games{suffix}"
    path.write_text("\ufeff" + FORMATS[name].write(GAME), encoding="utf-8")
    assert format_of(path).name == name
    (game,) = read_file(path)
    assert isinstance(game, RecordedGame)
    assert essence(game) == essence(GAME)
    assert game.place.file == str(path)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("# Hexata\n#13,a1b2 b\n", "trmph"),
        ("http://trmph.com/hex/board#11,a1", "trmph"),
        ("https://hexworld.org/board/#11,a1", "hexworld"),
        ("#11c1,a1b2", "hexworld"),
        ("#11,a1:s", "hexworld"),
        ("<<<<<<< HEAD\nb a1,w a2,W\n", "wolve"),
        ("hello\n\n12:00 B>> boardsize 11\n", "htp"),
        ("a letter\n(;FF[4]GM[11];B[a1])", "sgf"),
        ("(;FF[4]EV[x (1)]SZ[13]\n;W[am];B[swap])", "littlegolem"),
    ],
)
def test_a_format_is_known_by_the_look_of_a_file(text: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "games.txt").write_text(text)
    assert format_of(tmp_path / "games.txt").name == name


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_a_suffix_of_one_format_alone_tells_it(form: RecordFormat, tmp_path: Path) -> None:
    path = tmp_path / f"empty{form.suffixes[0]}"
    path.write_text("")
    assert format_of(path) is form


@pytest.mark.parametrize(
    "text", ["", "hello", "a,b\n1,2\n", "13\n", "\x00" * 100, "#" * 70_000, "(" * 70_000]
)
def test_what_is_no_record_is_refused_by_name(text: str, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"notes\.txt: no record of games .*sgf \(\.sgf\)"):
        format_of(path)


def test_a_file_is_read_as_it_comes(tmp_path: Path) -> None:
    """The first game is there before the last line has been looked at."""

    def lines() -> Iterator[str]:
        yield FORMATS["sgf"].write(GAME)
        raise AssertionError("read too far")

    first = next(FORMATS["sgf"].read(lines(), "f"))
    assert isinstance(first, RecordedGame)


def test_bytes_that_are_no_text_are_an_error_at_their_line(tmp_path: Path) -> None:
    path = tmp_path / "games.wolve"
    path.write_bytes(b"b a1,w a2,W\n\xff\xfe\x00\nb a1,w a2,W\n")
    first, bad, last = read_file(path)
    assert isinstance(bad, RecordError)
    assert bad.place.line == 2
    assert not isinstance(first, RecordError)
    assert not isinstance(last, RecordError)
