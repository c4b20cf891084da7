"""Ctrl-C and SIGTERM: what is kept is told,
and the one command that goes on; the exit code is 130.
"""

import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hydra.core.global_hydra import GlobalHydra

from hexlit.cli import main
from hexlit.interruption import prints_resume_hint

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    GlobalHydra.instance().clear()


def interrupted(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def terminated(*_: Any, **__: Any) -> None:
    signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize("ends", [interrupted, terminated])
def test_it_says_what_is_kept_and_what_goes_on(ends: Callable[[], None], capsys: Captured) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with (
        pytest.raises(KeyboardInterrupt),
        prints_resume_hint("hexlit x", "it is in y", "hexlit x y"),
    ):
        ends()
    assert (
        capsys.readouterr().err == "\nhexlit x: interrupted; it is in y\nTo continue: hexlit x y\n"
    )
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_lightning_makes_of_ctrl_c_is_told_too_and_other_ends_are_not(
    capsys: Captured,
) -> None:
    stop = SystemExit(1)
    stop.__context__ = KeyboardInterrupt()
    for end, said in ((stop, True), (SystemExit(1), False), (ValueError(), False)):
        with pytest.raises(type(end)), prints_resume_hint("hexlit x", "kept", "again"):
            raise end
        assert ("To continue: again" in capsys.readouterr().err) == said


@pytest.mark.parametrize(
    ("place", "command", "again"),
    [
        ("commands.train.train_in_folder", "train 'hydra.run.dir=my run'", "train 'resume=my run'"),
        (
            "commands.match_run.play",
            "match players=[random,solver] board=3 hydra.run.dir=m",
            "match resume=m",
        ),
        ("commands.games_run.import_games", *["games import source=a.sgf target=store"] * 2),
        (
            "accelerate.profile.build_profile",
            "strength checkpoint=net.ckpt output=s pairs=3",
            "strength resume=s",
        ),
    ],
)
def test_a_command_says_how_to_continue(
    place: str, command: str, again: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    Path("a.sgf").write_text("(;FF[4]GM[11]SZ[3];B[a1])")
    Path("net.ckpt").touch()
    monkeypatch.setattr(
        "hexlit.commands.strength_run.load_network", lambda path: SimpleNamespace(size=3)
    )
    monkeypatch.setattr(f"hexlit.{place}", terminated)
    assert main(shlex.split(command)) == 130
    err = capsys.readouterr().err
    assert err.splitlines()[-1] == f"To continue: hexlit {again}"
    assert "Traceback" not in err
