"""Encoders of Hugging Face from a local folder."""

from pathlib import Path

import numpy as np
import pytest
import torch

from hexlit.errors import UsageError
from hexlit.tasks.classify.checkpoint import load_classifier
from hexlit.tasks.classify.config import TextNetConfig
from hexlit.tasks.classify.evaluation import probabilities_of
from hexlit.tasks.classify.module import ClassifyModule
from hexlit.tasks.classify.pretrained import load_pretrained, with_classes
from hexlit.training.config import OptimizerConfig, TrainerConfig
from tests.tasks.classify.encoder import save_encoder
from tests.tasks.classify.texts import make_data, make_trainer, save, sentences


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_encoder(tmp_path_factory.mktemp("encoder"))


def test_an_encoder_from_a_folder_is_fine_tuned_and_comes_back_from_the_checkpoint_alone(
    folder: Path, tmp_path: Path
) -> None:
    data, _ = make_data(save(*sentences(40), tmp_path / "t.csv"))
    encoder, tokens = load_pretrained(str(folder), 32)
    data.use_tokens(tokens)
    config = TextNetConfig(pretrained=str(folder), dropout=0.0, token_dropout=0.0)
    net = with_classes(encoder, 3, config)
    assert all(part.training for part in net.modules())
    before = {name: tensor.clone() for name, tensor in net.encoder.state_dict().items()}
    learning = OptimizerConfig(lr=5e-3, warmup_steps=0, schedule="constant")
    module = ClassifyModule(net, config, tokens, data.classes, learning, TrainerConfig(), data.profile)
    trainer = make_trainer(8)
    trainer.fit(module, data)
    assert float(trainer.callback_metrics["val.accuracy"]) > 0.7
    assert any(not torch.equal(before[name], tensor) for name, tensor in net.encoder.state_dict().items())
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    expected = probabilities_of(net, data.in_order("test"), 18)
    for file in folder.iterdir():  # the checkpoint needs none of them
        file.rename(tmp_path / file.name)
    try:
        loaded = load_classifier(tmp_path / "last.ckpt")
    finally:
        for file in [path for path in tmp_path.iterdir() if path.suffix in (".json", ".safetensors")]:
            file.rename(folder / file.name)
    assert loaded.tokens == tokens
    np.testing.assert_allclose(probabilities_of(loaded.net, data.in_order("test"), 18), expected, atol=1e-6)


def test_more_tokens_than_the_model_reads_are_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"data.max_length=64: .* reads at most 40 tokens"):
        load_pretrained(str(folder), 64)


def test_an_encoder_that_is_not_there_is_one_line_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "empty").mkdir()
    for name in (str(tmp_path / "empty"), str(tmp_path / "none")):
        with pytest.raises(UsageError, match=f"net.pretrained={name}: this .* or null for a small encoder") as caught:
            load_pretrained(name, 32)
        assert "\n" not in str(caught.value)
