"""The classifier as it learns: validation is the plain formula and changes nothing; a checkpoint is the network."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hexlit.tasks.classify.checkpoint import load_classifier
from hexlit.tasks.classify.config import KINDS
from hexlit.tasks.classify.evaluation import probabilities_of
from hexlit.tasks.classify.metrics import scores_of
from tests.tasks.classify.texts import make_data, make_module, make_trainer, save, sentences


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(*sentences(60), tmp_path_factory.mktemp("texts") / "t.csv")


def validated(module: Any, data: Any, precision: str = "32-true") -> dict[str, float]:
    (found,) = make_trainer(precision=precision).validate(module, data, verbose=False)
    return {name.removeprefix("val."): float(value) for name, value in found.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_every_network_learns_to_tell_words_of_one_class_from_those_of_another(kind: str, path: Path) -> None:
    data, tokens = make_data(path)
    module = make_module(data, tokens, kind=kind)
    make_trainer(6).fit(module, data)
    assert validated(module, data)["accuracy"] > 0.9


def test_validation_logs_scores_over_all_texts(path: Path) -> None:
    """In batches and micro-batches of unequal size, as a plain formula over all texts at once."""
    data, tokens = make_data(path, accelerator={"micro_batch": 3, "evaluation_batch": 7})
    module = make_module(data, tokens, kind="mean")
    found = validated(module, data)
    probabilities = probabilities_of(module.net, data.in_order("validation"), 27)
    expected = scores_of(probabilities, data.labels["validation"])
    assert found["loss"] == pytest.approx(expected.log_loss, rel=1e-4)
    for name in ("accuracy", "macro_f1", "ece", "brier"):
        assert found[name] == pytest.approx(getattr(expected, name), abs=1e-5)


@pytest.mark.row("B6")
def test_validation_leaves_weights_and_buffers_bit_identical(path: Path) -> None:
    data, tokens = make_data(path)
    module = make_module(data, tokens, kind="transformer", dropout=0.3, token_dropout=0.3, ema_decay=0.9)
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    positions = module.net.encoder.positions.clone()
    validated(module, data)
    probabilities_of(module.net, data.in_order("test"), 27)
    assert module.net.training
    after = module.state_dict()
    assert list(before) == list(after)
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert torch.equal(positions, module.net.encoder.positions)


@pytest.mark.row("C17")
def test_bf16_ends_within_2_percent_of_fp32(path: Path) -> None:
    """Trained with either, on the same batches."""
    found = {}
    for precision in ("32-true", "bf16-mixed"):
        data, tokens = make_data(path)
        module = make_module(data, tokens, kind="transformer")
        make_trainer(6, precision).fit(module, data)
        found[precision] = validated(module, data, precision)
    for name in ("accuracy", "macro_f1"):
        assert found["bf16-mixed"][name] == pytest.approx(found["32-true"][name], abs=0.02)


@pytest.mark.parametrize("ema_decay", [0.0, 0.9])
@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_gives_the_same_answers_and_needs_nothing_else(
    kind: str, ema_decay: float, path: Path, tmp_path: Path
) -> None:
    data, tokens = make_data(path)
    module = make_module(data, tokens, kind=kind, ema_decay=ema_decay)
    trainer = make_trainer()
    trainer.fit(module, data)
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    loaded = load_classifier(tmp_path / "last.ckpt")
    assert (loaded.tokens, loaded.classes, loaded.column) == (tokens, ["fruit", "stars", "tools"], "text")
    expected = probabilities_of(module.net_in_use, data.in_order("test"), 27)  # type: ignore[arg-type]
    assert np.array_equal(probabilities_of(loaded.net, data.in_order("test"), 27), expected)
    assert "tokens" not in module.hparams  # too long for the loggers


def test_padding_is_counted_while_training(path: Path) -> None:
    data, tokens = make_data(path)
    module = make_module(data, tokens, kind="mean")
    make_trainer(2).fit(module, data)
    seen = 0
    for epoch in (0, 1):
        loader = data.train_dataloader()
        loader.sampler.set_epoch(epoch)
        seen += sum(batch.tokens.numel() for batch in loader)
    assert (module.filled, module.fixed) == (seen, 2 * 126 * 32)
