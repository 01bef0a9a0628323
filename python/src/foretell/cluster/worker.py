"""The side of a pool on a node: work items, done by a process of ``foretell work``."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import ray

from ..command import ForetellError, find_command
from .nodes import Command, Shipped

#: Seconds after which a task takes no further item: what is left of it goes to other tasks.
LONGEST_TASK = 0.3

#: A file that an item needs: the path that the driver knows it by, and its content.
File = Tuple[str, Shipped]


class WorkerLost(Exception):
    """A worker process that ended in the middle of an item: the task runs again."""


@dataclass(frozen=True)
class Job:
    """First line of a command: what its items have in common, for the nodes."""

    line: Mapping[str, Any]
    files: Tuple[File, ...]
    tool: Command
    environment: Mapping[str, str]
    directory: str
    memory: Optional[int] = None
    #: Whether the items are predictions, whose memory the worker limits by itself.
    predicts: bool = False


@dataclass(frozen=True)
class Item:
    """A work item."""

    line: Mapping[str, Any]
    files: Tuple[File, ...]


@dataclass(frozen=True)
class Result:
    """Answer of a worker and the files of the result, or the reason why there is none."""

    answer: Optional[Mapping[str, Any]] = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    error: Optional[str] = None


@dataclass(frozen=True)
class TaskResult:
    """Results of the first items of a task, the node, and the seconds that the items took."""

    results: Tuple[Result, ...]
    node: str
    seconds: float


#: Workers of this process of Ray: those of the last job.
_workers: Dict[str, "Worker"] = {}


class Worker:
    """A process of ``foretell work`` on a node."""

    def __init__(self, job: Job) -> None:
        job.tool.use()
        directory = job.directory if os.path.isdir(job.directory) else None
        self.memory = job.memory
        limited = job.memory is not None and job.predicts
        limits = ["--memory", str(job.memory)] if limited else []
        self.process = subprocess.Popen(
            [find_command(), "work", "--no-config", *limits],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(job.environment),
            cwd=directory,
        )
        copies = _copies(job.files)
        self.ask({"job": job.line["job"], "version": job.line["version"], "copies": copies})

    def ask(self, line: Mapping[str, Any]) -> Mapping[str, Any]:
        """Sends a line and returns the answer."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(line).encode() + b"\n")
            self.process.stdin.flush()
            text = self.process.stdout.readline()
        except OSError as error:
            raise WorkerLost(str(error)) from error
        if not text:
            raise WorkerLost(f"foretell work ended with status {self.process.wait()}")
        answer: Mapping[str, Any] = json.loads(text)
        if "error" in answer:
            raise ForetellError(f"node {ray.util.get_node_ip_address()}: {answer['error']}")
        return answer

    def end(self) -> None:
        """Ends the process."""
        self.process.kill()
        self.process.wait()


def _copies(files: Sequence[File]) -> Dict[str, str]:
    """Returns the paths of copies on this node, by path; files that are here have none."""
    return {path: shipped.here() for path, shipped in files if not shipped.is_at(path)}


def do_items(jobs: Sequence[Any], items: Sequence[Item]) -> TaskResult:
    """Does items one after the other, on a node, until the task has taken its time."""
    # In a list, so that the job is fetched only once by each process of Ray.
    (job,) = jobs
    node = ray.get_runtime_context().get_node_id()
    try:
        _worker(job)
    except ForetellError as error:
        return TaskResult(tuple(Result(error=str(error)) for _ in items), node, 0)
    results: List[Result] = []
    began = time.monotonic()
    for item in items:
        try:
            results.append(_do(job, item))
        except ForetellError as error:
            results.append(Result(error=str(error)))
        except WorkerLost:
            if not results:
                raise
            break
        if time.monotonic() - began > LONGEST_TASK:
            break
    return TaskResult(tuple(results), node, time.monotonic() - began)


def _worker(job: Any) -> Worker:
    """Returns the worker of this process for a job."""
    worker = _workers.get(job.hex())
    if worker is None or worker.process.poll() is not None:
        for other in _workers.values():
            other.end()
        _workers.clear()
        worker = _workers[job.hex()] = Worker(ray.get(job))
    return worker


def _do(job: Any, item: Item) -> Result:
    """Does one item."""
    worker = _worker(job)
    # Another name than those of directories that the command removes if they look abandoned.
    with tempfile.TemporaryDirectory(prefix="result-of-foretell-") as place:
        copies = _copies(item.files)
        answer = worker.ask(
            {"item": item.line, "copies": copies, "place": place, "memory": worker.memory}
        )
        if answer.get("last"):
            # The worker ends: work that ran into a limit may still have memory.
            _workers.pop(job.hex()).end()
        files = {path.name: path.read_bytes() for path in pathlib.Path(place).iterdir()}
    return Result(answer["answer"], files)
