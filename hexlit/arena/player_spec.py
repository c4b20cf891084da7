"""The notation for the players of a match.

A player is a line of words:

    random
    rollouts simulations=64 playouts=32
    two_distance depth=2
    solver
    checkpoint=runs/hex5/2026-01-31_12-00-00_a1b2c3 simulations=256 algorithm=puct name=deep
    policy=runs/hex5/2026-01-31_12-00-00_a1b2c3/checkpoints/last.ckpt
    checkpoint=hexlit:small simulations=64    (a network that comes along with the package)
    level=3                                   (of hexlit:large, from 1, a beginner, to 10)
    move_timeout=30 name=mohex htp=mohex --seed 1

One word names the kind, with its source behind `=` if it needs one; the others are settings. Blanks
in a path are quoted as in a shell, and `~` is the home folder. All after `htp=` is the foreign
program's command line.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hexlit.errors import UsageError

PACKAGED = "hexlit:"
"""Begins the source of a network that comes along with the package, such as `hexlit:small`."""

Settings = dict[str, int | float | str]

KINDS: dict[str, dict[str, type[int] | type[float] | type[str]]] = {
    "checkpoint": {"simulations": int, "algorithm": str},
    "policy": {"temperature": float},
    "random": {},
    "rollouts": {"simulations": int, "playouts": int},
    "two_distance": {"depth": int, "width": int},
    "solver": {"node_limit": int},
    "htp": {"start_timeout": float, "move_timeout": float},
    "level": {},
}
"""Kind of a player -> its settings and their types."""

LEVELS: list[Settings] = [
    {"temperature": temperature} for temperature in (2.4, 2.0, 1.7, 1.45, 1.2, 0.9, 0.0)
]
LEVELS += [{"simulations": simulations} for simulations in (64, 200, 500)]
"""Settings of the levels of `hexlit:large`: its policy alone at a temperature, then a search. See
docs/networks.md.
"""

_NETWORK = "a run's folder, a .ckpt, a .safetensors or hexlit:NAME"
SOURCES = {
    "checkpoint": _NETWORK,
    "policy": _NETWORK,
    "htp": "a command line",
    "level": f"1 to {len(LEVELS)}",
}
"""Source of each kind that needs one."""


@dataclass(frozen=True)
class PlayerSpec:
    """One player of a match."""

    kind: str
    source: str = ""
    name: str = ""
    settings: Settings = field(default_factory=dict)

    @property
    def of_network(self) -> bool:
        """Whether it uses a network."""
        return self.kind in ("checkpoint", "policy")

    @property
    def label(self) -> str:
        """The given name, or one made of kind, source and settings."""
        if self.name:
            return self.name
        named = self.kind
        if self.kind == "htp":
            named = Path(shlex.split(self.source)[0]).name
        elif self.source:
            named = ("policy-" if self.kind == "policy" else "") + _network_name(self.source)
        settings = self.settings
        simulations = f"@{settings['simulations']}" if "simulations" in settings else ""
        others = [str(settings[key]) for key in ("algorithm",) if key in settings]
        others += [
            f"{key}{value}"
            for key, value in settings.items()
            if key in ("depth", "width", "playouts")
        ]
        return "-".join([named + simulations, *others])


def parse_players(given: object, *, simulations: int) -> list[PlayerSpec]:
    """The players of a list of lines, or of a mapping from names to lines.

    A checkpoint without a number of simulations gets `simulations`.

    Raises:
        UsageError: one of them cannot be understood, or two have the same name.
    """
    if isinstance(given, Mapping):
        specs = [parse_player(value, str(name)) for name, value in given.items()]
    elif isinstance(given, Sequence) and not isinstance(given, str):
        specs = [parse_player(value) for value in given]
    else:
        raise UsageError(f"players={given}: a list is needed, such as players=[random,rollouts]")
    for spec in specs:
        if spec.kind == "checkpoint":
            spec.settings.setdefault("simulations", simulations)
    names = [spec.label for spec in specs]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"players: two are named {name}; add name=NAME to one of them")
    return specs


def level_specs() -> list[PlayerSpec]:
    """The players of all levels, the weakest first."""
    return [parse_player(f"level={number}") for number in range(1, len(LEVELS) + 1)]


def parse_player(given: object, name: str = "") -> PlayerSpec:
    """One player; `name` is its name unless it sets another.

    Raises:
        UsageError: the player cannot be understood; the message names what would be right.
    """
    if not isinstance(given, str):
        raise UsageError(f"players: {given!r} is no player; write a line, such as random")
    words = _words(given)
    kinds = [word for word in words if word in KINDS]
    if len(kinds) != 1:
        raise UsageError(f"players: {given!r}: must name one of {', '.join(KINDS)}")
    kind = kinds[0]
    source = words.pop(kind)
    if bool(source) != (kind in SOURCES):
        right = f"{kind}=SOURCE, {SOURCES[kind]}" if kind in SOURCES else f"{kind} alone"
        raise UsageError(f"players: {given!r}: write {right}")
    chosen = words.pop("name", name)
    if not chosen.isprintable():
        raise UsageError(f"players: name={chosen!r}: must be on one line")
    if kind == "level":
        if source not in map(str, range(1, len(LEVELS) + 1)):
            raise UsageError(
                f"players: level={source}: must be a whole number from 1 to {len(LEVELS)}"
            )
        settings = LEVELS[int(source) - 1]
        kind = "checkpoint" if "simulations" in settings else "policy"
        return PlayerSpec(kind, f"{PACKAGED}large", chosen or f"level-{source}", dict(settings))
    if source and kind != "htp":
        source = str(Path(source).expanduser())
    typed = {key: _value(kind, key, text) for key, text in words.items()}
    return PlayerSpec(kind, source, chosen, typed)


def _words(line: str) -> dict[str, str]:
    """The words of a line by their part before `=`; all after `htp=` is one."""
    head, *command = re.split(r"(?:^|\s)htp=", line, maxsplit=1)
    try:
        words = [word.partition("=")[::2] for word in shlex.split(head)]
        words += [("htp", text.strip()) for text in command]
        shlex.split(" ".join(command))
    except ValueError as error:
        raise UsageError(f"players: {line!r} cannot be read: {error}") from error
    if len(dict(words)) < len(words):
        raise UsageError(f"players: {line!r} has a word twice")
    return dict(words)


def _value(kind: str, key: str, text: str) -> int | float | str:
    types = KINDS[kind]
    if key not in types:
        raise UsageError(
            f"players: {kind} has no setting {key!r}: it has {', '.join([*types, 'name'])}"
        )
    try:
        return types[key](text)
    except ValueError:
        raise UsageError(
            f"players: {key}={text} of {kind}: must be of type {types[key].__name__}"
        ) from None


def _network_name(source: str) -> str:
    """A short name of a network: that of its run, and that of the file unless it is the best one."""
    if source.startswith(PACKAGED):
        return source.replace(":", "-")
    path = Path(source)
    if path.suffix == ".safetensors":
        return path.stem
    folder = path.absolute()
    if path.suffix == ".ckpt":
        if path.parent.name != "checkpoints":
            return path.stem
        folder = folder.parent.parent
    run = f"{folder.parent.name}-{folder.name.rpartition('_')[2]}"
    return run if path.suffix != ".ckpt" or path.stem == "best" else f"{run}-{path.stem}"
