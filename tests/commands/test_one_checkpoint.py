"""One checkpoint everywhere: what a training of a sweep leaves is measured,
plays matches, and sits at the table.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from hexlit.commands import export, match, strength
from hexlit.tasks.hex.checkpoint import load_network
from tests.commands.test_htp import hexlit_htp
from tests.commands.test_train import as_a_process, train
from tests.nets.test_evaluator import plain, random_positions
from tests.web.pages import client, game, opened

CPU = ["accelerator=cpu", "accelerator.threads=1"]


def test_the_checkpoint_of_a_training_serves_every_command(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of a run is all that a match,
    `hexlit strength`, `htp`, `play` and `export` need.
    """
    run = train(tmp_path, "trainer.max_epochs=1").folder.resolve()
    with as_a_process(tmp_path):
        players = f"players=[checkpoint={run} simulations=4,policy={run}]"
        assert match.main([*CPU, players, "pairs=3", "hydra.run.dir=match"]) == 0
    assert json.loads((tmp_path / "match" / "match.json").read_text())["board"] == 3
    capfd.readouterr()
    measured = [f"checkpoint={run}", "simulations=[4]", "games=8", "positions=12", "json=true"]
    with (
        monkeypatch.context() as here
    ):  # the positions; a process of its own would compile everything again
        here.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        assert strength.main([*CPU, *measured, f"output={tmp_path / 'strength'}"]) == 0
    assert json.loads(capfd.readouterr().out)["board"] == 3
    with hexlit_htp(f"checkpoint={run}", "search.simulations=4", *CPU) as gui:
        assert gui.ask("genmove black").startswith("= ")
        gui.send("quit")
        assert gui.block() == "= \n\n"
    with opened(client(checkpoint=str(run), board=None)) as page:
        assert page.ask("hello")["board"] == 3
        assert (
            page.ask("move", position=game("b2"), player="network", simulations=4)["type"] == "move"
        )
    exported = tmp_path / "exported.safetensors"
    assert export.main([f"checkpoint={run}", "format=safetensors", f"target={exported}"]) == 0
    positions = random_positions(8, 3)
    for got, expected in zip(
        plain(load_network(exported).net, positions, 10),
        plain(load_network(run).net, positions, 10),
        strict=True,
    ):
        np.testing.assert_array_equal(got, expected)
