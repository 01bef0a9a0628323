"""Analysis of a test suite by the nodes of a cluster."""

from __future__ import annotations

import os
import subprocess
import tempfile
from typing import Callable, Optional, Sequence

from ..command import Path
from ..commands import Suite, suite_of, test_words
from .pool import PoolProgress, limits, pool_of


def test(
    runner: Sequence[str],
    *,
    output: Optional[Path] = None,
    analyses: Optional[Sequence[str]] = None,
    options: Sequence[str] = (),
    address: Optional[str] = None,
    task_time: Optional[float] = None,
    task_memory: Optional[str] = None,
    tool: Optional[str] = None,
    progress: Optional[Callable[[PoolProgress], None]] = None,
) -> Suite:
    """Analyses a test suite on a cluster; the result is that of ``foretell.test``.

    The runner runs on the driver's machine. Each prediction on a recorded process and each replay
    of a bug is a task. ``task_time`` (seconds) limits each of them; ``task_memory`` (``2G``) is the
    memory that Ray reserves for each, and the limit of the prediction. ``tool`` is the path of the
    ``foretell`` command on all nodes; without it the driver's own is shipped.
    """
    words = test_words(output, analyses, options)
    pool = pool_of(address, task_memory, tool, progress)
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "findings.json")
        words += [*limits("test", task_time), "--json", path, "--", *runner]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            status = pool.run(["test", *words], stdout=out, stderr=errors)
            out.seek(0)
            errors.seek(0)
            done = subprocess.CompletedProcess(words, status, out.read(), errors.read())
        return suite_of(done, path)
