"""One checkpoint everywhere: what a training of a sweep leaves is measured, plays matches, and sits at the table."""

import json
from pathlib import Path

import pytest

from hexlit.commands import match, strength
from tests.commands.test_htp import hexlit_htp
from tests.commands.test_train import as_a_process, train

CPU = ["accelerator=cpu", "accelerator.threads=1"]


@pytest.mark.row("E17")
def test_the_checkpoint_of_a_training_serves_every_command(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of a run is all that a match, `hexlit strength` and `hexlit htp` need."""
    run = train(tmp_path, "trainer.max_epochs=1").folder.resolve()
    with as_a_process(tmp_path):
        players = f"players=[checkpoint={run} simulations=4,policy={run}]"
        assert match.main([*CPU, players, "pairs=3", "hydra.run.dir=match"]) == 0
    assert json.loads((tmp_path / "match" / "match.json").read_text())["board"] == 3
    capfd.readouterr()
    measured = [f"checkpoint={run}", "simulations=[4]", "games=8", "positions=12", "json=true"]
    with monkeypatch.context() as here:  # the positions; a process of its own would compile everything again
        here.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        assert strength.main([*CPU, *measured, f"output={tmp_path / 'strength'}"]) == 0
    assert json.loads(capfd.readouterr().out)["board"] == 3
    with hexlit_htp(f"checkpoint={run}", "search.simulations=4", *CPU) as gui:
        assert gui.ask("genmove black").startswith("= ")
        gui.send("quit")
        assert gui.block() == "= \n\n"
