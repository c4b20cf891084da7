"""The harness of the commands: mistakes are one line and code 2,
bugs keep their traceback and have code 1.
"""

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from omegaconf import MISSING, OmegaConf

from hexlit.commands.application import register_schema, run, typed
from hexlit.commands.composing import Composed
from hexlit.errors import UsageError


@dataclass
class Engine:
    power: int = 1
    lr: float = 0.1


@dataclass
class Sample:
    board: int = 5
    name: str = "x"
    fast: bool = False
    target: str = MISSING
    engine: Engine = field(default_factory=Engine)

    def __post_init__(self) -> None:
        if self.board > 19:
            raise UsageError(f"board={self.board}: at most 19")


seen: list[Sample] = []


@pytest.fixture(autouse=True)
def _fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    seen.clear()
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    store = ConfigStore.instance()
    repository = dict(store.repo)
    register_schema("sample", Sample)
    defaults = [
        "sample_schema",
        {"engine": "small"},
        {"override hydra/output": "none"},
        {"override hydra/job_logging": "console"},
        "_self_",
    ]
    store.store(
        name="sample",
        node=OmegaConf.create({"defaults": defaults, "hydra": {"output_subdir": None}}),
    )
    for option, power in (("small", 1), ("large", 9)):
        store.store(group="engine", name=option, node={"power": power})
    yield
    store.repo = repository
    root.handlers[:], root.level = handlers, level
    GlobalHydra.instance().clear()


def remember(command: Composed) -> None:
    seen.append(typed(command.config, Sample))


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1, captured.err
    assert captured.err.startswith("hexlit sample: ")
    return captured.err.removeprefix("hexlit sample: ").strip()


def test_the_task_gets_the_typed_configuration_with_its_groups() -> None:
    assert run(remember, "sample", ["board=7", "target=t", "engine=large", "engine.lr=1e-3"]) == 0
    assert seen == [Sample(board=7, target="t", engine=Engine(power=9, lr=1e-3))]


FIXED = (
    "settings are neither added nor removed; the keys here are board, engine, fast, name, target"
)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("bord=7", "unknown key 'bord': did you mean 'board'?"),
        ("lr=7", "unknown key 'lr': did you mean 'engine.lr'?"),
        ("engine.zzzzz=7", "unknown key 'engine.zzzzz': the keys are engine.power, engine.lr"),
        ("board.x=7", "board.x=7: Value '{}' of type 'dict' could not be converted to Integer"),
        ("+extra=7", f"extra: {FIXED}"),
        ("~board", f"board: {FIXED}"),
        ("~engine.lr", "~engine.lr: Engine (DictConfig) does not support deletion"),
        ("engine=huge", "engine=huge: there is no such option; choose from large, small"),
        ("board=abc", "board=abc: Value 'abc' of type 'str' could not be converted to Integer"),
        ("fast=perhaps", "fast=perhaps: Value 'perhaps' is not a valid bool (type str)"),
        ("board=null", "board=null: field 'board' is not Optional"),
        ("board=20", "board=20: at most 19"),
        ("target=???", "target has no value: add target=VALUE"),
        ("name=${nowhere}", "name: Interpolation key 'nowhere' not found"),
        ("--fast", "unknown flag --fast: settings have no dashes, as in fast=VALUE"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_is_right(
    override: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(remember, "sample", ["target=t", override]) == 2
    assert one_line(capsys) == expected
    assert seen == []


@pytest.mark.parametrize(
    "override",
    ["word", "=", "name=[a", "name=a,b", "engine=3", "board@x=3", "--cfg=nope", "--resolve"],
)
def test_what_hydra_refuses_is_one_line_too(
    override: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(remember, "sample", ["target=t", override]) == 2
    assert len(one_line(capsys)) > 10


def test_a_usage_error_of_the_task_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def task(command: Composed) -> None:
        raise UsageError("move z9: not on\nthe board")

    assert run(task, "sample", ["target=t"]) == 2
    assert one_line(capsys) == "move z9: not on the board"


@pytest.mark.parametrize(
    "error", [ValueError("odd"), KeyError("k"), OSError("disk"), AttributeError("a")]
)
def test_a_bug_keeps_its_traceback_and_has_code_1(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    def task(command: Composed) -> None:
        raise error

    assert run(task, "sample", ["target=t"]) == 1
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert type(error).__name__ in err
    assert "HYDRA_FULL_ERROR" not in err


@pytest.mark.parametrize("leave", [KeyboardInterrupt, SystemExit])
def test_control_c_is_quiet_and_130(
    leave: type[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    def task(command: Composed) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise leave(1)  # noqa: B904  # Lightning exits so

    assert run(task, "sample", ["target=t"]) == 130
    assert capsys.readouterr().err == ""


def test_a_mistake_in_one_job_of_a_sweep_lets_the_others_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(remember, "sample", ["-m", "target=t", "board=3,20,4"]) == 2
    assert [sample.board for sample in seen] == [3, 4]
    assert "board=20: at most 19" in capsys.readouterr().err


def test_log_of_a_run_goes_to_its_folder_and_only_warnings_to_the_console(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def task(command: Composed) -> None:
        logging.getLogger("hexlit.sample").info("a detail")
        logging.getLogger("hexlit.sample").warning("a warning")
        print(json.dumps({"ok": True}))

    options = [
        "hydra/job_logging=run_folder",
        "hydra/output=default",
        "hydra.run.dir=run",
        "hydra.job.name=sample",
    ]
    assert run(task, "sample", ["target=t", *options]) == 0
    captured = capsys.readouterr()
    assert captured.out == '{"ok": true}\n'
    assert captured.err == "WARNING: a warning\n"
    log = (tmp_path / "run" / "sample.log").read_text()
    assert "a detail" in log
    assert "a warning" in log
