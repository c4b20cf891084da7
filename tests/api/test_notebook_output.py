"""The output of notebooks: nothing where quiet, no colours of a terminal."""

import pytest

from hexlit.api.interface import console_for
from hexlit.api.machine import Checkup
from hexlit.reporting.page import Page


def test_a_quiet_console_shows_nothing_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    with console_for(quiet=True) as console:
        assert not console.is_jupyter


def test_the_report_of_the_doctor_is_plain_text_where_a_kernel_asks_for_colours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    page = Page("works", "", [])
    monkeypatch.setattr("hexlit.reporting.doctor.doctor_page", lambda found: page)
    assert str(Checkup({})) == "works\n"
