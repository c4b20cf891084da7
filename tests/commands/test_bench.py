"""`hexlit bench` from the command line."""

import json
from pathlib import Path

import pytest

from hexlit.commands.bench import main
from hexlit.training import module as training_module
from tests.tasks.forecast.tables import hourly, save

TINY = [
    "board=3",
    "net=tiny",
    "accelerator=cpu",
    "accelerator.train_batch=8",
    "seconds=0.01",
    "repeats=2",
]


def test_one_command_writes_markdown_and_json(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main([*TINY, "what=selfplay", f"output={tmp_path}"]) == 0
    found = json.loads((tmp_path / "bench.json").read_text())
    lines = found["measurements"]
    assert all(line["what"].startswith("self-play") for line in lines)
    assert all(line["median"] > 0 for line in lines)
    assert (tmp_path / "bench.md").read_text().count("\n|") == 2 + len(lines)
    assert "evaluations/s" in capfd.readouterr().out


def test_json_on_the_terminal_is_json_alone(capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*TINY, "what=compare", "json=true"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert {line["device"] for line in found["measurements"]} >= {"cpu"}
    assert any("loss in float32 after the same" in sentence for sentence in found["findings"])


FORECAST = [
    "what=train",
    "task=forecast",
    "accelerator=cpu",
    "accelerator.threads=1",
    "seconds=0.01",
    "repeats=2",
]


def test_another_task_is_measured_with_the_settings_of_its_training(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler takes most of a minute, so one that does nothing stands in for it."""
    monkeypatch.setattr(
        training_module, "compile_for_training", lambda net, profile, trial, **how: 0.5
    )
    path = save(hourly(), tmp_path / "readings.csv")
    columns = [
        "data.time=time",
        "data.timezone=null",
        "data.series=place",
        "data.targets=[temp]",
        "data.features=[]",
    ]
    settings = [
        "net.hidden=8",
        "data.batch=32",
        "accelerator.precision=32-true",
        "json=true",
        "output=kept",
    ]
    assert main([*FORECAST, f"data.path={path}", *columns, *settings]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["task"] == "forecast"
    assert "board" not in found
    assert [(line["what"], line["unit"]) for line in found["measurements"]] == [
        ("training forecast, batch 32", "windows/s")
    ] * 2
    assert [line["precision"] for line in found["measurements"]] == ["32-true", "32-true compiled"]
    assert json.loads((tmp_path / "kept" / "bench.json").read_text()) == found
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "kept",
        "readings.csv",
    ]  # no folder of a run
