"""The notation for the players of a match.

A player is a line of words, or a mapping with the same names:

    random
    rollouts simulations=1000
    two_distance depth=2
    solver
    checkpoint=runs/hex5/2026-01-31_12-00-00_a1b2c3 simulations=256 algorithm=puct name=deep
    policy=runs/hex5/2026-01-31_12-00-00_a1b2c3/checkpoints/last.ckpt
    checkpoint=hexlit:small simulations=64              (a network that comes along with the package)
    move_timeout=30 name=mohex htp=mohex --seed 1

    {kind: checkpoint, source: runs/hex5/2026-01-31_12-00-00_a1b2c3, simulations: 256}

One word names the kind, with its source behind `=` if it needs one; the others are settings. Blanks in a path are
quoted as in a shell, and `~` is the home folder. All after `htp=` is the foreign program's command line.
"""

import logging
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hexlit.errors import UsageError

log = logging.getLogger(__name__)

PACKAGED = "hexlit:"
"""Begins the source of a network that comes along with the package, such as `hexlit:small`."""

Settings = dict[str, int | float | str]

KINDS: dict[str, dict[str, type[int] | type[float] | type[str]]] = {
    "checkpoint": {"simulations": int, "algorithm": str},
    "policy": {},
    "random": {},
    "rollouts": {"simulations": int, "playouts": int, "exploration": float},
    "two_distance": {"depth": int, "width": int},
    "solver": {"node_limit": int},
    "htp": {"start_timeout": float, "move_timeout": float},
}
"""Kind of a player -> its settings and their types."""

_NETWORK = "a run's folder, a .ckpt, a .safetensors or hexlit:NAME"
SOURCES = {"checkpoint": _NETWORK, "policy": _NETWORK, "htp": "a command line"}
"""Source of each kind that needs one."""

_TYPES = {int: "a whole number", float: "a number", str: "a word"}


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
        named = {"checkpoint": "", "policy": "policy-", "htp": ""}.get(self.kind, self.kind)
        if self.kind == "htp":
            named = Path(shlex.split(self.source)[0]).name
        elif self.source:
            named += _network_name(self.source)
        simulations = self.settings.get("simulations")
        others = [str(value) for key, value in self.settings.items() if key == "algorithm"]
        others += [f"{key}{value}" for key, value in self.settings.items() if key in ("depth", "width", "playouts")]
        return "-".join([named + ("" if simulations is None else f"@{simulations}"), *others])


def parse_players(given: object, *, simulations: int) -> list[PlayerSpec]:
    """The players of a list of lines or mappings, or of a mapping from names to these.

    A checkpoint without a number of simulations gets `simulations`.

    Raises:
        UsageError: one of them cannot be understood, or two have the same name.
    """
    if isinstance(given, Mapping):
        specs = [parse_player(value, str(name)) for name, value in given.items()]
    elif isinstance(given, Sequence) and not isinstance(given, str):
        specs = [parse_player(value) for value in given]
    else:
        given = "null" if given is None else given
        raise UsageError(f"players={given}: a list is needed, such as players=[random,rollouts]")
    for spec in specs:
        if spec.kind == "checkpoint":
            spec.settings.setdefault("simulations", simulations)
    names = [spec.label for spec in specs]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"players: two are named {name}; add name=NAME to one of them")
    return specs


def parse_player(given: object, name: str = "") -> PlayerSpec:
    """One player; `name` is its name unless it sets another.

    Raises:
        UsageError: the player cannot be understood; the message says what would be right.
    """
    if isinstance(given, str):
        words = _words(given)
    elif isinstance(given, Mapping):
        if "kind" not in given:
            names = ", ".join(KINDS)
            raise UsageError(f"players: {dict(given)}: write {{kind: KIND, source: SOURCE}}, a kind out of {names}")
        words = {str(key): str(value) for key, value in given.items() if key not in ("kind", "source")}
        words[str(given.get("kind", ""))] = str(given.get("source", ""))
    else:
        raise UsageError(f"players: {given!r} is no player; write a line such as 'checkpoint=FILE simulations=64'")
    kinds = [word for word in words if word in KINDS]
    if len(kinds) != 1:
        known = ", ".join(KINDS)
        raise UsageError(f"players: {given!r} names {'no' if not kinds else 'more than one'} kind of player: {known}")
    kind = kinds[0]
    source = words.pop(kind)
    if bool(source) != (kind in SOURCES):
        right = f"{kind}=SOURCE, {SOURCES[kind]}" if kind in SOURCES else f"{kind} alone, without a source"
        raise UsageError(f"players: {given!r}: write {right}")
    chosen = words.pop("name", name)
    if not chosen.isprintable():
        raise UsageError(f"players: name={chosen!r}: letters, digits and punctuation on one line are needed")
    settings = {key: _value(kind, key, text) for key, text in words.items()}
    return PlayerSpec(kind, _at_home(kind, source), chosen, settings)


def _at_home(kind: str, source: str) -> str:
    """`source` with `~` as the home folder: of a path, or of every word of a command line."""
    if kind != "htp":
        return str(Path(source).expanduser()) if source else source
    words = shlex.split(source)
    home = [str(Path(word).expanduser()) if word.startswith("~") else word for word in words]
    return source if home == words else shlex.join(home)


def _words(line: str) -> dict[str, str]:
    """The words of a line by their part before `=`; all after `htp=` is one."""
    start = re.search(r"(?:^|\s)htp=", line)
    command = line[start.end() :].strip() if start else ""
    try:
        words = shlex.split(line[: start.start()] if start else line)
        shlex.split(command)
    except ValueError as error:
        raise UsageError(f"players: {line!r} cannot be read: {error}".replace("No ", "no ")) from error
    settings: dict[str, str] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key in settings:
            raise UsageError(f"players: {line!r} says {key} twice")
        settings[key] = value
    if start:
        settings["htp"] = command
        for word in shlex.split(command)[1:]:
            if word.partition("=")[0] in ("name", *KINDS["htp"]) and "=" in word:
                log.warning("players: %r goes to the program of htp=; write it before htp= to set it here", word)
    return settings


def _value(kind: str, key: str, text: str) -> int | float | str:
    types = KINDS[kind]
    if key not in types:
        known = ", ".join([*types, "name"])
        raise UsageError(f"players: {kind} has no setting {key!r}: it has {known}")
    try:
        return types[key](text)
    except ValueError:
        raise UsageError(f"players: {key}={text} of {kind}: expected {_TYPES[types[key]]}") from None


def _network_name(source: str) -> str:
    """A short name of a network: that of its run, and its own unless it is the best one's."""
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
