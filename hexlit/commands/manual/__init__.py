"""The settings and groups of every command, for `--help`, completion and the reference page.

They are read from `conf/` and from the source of the dataclasses. Neither the commands nor Hydra are imported, so that
the answer comes at once.
"""
