"""`regatta plot` as a person uses it: names, files, and pictures that a browser without a window has drawn."""

from __future__ import annotations

import os
import re
import struct
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from regatta.answers.report.gallery import gallery
from regatta.answers.report.pictures import write_pictures
from regatta.cli.plot import plot
from regatta.host.errors import HostError, StoreError

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "report"))
sys.path.insert(0, str(Path(__file__).parents[1]))
from helpers.opened_pages import needs_browser
from helpers.rich_experiment import write_rich_experiment
from helpers.synthetic_answers import curve_answer, hostile_answer, java_answer
from helpers.synthetic_journal import cell, record, write_experiment

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    cells = [cell("serial"), cell("g1")]
    lines = [
        record(c, r, [1e9 * (1 + (r * 7 % 5) / 100 + i)], position=i)
        for r in range(6)
        for i, c in enumerate(cells)
    ]
    write_experiment(tmp_path / "made-up", cells, lines, 6)
    return tmp_path


def run(results: Path, *arguments: str) -> Result:
    return CliRunner().invoke(plot, ["made-up", "--results", str(results), *arguments])


def test_the_figures_are_listed_without_any_being_drawn(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    done = run(results, "--list")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert "ratios-apps-h2-small  Comparisons: apps/h2:small" in lines
    assert not (results / "made-up" / "plots").exists()
    chosen = run(results, "--list", "--figure", "ratios-*").stdout
    assert [line.split()[0] for line in chosen.splitlines()] == ["ratios-apps-h2-small"]


def test_a_pattern_takes_the_figures_of_the_compared_metric_first(tmp_path: Path) -> None:
    write_rich_experiment(tmp_path / "made-up")

    def names(*arguments: str) -> list[str]:
        done = run(tmp_path, "--list", *arguments)
        assert done.exit_code == 0, done.output
        return [line.split()[0] for line in done.stdout.splitlines()]

    every = [name for name in names() if name.startswith("heap-")]
    assert {metric: sum(f"-{metric}-" in name for name in every) for metric in ("elapsed", "cpu", "gc-time")} == {
        "elapsed": 4, "cpu": 4, "gc-time": 4,
    }  # fmt: skip
    assert names("--figure", "heap-*") == [name for name in every if "-elapsed-" in name]
    assert names("--figure", "heap-*", "--all-metrics") == every
    assert names("--figure", "heap-*-cpu-*") == [name for name in every if "-cpu-" in name]
    assert names("--figure", every[1]) == [every[1]]
    # A section that is about another metric has no figure of the compared one.
    assert any("gc-pause" in name for name in names("--figure", "collectors-*"))
    assert "8 figures of other metrics" in run(tmp_path, "--list", "--figure", "heap-*").stderr


def test_the_figures_of_the_audit_have_names_of_their_own(results: Path) -> None:
    done = run(results, "--list", "--audit")
    assert done.exit_code == 0, done.output
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names
    assert all(name.startswith("audit-") for name in names)


def test_a_name_that_is_no_figure_brings_the_near_ones(results: Path) -> None:
    done = run(results, "--figure", "ratio-apps-h2")
    assert done.exit_code == 2
    assert "did you mean ratios-apps-h2-small" in done.stderr
    far = run(results, "--figure", "zzz")
    assert far.exit_code == 2
    assert "--list" in far.stderr


def test_an_experiment_without_values_has_nothing_to_draw(tmp_path: Path) -> None:
    write_experiment(tmp_path / "made-up", [cell()], [], 2)
    done = run(tmp_path)
    assert isinstance(done.exception, StoreError)
    (problem,) = done.exception.problems
    assert (problem.got, "figure" in problem.expected) == ("none", True)


def test_without_a_browser_pages_can_be_had_and_pictures_not(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGATTA_BROWSER", "/nowhere/chromium")
    refused = run(results)
    assert isinstance(refused.exception, HostError)
    assert refused.exception.exit_code == 3
    done = run(results, "--format", "html", "--figure", "ratios-*")
    assert done.exit_code == 0, done.output
    page = (results / "made-up" / "plots" / "ratios-apps-h2-small.html").read_text()
    assert 'data-figure="ratios-0-0"' in page
    assert "script-src &#39;sha256-" in page


@needs_browser
def test_every_figure_becomes_an_svg_of_its_name(results: Path) -> None:
    out = results / "for-paper"
    done = run(results, "--output", str(out), "--width", "500")
    assert done.exit_code == 0, done.output
    files = sorted(out.iterdir())
    assert sorted(done.stdout.split()) == [str(path) for path in files]
    listed = [line.split()[0] for line in run(results, "--list").stdout.splitlines()]
    assert sorted(listed) == [path.stem for path in files]
    for path in files:
        root = ET.parse(path).getroot()
        assert root.tag == f"{SVG}svg"
        assert root.get("width") == "500"


@needs_browser
def test_pictures_are_whole_light_and_free_of_slots_scripts_and_links(tmp_path: Path) -> None:
    java = java_answer()
    pictures = [
        next(p for p in gallery(answer) if p.name.startswith(start))
        for answer, start in (
            *((java, start) for start in ("ratios", "pairs", "heap", "spread", "order")),
            (curve_answer(), "series"),
            (hostile_answer(), "ratios"),
        )
    ]
    for one, path in zip(pictures, write_pictures(pictures, tmp_path, "svg", 640), strict=True):
        text = path.read_text(encoding="utf-8")
        root = ET.fromstring(text)
        outside_texts = re.sub(r"<text.*?</text>", "", text, flags=re.DOTALL)
        assert "@" not in outside_texts, "a slot of a colour"
        assert not re.search(r"<(script|foreignObject|image|a)\b|https?://(?!www\.w3\.org)", outside_texts)
        assert one.name.startswith("order") or len(root.findall(f".//{SVG}text")) >= 5
        sizes = {float(size) for size in re.findall(r"font-size: ([0-9.]+)px", text)}
        assert min(sizes) >= 10
        assert "Arial" in text
        backgrounds = [e.get("style", "") for e in root.iter(f"{SVG}rect") if e.get("width") == "640"]
        assert any("rgb(255, 255, 255)" in style for style in backgrounds)


@needs_browser
def test_the_same_figure_is_the_same_file_every_time(tmp_path: Path) -> None:
    pictures = [p for p in gallery(java_answer()) if p.name.startswith(("heap", "spread"))][:2]
    first = [p.read_bytes() for p in write_pictures(pictures, tmp_path / "a", "svg", 640)]
    second = [p.read_bytes() for p in write_pictures(pictures[::-1], tmp_path / "b", "svg", 640)]
    assert first == second[::-1]


@needs_browser
def test_a_png_has_three_points_for_every_pixel(tmp_path: Path) -> None:
    (one, *_) = gallery(java_answer())
    (path,) = write_pictures([one], tmp_path, "png", 400)
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    assert struct.unpack(">I", head[16:20]) == (1200,)


@needs_browser
def test_the_browser_is_gone_when_the_pictures_are_drawn(tmp_path: Path) -> None:
    (one, *_) = gallery(java_answer())
    drawing = write_pictures([one], tmp_path, "svg", 400)
    others = children()
    next(drawing)
    ours = children() - others
    assert ours, "it waits for the next"
    drawing.close()  # type: ignore[attr-defined]
    assert not children() & ours


def children() -> set[int]:
    """Processes whose parent is this one and that still run."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:2]
            except OSError:
                continue
            if int(parent) == os.getpid() and state != "Z":
                found.add(int(entry.name))
    return found
