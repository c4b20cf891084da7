"""`hexlit COMMAND --help`: what it says is what Hydra composes; its examples run; completion offers nothing else."""

import importlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hydra import compose as hydra_compose
from hydra import initialize_config_module
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

from hexlit.cli import COMMANDS, main
from hexlit.commands import tasks
from hexlit.commands.manual import reference
from hexlit.commands.manual.completing import candidates
from hexlit.commands.manual.conf_files import CONF
from hexlit.commands.manual.schema_places import own_tasks, places
from hexlit.commands.manual.taken import taken
from hexlit.commands.user_errors import CONFIG_PACKAGE, VERSION_BASE
from hexlit.nets.config import BLOCKS
from tests.nets.brought_blocks import SEPARABLE, package

Captured = pytest.CaptureFixture[str]

HEAVY = ("torch", "lightning", "hydra", "omegaconf", "numba", "numpy", "rich", "matplotlib", "optuna")


def options(group: str) -> list[str]:
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@cache
def registered() -> None:
    """Make all that hexlit registers known to Hydra."""
    for module in (*(module for module, _ in COMMANDS.values()), "hexlit.commands.htp_program"):
        importlib.import_module(module)
    tasks.register()


@pytest.fixture
def hydra() -> Iterator[None]:
    """Hydra, ready to compose."""
    registered()
    GlobalHydra.instance().clear()
    with initialize_config_module(CONFIG_PACKAGE, version_base=VERSION_BASE):
        yield


def composed_by_hydra(name: str, overrides: list[str]) -> dict[str, Any]:
    config = hydra_compose(name, overrides)
    content = OmegaConf.to_container(config, enum_to_str=True)
    assert isinstance(content, dict)
    return {str(key): value for key, value in content.items()}


def flat(values: dict[str, Any], keys: list[str]) -> dict[str, Any]:
    found = {}
    for key in keys:
        node: Any = values
        for part in key.split("."):
            node = node[part]
        found[key] = node
    return found


LINES = [
    *([command] for command in COMMANDS if command not in ("plan", "bench", "train")),
    ["bench", "net=resnet18", "board=9", "search=puct"],
    ["train", "experiment=quick", "selfplay=everything", "optimizer=sgd"],
    ["train", "experiment=balanced_high_lr", "logger=tensorboard"],
    ["train", "experiment=hex9", "net=tiny", "optimizer.lr=1e-3", "trainer.max_time=00:10:00", "board=11"],
    ["train", "task=forecast", "accelerator=cpu"],
    ["train", "task=classify", "optimizer=adafactor", "net.kind=transformer"],
]


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_help_shows_the_values_that_hydra_composes(line: list[str], hydra: None) -> None:
    command, *arguments = line
    shown = taken(command, arguments)
    keys = [setting.key for setting in shown.settings if not setting.key.startswith("hydra.")]
    expected = composed_by_hydra(command, arguments)
    assert {key: shown.values[key] for key in keys} == flat(expected, keys)
    assert {key.partition(".")[0] for key in keys} == set(expected)


@pytest.mark.parametrize("sweep", ["quick", "seeds", "supervised"])
def test_help_of_a_sweep_shows_what_it_sets(sweep: str, hydra: None) -> None:
    shown = taken("train", [f"sweep={sweep}", "hydra.sweeper.n_jobs=3"])
    composed = hydra_compose("train", [f"sweep={sweep}", "hydra.sweeper.n_jobs=3"], return_hydra_config=True)
    content = OmegaConf.to_container(composed, enum_to_str=True, resolve=False)
    assert isinstance(content, dict)
    keys = [setting.key for setting in shown.settings]
    assert shown.values == flat({str(key): part for key, part in content.items()}, keys)
    assert {group.name: group.chosen for group in shown.groups}.items() <= dict(composed.hydra.runtime.choices).items()


@pytest.mark.parametrize("task", own_tasks())
def test_every_sweep_that_is_offered_suits_the_task(task: str, hydra: None) -> None:
    """What does not is left out; the other groups are the same for every command."""
    groups = {group.name: group for group in taken("train", [f"task={task}"]).groups}
    refused = set(options("sweep")) - set(groups["sweep"].options)
    assert task in groups["sweep"].options
    assert refused >= {other for other in own_tasks() if other != task}
    offered = [one for one in groups["sweep"].options if one not in ("none", task)][:1]
    for sweep in offered:
        assert hydra_compose("train", [f"task={task}", f"sweep={sweep}"]) is not None
    assert ("experiment" in groups) == (task == "hex")


