import importlib.util
import re
from pathlib import Path

import pytest

from hexlit.api import interface
from hexlit.errors import UsageError
from hexlit.extras import install


def test_without_pandas_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(interface, "find_spec", lambda name: None if name == "pandas" else found(name))
    with pytest.raises(UsageError, match=re.escape(install("notebooks"))):
        interface.frame([])


def test_a_table_that_is_not_there_is_empty_and_columns_can_be_named(tmp_path: Path) -> None:
    assert interface.frame_of_csv(tmp_path / "metrics.csv").empty
    assert interface.frame([], ("a", "b")).columns.tolist() == ["a", "b"]
