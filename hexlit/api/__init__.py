"""hexlit from Python: what `import hexlit` gives, a thin layer over the commands and the rooms
below them.
"""
