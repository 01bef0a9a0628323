"""Exploration of a program by the nodes of a cluster."""

from __future__ import annotations

import os
import subprocess
import tempfile
from typing import Callable, Optional, Sequence

from ..command import ANSWERS, ForetellError, Path, last_line
from ..commands import explore_words
from ..findings import Report
from .pool import PoolProgress, limits, pool_of


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
        words += ["--json", path, *limits("explore", task_time), *last]
        with tempfile.TemporaryFile() as errors:
            status = pool.run(["explore", *words], stdout=subprocess.DEVNULL, stderr=errors)
            errors.seek(0)
            text = errors.read()
        if status not in ANSWERS:
            raise ForetellError(last_line(subprocess.CompletedProcess(words, status, b"", text)))
        return Report.load(path)