def test_the_tables_name_every_command_task_and_schema(hydra: None) -> None:
    known_to_hydra = {
        name.removesuffix(".yaml") for name in ConfigStore.instance().list("") if name.endswith("_schema.yaml")
    }
    known, _ = places([], [])
    assert known_to_hydra - {"sample_schema"} == set(known)
    for name, place in known.items():
        assert ConfigStore.instance().load(f"{name}.yaml").node._metadata.object_type is tasks.found(place)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("columns", [80, 66])
def test_no_line_is_wider_than_the_terminal(
    command: str, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main([command, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > columns] == []
    assert lines[0].startswith(f"hexlit {command}")
    order = [lines.index(title) for title in ("examples:", "settings (KEY=VALUE):", "flags:")]
    assert order == sorted(order)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_setting_has_a_meaning_and_every_option_a_word(command: str) -> None:
    for line in ([], ["task=forecast"], ["task=classify"]) if command == "train" else ([],):
        found = taken(command, line)
        assert [setting.key for setting in found.settings if not setting.meaning] == []
        assert [
            name for name in {setting.section for setting in found.settings} - {""} if not found.sections[name]
        ] == []
        assert [
            f"{group.name}={one}" for group in found.groups for one, text in group.options.items() if not text
        ] == []
        assert 2 <= len(found.examples) <= 5


@pytest.mark.parametrize("line", [*COMMANDS, "train task=forecast", "train task=classify"])
def test_the_first_page_names_every_word_of_a_setting(line: str, capsys: Captured) -> None:
    command, *task = line.split()
    assert main([command, *task, "--help"]) == 0
    out = capsys.readouterr().out
    for setting in (one for one in taken(command, task).settings if one.choices):
        told = re.search(rf"^  {re.escape(setting.key)}:.*\n(?:(?: {{5,}}).*\n)*", out, re.MULTILINE)
        assert told is not None
        assert [word for word in setting.choices if word not in " ".join(told.group().split())] == []


def words(command: str) -> list[str]:
    return shlex.split(command)[1:]


EXAMPLES = [example.command for command in COMMANDS for example in taken(command).examples]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """As far as `--cfg job`: the command prepares its arguments, and Hydra composes them."""
    monkeypatch.chdir(tmp_path)
    for word in words(example):
        if word.startswith("resume="):
            saved = tmp_path / word.removeprefix("resume=") / ".hydra"
            saved.mkdir(parents=True)
            (saved / "overrides.yaml").write_text("- seed=1\n...\n")
            (saved.parent / "parts.json").touch()  # of a strength run
    command, *arguments = words(example)
    if command == "report" and "=" not in "".join(arguments[:1]):
        for folder in arguments[:1]:
            (tmp_path / folder).mkdir(parents=True)
    assert main([command, *(word for word in arguments if word != "--multirun"), "--cfg=job"]) == 0, example
    captured = capsys.readouterr()
    assert captured.err == ""
    assert OmegaConf.create(captured.out)


def test_the_settings_of_the_command_line_are_shown(capsys: Captured) -> None:
    assert main(["train", "experiment=hex7", "optimizer.lr=0.015", "--help"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^  optimizer.lr: 0.015 +Learning rate at its highest\.$", out, re.MULTILINE)
    assert re.search(r"^  board: 7 ", out, re.MULTILINE)
    assert "[hex7]" in out


def test_a_word_after_the_flag_is_told_in_full(capsys: Captured) -> None:
    assert main(["train", "net=se", "--help", "net", "seed"]) == 0
    out = capsys.readouterr().out
    assert "* se" in out
    assert "net.block: basic" in out
    assert "1x1, 3x3, 1x1 at half the channels" in " ".join(out.split())
    assert "seed: 1" in out
    assert "trainer" not in out


@pytest.mark.parametrize("word", ["help", "--help"])
def test_hexlit_help_command_is_the_same(word: str, capsys: Captured) -> None:
    assert main([word, "solve"]) == 0
    first = capsys.readouterr().out
    assert main(["solve", "--help"]) == 0
    assert capsys.readouterr().out == first


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["train", "--help", "optimiser"],
            "--help optimiser: no setting, section or group of this command: did you mean 'optimizer' or 'optimizer.",
        ),
        (
            ["train", "--help", "hex7"],
            "--help hex7: no setting, section or group of this command; it is an option: hexlit train experiment=hex7",
        ),
        (["solve", "--help", "xyz"], "--help xyz: no setting, section or group of this command; hexlit solve --help"),
        (["train", "net=huge", "--help"], "net=huge: there is no such option; choose from attention"),
        (["train", "lr=1", "--help"], "unknown key 'lr': did you mean 'optimizer.lr'?"),
        (["solve", "net=tiny", "--help"], "net=tiny: no group of this command; it has none"),
        (["train", "hydra/sweeper=best", "--help"], "hydra/sweeper=best: there is no such option; choose from basic"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], expected: str, capsys: Captured) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"hexlit {arguments[0]}: {expected}")
    assert captured.err.count("\n") == 1


def test_neither_help_nor_completion_imports_anything_heavy() -> None:
    program = (
        "import sys; from hexlit.cli import main; main(['train', '--help']); main(['-sc', 'query=bash']); "
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    environment = {**os.environ, "COMP_LINE": "hexlit train task=forecast net."}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert run.stdout.splitlines()[-1] == "[]"
    assert "net.kind=" in run.stdout.splitlines()[-2]


@pytest.mark.parametrize(
    ("line", "offered", "not_offered"),
    [
        ("solve ", {"board=", "moves=", "json="}, {"net=", "hydra.", "accelerator=", "action="}),
        (
            "train ",
            {"experiment=", "optimizer.", "optimizer=", "seed="},
            {"hydra.", "hydra", "hydra/sweeper=", "output="},
        ),
        (
            "train hydra",
            {"hydra.", "hydra/sweeper=", "hydra/launcher="},
            {"hydra/help=", "hydra/output=", "hydra/env="},
        ),
        ("train hydra.", {"hydra.sweeper."}, {"hydra.run.", "hydra.job."}),
        ("train net=", {"net=small", "net=se"}, {"net=hex"}),
        ("train optimizer.name=", {"optimizer.name=sgd"}, set()),
        ("train hydra.sweeper.", {"hydra.sweeper.n_trials=", "hydra.sweeper.sampler.", "hydra.sweeper.pruner."}, set()),
        (
            "train hydra/sweeper/sampler=qmc hydra.sweeper.sampler.qmc_type=",
            {"hydra.sweeper.sampler.qmc_type=halton"},
            set(),
        ),
        ("train --help s", {"sampler", "sweeper", "sweep", "seed"}, {"launcher"}),
        ("train selfplay.where=", {"selfplay.where=here", "selfplay.where=ray"}, set()),
        ("train accelerator.device=", {"accelerator.device=cuda"}, {"accelerator.device=cuda:N"}),
        ("train task=forecast data.calendar=", {"data.calendar=[weekday]"}, {"data.calendar=[hour]weekday"}),
        ("match where=", {"where=here", "where=ray"}, set()),
        ("games export format=h", {"format=hexworld", "format=htp"}, {"format=sgf"}),
        ("games export winner=", {"winner=white", "winner=null"}, set()),
        ("train swap=", {"swap=true", "swap=false"}, {"swap=null"}),
        ("train task=forecast net.", {"net.kind="}, {"net.channels="}),
        ("train task=forecast ", {"optimizer="}, {"experiment=", "net=", "search."}),
        ("train --help opt", {"optimizer", "optimizer.lr"}, {"optimizer.lr="}),
        ("games ", {"import", "verify"}, {"source=", "action="}),
        ("games import ", {"source=", "target="}, {"import", "action="}),
        ("bench ", {"what=", "experiment=", "task="}, {"resume="}),
        ("bench experiment=hex7 ", {"what=", "data.", "experiment="}, set()),
        ("plan ", {"rates=", "target.", "experiment=", "board="}, set()),
        ("train net=nope optimizer.l", {"optimizer.lr="}, set()),
        ("train --", {"--help", "--cfg"}, {"--hydra-help"}),
    ],
)
def test_completion_offers_what_the_command_takes_and_nothing_else(
    line: str, offered: set[str], not_offered: set[str]
) -> None:
    command, *before, word = line.split(" ")
    found = set(candidates(command, before, word))
    assert offered <= found
    assert not found & not_offered
    assert all(one.startswith(word) for one in found)


def test_completion_names_files_where_a_setting_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "rates.json").touch()
    assert candidates("export", [], "checkpoint=r") == ["checkpoint=rates.json", "checkpoint=runs/"]


def test_completion_knows_the_blocks_of_other_packages(tmp_path: Path) -> None:
    with package(tmp_path / "site", SEPARABLE):
        assert candidates("train", [], "net.block=") == [f"net.block={one}" for one in (*BLOCKS, "separable")]
    assert candidates("train", [], "net.block=s") == []


def test_the_reference_is_that_of_the_code() -> None:
    kept = reference.TARGET.read_text(encoding="utf-8") if reference.TARGET.is_file() else ""
    assert kept == reference.page(), f"docs/reference.md is older than the code: run {reference.COMMAND}"
