"""First stones under the swap rule: searched values, and one answer at every door."""

import pytest

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.arena.first_stones import FirstStones
from hexlit.arena.htp.session import HtpSession, Loaded
from hexlit.arena.player_spec import parse_player
from hexlit.arena.thinker import Thinker
from hexlit.commands.htp_program import HtpConfig
from hexlit.commands.player_factory import PlayerFactory, networks_by_board
from hexlit.hex.board import GameBoard
from hexlit.hex.notation import format_cell
from hexlit.hex.openings import solved_openings
from hexlit.tasks.hex.packaged import known_first_stones
from tests.arena.htp.sessions import AtOnce, ask
from tests.web.pages import client, game, opened

EAGER = AcceleratorConfig(device="cpu", inference="eager", threads=1)
SIZE = 4


@pytest.fixture(scope="module")
def searched() -> FirstStones:
    networks = networks_by_board("hexlit:small", SIZE, EAGER)
    return FirstStones(networks.make_evaluator)


def test_the_values_that_come_along_are_those_of_the_search(searched: FirstStones) -> None:
    shipped = known_first_stones("hexlit:small")[SIZE]
    for cell in (0, 3, 6):
        assert searched.value(SIZE, cell) == pytest.approx(shipped[cell], abs=0.1)
        assert searched.value(SIZE, cell) == searched.value(SIZE, 15 - cell)


def test_bisection_finds_the_stone_that_is_nearest_to_even(searched: FirstStones) -> None:
    *_, values = searched.all_values(SIZE)
    fresh = FirstStones(searched._make_evaluator)
    found = fresh.value(SIZE, fresh.fairest(SIZE))
    assert abs(found) <= min(abs(value) for value in values.values()) + 0.15
    assert len(fresh.found(SIZE)) < SIZE**2


def test_a_search_that_is_ended_early_answers_and_keeps_nothing(searched: FirstStones) -> None:
    fresh = FirstStones(searched._make_evaluator)
    board = GameBoard(SIZE)
    assert fresh.answer(board.cells, board.to_move, lambda: True) is not None
    assert not fresh.found(SIZE)


def test_every_door_gives_one_answer_to_a_first_stone() -> None:
    """HTP, the page and a match, with levels; by the small network, which knows 4x4."""
    networks = networks_by_board("hexlit:small", SIZE, EAGER)
    factory = PlayerFactory(
        [parse_player("checkpoint=hexlit:small simulations=8")],
        HtpConfig(accelerator=EAGER),
        SIZE,
    )
    match = factory.contestant(parse_player("checkpoint=hexlit:small simulations=8")).make(1)
    shared = networks.first_stones
    thinker = Thinker(HtpConfig().search, networks.make_evaluator, shared_stones=shared)
    loaded = Loaded(thinker, SIZE, swap=False)
    session = HtpSession(lambda: loaded, HtpConfig(), 8, SIZE, True, AtOnce())
    swap = SIZE**2
    truth = solved_openings(SIZE).reshape(-1)
    with opened(client(packaged=True, board=SIZE, accelerator=EAGER)) as page:
        for cell in (0, 3, 5, 9, 12):
            name = format_cell(cell, SIZE)
            wins = bool(truth[cell])
            board = GameBoard(SIZE, swap=True, moves=[cell])
            assert (match.answer([board])[0] == swap) is wins
            for level in (0, 3, 8):
                ask(session, "clear_board")
                ask(session, f"param_game level {level}")
                ask(session, f"play b {name}")
                assert (ask(session, "genmove w") == "= swap-pieces") is wins
            for player in ("network", "level-3"):
                moved = page.ask("move", position=game(name, size=SIZE, swap=True), player=player)
                assert (moved["move"] == "swap-pieces") is wins
        opening = page.ask("move", position=game(size=SIZE, swap=True), player="network")["move"]
    assert opening == format_cell(shared.fairest(SIZE), SIZE)
    assert match.answer([GameBoard(SIZE, swap=True)])[0] == shared.fairest(SIZE)
