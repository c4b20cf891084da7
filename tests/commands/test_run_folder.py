"""A job that Slurm starts again continues in its folder."""

from pathlib import Path

import pytest

from hexlit.commands.run_folder import requeued
from hexlit.commands.train import whole_arguments
from hexlit.errors import UsageError


def test_only_a_job_begun_again_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    assert requeued(tmp_path) is None, "it has begun nothing there"
    (tmp_path / "checkpoints").mkdir()
    assert requeued(tmp_path) == str(tmp_path)
    monkeypatch.setenv("SLURM_RESTART_COUNT", "0")
    assert requeued(tmp_path) is None
    monkeypatch.delenv("SLURM_RESTART_COUNT")
    assert requeued(tmp_path) is None


@pytest.mark.parametrize("flag", ["--multirun", "-m"])
def test_a_folder_to_go_on_with_is_refused_where_every_job_is_a_new_run(
    flag: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=f"^resume={tmp_path}: "):
        whole_arguments([flag, "seed=1,2", f"resume={tmp_path}"])
    assert flag in whole_arguments([flag, "seed=1,2", "resume=null"])
