"""YAML as data, with the place of every value.

YAML 1.2's core schema, read from the parser's events without recursion: no tag makes anything, a key stands once, a file
has one document. What could blow up (aliases, depth, size) has a bound. A plain number keeps the text it was written as,
because `-9` in a command is an argument and `1.10` in a version is not 1.1.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from regatta.host.errors import Problem, SpecError

KeyPath = tuple[str | int, ...]
#: what a plain scalar means; a ValueError says what it is that it may not be
Resolve = Callable[[str], Any]

#: A spec is some 30 lines and a suite some 300; past this it is not one, and the pure Python parser would take seconds.
MAX_BYTES = 256 * 1024
MAX_DEPTH = 32
#: as they are written, and after aliases are replaced by what they name
MAX_VALUES = 20_000
#: of a spec and all that it includes, together: files, bytes, and values as they are written and as they are expanded
MAX_FILES = 64
_ALL_BYTES = 4 * MAX_BYTES
_ALL_VALUES = 3 * MAX_VALUES

_NULL = re.compile(r"~|null|Null|NULL|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]{1,100}|0o[0-7]{1,100}|0x[0-9a-fA-F]{1,100}")
_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)


class WrittenInt(int):
    """An integer that knows its text."""

    text: str


class WrittenFloat(float):
    """A number that knows its text."""

    text: str


@dataclass(frozen=True)
class Mark:
    """A place in a file; `line` and `column` count from 1."""

    file: str
    line: int
    column: int


class Budget:
    """What may still be read for one spec or configuration, with all files that it includes."""

    def __init__(self) -> None:
        self.files = MAX_FILES
        self.bytes = _ALL_BYTES
        self.values = _ALL_VALUES

    @property
    def spent(self) -> bool:
        """Whether there is none left."""
        return min(self.files, self.bytes, self.values) < 0

    def take(self, file: str, line: int, size: int = 0, values: int = 0) -> None:
        """Take bytes and values. Raises SpecError where there are not so many left."""
        self.bytes -= size
        self.values -= values
        if self.spent:
            raise _wrong(
                file,
                line,
                f"at most {_ALL_BYTES >> 10} KiB and some {_ALL_VALUES // 2} values in a file and all that it includes",
                "more",
                "include less",
            )


@dataclass
class Document:
    """Plain values (dict, list, str, int, float, bool, None) and where each stands.

    A mapping's entry stands where its key does. `value` is None for an empty file.
    """

    file: str
    value: Any
    marks: dict[KeyPath, Mark] = field(default_factory=dict)

    def mark(self, path: KeyPath) -> Mark:
        """The place of `path`, or of the nearest thing around it that is there."""
        for length in range(len(path), -1, -1):
            if (found := self.marks.get(path[:length])) is not None:
                return found
        return Mark(self.file, 1, 1)

    def where(self, path: KeyPath) -> str:
        """`file:line:key.path`, as every problem names its place."""
        mark = self.mark(path)
        dotted = dotted_path(path)
        return f"{mark.file}:{mark.line}:{dotted}" if dotted else f"{mark.file}:{mark.line}"


def dotted_path(path: KeyPath) -> str:
    """`benchmarks[0].size` for `("benchmarks", 0, "size")`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def read_yaml(
    path: Path,
    name: str | None = None,
    merge_keys: bool = False,
    resolve: Resolve | None = None,
    budget: Budget | None = None,
) -> Document:
    """Read one YAML file.

    Args:
        path: the file.
        name: what problems call it; the path as given when None.
        merge_keys: `<<` merges mappings, as in YAML 1.1, for files of other tools.
        resolve: what plain scalars mean; as in YAML 1.2 when None.
        budget: shared by files that include each other; one of its own when None.

    Returns:
        its values and their places.

    Raises:
        SpecError: the file cannot be read or is not YAML of the kind above.
    """
    shown = name or str(path)
    try:
        data = read_bounded(path)
    except (OSError, ValueError) as error:
        got = "no such file" if isinstance(error, FileNotFoundError) else str(error)
        raise SpecError([Problem(shown, "a YAML file that can be read", got, "check the path")]) from error
    return parse_yaml(data, shown, merge_keys, resolve, budget)


def read_bounded(path: Path) -> bytes:
    """Read a plain file, to one byte past `MAX_BYTES` at most. Opening or reading another kind of file can wait for ever.

    Raises:
        OSError: it cannot be read, or is no plain file.
    """
    if not path.is_file():
        raise FileNotFoundError
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY), "rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError
        # Files of /proc are plain and have no size; /proc/kmsg waits for the kernel's next message.
        return stream.read(MAX_BYTES + 1) if status.st_size else b""


