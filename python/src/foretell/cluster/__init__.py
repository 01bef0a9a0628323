"""Predictions, explorations and test suites on a Ray cluster.

A prediction consists of many independent queries of very different length. ``predict`` divides them
into parts (``foretell predict --shard``), runs each part as a Ray task, and merges the results.
``explore`` runs a program along each schedule of an exploration as a Ray task. ``test`` predicts on
the traces of a test suite and replays its bugs as Ray tasks. The results are those of one machine,
byte for byte. The command, the trace and the program reach each node once, through
the object store.

The driver keeps its state in a directory: a driver that was killed continues with what is missing.
A task whose worker or node is lost runs again.
"""

from __future__ import annotations

from .explore import explore
from .nodes import Connection, connect
from .pool import Pool, PoolProgress
from .predict import Plan, predict
from .test import test

__all__ = [
    "Connection",
    "Plan",
    "Pool",
    "PoolProgress",
    "connect",
    "explore",
    "predict",
    "test",
]
