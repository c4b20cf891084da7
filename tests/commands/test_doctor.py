"""`hexlit doctor`: this machine is really tried,
and the answer is text or JSON; the exit code is 0.
"""

import json
from pathlib import Path

import pytest

from hexlit.accelerate import inspection
from hexlit.accelerate.host import usable_cores
from hexlit.cli import main


@pytest.fixture
def _few_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its hardware,
    a format takes seconds for the images that its time is measured with.
    """
    monkeypatch.setattr(inspection, "TIMED_SECONDS", 0.0)
    monkeypatch.setattr(inspection, "TIMED_IMAGES", 8)


@pytest.mark.usefixtures("_few_images")
def test_json_says_what_this_machine_can_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "compile=false", "json=true"]) == 0
    captured = capsys.readouterr()
    report = json.loads(captured.out)
    cpu = report["devices"][0]
    assert (cpu["device"], cpu["available"], cpu["works"]) == ("cpu", True, True)
    assert cpu["product"]["works"]
    assert cpu["product"]["largest_error"] <= 1e-3
    assert cpu["precisions"][0]["works"]
    assert "compile" not in cpu
    assert report["auto"]["device"] in [device["device"] for device in report["devices"]]
    assert report["host"]["cores_usable"] == usable_cores()
    assert captured.err == ""
    assert list(tmp_path.iterdir()) == []
