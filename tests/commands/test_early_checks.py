"""What is missing is told before torch and Lightning are imported, and before anything is made."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from hexlit.commands import early_checks
from hexlit.commands.early_checks import refuse_missing, why_surely_missing
from hexlit.errors import UsageError
from hexlit.selfplay.config import boards_in_turn
from tests.commands.preloaded import run_apart

COMMANDS = [
    "strength checkpoint=nowhere",
    "export checkpoint=nowhere",
    "play checkpoint=nowhere",
    "htp checkpoint=nowhere",
    "bench what=forward checkpoint=nowhere",
    "solve openings=true checkpoint=nowhere",
    "match players=[checkpoint=nowhere,random] board=5",
    "predict checkpoint=nowhere source=nowhere target=t.csv",
    "train init_from=nowhere",
    "train data=games data.path=nowhere",
    "train task=forecast data.path=nowhere",
    "train task=classify data.path=nowhere",
    "train task=classify data.label=topic",
    "train accelerator=mps",
    "train board=[5,6] selfplay.smaller_boards=[4]",
]
PROGRAM = """
import sys
for name in [name for name in sys.modules if name.partition(".")[0] in ("torch", "lightning", "hexlit")]:
    del sys.modules[name]

class Refuses:
    def find_spec(self, name, path=None, target=None):
        if name in ("torch", "lightning"):
            raise AssertionError(f"{name} is imported")

sys.meta_path.insert(0, Refuses())
from hexlit.cli import main
for line in sys.argv[1:]:
    code = main(line.split())
    assert code == 2, (line, code)
"""


@pytest.mark.skipif(sys.platform == "darwin", reason="has mps")
def test_what_is_missing_is_told_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    done = run_apart(PROGRAM, *COMMANDS, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("hexlit ")]
    assert len(lines) == len(COMMANDS)
    for command, line in zip(COMMANDS, lines, strict=True):
        assert line.startswith(f"hexlit {command.split()[0]}: ")
        assert any(
            word in line for word in ("no such file", "no columns", "no MPS device", "both name")
        ), line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("platform", "version", "driver", "missing"),
    [
        ("linux", "2.9.0+cpu", "nvidiactl", "is built without CUDA"),
        ("linux", "2.9.0", "", "no CUDA device or driver is found"),
        ("linux", "2.9.0+cu128", "nvidiactl", ""),
        ("linux", "2.9.0+rocm6", "kfd", ""),
        ("darwin", "2.9.0", "", "macOS has no CUDA"),
        ("win32", "2.9.0", "", ""),
    ],
)
def test_only_what_surely_is_missing_is_refused_without_torch(
    platform: str,
    version: str,
    driver: str,
    missing: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / (driver or "null")).touch()
    monkeypatch.setattr(early_checks, "version", lambda name: version)
    monkeypatch.setattr(early_checks, "DEVICE_FILES", tmp_path)
    monkeypatch.setattr(sys, "platform", platform)
    for device in ("cuda", "cuda:1"):
        reason = why_surely_missing(device)
        assert missing in reason
        assert bool(reason) == bool(missing)
    assert bool(why_surely_missing("mps")) == (platform != "darwin")
    assert why_surely_missing("auto") == why_surely_missing("cpu") == ""


def test_the_machines_of_a_cluster_may_have_what_this_one_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(early_checks, "why_surely_missing", lambda device: "is not here")
    accelerator = SimpleNamespace(device="cuda")
    with pytest.raises(UsageError, match="^accelerator.device=cuda: is not here$"):
        refuse_missing(SimpleNamespace(accelerator=accelerator, where="here"))
    refuse_missing(SimpleNamespace(accelerator=accelerator, where="ray"))


def test_a_list_of_boards_is_written_out_and_not_named_twice() -> None:
    assert boards_in_turn(["board=[4,5,6]"]) == ["board=6", "selfplay.smaller_boards=[4,5]"]
    assert boards_in_turn(["board=6", "selfplay.smaller_boards=[4]"]) == [
        "board=6",
        "selfplay.smaller_boards=[4]",
    ]
