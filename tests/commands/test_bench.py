"""`hexlit bench` from the command line."""

import json
from pathlib import Path

import pytest

from hexlit.commands.bench import main

TINY = ["board=3", "net=tiny", "accelerator=cpu", "accelerator.train_batch=8", "seconds=0.01", "repeats=2"]


def test_one_command_writes_markdown_and_json(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A28-30."""
    assert main([*TINY, "what=games", f"output={tmp_path}"]) == 0
    found = json.loads((tmp_path / "bench.json").read_text())
    assert [line["what"] for line in found["measurements"]] == ["complete random games", "random playouts, winner only"]
    assert all(line["median"] > 0 for line in found["measurements"])
    assert (tmp_path / "bench.md").read_text().count("\n|") == 4
    assert "complete random games" in capfd.readouterr().out


def test_a_network_without_the_fast_path_is_compared_all_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    """A8."""
    assert main([*TINY, "what=compare", "json=true", "net.activation=gelu"]) == 0
    forward, *_ = json.loads(capfd.readouterr().out)["measurements"]
    assert not forward["precision"].startswith("fused")
    assert forward["median"] > 0


def test_json_on_the_terminal_is_json_alone(capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*TINY, "what=compare", "json=true"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert {line["device"] for line in found["measurements"]} >= {"cpu"}
    assert any("loss in float32 after the same" in sentence for sentence in found["findings"])


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["what=speed"], "what=speed: choose one of games, search"),
        (["board=30"], "board=30"),
        (["repeats=1"], "repeats=1"),
        (["json=true", "markdown=true"], "output=FOLDER"),
        (["write=a/accelerator/x.yaml"], "only what=batch"),
        (["what=batch", "write=tuned.yaml"], "in a folder named accelerator"),
        (["what=games", "output=/dev/null/x"], "output=/dev/null/x: cannot be written"),
        (["checkpoint=nowhere.ckpt"], "checkpoint=nowhere.ckpt: there is no such file"),
    ],
)
def test_a_mistake_is_one_line(overrides: list[str], expected: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*TINY, *overrides]) == 2
    err = capfd.readouterr().err
    assert err.count("\n") == 1
    assert expected in err
