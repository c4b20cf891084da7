"""The words of a command line as people type them, for Hydra's grammar."""

import difflib
import os
from collections.abc import Sequence

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from hexlit.tuning.space import quoted

FUNCTIONS = (
    "bool(",
    "choice(",
    "float(",
    "glob(",
    "int(",
    "interval(",
    "range(",
    "shuffle(",
    "sort(",
    "str(",
    "tag(",
)
"""Beginnings of values that are calls in Hydra's grammar."""
OTHER_NAMES = {
    "batch_size": "accelerator.train_batch",
    "devices": "accelerator.devices",
    "epochs": "trainer.max_epochs",
    "gpus": "accelerator.devices",
    "learning_rate": "optimizer.lr",
    "num_workers": "accelerator.workers",
    "output_dir": "hydra.run.dir",
    "precision": "accelerator.precision",
    "wd": "optimizer.weight_decay",
}
"""Names of settings in other programs, each with the key here."""


def can_be_read(word: str) -> bool:
    """Whether `word` is an override in Hydra's grammar."""
    try:
        OverridesParser.create().parse_override(word)
    except HydraException:
        return False
    return True


def as_typed(word: str) -> str:
    """The override `word`, with its value in quotes where Hydra could not read it, such as
    `source=über/a=b`.

    The value is then taken as it was typed. Lists, calls and values with a comma, which may be
    several, stay. `~/` is the home folder: few shells know it after a `=`.
    """
    key, equals, value = word.partition("=")
    if not equals or key.startswith("~"):
        return word
    if value.startswith("~/"):
        value = os.path.expanduser(value)  # noqa: PTH111 - of a text, which may be no path
        word = f"{key}={value}"
    if value.startswith(("[", "{", "'", '"', *FUNCTIONS)) or "," in value or can_be_read(word):
        return word
    in_quotes = f"{key}={quoted(value)}"
    return in_quotes if can_be_read(in_quotes) else word


def near_keys(key: str, known: Sequence[str]) -> list[str]:
    """The `known` keys that an unknown one may stand for: of the same last part, else of a similar
    one.
    """
    leaf = key.rpartition(".")[2]
    same = [one for one in known if one.rpartition(".")[2] == leaf]
    if same:
        return same
    if OTHER_NAMES.get(leaf) in known:
        return [OTHER_NAMES[leaf]]
    similar = difflib.get_close_matches(key, known, n=1, cutoff=0.75)
    if similar:
        return similar
    leaves = {one.rpartition(".")[2]: one for one in known}
    return [leaves[name] for name in difflib.get_close_matches(leaf, leaves, n=2, cutoff=0.75)]
