"""Findings files (``foretell-findings/1``) as dataclasses.

Fields that a file does not have are ``None`` or empty; fields that are not known here stay in
``raw``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Optional, Tuple, Union

from .command import ForetellError, Path

SCHEMA = "foretell-findings/1"

#: A parsed JSON object.
Json = Dict[str, Any]


@dataclass(frozen=True)
class TraceInfo:
    """Trace that a report is about."""

    path: str
    events: int
    threads: int
    variables: int
    locks: int
    blocks: int
    model: str
    fingerprint: Optional[str] = None
    process: Optional[str] = None


@dataclass(frozen=True)
class Replay:
    """Verdict of a replay."""

    verdict: str
    text: str
    times: int
    of: int


@dataclass(frozen=True)
class Failure:
    """Failure of a recorded run."""

    kind: str
    message: str
    seed: Optional[int] = None
    command: Optional[Any] = None


@dataclass(frozen=True)
class Finding:
    """Predicted or observed bug, with its witness."""

    id: str
    kind: str
    events: Tuple[int, ...]
    objects: Tuple[str, ...]
    locations: Tuple[Optional[str], ...]
    block: Optional[Tuple[int, Optional[int]]]
    witness: Tuple[int, ...]
    verified: bool
    confirmation: str
    form: Optional[str] = None
    cause: Optional[str] = None
    fingerprint: Optional[str] = None
    replay: Optional[Replay] = None
    failure: Optional[Failure] = None
    writer: Union[int, str, None] = None
    challenger: Union[int, str, None] = None
    tests: Tuple[str, ...] = ()
    run: Optional[int] = None
    raw: Json = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def from_json(value: Json) -> "Finding":
        """Returns the finding of an entry of ``findings``."""
        block = value.get("block")
        replay = value.get("replay")
        failure = value.get("failure")
        return Finding(
            id=value["id"],
            kind=value["kind"],
            events=tuple(value["events"]),
            objects=tuple(value["objects"]),
            locations=tuple(value["locations"]),
            block=None if block is None else (block[0], block[1]),
            witness=tuple((value.get("witness") or {}).get("schedule", ())),
            verified=value.get("verified", False),
            confirmation=value.get("confirmation", "not-replayed"),
            form=value.get("form"),
            cause=value.get("cause"),
            fingerprint=value.get("fingerprint"),
            replay=None if replay is None else _replay(replay),
            failure=None if failure is None else _failure(failure),
            writer=value.get("writer"),
            challenger=value.get("challenger"),
            tests=tuple(value.get("tests") or ()),
            run=value.get("run"),
            raw=value,
        )


@dataclass(frozen=True)
class Summary:
    """Counts of one kind of finding."""

    candidates: int
    predicted: int
    undecided: int
    complete: bool = True


@dataclass(frozen=True)
class Undecided:
    """Query that was not decided."""

    kind: str
    events: Tuple[int, ...]
    reason: str


@dataclass(frozen=True)
class Outcome:
    """End of explored runs, with their output."""

    ended: str
    output: str
    runs: int
    first_run: int
    failure: Optional[str] = None
    raw: Json = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Open:
    """Reason for which an exploration is not complete."""

    reason: str
    text: str


@dataclass(frozen=True)
class Exploration:
    """Result of an exploration."""

    verdict: str
    runs: int
    redundant: int
    departed: int
    stopped: Optional[str]
    outcomes: Tuple[Outcome, ...]
    findings: Tuple[Finding, ...]
    open: Tuple[Open, ...]

    @property
    def complete(self) -> bool:
        """Whether no schedule makes the program do anything else."""
        return self.verdict == "complete"

    @staticmethod
    def from_json(value: Json) -> "Exploration":
        """Returns the exploration of the field ``exploration``."""
        outcomes = (
            Outcome(
                ended=each["ended"],
                output=each.get("output") or "",
                runs=each["runs"],
                first_run=each["first_run"],
                failure=each.get("failure"),
                raw=each,
            )
            for each in value["outcomes"]
        )
        return Exploration(
            verdict=value["verdict"],
            runs=value["runs"],
            redundant=value.get("redundant", 0),
            departed=value.get("departed", 0),
            stopped=value.get("stopped"),
            outcomes=tuple(outcomes),
            findings=tuple(Finding.from_json(each) for each in value.get("findings", ())),
            open=tuple(Open(each["reason"], each["text"]) for each in value.get("open", ())),
        )


@dataclass(frozen=True)
class Report:
    """Findings file: the findings of one trace, or of an exploration."""

    trace: Optional[TraceInfo]
    findings: Tuple[Finding, ...]
    summary: Dict[str, Summary]
    undecided: Tuple[Undecided, ...]
    complete: bool
    exploration: Optional[Exploration] = None
    raw: Json = field(default_factory=dict, repr=False, compare=False)
    #: The file as the command wrote it, if it was read from one.
    text: Optional[str] = field(default=None, repr=False, compare=False)

    @staticmethod
    def parse(text: Union[str, bytes]) -> "Report":
        """Returns the report of the text of a findings file."""
        (report,) = Report.parse_all(text)
        return report

    @staticmethod
    def parse_all(text: Union[str, bytes]) -> List["Report"]:
        """Returns the reports of a text with several findings files, one after the other."""
        text = text.decode() if isinstance(text, bytes) else text
        reports: List[Report] = []
        decoder = json.JSONDecoder()
        start = 0
        while start < len(text):
            value, end = decoder.raw_decode(text, start)
            # The end of the line belongs to the file.
            end += len(text[end:]) - len(text[end:].lstrip())
            reports.append(replace(Report.from_json(value), text=text[start:end]))
            start = end
        return reports

    @staticmethod
    def from_json(value: Json) -> "Report":
        """Returns the report of a parsed findings file."""
        if not isinstance(value, dict) or value.get("schema") != SCHEMA:
            raise ForetellError(f"not a findings file of the schema {SCHEMA}")
        exploration = value.get("exploration")
        return Report(
            trace=_trace(value.get("trace")),
            findings=tuple(Finding.from_json(each) for each in value["findings"]),
            summary={
                kind: Summary(
                    counts.get("candidates", 0),
                    counts.get("predicted", 0),
                    counts.get("undecided", 0),
                    counts.get("complete", True),
                )
                for kind, counts in value.get("summary", {}).items()
            },
            undecided=tuple(
                Undecided(each["kind"], tuple(each.get("events") or ()), each["reason"])
                for each in value.get("undecided", ())
            ),
            complete=value.get("complete", True),
            exploration=None if exploration is None else Exploration.from_json(exploration),
            raw=value,
        )

    @staticmethod
    def load(path: Path) -> "Report":
        """Returns the report of a findings file."""
        reports = Report.load_all(path)
        if len(reports) != 1:
            raise ForetellError(f"{path}: {len(reports)} findings files, not one")
        return reports[0]

    @staticmethod
    def load_all(path: Path) -> List["Report"]:
        """Returns the reports of a file with several findings files, one after the other."""
        with open(path, "r", encoding="utf-8", newline="") as file:
            try:
                return Report.parse_all(file.read())
            except json.JSONDecodeError as error:
                raise ForetellError(f"{path}:{error.lineno}: {error.msg}") from error
            except UnicodeDecodeError as error:
                raise ForetellError(f"{path}: not UTF-8") from error

    def save(self, path: Path) -> None:
        """Writes the findings file as it was read, or with all fields that it was made from."""
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(json.dumps(self.raw) + "\n" if self.text is None else self.text)

    def of_kind(self, kind: str) -> List[Finding]:
        """Returns the findings of one kind."""
        return [each for each in self.findings if each.kind == kind]


def _trace(value: Optional[Json]) -> Optional[TraceInfo]:
    if value is None:
        return None
    return TraceInfo(
        path=value["path"],
        events=value["events"],
        threads=value["threads"],
        variables=value["variables"],
        locks=value["locks"],
        blocks=value["blocks"],
        model=value["model"],
        fingerprint=value.get("fingerprint"),
        process=value.get("process"),
    )


def _replay(value: Json) -> Replay:
    return Replay(value["verdict"], value["text"], value["times"], value["of"])


def _failure(value: Json) -> Failure:
    return Failure(
        value["kind"], value.get("message", ""), value.get("seed"), value.get("command")
    )
