"""Record, predict, explore and replay concurrency bugs.

The functions of this package run the ``foretell`` command and return its answers as dataclasses.
The meaning of every answer is that of the command; see the documentation of Foretell.
"""

from __future__ import annotations

from .command import ForetellError, find_command, version
from .commands import Recording, Suite, check, explore, merge, predict, record, replay, test
from .findings import (
    Exploration,
    Failure,
    Finding,
    Open,
    Outcome,
    Replay,
    Report,
    Summary,
    TraceInfo,
    Undecided,
)
from .trace import Trace

__all__ = [
    "Exploration",
    "Failure",
    "Finding",
    "ForetellError",
    "Open",
    "Outcome",
    "Recording",
    "Replay",
    "Report",
    "Suite",
    "Summary",
    "Trace",
    "TraceInfo",
    "Undecided",
    "check",
    "explore",
    "find_command",
    "merge",
    "predict",
    "record",
    "replay",
    "test",
    "version",
]
