"""Predictions on a real Ray cluster of two simulated nodes."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any, List

import pytest

import foretell
from foretell.cluster import __main__ as command_line
from foretell.cluster import predict
from foretell.cluster.predict import Progress


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A trace with findings of several kinds."""
    path = str(tmp_path_factory.mktemp("trace") / "scalable.ft")
    words = ["generate", "scalable", "-o", path, "--events", "1500", "--seed", "3"]
    subprocess.run([foretell.find_command(), *words], check=True, capture_output=True)
    return path


def test_the_report_is_that_of_one_machine(cluster: Any, trace: str) -> None:
    one = foretell.predict(trace)
    assert one.findings
    seen: List[Progress] = []
    assert predict(trace, parts=6, progress=seen.append).text == one.text
    assert seen[-1].done == seen[-1].parts == 6 and seen[-1].nodes == 2


def test_a_lost_node_loses_nothing(cluster: Any, trace: str) -> None:
    doomed = cluster.add_node(num_cpus=1)
    removed: List[int] = []

    def remove(progress: Progress) -> None:
        if progress.done >= 3 and not removed:
            cluster.remove_node(doomed, allow_graceful=False)
            removed.append(progress.done)

    assert predict(trace, parts=12, progress=remove).raw == foretell.predict(trace).raw
    assert removed


def test_a_killed_driver_continues(
    cluster: Any, trace: str, tmp_path: pathlib.Path
) -> None:
    state, result = tmp_path / "state", tmp_path / "findings.json"
    words = ["predict", trace, "--state", str(state), "--parts", "12", "--json", str(result)]
    words += ["--address", cluster.address]
    driver = subprocess.Popen([sys.executable, "-m", "foretell.cluster", *words])
    while driver.poll() is None and len(list(state.glob("part-*"))) < 2:
        time.sleep(0.05)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    before = {path.name: path.stat().st_ino for path in state.glob("part-*")}
    assert before and command_line.main(words) == 1
    after = {path.name: path.stat().st_ino for path in state.glob("part-*")}
    assert len(after) == 12 and before.items() <= after.items()
    assert result.read_text() == foretell.predict(trace).text


def test_a_state_of_another_prediction_is_refused(
    cluster: Any, trace: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["predict", trace, "--state", str(tmp_path), "--parts", "2"]
    assert command_line.main([*words, "--", "--analyses", "race"]) == 1
    capsys.readouterr()
    assert command_line.main([*words, "--", "--analyses", "deadlock"]) == 2
    assert "the state is that of another prediction: options" in capsys.readouterr().err


def test_another_version_on_the_nodes_is_one_line(
    cluster: Any, trace: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "foretell"
    other.write_text("#!/bin/sh\necho foretell 9.9.9\n")
    other.chmod(0o755)
    assert command_line.main(["predict", trace, "--command", str(other)]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "has foretell 9.9.9, the driver" in line


def test_another_version_of_ray_is_one_line(
    cluster: Any, trace: str, tmp_path: pathlib.Path
) -> None:
    start = "import ray, sys; ray.__version__ = '1.0.0'\nfrom foretell.cluster import __main__ as m\n"
    words = ["predict", trace, "--address", cluster.address]
    done = subprocess.run(
        [sys.executable, "-c", f"{start}sys.exit(m.main(sys.argv[1:]))", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    (line,) = done.stderr.strip().splitlines()
    assert done.returncode == 2 and f"no Ray cluster at {cluster.address}: Version mismatch" in line
    assert "1.0.0" in line


def test_limits_reach_the_tasks(
    cluster: Any, trace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["predict", trace, "--parts", "2"]
    # The limit ends the analyses, or already the reading of the trace.
    assert command_line.main([*words, "--task-time", "0.001"]) in (2, 3)
    capsys.readouterr()
    assert command_line.main([*words, "--task-memory", "nonsense"]) == 2
    assert "nonsense" in capsys.readouterr().err


def test_bad_input_is_one_line(
    cluster: Any, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(["predict", str(tmp_path / "none.ft")]) == 2
    bad = tmp_path / "bad.std"
    bad.write_text("T1|rel(l)|a.c:1\n")
    capsys.readouterr()
    assert command_line.main(["predict", str(bad)]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert os.path.exists(bad)
