"""Loggers: Weights & Biases offline unless asked, never a prompt, never a hang."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import wandb
from lightning.pytorch.loggers import WandbLogger
from omegaconf import OmegaConf
from omegaconf.errors import ConfigKeyError, ValidationError

from hexlit.errors import UsageError
from hexlit.training import config as config_module
from hexlit.training import loggers as loggers_module
from hexlit.training.config import LoggerConfig, WandbConfig
from hexlit.training.loggers import build_loggers, close_loggers, note_in_wandb
from hexlit.training.metrics import MetricsCsv
from tests.commands.preloaded import run_apart

CONF = Path(__file__).parents[2] / "conf" / "logger"


@pytest.fixture(autouse=True)
def no_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, no account of whoever runs the tests, and no server."""
    for name in ("WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")


def composed(name: str, **changes: Any) -> LoggerConfig:
    node = OmegaConf.merge(OmegaConf.structured(LoggerConfig), OmegaConf.load(CONF / f"{name}.yaml"), changes)
    config = OmegaConf.to_object(node)
    assert isinstance(config, LoggerConfig)
    return config


def offline_runs(folder: Path) -> list[Path]:
    return sorted((folder / "wandb").glob("offline-run-*/*.wandb"))


def test_default_group_is_wandb_offline() -> None:
    assert composed("wandb") == LoggerConfig()
    assert LoggerConfig().wandb.mode == "offline"


def test_csv_group_turns_wandb_off_and_tensorboard_group_turns_tensorboard_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert composed("csv").wandb.mode == "disabled"
    monkeypatch.setattr(config_module, "find_spec", lambda name: object())
    assert composed("tensorboard").tensorboard


def test_mode_and_project_can_be_overridden_and_unknown_keys_are_refused() -> None:
    config = composed("wandb", wandb={"mode": "online", "project": "mine", "tags": ["a"]})
    assert (config.wandb.mode, config.wandb.project, config.wandb.tags) == ("online", "mine", ["a"])
    with pytest.raises((ConfigKeyError, ValidationError)):
        composed("wandb", wandb={"mood": "online"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": "dryrun"}, "logger.wandb.mode=dryrun: choose offline, online or disabled"),
        ({"project": "a/b"}, "logger.wandb.project='a/b'"),
        ({"init_timeout": 0.0}, "logger.wandb.init_timeout=0.0"),
        ({"finish_timeout": float("nan")}, "logger.wandb.finish_timeout=nan"),
    ],
)
def test_values_out_of_range_are_refused_with_their_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        WandbConfig(**changes)


def test_tensorboard_without_the_package_says_which_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_module, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"hexlit\[tensorboard\]"):
        composed("tensorboard")


def test_csv_only_opens_no_wandb_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wandb, "init", lambda **settings: pytest.fail("W&B was opened"))
    built = build_loggers(composed("csv"), tmp_path, "run")
    assert [type(logger) for logger in built] == [MetricsCsv]
    close_loggers(built)


def test_two_offline_runs_in_one_process_get_their_own_and_the_environment_stays(tmp_path: Path) -> None:
    before = os.environ.get("WANDB_MODE")
    ids = []
    for number in range(2):
        folder = tmp_path / f"run{number}"
        built = build_loggers(LoggerConfig(), folder, f"run{number}", f"id{number}")
        wandb_logger = built[1]
        assert isinstance(wandb_logger, WandbLogger)
        assert os.environ.get("WANDB_MODE") == before
        for logger in built:
            logger.log_metrics({"epoch": 0, "train/loss": 1.0}, step=1)
        ids.append(wandb_logger.version)
        close_loggers(built)
        assert len(offline_runs(folder)) == 1
        assert (folder / "metrics.csv").exists()
    assert ids == ["id0", "id1"]
    assert os.environ.get("WANDB_MODE") == before


