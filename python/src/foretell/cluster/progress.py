"""Progress on a terminal."""

from __future__ import annotations

import sys


def show(progress: object) -> None:
    """Shows the progress on standard error, if that is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{progress}", end="", file=sys.stderr, flush=True)


def clear() -> None:
    """Clears the line of the progress."""
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
