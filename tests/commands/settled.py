"""Imported last by the process that others are forked from.

All that it has imported stays, so no search for garbage needs to go through it: that would give each of them a copy.
"""

import gc

gc.collect()
gc.freeze()
