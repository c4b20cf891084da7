"""Rules, records and exact solver; importing it checks the environment of Numba, which compiles the
kernels.
"""

import os

from hexlit.errors import UsageError


def check_environment() -> None:
    """Refuse the settings of Numba with which its import fails, or warns in many lines.

    Raises:
        UsageError: NUMBA_NUM_THREADS is no whole number of at least 1.
    """
    threads = os.environ.get("NUMBA_NUM_THREADS", "1")
    if not threads.strip().isdecimal() or int(threads) < 1:
        raise UsageError(
            f"NUMBA_NUM_THREADS={threads}: a whole number of at least 1 is needed; or unset it"
        )


check_environment()
