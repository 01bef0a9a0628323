"""The functions of the package on real programs."""

from __future__ import annotations

import pathlib

import pytest

import foretell


def test_version_is_that_of_the_command() -> None:
    assert foretell.version()[0].isdigit()


def test_a_race_is_recorded_predicted_and_replayed(
    race: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    recording = foretell.record([str(race)], output=tmp_path / "run.ft")
    assert recording.status == 0
    assert recording.traces == (str(tmp_path / "run.ft"),)
    report = foretell.predict(recording.traces[0], analyses=["race"])
    assert report.complete and report.trace is not None
    (finding,) = report.of_kind("race")
    assert finding.objects == ("x",) and finding.verified
    assert set(finding.witness) >= set(finding.events)
    replay = foretell.replay(recording.traces[0], finding, [str(race)], report=report, times=2)
    assert replay.verdict not in ("departed", "not-reached") and replay.of == 2


def test_each_process_has_a_trace(race: pathlib.Path, tmp_path: pathlib.Path) -> None:
    output = tmp_path / "run.ft"
    first = foretell.record([str(race), "twice"], output=output)
    assert len(first.traces) == 2
    second = foretell.record([str(race)], output=output)
    assert second.traces == (str(output),)


def test_parts_merge_to_the_whole(race: pathlib.Path, tmp_path: pathlib.Path) -> None:
    trace = foretell.record([str(race)], output=tmp_path / "run.ft").traces[0]
    whole = foretell.predict(trace)
    merged = foretell.merge([foretell.predict(trace, shard=(part, 2)) for part in (1, 2)])
    assert merged.findings == whole.findings


def test_an_exploration_has_outcomes(lost_update: pathlib.Path) -> None:
    report = foretell.explore(command=[str(lost_update)])
    exploration = report.exploration
    assert exploration is not None
    assert {outcome.failure is None for outcome in exploration.outcomes} == {True, False}
    assert any(finding.kind == "observed" for finding in exploration.findings)


def test_check_builds_and_finds(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "race.c"
    source.write_text(
        "#include <pthread.h>\nint x;\nvoid *f(void *p) { x = 1; return p; }\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x = 2;"
        " pthread_join(t, 0); return 0; }\n"
    )
    report = foretell.check([source], runs=1)
    assert [each.kind for each in report.findings if each.confirmation == "confirmed"]


def test_errors_are_the_line_of_the_command(tmp_path: pathlib.Path) -> None:
    bad = tmp_path / "bad.std"
    bad.write_text("T1|rel(l)|a.c:1\n")
    with pytest.raises(foretell.ForetellError, match="bad.std:1"):
        foretell.predict(bad)
    with pytest.raises(foretell.ForetellError):
        foretell.record(["/bin/true"], output=tmp_path / "none.ft")
    with pytest.raises(foretell.ForetellError, match="either sources or a command"):
        foretell.explore()


def test_a_command_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORETELL", "/no/such/command")
    with pytest.raises(foretell.ForetellError, match="FORETELL=/no/such/command"):
        foretell.version()
