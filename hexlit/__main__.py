"""`python -m hexlit` is the same as `hexlit`."""

import sys

from hexlit.cli import main

if __name__ == "__main__":
    sys.exit(main())
