"""Traces as columns, one entry an event."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Optional, Tuple
from urllib.parse import unquote

from .command import ForetellError, Path, run

#: Names of the columns, in order.
COLUMNS = (
    "thread",
    "operation",
    "order",
    "object",
    "lock",
    "value",
    "new_value",
    "location",
    "stack",
)

Column = List[Optional[str]]

_OPERATION = re.compile(r"(?P<op>[a-z]+)(?:\.(?P<order>[a-z]+))?(?:\((?P<operand>.*)\))?", re.S)
_VALUED = frozenset(("r", "w", "ar", "aw", "au"))
_WAITS = frozenset(("wait", "woken", "timedout"))


@dataclass(frozen=True)
class Trace:
    """Recorded execution: for each column a list with one entry an event.

    ``operation`` is the word of trace text (``r``, ``w``, ``au``, ``acq``, …), ``order`` the memory
    order where one is written, ``lock`` the lock of a wait, ``value`` the value read, written, or
    before an update, ``new_value`` the value after an update. Values are in the notation of trace
    text. Registers and expressions of symbolic traces are not in the columns.
    """

    thread: Column = field(default_factory=list)
    operation: Column = field(default_factory=list)
    order: Column = field(default_factory=list)
    object: Column = field(default_factory=list)
    lock: Column = field(default_factory=list)
    value: Column = field(default_factory=list)
    new_value: Column = field(default_factory=list)
    location: Column = field(default_factory=list)
    stack: Column = field(default_factory=list)
    declarations: List[str] = field(default_factory=list)

    @staticmethod
    def load(path: Path) -> "Trace":
        """Returns the trace of a file in any format that the command reads."""
        text = run(["convert", "--", str(path), "-"]).stdout.decode()
        return Trace.parse(text.splitlines())

    @staticmethod
    def parse(lines: Iterable[str]) -> "Trace":
        """Returns the trace of lines of trace text as the command writes it."""
        trace = Trace()
        escaped = False
        for number, line in enumerate(lines, 1):
            if line.startswith("#!"):
                declaration = line[2:].strip()
                escaped = escaped or declaration == "escaped"
                trace.declarations.append(declaration)
            elif line.strip() and not line.startswith("#"):
                trace._add(line, number, escaped)
        return trace

    def __len__(self) -> int:
        return len(self.operation)

    def columns(self) -> Dict[str, Column]:
        """Returns the columns by name."""
        return {name: getattr(self, name) for name in COLUMNS}

    def event(self, index: int) -> Dict[str, Optional[str]]:
        """Returns one event, by column."""
        return {name: column[index] for name, column in self.columns().items()}

    def arrow(self) -> Any:
        """Returns the columns as a ``pyarrow.Table`` (needs ``foretell[arrow]``).

        Names repeat in most events, so that columns other than values are dictionaries, which
        Polars and pandas read as categories. The column ``event`` has the index of the event, which
        findings name in ``events`` and ``witness``.
        """
        import pyarrow

        table = {"event": pyarrow.array(range(len(self)), pyarrow.uint32())}
        for name, column in self.columns().items():
            array = pyarrow.array(column, pyarrow.string())
            table[name] = array if "value" in name else array.dictionary_encode()
        return pyarrow.table(table)

    def _add(self, line: str, number: int, escaped: bool) -> None:
        fields = line.split("|")
        operation = _OPERATION.match(fields[1].strip()) if len(fields) > 1 else None
        if operation is None:
            raise ForetellError(f"line {number}: not an event: {line}")

        def name(text: Optional[str]) -> Optional[str]:
            if not escaped or text is None:
                return text
            return "" if text == "%-" else unquote(text)

        op = operation["op"]
        operand, lock, value, new_value = _operand(op, operation["operand"])
        self.thread.append(name(fields[0].strip()))
        self.operation.append(op)
        self.order.append(operation["order"])
        self.object.append(name(operand))
        self.lock.append(name(lock))
        self.value.append(value)
        self.new_value.append(new_value)
        self.location.append(name(_field(fields, 2)))
        self.stack.append(name(_field(fields, 3)))


def _field(fields: List[str], index: int) -> Optional[str]:
    text = fields[index].strip() if len(fields) > index else ""
    return text if text and text != "-1" else None


def _operand(
    op: str, text: Optional[str]
) -> Tuple[Optional[str], Optional[str], Optional[str], Optional[str]]:
    """Returns object, lock, value and new value of an operand."""
    if text is None:
        return None, None, None, None
    if op == "guard":
        return None, None, text, None
    if op in _WAITS:
        condition, _, lock = text.partition(",")
        return condition, lock, None, None
    if op not in _VALUED:
        return text, None, None, None
    # A register and an expression may follow the operand: `x=0)->%1`.
    variable, _, values = text.partition(")")[0].partition("=")
    old, arrow, new = values.partition(">")
    return variable, None, old or None, new or None if arrow else None
