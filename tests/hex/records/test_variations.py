"""Variations of a game in SGF: as they are written by hand, and round trips."""

import pytest
from hypothesis import strategies as st

from hexlit.hex.board import GameBoard
from hexlit.hex.notation import format_cell
from hexlit.hex.records.formats import FORMATS
from hexlit.hex.records.game import RecordedGame, as_record
from hexlit.hex.records.variations import Variation, read_variations

SIZE = 4


def lines_of(nodes: list[Variation], size: int) -> list[str]:
    """Each line as text, the main one first."""
    parents = {node.parent for node in nodes}
    found = []
    for end in (number for number in range(len(nodes)) if number not in parents):
        line, at = [], end
        while at > 0:
            line.append(format_cell(nodes[at].move, size))
            at = nodes[at].parent
        found.append(" ".join(line[::-1]))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(;GM[11]SZ[4];B[a1];W[b2])", ["a1 b2"]),
        ("(;GM[11]SZ[4];B[a1](;W[b2])(;W[c3];B[d4]))", ["a1 b2", "a1 c3 d4"]),
        (
            "(;GM[11]SZ[4](;B[a1])(;B[b1](;W[a1])(;W[swap-pieces];B[d4])))",
            ["a1", "b1 a1", "b1 swap-pieces d4"],
        ),
        (
            "(;GM[11]SZ[4]\n(;B[a1]C[a (;W\\] b];W[a2])\n(;B[a1];W[a3]))",
            ["a1 a2", "a1 a3"],
        ),  # lines that share moves
        ("junk (;GM[11]SZ[4];Black[a1](;White[b2]))", ["a1 b2"]),
        ("(;GM[11]SZ[4];W[a2](;B[b2])(;B[c1]))", ["b1 b2", "b1 a3"]),  # White begins: mirrored
        ("(;GM[11]SZ[4]AB[a1]AW[b2](;B[c3])(;B[d4]))", ["a1 b2 c3", "a1 b2 d4"]),
        ("(;GM[11]SZ[4])", [""]),
    ],
)
def test_variations_as_people_write_them(text: str, expected: list[str]) -> None:
    found = read_variations(text.splitlines(keepends=True))
    assert lines_of(found.nodes, SIZE) == expected
    assert found.unread == []
    (first,) = FORMATS["sgf"].read([text], "")
    assert isinstance(first, RecordedGame)
    assert [format_cell(int(move), SIZE) for move in as_record(first).moves] == expected[0].split()


def test_a_line_that_is_no_game_is_named_and_the_others_are_read() -> None:
    found = read_variations(["(;GM[11]SZ[4];B[a1](;W[b2])(;W[a1])(;W[z9])(;W[c3]))"])
    assert lines_of(found.nodes, SIZE) == ["a1 b2", "a1 c3"]
    assert [error.reason for error in found.unread] == ["illegal move", "illegal move"]


def test_the_game_at_a_place_is_read_alone() -> None:
    text = "(;GM[11]SZ[4];B[a1](;W[b2])(;W[b3]))\n(;GM[11]SZ[4];B[c1](;W[d2])(;W[d3]))\n"
    games = list(FORMATS["sgf"].read(text.splitlines(keepends=True), ""))
    assert isinstance(games[1], RecordedGame)
    found = read_variations(text.splitlines(keepends=True), games[1].place)
    assert lines_of(found.nodes, SIZE) == ["c1 d2", "c1 d3"]


def test_a_file_may_nest_deeply() -> None:
    deep = "(;B[a1]" * 5000
    assert len(read_variations([f"(;GM[11]SZ[4]{deep}{')' * 5000})"]).unread) == 1


@st.composite
def trees(draw: st.DrawFn) -> list[Variation]:
    """Trees of legal moves; nodes are in the order in which a reader meets them."""
    nodes = [Variation(-1, -1)]
    boards: list[tuple[int, ...]] = [()]
    for _ in range(draw(st.integers(0, 12))):
        parent = draw(st.integers(0, len(nodes) - 1))
        board = GameBoard(SIZE, swap=True, moves=boards[parent])
        known = {node.move for node in nodes if node.parent == parent}
        legal = [] if board.winner else [move for move in board.legal_moves() if move not in known]
        if legal:
            move = draw(st.sampled_from(legal))
            nodes.append(Variation(move, parent))
            boards.append((*boards[parent], move))
    return nodes
