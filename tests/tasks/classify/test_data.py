"""The data of a run: one loader for all epochs, and what is said of the texts."""

import os
from pathlib import Path
from typing import Any

import pytest

from hexlit.errors import UsageError
from hexlit.tasks.classify.data import TextBatch
from tests.tasks.classify.signed import SignedTexts
from tests.tasks.classify.texts import make_data, make_module, make_trainer, save, sentences


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(*sentences(40), tmp_path_factory.mktemp("texts") / "t.jsonl")


@pytest.mark.row("A5")
def test_loading_processes_live_on_between_epochs(path: Path) -> None:
    """`accelerator.persistent_workers`: the same processes serve both epochs, with other batches in each."""
    data, tokens = make_data(path, accelerator={"workers": 1, "persistent_workers": True})
    padded = data._padded["train"]
    data._padded["train"] = SignedTexts(padded.encoded, padded.labels, 0)
    module = make_module(data, tokens, kind="mean")
    pids: list[set[int]] = [set(), set()]
    labels: list[list[int]] = [[], []]
    step = type(module).training_step

    def noting(batch: TextBatch, batch_idx: int) -> Any:
        pids[module.current_epoch].update(batch.row.tolist())
        labels[module.current_epoch].extend(batch.label.tolist())
        return step(module, batch, batch_idx)

    module.training_step = noting  # type: ignore[method-assign]
    trainer = make_trainer(2)
    trainer.limit_val_batches = 0
    trainer.fit(module, data)
    assert len(pids[0]) == 1
    assert pids[0] == pids[1]
    assert os.getpid() not in pids[0]
    assert sorted(labels[0]) == sorted(labels[1])
    assert labels[0] != labels[1]


def test_each_epoch_has_batches_of_its_own_which_come_again(path: Path) -> None:
    def drawn(epoch: int, seed: int = 0) -> list[list[int]]:
        loader = make_data(path, seed=seed)[0].train_dataloader()
        loader.sampler.set_epoch(epoch)
        return [batch.row.tolist() for batch in loader]

    first = drawn(0)
    assert sorted(row for batch in first for row in batch) == list(range(84))
    assert drawn(0) == first
    assert drawn(1) != first
    assert drawn(0, seed=1) != first


def test_the_summary_tells_texts_classes_and_what_was_cut(path: Path) -> None:
    summary = make_data(path, max_length=8)[0].summary()
    assert summary["texts"] == {"train": 84, "validation": 18, "test": 18}
    assert summary["classes"] == {"fruit": 40, "stars": 40, "tools": 40}
    assert 0 < summary["cut"]["train"] < 84
    assert summary["train_tokens"] <= 8 * 84


def test_other_texts_or_splits_are_refused_when_a_run_goes_on(path: Path, tmp_path: Path) -> None:
    saved = make_data(path)[0].state_dict()
    make_data(path)[0].load_state_dict(saved)
    for changed in ({"split_seed": 2}, {"subset": 0.5}):
        with pytest.raises(UsageError, match="data: the train texts differ from those at the start of the run"):
            make_data(path, **changed)[0].load_state_dict(saved)
