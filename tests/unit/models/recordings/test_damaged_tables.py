"""Damage within the values of a table, which Parquet itself does not notice."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from regatta.host.errors import RegattaError
from regatta.models.recordings.tables import read_table


def test_a_text_that_is_not_utf_8_is_an_error_about_the_file(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("path", pa.string())])
    pq.write_table(
        pa.table({"path": ["/name"]}, schema=schema), tmp_path / "t", compression="none", use_dictionary=False
    )
    data = (tmp_path / "t").read_bytes()
    (tmp_path / "t").write_bytes(data.replace(b"/name", b"/\x9came"))
    with pytest.raises(RegattaError) as caught:
        read_table(tmp_path / "t", schema, "")
    assert caught.value.problems[0].where == str(tmp_path / "t")
