"""The ``foretell`` command: where it is, and one run of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Mapping, Optional, Sequence, Union

Path = Union[str, "os.PathLike[str]"]

#: Exit statuses of the command that are answers: nothing found, something found, cut short.
ANSWERS = (0, 1, 3)


class ForetellError(Exception):
    """A command or an input that was wrong; the text is the line that the command wrote."""


def find_command() -> str:
    """Returns the path of the command: ``FORETELL``, else ``foretell`` on ``PATH``."""
    named = os.environ.get("FORETELL")
    if named:
        if shutil.which(named) is None:
            raise ForetellError(f"FORETELL={named}: not an executable file")
        return named
    found = shutil.which("foretell")
    if found is None:
        raise ForetellError(
            "foretell is not on PATH: install the command, or name it in FORETELL"
        )
    return found


def version() -> str:
    """Returns the version of the command."""
    words = run(["--version"]).stdout.decode().split()
    return words[-1] if words else ""


def run(
    arguments: Sequence[str],
    *,
    answers: Sequence[int] = (0,),
    stdin: Optional[bytes] = None,
    env: Optional[Mapping[str, str]] = None,
) -> "subprocess.CompletedProcess[bytes]":
    """Runs the command and returns its output.

    Raises ``ForetellError`` with the last line of its standard error where the exit status is not
    among ``answers``.
    """
    done = subprocess.run(
        [find_command(), *arguments],
        input=b"" if stdin is None else stdin,
        capture_output=True,
        env=None if env is None else {**os.environ, **env},
        check=False,
    )
    if done.returncode not in answers:
        raise ForetellError(last_line(done))
    return done


def last_line(done: "subprocess.CompletedProcess[bytes]") -> str:
    """Returns the last line that a run of the command wrote to standard error."""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    message = lines[-1] if lines else f"exit status {done.returncode}"
    return message[len("foretell: ") :] if message.startswith("foretell: ") else message
