"""Imported by the process that others are forked from: what a training or a sweep needs.

All of it stays, so no search for garbage needs to go through it: that would give each of the others
a copy.
"""

import gc
import importlib

gc.disable()
for name in ("hexlit.commands.hex_task", "hexlit.tuning.sweep", "hexlit.tuning.figures"):
    importlib.import_module(name)
gc.enable()
gc.freeze()
