"""`hexlit train task=classify`, end to end on small texts:
a run, a search, its best, and memory that runs out.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from hexlit import settings
from hexlit.commands.predict import main as predict
from hexlit.commands.train import main
from hexlit.tasks.classify.data import TextBatch
from hexlit.tasks.classify.module import ClassifyDataModule, ClassifyModule
from tests.commands.preloaded import HEXLIT, run_apart
from tests.commands.test_train import as_a_process
from tests.reporting.documents import checked
from tests.tables import rows_of
from tests.tasks.classify.encoder import save_encoder
from tests.tasks.classify.texts import save, sentences

SMALL = [
    *("task=classify", "report=false", "logger=csv", "accelerator=cpu", "accelerator.threads=1"),
    *("accelerator.precision=32-true", "data.max_length=32", "net.kind=mean", "net.vocabulary=400"),
    *("net.width=16", "optimizer.lr=1e-2", "optimizer.warmup_steps=0", "trainer.max_epochs=3"),
]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(*sentences(60), tmp_path_factory.mktemp("texts") / "t.csv")


def train(folder: Path, texts: Path, *overrides: str) -> int:
    with as_a_process(folder):
        return main([*SMALL, f"data.path={texts}", *overrides, "hydra.run.dir=run"])


def test_missing_packages_are_refused_together_before_anything_begins(
    tmp_path: Path, texts: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "find_spec", lambda name: None)
    assert train(tmp_path, texts) == 2
    shown = capsys.readouterr()
    (line,) = shown.err.strip().splitlines()
    assert (
        line
        == f"hexlit train: task=classify: needs scikit-learn, tokenizers; {settings.install('text')}"
    )
    assert shown.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_run_says_how_it_loads_what_it_saved_and_what_the_test_set_showed(
    tmp_path: Path, texts: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, texts, "report=true") == 0
    said = capfd.readouterr().out
    block = "Device: cpu\nDataLoader Configuration for CPU:\n  Training Batch Size: 16\n  Evaluation Batch Size: 16\n"
    assert f"{block}  Number of Workers: 0\n  Pin Memory: False\n" in said
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["data"]["texts"] == {"train": 126, "validation": 27, "test": 27}
    assert 0.1 < summary["padding"]["saved"] < 0.9
    assert f"{summary['padding']['saved']:.1%} saved" in " ".join(said.split())
    test = summary["test"]
    assert test["model"]["accuracy"] > 0.9
    assert test["baseline"]["accuracy"] > 0.9
    assert (tmp_path / "run" / "confusion.svg").read_text().startswith("<?xml")
    assert "val.macro_f1" in rows_of(tmp_path / "run" / "metrics.csv")[0]
    page = checked((tmp_path / "run" / "report.html").read_text(encoding="utf-8"))
    assert "True and predicted classes" in page.values("alt")
    assert "TF-IDF + logistic regression" in page.text


def test_a_resumed_run_ends_like_one_that_was_never_stopped(tmp_path: Path, texts: Path) -> None:
    """Tokens and weights come from the checkpoint, the order of the batches from the epoch."""
    (tmp_path / "whole").mkdir()
    assert train(tmp_path / "whole", texts, "optimizer.schedule=constant") == 0
    assert train(tmp_path, texts, "optimizer.schedule=constant", "trainer.max_epochs=1") == 0
    with as_a_process(tmp_path):
        assert main(["resume=run", "trainer.max_epochs=3"]) == 0
    whole, parts = (
        rows_of(folder / "run" / "metrics.csv") for folder in (tmp_path / "whole", tmp_path)
    )
    for name in ("train.loss", "val.loss"):
        assert [row[name] for row in parts] == [row[name] for row in whole]


def test_a_pretrained_encoder_goes_on_and_predicts_without_its_folder(
    tmp_path: Path, texts: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The checkpoint has weights, settings and tokenizer."""
    encoder = save_encoder(tmp_path / "encoder")
    learning = ["optimizer.schedule=constant", "optimizer.lr=5e-3"]
    assert train(tmp_path, texts, "net.pretrained=encoder", "trainer.max_epochs=1", *learning) == 0
    first = rows_of(tmp_path / "run" / "metrics.csv")
    shutil.rmtree(encoder)
    with as_a_process(tmp_path):
        assert main(["resume=run", "trainer.max_epochs=2"]) == 0
    whole = rows_of(tmp_path / "run" / "metrics.csv")
    assert [row["epoch"] for row in whole] == ["0", "1"]
    assert whole[0]["val.loss"] == first[0]["val.loss"]
    assert float(whole[1]["val.loss"]) < float(first[0]["val.loss"])
    capfd.readouterr()
    with as_a_process(tmp_path):
        assert predict(["checkpoint=run", "text=the comet, the galaxy and the moon"]) == 0
    assert capfd.readouterr().out.startswith("stars ")
    with as_a_process(tmp_path):
        assert predict(["checkpoint=run", "text=caf\udce9"]) == 2  # bytes that are no UTF-8
    assert capfd.readouterr().err.count("\n") == 1