def parse_yaml(
    data: bytes,
    file: str,
    merge_keys: bool = False,
    resolve: Resolve | None = None,
    budget: Budget | None = None,
) -> Document:
    """Read YAML from bytes; `file` is the name that problems carry. Raises what `read_yaml` raises."""
    budget = budget or Budget()
    budget.take(file, 1, size=min(len(data), MAX_BYTES))
    if len(data) > MAX_BYTES:
        raise _wrong(
            file,
            1,
            f"at most {MAX_BYTES // 1024} KiB of YAML",
            "a larger file",
            "split it and use `include:`",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _wrong(
            file, line, "UTF-8 text", f"byte 0x{data[error.start]:02x}", "save the file as UTF-8"
        ) from error
    root = _Builder(file, merge_keys, resolve or resolve_plain, budget).build(text)
    document = Document(file, None)
    if root is not None:
        document.value = _Expander(document, budget).expand(root, (), 0)
    return document


def _wrong(file: str, line: int, expected: str, got: str, fix: str = "") -> SpecError:
    return SpecError([Problem(f"{file}:{line}", expected, got, fix)])


@dataclass(eq=False)
class _Node:
    """One node before aliases are replaced. `value`: scalar, list of nodes, or key -> (key's node, node)."""

    value: Any
    line: int
    column: int
    complete: bool = True


class _Builder:
    """Makes a graph of nodes from parser events, with a stack of its own."""

    def __init__(self, file: str, merge_keys: bool, resolve: Resolve, budget: Budget) -> None:
        self.file = file
        self.budget = budget
        self.count = 0
        self.resolve = resolve
        self.merge_keys = merge_keys
        self.anchors: dict[str, _Node] = {}
        self.stack: list[_Node] = []
        self.pending: list[_Node | None] = []  # the key that waits for its value, a level each
        self.root: _Node | None = None

    def build(self, text: str) -> _Node | None:
        documents = 0
        try:
            for event in YAML(typ="safe", pure=True).parse(text):
                if isinstance(event, DocumentStartEvent):
                    documents += 1
                    if documents > 1:
                        line = event.start_mark.line + 1
                        raise _wrong(self.file, line, "one YAML document", "a second one", "remove `---`")
                self.take(event)
        except YAMLError as error:
            raise self.syntax(error) from error
        except (ValueError, IndexError, RecursionError, OverflowError) as error:
            # The scanner meets some malformed escapes and directives this way.
            raise _wrong(self.file, 1, "YAML", f"{type(error).__name__}: {error}") from error
        return self.root

    def syntax(self, error: YAMLError) -> SpecError:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line = mark.line + 1 if mark is not None else 1
        got = " ".join(str(getattr(error, "problem", None) or error).split())
        if "\\t" in got:
            return _wrong(self.file, line, "spaces for indentation", "a tab", "replace the tab by spaces")
        fix = "put the text in quotes" if "mapping values" in got or "cannot start" in got else ""
        return _wrong(self.file, line, "YAML", got[:200], fix)

    def take(self, event: Any) -> None:
        if isinstance(event, AliasEvent):
            self.place(self.alias(event))
        elif isinstance(event, ScalarEvent):
            self.place(self.scalar(event))
        elif isinstance(event, MappingStartEvent | SequenceStartEvent):
            self.open(event, {} if isinstance(event, MappingStartEvent) else [])
        elif isinstance(event, MappingEndEvent | SequenceEndEvent):
            self.stack.pop().complete = True
            self.pending.pop()

    def open(self, event: Any, value: Any) -> None:
        self.refuse_tag(event)
        node = _Node(value, event.start_mark.line + 1, event.start_mark.column + 1, complete=False)
        if len(self.stack) >= MAX_DEPTH:
            raise _wrong(self.file, node.line, f"at most {MAX_DEPTH} levels of nesting", "more")
        self.place(node)
        self.remember(event, node)
        self.stack.append(node)
        self.pending.append(None)

    def place(self, node: _Node) -> None:
        """Put a node where it belongs: root, list item, key, or value of the waiting key."""
        parent = self.stack[-1] if self.stack else None
        if parent is None or isinstance(parent.value, list) or self.pending[-1] is not None:
            # While it is parsed, because parsing is what takes long; a key is no value.
            self.count += 1
            if self.count > MAX_VALUES:
                raise _wrong(self.file, node.line, f"at most {MAX_VALUES} values", "more")
            self.budget.take(self.file, node.line, values=1)
        if parent is None:
            self.root = node
            return
        if isinstance(parent.value, list):
            parent.value.append(node)
            return
        key = self.pending[-1]
        if key is None:
            self.pending[-1] = self.checked_key(node, parent)
        else:
            parent.value[key.value] = (key, node)
            self.pending[-1] = None

    def checked_key(self, node: _Node, parent: _Node) -> _Node:
        text = as_text(node.value)
        if text is None:
            raise _wrong(
                self.file, node.line, "text as a key", "a list, a mapping or nothing", "write a name"
            )
        if text == "<<" and not self.merge_keys:
            raise _wrong(
                self.file,
                node.line,
                "keys without `<<` (YAML 1.2 has no merge key)",
                "<<",
                "use `include:` or write the keys out",
            )
        if text in parent.value:
            first = parent.value[text][0].line
            raise _wrong(
                self.file, node.line, "every key once", f"`{text}` again, first on line {first}", "remove one"
            )
        return _Node(text, node.line, node.column)

    def alias(self, event: Any) -> _Node:
        line = event.start_mark.line + 1
        node = self.anchors.get(event.anchor)
        if node is None:
            raise _wrong(self.file, line, "an alias of an anchor above it", f"*{event.anchor}")
        if not node.complete:
            raise _wrong(
                self.file, line, "an alias outside of what it names", f"*{event.anchor} within itself"
            )
        return node

    def scalar(self, event: Any) -> _Node:
        plain = bool(event.implicit[0]) and not event.style
        tag = event.tag
        if tag == "tag:yaml.org,2002:str" or tag == "!":
            plain = False
        else:
            self.refuse_tag(event)
        line = event.start_mark.line + 1
        try:
            event.value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise _wrong(self.file, line, "characters of Unicode", "half of a surrogate pair") from error
        try:
            value = self.resolve(event.value) if plain else event.value
        except ValueError as error:
            raise _wrong(
                self.file, line, "text, or a number", str(error)[:200], "put the text in quotes"
            ) from error
        node = _Node(value, line, event.start_mark.column + 1)
        self.remember(event, node)
        return node

    def remember(self, event: Any, node: _Node) -> None:
        if event.anchor is not None:
            self.anchors[event.anchor] = node

    def refuse_tag(self, event: Any) -> None:
        tag = event.tag
        if tag is None or tag in ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"):
            return
        shown = str(tag).replace("tag:yaml.org,2002:", "!!")
        raise _wrong(
            self.file, event.start_mark.line + 1, "plain data without tags", f"tag {shown}", "remove the tag"
        )


class _Expander:
    """Turns nodes into plain values and fills the document's marks; counts, so that aliases cannot explode."""

    def __init__(self, document: Document, budget: Budget) -> None:
        self.document = document
        self.budget = budget
        self.count = 0

    def expand(self, node: _Node, path: KeyPath, depth: int, key: _Node | None = None) -> Any:
        self.count += 1
        at = key or node
        file = self.document.file
        if self.count > MAX_VALUES:
            raise _wrong(file, at.line, f"at most {MAX_VALUES} values", "more, aliases included")
        self.budget.take(file, at.line, values=1)
        if depth > MAX_DEPTH:
            raise _wrong(file, at.line, f"at most {MAX_DEPTH} levels of nesting", "more, aliases included")
        self.document.marks[path] = Mark(file, at.line, at.column)
        if isinstance(node.value, dict):
            return {
                name: self.expand(child, (*path, name), depth + 1, child_key)
                for name, (child_key, child) in self.merged(node).items()
            }
        if isinstance(node.value, list):
            return [self.expand(child, (*path, i), depth + 1) for i, child in enumerate(node.value)]
        return node.value

    def merged(self, node: _Node) -> dict[str, tuple[_Node, _Node]]:
        """The entries of a mapping with those that `<<` brings; its own win, then those of the first mapping named."""
        if "<<" not in node.value:
            return dict(node.value)
        key, given = node.value["<<"]
        found: dict[str, tuple[_Node, _Node]] = {}
        for source in given.value if isinstance(given.value, list) else [given]:
            if not isinstance(source.value, dict):
                raise _wrong(
                    self.document.file, key.line, "a mapping, or a list of them, to merge", "another value"
                )
            for name, entry in self.merged(source).items():
                self.count += 1
                if self.count > MAX_VALUES:
                    raise _wrong(
                        self.document.file,
                        key.line,
                        f"at most {MAX_VALUES} values",
                        "more, merged ones included",
                    )
                found.setdefault(name, entry)
        return found | {name: entry for name, entry in node.value.items() if name != "<<"}


def resolve_plain(text: str) -> str | int | float | bool | None:
    """What a plain scalar means in YAML 1.2's core schema."""
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text.lower() == "true"
    if _INT.fullmatch(text):
        base = {"0o": 8, "0x": 16}.get(text[:2], 10)
        whole = WrittenInt(int(text[2:] if base != 10 else text, base))
        whole.text = text
        return whole
    if _FLOAT.fullmatch(text):
        # `.inf` and `.nan` are `inf` and `nan` to Python.
        number = WrittenFloat(re.sub(r"\.(?=[a-zA-Z])", "", text))
        number.text = text
        return number
    return text


def as_text(value: Any) -> str | None:
    """The text of a scalar as it was written; None for what is not a scalar, or is null."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, WrittenInt | WrittenFloat):
        return value.text
    if isinstance(value, int | float):
        return repr(value)
    return None


def as_plain(value: Any) -> Any:
    """A scalar without its text."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    return float(value) if isinstance(value, float) else value
