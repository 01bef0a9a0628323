"""The cluster: the connection, and the files that its nodes need."""

from __future__ import annotations

import hashlib
import logging
import os
import pathlib
import tempfile
from dataclasses import dataclass
from typing import Any, Optional, Union

import ray

import foretell

from ..command import ForetellError, Path, find_command


@dataclass(frozen=True)
class Connection:
    """Connection to a Ray cluster, local or remote."""

    address: Optional[str]

    def nodes(self) -> int:
        """Returns the number of nodes that are alive."""
        return sum(1 for node in ray.nodes() if node["Alive"])

    def cores(self) -> int:
        """Returns the number of processor cores that the nodes offer to tasks."""
        return max(1, int(ray.cluster_resources().get("CPU", 1)))


def connect(address: Optional[str] = None) -> Connection:
    """Connects to the Ray cluster at an address, else to a new one on this machine.

    Where this process is connected already, that connection is used. The nodes get this package
    from the driver.
    """
    if not ray.is_initialized():
        package = str(pathlib.Path(foretell.__file__).parent)
        # The driver reports the first failure of a task in one line.
        os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")
        try:
            ray.init(
                address=address,
                runtime_env={"py_modules": [package]},
                log_to_driver=False,
                include_dashboard=False if address is None else None,
                logging_level=logging.ERROR,
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            reason = str(error).strip().splitlines()[0]
            raise ForetellError(f"no Ray cluster at {address}: {reason}") from error
    return Connection(address)


@dataclass(frozen=True)
class Shipped:
    """File that is in the object store, and the name of its copy on a node."""

    name: str
    digest: str
    content: Any
    executable: bool = False

    @staticmethod
    def put(path: Path, executable: bool = False) -> "Shipped":
        """Puts a file into the object store."""
        content = pathlib.Path(path).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        return Shipped(pathlib.Path(path).name, digest, ray.put(content), executable)

    def here(self) -> str:
        """Returns the path of the copy on this node, which is written once."""
        place = pathlib.Path(tempfile.gettempdir()) / f"foretell-{os.getuid()}" / self.digest
        copy = place / self.name
        if not copy.exists():
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=place)
            with os.fdopen(descriptor, "wb") as file:
                file.write(ray.get(self.content))
            os.chmod(name, 0o700 if self.executable else 0o600)
            os.replace(name, copy)
        return str(copy)


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
