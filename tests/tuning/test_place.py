"""The folder of a sweep: new, continued, or one more on a shared study."""

import json
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from hexlit.errors import UsageError
from hexlit.tuning.config import SweepConfig
from hexlit.tuning.place import find_place

SHARED = {"storage": "sqlite:///study.db", "study_name": "mine"}


def found(folder: Path, settings: dict[str, Any], **judged: Any) -> tuple[Path, str]:
    config = OmegaConf.create({"name": "hex5", "hydra": {"sweep": {"dir": str(folder / "2026-01-31")}}})
    return find_place(config, settings, SweepConfig(**judged), [], ["sweep=quick"])


@pytest.mark.row("C10")
def test_who_joins_has_a_folder_of_its_own_under_the_name_of_the_study(tmp_path: Path) -> None:
    assert found(tmp_path, SHARED, join=True) == (tmp_path / "mine", "mine")
    (tmp_path / "mine" / "sweep.json").write_text(json.dumps({"study_name": "mine"}))
    with pytest.raises(UsageError, match=r"mine has a sweep already; .* another folder with hydra.sweep.dir=FOLDER"):
        found(tmp_path, SHARED, join=True)
    assert found(tmp_path, SHARED, resume=True) == (tmp_path / "mine", "mine"), "a killed one goes on like any other"


@pytest.mark.row("C10")
@pytest.mark.parametrize("missing", list(SHARED))
def test_who_joins_says_which_study(missing: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="sweep.join=true: name the study by hydra.sweeper.storage=URL"):
        found(tmp_path, SHARED | {missing: None}, join=True)


@pytest.mark.row("C10")
def test_nobody_goes_on_in_a_folder_that_has_done_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"mine holds no sweep to continue; sweep.join=true works on the study"):
        found(tmp_path, SHARED, resume=True)
    with pytest.raises(UsageError, match=r"mine holds no sweep to continue$"):
        found(tmp_path, SHARED | {"storage": None}, resume=True)


def test_to_join_and_to_go_on_are_two_things() -> None:
    with pytest.raises(UsageError, match="sweep.join=true: .* choose one"):
        SweepConfig(join=True, resume=True)
