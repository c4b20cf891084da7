"""Recipes choose options of groups.
An option that the command line chooses instead must hold whole.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from hexlit.commands.in_process import composed_with_hydra
from hexlit.commands.train import whole_arguments
from tests.commands.preloaded import HEXLIT, run_apart

CONF = Path(__file__).resolve().parents[2] / "conf"
RECIPES = sorted(CONF.glob("experiment/*.yaml"))
GROUPS = ("net", "selfplay", "accelerator", "logger")


def read(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text()) or {}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_sets_no_value_that_an_option_sets(recipe: Path) -> None:
    """Its own values come last: such a one would stay, whatever option is chosen."""
    for group in GROUPS:
        of_options = {key for option in CONF.glob(f"{group}/*.yaml") for key in read(option)} - {
            "defaults"
        }
        assert not of_options & read(recipe).get(group, {}).keys(), (
            f"give {group}= of {recipe.stem} an option"
        )


@pytest.mark.parametrize(
    ("recipe", "option"), [("hex5", "resnet18"), ("quick", "small"), ("hex11", "tiny")]
)
def test_a_network_of_the_command_line_replaces_that_of_the_recipe(
    recipe: str, option: str
) -> None:
    config = composed_with_hydra(
        "train", [f"experiment={recipe}", f"net={option}"], prepare=whole_arguments
    ).config
    for key, value in read(CONF / "net" / f"{option}.yaml").items():
        assert config.net[key] == value


@pytest.mark.slow  # each is a whole run, however short
@pytest.mark.parametrize("recipe", ["hex8", "hex9", "hex11", "hexall"])
def test_a_recipe_of_large_boards_starts_and_ends_an_epoch(recipe: str, tmp_path: Path) -> None:
    settings = [
        f"experiment={recipe}",
        "net=tiny",
        "trainer.max_epochs=1",
        "selfplay.smaller_boards=[]",
        "selfplay.positions=64",
        "selfplay.games=8",
        "search.simulations=4",
        "selfplay.fast_simulations=2",
        "data.batch=32",
        "data.replay_epochs=0",
        "logger=csv",
        "accelerator=cpu",
        f"hydra.run.dir={tmp_path / 'run'}",
    ]
    done = run_apart(HEXLIT, "train", *settings, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "summary.json").exists()
