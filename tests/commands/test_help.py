"""`hexlit COMMAND --help`: what it says is what Hydra composes;
its examples run; completion offers nothing else.
"""

import inspect
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import optuna
import pytest
import yaml
from omegaconf import OmegaConf

from docs import reference_page as reference
from hexlit.cli import COMMANDS, main
from hexlit.commands.composing import composed, hydra_initialized
from hexlit.commands.manual.completion import candidates
from hexlit.commands.manual.contents import contents_of
from hexlit.commands.manual.page import short_name
from hexlit.nets.config import BLOCKS
from tests.nets.brought_blocks import SEPARABLE, package

Captured = pytest.CaptureFixture[str]

LINES = [*COMMANDS, "train task=forecast", "train task=classify", "bench task=forecast"]
HEAVY = ("torch", "lightning", "numba", "numpy", "matplotlib", "optuna")


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("line", LINES)
def test_help_all_names_every_setting_with_its_value_meaning_and_words(
    line: str, capsys: Captured
) -> None:
    command, *arguments = line.split()
    assert main([command, *arguments, "--help", "all"]) == 0
    out = capsys.readouterr().out
    found = contents_of(command, arguments)
    assert all(found.sections[one.section] for one in found.settings)
    for setting in found.settings:
        assert setting.meaning, setting
        row = re.search(rf"^  {re.escape(setting.key)}:.*\n(?:(?: {{5,}}).*\n)*", out, re.MULTILINE)
        assert row is not None, setting
        assert [one for one in setting.choices if one not in " ".join(row.group().split())] == []
    with hydra_initialized():
        config = composed("bench_task" if line == "bench task=forecast" else command, arguments)
    assert {*map(str, config)} - {"hydra"} <= {one.key.partition(".")[0] for one in found.settings}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_fits_the_terminal_and_has_its_parts_in_order(
    command: str, capsys: Captured
) -> None:
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"hexlit {command}")
    before, examples, after = out.partition("\nexamples:\n")
    examples, _, after = after.partition("\n\n")
    assert all(example in examples for example, _ in contents_of(command).examples)
    assert [line for line in f"{before}\n{after}".splitlines() if len(line) > 80] == []
    assert -1 < after.find("settings ") < after.find("\nflags:")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_examples_and_every_option_a_word(command: str) -> None:
    found = contents_of(command)
    assert [
        f"{group.name}={one}"
        for group in found.groups
        for one, text in group.options.items()
        if not text
    ] == []
    assert 2 <= len(found.examples) <= 5


def test_a_folder_of_the_users_own_counts(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "mine.yaml").write_text(
        "# hexlit train net=mine     (a network of mine)\nchannels: 24\n"
    )
    assert main(["train", "--config-dir", str(tmp_path), "net=mine", "--help", "net"]) == 0
    out = capsys.readouterr().out
    assert "* mine" in out
    assert "a network of mine" in out
    assert "net.channels: 24" in out
    assert main(["train", "--config-dir", str(tmp_path / "no"), "--help"]) == 2


def words(command: str) -> list[str]:
    return shlex.split(command)[1:]


@pytest.mark.parametrize("name", COMMANDS)
def test_its_examples_run(name: str, tmp_path: Path, capsys: Captured) -> None:
    """As far as `--cfg job`: the command prepares its arguments, and Hydra composes them."""
    for example, _ in contents_of(name).examples:
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
        assert (
            main([command, *(word for word in arguments if word != "--multirun"), "--cfg=job"]) == 0
        ), example
        captured = capsys.readouterr()
        assert captured.err == "", example
        assert OmegaConf.create(captured.out), example


def test_the_settings_of_the_command_line_are_shown(capsys: Captured) -> None:
    assert (
        main(
            [
                "train",
                "experiment=hex7",
                "optimizer.lr=0.015",
                "seed=1,2",
                "+best=runs/quick",
                "--help",
            ]
        )
        == 0
    )
    out = capsys.readouterr().out
    assert re.search(r"^  optimizer.lr: 0.015 +Learning rate at its highest\.", out, re.MULTILINE)
    assert re.search(r"^  board: 7 ", out, re.MULTILINE)
    assert "[hex7]" in out
    assert "best: runs/quick " in out


