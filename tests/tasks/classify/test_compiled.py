"""The compiled classifier."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.tasks.classify.texts import make_data, make_module, save, sentences


@pytest.mark.row("C4")
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
    data, tokens = make_data(save(*sentences(60), tmp_path / "t.csv"), accelerator={"compile": True, "train_batch": 4})
    module = make_module(data, tokens, kind=kind)
    assert module.prepare() is not None
    first = len(graphs)
    net: Any = module.net
    for length in range(3, 12):
        lengths.add(length)
        net(torch.ones(4, length, dtype=torch.long), torch.ones(4, length, dtype=torch.bool))
    assert len(lengths) == 9
    assert len(graphs) <= first + 1
