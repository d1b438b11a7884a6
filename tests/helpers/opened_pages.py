"""The browser that draws figures, and a page in it: at a size, in a color scheme, with axe-core and keys.

`tools/screenshots.py` opens pages with it, too.
"""

from __future__ import annotations

import json
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from regatta.figures.browser import Browser, find_browser
from regatta.host.errors import HostError

try:
    #: path of the browser; "" if there is none
    BROWSER = find_browser()
except HostError:
    BROWSER = ""
needs_browser = pytest.mark.skipif(
    not BROWSER, reason="NOT DRAWN: no Chromium or Chrome on PATH (apt-get install chromium)"
)
WIDTH, HEIGHT = 1280, 800
_DRAWN_S = 300.0
#: Figures are images with a label. axe-core would spend most of its time inside them, on elements of plotly.
_WITHOUT_DRAWINGS = """if (window.Plotly) { window.Plotly.react = () => Promise.resolve(); }
document.querySelectorAll(".plot, .plotly-graph-div").forEach(plot => plot.replaceChildren());"""
_SETTLED = """new Promise(done => {
  let height = 0, same = 0;
  const look = () => {
    const now = document.documentElement.scrollHeight;
    same = now === height ? same + 1 : 0;
    height = now;
    if (same < 10) requestAnimationFrame(look); else done(true);
  };
  look();
})"""
_AXE = """axe.run({options}).then(found => found.violations.map(
  one => [one.impact, one.id, one.nodes.map(node => node.target.join(" "))]))"""
#: the rules of axe-core that look at colors: all that another color scheme may change
_RULES_OF_COLOR = ("color-contrast", "link-in-text-block")


#: whether the preview of dashboards is drawn
PREVIEW_DRAWN = """document.readyState === 'complete' &&
  [...document.querySelectorAll('.plotly-graph-div')].every(one => one.querySelector('.main-svg'))"""
#: A sweep from top to bottom over the visible parts of elements with text. A rotated text needs less than its box.
_OVERLAPS = """(selector => {
  const inside = (box, clip) => ({left: Math.max(box.left, clip.left), right: Math.min(box.right, clip.right),
    top: Math.max(box.top, clip.top), bottom: Math.min(box.bottom, clip.bottom)});
  const seen = one => {
    let box = one.getBoundingClientRect();
    for (let at = one.parentElement; at; at = at.parentElement) {
      if (getComputedStyle(at).overflowX !== "visible") box = inside(box, at.getBoundingClientRect());
    }
    return box;
  };
  const parts = [...document.querySelectorAll(selector)]
    .filter(one => one.textContent.trim() && one.checkVisibility() && !one.closest(".unseen, .skip"))
    .filter(one => !/rotate\\(-?(?!0\\b|90\\b)\\d/.test(one.getAttribute("transform") || ""))
    .map(one => ({one, box: seen(one)}))
    .filter(({box}) => box.right - box.left > 1 && box.bottom - box.top > 1)
    .sort((a, b) => a.box.top - b.box.top);
  const found = [];
  let open = [];
  for (const part of parts) {
    open = open.filter(({box}) => box.bottom > part.box.top + 2);
    for (const other of open) {
      const across = Math.min(part.box.right, other.box.right) - Math.max(part.box.left, other.box.left);
      const down = Math.min(part.box.bottom, other.box.bottom) - part.box.top;
      if (across > 2 && down > 2 && !part.one.contains(other.one) && !other.one.contains(part.one)) {
        found.push([other.one.textContent.trim().slice(0, 60), part.one.textContent.trim().slice(0, 60)]);
      }
    }
    open.push(part);
  }
  return [parts.length, found];
})"""


def open_page(browser: Browser, page: Path, anchor: str = "") -> None:
    """Load a page at the usual size in the light scheme."""
    show(browser)
    browser.call("Page.navigate", url="about:blank")
    browser.call("Page.navigate", url=page.as_uri() + anchor)
    wait_until(browser, "document.readyState === 'complete' && document.body.dataset.figures !== undefined")


def drawn_page(page: Path) -> str:
    """Open everything on a page, and return the document once all figures are drawn, or once a script has failed."""
    with Browser(BROWSER) as browser:
        browser.call("Page.enable")
        open_page(browser, page, "#everything")
        wait_until(
            browser,
            "(told => told.errors !== '0' || told.drawn === told.figures)(document.body.dataset)",
        )
        return str(browser.evaluate("document.documentElement.outerHTML"))


def show(browser: Browser, scheme: str = "light", width: int = WIDTH) -> None:
    """Give the page a color scheme and a width in CSS pixels."""
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=HEIGHT, deviceScaleFactor=1, mobile=False
    )
    wait_until(browser, f"innerWidth === {width}")


def wait_for_figures(browser: Browser) -> None:
    """Wait until all visible figures are drawn."""
    wait_until(
        browser,
        "[...document.querySelectorAll('.plot')].every(plot => !plot.clientWidth || plot.dataset.drawn)",
    )


def wait_for_layout(browser: Browser) -> None:
    """Wait until all visible figures are drawn, and the page keeps its height for ten frames."""
    wait_for_figures(browser)
    browser.evaluate(_SETTLED)


def go_to(browser: Browser, anchor: str) -> None:
    """Follow a link to an element, and wait until the page has scrolled, which it does with its next frame."""
    browser.evaluate(f"location.hash = '#{anchor}'")
    browser.evaluate(
        "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
    )


def wait_until(browser: Browser, condition: str) -> None:
    """Wait until a JavaScript expression is true."""
    deadline = time.monotonic() + _DRAWN_S
    while not browser.evaluate(condition):
        assert time.monotonic() < deadline, condition
        time.sleep(0.1)


def serious_findings(browser: Browser, only_colors: bool = False) -> list[Any]:
    """Return the findings of axe-core with impact serious or critical: impact, rule, elements. Removes the drawings."""
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if only_colors:
        options["runOnly"] = {"type": "rule", "values": _RULES_OF_COLOR}
    script = (files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
    browser.evaluate(f"{script}\n{_WITHOUT_DRAWINGS}\n;0")
    return [
        one
        for one in browser.evaluate(_AXE.replace("{options}", json.dumps(options)))
        if one[0] in ("serious", "critical")
    ]


def press(browser: Browser, key: str) -> None:
    """Press and release a key."""
    codes = {"Tab": 9, "Enter": 13}
    text = {"text": "\r"} if key == "Enter" else {}
    for kind in ("keyDown", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key], **text
        )


def boxes(browser: Browser, selector: str) -> list[dict[str, Any]]:
    """Return text, left, top, right and bottom of the visible elements, in CSS pixels of the window."""
    found: list[dict[str, Any]] = browser.evaluate(
        f"[...document.querySelectorAll({json.dumps(selector)})].filter(one => one.checkVisibility()).map(one => {{"
        "const box = one.getBoundingClientRect();"
        "return {text: one.textContent.trim(), left: box.left, top: box.top, right: box.right, bottom: box.bottom};"
        "})"
    )
    return found


def overlaps(browser: Browser, selector: str) -> list[Any]:
    """Return the texts of the pairs of elements that overlap, other than an element and its parts. Fail without any element."""
    number, found = browser.evaluate(f"{_OVERLAPS}({json.dumps(selector)})")
    assert number > 10
    return list(found)
