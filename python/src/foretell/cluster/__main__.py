"""``foretell cluster``: the command line of work on a cluster."""

from __future__ import annotations

import argparse
import os
import sys
from typing import List, Optional

from ..command import ForetellError


#: Commands whose arguments are those of the command on one machine.
PASSED_ON = {
    "explore": "drive a program into every schedule that shows its threads something else",
    "test": "run a test suite, and analyse every recorded process below the runner",
}


def arguments() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="foretell cluster",
        description="Predict, explore and analyse test suites on the nodes of a Ray cluster."
        " The result is that of one machine.",
    )
    commands = parser.add_subparsers(dest="name", required=True, metavar="COMMAND")
    predict = commands.add_parser(
        "predict",
        help="predict the bugs that other interleavings of a trace would show",
        epilog="Options after -- are those of `foretell predict`.",
    )
    predict.add_argument("trace", metavar="TRACE", help="trace to analyse")
    predict.add_argument("--json", metavar="FILE", help="file for the findings [default: stdout]")
    predict.add_argument("--state", metavar="DIR", help="directory from which a killed run continues")
    predict.add_argument("--parts", type=positive, metavar="N", help="number of parts, one a task")
    add_common(predict)
    for name, what in PASSED_ON.items():
        passed = commands.add_parser(
            name,
            help=what,
            epilog=f"All other options and arguments are those of `foretell {name}`.",
            allow_abbrev=False,
        )
        add_common(passed)
    return parser


def add_common(parser: argparse.ArgumentParser) -> None:
    """Adds the options that all commands have."""
    parser.add_argument("--address", metavar="ADDR", help="Ray cluster [default: a local one]")
    parser.add_argument("--task-time", type=float, metavar="SECS", help="time limit of a task")
    parser.add_argument("--task-memory", metavar="SIZE", help="memory limit of a task, such as 2G")
    parser.add_argument("--command", metavar="PATH", help="the foretell command on all nodes")


def positive(text: str) -> int:
    """Returns a number from 1 on."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main(words: Optional[List[str]] = None) -> int:
    """Runs a command and returns the exit status of ``foretell predict``."""
    words = sys.argv[1:] if words is None else words
    options: List[str] = []
    if "--" in words:
        index = words.index("--")
        words, options = words[:index], words[index + 1 :]
    args, others = arguments().parse_known_args(words)
    if args.name in PASSED_ON:
        return pass_on(args, [*others, *(["--", *options] if options else [])])
    if others:
        arguments().error(f"unrecognized arguments: {' '.join(others)}")
    try:
        from .predict import predict
        from .progress import clear, show

        if not os.path.isfile(args.trace):
            raise ForetellError(f"{args.trace}: no such file")
        report = predict(
            args.trace,
            state=args.state,
            address=args.address,
            parts=args.parts,
            task_time=args.task_time,
            task_memory=args.task_memory,
            command=args.command,
            options=options,
            progress=show,
        )
        clear()
        if args.json is not None:
            report.save(args.json)
        else:
            sys.stdout.write(report.text or "")
    except (ForetellError, OSError, ImportError) as error:
        print(f"foretell: {error}", file=sys.stderr)
        return 2
    if any(counts(finding) for finding in report.raw["findings"]):
        return 1
    return 0 if report.complete else 3


def pass_on(args: argparse.Namespace, words: List[str]) -> int:
    """Runs a command with a pool, and returns its exit status."""
    try:
        from .pool import limits, pool_of
        from .progress import show

        pool = pool_of(args.address, args.task_memory, args.command, show)
        return pool.run([args.name, *limits(args.name, args.task_time), *words])
    except (ForetellError, OSError, ImportError) as error:
        print(f"foretell: {error}", file=sys.stderr)
        return 2


def counts(finding: "dict[str, object]") -> bool:
    """Whether a finding counts for the exit status: a nondeterministic read alone does not."""
    return finding["kind"] != "nondeterminism"


if __name__ == "__main__":
    sys.exit(main())
