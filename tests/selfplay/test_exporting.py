"""Exporting: what is written reads back as the same game, and what a format cannot say is named."""

from pathlib import Path

import numpy as np
import pytest

from hexlit.errors import UsageError
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.formats import FORMATS
from hexlit.selfplay.exporting import Overview, Selection, export_games, format_for
from hexlit.selfplay.importing import import_games
from hexlit.selfplay.store import GameStore
from tests.selfplay.games import GAME, SAMPLES, UNFINISHED, read, record


def played(path: Path) -> list[tuple[int, list[int], int, str]]:
    return [
        (game.size, game.moves.tolist(), game.winner, str(game.ending))
        for game in read(path)
        if isinstance(game, GameRecord)
    ]


@pytest.mark.parametrize("name", ["sgf", "littlegolem", "hexworld", "htp"])
def test_games_come_back_from_every_format_as_they_were(name: str, tmp_path: Path) -> None:
    samples = SAMPLES / "games_5x5.sgf"
    form = FORMATS[name]
    target = tmp_path / f"games{form.suffixes[0]}"
    result = export_games(read(samples), target, form)
    assert result.written == 6
    assert result.bytes == target.stat().st_size
    assert played(target) == played(samples)


def test_what_the_format_cannot_say_is_counted_and_named(tmp_path: Path) -> None:
    result = export_games(
        read(SAMPLES / "games_5x5.sgf"), tmp_path / "games.trmph", FORMATS["trmph"]
    )
    assert result.written + sum(result.not_written.counts.values()) == 6
    assert sum(result.not_written.counts.values()) == 2  # two swaps
    assert {"name of Black", "name of White", "which moves nobody chose"} <= set(result.lost.counts)
    assert result.lost.counts["how it ended"] == 1  # a resignation
    given_up = [
        (game[1], game[2]) for game in played(SAMPLES / "games_5x5.sgf") if game[3] == "resigned"
    ]
    claimed = [
        (game[1], game[2])
        for game in played(tmp_path / "games.trmph")
        if game[3] == "unfinished" and game[2]
    ]
    assert claimed == given_up


def test_searches_are_lost_and_it_is_said(tmp_path: Path) -> None:
    store = GameStore(tmp_path / "store")
    store.append([record("b2 a1", values=np.zeros(2, np.float32), swap=True)])
    store.close()
    result = export_games(read(tmp_path / "store"), tmp_path / "games.sgf", FORMATS["sgf"])
    assert result.lost.counts == {"swap": 1, "searched values and policies": 1}


@pytest.mark.parametrize(
    ("name", "lost"), [("sgf", {}), ("trmph", {"swap": 1, "name of Black": 1, "name of White": 1})]
)
def test_a_swap_of_sides_is_written_where_the_format_knows_it(
    name: str, lost: dict[str, int], tmp_path: Path
) -> None:
    (tmp_path / "game.sgf").write_text(
        "(;GM[11]SZ[3]PB[Ann]PW[Bob]RE[W+];B[b2];W[swap-sides];W[a1];B[a2])"
    )
    import_games(read(tmp_path / "game.sgf"), tmp_path / "store")
    result = export_games(read(tmp_path / "store"), tmp_path / "out", FORMATS[name])
    assert (result.written, result.lost.counts) == (1, lost)
    assert ("swap-sides" in (tmp_path / "out").read_text()) == (name == "sgf")


@pytest.mark.parametrize(
    ("selection", "written"),
    [
        (Selection(games=2), 2),
        (Selection(ending=Ending.UNFINISHED), 1),
        (Selection(ending=Ending.RESIGNED), 1),
        (Selection(winner=1), 2),
        (Selection(winner=-1, games=2), 2),
        (Selection(size=5), 6),
    ],
)
def test_some_games_can_be_chosen(selection: Selection, written: int, tmp_path: Path) -> None:
    reader = read(SAMPLES / "games_5x5.sgf")
    result = export_games(reader, tmp_path / "games.sgf", FORMATS["sgf"], selection=selection)
    assert result.written == written


def test_games_are_chosen_by_people_event_date_and_opening(tmp_path: Path) -> None:
    texts = [
        "(;GM[11]SZ[3]PB[Ann]PW[Bob]EV[Spring Cup]DT[2026-03-01];B[a1];W[b2])",
        "(;GM[11]SZ[3]PB[Ann]PW[Ann]EV[Autumn Cup]DT[2026-10-01];B[c3];W[b2])",
    ]
    (tmp_path / "games.sgf").write_text("\n".join(texts))
    for selection, count in (
        (Selection(player="Ann"), 2),
        (Selection(player="Bob"), 1),
        (Selection(event="cup"), 2),
        (Selection(event="spring"), 1),
        (Selection(date="2026-10"), 1),
        (Selection(opening="a1 b2"), 2),
        (Selection(opening="b2"), 0),
    ):
        assert len(list(selection.of(read(tmp_path / "games.sgf")))) == count


