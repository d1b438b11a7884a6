"""Take pictures of the report and of a dashboard of a real run, for the documentation.

Usage: .venv/bin/python tools/screenshots.py results/demo

Writes docs/images/report.png (the first screen), demo.png (time over heap size) and dashboard.png (the preview of the dashboard
Experiment). The configured InfluxDB must have the experiment: run `./regatta up` and `./regatta ingest demo` first.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests"))

from helpers.opened_pages import PREVIEW_DRAWN, open_page, show, wait_for_figures, wait_until  # noqa: E402
from regatta.figures.browser import Browser, find_browser  # noqa: E402

IMAGES = ROOT / "docs" / "images"
#: the first two panels of the preview, at a width that all columns of a table fit into
_PREVIEW = {"x": 0, "y": 0, "width": 1600, "height": 910, "scale": 0.8}
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
    folder = Path(sys.argv[1]).resolve()
    report = folder / "report.html"
    if not report.is_file():
        sys.exit(f"screenshots: expected the folder of an experiment with a report · got no {report}")
    with Browser(find_browser()) as browser:
        open_page(browser, report)
        wait_for_figures(browser)
        _save(browser, IMAGES / "report.png")
        place = browser.evaluate(_PLACE)
        wait_for_figures(browser)
        _save(browser, IMAGES / "demo.png", captureBeyondViewport=True, clip=json.loads(place))
        with TemporaryDirectory() as temporary:
            _take_preview(browser, folder.name, Path(temporary) / "preview.html")


def _take_preview(browser: Browser, experiment: str, file: Path) -> None:
    chosen = ["--board", "experiment", "--var", f"experiment={experiment}"]
    subprocess.run([sys.executable, "-m", "dashboards", "preview", file, *chosen], cwd=ROOT, check=True)
    show(browser, width=1600)
    browser.call("Page.navigate", url=file.as_uri())
    wait_until(browser, PREVIEW_DRAWN)
    _save(browser, IMAGES / "dashboard.png", captureBeyondViewport=True, clip=_PREVIEW)


def _save(browser: Browser, path: Path, **options: object) -> None:
    picture = browser.call("Page.captureScreenshot", format="png", **options)["data"]
    path.write_bytes(base64.b64decode(picture))
    print(path)


if __name__ == "__main__":
    main()
