"""W&B's environment variables fill in what the configuration leaves out."""

import logging
from pathlib import Path

import pytest
import wandb

from hexlit.errors import UsageError
from hexlit.tracking.config import WandbConfig
from hexlit.tracking.environment import folder_of, has_credentials, resolved

SAID = {
    "WANDB_MODE": "online",
    "WANDB_PROJECT": "theirs",
    "WANDB_ENTITY": "team",
    "WANDB_NAME": "named",
    "WANDB_RUN_GROUP": "together",
    "WANDB_TAGS": "a, b,,c",
    "WANDB_INIT_TIMEOUT": "7",
}


@pytest.mark.row("F12")
def test_what_is_left_out_comes_from_the_environment() -> None:
    found = resolved(WandbConfig(), SAID)
    assert (found.mode, found.project, found.entity, found.name) == ("online", "theirs", "team", "named")
    assert (found.group, found.tags, found.init_timeout) == ("together", ["a", "b", "c"], 7.0)


@pytest.mark.row("F12")
def test_what_is_configured_wins() -> None:
    asked = WandbConfig("disabled", "mine", "me", "so", "alone", ["x"], init_timeout=3.0)
    assert resolved(asked, SAID) == asked


def test_without_either_a_run_is_offline_in_the_project_hexlit() -> None:
    found = resolved(WandbConfig(), {})
    assert (found.mode, found.project, found.init_timeout) == ("offline", "hexlit", 30.0)
    assert (found.entity, found.name, found.group, found.tags) == (None, None, None, [])


@pytest.mark.parametrize(
    ("environment", "mode"),
    [
        ({"WANDB_MODE": "disabled"}, "disabled"),
        ({"WANDB_MODE": "dryrun"}, "offline"),
        ({"WANDB_DISABLED": "true", "WANDB_MODE": "online"}, "disabled"),
        ({"WANDB_DISABLED": "false"}, "offline"),
    ],
)
def test_modes_have_older_names(environment: dict[str, str], mode: str) -> None:
    assert resolved(WandbConfig(), environment).mode == mode


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("WANDB_MODE", "shared", "WANDB_MODE=shared: hexlit takes offline, online and disabled"),
        ("WANDB_PROJECT", "a/b", "WANDB_PROJECT='a/b'"),
        ("WANDB_INIT_TIMEOUT", "soon", "WANDB_INIT_TIMEOUT=soon"),
        ("WANDB_INIT_TIMEOUT", "0", "WANDB_INIT_TIMEOUT=0"),
    ],
)
def test_a_variable_that_cannot_be_meant_is_refused_by_its_name(variable: str, value: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        resolved(WandbConfig(), {variable: value})


def test_the_folder_is_that_of_the_run_unless_one_is_named(tmp_path: Path) -> None:
    assert folder_of(tmp_path, {}) == tmp_path
    assert folder_of(tmp_path, {"WANDB_DIR": "/elsewhere"}) == Path("/elsewhere")


def test_a_netrc_entry_counts_as_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert not has_credentials()
    (tmp_path / "netrc").write_text("machine api.example.org login user password xyz\n")
    assert not has_credentials()
    host = wandb.setup().settings.base_url.partition("//")[2]
    (tmp_path / "netrc").write_text(f"machine {host} login user password xyz\n")
    (tmp_path / "netrc").chmod(0o600)
    assert has_credentials()
    (tmp_path / "netrc").write_text("nonsense\n")
    with caplog.at_level(logging.WARNING):
        assert not has_credentials()
    assert "cannot be read for a W&B key" in caplog.text


def test_a_key_in_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    assert has_credentials()
