"""Facts are written as JSON that reads back as it was, with a line for every entry and every row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgpa.report.summary import write_json

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(data=st.dictionaries(st.text(), values))
def test_what_is_written_reads_back(tmp_path_factory: pytest.TempPathFactory, data: dict[str, object]) -> None:
    path = tmp_path_factory.mktemp("json") / "facts.json"
    write_json(data, path)
    assert json.loads(path.read_text(encoding="utf-8")) == data


def test_entries_and_rows_have_lines_of_their_own(tmp_path: Path) -> None:
    write_json(
        {"num": 2, "rows": [{"a": 1, "b": [1, 2]}, {"a": 2, "b": []}], "inner": {"x": 1}}, tmp_path / "facts.json"
    )
    assert (tmp_path / "facts.json").read_text().splitlines() == [
        "{",
        ' "num": 2,',
        ' "rows": [',
        '  {"a": 1, "b": [1, 2]},',
        '  {"a": 2, "b": []}',
        " ],",
        ' "inner": {',
        '  "x": 1',
        " }",
        "}",
    ]
