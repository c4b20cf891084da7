"""Values are taken as they are typed where Hydra's grammar has no place for them."""

from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from hexlit.commands.typed_words import as_typed, near_keys


@pytest.mark.parametrize(
    "value", ["a=b/r", "über/x", "it's", "a(b)", "C:\\x", "runs/5×5/é", "x=${y", 'say "so"']
)
def test_a_value_is_read_as_it_is_typed(value: str) -> None:
    assert OverridesParser.create().parse_override(as_typed(f"source={value}")).value() == value


@pytest.mark.parametrize(
    "word",
    [
        "seed=1",
        "a=[1,2]",
        "x=1,2",
        "x=[ü",
        "x=interval(1",
        "x='it'",
        "~seed",
        "+a.b=c d",
        "x={a: 1}",
        "word",
    ],
)
def test_other_words_stay(word: str) -> None:
    assert as_typed(word) == word


def test_the_home_folder_has_its_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert as_typed("source=~/x") == f"source={tmp_path}/x"


def test_keys_of_other_programs_lead_to_ours() -> None:
    known = ["accelerator.train_batch", "optimizer.lr", "trainer.max_epochs", "seed"]
    assert near_keys("batch_size", known) == ["accelerator.train_batch"]
    assert near_keys("trainer.lr", known) == ["optimizer.lr"]
    assert near_keys("max_epoch", known) == ["trainer.max_epochs"]
    assert near_keys("colour", known) == []