def test_full_memory_halves_what_goes_through_the_network_from_64_to_32(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said once, with the same texts a step."""
    output = ClassifyModule.output

    def full_above_32(module: ClassifyModule, batch: TextBatch) -> Any:
        if module.training and len(batch.tokens) > 32:
            raise MemoryError
        return output(module, batch)

    monkeypatch.setattr(ClassifyModule, "output", full_above_32)
    texts = save(*sentences(92), tmp_path / "t.csv")  # 192 to learn from: three whole batches
    assert train(tmp_path, texts, "accelerator.train_batch=64", "trainer.max_epochs=2") == 0
    steps = rows_of(tmp_path / "run" / "steps.csv")
    assert [row["micro_batch"] for row in steps] == ["32", "32"]
    assert [float(row["examples"]) for row in steps] == [192.0, 192.0]
    log = (tmp_path / "run" / "train.log").read_text()
    assert log.count("out of memory with") == 1
    assert "out of memory with 64 examples at once" in log
    assert "continuing with 32, and with the same examples a step" in log


def test_a_search_learns_from_a_part_never_tests_and_its_best_trains_on_everything(
    tmp_path: Path, texts: Path
) -> None:
    search = [*SMALL, f"data.path={texts}", "sweep=classify", "hydra.sweeper.n_trials=1"]
    environment = {**os.environ, "HEXLIT_SLOTS": str(tmp_path / "slots")}
    command = ["train", "--multirun", *search, "hydra.sweep.dir=sweep"]
    done = run_apart(HEXLIT, *command, folder=tmp_path, environment=environment)
    assert done.returncode == 0, done.stderr
    trial = tmp_path / "sweep" / "trial-000"
    summary = json.loads((trial / "summary.json").read_text())
    assert "test" not in summary
    assert summary["data"]["texts"] == {
        "train": 39,
        "validation": 27,
        "test": 27,
    }  # 13 of 42 a class
    assert not (trial / "confusion.svg").exists()
    best = OmegaConf.load(tmp_path / "sweep" / "best.yaml")
    assert "data.subset=0.3" in best.left_out
    assert not any("subset" in line for line in best.overrides)
    with as_a_process(tmp_path):
        assert main(["+best=sweep", "hydra.run.dir=final"]) == 0
    summary = json.loads((tmp_path / "final" / "summary.json").read_text())
    assert summary["data"]["texts"]["train"] == 126
    assert "test" in summary


def test_the_test_set_is_looked_at_once(
    tmp_path: Path, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    in_order = ClassifyDataModule.in_order

    def noting(data: ClassifyDataModule, split: str) -> Any:
        asked.append(split)
        return in_order(data, split)

    monkeypatch.setattr(ClassifyDataModule, "in_order", noting)
    assert train(tmp_path, texts, "trainer.max_epochs=2") == 0
    assert asked.count("test") == 1
    assert asked[-1] == "test"
