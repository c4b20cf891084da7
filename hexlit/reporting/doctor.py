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
    versions = {
        name: text or f"{DASH} {report['reasons'][name]}"
        for name, text in report["versions"].items()
    }
    sections.append(Section("versions", [_rows([*versions.items()])]))
    seconds = Notes([f"looked at in {format_duration(report['seconds'])}"], "quiet")
    return Page(
        "",
        "",
        sections,
        [_rows(_overview(report)), Notes(report["auto"]["warnings"], "problem"), seconds],
    )


def _rows(rows: Rows) -> Table:
    cells = [
        [name.ljust(10), Cell(text, state="failed" * text.startswith("fails"))]
        for name, text in rows
    ]
    return table("", ["", ""], cells, names=2)


def _overview(report: Report) -> Rows:
    host, trials, auto = report["host"], report["trials"], report["auto"]
    physical = host["cores_physical"]
    cores = f"{host['cores_usable']} cores to use" + (
        f", {physical} physical" if physical is not None else ""
    )
    taken = f"{format_bytes(trials['host_bytes_a_trial'])} of memory"
    if auto["device"].startswith("cuda"):
        taken += f" and {format_bytes(trials['device_bytes_a_trial'])} on the device"
    memory = f"{format_bytes(host['memory_available_bytes'])} of {format_bytes(host['memory_total_bytes'])} available"
    trial = "1 trial" if trials["recommended"] == 1 else f"{trials['recommended']} trials"
    return [
        ("auto", f"accelerator=auto takes {auto['device']}"),
        ("host", f"{cores} · memory: {memory}"),
        (
            "trials",
            f"{trial} side by side, limited by {trials['limit']}; assumed: {taken} for each",
        ),
    ]


def _device(device: Report) -> Rows:
    reasons, product, compiled = device["reasons"], device["product"], device["compile"]
    if not device["available"]:
        return [("not there", reasons["available"])]
    free, total, error = (
        device["memory_free_bytes"],
        device["memory_total_bytes"],
        product["largest_error"],
    )
    name = device["name"] or f"unknown ({reasons['name']})"
    memory = (
        f"{format_bytes(free)} of {format_bytes(total)} free"
        if total
        else reasons["memory_total_bytes"]
    )
    near = "" if error is None else f"1000x1000 in fp32, off by {error:.1e} at most"
    formats = [
        device[f"{use}_precision"] or reasons[f"{use}_precision"]
        for use in ("training", "inference")
    ]
    used = "trains in {}, evaluates in {}".format(*formats)
    if device["device"] == "cpu":
        used += (
            ", or in fp32 by winograd where a network measures faster so"
            if formats[1] == "bf16"
            else ""
        )
        used += (
            "; a product of matrices has decided it once, accelerator.precision decides otherwise"
        )
    rows = [
        ("available", f"{name} · memory: {memory}"),
        (
            "smoke",
            _works(
                device["smoke"], "a small product of whole numbers is exact", reasons.get("smoke")
            ),
        ),
        ("product", _works(bool(near) and product["works"], near, product["reasons"].get("works"))),
        *((probe["precision"], _precision(probe)) for probe in device["precisions"]),
        ("hexlit", used),
    ]
    text = f"{DASH} {compiled['reasons'].get('works')}"
    if compiled["works"] is not None:
        difference = f"{compiled['seconds'] or 0:.1f} s to compile, off by {compiled['difference'] or 0:.1e} from eager"
        text = _works(compiled["works"], difference, compiled["reasons"].get("works"))
    fused = [("fused", _works(device["fused"], "", reasons.get("fused")))]
    return [
        *rows,
        ("compile", text),
        *(fused if device["fused"] is not None or device["device"] == "cpu" else []),
    ]


def _works(works: bool | None, how: str, reason: str | None) -> str:
    return (f"works: {how}" if how else "works") if works else f"fails: {reason}"


def _precision(probe: Report) -> str:
    reasons, fp32 = probe["reasons"], probe["precision"] == "fp32"
    hardware = {
        True: "in hardware",
        False: "not in hardware",
        None: f"in hardware or not: {reasons.get('hardware')}",
    }
    where = hardware[probe["hardware"]]
    if not probe["works"]:
        return f"fails, {where}: {reasons['works']}"
    time = f"{1000 * probe['seconds']:.1f} ms a step"
    relative = (
        f", {probe['times_fp32']:.2f} times fp32's" if probe["times_fp32"] is not None else ""
    )
    return (
        f"works, {time}"
        if fp32
        else f"works, {where}, {time}{relative}, gradients {probe['difference']:.1%} away"
    )
