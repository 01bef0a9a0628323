"""Test suites on a real Ray cluster of two simulated nodes."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
from typing import Any, Dict, List

import pytest

import foretell
from foretell import cluster as on_cluster
from foretell.cluster import PoolProgress
from foretell.cluster import __main__ as command_line

#: Takes the name of the test; each of `a` and `b` has a race of its own, `bad` fails.
UNIT = r"""
#include <pthread.h>
#include <stdio.h>
#include <string.h>
static int x, y;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int safe;
static void *f(void *p) {
    const char *test = p;
    pthread_mutex_lock(&m); safe++; pthread_mutex_unlock(&m);
    if (test[0] == 'a') x = 1;
    if (test[0] == 'b') y = 1;
    return p;
}
int main(int n, char **a) {
    pthread_t t;
    (void)n;
    pthread_create(&t, 0, f, a[1]);
    if (a[1][0] == 'a') x = 2;
    if (a[1][0] == 'b') y = 2;
    pthread_join(t, 0);
    FILE *data = fopen("data", "r");
    printf("ran %s with %s\n", a[1], data ? "data" : "nothing");
    return !strcmp(a[1], "bad");
}
"""

RUNNER = "for t in a1 good b1 a2 fine b2; do ./unit $t; done"


@pytest.fixture()
def project(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A directory with the program of a suite, which is the working directory."""
    (tmp_path / "unit.c").write_text(UNIT)
    (tmp_path / "data").write_text("")
    monkeypatch.chdir(tmp_path)
    words = ["cc", "-g", "-pthread", "unit.c", "-o", "unit"]
    subprocess.run([foretell.find_command(), *words], check=True)
    return tmp_path


def contents(place: pathlib.Path) -> Dict[str, bytes]:
    """Returns traces, steps and findings of a suite."""
    return {path.name: path.read_bytes() for path in place.iterdir()}


def on_one_machine(project: pathlib.Path) -> "tuple[foretell.Suite, Dict[str, bytes]]":
    """Analyses the suite, and puts its results aside."""
    suite = foretell.test(["sh", "-c", RUNNER], output="out")
    shutil.move(project / "out", project / "one")
    return suite, contents(project / "one")


def test_the_result_is_that_of_one_machine(
    cluster: Any,
    project: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    # It would be the name of each test of the suite.
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    suite, expected = on_one_machine(project)
    confirmed = [each for each in suite.findings if each.confirmation == "confirmed"]
    assert suite.status == 1 and len(confirmed) >= 2 and len(expected) == 3 * 6
    assert {"unit", "unit #4"} in [set(each.tests) for each in confirmed]
    seen: List[PoolProgress] = []
    again = on_cluster.test(["sh", "-c", RUNNER], output="out", progress=seen.append)
    assert (again.status, again.stdout) == (suite.status, suite.stdout)
    assert [each.text for each in again.reports] == [each.text for each in suite.reports]
    assert contents(project / "out") == expected
    # Six predictions, and a replay for each bug.
    assert seen[-1].nodes >= 2 and seen[-1].done >= 6 + len(confirmed)
    assert seen[-1].counters["findings"] and "processes recorded" in str(seen[-1])
    # The command line has the same report.
    capfd.readouterr()
    words = ["test", "--output", "out", "--json", "all.json", "--", "sh", "-c", RUNNER]
    assert command_line.main(words) == 1
    assert capfd.readouterr().out.encode() == suite.stdout
    texts = "".join(each.text or "" for each in suite.reports)
    assert (project / "all.json").read_text() == texts


def test_a_lost_node_loses_nothing(cluster: Any, project: pathlib.Path) -> None:
    suite, expected = on_one_machine(project)
    doomed = cluster.add_node(num_cpus=1)
    removed: List[int] = []

    def remove(progress: PoolProgress) -> None:
        if progress.done >= 2 and not removed:
            cluster.remove_node(doomed, allow_graceful=False)
            removed.append(progress.done)

    again = on_cluster.test(["sh", "-c", RUNNER], output="out", progress=remove)
    assert removed and again.stdout == suite.stdout
    assert contents(project / "out") == expected


def test_a_replay_that_a_node_does_not_confirm_is_done_by_the_driver(
    project: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    suite = foretell.test(["./unit", "a1"], output="out")
    report = next(each for each in suite.reports if each.of_kind("race"))
    (finding,) = report.of_kind("race")
    assert report.trace is not None
    trace = str(pathlib.Path(report.trace.path).resolve())
    copy = tmp_path_factory.mktemp("node") / "program"
    shutil.copy(project / "unit", copy)
    program = str(project.resolve() / "unit")
    item = {
        "replay": finding.raw,
        "trace": trace,
        "model": report.trace.model,
        "command": ["./unit", "a1"],
        "directory": str(project),
        "environment": [["PATH", "/usr/bin:/bin"]],
        "names": {"./unit": program, program: program},
        "limit_ms": 20000,
    }
    job = (pathlib.Path(__file__).parent / "job.json").read_text()
    start = f'{{"job": {job}, "version": "{foretell.version()}", "copies": {{}}}}'.replace("\n", " ")
    # From a copy of the program, as on a node that does not have it.
    there = {"item": item, "copies": {program: str(copy)}, "place": ""}
    # In a directory that the node does not have.
    elsewhere = {**there, "item": {**item, "directory": str(project / "none")}}
    answers = work(start, there, elsewhere)
    assert answers[1]["answer"]["confirmed"] is True
    assert answers[1]["answer"]["replay"] == finding.raw["replay"]
    assert answers[2]["answer"] == {"problem": f"{project / 'none'}: no such directory"}


def work(*lines: Any) -> List[Any]:
    """Returns the answers of a worker."""
    import json

    text = "\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines)
    done = subprocess.run(
        [foretell.find_command(), "work"], input=text.encode(), capture_output=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_limits_and_wrong_arguments(
    cluster: Any, project: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for words, expected in (
        (["--no-such-option", "--", "./unit", "a"], "--no-such-option"),
        (["--", "./none"], "./none"),
        (["--task-memory", "much", "--", "./unit", "a"], "much: not a size"),
    ):
        assert command_line.main(["test", *words]) == 2
        lines = capfd.readouterr().err.strip().splitlines()
        assert len(lines) == 1 and expected in lines[0]
    # The status of a runner that fails is kept.
    assert command_line.main(["test", "--task-memory", "1G", "--", "./unit", "bad"]) == 1
    # Nothing is decided in no time.
    short = on_cluster.test(["./unit", "good"], task_time=0.000001)
    assert short.status == 3, short.stdout + short.stderr


def test_another_version_on_the_nodes_is_one_line(
    cluster: Any, project: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = project / "foretell"
    other.write_text("#!/bin/sh\necho foretell 9.9.9\n")
    other.chmod(0o755)
    assert command_line.main(["test", "--command", str(other), "--", "sh", "-c", RUNNER]) == 2
    (line,) = capfd.readouterr().err.strip().splitlines()
    assert "has foretell 9.9.9, the driver" in line
