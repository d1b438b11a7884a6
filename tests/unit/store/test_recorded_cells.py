"""What recorded cells are, whatever becomes of their plan."""

from __future__ import annotations

from pathlib import Path

from helpers.runner_plans import HOST, Runner, sh, write_plan
from regatta.host.journal.journal import CELLS
from regatta.store.cells import describe_older_records, known_cells, unplanned_cells


def test_cells_of_an_older_journal_keep_their_names_when_the_plan_loses_them(tmp_path: Path) -> None:
    dropped, kept, waiting = sh("dropped", "true"), sh("kept", "true"), sh("waiting", "true")
    runner = Runner(tmp_path / "hand")
    runner.measure(dropped, kept)
    path = runner.folder.journal / HOST / CELLS
    described = path.read_bytes()
    path.unlink()
    write_plan(runner.folder, [dropped, kept, waiting])
    describe_older_records(runner.folder)
    assert path.read_bytes() == described
    write_plan(runner.folder, [kept, waiting])
    # Later plans are of no use to a journal that has descriptions.
    describe_older_records(runner.folder)
    assert path.read_bytes() == described
    assert [cell["label"] for cell in unplanned_cells(runner.folder, HOST)] == [dropped["label"]]
    assert set(known_cells(runner.folder, HOST)) == {one["cell_id"] for one in (dropped, kept, waiting)}


def test_where_nothing_is_recorded_or_no_plan_can_be_read_nothing_is_described(tmp_path: Path) -> None:
    runner = Runner(tmp_path / "hand")
    write_plan(runner.folder, [sh("first", "true")])
    path = runner.folder.journal / HOST / CELLS
    describe_older_records(runner.folder)
    assert not path.exists()
    assert runner.run().returncode == 0
    path.unlink()
    (runner.folder.host_plan(HOST) / "plan.json").write_text("{")
    describe_older_records(runner.folder)
    assert not path.exists()
