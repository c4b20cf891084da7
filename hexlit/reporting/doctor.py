"""The report of `hexlit doctor`, from the same plain values that it gives to programs."""

from collections.abc import Mapping
from typing import Any

from hexlit.reporting.page import Cell, Notes, Page, Section, Table, table
from hexlit.reporting.quantities import DASH, format_bytes, format_duration

Report = Mapping[str, Any]
Rows = list[tuple[str, str]]


def doctor_page(report: Report) -> Page:
    """What accelerator=auto takes, the host, each device, and the versions."""
    sections = [Section(device["device"], [_rows(_device(device))]) for device in report["devices"]]
    profiles = report["profiles"]
    headings = [name.replace("_", " ") for name in profiles[0]]
    rows = [[str(value) for value in profile.values()] for profile in profiles]
    sections.append(Section("a run by device", [table("", headings, rows)]))
    versions = [(name, text or DASH) for name, text in report["versions"].items()]
    sections.append(Section("versions", [_rows(versions)]))
    host = report["host"]
    free = format_bytes(host["memory_available_bytes"])
    total = format_bytes(host["memory_total_bytes"])
    overview = [
        ("auto", f"accelerator=auto takes {report['auto']['device']}"),
        ("host", f"{host['cores_usable']} cores to use · memory: {free} of {total} available"),
    ]
    seconds = Notes([f"looked at in {format_duration(report['seconds'])}"], "quiet")
    warnings = Notes(report["auto"]["warnings"], "problem")
    return Page("", "", sections, [_rows(overview), warnings, seconds])


def _rows(rows: Rows) -> Table:
    cells = []
    for name, text in rows:
        state = "failed" if text.startswith("fails") else ""
        cells.append([name.ljust(10), Cell(text, state=state)])
    return table("", ["", ""], cells, names=2)


def _device(device: Report) -> Rows:
    if not device["available"]:
        return [("not there", device["reason"])]
    if not device["works"]:
        rows = [("available", f"fails: {device['reason']}")]
    else:
        free = format_bytes(device["memory_free_bytes"])
        total = format_bytes(device["memory_total_bytes"])
        used = f"trains in {device['training_precision']}, evaluates in {device['inference_precision']}"
        rows = [("available", f"{device['name']} · memory: {free} of {total} free"), ("auto", used)]
    rows.append(_row("product", device["product"], "off by {largest_error:.1e} at most"))
    for probe in device["precisions"]:
        text = "{milliseconds:.1f} ms a step, {times_fp32:.2f} times fp32's, gradients {difference:.1%} away"
        milliseconds = 1000 * probe.get("seconds", 0.0)
        rows.append(_row(probe["precision"], {**probe, "milliseconds": milliseconds}, text))
    if "compile" in device:
        text = "{seconds:.1f} s to compile, off by {difference:.1e} from eager"
        rows.append(_row("compile", device["compile"], text))
    return rows


def _row(name: str, probe: Report, text: str) -> tuple[str, str]:
    """The row of a test: `text` with its values, or the reason of its failure."""
    if not probe["works"]:
        return name, f"fails: {probe['reason']}"
    return name, f"works: {text.format_map(probe)}"
