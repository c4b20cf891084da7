"""How often Hydra composes the configuration of a command."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.hydra import Hydra
from omegaconf import OmegaConf

from hexlit.cli import main

CONF = Path(__file__).resolve().parents[2] / "conf"


@pytest.fixture
def composed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[str]]]:
    """The overrides of each composition."""
    monkeypatch.chdir(tmp_path)
    seen: list[list[str]] = []
    load = ConfigLoaderImpl.load_configuration

    def noted(self: Any, config_name: Any, overrides: list[str], *rest: Any, **named: Any) -> Any:
        seen.append(list(overrides))
        return load(self, config_name, overrides, *rest, **named)

    monkeypatch.setattr(ConfigLoaderImpl, "load_configuration", noted)
    before = Hydra.get_mode
    yield seen
    assert Hydra.get_mode is before


@pytest.mark.parametrize("mode", [[], ["hydra.mode=RUN"]], ids=["", "hydra.mode=RUN"])
def test_a_command_is_composed_once(mode: list[str], composed: list[list[str]]) -> None:
    assert main(["solve", "board=2", "json=true", *mode]) == 0
    assert composed == [["board=2", "json=true", "hydra.mode=RUN"]]


def test_the_mode_may_be_set_on_the_command_line(composed: list[list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "board=2,3", "json=true", "hydra.mode=MULTIRUN", "hydra.sweep.dir=sweep"]) == 0
    assert len(composed) > 2
    assert capsys.readouterr().out.count('"winner": "black"') == 2


def test_the_mode_may_be_set_in_a_folder_of_the_users(
    composed: list[list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own" / "both").mkdir(parents=True)
    (tmp_path / "own" / "both" / "both.yaml").write_text("# @package _global_\nhydra:\n  mode: MULTIRUN\n")
    arguments = ["--config-dir", "own", "+both=both", "board=2,3", "json=true", "hydra.sweep.dir=sweep"]
    assert main(["solve", *arguments]) == 0
    assert capsys.readouterr().out.count('"winner": "black"') == 2


def test_no_file_of_the_configuration_sets_the_mode() -> None:
    files = [OmegaConf.load(path) for path in CONF.rglob("*.yaml")]
    assert files
    assert not [config for config in files if OmegaConf.select(config, "hydra.mode") is not None]
    assert not [path for path in (CONF / "hydra").rglob("*.yaml") if OmegaConf.select(OmegaConf.load(path), "mode")]
