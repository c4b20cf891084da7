"""What every command takes, read from `conf/` and the source of the dataclasses: `--help`, completion, reference.

No module of hexlit is imported for it beyond this package, and Hydra neither, so that it answers at once.
"""
