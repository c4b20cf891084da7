"""A block of another package is trained, continued, played and exported as hexlit's own are."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from hexlit.commands import export, match
from hexlit.commands.train import main
from hexlit.tasks.hex.checkpoint import load_network
from tests.commands.test_train import as_a_process, train
from tests.commands.test_train_ranks import HEX, TWO, assert_equal, trained
from tests.nets.brought_blocks import SEPARABLE, package


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[None]:
    """The package of the example in `docs/extending/network.md`."""
    with package(tmp_path / "site", SEPARABLE):
        yield


@pytest.mark.usefixtures("installed")
def test_it_is_trained_and_its_checkpoint_serves_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """The averaged weights keep the statistics of its batch norm."""
    run = train(tmp_path, "net.block=separable", "trainer.max_epochs=1", "trainer.ema_decay=0.5")
    assert not [record for record in caplog.records if "evaluated by" in record.getMessage()]
    found = load_network(run.folder).net
    assert found.config.block == "separable"
    norm = found.blocks[0].norm
    assert isinstance(norm, torch.nn.BatchNorm2d)
    assert norm.running_mean is not None
    assert norm.running_mean.any()
    with as_a_process(tmp_path):
        assert main(["resume=run", "trainer.max_epochs=2"]) == 0
        assert (
            match.main(
                [
                    "accelerator=cpu",
                    "players=[checkpoint=run simulations=4,random]",
                    "pairs=3",
                    "hydra.run.dir=m",
                ]
            )
            == 0
        )
    assert run.summary["epochs"] == 2
    assert json.loads((tmp_path / "m" / "match.json").read_text())["board"] == 3
    capsys.readouterr()
    with as_a_process(tmp_path):
        assert export.main(["checkpoint=run", "format=onnx", "target=net.onnx"]) == 2
    assert capsys.readouterr().err == (
        "hexlit export: format=onnx: net.block=separable is not in its graph, basic and bottleneck are; "
        "format=safetensors takes every network\n"
    )
    with as_a_process(tmp_path):
        assert export.main(["checkpoint=run", "format=page"]) == 2
    assert capsys.readouterr().err.startswith(
        "hexlit export: format=page: net.block=separable is not in the page, "
    )


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
def test_two_ranks_train_it_as_one_whose_games_two_processes_play(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its batch norm covers the examples of both, and each process finds it by its name."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path[:2]))
    settings = [*HEX, "net.block=separable"]
    one = trained(tmp_path / "one", *settings, "selfplay.workers=2", "selfplay.ahead=false")
    assert_equal(trained(tmp_path / "two", *settings, TWO), one)
