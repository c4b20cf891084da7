"""A W&B run is opened without a prompt and without a wait, and a resumed one continues its own."""

import logging
import os
from pathlib import Path
from typing import Any

import pytest
import wandb

from hexlit.tracking.config import WandbConfig
from hexlit.tracking.identity import Identity, read_identity, write_identity
from hexlit.tracking.opening import open_run
from tests.wandb_records import offline_runs

pytestmark = pytest.mark.usefixtures("no_account")


def test_a_resumed_run_continues_its_own_and_a_new_one_does_not(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for step, resumed in enumerate((False, True, False)):
        run = open_run(
            WandbConfig(project="p"),
            folder,
            name="a b",
            kind="train",
            tags=["t"],
            facts={"x": step},
            resumed=resumed,
        )
        assert run is not None
        run.log({"loss": float(step)}, step)
        run.finish()
    first, again, other = offline_runs(folder)
    assert first.id == again.id
    assert other.id != first.id
    assert first.resumes
    assert [[row["_step"] for row in run.rows] for run in (first, again)] == [[0], [1]]
    assert (first.name, first.kind, first.tags, first.project) == ("a b", "train", ("t",), "p")
    assert first.config == {"x": 0}


def test_the_environment_names_what_the_configuration_leaves_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {
        "PROJECT": "theirs",
        "NAME": "named",
        "TAGS": "x,y",
        "RUN_GROUP": "g",
        "RUN_ID": "id7",
        "JOB_TYPE": "job",
    }
    for name, value in said.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    monkeypatch.setenv("WANDB_DIR", str(tmp_path / "elsewhere"))
    for own_name in (False, True):
        run = open_run(
            WandbConfig(), tmp_path / "run", name="own", kind="train", tags=["t"], own_name=own_name
        )
        assert run is not None
        run.finish()
    assert not (tmp_path / "run" / "wandb").exists()
    shared, own = offline_runs(tmp_path / "elsewhere")
    assert (shared.id, shared.name, shared.project, shared.group, shared.kind) == (
        "id7",
        "named",
        "theirs",
        "g",
        "job",
    )
    assert shared.tags == ("t", "x", "y")
    assert own.name == "own"
    assert own.id != "id7"


@pytest.mark.parametrize("variable", ["WANDB_MODE=disabled", "WANDB_DISABLED=true"])
def test_a_disabled_run_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setattr(wandb, "init", lambda **arguments: pytest.fail("W&B was opened"))
    monkeypatch.setenv(*variable.split("=", 1))
    assert open_run(WandbConfig(), tmp_path / "run", name="a", kind="train") is None
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "error",
    [
        wandb.errors.CommError(
            "Run initialization has timed out after 30.0 sec.\nPlease try again"
        ),
        wandb.errors.UsageError("No API key configured. Use `wandb login` to log in."),
        wandb.errors.AuthenticationError("invalid key"),
        ConnectionRefusedError(111, "refused"),
    ],
)
def test_online_that_fails_goes_on_offline_with_one_warning(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    calls: list[dict[str, Any]] = []

    def init(**arguments: Any) -> object:
        calls.append(arguments)
        if arguments["mode"] == "online":
            raise error
        return object()

    monkeypatch.setattr(wandb, "init", init)
    with caplog.at_level(logging.WARNING):
        open_run(WandbConfig(mode="online"), tmp_path, name="run", kind="train")
    assert [call["mode"] for call in calls] == ["online", "offline"]
    assert calls[0]["settings"].init_timeout == 30.0
    assert calls[0]["id"] != calls[1]["id"]  # W&B holds on to the id of the attempt
    found = read_identity(tmp_path)
    assert found is not None
    assert found.id == calls[1]["id"]
    assert len(caplog.records) == 1
    assert type(error).__name__ in caplog.text
    assert "continuing offline" in caplog.text
    assert "WANDB_MODE" not in os.environ


def test_online_without_a_key_does_not_even_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    modes: list[str] = []
    monkeypatch.setattr(wandb, "init", lambda **arguments: modes.append(arguments["mode"]))
    open_run(WandbConfig(mode="online"), tmp_path, name="run", kind="train")
    assert modes == ["offline"]
    assert len(caplog.records) == 1
    assert "no API key was found" in caplog.text


def test_an_identity_is_kept(tmp_path: Path) -> None:
    assert read_identity(tmp_path) is None
    write_identity(tmp_path, Identity("i", "n", "p", None))
    assert read_identity(tmp_path) == Identity("i", "n", "p", None)


@pytest.mark.parametrize(
    ("name", "value"),
    [("INIT_TIMEOUT", "soon"), ("RUN_ID", "a/b"), ("MODE", "x"), ("DIR", "/proc/none")],
)
def test_a_variable_that_wandb_refuses_is_a_warning_and_no_run(
    name: str,
    value: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv(f"WANDB_{name}", value)
    assert open_run(WandbConfig(mode="offline"), tmp_path, name="run", kind="train") is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]
