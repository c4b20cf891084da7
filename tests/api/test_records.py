from pathlib import Path

import pytest

import hexlit

LINES = [
    "#5,c3b3b4d2d4",
    "#5,c3d3d2b4b2",
    "#5,a1b2",
    "#5,c3b3b4d2d4",
]  # the second is the first, turned


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "some.trmph"
    path.write_text("\n".join([*LINES, "no game"]) + "\n", encoding="utf-8")
    return path


def test_games_are_a_data_frame_and_single_games_pictures(file: Path) -> None:
    games = hexlit.games(file)
    assert len(games) == 4
    assert len(games.unreadable) == 1
    assert games.frame["plies"].tolist() == [5, 5, 2, 5]
    assert games[0].moves == ["c3", "b3", "b4", "d2", "d4"]
    assert games[0].at(2).board().names == ["c3", "b3"]
    assert games[0].at(2)._repr_svg_() != games[0]._repr_svg_()
    assert [game.size for game in games] == [5] * 4
    with pytest.raises(hexlit.UsageError, match="ply=6: the game has 5 moves"):
        games[0].at(6)


def test_what_is_in_them_is_counted(file: Path) -> None:
    games = hexlit.games(file)
    assert games.statistics()["games"] == 4
    assert games.openings(1)["games"].tolist() == [3, 1]
    shown = games._repr_html_()
    assert "Boards: 5x5 4 (100.0%)" in shown
    assert "1 games cannot be read" in shown
