"""Slurm on this machine alone, started by hand in a directory of its own."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import time
from typing import Callable, Dict, Iterator, List

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
CredType=cred/munge
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1
MpiDefault=none
ReturnToService=2
MailProg=/bin/true
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory={memory} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


@contextlib.contextmanager
def slurm(place: pathlib.Path) -> Iterator[Dict[str, str]]:
    """Starts munge and both daemons, and returns the environment of Slurm's commands."""
    for name in ("state", "spool"):
        (place / name).mkdir()
    key = place / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    # The socket's directory must not be writable by others, and those above must be open.
    place.chmod(0o755)
    ports = [free_port(), free_port()]
    configuration = place / "slurm.conf"
    configuration.write_text(
        CONFIGURATION.format(
            host=socket.gethostname().split(".")[0],
            user=os.environ.get("USER") or "root",
            place=place,
            controller=ports[0],
            daemon=ports[1],
            cores=os.cpu_count(),
            memory=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20,
        )
    )
    environment = {**os.environ, "SLURM_CONF": str(configuration)}
    path = os.pathsep.join((environment.get("PATH", ""), "/usr/sbin", "/sbin"))
    environment["PATH"] = path
    commands: List[List[str]] = [
        ["munged", "--foreground", "--force", f"--key-file={key}"],
        ["slurmctld", "-D", "-c"],
        ["slurmd", "-D"],
    ]
    commands[0] += [f"--{name}-file={place}/munge.{name}" for name in ("log", "pid", "seed")]
    commands[0].append(f"--socket={place}/munge.socket")
    started: List["subprocess.Popen[bytes]"] = []
    try:
        for command in commands:
            program = shutil.which(command[0], path=path)
            assert program is not None, f"{command[0]} is missing: install slurm-wlm"
            with open(place / f"{command[0]}.out", "wb") as output:
                started.append(
                    subprocess.Popen(
                        [program, *command[1:]],
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        env=environment,
                    )
                )
            if command[0] == "munged":
                wait_for(lambda: (place / "munge.socket").exists(), place)
        wait_for(lambda: "idle" in states(environment), place)
        yield environment
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait()


def states(environment: Dict[str, str]) -> str:
    """Returns the states of the nodes."""
    done = subprocess.run(
        ["sinfo", "--noheader", "--format=%T"], env=environment, capture_output=True, check=False
    )
    return done.stdout.decode()


def wait_for(condition: Callable[[], bool], place: pathlib.Path) -> None:
    """Waits until a condition holds, for a minute."""
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    outputs = [path.read_text() for path in sorted(place.glob("*.out"))]
    raise AssertionError("Slurm does not start:\n" + "\n".join(outputs))


def free_port() -> int:
    """Returns a port that no process listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
