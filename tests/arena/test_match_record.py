"""SGF of a match, read back by a parser of the test's own."""

import re

import pytest

from hexlit.arena.arena_game import ArenaGame
from hexlit.arena.match_record import as_collection
from hexlit.hex.notation import parse_cell
from hexlit.hex.record import Ending
from hexlit.hex.records.errors import RecordError
from hexlit.hex.records.game import as_record
from hexlit.hex.records.sgf import read_sgf

Node = dict[str, str]


def parsed(text: str) -> list[list[Node]]:
    """The games of a collection without variations: nodes with their properties, one value each."""
    games: list[list[Node]] = []
    place = 0

    def skip_blanks() -> None:
        nonlocal place
        while place < len(text) and text[place].isspace():
            place += 1

    skip_blanks()
    while place < len(text):
        assert text[place] == "("
        place += 1
        nodes: list[Node] = []
        while text[place] != ")":
            if text[place] == ";":
                nodes.append({})
                place += 1
                continue
            name = re.compile(r"[A-Z]+").match(text, place)
            assert name
            place = name.end()
            assert text[place] == "["
            place += 1
            value = ""
            while text[place] != "]":
                place += text[place] == "\\"
                value += text[place]
                place += 1
            place += 1
            assert name[0] not in nodes[-1]
            nodes[-1][name[0]] = value
        place += 1
        games.append(nodes)
        skip_blanks()
    return games


def test_every_game_is_read_back_with_players_result_and_note() -> None:
    odd = "an [odd] na\\me; (x)"
    games = [
        ArenaGame(0, "a", odd, 2, (0, 24, 12), 1, Ending.CONNECTED),
        ArenaGame(0, odd, "a", 2, (0, 24), -1, Ending.RESIGNED),
        ArenaGame(1, "a", odd, 1, (7,), 1, Ending.FORFEITED, "answers 'c[2]', which is \\no move"),
        ArenaGame(1, odd, "a", 0, (), -1, Ending.FORFEITED, "did not start]"),
    ]
    read = parsed(as_collection(games, 5))
    assert [nodes[0]["RE"] for nodes in read] == ["B+", "W+Resign", "B+Forfeit", "W+Forfeit"]
    for nodes, game in zip(read, games, strict=True):
        root = nodes[0]
        assert (root["FF"], root["GM"], root["SZ"]) == ("4", "11", "5")
        assert (root["PB"], root["PW"]) == (game.black, game.white)
        assert [next(iter(node)) for node in nodes[1:]] == ["B", "W", "B"][: len(game.moves)]
        assert [parse_cell(next(iter(node.values())), 5) for node in nodes[1:]] == list(game.moves)
        assert nodes[-1].get("C", "") == game.note


@pytest.mark.row("E5")
def test_a_swap_is_written_and_imported_as_swap_pieces() -> None:
    games = [
        ArenaGame(0, "a", "b", 1, (1, 9, 4, 0, 7), -1, Ending.RESIGNED),
        ArenaGame(0, "b", "a", 1, (1, 9), -1, Ending.FORFEITED, "hangs"),
    ]
    text = as_collection(games, 3)
    assert "B[b1];W[swap-pieces];B[b2];W[a1]" in text
    for read, game in zip(read_sgf(text.splitlines()), games, strict=True):
        assert not isinstance(read, RecordError)
        record = as_record(read)
        assert (record.swap, tuple(record.moves.tolist()), record.opening) == (True, game.moves, 1)
        assert (record.winner, record.ending) == (game.winner, game.ending)
