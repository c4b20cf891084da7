"""The commands of the README work as printed there."""

import contextlib
import io
import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def block(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n```\w+\n(.*?)```", README, re.DOTALL)
    assert found is not None, name
    return found[1]


def test_setting_up_and_running_is_one_line_each() -> None:
    for name in ("train-command", "test-command"):
        assert len(block(name).strip().splitlines()) == 1


def test_the_python_example_finds_what_its_comment_says() -> None:
    room: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(block("python-example"), room)  # our own text
    solution = room["solution"]
    assert (solution.winner, solution.moves) == ("White", ["c2"])  # type: ignore[attr-defined]
    assert abs(room["found"].value) <= 1  # type: ignore[attr-defined]


def test_every_experiment_and_group_option_is_named() -> None:
    conf = Path(__file__).parents[1] / "conf"
    for group in (
        "experiment",
        "accelerator",
        "net",
        "search",
        "selfplay",
        "optimizer",
        "logger",
        "sweep",
        "hydra/sweeper/pruner",
    ):
        for option in (conf / group).glob("*.yaml"):
            assert f"`{option.stem}`" in README, f"{group}={option.stem}"
