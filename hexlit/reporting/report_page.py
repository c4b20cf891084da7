"""`report.html`: the results of a sweep on one page that needs nothing else, no network and no script."""

import base64
import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hexlit.reporting.quantities import DASH
from hexlit.reporting.sweep import FLAGS, best_line, flagged_trials, headline_facts, shown_columns, value_text

_STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #24292f; margin: 2rem auto; max-width: 72rem; padding: 0 1.2rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
.quiet { color: #57606a; } .mono, td.mono { font-family: ui-monospace, monospace; font-size: .88em; }
.facts { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1.2rem 0; padding: 0; list-style: none; }
.facts li { border: 1px solid #d5d8dc; border-radius: 6px; padding: .45rem .8rem; min-width: 6.5rem; }
.facts b { display: block; font-size: 1.15rem; } .facts span { color: #57606a; font-size: .82rem; }
.scroll { overflow: auto; max-height: 38rem; border: 1px solid #e8eaed; border-radius: 6px; }
table { border-collapse: collapse; font-size: .87rem; width: 100%; }
th { position: sticky; top: 0; background: #f6f8fa; text-align: left; font-weight: 600; }
th, td { padding: .32rem .7rem; border-bottom: 1px solid #e8eaed; white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; } td.wide { white-space: normal; }
tr.best td { background: #fbf0f7; font-weight: 600; }
.state::before { content: "●"; margin-right: .35em; }
.complete::before { color: #3b6fb6; } .pruned::before { color: #d9902f; } .failed::before { color: #c43c39; }
.running::before { color: #3a9a5b; } .interrupted::before { color: #8b9098; }
figure { margin: 0 0 1.6rem; } figure img { max-width: 100%; height: auto; border: 1px solid #e8eaed; }
figcaption { font-weight: 600; margin-bottom: .3rem; }
"""


@dataclass(frozen=True)
class Drawing:
    """One figure as it is drawn; its data lies in `figures/NAME.json`."""

    name: str
    title: str
    svg: bytes


def report_page(document: Mapping[str, Any], drawings: Sequence[Drawing]) -> str:
    """The whole page, from the content of `overall_results.json` and the figures."""
    name = document["name"] or document["folder"]
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        # Whatever a name or a reason holds, nothing is run and nothing is fetched.
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width">',
        f"<title>{_text(name)}: results of the sweep</title><style>{_STYLE}</style></head><body>",
        f"<h1>{_text(name)}</h1>",
        f'<p class="quiet"><span class="mono">{_text(document["folder"])}</span> · {_text(_made_by(document))}</p>',
        _facts(document),
        f"<p><b>{_text(best_line(document))}</b><br><span class='quiet'>"
        f"Ranked {_text(document['ranking']['reason'])}.</span></p>",
        *(f'<p class="state failed">{_text(problem)}</p>' for problem in document["problems"]),
        "<h2>Leaderboard</h2>",
        _leaderboard(document),
        "<h2>Failures</h2>",
        _failures(document),
        "<h2>Sanity</h2>",
        _sanity(document),
        "<h2>Figures</h2>" if drawings else "",
        *(_figure(drawing) for drawing in drawings),
        "</body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _made_by(document: Mapping[str, Any]) -> str:
    parts = [document["state"]]
    if document["started"] is not None:
        parts.append(f"begun {datetime.fromtimestamp(document['started']):%Y-%m-%d %H:%M}")
    if document["kind"] == "sequential":
        return " · ".join([*parts, "a plain --multirun"])
    parts += [text for text in (document["sampler"], document["pruner"]) if text]
    return " · ".join(parts)


def _facts(document: Mapping[str, Any]) -> str:
    entries = (f"<li><b>{_text(value)}</b><span>{_text(name)}</span></li>" for name, value in headline_facts(document))
    return f'<ul class="facts">{"".join(entries)}</ul>'


def _leaderboard(document: Mapping[str, Any]) -> str:
    if not document["trials"]:
        return '<p class="quiet">No trial has begun.</p>'
    columns = shown_columns(document)
    head = "".join(
        _head(name, number)
        for name, number in [
            ("rank", True),
            ("trial", True),
            ("state", False),
            *((one.heading, True) for one in columns),
        ]
    )
    names = [parameter["name"] for parameter in document["parameters"]]
    head += "".join(_head(name, True) for name in names) + _head("flags", False) + _head("folder", False)
    rows = []
    front = document["ranking"]["pareto_front"]
    for trial in document["trials"]:
        best = ' class="best"' if trial["number"] == document["best"] else ""
        rank = "front" if trial["number"] in front else DASH if trial["rank"] is None else trial["rank"]
        cells = [_cell(rank, True), _cell(trial["number"], True), _state(trial["state"])]
        cells += [_cell(one.text(trial), True) for one in columns]
        cells += [_cell(value_text(trial["params"][n]) if n in trial["params"] else DASH, True) for n in names]
        cells += [_cell(", ".join(trial["flags"]), False), f'<td class="mono">{_text(trial["folder"] or DASH)}</td>']
        rows.append(f"<tr{best}>{''.join(cells)}</tr>")
    return _table(head, rows)


def _failures(document: Mapping[str, Any]) -> str:
    if not document["failures"]:
        return '<p class="quiet">None.</p>'
    head = _head("trial", True) + _head("state", False) + _head("reason", False) + _head("folder", False)
    rows = (
        f"<tr>{_cell(failure['trial'], True)}{_state(failure['state'])}"
        f'<td class="wide">{_text(failure["reason"])}</td><td class="mono">{_text(failure["folder"] or DASH)}</td></tr>'
        for failure in document["failures"]
    )
    return _table(head, rows)


def _sanity(document: Mapping[str, Any]) -> str:
    rows = []
    for flag, meaning in FLAGS.items():
        trials = ", ".join(map(str, flagged_trials(document, flag))) or "none"
        rows.append(f'<tr><td>{flag}</td><td class="wide">{meaning}</td><td class="wide">{trials}</td></tr>')
    return _table(_head("flag", False) + _head("meaning", False) + _head("trials", False), rows)


def _figure(drawing: Drawing) -> str:
    # As an image of its own: names in one figure cannot meet those in another, and no script in it would run.
    data = base64.b64encode(drawing.svg).decode("ascii")
    title = _text(drawing.title)
    return (
        f'<figure><figcaption>{title}</figcaption><img alt="{title}" src="data:image/svg+xml;base64,{data}">'
        f'<div class="quiet mono">data: figures/{_text(drawing.name)}.json</div></figure>'
    )


def _table(head: str, rows: Iterable[str]) -> str:
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _head(name: object, number: bool) -> str:
    kind = "number" if number else "text"
    return f'<th class="{kind}">{_text(name)}</th>'


def _cell(value: object, number: bool) -> str:
    kind = "number" if number else "text"
    return f'<td class="{kind}">{_text(value)}</td>'


def _state(state: str) -> str:
    return f'<td><span class="state {_text(state)}">{_text(state)}</span></td>'


def _text(value: object) -> str:
    return html.escape(str(value), quote=True)
