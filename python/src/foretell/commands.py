"""The commands as functions."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple, Union

from .command import ANSWERS, ForetellError, Path, last_line, run
from .findings import Finding, Replay, Report


@dataclass(frozen=True)
class Recording:
    """Recorded run: its traces (one a process) and how the program ended."""

    traces: Tuple[str, ...]
    status: int
    stdout: bytes
    stderr: bytes


def record(
    command: Sequence[str],
    *,
    output: Path = "foretell.ft",
    seed: int = 0,
    stdin: Optional[bytes] = None,
    env: Optional[Mapping[str, str]] = None,
    options: Sequence[str] = (),
) -> Recording:
    """Records a run of an instrumented program, or of ``java …``.

    Further instrumented processes below the command have traces beside the first one:
    ``run.ft``, ``run.2.ft``.
    """
    path = os.fspath(output)
    arguments = ["record", "-o", path, "--seed", str(seed), *options, "--", *command]
    before = _trace_files(path)
    done = run(arguments, answers=range(256), stdin=stdin, env=env)
    written = [file for file, state in _trace_files(path).items() if before.get(file) != state]
    if not written:
        raise ForetellError(last_line(done))
    return Recording(tuple(written), done.returncode, done.stdout, done.stderr)


def predict(
    trace: Path,
    *,
    analyses: Optional[Sequence[str]] = None,
    model: str = "auto",
    engine: Optional[str] = None,
    every: bool = False,
    timeout: Optional[float] = None,
    budget: Optional[float] = None,
    jobs: Optional[int] = None,
    shard: Optional[Tuple[int, int]] = None,
    options: Sequence[str] = (),
) -> Report:
    """Predicts the bugs that other interleavings of a trace would show.

    ``every`` lists each finding by events, not one for each pair of source locations; ``shard``
    ``(i, n)`` decides part i of n, from 1 (see ``merge``).
    """
    arguments = ["predict", os.fspath(trace), "--format", "json", "--model", model]
    if analyses is not None:
        arguments += ["--analyses", ",".join(analyses)]
    if engine is not None:
        arguments += ["--engine", engine]
    if every:
        arguments.append("--all")
    if shard is not None:
        arguments += ["--shard", f"{shard[0]}/{shard[1]}"]
    arguments += _limits(timeout=timeout, budget=budget, jobs=jobs)
    done = run([*arguments, *options], answers=ANSWERS)
    return Report.parse(done.stdout)


def merge(reports: Sequence[Report]) -> Report:
    """Merges the parts of a divided prediction."""
    with tempfile.TemporaryDirectory() as place:
        paths: List[str] = []
        for number, report in enumerate(reports):
            paths.append(os.path.join(place, f"{number}.json"))
            report.save(paths[-1])
        done = run(["merge", *paths], answers=ANSWERS)
    return Report.parse(done.stdout)


def check(
    sources: Sequence[Path],
    arguments: Sequence[str] = (),
    *,
    runs: Optional[int] = None,
    time: Optional[float] = None,
    seed: int = 0,
    budget: Optional[float] = None,
    options: Sequence[str] = (),
) -> Report:
    """Builds, records, predicts, explores a little and replays."""
    command = [*(os.fspath(each) for each in sources), "--seed", str(seed), *options]
    command += _limits(runs=runs, time=time, budget=budget)
    return _with_findings_file("check", command, ["--", *arguments] if arguments else [])


def explore(
    program: Sequence[Path] = (),
    arguments: Sequence[str] = (),
    *,
    command: Sequence[str] = (),
    runs: Optional[int] = None,
    time: Optional[float] = None,
    first: bool = False,
    seed: int = 0,
    options: Sequence[str] = (),
) -> Report:
    """Drives a program into every schedule that shows its threads something else.

    The program is given as sources with the program's arguments, or as a ``command``.
    """
    return _with_findings_file(
        "explore",
        *explore_words(program, arguments, command, runs, time, first, seed, options),
    )


def explore_words(
    program: Sequence[Path],
    arguments: Sequence[str],
    command: Sequence[str],
    runs: Optional[int],
    time: Optional[float],
    first: bool,
    seed: int,
    options: Sequence[str],
) -> Tuple[List[str], List[str]]:
    """Returns the arguments of an exploration, and those from ``--`` on."""
    if bool(program) == bool(command):
        raise ForetellError("explore needs either sources or a command")
    words = [*(os.fspath(each) for each in program), "--seed", str(seed), *options]
    words += _limits(runs=runs, time=time)
    if first:
        words.append("--first")
    last = list(command) if command else list(arguments)
    return words, ["--", *last] if last else []


@dataclass(frozen=True)
class Suite:
    """Analysed test suite: the exit status of the command, and a report for each trace that a bug
    is shown with."""

    status: int
    reports: Tuple[Report, ...]
    stdout: bytes
    stderr: bytes

    @property
    def findings(self) -> Tuple[Finding, ...]:
        """The bugs, each with the tests that show it."""
        return tuple(finding for report in self.reports for finding in report.findings)


def test(
    runner: Sequence[str],
    *,
    output: Optional[Path] = None,
    analyses: Optional[Sequence[str]] = None,
    budget: Optional[float] = None,
    jobs: Optional[int] = None,
    options: Sequence[str] = (),
) -> Suite:
    """Runs a test runner, and analyses every recorded process below it.

    ``output`` is a directory for the traces and their findings, which are not kept without it.
    """
    words = test_words(output, analyses, [*_limits(budget=budget, jobs=jobs), *options])
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "findings.json")
        done = run(["test", *words, "--json", path, "--", *runner], answers=range(256))
        return suite_of(done, path)


def test_words(
    output: Optional[Path], analyses: Optional[Sequence[str]], options: Sequence[str]
) -> List[str]:
    """Returns the options of a test suite."""
    words = list(options)
    if output is not None:
        words += ["--output", os.fspath(output)]
    if analyses is not None:
        words += ["--analyses", ",".join(analyses)]
    return words


def suite_of(done: "subprocess.CompletedProcess[bytes]", path: str) -> Suite:
    """Returns the suite whose findings are in a file, which is not there if the command failed."""
    if not os.path.exists(path):
        raise ForetellError(last_line(done))
    return Suite(done.returncode, tuple(Report.load_all(path)), done.stdout, done.stderr)


def replay(
    trace: Path,
    finding: Union[str, Finding],
    command: Sequence[str],
    *,
    report: Optional[Report] = None,
    times: int = 1,
    limit: Optional[float] = None,
    stdin: Optional[Path] = None,
    options: Sequence[str] = (),
) -> Replay:
    """Drives the program along the witness of a finding and returns the verdict.

    The finding is one of ``report``; without a report the trace is predicted anew.
    """
    name = finding.id if isinstance(finding, Finding) else finding
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "findings.json")
        (report if report is not None else predict(trace)).save(path)
        words = ["replay", os.fspath(trace), name, "--findings", path, "--times", str(times)]
        words += _limits(limit=limit)
        if stdin is not None:
            words += ["--stdin", os.fspath(stdin)]
        # 2 is an unconfirmed finding, or an error: then the file has no verdict.
        done = run([*words, *options, "--", *command], answers=(*ANSWERS, 2))
        for each in Report.load(path).findings:
            if each.id == name and each.replay is not None:
                return each.replay
    raise ForetellError(last_line(done))


def _with_findings_file(name: str, words: Sequence[str], last: Sequence[str]) -> Report:
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "findings.json")
        run([name, *words, "--json", path, *last], answers=ANSWERS)
        return Report.load(path)


def _limits(**limits: Union[int, float, None]) -> List[str]:
    words: List[str] = []
    for name, value in limits.items():
        if value is not None:
            words += [f"--{name}", str(value)]
    return words


def _trace_files(path: str) -> Dict[str, Tuple[int, int]]:
    """Returns the trace and those of further processes that exist, with inode and time."""
    stem, suffix = os.path.splitext(path)
    files: Dict[str, Tuple[int, int]] = {}
    number = 1
    while True:
        file = path if number == 1 else f"{stem}.{number}{suffix}"
        try:
            state = os.stat(file)
        except FileNotFoundError:
            if number > 1:
                return files
        else:
            files[file] = (state.st_ino, state.st_mtime_ns)
        number += 1
