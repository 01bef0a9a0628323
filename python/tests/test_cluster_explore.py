"""Explorations on a real Ray cluster of two simulated nodes."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from typing import Any, Dict, List

import pytest

import foretell
from foretell.cluster import PoolProgress, explore
from foretell.cluster import __main__ as command_line
from foretell.cluster.pool import Pool, Waiting
from foretell.cluster.worker import Item, Result, TaskResult

#: Two updates by each of two threads: 15 runs are all.
MANY = r"""
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int n;
static void *f(void *p) {
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&m); int v = n; pthread_mutex_unlock(&m);
        pthread_mutex_lock(&m); n = v + 1; pthread_mutex_unlock(&m);
    }
    return p;
}
int main(int argc, char **argv) {
    pthread_t a, b;
    pthread_create(&a, 0, f, 0); pthread_create(&b, 0, f, 0);
    pthread_join(a, 0); pthread_join(b, 0);
    printf("%s %d %d\\n", argc > 1 ? argv[0] : "", argc, getchar());
    assert(n == 4);
    return 0;
}
"""


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The program's source."""
    path = tmp_path_factory.mktemp("many") / "many.c"
    path.write_text(MANY)
    return path


def contents(place: pathlib.Path) -> Dict[str, bytes]:
    """Returns the results of runs in a state directory."""
    files = [each for each in (place / "runs").rglob("*") if each.is_file()]
    return {str(each.relative_to(place)): each.read_bytes() for each in files}


def test_the_report_is_that_of_one_machine(cluster: Any, source: pathlib.Path) -> None:
    one = foretell.explore([source], runs=30)
    seen: List[PoolProgress] = []
    assert explore([source], runs=30, progress=seen.append).raw == one.raw
    assert one.exploration is not None and len(one.exploration.outcomes) > 1
    # A node that an earlier test lost counts until Ray notices.
    assert seen[-1].nodes >= 2 and seen[-1].done >= 14
    assert seen[-1].counters["findings"] > 0 and "tasks done" in str(seen[-1])


def test_a_lost_node_loses_nothing(cluster: Any, source: pathlib.Path) -> None:
    doomed = cluster.add_node(num_cpus=1)
    removed: List[int] = []

    def remove(progress: PoolProgress) -> None:
        if progress.done >= 5 and not removed:
            cluster.remove_node(doomed, allow_graceful=False)
            removed.append(progress.done)

    report = explore([source], runs=30, progress=remove)
    assert report.raw == foretell.explore([source], runs=30).raw
    assert removed


