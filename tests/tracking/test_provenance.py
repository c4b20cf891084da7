"""Provenance of a result."""

import subprocess
from pathlib import Path

import pytest

from hexlit.tracking import provenance
from hexlit.tracking.provenance import git_state, versions


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    monkeypatch.setattr(provenance, "_PACKAGE", folder)
    return folder


def test_the_commit_is_that_of_the_code_and_changes_are_seen(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(package, "init", "-q")
    git(package, "add", ".")
    git(package, "commit", "-qm", "first")
    assert git_state() == {"commit": git(package, "rev-parse", "HEAD"), "dirty": False}
    (package / "__init__.py").write_text("changed = True\n")
    state = git_state()
    assert state is not None
    assert state["dirty"]
    monkeypatch.setenv("WANDB_DISABLE_GIT", "true")
    assert git_state() is None


def test_without_git_there_is_none(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(package))
    assert git_state() is None


def test_versions_are_those_installed() -> None:
    assert set(versions()) == {"hexlit", "torch", "lightning", "numba", "numpy"}
