import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers.rich_experiment import write_rich_experiment
from regatta.cli.main import cli
from regatta.influx.points import FIELDS, TAGS
from regatta.store.events import KINDS

DOCS = (Path(__file__).resolve().parents[3] / "docs" / "influx.md").read_text(encoding="utf-8")
QUERIES = [
    line
    for block in re.findall(r"```sql\n(.*?)```", DOCS, re.DOTALL)
    for line in block.splitlines()
    if not line.startswith("--")
]


@pytest.fixture(scope="module")
def ingested(influx_server, tmp_path_factory):
    """A database with an experiment; its name is that of the examples."""
    folder = write_rich_experiment(tmp_path_factory.mktemp("docs") / "made-up", rounds=3)
    database = influx_server.new_database()
    settings = influx_server.write_settings(folder.parent / "settings", database)
    done = CliRunner().invoke(cli, ["ingest", str(folder)], env={"REGATTA_INFLUX": str(settings)})
    assert done.exit_code == 0, done.output
    return database


@pytest.mark.parametrize("query", QUERIES)
def test_every_example_of_the_reference_gives_rows(query, influx_server, ingested):
    found = influx_server.query(query.replace("'demo'", "'made-up'"), ingested, user="reader")
    assert any(series["values"] for series in found)


def test_there_are_examples():
    assert len(QUERIES) > 5


def test_the_reference_has_every_measurement_with_its_tags_in_order():
    for measurement, tags in TAGS.items():
        assert f"| `{measurement}` | {' '.join(f'`{tag}`' for tag in tags)} |" in DOCS


def test_the_reference_names_every_field_and_every_kind_of_event():
    for measurement, fields in FIELDS.items():
        for name in fields:
            assert f"`{re.sub('^(before|after)_', '', name)}`" in DOCS, f"{measurement}: {name}"
    for kind in KINDS:
        assert f"`{kind}`" in DOCS
