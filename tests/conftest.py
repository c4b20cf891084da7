"""Settings for all tests."""

import sys
from pathlib import Path

from hypothesis import settings

# Tests import the plain Python references that stand beside them, however pytest was started. At the end of the path,
# so that hexlit is imported as it was installed.
ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.append(ROOT)

# The first call of a kernel compiles it, which no deadline of an example can foresee.
settings.register_profile("hexlit", deadline=None)
settings.load_profile("hexlit")
