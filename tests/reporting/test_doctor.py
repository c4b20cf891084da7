"""The doctor's text for people."""

from hexlit.reporting.doctor import doctor_page
from tests.reporting.documents import shown

GIB = 2**30
PRECISION = {"works": True, "seconds": 0.004, "times_fp32": 0.5, "difference": 0.002}
CARD = {
    "device": "cuda:0",
    "available": True,
    "works": True,
    "name": "H200",
    "memory_total_bytes": 32 * GIB,
    "memory_free_bytes": 20 * GIB,
    "training_precision": "bf16-mixed",
    "inference_precision": "bf16",
    "product": {"works": False, "reason": "off by 2"},
    "precisions": [{"precision": "bf16", **PRECISION}],
    "compile": {"works": True, "seconds": 12.3, "difference": 1e-7},
}
REPORT = {
    "versions": {"torch": "2.13.0", "driver": None},
    "host": {
        "cores_usable": 4,
        "memory_total_bytes": 32 * GIB,
        "memory_available_bytes": 20 * GIB,
    },
    "devices": [CARD, {"device": "mps", "available": False, "reason": "no Mac"}],
    "profiles": [{"device": "cpu", "precision": "32-true", "inference_dtype": "float32"}],
    "auto": {"device": "cpu", "warnings": ["cuda fails; continuing with cpu"]},
    "seconds": 14.2,
}


def test_each_device_has_its_figures_or_reasons_in_100_columns() -> None:
    text = shown(doctor_page(REPORT), 100)
    assert max(map(len, text.splitlines())) <= 100
    for line in (
        "accelerator=auto takes cpu",
        "4 cores to use · memory: 20.0 GiB of 32.0 GiB available",
        "cuda fails; continuing with cpu",
        "H200 · memory: 20.0 GiB of 32.0 GiB free",
        "trains in bf16-mixed, evaluates in bf16",
        "product     fails: off by 2",
        "works: 4.0 ms a step, 0.50 times fp32's, gradients 0.2% away",
        "works: 12.3 s to compile, off by 1.0e-07 from eager",
        "no Mac",
        "inference dtype",
        "driver      –",
    ):
        assert line in text
