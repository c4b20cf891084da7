"""Networks of texts, pretrained ones, and learning:
validation is the plain formula; a checkpoint is the network.
"""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from hexlit.errors import UsageError
from hexlit.tasks.classify.config import KINDS, ClassifyTrainConfig, TextNetConfig
from hexlit.tasks.classify.data import TextTokens
from hexlit.tasks.classify.evaluation import load_classifier, probabilities_of
from hexlit.tasks.classify.module import ClassifyModule, TextNet, load_pretrained, net_of, scores_of
from hexlit.tasks.supervised import forward_flops
from hexlit.training.config import OptimizerConfig
from tests.tasks.classify.encoder import save_encoder
from tests.tasks.classify.texts import make_data, make_module, make_trainer, save, sentences
from tests.training.trainers import validated


def make_net(kind: str, **settings: Any) -> TextNet:
    torch.manual_seed(0)
    config = TextNetConfig(kind=kind, width=16, layers=2, **settings)
    return net_of(config, TextTokens("", 0, 50, 12), 3, None).eval()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("grad", [True, False])
def test_padding_changes_no_answer(kind: str, grad: bool) -> None:
    net = make_net(kind)
    tokens = torch.randint(1, 50, (4, 7))
    mask = torch.ones_like(tokens, dtype=torch.bool)
    more = torch.nn.functional.pad(tokens, (0, 5))
    with torch.set_grad_enabled(grad):
        alone = net(tokens, mask)
        beside = net(more, torch.nn.functional.pad(mask, (0, 5)))
    assert alone.dtype == torch.float32
    torch.testing.assert_close(alone, beside, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(alone[0], alone[1], atol=1e-3)


def test_hidden_tokens_change_in_training_only_and_one_is_always_left() -> None:
    net = make_net("mean", dropout=0.0, token_dropout=0.9)
    tokens = torch.randint(1, 50, (64, 3))
    mask = torch.ones_like(tokens, dtype=torch.bool)
    assert torch.equal(net(tokens, mask), net(tokens, mask))
    net.train()
    logits = net(tokens, mask)
    assert logits.isfinite().all()
    assert not torch.equal(logits, net(tokens, mask))


def test_operations_of_a_forward_pass_are_the_plain_count() -> None:
    head = 2 * 16 * 3
    tokens = torch.zeros(1, 10, dtype=torch.long)
    mask = torch.ones_like(tokens, dtype=torch.bool)
    assert forward_flops(make_net("mean"), tokens, mask) == head
    projections, dense, attention = 2 * 10 * 4 * 16 * 16, 2 * 10 * 2 * 32 * 16, 2 * 2 * 10 * 10 * 16
    assert forward_flops(make_net("transformer"), tokens, mask) == head + 2 * (
        projections + dense + attention
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(*sentences(60), tmp_path_factory.mktemp("texts") / "t.csv")


@pytest.mark.parametrize("kind", KINDS)
def test_every_network_learns_to_tell_words_of_one_class_from_those_of_another(
    kind: str, path: Path
) -> None:
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
    assert found["loss"] == pytest.approx(expected["log_loss"], rel=1e-4)
    for name in ("accuracy", "macro_f1", "ece", "brier"):
        assert found[name] == pytest.approx(expected[name], abs=1e-5)


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
    again = ClassifyModule.load_from_checkpoint(tmp_path / "last.ckpt")
    assert again.tokens == loaded.tokens
    assert (loaded.tokens, loaded.classes, loaded.column) == (
        tokens,
        ["fruit", "stars", "tools"],
        "text",
    )
    expected = probabilities_of(module.net_in_use, data.in_order("test"), 27)  # type: ignore[arg-type]
    assert np.array_equal(probabilities_of(loaded.net, data.in_order("test"), 27), expected)
    assert "tokens" not in module.hparams  # too long for the loggers


def test_an_encoder_from_a_folder_is_fine_tuned_and_comes_back_from_the_checkpoint_alone(
    tmp_path: Path,
) -> None:
    folder = save_encoder(tmp_path / "encoder")
    data, _ = make_data(save(*sentences(40), tmp_path / "t.csv"))
    encoder, tokens = load_pretrained(str(folder), 32)
    data.use_tokens(tokens)
    config = TextNetConfig(pretrained=str(folder), dropout=0.0, token_dropout=0.0)
    net = TextNet(encoder, 3, config)
    assert all(part.training for part in net.modules())
    before = {name: tensor.clone() for name, tensor in net.encoder.state_dict().items()}
    learning = OptimizerConfig(lr=5e-3, warmup_steps=0, schedule="constant")
    module = ClassifyModule(
        net, ClassifyTrainConfig(net=config, optimizer=learning), tokens, data.classes, data.profile
    )
    trainer = make_trainer(8)
    trainer.fit(module, data)
    assert float(trainer.callback_metrics["val.accuracy"]) > 0.7
    assert any(
        not torch.equal(before[name], tensor) for name, tensor in net.encoder.state_dict().items()
    )
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    expected = probabilities_of(net, data.in_order("test"), 18)
    shutil.rmtree(folder)
    loaded = load_classifier(tmp_path / "last.ckpt")
    again = ClassifyModule.load_from_checkpoint(tmp_path / "last.ckpt")
    assert again.tokens == loaded.tokens
    assert loaded.tokens == tokens
    np.testing.assert_allclose(
        probabilities_of(loaded.net, data.in_order("test"), 18), expected, atol=1e-6
    )


def test_an_encoder_that_is_not_there_is_one_line_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "empty").mkdir()
    for name in (str(tmp_path / "empty"), str(tmp_path / "none")):
        with pytest.raises(
            UsageError, match=f"net.pretrained={name}: this .* cannot be loaded"
        ) as caught:
            load_pretrained(name, 32)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["mean", "transformer"])
def test_batches_of_any_length_share_a_compiled_network(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch is as long as its longest text."""
    graphs: list[Any] = []
    lengths: set[int] = set()
    original = nn.Module.compile

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    def compiled(module: nn.Module, *, mode: str, dynamic: bool) -> None:
        original(module, backend=backend, dynamic=dynamic)

    monkeypatch.setattr(nn.Module, "compile", compiled)
    torch.compiler.reset()
    data, tokens = make_data(
        save(*sentences(60), tmp_path / "t.csv"), accelerator={"compile": True, "train_batch": 4}
    )
    module = make_module(data, tokens, kind=kind)
    assert module.prepare() is not None
    first = len(graphs)
    net: Any = module.net
    for length in range(3, 12):
        lengths.add(length)
        net(torch.ones(4, length, dtype=torch.long), torch.ones(4, length, dtype=torch.bool))
    assert len(lengths) == 9
    assert len(graphs) <= first + 1
