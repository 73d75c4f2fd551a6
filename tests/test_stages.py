"""The log of stages tells its listener everything, in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from vgpa.colmap.counts import LogCounts, read_count
from vgpa.stages import Event, StageLog, StageProgress, StageRecord, StageStart, StageWarning, advance


def test_events_come_in_order() -> None:
    events: list[Event] = []
    log = StageLog(events.append)
    with log.stage("first"):
        advance(1, 2)
        log.warn("Look here")
        advance(2, 2)
    with log.stage("second"):
        pass
    first, second = log.records
    assert events == [
        StageStart("first"),
        StageProgress("first", 1, 2),
        StageWarning("Look here"),
        StageProgress("first", 2, 2),
        first,
        StageStart("second"),
        second,
    ]
    assert log.warnings == ["Look here"]
    assert log.seconds == first.seconds + second.seconds


def test_progress_is_not_told_too_often_but_its_end_is() -> None:
    events: list[Event] = []
    with StageLog(events.append).stage("work"):
        for k in range(1000):
            advance(k + 1, 1000)
    told = [event.num_done for event in events if isinstance(event, StageProgress)]
    assert told[0] == 1
    assert told[-1] == 1000
    assert len(told) < 10


def test_a_stage_that_fails_is_not_recorded_and_is_over() -> None:
    events: list[Event] = []
    log = StageLog(events.append)
    with pytest.raises(ValueError, match="broken"), log.stage("work"):
        raise ValueError("broken")
    advance(1, 1)
    assert events == [StageStart("work")]
    assert log.records == []


def test_without_a_listener_or_a_stage_nothing_happens() -> None:
    advance(1, 2)
    log = StageLog()
    with log.stage("work"):
        advance(1, 2)
    assert [record.name for record in log.records] == ["work"]
    assert isinstance(log.records[0], StageRecord)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("I20260101 00:00:00.0 123 feature_extraction.cc:270] Processed file [3/9]\n", (3, 9)),
        ("x.cc:1] Processed file [3/9]\nx.cc:2]   Name: a.jpg\nx.cc:1] Processed file [4/9]\n", (4, 9)),
        ("I20260101 00:00:00.0 123 pairing.cc:12] Processing block [1/78]\n", (0, 78)),
        ("x.cc:90] Elapsed time: 0.352 [minutes]\n", None),
        ("", None),
    ],
)
def test_counts_in_the_lines_of_pycolmap(text: str, count: tuple[int, int] | None) -> None:
    assert read_count(text) == count


def test_a_log_is_followed_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    counts = LogCounts(path)
    counts.skip()
    assert counts.read() is None, "a log that is not there yet"
    path.write_text("x.cc:1] Processed file [9/9]\n")
    counts.skip()
    assert counts.read() is None, "what an earlier stage wrote is skipped"
    with path.open("a") as file:
        file.write("x.cc:1] Processed file [1/4]\nx.cc:1] Processed file [2/")
        file.flush()
        assert counts.read() == (1, 4)
        file.write("4]\n")
        file.flush()
        assert counts.read() == (2, 4)
    assert counts.read() is None
