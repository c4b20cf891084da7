"""A job that Slurm begins again goes on in its folder."""

from pathlib import Path

import pytest

from hexlit.commands.requeued import requeued


@pytest.mark.row("F24")
def test_only_a_job_begun_again_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    assert requeued(tmp_path) is None, "it has begun nothing there"
    (tmp_path / "checkpoints").mkdir()
    assert requeued(tmp_path) == str(tmp_path)
    monkeypatch.setenv("SLURM_RESTART_COUNT", "0")
    assert requeued(tmp_path) is None
    monkeypatch.delenv("SLURM_RESTART_COUNT")
    assert requeued(tmp_path) is None
