"""A pool: work items of a ``foretell`` command, done as Ray tasks.

The command (``foretell explore --pool SOCKET`` or ``foretell test --pool SOCKET``) connects to a
Unix socket and sends work items, one a line. A task hands its items to a worker process
(``foretell work``), of which each process of Ray keeps one for each job. Short items share a task,
whose price for the driver does not depend on their number. The command decides what is done and in
which order results count, so that they are those of one machine.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from dataclasses import dataclass, field
from typing import (
    Any,
    Callable,
    Deque,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Union,
)

import ray

from ..command import ForetellError, find_command
from .nodes import Command, Connection, Shipped, connect, digest_of
from .progress import clear, show
from .worker import File, Item, Job, TaskResult, WorkerLost, do_items

#: Tasks in flight for each core: enough that no core waits for the driver.
TASKS_PER_CORE = 2

#: Items that the command may send for each item in flight: enough that the next task is full.
ITEMS_AHEAD = 1.5

#: Seconds that the items of a task should take together.
TASK_SECONDS = 0.1

#: Most items of a task.
MOST_ITEMS = 32

#: Most bytes of the lines of a task's items: Ray sends short arguments with the task.
MOST_BYTES = 50_000

#: Times that a task runs again whose worker or node is lost.
RETRIES = 8

#: An event of a pool: a line of the command, its end, or a task that is done.
Event = Tuple[str, Any]


@dataclass
class PoolProgress:
    """State of a pool: nodes, items that are done, tasks, and the counters of the command."""

    nodes: int
    done: int = 0
    tasks: int = 0
    running: int = 0
    counters: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        counters = "".join(f", {count} {name}" for name, count in self.counters.items())
        return f"{self.nodes} nodes, {self.tasks} tasks done, {self.running} under way{counters}"


class Pace:
    """Number of items for a task, by the time that items took so far."""

    def __init__(self) -> None:
        self._seconds: Optional[float] = None

    def note(self, items: int, seconds: float) -> None:
        """Notes how long the items of a task took together."""
        if items:
            new = seconds / items
            old = new if self._seconds is None else self._seconds
            self._seconds = 0.7 * old + 0.3 * new

    def is_slow(self) -> bool:
        """Whether an item takes longer than a task should."""
        return self._seconds is not None and self._seconds > TASK_SECONDS

    def items(self) -> int:
        """Returns the number of items for a task: a power of two, which seldom changes."""
        if self._seconds is None:
            return 1
        items = 1
        while items < MOST_ITEMS and 2 * items * self._seconds <= TASK_SECONDS:
            items *= 2
        return items


@dataclass
class Waiting:
    """An item of the command that has no answer yet."""

    number: int
    item: Item
    bytes: int
    #: Whether the command waits for it.
    wanted: bool = False


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
        self.shown = PoolProgress(cluster.nodes())
        #: Items that each node has done.
        self.by_node: "collections.Counter[str]" = collections.Counter()
        options: Dict[str, Any] = {"num_cpus": 1, "max_retries": RETRIES}
        options["retry_exceptions"] = [WorkerLost]
        if task_memory is not None:
            options["memory"] = task_memory
        self._task = ray.remote(**options)(do_items)
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
        events: "queue.Queue[Event]" = queue.Queue()
        threading.Thread(target=_read, args=(connection, events), daemon=True).start()
        job: Any = None
        waiting: Deque[Waiting] = collections.deque()
        running: Dict[Any, List[Waiting]] = {}
        pace = Pace()
        capacity = 0
        ended = False
        while not ended:
            answers: List[Dict[str, Any]] = []
            for kind, value in _all_of(events):
                if kind == "end":
                    ended = True
                elif kind == "done":
                    reference, future = value
                    items, result = running.pop(reference), _result(future)
                    if isinstance(result, TaskResult):
                        self.shown.tasks += 1
                        pace.note(len(result.results), result.seconds)
                        # What the task had no time for comes next.
                        waiting.extendleft(reversed(items[len(result.results) :]))
                    answers.extend(self._answers(items, result))
                elif "job" in value:
                    job = [ray.put(self._job(value))]
                elif "id" in value:
                    item = Item(value["item"], self._ship(value["files"]))
                    waiting.append(Waiting(value["id"], item, value["bytes"]))
                elif "wanted" in value:
                    _bring_forward(waiting, value["wanted"])
                elif "progress" in value:
                    self.shown.counters = value["progress"]
            cores = self.cluster.cores()
            # A task that Ray queues behind long items would keep a wanted one waiting.
            tasks = cores + 1 if pace.is_slow() else TASKS_PER_CORE * cores
            while waiting and len(running) < tasks:
                free = tasks - len(running)
                items = _take(waiting, min(pace.items(), -(-len(waiting) // free)))
                reference = self._task.remote(job, [each.item for each in items])
                running[reference] = items
                reference.future().add_done_callback(_announce(events, reference))
            now = round(ITEMS_AHEAD * TASKS_PER_CORE * pace.items() * cores)
            if job is not None and now != capacity:
                capacity = now
                answers.append({"capacity": capacity})
            _send(connection, answers)
            self.shown.running = len(running)
            if self.progress is not None:
                self.shown.nodes = self.cluster.nodes()
                self.progress(self.shown)
        if self.progress is show:
            # The command reports when the connection is closed.
            clear()
        for reference in running:
            ray.cancel(reference, force=True)

    def _answers(
        self, items: Sequence[Waiting], result: Union[TaskResult, str]
    ) -> Iterator[Dict[str, Any]]:
        """Returns the lines that answer the items of a task, whose files are in their place then."""
        if isinstance(result, str):
            for each in items:
                yield {"id": each.number, "error": result}
            return
        for each, done in zip(items, result.results):
            if done.error is not None:
                yield {"id": each.number, "error": done.error}
                continue
            if "into" in each.item.line:
                try:
                    _put(each.item.line["into"], done.files)
                except FileNotFoundError as error:
                    # A command that has ended has removed its directory, and reads no answer.
                    yield {"id": each.number, "error": str(error)}
                    continue
            self.shown.done += 1
            self.by_node[result.node] += 1
            yield {"id": each.number, "answer": done.answer}

    def _job(self, line: Mapping[str, Any]) -> Job:
        files = self._ship(line["files"])
        tool = Command.of_driver(self.command)
        if tool.version != line["version"]:
            raise ForetellError(f"the command is foretell {line['version']}, not {tool.version}")
        environment = dict(os.environ)
        memory, predicts = self.task_memory, self._predicts
        return Job(line, files, tool, environment, os.getcwd(), memory, predicts)

    def _ship(self, paths: Sequence[str]) -> Tuple[File, ...]:
        """Puts files into the object store, each once."""
        files: List[File] = []
        for path in paths:
            status = os.stat(path)
            key = (path, status.st_mtime_ns, status.st_size)
            if key not in self._shipped:
                executable = bool(status.st_mode & 0o100)
                digest = digest_of(pathlib.Path(path))
                known = self._by_content.get(digest)
                # A file that was renamed, as the traces of a suite are, is there already.
                if known is None or known.executable != executable:
                    known = self._by_content[digest] = Shipped.put(path, executable, digest)
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


def _read(connection: socket.socket, events: "queue.Queue[Event]") -> None:
    try:
        with connection.makefile("r", encoding="utf-8") as lines:
            for line in lines:
                events.put(("line", {**json.loads(line), "bytes": len(line)}))
    except OSError:
        pass
    events.put(("end", None))


def _announce(events: "queue.Queue[Event]", reference: Any) -> Callable[[Any], None]:
    """Returns the callback for the end of a task."""
    return lambda future: events.put(("done", (reference, future)))


def _all_of(events: "queue.Queue[Event]") -> List[Event]:
    """Waits for an event, and returns it with those that have come meanwhile."""
    found = [events.get()]
    with contextlib.suppress(queue.Empty):
        while True:
            found.append(events.get_nowait())
    return found


def _bring_forward(waiting: Deque[Waiting], number: int) -> None:
    """Makes an item the first one, if it still waits."""
    for each in waiting:
        if each.number == number:
            waiting.remove(each)
            waiting.appendleft(each)
            each.wanted = True
            return


def _take(waiting: Deque[Waiting], most: int) -> List[Waiting]:
    """Takes the items of a task: the first, and others that fit. A wanted one is alone."""
    items = [waiting.popleft()]
    size = items[0].bytes
    while waiting and len(items) < most and size + waiting[0].bytes <= MOST_BYTES:
        if items[0].wanted:
            break
        items.append(waiting.popleft())
        size += items[-1].bytes
    return items


def _result(future: Any) -> Union[TaskResult, str]:
    """Returns the result of a task that is done, or one line about its failure."""
    try:
        result: TaskResult = future.result()
    except ray.exceptions.RayTaskError as error:
        return str(error.cause)
    except ray.exceptions.RayError as error:
        return str(error).strip().splitlines()[0]
    return result


def _send(connection: socket.socket, lines: Sequence[Mapping[str, Any]]) -> None:
    # If the command has ended, its end comes as an event.
    with contextlib.suppress(OSError):
        connection.sendall("".join(f"{json.dumps(line)}\n" for line in lines).encode())


#: Numbers of temporary directories.
_numbers = itertools.count()


def _put(target: str, files: Mapping[str, bytes]) -> None:
    """Puts a directory to its place, whole or not at all."""
    # Whoever opens the state directory removes what a killed driver left.
    place = os.path.join(os.path.dirname(target), f".new-{os.getpid()}-{next(_numbers)}")
    os.mkdir(place, 0o700)
    for name, content in files.items():
        # Unbuffered, by as few system calls as possible: this is much of the driver's work.
        file = os.open(f"{place}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            while content:
                content = content[os.write(file, content) :]
        finally:
            os.close(file)
    try:
        os.rename(place, target)
    except OSError:
        # A damaged result, or that of a session that was killed.
        shutil.rmtree(target)
        os.rename(place, target)


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
