"""`python -m hexlit` is the same as `hexlit`."""

import os
import sys

from hexlit.cli import main

if __name__ == "__main__":
    if "HEXLIT_LIFELINE" in os.environ:
        from hexlit.cluster.lifeline import end_with_parent

        end_with_parent()
    code = main()
    if "HEXLIT_TRIAL" in os.environ:
        # A trial of a sweep has written and reported everything by now, and the next one waits for
        # its slot: Python takes more than a second to unload torch.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
