"""Where what can be computed again is kept between runs."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder of solved positions and of indices of games."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hexlit"
