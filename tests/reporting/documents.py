"""Folders of runs and matches as hexlit leaves them,
made by hand; and a reader of pages that checks them.
"""

import base64
import csv
import hashlib
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from rich.console import Console

from hexlit.reporting.page import Page, Section
from hexlit.reporting.run import print_end
from hexlit.reporting.run_files import RunFiles
from hexlit.reporting.text import show

VOID = {"meta", "link", "img", "input", "br", "hr"}
NASTY = "</script><img src=x onerror=alert(1)>&\"'`${7}"
"""Text that must pass through a page unchanged."""


class PageReader(HTMLParser):
    """The elements of a page, and its text without scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.scripts: list[tuple[str, str]] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs).get("type") or "", ""))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            kind, text = self.scripts[-1]
            self.scripts[-1] = (kind, text + data)
        elif not self._open or self._open[-1] != "style":
            self.text += data

    def close(self) -> None:
        super().close()
        assert self._open == [], "elements that are not closed"

    def values(self, name: str) -> list[str]:
        """Every value of the attribute `name`."""
        return [attributes[name] or "" for _, attributes in self.tags if name in attributes]


def parsed(page: str) -> PageReader:
    """The page, checked to be well formed."""
    reader = PageReader()
    reader.feed(page)
    reader.close()
    return reader


def checked(page: str) -> PageReader:
    """The page, checked to be well formed, self-contained, and with one script of its own."""
    reader = parsed(page)
    ids = reader.values("id")
    assert len(ids) == len(set(ids))
    for name in ("for", "aria-labelledby", "data-table"):
        assert set(reader.values(name)) <= set(ids)
    links = reader.values("href")
    assert {link.removeprefix("#") for link in links if link.startswith("#")} <= set(ids)
    assert not [link for link in links + reader.values("src") if re.match(r"(https?:)?//", link)]
    assert not [
        source
        for source in reader.values("src")
        if not source.startswith("data:image/svg+xml;base64,")
    ]
    assert not [
        name for _, attributes in reader.tags for name in attributes if name.startswith("on")
    ]
    assert {tag for tag, _ in reader.tags} & {"iframe", "object", "embed", "form"} == set()
    assert all(attributes.get("alt") for tag, attributes in reader.tags if tag == "img")
    own = [text for kind, text in reader.scripts if kind != "application/json"]
    assert len(own) == 1
    digest = base64.b64encode(hashlib.sha256(own[0].encode()).digest()).decode()
    (policy,) = [
        a["content"] for _, a in reader.tags if a.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    return reader


def shown(page: Page, width: int, *, rows: int | None = None, **settings: Any) -> str:
    """The text of a page on a console of this width."""
    file = io.StringIO()
    show(page, Console(file=file, width=width, **{"highlight": False} | settings), rows=rows)
    return file.getvalue()


def shown_end(
    summary: Mapping[str, Any], sections: Callable[[RunFiles], Sequence[Section]], width: int
) -> str:
    """The text at the end of the run in `runs/one` on a console of this width."""
    file = io.StringIO()
    print_end(Console(file=file, width=width), summary, Path("runs/one"), sections)
    return file.getvalue()


def make_run(folder: Path, *, epochs: int = 3, task: str = "hex", **summary: Any) -> Path:
    """A run of `epochs` epochs, each of ten seconds after five of starting; on a board of 3."""
    folder.mkdir(parents=True)
    (folder / ".hydra").mkdir()
    config = f"name: tiny\ntask: {task}\ntrainer:\n  max_epochs: {epochs}\n  monitor: val.score\nnet:\n  blocks: [1]\n"
    (folder / ".hydra" / "config.yaml").write_text(config)
    (folder / ".hydra" / "overrides.yaml").write_text("- net.blocks=[1]\n")
    lines = [
        "epoch,step,train.loss,train.policy_loss,val.loss,val.score,train.lr,cost.flops,cost.seconds"
    ]
    for n in range(epochs):
        lines.append(
            f"{n},{n},{3 - n},{2 - n / 2},{3.5 - n},{0.3 * n},0.01,{(n + 1) * 1e12},{10 * n + 15}"
        )
    (folder / "metrics.csv").write_text("\n".join(lines) + "\n")
    phases = ["epoch,phase,wall_seconds,device_utilisation,not_measured", "0,starting,5,0.5,"]
    for n in range(epochs):
        phases += [f"{n},training,{11 if n == 0 else 8},0.9,", f"{n},saving,2,0.1,"]
    (folder / "phases.csv").write_text("\n".join(phases) + "\n")
    samples = (
        "seconds,processes,cpu_percent,host_bytes,device_bytes,device_utilisation,not_measured\n"
    )
    samples += "".join(f"{n},3,{50 + n},{2**30},,,\n" for n in range(1, 20))
    (folder / "resources.csv").write_text(samples)
    steps = "epoch,examples_per_second,load_share\n" + "".join(
        f"{n},{100 + n},0.05\n" for n in range(epochs)
    )
    (folder / "steps.csv").write_text(steps)
    facts = {
        "name": "tiny",
        "task": task,
        "epochs": epochs,
        "wall_seconds": 36.0,
        "seed": 1,
        "device": "cpu",
    }
    document = {
        **facts,
        "versions": {"hexlit": "1"},
        "best": {"epoch": epochs - 1, "monitor": "val.score", "value": 0.6, "restored": False},
        "ending": {"why": "epochs", "epochs": epochs, "asked": epochs, "target": None},
        "phases": {
            "training": {
                "wall_seconds": 27.0,
                "device_utilisation": 0.9,
                "examples_per_second": 100.0,
            }
        },
        **summary,
    }
    (folder / "summary.json").write_text(json.dumps(document))
    return folder


def make_match(folder: Path, names: tuple[str, str] = ("deep", "random")) -> Path:
    """A match of two games on a board of 3."""
    folder.mkdir(parents=True)
    columns = ("pair", "black", "white", "winner", "ending", "opening", "plies", "moves", "note")
    games: list[tuple[object, ...]] = [
        (0, *names, "black", "connected", 1, 5, "b1 a2 b2 a3 b3", "")
    ]
    games.append((0, *reversed(names), "white", "resigned", 1, 2, "b1 b2", ""))
    with (folder / "games.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *games])
    (folder / "match.json").write_text(json.dumps(match_document(names)))
    return folder


def match_document(names: tuple[str, str] = ("deep", "random")) -> dict[str, Any]:
    """The content of its `match.json`."""
    player = {"games": 2, "low": -10.0, "high": 300.0}
    counts = {
        "games": 2,
        "pairs": 1,
        "split_pairs": 0,
        "black_wins": 1,
        "swaps": 0,
        "games_per_second": 1.0,
    }
    return counts | {
        "board": 3,
        "anchor": names[1],
        "specs": {
            name: {"kind": "random", "source": "", "settings": {"depth": 2}} for name in names
        },
        "players": [
            {
                "name": names[0],
                "elo": 120.0,
                "wins": 2,
                "bound": "at least",
                "score": 1.0,
                **player,
            },
            {"name": names[1], "elo": 0.0, "wins": 0, "bound": "at most", "score": 0.0, **player},
        ],
        "cross": {
            names[0]: {names[1]: {"games": 2, "wins": 2}},
            names[1]: {names[0]: {"games": 2, "wins": 0}},
        },
        "forfeits": [],
        "sprt": None,
        "seconds": 2.0,
    }
