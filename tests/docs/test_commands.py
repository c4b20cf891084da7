"""Every command line of the README and of `docs/` works: its settings compose, and it runs."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override
from omegaconf import OmegaConf

from hexlit.cli import main
from hexlit.commands import application
from hexlit.commands.application import typed
from hexlit.commands.composing import Composed
from tests.commands.preloaded import HEXLIT, run_apart
from tests.docs.pages import GENERATED, manual, name_of
from tests.docs.shell import Command, commands_of
from tests.docs.stage import Stage
from tests.docs.stand_ins import Whole, is_searched, placed, shortened, whole

HEADER = "tests/docs/stand_ins.py"
LONGEST = 900.0
"""Seconds that a shortened command may take."""


def hexlit_commands() -> dict[str, Command]:
    """Text -> the first command of the pages with this text;
    mentions such as `hexlit match` are left out.
    """
    found: dict[str, Command] = {}
    for page in manual():
        if page == GENERATED:  # tests/commands/test_help.py tries its examples
            continue
        for command in commands_of(page):
            if command.words[0] == "hexlit" and not (command.inline and is_mention(command)):
                found.setdefault(command.text, command)
    return found


def is_mention(command: Command) -> bool:
    """Whether inline code names a command, without being a whole command line."""
    words = command.words[1:]
    return len(words) < 2 or "..." in words or "…" in words


def entry_of(command: Command) -> Whole:
    entry = whole(command.words[1:])
    assert entry is not None, (
        f"{command.place}: `{command.text}` is unknown here: add an entry to COMMANDS in {HEADER}"
    )
    return entry


def first_values(words: Sequence[str]) -> list[str]:
    """`words` with the first value of each that gives several, as a sweep would try them."""
    singles = []
    for word in words:
        if "=" in word and not word.startswith("-") and is_searched(word):
            word = f"{word.partition('=')[0]}={first_value(OverridesParser.create().parse_override(word))}"
        if word not in ("--multirun", "-m"):
            singles.append(word)
    return singles


def first_value(override: Override) -> Any:
    """The first value of a sweep, or the start of an interval."""
    value = override.value()
    if isinstance(value, IntervalSweep):
        return value.start
    if not override.is_sweep_override():
        return override.get_value_element_as_str()
    return next(iter(override.sweep_string_iterator()))


@pytest.fixture
def composes_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In this test a command parses its command line,
    composes and checks its settings, and does nothing more.
    """
    watched = application._watched

    def check(command: Composed) -> None:
        schema = OmegaConf.get_type(command.config)
        assert isinstance(schema, type)
        typed(command.config, schema)

    monkeypatch.setattr(application, "_watched", lambda task: watched(check))
    with contextlib.chdir(Path.cwd()):
        yield


def call(words: Sequence[str]) -> int:
    """`hexlit` with these arguments; `htp` by its entrance for flags,
    which leaves standard output alone.
    """
    if words[0] == "htp":
        from hexlit.commands.htp_program import explain

        return explain(list(words[1:]))
    return main(words)


@pytest.mark.usefixtures("composes_only")
@pytest.mark.parametrize("page", manual(), ids=name_of)
def test_the_settings_of_every_command_compose(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Through the parser of the real command line,
    so that a typo in a key, a group or a value is found.
    """
    monkeypatch.chdir(tmp_path)
    stage, wrong = Stage(tmp_path, real=False), []
    for command in hexlit_commands().values():
        if command.place.rpartition(":")[0] != name_of(page):
            continue
        words = [word.format_map(stage) for word in placed(command.words[1:], entry_of(command))]
        if call(first_values(words)) != 0:
            wrong.append(f"{command.place}: `{command.text}`: {capsys.readouterr().err.strip()}")
        capsys.readouterr()
    assert not wrong, "\n".join(wrong)


def runs(*, quick: bool) -> list[Any]:
    """The commands to be run whole, the quick ones or the others."""
    found = []
    for command in hexlit_commands().values():
        entry = whole(command.words[1:])
        if (
            entry is not None
            and not entry.refused
            and not command.elsewhere
            and entry.quick is quick
        ):
            found.append(
                pytest.param(command, id=f"{command.place}-{' '.join(command.words[1:3])}")
            )
    return found


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(tmp_path_factory.mktemp("stage"), real=True)


def in_small(command: Command, stage: Stage) -> list[str]:
    """The arguments of the command, shortened, with the files of the stage."""
    entry = entry_of(command)
    return [word.format_map(stage) for word in shortened(placed(command.words[1:], entry), entry)]


def run_whole(command: Command, stage: Stage, folder: Path) -> None:
    arguments = in_small(command, stage)
    done = run_apart(HEXLIT, *arguments, folder=folder, seconds=LONGEST)
    assert done.returncode == 0, (
        f"{command.place}: {command.text}\nas {arguments}\n{done.stdout}{done.stderr}"
    )
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", runs(quick=True))
def test_a_quick_command_runs(
    command: Command,
    stage: Stage,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """In this process, which has all imported; a training apart, as it sets up its process."""
    if command.words[1:] == ("train",):
        run_whole(command, stage, tmp_path)
        return
    monkeypatch.chdir(tmp_path)
    arguments = in_small(command, stage)
    code = call(arguments)
    said = capfd.readouterr()
    assert code == 0, f"{command.place}: {command.text}\nas {arguments}\n{said.out}{said.err}"
    assert said.out
    assert "Traceback" not in said.err


@pytest.mark.slow
@pytest.mark.parametrize("command", runs(quick=False))
def test_a_shortened_command_runs(command: Command, stage: Stage, tmp_path: Path) -> None:
    run_whole(command, stage, tmp_path)
