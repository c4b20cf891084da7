"""The text of `hexlit doctor` for people, from the same plain values that it gives to programs."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hexlit.reporting.quantities import DASH, format_bytes, format_duration

WORKS, FAILS, UNKNOWN = Text("works", "green"), Text("fails", "red"), Text(DASH, "dim")

Report = Mapping[str, Any]


def print_report(report: Report, console: Console) -> None:
    """Print the report, at most as wide as `console`."""
    console.print(_block(_overview(report)))
    for device in report["devices"]:
        console.print(Text(f"\n{device['device']}", "bold"))
        console.print(Padding(_block(_device_rows(device)), (0, 0, 0, 2)))
    console.print(Text("\nversions", "bold"))
    console.print(Padding(_block(_version_rows(report)), (0, 0, 0, 2)))
    console.print(Text(f"\nlooked at in {format_duration(report['seconds'])}", "dim"))


def _block(rows: list[tuple[str, Text]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim", min_width=10)
    table.add_column(overflow="fold")
    for heading, text in rows:
        table.add_row(heading, text)
    return table


def _overview(report: Report) -> list[tuple[str, Text]]:
    host, trials, auto = report["host"], report["trials"], report["auto"]
    physical = host["cores_physical"]
    cores = f"{host['cores_usable']} cores to use" + (f", {physical} physical" if physical is not None else "")
    taken = f"{format_bytes(trials['host_bytes_a_trial'])} of memory"
    if auto["device"].startswith("cuda"):
        taken += f" and {format_bytes(trials['device_bytes_a_trial'])} on the device"
    rows = [("auto", Text.assemble("accelerator=auto takes ", (auto["device"], "bold")))]
    rows += [("", Text(warning, "yellow")) for warning in auto["warnings"]]
    memory = f"{format_bytes(host['memory_available_bytes'])} of {format_bytes(host['memory_total_bytes'])} available"
    rows.append(("host", Text(f"{cores} · memory: {memory}")))
    trial = "1 trial" if trials["recommended"] == 1 else f"{trials['recommended']} trials"
    rows.append(("trials", Text(f"{trial} side by side, limited by {trials['limit']}; assumed: {taken} for each")))
    return rows


def _device_rows(device: Report) -> list[tuple[str, Text]]:
    reasons = device["reasons"]
    if not device["available"]:
        return [("not there", Text(reasons["available"]))]
    free, total = device["memory_free_bytes"], device["memory_total_bytes"]
    name = device["name"] or f"unknown ({reasons['name']})"
    memory = f"{format_bytes(free)} of {format_bytes(total)} free" if total else reasons["memory_total_bytes"]
    rows = [("available", Text(f"{name} · memory: {memory}"))]
    smoke = Text.assemble(WORKS, ": a small product of whole numbers is exact")
    rows.append(("smoke", smoke if device["smoke"] else _failure(reasons["smoke"])))
    product = device["product"]
    if product["largest_error"] is None or not product["works"]:
        rows.append(("product", _failure(product["reasons"]["works"])))
    else:
        text = f": 1000x1000 in fp32, off by {product['largest_error']:.1e} at most"
        rows.append(("product", Text.assemble(WORKS, text)))
    rows += [(probe["precision"], _precision(probe)) for probe in device["precisions"]]
    trains = device["training_precision"] or reasons["training_precision"]
    evaluates = device["inference_precision"] or reasons["inference_precision"]
    rows.append(("hexlit", Text(f"trains in {trains}, evaluates in {evaluates}")))
    rows.append(("compile", _compile(device["compile"])))
    if device["fused"] is not None:
        rows.append(("fused", WORKS if device["fused"] else _failure(reasons["fused"])))
    elif device["device"] == "cpu":
        rows.append(("fused", _failure(reasons["fused"])))
    return rows


def _precision(probe: Report) -> Text:
    reasons = probe["reasons"]
    hardware = {True: "in hardware", False: "not in hardware", None: f"in hardware or not: {reasons.get('hardware')}"}
    if not probe["works"]:
        return Text.assemble(FAILS, f", {hardware[probe['hardware']]}: {reasons['works']}")
    time = f"{1000 * probe['seconds']:.1f} ms a step"
    if probe["precision"] == "fp32":
        return Text.assemble(WORKS, f", {time}")
    relative = f", {probe['times_fp32']:.2f} times fp32's" if probe["times_fp32"] is not None else ""
    difference = f"gradients {probe['difference']:.1%} away"
    return Text.assemble(WORKS, f", {hardware[probe['hardware']]}, {time}{relative}, {difference}")


def _compile(probe: Report) -> Text:
    if probe["works"] is None:
        return Text.assemble(UNKNOWN, f" {probe['reasons']['works']}")
    if not probe["works"]:
        return _failure(probe["reasons"]["works"])
    return Text.assemble(WORKS, f": {probe['seconds']:.1f} s to compile, off by {probe['difference']:.1e} from eager")


def _version_rows(report: Report) -> list[tuple[str, Text]]:
    rows = []
    for name, version in report["versions"].items():
        rows.append((name, Text(version) if version is not None else Text(f"{DASH} {report['reasons'][name]}", "dim")))
    return rows


def _failure(reason: str) -> Text:
    return Text.assemble(FAILS, f": {reason}")
