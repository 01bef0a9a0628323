"""The cluster: the connection, and the files that its nodes need."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import pathlib
import shutil
import socket
import tarfile
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any, Optional, Tuple, Union

import ray

import foretell

from ..command import ForetellError, Path, find_command


#: Seconds for which the size of a cluster counts as known: each look is a request to its head.
SIZE_PERIOD = 0.5


@dataclass
class Connection:
    """Connection to a Ray cluster, local or remote."""

    address: Optional[str]
    _looked: float = field(default=-SIZE_PERIOD, repr=False, compare=False)
    _size: Tuple[int, int] = field(default=(0, 1), repr=False, compare=False)

    def nodes(self) -> int:
        """Returns the number of nodes that are alive."""
        return self._look()[0]

    def cores(self) -> int:
        """Returns the number of processor cores that the nodes offer to tasks."""
        return self._look()[1]

    def _look(self) -> Tuple[int, int]:
        now = time.monotonic()
        if now - self._looked >= SIZE_PERIOD:
            alive = [node for node in ray.nodes() if node["Alive"]]
            cores = sum(int(node["Resources"].get("CPU", 0)) for node in alive)
            self._looked, self._size = now, (len(alive), max(1, cores))
        return self._size


def connect(address: Optional[str] = None) -> Connection:
    """Connects to the Ray cluster at an address, else to a new one on this machine.

    Where this process is connected already, that connection is used. The nodes get this package
    from the driver.
    """
    if not ray.is_initialized():
        package = str(pathlib.Path(foretell.__file__).parent)
        # The driver reports the first failure of a task in one line.
        os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")
        where = "this machine" if address is None else address
        try:
            _reach(address)
            ray.init(
                # Without an address Ray would look for a cluster that was here before.
                address="local" if address is None else address,
                runtime_env={"py_modules": [package]},
                log_to_driver=False,
                include_dashboard=False if address is None else None,
                logging_level=logging.ERROR,
            )
        except (OSError, ValueError, RuntimeError) as error:
            # Versions that differ have a line each.
            reason = " ".join(str(error).split())
            raise ForetellError(f"no Ray cluster at {where}: {reason}") from error
    return Connection(address)


def _reach(address: Optional[str]) -> None:
    """Raises ``OSError`` where nothing listens at HOST:PORT: Ray itself waits for minutes."""
    host, _, port = (address or "").rpartition(":")
    if "/" not in host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


@dataclass(frozen=True)
class Shipped:
    """File or directory that is in the object store, and the name of its copy on a node."""

    name: str
    digest: str
    content: Any
    executable: bool = False
    directory: bool = False

    @staticmethod
    def put(path: Path, executable: bool = False, digest: Optional[str] = None) -> "Shipped":
        """Puts a file, or a directory with all that is in it, into the object store."""
        file = pathlib.Path(path)
        digest = digest_of(file) if digest is None else digest
        if not file.is_dir():
            return Shipped(file.name, digest, ray.put(file.read_bytes()), executable)
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(file, arcname=".")
        return Shipped(file.name, digest, ray.put(packed.getvalue()), directory=True)

    def is_at(self, path: Path) -> bool:
        """Whether this node has the same file or directory at a path."""
        try:
            return digest_of(pathlib.Path(path)) == self.digest
        except OSError:
            return False

    def here(self) -> str:
        """Returns the path of the copy on this node, which is written once."""
        place = pathlib.Path(tempfile.gettempdir()) / f"foretell-{os.getuid()}" / self.digest
        copy = place / self.name
        if copy.exists():
            return str(copy)
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = pathlib.Path(tempfile.mkdtemp(dir=place))
        content = ray.get(self.content)
        if self.directory:
            with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                archive.extractall(new / self.name)
        else:
            (new / self.name).write_bytes(content)
            os.chmod(new / self.name, 0o700 if self.executable else 0o600)
        try:
            os.rename(new / self.name, copy)
        except OSError:
            # Another task was faster.
            if not copy.exists():
                raise
        shutil.rmtree(new, ignore_errors=True)
        return str(copy)


def digest_of(path: pathlib.Path) -> str:
    """Returns a hash of a file, or of the names and contents of the files in a directory."""
    if not path.is_dir():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    digest = hashlib.sha256()
    for file in sorted(each for each in path.rglob("*") if each.is_file()):
        digest.update(f"{file.relative_to(path)}\0{digest_of(file)}\n".encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class Command:
    """The ``foretell`` command on the nodes: shipped, or at a path that all nodes have."""

    version: str
    place: Union[str, Shipped]

    @staticmethod
    def of_driver(path: Optional[str] = None) -> "Command":
        """Returns the driver's own command, or the one at a shared path."""
        place = Shipped.put(find_command(), executable=True) if path is None else path
        return Command(foretell.version(), place)

    def use(self) -> None:
        """Makes this node's copy the command of this process, and checks its version."""
        place = self.place
        os.environ["FORETELL"] = place if isinstance(place, str) else place.here()
        node = ray.util.get_node_ip_address()
        try:
            version = foretell.version()
        except (ForetellError, OSError) as error:
            raise ForetellError(f"node {node}: the command does not run: {error}") from error
        if version != self.version:
            raise ForetellError(
                f"node {node} has foretell {version}, the driver {self.version}: install one version"
            )
