"""A real Chromium without a window, for tests of pages;
needs chromium, chromedriver and selenium.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

DESKTOP, PHONE = 1280, 400
"""Widths of a window, in pixels."""


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """A driver of Chromium that logs its console;
    the test is skipped where something is missing.
    """
    webdriver = pytest.importorskip(
        "selenium.webdriver", reason="the extra browser is not installed"
    )
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    flags = "headless=new no-sandbox disable-gpu disable-quic no-first-run disable-background-networking"
    flags += " disable-component-update disable-sync"
    for flag in flags.split():
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={profile}")
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield opened
    finally:
        opened.quit()


def look_like(browser: Any, width: int, scheme: str) -> None:
    """Make the window `width` pixels wide, a phone's below `DESKTOP`,
    in the colours `scheme`: light or dark.
    """
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < DESKTOP}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
