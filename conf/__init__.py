"""The configuration of every command, shipped in the wheel as the package `hexlit.conf`."""
