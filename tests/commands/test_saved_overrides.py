"""Nothing that a folder has saved runs code, unless it is typed again."""

from pathlib import Path

import pytest

from hexlit.commands import match, train
from hexlit.commands.run_folder import resumed_arguments
from hexlit.commands.saved_overrides import trusted
from hexlit.errors import UsageError
from tests.commands.tiny import TINY

CALLBACK = "+callbacks.mine._target_=touching.Touch"
MODULE = """
import pathlib
import lightning as L

class Touch(L.Callback):
    def __init__(self, inner=None):
        pathlib.Path("touched").touch()
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "touching.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)


def folder_with(*overrides: str) -> Path:
    settings = Path("theirs/.hydra")
    settings.mkdir(parents=True)
    (settings / "overrides.yaml").write_text("".join(f"- {override!r}\n" for override in overrides))
    return settings.parent


@pytest.mark.parametrize(
    "override",
    [
        CALLBACK,
        "++callbacks={mine: {_target_: touching.Touch}}",
        "callbacks.mine.monitor._target_=touching.Touch",
        "hydra.callbacks.mine._target_=touching.Touch",
        "+hydra.job_logging.handlers.mine.class=touching.Touch",
        "hydra/job_logging=theirs",
        "~hydra.callbacks.claim",
        "quick@hydra.callbacks=theirs",
        "players=['htp=touch touched',random]",
        "players=['${name}=touch touched',random]",
        "+players.mine='htp=touch touched'",
        "ray.address=10.0.0.1:6379",
    ],
)
def test_a_saved_override_that_runs_code_is_refused(override: str) -> None:
    with pytest.raises(UsageError) as refused:
        trusted(["board=4", override], ["seed=2"], Path("theirs/.hydra/overrides.yaml"), "resume")
    assert override in str(refused.value)


@pytest.mark.parametrize(
    "override", ["players=[random,rollouts]", "ray.address=auto", "ray.cpus=2", "seed=3"]
)
def test_others_stay(override: str) -> None:
    assert trusted([override], [], Path("overrides.yaml"), "resume") == [override]


def test_what_is_typed_again_takes_the_place_of_the_saved_one() -> None:
    folder = folder_with("board=4", CALLBACK, "+callbacks.mine.inner=1")
    assert resumed_arguments([f"resume={folder}", CALLBACK])[:2] == ["board=4", CALLBACK]
    assert resumed_arguments([f"resume={folder}", "callbacks={}"])[:2] == [
        "board=4",
        "callbacks={}",
    ]


@pytest.mark.parametrize("key", ["resume", "+best"])
def test_a_foreign_folder_runs_nothing(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_with(*TINY, CALLBACK)
    (folder / "best.yaml").write_text(f"overrides:\n- {CALLBACK}\n")
    assert train.main([f"{key}={folder}"]) == 2
    assert "type it again to allow that" in capsys.readouterr().err
    assert not Path("touched").exists()


def test_programs_of_a_foreign_match_do_not_start(capsys: pytest.CaptureFixture[str]) -> None:
    saved = "players=['htp=touch touched',random]"
    folder = folder_with("board=3", saved, "pairs=1")
    assert match.main([f"resume={folder}"]) == 2
    assert "type it again to allow that" in capsys.readouterr().err
    assert match.arguments([f"resume={folder}", saved])[:3] == ["board=3", "pairs=1", saved]
    assert not Path("touched").exists()


@pytest.mark.parametrize(
    ("argument", "key"),
    [
        ("monitor._target_=touching.Touch", "monitor._target_"),
        ("deep={list: [{_target_: touching.Touch}]}", "deep.list.0._target_"),
        ("_partial_=true", "_partial_"),
        ("_recursive_=true", "_recursive_"),
    ],
)
def test_nothing_below_a_callback_is_instantiated(
    argument: str, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "+callbacks.mine._target_=lightning.pytorch.callbacks.EarlyStopping",
        f"+callbacks.mine.{argument}",
    ]
    assert train.main([*TINY, "trainer.max_epochs=1", *words, "hydra.run.dir=run"]) == 2
    assert f"callbacks.mine.{key}: " in capsys.readouterr().err
    assert not Path("touched").exists()
