"""`hexlit report wandb=ENTITY/PROJECT`: built offline,
saved where there is a network, one clear line otherwise.
"""

import io
import json
from typing import Any

import pytest
from wandb_workspaces.workspaces import Workspace

from hexlit.commands import report_run
from hexlit.commands.report import main

pytestmark = pytest.mark.usefixtures("no_account")


def test_the_page_is_shown_as_json_without_a_network(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wandb=team/hexlit", "json=true"]) == 0
    page: dict[str, Any] = json.loads(capsys.readouterr().out)
    names = [section["name"] for section in page["section"]["panelBankConfig"]["sections"]]
    assert names[:3] == ["Training", "Self-play", "Strength"]
    assert {"Sweeps", "Accelerators", "Matches", "Other tasks"} <= set(names)


def test_without_a_key_or_a_network_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(report_run, "has_credentials", lambda: False)
    assert main(["wandb=team/hexlit"]) == 2
    (said,) = capsys.readouterr().err.strip().splitlines()
    assert "no API key was found" in said
    monkeypatch.setattr(report_run, "has_credentials", lambda: True)
    monkeypatch.setattr(report_run, "urlopen", refused)
    assert main(["wandb=team/hexlit"]) == 2
    (said,) = capsys.readouterr().err.strip().splitlines()
    assert "not saved" in said


def refused(*arguments: Any, **keywords: Any) -> None:
    raise ConnectionRefusedError(111, "refused")


def test_with_both_it_is_saved(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    saved: list[Workspace] = []
    monkeypatch.setattr(report_run, "has_credentials", lambda: True)
    monkeypatch.setattr(report_run, "urlopen", lambda *given, **named: io.BytesIO())
    monkeypatch.setattr(Workspace, "save", lambda self: saved.append(self))
    monkeypatch.setattr(Workspace, "url", "https://example.org/page")
    assert main(["wandb=team/hexlit"]) == 0
    assert [(page.entity, page.project) for page in saved] == [("team", "hexlit")]
    assert capsys.readouterr().out == "saved: https://example.org/page\n"

    def failing(self: Workspace) -> None:
        raise ValueError("no such project\nreally")

    monkeypatch.setattr(Workspace, "save", failing)
    assert main(["wandb=team/hexlit"]) == 2
    assert "not saved (no such project really)" in capsys.readouterr().err
