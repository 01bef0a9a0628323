"""Predictions on a Ray cluster.

A prediction consists of many independent queries of very different length. ``predict`` divides them
into parts (``foretell predict --shard``), runs each part as a Ray task, and merges the results: they
are those of one machine, byte for byte. The command and the trace reach each node once, through the
object store.

The driver keeps its state in a directory: a driver that was killed continues with the parts that
are missing. A task whose worker or node is lost runs again.
"""

from __future__ import annotations

from .nodes import Connection, connect
from .predict import Plan, predict

__all__ = ["Connection", "Plan", "connect", "predict"]
