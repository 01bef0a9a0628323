"""Traces as columns."""

from __future__ import annotations

import pathlib

import polars
import pytest

import foretell

TEXT = """\
#! init x=7
T0|fork(T1)|a.c:1|main
T1|r(x=7)
T1|au.acqrel(y=5>6)|a.c:3|f < main
T1|acq(l)
T1|wait(c,l)
T0|begin
T0|w(x)->%1
"""


def test_columns_have_one_entry_an_event() -> None:
    trace = foretell.Trace.parse(TEXT.splitlines())
    assert len(trace) == 7
    assert {len(column) for column in trace.columns().values()} == {7}
    assert trace.declarations == ["init x=7"]
    assert trace.event(2) == {
        "thread": "T1",
        "operation": "au",
        "order": "acqrel",
        "object": "y",
        "lock": None,
        "value": "5",
        "new_value": "6",
        "location": "a.c:3",
        "stack": "f < main",
    }
    assert (trace.object[4], trace.lock[4]) == ("c", "l")
    assert trace.object[5] is None and trace.value[6] is None


def test_escaped_names_are_decoded() -> None:
    trace = foretell.Trace.parse(["#! escaped", "T%2C1|w(a%28b%29=1)|x%7Cy:3"])
    assert trace.event(0)["object"] == "a(b)"
    assert trace.event(0)["thread"] == "T,1"
    assert trace.event(0)["location"] == "x|y:3"


def test_a_line_that_is_no_event_is_named() -> None:
    with pytest.raises(foretell.ForetellError, match="line 2"):
        foretell.Trace.parse(["T1|r(x)", "nonsense"])


def test_a_recorded_trace_loads(race: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = foretell.record([str(race)], output=tmp_path / "run.ft").traces[0]
    trace = foretell.Trace.load(path)
    assert "x" in trace.object and {"fork", "join", "w"} <= set(trace.operation)
    assert trace.thread[0] == "T0"


def test_a_trace_is_an_arrow_table() -> None:
    table = foretell.Trace.parse(TEXT.splitlines()).arrow()
    assert table.num_rows == 7 and table.column("object")[1].as_py() == "x"
    assert table.column("event").to_pylist() == list(range(7))


def test_polars_reads_the_columns() -> None:
    trace = foretell.Trace.parse(TEXT.splitlines())
    for frame in (polars.DataFrame(trace.columns()), polars.from_arrow(trace.arrow())):
        assert isinstance(frame, polars.DataFrame)
        updates = frame.filter(polars.col("operation") == "au")
        assert updates.select("object", "value", "new_value").rows() == [("y", "5", "6")]
        counts = dict(frame.group_by("thread").len().rows())
        assert counts == {"T0": 3, "T1": 4}
