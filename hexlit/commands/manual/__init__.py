"""The settings and groups of every command, for `--help`, completion and the reference page."""
