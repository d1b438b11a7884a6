"""Results of a newer version: every verb refuses them with the reason, and nothing is measured into them or replaced."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from helpers.experiments.small_experiments import HOST, SmallExperiment
from helpers.golden import Golden
from regatta.host.journal.journal import CELLS
from regatta.host.journal.record import decode_line, encode_record

RUN = ("run", "spec.yml")
VERBS = {
    "analyze": ("analyze", "small"),
    "report": ("report", "small"),
    "verify": ("verify", "small"),
    "status": ("status", "small"),
    "run": RUN,
}
#: file in the folder of the experiment -> the lines that the newer version wrote
JOURNALS = {f"journal/{HOST}/00000.jsonl": slice(-1, None), f"journal/{HOST}/{CELLS}": slice(0, 1)}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two segments, the second with records still to be made."""
    experiment = SmallExperiment(
        tmp_path_factory.mktemp("newer"), invocations={"fixed": 4}, segment={"rounds": 2}
    )
    experiment.run()
    (experiment.folder.journal / HOST / "00001.jsonl").unlink()
    return experiment.root


@pytest.fixture
def copy(measured: Path, tmp_path: Path) -> SmallExperiment:
    shutil.copytree(measured, tmp_path / "here", symlinks=True)
    return SmallExperiment(tmp_path / "here", invocations={"fixed": 4}, segment={"rounds": 2})


def contents(experiment: SmallExperiment) -> dict[Path, bytes]:
    """The lines of the journals and the plans, by file."""
    return {
        path: path.read_bytes()
        for folder in (experiment.folder.journal, experiment.folder.plan)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.stat().st_size
    }


def as_newer(path: Path, lines: slice) -> None:
    """Write some lines of a journal again as version 2, with right checksums."""
    all_lines = path.read_bytes().splitlines(keepends=True)
    changed = [encode_record({**without_sum(line), "v": 2}) for line in all_lines[lines]]
    all_lines[lines] = changed
    path.write_bytes(b"".join(all_lines))


def without_sum(line: bytes) -> dict[str, object]:
    return {key: value for key, value in decode_line(line).items() if key != "crc32"}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", JOURNALS)
def test_a_verb_refuses_a_journal_with_one_newer_line(
    copy: SmallExperiment, name: str, verb: str, golden: Golden
) -> None:
    as_newer(copy.folder.path / name, JOURNALS[name])
    assert_refused(copy, verb, golden, "a newer record")


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_refuses_a_newer_plan(copy: SmallExperiment, verb: str, golden: Golden) -> None:
    path = copy.folder.host_plan(HOST) / "plan.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "v": 2}))
    assert_refused(copy, verb, golden, "a newer plan")


def assert_refused(copy: SmallExperiment, verb: str, golden: Golden, name: str) -> None:
    before = contents(copy)
    done = copy.regatta(*VERBS[verb])
    assert done.returncode == 3, (done.stdout, done.stderr)
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    where, _, reason = error.partition("expected ")
    assert where.startswith((f"error: {copy.folder.path}/", "error: results/small/"))
    golden(name, reason)
    assert contents(copy) == before
