"""The refusal of missing extras."""

import re

import pytest

from hexlit.errors import UsageError
from hexlit.extras import install, require


def test_only_missing_packages_are_named() -> None:
    require("task=mine", {"json": "json"}, "text")
    with pytest.raises(UsageError, match=rf"^task=mine: needs the package absent; {re.escape(install('text'))}$"):
        require("task=mine", {"json": "json", "no_such_module": "absent"}, "text")
