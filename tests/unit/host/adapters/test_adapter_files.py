"""A file of the working directory that an adapter reads, and folders that a cell executes and finds linked where it works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.runner_plans import Runner, sh, write_plan
from regatta.host.contents import contents_sha256

RENAISSANCE: dict[str, Any] = {
    "adapter": {"name": "renaissance", "options": {"file": "out.json"}},
    "metric": "elapsed",
}
DOCUMENT = '{"data": {"a": {"results": [{"duration_ns": 5}], "termination": "normal"}}}'


def test_a_file_of_the_working_directory_is_what_the_adapter_reads(runner: Runner) -> None:
    script = f"echo 'not this' > \"$REGATTA_RESULTS\"; echo '{DOCUMENT}' > out.json"
    record = runner.one(sh("good", script, **RENAISSANCE))
    assert (record["status"], record["iterations"]) == ("ok", [[0, "elapsed", 5, "ns", None, None]])


NOT_READ = {
    "nothing": ("true", "no result: Renaissance wrote"),
    "an empty file": (": > out.json", "no result: Renaissance wrote"),
    "a link": ("ln -s /etc/passwd out.json", "out.json: expected a regular"),
    "a pipe": ("mkfifo out.json", "out.json: expected a regular"),
    "a directory": ("mkdir out.json", "out.json: expected a regular"),
    "a hundred megabytes": ("head -c 104857600 /dev/zero > out.json", " at most 64 MiB"),
    "half of one": (f"echo '{DOCUMENT[:30]}' > out.json", "not valid JSON"),
    "one beside it": (f"echo '{DOCUMENT}' > other.json", "no result"),
}


@pytest.mark.parametrize(("script", "reason"), NOT_READ.values(), ids=NOT_READ)
def test_what_is_no_plain_whole_file_is_a_failure(runner: Runner, script: str, reason: str) -> None:
    record = runner.one(sh("bad", script, **RENAISSANCE))
    assert record["status"] == "failed"
    assert reason in record["reason"]


REPLACEMENTS = {
    "the working directory": ('cd "$HOME/.."; rmdir work; ln -s {others} work', RENAISSANCE),
    "the folder of the results": (
        'cd "$HOME/.."; rmdir results; ln -s {others} results',
        {"adapter": {"name": "regatta", "options": {}}},
    ),
    "the results": (
        'ln {others}/results.jsonl "$REGATTA_RESULTS"',
        {"adapter": {"name": "regatta", "options": {}}},
    ),
}


@pytest.mark.parametrize(("script", "other"), REPLACEMENTS.values(), ids=REPLACEMENTS)
def test_a_program_that_replaces_what_is_read_gives_no_result_of_others(
    runner: Runner, tmp_path: Path, script: str, other: dict[str, Any]
) -> None:
    others = tmp_path / "others"
    others.mkdir()
    (others / "out.json").write_text(DOCUMENT)
    (others / "results.jsonl").write_text('{"iteration": 0, "metric": "elapsed", "value": 5, "unit": "ns"}\n')
    hostile = sh("hostile", script.format(others=others), **{"metric": "elapsed", **other})
    record, after = runner.measure(hostile, sh("next", 'test -d "$HOME"'))
    assert (record["status"], record["iterations"], after["status"]) == ("failed", [], "ok")
    assert sorted(path.name for path in others.iterdir()) == ["out.json", "results.jsonl"]


def test_the_exit_code_says_more_than_a_missing_file(runner: Runner) -> None:
    record = runner.one(sh("bad", "echo 'unknown' >&2; exit 3", **RENAISSANCE))
    assert (record["status"], record["reason"]) == ("failed", "exit code 3: unknown")


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    folder = tmp_path / "kit"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "input").write_text("words")
    (folder / "program.jar").write_bytes(b"classes")
    return folder


def test_a_folder_is_linked_where_the_program_works_and_stays_when_it_has_ended(
    runner: Runner, kit: Path
) -> None:
    brought = [{"path": str(kit), "sha256": contents_sha256(kit)}]
    two = [
        sh(name, "test -L data && test \"$(cat data/input)\" = words", arrange={"data": str(kit / "data")}, files=brought)
        for name in ("first", "second")
    ]  # fmt: skip
    assert [record["status"] for record in runner.measure(*two)] == ["ok", "ok"]
    assert (kit / "data" / "input").read_text() == "words"


@pytest.mark.parametrize("change", ["jar", "size", "bytes", "more"])
def test_a_folder_that_changed_since_the_plan_is_not_measured(runner: Runner, kit: Path, change: str) -> None:
    planned = sh("changed", "true", files=[{"path": str(kit), "sha256": contents_sha256(kit)}])
    if change == "jar":
        (kit / "program.jar").write_bytes(b"CLASSES")
    elif change == "size":
        (kit / "data" / "input").write_text("more words")
    elif change == "bytes":
        (kit / "data" / "input").write_text("sword")
    else:
        (kit / "data" / "other").touch()
    write_plan(runner.folder, [planned])
    done = runner.run()
    assert done.returncode == 3
    assert f"{kit}: expected SHA-256" in done.stderr
