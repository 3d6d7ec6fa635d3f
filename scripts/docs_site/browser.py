"""The browser in which the report is tested, and its pictures for the documentation.

``python -m docs_site.browser build/report.html docs/images``, with ``scripts`` on the path: ``make report-pictures``.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

__all__ = ["PICTURES", "chrome", "resize", "take_pictures"]

PICTURES = {
    "report": (1360, 760, "light", ""),
    "report-plot": (1360, 760, "dark", "#pba-fig4"),
    "report-phone": (400, 760, "light", "#pba-fig4"),
}
"""Width, height, colours and place of each picture."""


@contextmanager
def chrome() -> Iterator[webdriver.Chrome]:
    """A Chromium without a window, which keeps what pages write to its console."""
    driver = shutil.which("chromedriver")
    if driver is None:
        raise FileNotFoundError("chromedriver is not on PATH: scripts/chromium installs it and Chromium")
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1100,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield browser
    finally:
        browser.quit()


def resize(browser: webdriver.Chrome, width: int, height: int, mobile: bool = False) -> None:
    """Show pages as on a screen of this size."""
    size = {"width": width, "height": height, "deviceScaleFactor": 2 if mobile else 1, "mobile": mobile}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def take_pictures(report: Path, folder: Path) -> list[Path]:
    """Write the pictures of a report as PNG files."""
    paths = []
    with chrome() as browser:
        browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
        for name, (width, height, colours, place) in PICTURES.items():
            resize(browser, width, height)
            feature = {"name": "prefers-color-scheme", "value": colours}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
            browser.get("about:blank")
            browser.get(report.resolve().as_uri())
            browser.execute_script(
                f"document.querySelector('{place or 'body'}').scrollIntoView({{behavior: 'instant'}})"
            )
            path = folder / f"{name}.png"
            browser.save_screenshot(str(path))
            paths.append(path)
    return paths


if __name__ == "__main__":
    for picture in take_pictures(Path(sys.argv[1]), Path(sys.argv[2])):
        print(picture)
