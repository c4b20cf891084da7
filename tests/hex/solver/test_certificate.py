"""Certificates of solved positions, followed by a checker that knows nothing of the solver."""

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from hexlit.commands import solve
from hexlit.hex.notation import format_cell
from hexlit.hex.openings import solved_openings
from hexlit.hex.solver import ExactSolver, Ingredients
from hexlit.hex.solver.certificate import Certificate
from tests.hex.solver.checker import Checker, WrongError, check
from tests.hex.solver.test_solver import brute_wins, random_board

PLAYERS = {"black": 1, "white": -1}


def certified(solver: ExactSolver, board: npt.NDArray[np.int8], to_move: int, path: Path) -> str:
    """The winner that an accepted certificate names, which is about the position asked for."""
    certificate = Certificate(solver, board, to_move)
    certificate.prove()
    claims = certificate.write(path)
    said = check(path)
    assert len(path.read_text().splitlines()) == claims + 1
    assert PLAYERS[said["to_move"]] == to_move
    for name, player in PLAYERS.items():
        assert set(said[name]) == {
            format_cell(int(cell), solver.size) for cell in np.flatnonzero(board == player)
        }
    return str(said["winner"])


@pytest.mark.parametrize(
    "size", [3, 4, 5, *(pytest.param(size, marks=pytest.mark.slow) for size in (6, 7))]
)
def test_every_opening_has_a_certificate(size: int, tmp_path: Path) -> None:
    solver = ExactSolver(size, use=Ingredients(stones=False))
    for cell, wins in enumerate(solved_openings(size).ravel()):
        board = np.zeros(size * size, np.int8)
        board[cell] = 1
        assert certified(solver, board, -1, tmp_path / "claims") == ("black" if wins else "white")


@pytest.mark.parametrize(
    ("size", "stones", "boards"), [(4, 4, 20), (5, 5, 20), (6, 9, 15), (7, 16, 10), (8, 26, 8)]
)
def test_positions_with_either_side_to_move_have_certificates(
    size: int, stones: int, boards: int, tmp_path: Path
) -> None:
    """Also with a table that loses most of what was found,
    and where carriers of other positions decide.
    """
    rng = np.random.default_rng(size)
    for small in (False, True):
        solver = ExactSolver(size, rows=64 if small else None, use=Ingredients(stones=small))
        for _ in range(boards):
            board, player = random_board(rng, size, stones), int(rng.choice([-1, 1]))
            expected = (
                "black" if ExactSolver(size).wins(board, player) == (player == 1) else "white"
            )
            assert certified(solver, board, player, tmp_path / "claims") == expected


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Lines of the certificate of e2 on 5×5, where cells are captured and killed."""
    board = np.zeros(25, np.int8)
    board[9] = 1
    path = tmp_path_factory.mktemp("certificate") / "claims"
    certified(ExactSolver(5, use=Ingredients(stones=False)), board, -1, path)
    found = path.read_text().splitlines()
    assert {line.split()[0] for line in found[1:]} == {"and", "or", "captured"}
    assert any("/" in line for line in found)
    return found


def test_claims_that_the_checker_takes_hold_by_brute_force(lines: list[str]) -> None:
    """Those that connect the edges:
    with all cells beside their stones and carriers the loser's, the winner wins.
    """
    checker, compared = Checker(5, "black"), 0
    for line in lines[1:]:
        checker.add(line)
        one, other, needed, carrier = checker.claims[-1]
        if one == {"top"} and other == {"bottom"} and len(carrier) < 12:
            board = tuple(
                1 if name in needed else 0 if name in carrier else -1 for name in checker.cells
            )
            assert not brute_wins(board, 5, -1), line
            compared += 1
    assert compared > 20


def test_changed_certificates_are_refused(lines: list[str], tmp_path: Path) -> None:
    """Of those with one word changed or one line gone,
    the few that are taken prove what they say in another way.
    """
    head, changed = json.loads(lines[0]), tmp_path / "changed"

    def taken(new: list[str]) -> bool:
        changed.write_text("\n".join(new) + "\n")
        try:
            check(changed)
        except WrongError:
            return False
        return True

    assert taken(lines)
    for name, wrong in (
        ("winner", "white"),
        ("black", []),
        ("black", ["x9"]),
        ("first", "a1"),
        ("white", ["c3"]),
    ):
        assert not taken([json.dumps({**head, name: wrong}), *lines[1:]]), (name, wrong)
    values: tuple[object, ...] = (
        None,
        3,
        -1,
        1e9,
        float("nan"),
        "x",
        [],
        [3],
        [["c3"]],
        {},
        {"c3": 1},
    )
    for name in head:
        for other in values:
            if other != head[name]:
                assert not taken([json.dumps({**head, name: other}), *lines[1:]]), (name, other)
        if name != "first":
            assert not taken(
                [json.dumps({key: one for key, one in head.items() if key != name}), *lines[1:]]
            ), name
    for forged in ("", "{", "[]", "3", "null", '"board"', "[" * 100_000):
        assert not taken([forged, *lines[1:]]), forged[:9]
    assert not taken(lines[:1])
    assert not taken(lines[:-1])
    rng, survivors = np.random.default_rng(0), 0
    for number in range(400):
        line, other = (lines[int(rng.integers(1, len(lines)))].split() for _ in range(2))
        place = lines.index(" ".join(line))
        word = int(rng.integers(0, len(line)))
        line[word : word + 1] = other[word : word + 1] if number % 2 else []
        new = [*lines[:place], " ".join(line), *lines[place + 1 :]]
        survivors += new != lines and taken(new)
    assert survivors < 20


def test_the_command_writes_a_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new" / "a4.claims"
    assert solve.main(["board=5", "moves=a4", f"certificate={path}", "json=true"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["winner"] == check(path)["winner"] == "black"
    assert told["claims"] == len(path.read_text().splitlines()) - 1
    assert solve.main(["board=5", "openings=true", f"certificate={path}"]) == 2