def workers(mark: str) -> List[int]:
    """Returns the processes of ``foretell work`` that have a variable in their environment."""
    found: List[int] = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            variables = (process / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"work" in words[1:2] and mark.encode() in variables:
            found.append(int(process.name))
    return found


def test_a_killed_worker_loses_nothing(
    cluster: Any, source: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_MARK", str(tmp_path))
    killed: List[int] = []

    def kill(progress: PoolProgress) -> None:
        if progress.done >= 4 and not killed:
            killed.extend(workers(f"TEST_MARK={tmp_path}"))
            for process in killed:
                os.kill(process, signal.SIGKILL)

    report = explore([source], runs=30, progress=kill)
    assert killed and report.raw == foretell.explore([source], runs=30).raw


def test_a_killed_driver_continues(
    cluster: Any, source: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    state, result = tmp_path / "state", tmp_path / "findings.json"
    words = ["explore", str(source), "--resume", str(state), "--runs", "30"]
    words += ["--json", str(result), "--address", cluster.address]
    driver = subprocess.Popen(
        [sys.executable, "-m", "foretell.cluster", *words], stdout=subprocess.DEVNULL
    )
    while driver.poll() is None and len(list(state.glob("runs/[0-9a-f]*"))) < 4:
        time.sleep(0.02)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    before = {path.name: path.stat().st_ino for path in state.glob("runs/[0-9a-f]*")}
    # The explorer notices that its pool is gone, and lets go of the directory.
    for _ in range(600):
        if command_line.main(words) != 2:
            break
        time.sleep(0.1)
    after = {path.name: path.stat().st_ino for path in state.glob("runs/[0-9a-f]*")}
    assert len(before) >= 4 and before.items() <= after.items()
    # Whoever continues, on one machine too, finds all results there.
    again = foretell.explore([source], runs=30, options=["--resume", str(state)])
    assert json.loads(result.read_text()) == again.raw


def test_limits_and_wrong_arguments(
    cluster: Any,
    source: pathlib.Path,
    tmp_path: pathlib.Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for words, expected in (
        (["--task-memory", "nonsense", str(source)], "nonsense: not a size"),
        (["--no-such-option", str(source)], "--no-such-option"),
        ([str(tmp_path / "none.c")], "none.c"),
        (["--", "/bin/true"], "not instrumented"),
    ):
        assert command_line.main(["explore", *words]) == 2
        assert expected in capfd.readouterr().err
    words = ["explore", str(source), "--runs", "2", "--task-time", "5", "--task-memory", "64M"]
    assert command_line.main(words) in (0, 1, 3)


def test_a_run_that_uses_too_much_memory_is_left(cluster: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "large.c"
    path.write_text(
        MANY.replace("#include <stdio.h>", "#include <stdio.h>\n#include <stdlib.h>\n"
                     "#include <string.h>\n#include <unistd.h>")
        .replace("pthread_t a, b;", "pthread_t a, b; memset(malloc(200 << 20), 1, 200 << 20);")
        .replace("pthread_join(a, 0);", "usleep(300000); pthread_join(a, 0);", 1)
    )
    report = explore([path], runs=3, task_memory="100M").exploration
    assert report is not None and report.departed == 2 and not report.complete
    assert any("used more than 100 MiB of memory" in each.text for each in report.open)


def test_another_version_on_the_nodes_is_one_line(
    cluster: Any, source: pathlib.Path, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "foretell"
    other.write_text("#!/bin/sh\necho foretell 9.9.9\n")
    other.chmod(0o755)
    words = ["explore", str(source), "--runs", "2", "--command", str(other)]
    assert command_line.main(words) == 2
    (line,) = capfd.readouterr().err.strip().splitlines()
    assert "has foretell 9.9.9, the driver" in line


def test_a_program_runs_from_a_copy(source: pathlib.Path, tmp_path: pathlib.Path) -> None:
    state, copy = tmp_path / "state", tmp_path / "elsewhere" / "program"
    report = foretell.explore([source], ["x"], runs=6, options=["--resume", str(state)])
    assert report.raw["exploration"]["runs"] == 6
    expected = contents(state)
    copy.parent.mkdir()
    program = state / "program"
    job = json.loads((pathlib.Path(__file__).parent / "job.json").read_text())
    job = {**job, "command": [str(program), "x"], "program": str(program.resolve())}
    lines = [{"job": job, "version": foretell.version(), "copies": {str(program): str(copy)}}]
    shutil.move(program, copy)
    for result in sorted((state / "runs").iterdir()):
        place = tmp_path / "copied" / "runs" / result.name
        place.mkdir(parents=True)
        schedule = (result / "schedule").read_text()
        lines.append({"item": {"run": schedule}, "copies": {}, "place": str(place)})
    done = subprocess.run(
        [foretell.find_command(), "work"],
        input="".join(json.dumps(line) + "\n" for line in lines).encode(),
        capture_output=True,
        check=True,
    )
    assert done.stdout.splitlines() == [b'{"ready":true}', *[b'{"answer":{}}'] * (len(lines) - 1)]
    assert contents(tmp_path / "copied") == expected


def test_results_that_come_after_the_end_of_the_command_have_no_place(
    tmp_path: pathlib.Path,
) -> None:
    item = Item({"into": str(tmp_path / "removed" / "result")}, ())
    result = TaskResult((Result({}, {"stdout": b""}),), "node", 0.1)
    pool = Pool.__new__(Pool)
    (answer,) = pool._answers([Waiting(7, item, 0)], result)
    assert answer["id"] == 7 and "removed" in answer["error"]
