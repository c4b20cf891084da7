"""The doctor's text for people."""

from typing import Any

from hexlit.reporting.doctor import doctor_page
from tests.reporting.documents import shown

GIB = 2**30


def precision(name: str, **changes: Any) -> dict[str, Any]:
    figures = {
        "works": True,
        "hardware": True,
        "seconds": 0.004,
        "times_fp32": 0.5,
        "difference": 0.002,
        "reasons": {},
    }
    return {"precision": name} | figures | changes


def device(device: str, **changes: Any) -> dict[str, Any]:
    facts = {"device": device, "available": True, "name": "EPYC", "smoke": True}
    facts |= {"memory_total_bytes": 32 * GIB, "memory_free_bytes": 20 * GIB}
    facts |= {"training_precision": "bf16-mixed", "inference_precision": "bf16"}
    return (
        facts
        | {
            "product": {"works": True, "largest_error": 2e-6, "reasons": {}},
            "precisions": [precision("fp32", times_fp32=1.0), precision("bf16")],
            "compile": {"works": True, "seconds": 12.3, "difference": 1e-7, "reasons": {}},
            "fused": None,
            "reasons": {"fused": "only the cpu has this backend"},
        }
        | changes
    )


def report(*devices: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "versions": {"torch": "2.13.0", "optuna": None},
        "host": {"cores_usable": 4, "cores_physical": 2, "memory_total_bytes": 32 * GIB}
        | {"memory_available_bytes": 20 * GIB, "reasons": {}},
        "devices": list(devices),
        "auto": {"device": "cuda:0", "warnings": []},
        "trials": {
            "recommended": 3,
            "limit": "device memory",
            "host_bytes_a_trial": GIB,
            "device_bytes_a_trial": GIB,
        },
        "seconds": 14.2,
        "reasons": {"optuna": "not installed"},
    } | changes


def line(found: str, heading: str) -> str:
    return next(row for row in found.splitlines() if row.strip().startswith(heading)).strip()


def test_a_device_that_works_is_told_with_its_figures_in_100_columns() -> None:
    text = shown(doctor_page(report(device("cpu", fused=True), device("cuda:0"))), 100)
    assert max(map(len, text.splitlines())) <= 100
    assert "accelerator=auto takes cuda:0" in text
    assert "4 cores to use, 2 physical · memory: 20.0 GiB of 32.0 GiB available" in text
    assert (
        "3 trials side by side, limited by device memory; assumed: 1.00 GiB of memory and 1.00"
        in text
    )
    assert line(text, "product") == "product     works: 1000x1000 in fp32, off by 2.0e-06 at most"
    assert "works, in hardware, 4.0 ms a step, 0.50 times fp32's, gradients 0.2% away" in line(
        text, "bf16"
    )
    assert "trains in bf16-mixed, evaluates in bf16, or in fp32 by winograd" in text
    assert "works: 12.3 s to compile, off by 1.0e-07 from eager" in text
    assert line(text, "fused") == "fused       works"
    assert line(text, "optuna") == "optuna      – not installed"


def test_a_warning_of_auto_is_shown() -> None:
    found = report(auto={"device": "cpu", "warnings": ["cuda fails; continuing with cpu"]})
    assert "continuing with cpu" in shown(doctor_page(found), 100)
