"""The recipes of ``docs/cluster.md`` for job arrays, executed as they are printed."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
from typing import Any, Dict, Iterator, List

import kubernetes_validate
import pytest
import yaml

import foretell

from slurm import slurm

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "cluster.md"


def blocks(section: str, language: str) -> List[str]:
    """Returns the blocks of code of a section."""
    text = PAGE.read_text().split(f"\n### {section}\n")[1].split("\n### ")[0].split("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.fixture()
def place(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A directory with a trace, whose merged findings are those of one machine in the end."""
    command = foretell.find_command()
    words = ["generate", "scalable", "-o", "big.ft", "--events", "1500", "--seed", "3"]
    subprocess.run([command, *words], cwd=tmp_path, check=True, capture_output=True)
    whole = subprocess.run(
        [command, "predict", "big.ft", "--json", "whole.json"],
        cwd=tmp_path,
        check=False,
        capture_output=True,
    )
    assert whole.returncode == 1
    yield tmp_path
    assert (tmp_path / "big.json").read_bytes() == (tmp_path / "whole.json").read_bytes()


def with_command(environment: Dict[str, str]) -> Dict[str, str]:
    """Returns an environment whose ``PATH`` has the command."""
    directory = os.path.dirname(os.path.abspath(foretell.find_command()))
    return {**environment, "PATH": f"{directory}:{environment['PATH']}"}


def test_slurm(place: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    scripts = blocks("Slurm", "bash")
    for name, script in zip(("part", "merge"), scripts):
        (place / f"{name}.sbatch").write_text(script)
    typed = [re.findall(r"^\$ (.*)$", block, re.M) for block in blocks("Slurm", "console")]
    first, again = ("\n".join(lines) for lines in typed)
    with slurm(tmp_path_factory.mktemp("slurm")) as environment:
        environment = with_command(environment)

        def run(commands: str) -> None:
            done = subprocess.run(
                ["bash", "-ec", commands],
                cwd=place,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            logs = "".join(path.read_text() for path in sorted(place.glob("*.log")))
            assert done.returncode == 0, done.stdout + done.stderr + logs

        run(first)
        # A part that is lost is missed, and runs again alone.
        (place / "part-3.json").unlink()
        (place / "big.json").unlink()
        with pytest.raises(AssertionError, match="part 3/16 is missing"):
            run("sbatch --wait merge.sbatch")
        run(again)


def test_kubernetes(place: pathlib.Path) -> None:
    (text,) = blocks("Kubernetes", "yaml")
    jobs: List[Dict[str, Any]] = list(yaml.safe_load_all(text))
    for job in jobs:
        kubernetes_validate.validate(job, "1.33", strict=True)
        pod = job["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        (mount,) = container["volumeMounts"]
        assert container["workingDir"] == mount["mountPath"]
        assert mount["name"] in [volume["name"] for volume in pod["volumes"]]
        for index in range(job["spec"].get("completions", 1)):
            done = subprocess.run(
                [*container["command"], *container["args"]],
                cwd=place,
                env=with_command({**os.environ, "JOB_COMPLETION_INDEX": str(index)}),
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
