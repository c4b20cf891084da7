"""W&B's environment variables fill in what the configuration leaves out."""

from pathlib import Path

import pytest
import wandb

from hexlit.errors import UsageError
from hexlit.tracking.config import WandbConfig
from hexlit.tracking.environment import has_credentials, resolved

SAID = {
    "WANDB_MODE": "online",
    "WANDB_PROJECT": "theirs",
    "WANDB_ENTITY": "team",
    "WANDB_NAME": "named",
    "WANDB_RUN_GROUP": "together",
    "WANDB_TAGS": "a, b,c",
}


def test_what_is_left_out_comes_from_the_environment() -> None:
    found = resolved(WandbConfig(), SAID)
    assert (found.mode, found.project, found.entity, found.name) == (
        "online",
        "theirs",
        "team",
        "named",
    )
    assert (found.group, found.tags) == ("together", ["a", "b", "c"])


def test_what_is_configured_wins() -> None:
    asked = WandbConfig("disabled", "mine", "me", "so", "alone", ["x"])
    assert resolved(asked, SAID) == asked


def test_without_either_a_run_is_offline_in_the_project_hexlit() -> None:
    assert resolved(WandbConfig(), {}) == WandbConfig("offline", "hexlit")


@pytest.mark.parametrize(
    "variable",
    ["MODE=shared", "MODE=x", "PROJECT=a/b", "INIT_TIMEOUT=soon", "RUN_ID=a/b"],
)
def test_a_variable_that_cannot_be_meant_is_refused(variable: str) -> None:
    name, _, value = variable.partition("=")
    with pytest.raises(
        (UsageError, ValueError, wandb.Error), match=f"(?i){name.replace('_', '.')}.*"
    ):
        resolved(WandbConfig(), {f"WANDB_{name}": value})


def test_a_netrc_entry_or_a_key_in_the_environment_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "netrc"
    monkeypatch.setenv("NETRC", str(file))
    assert not has_credentials()
    host = wandb.setup().settings.base_url.partition("//")[2]
    for machine, counts in (("machine api.example.org", False), (f"machine {host}", True)):
        file.write_text(f"{machine} login user password xyz\n")
        file.chmod(0o600)
        assert has_credentials() == counts
    file.write_text("nonsense\n")
    assert not has_credentials()
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    assert has_credentials()
