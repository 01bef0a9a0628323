"""A pool: work items of a ``foretell`` command, done as Ray tasks.

The command (``foretell explore --pool SOCKET`` or ``foretell test --pool SOCKET``) connects to a Unix socket and sends work items, one
a line; each becomes a task. A task hands its item to a worker process (``foretell work``), of which
each process of Ray keeps one for each job. The command decides what is done and in which order
results count, so that they are those of one machine.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import ray

from ..command import ForetellError, find_command
from .nodes import Command, Connection, Shipped, connect, digest_of

#: Items that the command may send for each core: enough that no core waits for the driver.
ITEMS_PER_CORE = 3

#: Times that a task runs again whose worker or node is lost.
RETRIES = 8


class WorkerLost(Exception):
    """A worker process that ended in the middle of an item: the task runs again."""


@dataclass
class PoolProgress:
    """State of a pool: nodes, tasks, and the counters of the command."""

    nodes: int
    done: int
    running: int
    counters: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        counters = "".join(f", {count} {name}" for name, count in self.counters.items())
        return f"{self.nodes} nodes, {self.done} tasks done, {self.running} under way{counters}"


@dataclass(frozen=True)
class Job:
    """First line of a command: what its items have in common, for the nodes."""

    line: Mapping[str, Any]
    files: Tuple[Tuple[str, Shipped], ...]
    tool: Command
    environment: Mapping[str, str]
    directory: str
    memory: Optional[int] = None
    #: Whether the items are predictions, whose memory the worker limits by itself.
    predicts: bool = False


@dataclass(frozen=True)
class Result:
    """Answer of a worker, and the files of the result."""

    answer: Mapping[str, Any]
    files: Mapping[str, bytes]
    node: str


class Pool:
    """The server of one command."""

    def __init__(
        self,
        cluster: Connection,
        *,
        command: Optional[str] = None,
        task_memory: Optional[int] = None,
        progress: Optional[Callable[[PoolProgress], None]] = None,
    ) -> None:
        """``task_memory`` is the memory (bytes) that Ray reserves for each task, and the limit of
        the program that a task runs, or of its prediction."""
        self._predicts = False
        self.cluster = cluster
        self.task_memory = task_memory
        self.command = command
        self.progress = progress
        self.shown = PoolProgress(cluster.nodes(), 0, 0)
        #: Tasks that each node has done.
        self.by_node: "collections.Counter[str]" = collections.Counter()
        options: Dict[str, Any] = {"num_cpus": 1, "max_retries": RETRIES}
        options["retry_exceptions"] = [WorkerLost]
        if task_memory is not None:
            options["memory"] = task_memory
        self._task = ray.remote(**options)(_do)
        self._shipped: Dict[Tuple[str, int, int], Shipped] = {}
        self._by_content: Dict[str, Shipped] = {}

    def run(self, words: Sequence[str], **options: Any) -> int:
        """Runs the command with this pool, and returns its exit status.

        ``words`` are the arguments of the command; ``options`` those of ``subprocess.Popen``.
        """
        with tempfile.TemporaryDirectory(prefix="foretell-pool-") as place:
            path = os.path.join(place, "pool")
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path)
                listener.listen(1)
                self._predicts = words[0] == "test"
                arguments = [find_command(), words[0], "--pool", path, *words[1:]]
                with subprocess.Popen(arguments, **options) as process, _interrupts_ignored():
                    try:
                        self._accept(listener, process)
                    except BaseException:
                        process.terminate()
                        raise
                    status = process.wait()
        if self.progress is show:
            clear()
        return status if status >= 0 else 128 - status

    def _accept(self, listener: socket.socket, process: "subprocess.Popen[bytes]") -> None:
        """Serves the command, which connects when it has items."""
        listener.settimeout(0.1)
        while process.poll() is None:
            try:
                connection, _ = listener.accept()
            except socket.timeout:
                continue
            connection.settimeout(None)
            with connection:
                self._serve(connection)
            return

    def _serve(self, connection: socket.socket) -> None:
        """Answers the lines of a command until it ends the connection."""
        events: "queue.Queue[Tuple[str, Any]]" = queue.Queue()
        reader = threading.Thread(target=_read, args=(connection, events), daemon=True)
        reader.start()
        job: Any = None
        running: Dict[int, Any] = {}
        items: Dict[int, Mapping[str, Any]] = {}
        capacity = 0
        while True:
            kind, value = events.get()
            if kind == "end":
                break
            if kind == "line":
                line = json.loads(value)
                if "job" in line:
                    job = ray.put(self._job(line))
                elif "id" in line:
                    number = line["id"]
                    items[number] = line["item"]
                    files = self._ship(line["files"])
                    reference = self._task.remote([job], line["item"], files)
                    running[number] = reference
                    reference.future().add_done_callback(_announce(events, number))
                elif "progress" in line:
                    self.shown.counters = line["progress"]
            else:
                number, future = value
                del running[number]
                _send(connection, self._finish(number, items.pop(number), future))
            self.shown.running = len(running)
            if kind == "done" or not capacity:
                now = ITEMS_PER_CORE * self.cluster.cores()
                if now != capacity:
                    capacity = now
                    _send(connection, {"capacity": capacity})
            if self.progress is not None:
                self.shown.nodes = self.cluster.nodes()
                self.progress(self.shown)
        for reference in running.values():
            ray.cancel(reference, force=True)

    def _finish(self, number: int, item: Mapping[str, Any], future: Any) -> Dict[str, Any]:
        """Returns the line that answers an item, whose files are in their place then."""
        try:
            result: Result = future.result()
        except ray.exceptions.RayTaskError as error:
            return {"id": number, "error": str(error.cause)}
        except ray.exceptions.RayError as error:
            return {"id": number, "error": str(error).strip().splitlines()[0]}
        if "into" in item:
            _put(pathlib.Path(item["into"]), result.files)
        self.shown.done += 1
        self.by_node[result.node] += 1
        return {"id": number, "answer": result.answer}

    def _job(self, line: Mapping[str, Any]) -> Job:
        files = self._ship(line["files"])
        tool = Command.of_driver(self.command)
        if tool.version != line["version"]:
            raise ForetellError(f"the command is foretell {line['version']}, not {tool.version}")
        environment = dict(os.environ)
        memory, predicts = self.task_memory, self._predicts
        return Job(line, files, tool, environment, os.getcwd(), memory, predicts)

    def _ship(self, paths: Sequence[str]) -> Tuple[Tuple[str, Shipped], ...]:
        """Puts files into the object store, each once."""
        files: List[Tuple[str, Shipped]] = []
        for path in paths:
            status = os.stat(path)
            key = (path, status.st_mtime_ns, status.st_size)
            if key not in self._shipped:
                executable = bool(status.st_mode & 0o100)
                known = self._by_content.get(digest_of(pathlib.Path(path)))
                # A file that was renamed, as the traces of a suite are, is there already.
                if known is None or known.executable != executable:
                    known = Shipped.put(path, executable)
                    self._by_content[known.digest] = known
                self._shipped[key] = known
            files.append((path, self._shipped[key]))
        return tuple(files)


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Leaves an interrupt at the terminal to the command, which still reports."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _read(connection: socket.socket, events: "queue.Queue[Tuple[str, Any]]") -> None:
    try:
        with connection.makefile("r", encoding="utf-8") as lines:
            for line in lines:
                events.put(("line", line))
    except OSError:
        pass
    events.put(("end", None))


def _announce(events: "queue.Queue[Tuple[str, Any]]", number: int) -> Callable[[Any], None]:
    """Returns the callback for the end of a task."""
    return lambda future: events.put(("done", (number, future)))


def _send(connection: socket.socket, line: Mapping[str, Any]) -> None:
    try:
        connection.sendall(json.dumps(line).encode() + b"\n")
    except OSError:
        # The command has ended; its end comes as an event.
        pass


def _put(target: pathlib.Path, files: Mapping[str, bytes]) -> None:
    """Puts a directory to its place, whole or not at all."""
    place = pathlib.Path(tempfile.mkdtemp(prefix=".new-", dir=target.parent))
    for name, content in files.items():
        (place / name).write_bytes(content)
    try:
        os.rename(place, target)
    except OSError:
        # A damaged result, or that of a session that was killed.
        shutil.rmtree(target)
        os.rename(place, target)


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


def _copies(files: Sequence[Tuple[str, Shipped]]) -> Dict[str, str]:
    """Returns the paths of copies on this node, by path; files that are here have none."""
    return {path: shipped.here() for path, shipped in files if not shipped.is_at(path)}


def _do(
    jobs: Sequence[Any], item: Mapping[str, Any], files: Sequence[Tuple[str, Shipped]]
) -> Result:
    """Does one item, on a node."""
    # In a list, so that the job is fetched only once by each process of Ray.
    key = jobs[0].hex()
    worker = _workers.get(key)
    if worker is None or worker.process.poll() is not None:
        for other in _workers.values():
            other.end()
        _workers.clear()
        worker = _workers[key] = Worker(ray.get(jobs[0]))
    with tempfile.TemporaryDirectory(prefix="foretell-result-") as place:
        line = {"item": item, "copies": _copies(files), "place": place, "memory": worker.memory}
        answer = worker.ask(line)
        if answer.get("last"):
            # The worker ends: work that ran into a limit may still have memory.
            _workers.pop(key).end()
        contents = {path.name: path.read_bytes() for path in pathlib.Path(place).iterdir()}
    return Result(answer["answer"], contents, ray.get_runtime_context().get_node_id())


def show(progress: PoolProgress) -> None:
    """Shows the progress on standard error, if that is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{progress}", end="", file=sys.stderr, flush=True)


def clear() -> None:
    """Clears the line of the progress."""
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def pool_of(
    address: Optional[str] = None,
    task_memory: Optional[str] = None,
    tool: Optional[str] = None,
    progress: Optional[Callable[[PoolProgress], None]] = None,
) -> Pool:
    """Returns a pool of the cluster at an address, else of a local one."""
    memory = None if task_memory is None else size(task_memory)
    return Pool(connect(address), command=tool, task_memory=memory, progress=progress)


def limits(name: str, task_time: Optional[float]) -> List[str]:
    """Returns the options of a command for the time limit of each task."""
    if task_time is None:
        return []
    # Programs have whole seconds.
    words = ["--limit", str(max(1, round(task_time)))]
    return words if name == "explore" else [*words, "--process-budget", str(task_time)]


def size(text: str) -> int:
    """Returns a number of bytes, such as ``2G``."""
    match = re.fullmatch(r"(\d+)([KMGT]?)", text)
    if match is None:
        raise ForetellError(f"{text}: not a size such as 512M or 2G")
    return int(match[1]) << (10 * " KMGT".index(match[2] or " "))