@pytest.mark.parametrize("name", ["sampler", "pruner"])
def test_each_sampler_and_pruner_shows_arguments_of_its_class_with_their_meanings(
    name: str, capsys: Captured
) -> None:
    assert main(["train", "--help", name]) == 0
    out = capsys.readouterr().out
    (group,) = [one for one in contents_of("train").groups if short_name(one) == name]
    assert sum(text.count(" # ") for text in group.files.values()) > 5
    for option, text in group.files.items():
        values = yaml.safe_load(text)
        if "_target_" not in values:  # the older name of another one
            continue
        module = getattr(optuna, f"{name}s")
        known = inspect.signature(getattr(module, values["_target_"].rpartition(".")[2]))
        assert {key for key in values if not key.startswith("_")} <= {*known.parameters}, option
        for line in text.splitlines():
            assert line in out
            assert line.lstrip().startswith("_") or line.endswith(":") or " # " in line


def test_neither_help_nor_completion_imports_anything_heavy() -> None:
    program = (
        "import sys; from hexlit.cli import main; main(['--help']); "
        "early = {'hydra', 'omegaconf', 'rich'} & {*sys.modules}; "
        "main(['train', '--help']); main(['-sc', 'query=bash']); "
        f"print([*early, *(name for name in {HEAVY} if name in sys.modules)])"
    )
    environment = {**os.environ, "COMP_LINE": "hexlit train task=forecast net."}
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert run.stdout.splitlines()[-1] == "[]"
    assert "net.kind=" in run.stdout.splitlines()[-2]


@pytest.mark.parametrize(
    ("line", "offered", "not_offered"),
    [
        ("solve ", {"board=", "moves=", "json="}, {"net=", "hydra.", "accelerator=", "action="}),
        (
            "train ",
            {"experiment=", "optimizer.", "optimizer=", "seed="},
            {"hydra.", "hydra/sweeper=", "output="},
        ),
        (
            "train hydra",
            {"hydra.", "hydra/sweeper=", "hydra/launcher="},
            {"hydra/help=", "hydra/env="},
        ),
        ("train net=", {"net=small", "net=se"}, {"net=hex"}),
        (
            "train hydra.sweeper.",
            {"hydra.sweeper.n_trials=", "hydra.sweeper.sampler.", "hydra.sweeper.pruner."},
            set(),
        ),
        (
            "train hydra/sweeper=optuna hydra/sweeper/sampler=qmc hydra.sweeper.sampler.",
            {"hydra.sweeper.sampler.qmc_type="},
            set(),
        ),
        ("train --help s", {"sampler", "sweeper", "sweep", "seed"}, {"launcher"}),
        ("train accelerator.device=", {"accelerator.device=cuda"}, {"accelerator.device=cuda:N"}),
        (
            "train task=forecast data.calendar=",
            {"data.calendar=[weekday]"},
            {"data.calendar=[hour]weekday"},
        ),
        ("games export format=h", {"format=hexworld", "format=htp"}, {"format=sgf"}),
        ("train task=forecast net.", {"net.kind="}, {"net.channels="}),
        ("games ", {"import", "verify"}, {"source=", "action="}),
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


def test_completion_names_files_where_a_setting_is_one(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "rates.json").touch()
    assert candidates("export", [], "checkpoint=r") == ["checkpoint=rates.json", "checkpoint=runs/"]


def test_completion_knows_the_blocks_of_other_packages(tmp_path: Path) -> None:
    with package(tmp_path / "site", SEPARABLE):
        assert candidates("train", [], "net.block=") == [
            f"net.block={one}" for one in (*BLOCKS, "separable")
        ]
    assert candidates("train", [], "net.block=s") == []


def test_the_reference_is_that_of_the_code() -> None:
    kept = reference.TARGET.read_text(encoding="utf-8") if reference.TARGET.is_file() else ""
    assert kept == reference.page(), (
        f"docs/reference.md is older than the code: run {reference.COMMAND}"
    )
