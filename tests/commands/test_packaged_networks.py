"""Packaged networks: by name in every command, and without a name where people play."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hexlit
from hexlit.accelerate.config import AcceleratorConfig
from hexlit.api.searches import Model, Search
from hexlit.commands import export
from hexlit.commands.htp_program import HtpConfig, judge
from hexlit.commands.player_factory import networks_by_board
from hexlit.tasks.hex.checkpoint import load_network
from tests.nets.test_evaluator import plain, random_positions
from tests.tasks.hex.stand_ins import put_networks
from tests.web.pages import client, game, opened

EAGER = AcceleratorConfig(device="cpu", inference="eager", inference_precision="fp32")


@pytest.fixture(autouse=True)
def _stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_networks(monkeypatch, tmp_path / "networks", "small", "large")


def values_of(evaluator: Any, size: int) -> Any:
    planes = random_positions(1, size)
    planes[:, 4] = 0
    policy, value = np.zeros((1, evaluator.actions), np.float32), np.zeros(1, np.float32)
    evaluator.evaluate(planes, policy, value)
    return value


def expected(name: str, size: int) -> Any:
    planes = random_positions(1, size)
    planes[:, 4] = 0
    return plain(load_network(name).net, planes, size * size)[1]


def test_each_board_is_judged_by_the_network_that_fits_it(caplog: pytest.LogCaptureFixture) -> None:
    networks = networks_by_board(None, 5, EAGER)
    for size, name in (
        (5, "hexlit:small"),
        (9, "hexlit:large"),
        (15, "hexlit:large"),
        (6, "hexlit:small"),
    ):
        with caplog.at_level(logging.WARNING, "hexlit.commands"):
            evaluator = networks.make_evaluator(size, False, 1)
        np.testing.assert_allclose(values_of(evaluator, size), expected(name, size), atol=1e-5)
        assert networks.knows_swap(size) == (name == "hexlit:large")
    said = [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith("hexlit.commands")
    ]
    assert said == ["hexlit:large plays on 15 rows; it is meant for boards of up to 13"]


def test_play_at_a_level_begins_with_that_player() -> None:
    with opened(client(packaged=True, level=3, board=8, accelerator=EAGER)) as page:
        players = [player["name"] for player in page.ask("hello")["players"]]
        assert players[0] == "level-3"
        assert {f"level-{number}" for number in range(1, 11)} < set(players)
        moved = page.ask("move", position=game(size=8), player="level-3")
    assert moved["value"] is None
    assert moved["position"]["to_move"] == "white"


def test_play_without_a_checkpoint_offers_them_and_changes_with_the_board() -> None:
    cpu = {"accelerator": EAGER}
    with opened(client(packaged=True, **cpu)) as page:
        first = page.ask("hello")["players"][0]
        assert first == {
            "name": "network",
            "title": "Network",
            "about": "a search with hexlit:small up to 7 rows, hexlit:large up to 13 rows",
            "largest_board": 13,
            "studies": True,
        }
        for size, name in ((3, "hexlit:small"), (8, "hexlit:large"), (4, "hexlit:small")):
            own = page.ask("look", position=game(size=size), player="network")["value"]
            assert own == pytest.approx(Search(name).look(hexlit.Board(size)).value, abs=1e-2)
    with opened(client(packaged=True, checkpoint="hexlit:large", board=None, **cpu)) as page:
        assert page.ask("hello")["board"] == 8
        assert page.ask("hello")["players"][0]["about"] == "a search with hexlit:large"


def test_htp_without_a_checkpoint_plays_the_network_that_fits_the_board() -> None:
    networks = judge(HtpConfig(accelerator=EAGER))
    assert (networks.board, networks.knows_swap(11)) == (11, True)
    networks = judge(HtpConfig(accelerator=EAGER, board=5))
    assert (networks.board, networks.knows_swap(5)) == (5, False)
    evaluator = networks.make_evaluator(9, False, 1)
    np.testing.assert_allclose(values_of(evaluator, 9), expected("hexlit:large", 9), atol=1e-5)


def test_python_and_export_take_the_names(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model = hexlit.load("hexlit:small")
    assert isinstance(model, Model)
    assert (model.task, model.board) == ("hex", 3)
    assert model.player(simulations=0) == "policy=hexlit:small"
    assert model.look(hexlit.Board(3)).value == Search("hexlit:small").look(hexlit.Board(3)).value
    with pytest.raises(hexlit.UsageError, match="there is hexlit:large, hexlit:small"):
        hexlit.load("hexlit:huge")
    assert export.main(["checkpoint=hexlit:small", "format=safetensors"]) == 0
    assert "small.safetensors" in capfd.readouterr().out
    assert load_network(tmp_path / "small.safetensors").size == 3
