"""Take pictures of the report of a real run, for the documentation.

Usage: .venv/bin/python tools/screenshots.py results/demo

Writes docs/images/report.png (the first screen) and demo.png (time over heap size).
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests"))

from helpers.opened_pages import open_page, wait_for_figures  # noqa: E402
from regatta.figures.browser import Browser, find_browser  # noqa: E402

IMAGES = ROOT / "docs" / "images"
#: the rectangle from the heading of a section to the end of its first group of figures
_PLACE = """(() => {
  const section = document.getElementById('heap');
  section.scrollIntoView();
  const box = section.getBoundingClientRect();
  const end = section.querySelector('details').getBoundingClientRect().bottom;
  return JSON.stringify({x: box.x - 8, y: box.y + scrollY, width: box.width + 16, height: end - box.y, scale: 1});
})()"""


def main() -> None:
    """Take the pictures."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    report = Path(sys.argv[1]).resolve() / "report.html"
    if not report.is_file():
        sys.exit(f"screenshots: expected the folder of an experiment with a report · got no {report}")
    with Browser(find_browser()) as browser:
        open_page(browser, report)
        wait_for_figures(browser)
        _save(browser, IMAGES / "report.png")
        place = browser.evaluate(_PLACE)
        wait_for_figures(browser)
        _save(browser, IMAGES / "demo.png", captureBeyondViewport=True, clip=json.loads(place))


def _save(browser: Browser, path: Path, **options: object) -> None:
    picture = browser.call("Page.captureScreenshot", format="png", **options)["data"]
    path.write_bytes(base64.b64decode(picture))
    print(path)


if __name__ == "__main__":
    main()
