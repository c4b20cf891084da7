"""Callbacks of one's own, named on the command line."""

from pathlib import Path

import pytest

from hexlit.commands.train import main
from tests.commands.tiny import TINY
from tests.tables import rows_of

MODULE = """
import lightning as L

class WeightNorm(L.Callback):
    def __init__(self, power=2.0):
        self.power = power

    def on_train_epoch_end(self, trainer, pl_module):
        norm = sum(float(p.detach().norm(self.power)) for p in pl_module.net.parameters())
        pl_module.log("mine.norm", norm)
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_callbacks.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)


def test_its_figures_are_columns_of_the_metrics_and_its_arguments_are_settings() -> None:
    mine = ["+callbacks.mine._target_=my_callbacks.WeightNorm", "+callbacks.mine.power=1.0"]
    assert main([*TINY, "trainer.max_epochs=1", *mine, "hydra.run.dir=run"]) == 0
    (row,) = rows_of(Path("run/metrics.csv"))
    assert float(row["mine.norm"]) > 0


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["+callbacks.mine.power=1"], "callbacks.mine._target_=None: "),
        (["+callbacks.mine._target_=os.getcwd"], "callbacks.mine._target_=os.getcwd: "),
        (["+callbacks.mine._target_=pathlib.Path"], "must be a subclass of lightning.Callback"),
        (["+callbacks.mine._target_=my_callbacks.Nothing"], "callbacks.mine._target_=my_callbacks.Nothing: "),
        (["+callbacks.mine._target_=my_callbacks.WeightNorm", "+callbacks.mine.x=1"], "unexpected keyword argument"),
    ],
)
def test_a_mistake_is_one_line(overrides: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TINY, "trainer.max_epochs=1", *overrides, "hydra.run.dir=run"]) == 2
    err = capsys.readouterr().err.splitlines()
    assert message in err[-1]
    assert not any("Traceback" in line for line in err)
