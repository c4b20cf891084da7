"""Verifying: every game replayed; whatever is wrong with one is found and told with its place."""

from dataclasses import replace
from pathlib import Path

import pytest

from hexlit.hex.record import Ending, GameRecord
from hexlit.selfplay.importing import import_games, verify_games, wrong_result
from hexlit.selfplay.store import GameStore
from tests.selfplay.games import GAME, SAMPLES, TURNED, read, record

WON = record("b1 a1 b2 a2 b3", winner=1, ending=Ending.CONNECTED)
OPEN = record("b1 a1 b2")


@pytest.mark.parametrize(
    "game",
    [
        WON,
        OPEN,
        record("", winner=-1, ending=Ending.FORFEITED),
        replace(OPEN, winner=-1, ending=Ending.RESIGNED),
        replace(OPEN, winner=1),
        record("a2 swap-pieces a2 b2", swap=True),  # the first stone is gone
    ],
)
def test_a_sound_game_has_nothing_wrong(game: GameRecord) -> None:
    assert wrong_result(game) == ""


@pytest.mark.parametrize(
    ("game", "said"),
    [
        (replace(WON, winner=-1), "White won by the record (connected), but Black has connected"),
        (replace(WON, ending=Ending.RESIGNED), "Black has connected"),
        (replace(OPEN, winner=1, ending=Ending.CONNECTED), "nobody has connected"),
        (replace(OPEN, ending=Ending.RESIGNED), "resigned, but the winner is 0"),
        (record("b1 a1 b2 a2 b3 c3", winner=1, ending=Ending.CONNECTED), "1 moves come after"),
    ],
)
def test_a_wrong_result_is_said(game: GameRecord, said: str) -> None:
    assert said in wrong_result(game)


def store_of(tmp_path: Path, *games: GameRecord) -> Path:
    for game in games:  # a part each: a store takes no id twice
        with GameStore(tmp_path / "other") as store:
            store.append([game])
        (tmp_path / "store").mkdir(exist_ok=True)
        number = len(list((tmp_path / "store").iterdir()))
        (tmp_path / "other" / "part-000000.parquet").rename(
            tmp_path / "store" / f"part-{number:06d}.parquet"
        )
    return tmp_path / "store"


def test_a_store_with_an_id_twice_is_wrong_and_a_duplicate_is_noted(tmp_path: Path) -> None:
    folder = store_of(
        tmp_path, WON, replace(OPEN, game_id=2), replace(OPEN, game_id=3), replace(OPEN, game_id=2)
    )
    verdict = verify_games(read(folder))
    assert (verdict.games, verdict.plies, verdict.fine) == (4, 14, False)
    assert verdict.wrong.counts == {"id twice": 1}
    assert verdict.noted.counts == {"unfinished": 2, "duplicate": 1}
    assert verdict.problems[0]["place"] == f"{folder / 'part-000003.parquet'}:1"


def test_only_the_first_problems_are_told_and_all_are_counted(tmp_path: Path) -> None:
    (tmp_path / "games.wolve").write_text(GAME + "nothing\n" * 5 + TURNED)
    verdict = verify_games(read(tmp_path / "games.wolve"), most=2)
    assert (sum(verdict.wrong.counts.values()), len(verdict.problems)) == (5, 2)
    assert verdict.noted.counts == {"duplicate, turned by 180°": 1}


def test_a_file_that_says_another_winner_than_its_game_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "game.sgf").write_text("(;GM[11]SZ[3]RE[B+];B[b2];W[a1];B[resign])")
    verdict = verify_games(read(tmp_path / "game.sgf"))
    assert verdict.wrong.counts == {"result": 1}
    assert "another winner than White (resigned)" in verdict.problems[0]["message"]


def test_the_samples_and_what_is_imported_of_them_are_sound(tmp_path: Path) -> None:
    assert verify_games(read(SAMPLES)).fine
    import_games(read(SAMPLES), tmp_path / "store")
    verdict = verify_games(read(tmp_path / "store"))
    assert (verdict.fine, verdict.games) == (True, 6)


def test_an_id_is_unique_in_its_store_alone(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with GameStore(tmp_path / name) as store:
            for _ in range(2):
                store.append([replace(OPEN, game_id=7 + len(store))])
                store.flush()
    assert verify_games(read(tmp_path)).fine
    (tmp_path / "one" / "part-000001.parquet").write_bytes(
        (tmp_path / "one" / "part-000000.parquet").read_bytes()
    )
    assert verify_games(read(tmp_path)).wrong.counts == {"id twice": 1}