@pytest.mark.parametrize("mode", ["offline", "online"])
def test_no_prompt_with_stdin_closed_and_no_noise(tmp_path: Path, mode: str) -> None:
    program = (
        "import sys; from pathlib import Path; from hexlit.training.loggers import *\n"
        "from hexlit.training.config import *\n"
        "config = LoggerConfig(wandb=WandbConfig(mode=sys.argv[1]))\n"
        "built = build_loggers(config, Path(sys.argv[2]), 'run')\n"
        "built[1].log_metrics({'epoch': 0, 'loss': 1.0}, step=1)\n"
        "close_loggers(built)\n"
    )
    done = run_apart(program, mode, str(tmp_path), folder=CONF.parents[1], seconds=120)
    assert done.returncode == 0, done.stderr
    assert len(offline_runs(tmp_path)) == 1
    assert done.stdout == ""
    assert ("no API key was found" in done.stderr) == (mode == "online")
    assert "wandb:" not in done.stderr


@pytest.mark.parametrize(
    "error",
    [
        wandb.errors.CommError("Run initialization has timed out after 30.0 sec.\nPlease try again"),
        wandb.errors.UsageError("No API key configured. Use `wandb login` to log in."),
        wandb.errors.AuthenticationError("invalid key"),
        ConnectionRefusedError(111, "refused"),
    ],
)
def test_online_that_fails_goes_on_offline_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    calls: list[dict[str, Any]] = []

    class Run:
        id = "x"

        def define_metric(self, *args: Any, **kwargs: Any) -> None: ...

    def init(**arguments: Any) -> Run:
        calls.append(arguments)
        if arguments["mode"] == "online":
            raise error
        return Run()

    monkeypatch.setattr(wandb, "init", init)
    with caplog.at_level(logging.WARNING):
        build_loggers(LoggerConfig(wandb=WandbConfig(mode="online")), tmp_path, "run", "id7")
    assert [call["mode"] for call in calls] == ["online", "offline"]
    assert calls[0]["settings"].init_timeout == 30.0
    assert calls[0]["id"] != calls[1]["id"]  # W&B holds on to the id of the attempt
    assert len(caplog.records) == 1
    assert type(error).__name__ in caplog.text
    assert "going on offline" in caplog.text
    assert "WANDB_MODE" not in os.environ


def test_online_without_a_key_does_not_even_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    modes: list[str] = []

    class Run:
        def define_metric(self, *args: Any, **kwargs: Any) -> None: ...

    def init(**arguments: Any) -> Run:
        modes.append(arguments["mode"])
        return Run()

    monkeypatch.setattr(wandb, "init", init)
    build_loggers(LoggerConfig(wandb=WandbConfig(mode="online")), tmp_path, "run")
    assert modes == ["offline"]
    assert len(caplog.records) == 1
    assert "no API key was found" in caplog.text


def test_a_netrc_entry_counts_as_a_key(tmp_path: Path) -> None:
    assert not loggers_module._has_credentials()
    (tmp_path / "netrc").write_text("machine api.example.org login user password xyz\n")
    assert not loggers_module._has_credentials()
    host = wandb.setup().settings.base_url.partition("//")[2]
    (tmp_path / "netrc").write_text(f"machine {host} login user password xyz\n")
    (tmp_path / "netrc").chmod(0o600)
    assert loggers_module._has_credentials()


def test_what_is_noted_is_in_the_configuration_and_the_summary_of_the_wandb_run(tmp_path: Path) -> None:
    built = build_loggers(LoggerConfig(), tmp_path, "run", "id0")
    note_in_wandb(built, config={"trial": 3, "params": {"optimizer.lr": 0.1}})
    for logger in built:
        logger.log_metrics({"epoch": 0, "loss": 1.0}, step=1)
    note_in_wandb(built, config={"trial": 4}, summary={"state": "pruned", "score": 0.5})
    close_loggers(built)
    (path,) = offline_runs(tmp_path)
    command = [sys.executable, "-m", "wandb", "leet", "inspect", "--summary", "--json", str(path)]
    run = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)
    assert run["config"] == {"trial": 4, "params": {"optimizer.lr": 0.1}}
    assert {name: run["summary"][name] for name in ("state", "score", "loss")} == {
        "state": "pruned",
        "score": 0.5,
        "loss": 1,
    }


def test_notes_go_to_wandb_only(tmp_path: Path) -> None:
    built = build_loggers(composed("csv"), tmp_path, "run")
    note_in_wandb(built, config={"trial": 3}, summary={"score": 0.5})
    close_loggers(built)
    assert list(tmp_path.iterdir()) == []
