"""Programs that the tests record."""

from __future__ import annotations

import pathlib
import subprocess

from typing import Any, Iterator

import pytest

import foretell

LOST_UPDATE = r"""
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int n;
static void *f(void *p) {
    pthread_mutex_lock(&m); int v = n; pthread_mutex_unlock(&m);
    pthread_mutex_lock(&m); n = v + 1; pthread_mutex_unlock(&m);
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, f, 0); pthread_create(&b, 0, f, 0);
    pthread_join(a, 0); pthread_join(b, 0);
    assert(n == 2);
    return 0;
}
"""

RACE = r"""
#include <pthread.h>
#include <unistd.h>
#include <sys/wait.h>
static int x;
static void *f(void *p) { x = 1; return p; }
int main(int argc, char **argv) {
    pthread_t t;
    if (argc > 1 && fork() == 0) { execl(argv[0], argv[0], (char *)0); }
    pthread_create(&t, 0, f, 0);
    x = 2;
    pthread_join(t, 0);
    if (argc > 1) wait(0);
    return 0;
}
"""


def build(place: pathlib.Path, name: str, source: str) -> pathlib.Path:
    """Builds an instrumented program."""
    path = place / f"{name}.c"
    path.write_text(source)
    program = place / name
    subprocess.run(
        [foretell.find_command(), "cc", "-g", "-pthread", str(path), "-o", str(program)], check=True
    )
    return program


@pytest.fixture(scope="session")
def race(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A program with a race on ``x``."""
    return build(tmp_path_factory.mktemp("race"), "race", RACE)


@pytest.fixture(scope="session")
def lost_update(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A program with a lost update between two critical sections."""
    return build(tmp_path_factory.mktemp("lost"), "lost", LOST_UPDATE)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A Ray cluster of a head and a second node, of one processor each."""
    import ray
    from ray.cluster_utils import Cluster

    from foretell.cluster import connect

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes.add_node(num_cpus=1)
    connect(nodes.address)
    yield nodes
    ray.shutdown()
    nodes.shutdown()
