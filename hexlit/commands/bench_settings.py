"""The settings of `hexlit bench` as the schema of its configuration."""

from hexlit.bench.config import BenchConfig as BenchConfig
from hexlit.commands.application import register_schema

register_schema("bench", BenchConfig)
