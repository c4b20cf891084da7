"""What several settings of the search decide together; their ranges are tested with those of all settings."""

import pytest

from hexlit.errors import UsageError
from hexlit.search.config import SearchConfig


def test_leaves_of_different_root_moves_need_several_leaves() -> None:
    with pytest.raises(UsageError, match=r"^search\.root_batch=true: search\.leaves=1 leaves nothing to batch"):
        SearchConfig(root_batch=True)