@pytest.mark.parametrize(
    ("text", "selection", "said"),
    [
        (GAME, Selection(size=5), "no game fits"),
        (UNFINISHED, Selection(), "no game fits or can be written as hexworld: "),
        ("nothing\n", Selection(), "no game fits or can be written as hexworld: "),
    ],
)
def test_without_a_game_the_target_stays_as_it_was(
    text: str, selection: Selection, said: str, tmp_path: Path
) -> None:
    (tmp_path / "games.wolve").write_text(text)
    (tmp_path / "target").write_text("old")
    with pytest.raises(UsageError, match=said):
        export_games(
            read(tmp_path / "games.wolve"),
            tmp_path / "target",
            FORMATS["hexworld"],
            selection=selection,
        )
    assert (tmp_path / "target").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["games.wolve", "target"]


def test_a_format_is_found_by_name_or_by_suffix_and_doubt_is_an_error() -> None:
    assert format_for(Path("x.SGF")).name == "sgf"
    assert format_for(Path("x.txt"), "wolve").name == "wolve"
    for path, name, said in (
        ("x.abc", None, "add format=NAME, sgf or"),
        ("x.txt", None, "add format=NAME, trmph or hexworld or"),
        ("x.sgf", "pdf", "choose one"),
    ):
        with pytest.raises(UsageError, match=said):
            format_for(Path(path), name)


def test_a_format_in_which_all_openings_are_set_does_not_hide_that_this_one_was_chosen(
    tmp_path: Path,
) -> None:
    (tmp_path / "games.trmph").write_text("#10,a1b2c3 b\n")
    result = export_games(
        read(tmp_path / "games.trmph"), tmp_path / "games.wolve", FORMATS["wolve"]
    )
    assert result.lost.counts == {"which moves nobody chose": 1}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("(;GM[11]SZ[3]RE[B+];B[b2];W[a1];B[resign])", "RE[W+Resign]"),  # the file is wrong
        ("(;GM[11]SZ[3]RE[W+];W[b2];B[a1];W[resign])", "RE[B+Resign]"),
        ("(;GM[11]SZ[3];B[b1];W[a1];B[b2];W[a2];B[b3])", "RE[B+]"),  # or does not say
        ("(;GM[11]SZ[3]RE[B+Resign];W[b2];B[a1])", "RE[B+Resign]"),
    ],
)
def test_the_result_that_is_written_is_that_of_the_game(
    text: str, result: str, tmp_path: Path
) -> None:
    (tmp_path / "game.sgf").write_text(text)
    export_games(read(tmp_path / "game.sgf"), tmp_path / "out.sgf", FORMATS["sgf"])
    assert result in (tmp_path / "out.sgf").read_text()


VALUES = np.zeros(2, np.float32)


def overview(*games: object, plies: int = 2) -> Overview:
    counted = Overview(plies)
    for game in games:
        counted.add(game)  # type: ignore[arg-type]
    return counted


def test_what_is_counted() -> None:
    counted = overview(
        record("b2 a1 b1", winner=1, ending=Ending.RESIGNED, black="Ann", white="Bob"),
        record(
            "b2 swap-pieces",
            swap=True,
            winner=-1,
            ending=Ending.FORFEITED,
            black="Bob",
            white="Ann",
        ),
        record("b2 a1", 4, swap=True, black="Ann"),
        record(
            "a1 a2", 4, swap=True, values=VALUES
        ),  # of self-play: the rule was on, nobody swapped
    ).as_json()
    assert (counted["games"], counted["plies"]) == (4, 9)
    assert counted["sizes"] == {"3": 2, "4": 2}
    assert counted["lengths"] == {"2": 3, "3": 1}
    assert counted["winners"] == {"black": 1, "white": 1, "unknown": 2}
    assert counted["endings"] == {"connected": 0, "resigned": 1, "forfeited": 1, "unfinished": 2}
    assert counted["swaps"] == {"none": 2, "swap-pieces": 1, "swap-sides": 1}
    assert counted["different_players"] == 2
    assert counted["players"] == [
        {"name": "Ann", "games": 3, "won": 2},
        {"name": "Bob", "games": 2, "won": 0},
    ]


def test_a_game_against_oneself_is_one_game() -> None:
    counted = overview(
        record("b2 a1 b1", winner=1, ending=Ending.RESIGNED, black="Ann", white="Ann"),
        record("b2 a1", winner=-1, ending=Ending.RESIGNED, black="Ann", white="Ann"),
        record("b2 a1", black="Ann", white="Ann"),
    ).as_json()
    assert counted["players"] == [{"name": "Ann", "games": 3, "won": 2}]


def test_an_opening_and_the_same_turned_are_one() -> None:
    counted = overview(
        record("a1 b3", winner=1),
        record("c3 b1", winner=-1),
        record("a1 c1"),
        record("a1 b3", 4),
        record("b2"),
        plies=2,
    ).as_json()
    assert counted["different_openings"] == 3
    assert counted["openings"][0] == {"board": 3, "moves": "a1 b3", "games": 2, "black_won": 1}
