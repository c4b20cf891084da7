"""hexlit: an open framework for research on the board game Hex."""

import os

__version__ = "0.1.0"

# OpenMP's threads spin for a while after each piece of work, in the hope of the next. torch and Numba each have such
# threads, so on a machine whose cores are all in use they spin against each other and stall by a factor of ten and
# more. It is read when OpenMP is loaded, hence before torch; a setting of the user's own wins.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
