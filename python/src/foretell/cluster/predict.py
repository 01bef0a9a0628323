"""Prediction of one trace by the nodes of a cluster."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import tempfile
from dataclasses import asdict, dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import ray

from ..command import ANSWERS, ForetellError, Path, last_line, run, version
from ..findings import Report
from .nodes import Command, Connection, Shipped, connect

#: Parts for each core: parts differ in length, and many short ones balance.
PARTS_PER_CORE = 8

#: Tasks in flight for each core: enough that no worker waits for the driver.
TASKS_PER_CORE = 3


@dataclass(frozen=True)
class Plan:
    """Division of a prediction, by which a state directory is known."""

    trace: str
    version: str
    parts: int
    options: Tuple[str, ...]

    @staticmethod
    def open(state: pathlib.Path, trace: Path, parts: int, options: Sequence[str]) -> "Plan":
        """Returns the plan of a state directory, which is made if there is none.

        The number of parts is that of the directory. Another trace, version or option is an error.
        """
        state.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256(pathlib.Path(trace).read_bytes()).hexdigest()
        wanted = Plan(digest, version(), parts, tuple(options))
        file = state / "plan.json"
        if not file.exists():
            write(file, json.dumps(asdict(wanted)).encode())
            return wanted
        stored = json.loads(file.read_text())
        found = Plan(stored["trace"], stored["version"], stored["parts"], tuple(stored["options"]))
        for name, ours, theirs in (
            ("trace", wanted.trace, found.trace),
            ("version of foretell", wanted.version, found.version),
            ("options", wanted.options, found.options),
        ):
            if ours != theirs:
                raise ForetellError(f"{state}: the state is that of another prediction: {name}")
        return found

    def result(self, state: pathlib.Path, part: int) -> pathlib.Path:
        """Returns the file of the result of a part, from 1."""
        return state / f"part-{part:05}-of-{self.parts:05}.json"


@dataclass
class Progress:
    """State of a prediction: nodes, parts, findings."""

    nodes: int
    done: int
    parts: int
    findings: int

    def __str__(self) -> str:
        return (
            f"{self.nodes} nodes, {self.done} of {self.parts} parts,"
            f" {self.findings} findings so far"
        )


def predict(
    trace: Path,
    *,
    state: Optional[Path] = None,
    address: Optional[str] = None,
    parts: Optional[int] = None,
    task_time: Optional[float] = None,
    task_memory: Optional[str] = None,
    command: Optional[str] = None,
    options: Sequence[str] = (),
    progress: Optional[Callable[[Progress], None]] = None,
) -> Report:
    """Predicts on a cluster; the report is that of ``foretell.predict``.

    ``options`` are those of ``foretell predict``. ``task_time`` (seconds) and ``task_memory``
    (``2G``) limit each task: what it did not decide by then is undecided. ``command`` is the path of
    the command on all nodes; without it the driver's own is shipped. ``state`` is the directory from
    which a driver that was killed continues.
    """
    cluster = connect(address)
    limits = [] if task_time is None else ["--budget", str(task_time)]
    limits += [] if task_memory is None else ["--memory", task_memory]
    words = [*options, *limits]
    with tempfile.TemporaryDirectory() as fresh:
        place = pathlib.Path(fresh if state is None else state)
        plan = Plan.open(place, trace, parts or PARTS_PER_CORE * cluster.cores(), words)
        _decide(plan, place, cluster, trace, command, progress)
        return _merged(plan, place, trace)


def _decide(
    plan: Plan,
    state: pathlib.Path,
    cluster: Connection,
    trace: Path,
    command: Optional[str],
    progress: Optional[Callable[[Progress], None]],
) -> None:
    """Runs the parts that have no result yet."""
    missing = [part for part in range(1, plan.parts + 1) if not plan.result(state, part).exists()]
    if not missing:
        return
    shipped = Shipped.put(trace)
    tool = Command.of_driver(command)
    task = ray.remote(num_cpus=1, max_retries=8)(_part)
    running: Dict[Any, int] = {}
    findings = 0
    missing.reverse()
    while missing or running:
        while missing and len(running) < TASKS_PER_CORE * cluster.cores():
            part = missing.pop()
            running[task.remote(tool, shipped, part, plan.parts, plan.options)] = part
        finished, _ = ray.wait(list(running), num_returns=1)
        for reference in finished:
            part = running.pop(reference)
            try:
                content, count = _result(reference, f"part {part} of {plan.parts}")
            except ForetellError:
                for other in running:
                    ray.cancel(other, force=True)
                raise
            write(plan.result(state, part), content)
            findings += count
        if progress is not None:
            done = plan.parts - len(missing) - len(running)
            progress(Progress(cluster.nodes(), done, plan.parts, findings))


def _result(reference: Any, name: str) -> Tuple[bytes, int]:
    """Returns the result of a task; its failure is one line."""
    try:
        result: Tuple[bytes, int] = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise ForetellError(str(error.cause)) from error
    except ray.exceptions.RayError as error:
        raise ForetellError(f"{name}: {str(error).strip().splitlines()[0]}") from error
    return result


def _part(
    tool: Command, trace: Shipped, part: int, parts: int, options: Sequence[str]
) -> Tuple[bytes, int]:
    """Decides one part, on a node, and returns its findings file and the number of findings."""
    tool.use()
    words = ["predict", trace.here(), "--no-config", "--format", "json", "--jobs", "1"]
    done = run([*words, "--shard", f"{part}/{parts}", *options], answers=ANSWERS)
    if not done.stdout:
        # The time limit was over before the trace was read.
        raise ForetellError(f"part {part} of {parts}: {last_line(done)}")
    return done.stdout, len(json.loads(done.stdout)["findings"])


#: Path of the trace in a findings file, which begins with it.
_PATH = re.compile(
    rb'(\A\s*\{\s*"schema":\s*"[^"]*",\s*"trace":\s*\{\s*"path":\s*)"(?:[^"\\]|\\.)*"'
)


def _merged(plan: Plan, state: pathlib.Path, trace: Path) -> Report:
    """Returns the report of all parts, under the path that the driver knows the trace by."""
    name = json.dumps(os.fspath(trace)).encode()
    with tempfile.TemporaryDirectory() as place:
        paths: List[str] = []
        for part in range(1, plan.parts + 1):
            # Findings can be many: only the command reads them.
            content = plan.result(state, part).read_bytes()
            content, count = _PATH.subn(lambda found: found[1] + name, content, count=1)
            if count != 1:
                raise ForetellError(f"{plan.result(state, part)}: not a findings file")
            paths.append(os.path.join(place, f"{part}.json"))
            pathlib.Path(paths[-1]).write_bytes(content)
        return Report.parse(run(["merge", *paths], answers=ANSWERS).stdout)


def write(path: pathlib.Path, content: bytes) -> None:
    """Writes a file whole or not at all."""
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(name, path)
