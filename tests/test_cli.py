"""`hexlit` without a command's own work: help, version, unknown commands, completion of names."""

import subprocess
import sys

import pytest

from hexlit import __version__, cli


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"]])
def test_help_lists_every_command_with_its_line(
    argv: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main(argv) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    for name, summary in cli.COMMANDS.items():
        assert f"{name} {summary}" in " ".join(out.split())


def test_version_is_the_package_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"hexlit {__version__}\n"


def test_unknown_command_is_one_line_with_the_near_ones_and_exit_code_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["slove"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "hexlit: unknown command 'slove': did you mean solve?\n"


def test_python_dash_m_is_the_same_program() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "hexlit", "nope"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("hexlit so", "solve"),
        (
            "hexlit ",
            "train games predict solve match strength play htp export bench plan doctor monitor report",
        ),
        ("hexlit solve bo", "board="),
        ("hexlit nope x", ""),
    ],
)
def test_completion_knows_commands_and_then_their_settings(
    line: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMP_LINE", line)
    assert cli.main(["-sc", "query=bash"]) == 0
    assert capsys.readouterr().out.strip() == expected


def test_windows_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert cli.main(["train"]) == 2
    assert (
        capsys.readouterr().err
        == "hexlit: Windows is not supported; use Linux, macOS, or WSL 2 on Windows\n"
    )
