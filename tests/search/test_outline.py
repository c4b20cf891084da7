import numpy as np
import pytest

from hexlit.hex.board import Board
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import RolloutEvaluator
from hexlit.search.search import Search, TreeNode, outline


def searched(moves: str) -> tuple[Search, np.ndarray[tuple[int, ...], np.dtype[np.int32]]]:
    board = Board(4, moves=moves)
    search = Search(SearchConfig(simulations=80), size=4, games=1)
    result = search.run(board.cells[None], np.array([board.to_move], np.int8), RolloutEvaluator())
    return search, result.visits[0]


def nodes(node: TreeNode) -> list[TreeNode]:
    return [node, *(below for child in node.children for below in nodes(child))]


@pytest.mark.row("F10")
@pytest.mark.parametrize("moves", ["", "b3", "b3 c1"])
def test_the_outline_has_the_visits_of_the_board_whoever_moves(moves: str) -> None:
    search, visits = searched(moves)
    root = outline(search)
    assert {child.action: child.visits for child in root.children} == {
        action: count for action, count in enumerate(visits.tolist()) if count
    }
    assert len(nodes(root)) == int(search.tree.game["nodes"][0])
    taken = set(Board(4, moves=moves).moves)
    for child in root.children:
        for below in child.children:
            assert below.action not in {*taken, child.action}


def test_values_are_those_of_the_player_who_moves() -> None:
    root = outline(searched("b3")[0])
    best = max(root.children, key=lambda child: child.visits)
    answers = [(child.value, child.visits) for child in best.children]
    backed = sum(value * count for value, count in answers)
    assert -1 <= best.value <= 1
    assert best.value * best.visits == pytest.approx(-backed, abs=1.01)  # but for its own evaluation


@pytest.mark.parametrize("most", [1, 2, 10])
def test_the_most_visited_nodes_make_a_tree(most: int) -> None:
    search, _ = searched("")
    kept = nodes(outline(search, most=most))
    assert len(kept) == most
    every = sorted((node.visits for node in nodes(outline(search))), reverse=True)
    assert sorted((node.visits for node in kept), reverse=True) == every[:most]
