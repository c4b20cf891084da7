"""Targets of another package are learned next to policy and value, and play needs no such package."""

import json
import os
import sys
from pathlib import Path

import pytest
import torch

from hexlit.commands import match
from hexlit.commands.train import main
from hexlit.errors import UsageError
from hexlit.settings import TARGET_GROUP
from hexlit.tasks.hex.checkpoint import load_network
from hexlit.tasks.hex.module import HexModule
from tests.commands.test_train import as_a_process, train
from tests.commands.test_train_ranks import HEX, TWO, assert_equal, trained
from tests.commands.tiny import save_untrained
from tests.nets.brought_blocks import package

LINES = ("connection = connection", "reply = reply")
TARGETS = ("+targets.connection=0.2", "+targets.reply=0.1")
PLAYERS = ["players=[checkpoint=run simulations=4,random]", "pairs=3", "hydra.run.dir=m"]


def test_their_heads_learn_and_stay_in_the_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With averaged weights, too; a resumed run needs the same targets."""
    with package(tmp_path / "site", *LINES, group=TARGET_GROUP):
        run = train(tmp_path, *TARGETS, "trainer.ema_decay=0.5", "trainer.max_epochs=2")
        losses = [row["train.connection_loss"] for row in run.table("metrics.csv")]
        assert float(losses[1]) < float(losses[0])
        module = HexModule.load_from_checkpoint(run.folder / "checkpoints" / "last.ckpt")
        assert sorted(module.net.heads) == ["connection", "reply"]
        capsys.readouterr()
        with as_a_process(tmp_path):
            assert main(["resume=run", "trainer.max_epochs=3", "~targets.reply"]) == 2
        said = "was started with targets=['connection', 'reply']; keep it to resume"
        assert said in capsys.readouterr().err
    with as_a_process(tmp_path):
        assert match.main(["accelerator=cpu", *PLAYERS]) == 0
        assert main(["resume=run", "trainer.max_epochs=3"]) == 2
    assert json.loads((tmp_path / "m" / "match.json").read_text())["board"] == 3
    said = "targets=connection: no installed package brings one"
    assert said in capsys.readouterr().err
    net = load_network(run.folder).net
    assert not any("head" in name for name in net.state_dict())


def test_weights_that_no_setting_makes_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "net.ckpt"
    save_untrained(path, size=3)
    saved = torch.load(path, weights_only=True)
    saved["state_dict"]["net.ghost.weight"] = torch.zeros(2)
    torch.save(saved, path)
    with pytest.raises(UsageError, match=r"ghost\.weight") as error:
        load_network(path)
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_two_ranks_learn_them_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with package(tmp_path / "site", *LINES, group=TARGET_GROUP):
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path[:2]))
        settings = [*HEX, *TARGETS]
        one = trained(tmp_path / "one", *settings, "selfplay.workers=2", "selfplay.ahead=false")
        assert_equal(trained(tmp_path / "two", *settings, TWO), one)
