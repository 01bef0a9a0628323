"""Exploration of a program by the nodes of a cluster."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from typing import Callable, List, Optional, Sequence, Union

from ..command import ANSWERS, ForetellError, Path, last_line
from ..commands import explore_words
from ..findings import Report
from .nodes import connect
from .pool import Pool, PoolProgress


def explore(
    program: Sequence[Path] = (),
    arguments: Sequence[str] = (),
    *,
    command: Sequence[str] = (),
    runs: Optional[int] = None,
    time: Optional[float] = None,
    first: bool = False,
    seed: int = 0,
    state: Optional[Path] = None,
    options: Sequence[str] = (),
    address: Optional[str] = None,
    task_time: Optional[float] = None,
    task_memory: Optional[str] = None,
    tool: Optional[str] = None,
    progress: Optional[Callable[[PoolProgress], None]] = None,
) -> Report:
    """Explores on a cluster; the report is that of ``foretell.explore``.

    ``state`` is the directory of ``foretell explore --resume``, from which a driver that was killed
    continues. ``task_time`` (seconds) limits each run, as the option ``--limit`` does;
    ``task_memory`` (``2G``) is the memory that Ray reserves for each. ``tool`` is the path of the
    ``foretell`` command on all nodes; without it the driver's own is shipped.
    """
    words, last = explore_words(program, arguments, command, runs, time, first, seed, options)
    if state is not None:
        words += ["--resume", os.fspath(state)]
    pool = pool_of(address, task_memory, tool, progress)
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "findings.json")
        words += ["--json", path, *limits(task_time), *last]
        with tempfile.TemporaryFile() as errors:
            status = pool.run(["explore", *words], stdout=subprocess.DEVNULL, stderr=errors)
            errors.seek(0)
            text = errors.read()
        if status not in ANSWERS:
            raise ForetellError(last_line(subprocess.CompletedProcess(words, status, b"", text)))
        return Report.load(path)


def pool_of(
    address: Optional[str] = None,
    task_memory: Optional[str] = None,
    tool: Optional[str] = None,
    progress: Optional[Callable[[PoolProgress], None]] = None,
) -> Pool:
    """Returns a pool of the cluster at an address, else of a local one."""
    memory = None if task_memory is None else size(task_memory)
    return Pool(connect(address), command=tool, task_memory=memory, progress=progress)


def limits(task_time: Union[float, None]) -> List[str]:
    """Returns the options for the time limit of each run, in whole seconds."""
    return [] if task_time is None else ["--limit", str(max(1, round(task_time)))]


def size(text: str) -> int:
    """Returns a number of bytes, such as ``2G``."""
    match = re.fullmatch(r"(\d+)([KMGT]?)", text)
    if match is None:
        raise ForetellError(f"{text}: not a size such as 512M or 2G")
    return int(match[1]) << (10 * " KMGT".index(match[2] or " "))
