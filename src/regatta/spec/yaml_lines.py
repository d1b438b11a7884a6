"""YAML as data, with the place of every value.

YAML 1.2's core schema on ruamel's graph of nodes: tags create no objects, keys are unique, a file has one document. Aliases,
depth and size are limited. A plain number keeps its text, because `-9` in a command is an argument and `1.10` in a version
is not 1.1.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent, ScalarEvent
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from regatta.host.errors import Problem, SpecError

KeyPath = tuple[str | int, ...]
#: value of a plain scalar; the message of a ValueError names the invalid type
Resolve = Callable[[str], Any]

#: A spec has about 30 lines and a suite about 300; the pure Python parser would take seconds for more than this.
MAX_BYTES = 256 * 1024
MAX_DEPTH = 32
#: both as written and after expansion of aliases
MAX_VALUES = 20_000
#: of a spec with all its includes: files, bytes, and values both as written and after expansion
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
    """An integer with its original text."""

    text: str


class WrittenFloat(float):
    """A number with its original text."""

    text: str


@dataclass(frozen=True)
class Mark:
    """A place in a file; `line` and `column` count from 1."""

    file: str
    line: int
    column: int


class Budget:
    """Remaining limits for one spec or configuration, with all files that it includes."""

    def __init__(self) -> None:
        self.files = MAX_FILES
        self.bytes = _ALL_BYTES
        self.values = _ALL_VALUES

    @property
    def spent(self) -> bool:
        """Return whether the budget is exhausted."""
        return min(self.files, self.bytes, self.values) < 0

    def take(self, file: str, line: int, size: int = 0, values: int = 0) -> None:
        """Take bytes and values. Raises SpecError if the budget is exceeded."""
        self.bytes -= size
        self.values -= values
        if self.spent:
            raise _wrong(
                file,
                line,
                f"at most {_ALL_BYTES >> 10} KiB and about {_ALL_VALUES // 2} values in a file and its includes",
                "more",
                "include less",
            )


@dataclass
class Document:
    """Plain values (dict, list, str, int, float, bool, None) and their places.

    The place of a mapping's entry is that of its key. `value` is None for an empty file.
    """

    file: str
    value: Any
    marks: dict[KeyPath, Mark] = field(default_factory=dict)

    def mark(self, path: KeyPath) -> Mark:
        """Return the place of `path`, or of its nearest existing parent."""
        for length in range(len(path), -1, -1):
            if (found := self.marks.get(path[:length])) is not None:
                return found
        return Mark(self.file, 1, 1)

    def where(self, path: KeyPath) -> str:
        """Return `file:line:key.path`, the form of places in problems."""
        mark = self.mark(path)
        dotted = dotted_path(path)
        return f"{mark.file}:{mark.line}:{dotted}" if dotted else f"{mark.file}:{mark.line}"


def dotted_path(path: KeyPath) -> str:
    """Return `benchmarks[0].size` for `("benchmarks", 0, "size")`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def paths_in(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the paths of a value and of its contents."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inner:
        yield from paths_in(child, (*path, key))


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
        name: its name in problems; the path as given when None.
        merge_keys: `<<` merges mappings, as in YAML 1.1, for files of other tools.
        resolve: values of plain scalars; as in YAML 1.2 when None.
        budget: shared by files that include each other; a new one when None.

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
        raise SpecError([Problem(shown, "a readable YAML file", got, "correct the path")]) from error
    return parse_yaml(data, shown, merge_keys, resolve, budget)


def read_bounded(path: Path) -> bytes:
    """Read a plain file, up to one byte past `MAX_BYTES`. Opening or reading another kind of file can block forever.

    Raises:
        OSError: it cannot be read, or is no plain file.
    """
    if not path.is_file():
        raise OSError("not a regular file") if path.exists() else FileNotFoundError()
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY), "rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError
        # Files of /proc are plain and have size 0; /proc/kmsg blocks until the kernel's next message.
        return stream.read(MAX_BYTES + 1) if status.st_size else b""


def parse_yaml(
    data: bytes,
    file: str,
    merge_keys: bool = False,
    resolve: Resolve | None = None,
    budget: Budget | None = None,
) -> Document:
    """Read YAML from bytes; `file` is its name in problems. Raises the errors of `read_yaml`."""
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
    root = _composed(text, file, resolve or resolve_plain, budget)
    document = Document(file, None)
    if root is not None:
        try:
            document.value = _Expander(document, merge_keys, budget).expand(root, ())
        except RecursionError as error:
            raise _wrong(file, 1, "short chains of merged mappings", "thousands of merges") from error
    return document


def _wrong(file: str, line: int, expected: str, got: str, fix: str = "") -> SpecError:
    return SpecError([Problem(f"{file}:{line}", expected, got, fix)])


def _line(found: Any) -> int:
    """Return the line of an event or a node, from 1."""
    line: int = found.start_mark.line
    return line + 1


class _Composer(Composer):
    """Makes ruamel's graph of nodes. It enforces limits during parsing, because parsing is slow.

    A scalar node holds the value of the scalar.
    """

    def __init__(self, loader: YAML, file: str, resolve: Resolve, budget: Budget) -> None:
        super().__init__(loader)
        self.warn_double_anchors = False
        self.file = file
        self.resolve = resolve
        self.budget = budget
        self.count = 0
        #: the anchor, if any, of each open list and mapping
        self.within: list[str | None] = []

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.parser.peek_event()
        line = _line(event)
        if index is not None or not isinstance(parent, MappingNode):  # a key is no value
            self.count += 1
            if self.count > MAX_VALUES:
                raise _wrong(self.file, line, f"at most {MAX_VALUES} values", "more")
            self.budget.take(self.file, line, values=1)
        if isinstance(event, AliasEvent):
            if event.anchor not in self.anchors:
                raise _wrong(self.file, line, "an alias of a previous anchor", f"*{event.anchor}")
            if event.anchor in self.within:
                got = f"*{event.anchor} inside its own anchor"
                raise _wrong(self.file, line, "an alias outside its anchor", got)
            return super().compose_node(parent, index)
        if isinstance(event, ScalarEvent):
            return self.scalar(self.parser.get_event())
        if event.tag not in (None, "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"):
            raise self.tagged(event)
        if len(self.within) >= MAX_DEPTH:
            raise _wrong(self.file, line, f"at most {MAX_DEPTH} levels of nesting", "more")
        self.within.append(event.anchor)
        node = super().compose_node(parent, index)
        self.within.pop()
        return node

    def scalar(self, event: Any) -> ScalarNode:
        if event.tag not in (None, "tag:yaml.org,2002:str", "!"):
            raise self.tagged(event)
        value: Any = event.value
        try:
            value.encode("utf-8")
            if event.tag is None and event.implicit[0] and not event.style:
                value = self.resolve(value)
        except UnicodeEncodeError as error:
            got = "a lone surrogate"
            raise _wrong(self.file, _line(event), "valid Unicode characters", got) from error
        except ValueError as error:
            fix = "put the text in quotes"
            raise _wrong(self.file, _line(event), "a string or a number", str(error)[:200], fix) from error
        node = ScalarNode(None, value, event.start_mark, event.end_mark)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def tagged(self, event: Any) -> SpecError:
        shown = str(event.tag).replace("tag:yaml.org,2002:", "!!")
        return _wrong(self.file, _line(event), "plain data without tags", f"tag {shown}", "remove the tag")


def _composed(text: str, file: str, resolve: Resolve, budget: Budget) -> Any:
    """Return the root node; None for empty input."""
    if text.startswith("#!"):
        fix = "to measure a command, use `regatta time` or `regatta init --command`"
        raise _wrong(file, 1, "YAML", "a script", fix)
    yaml = YAML(typ="safe", pure=True)
    _Composer(yaml, file, resolve, budget)  # registers itself as the composer of `yaml`
    try:
        return yaml.compose(text)
    except YAMLError as error:
        raise _syntax(file, error) from error
    except (ValueError, IndexError, RecursionError, OverflowError) as error:
        # The scanner raises this for some malformed escapes and directives.
        raise _wrong(file, 1, "YAML", f"{type(error).__name__}: {error}") from error


def _syntax(file: str, error: YAMLError) -> SpecError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line = mark.line + 1 if mark is not None else 1
    got = " ".join(str(getattr(error, "problem", None) or error).split())
    if got == "but found another document":
        return _wrong(file, line, "one YAML document", "a second document", "remove `---`")
    if "\\t" in got:
        return _wrong(file, line, "indentation by spaces", "a tab", "replace the tab by spaces")
    fix = "put the text in quotes" if "mapping values" in got or "cannot start" in got else ""
    return _wrong(file, line, "YAML", got[:200], fix)


class _Expander:
    """Converts nodes to plain values and fills the document's marks; counts values, so that aliases cannot explode."""

    def __init__(self, document: Document, merge_keys: bool, budget: Budget) -> None:
        self.document = document
        self.file = document.file
        self.merge_keys = merge_keys
        self.budget = budget
        self.count = 0

    def expand(self, node: Any, path: KeyPath, key: Any = None) -> Any:
        at = key or node
        self.take(_line(at), "aliases")
        self.budget.take(self.file, _line(at), values=1)
        if len(path) > MAX_DEPTH:
            got = "more, including aliases"
            raise _wrong(self.file, _line(at), f"at most {MAX_DEPTH} levels of nesting", got)
        self.document.marks[path] = Mark(self.file, _line(at), at.start_mark.column + 1)
        if isinstance(node, MappingNode):
            entries = self.entries(node)
            return {name: self.expand(child, (*path, name), own) for name, (own, child) in entries.items()}
        if isinstance(node, SequenceNode):
            return [self.expand(child, (*path, i)) for i, child in enumerate(node.value)]
        return node.value

    def take(self, line: int, what: str) -> None:
        self.count += 1
        if self.count > MAX_VALUES:
            raise _wrong(self.file, line, f"at most {MAX_VALUES} values", f"more, including {what}")

    def entries(self, node: Any) -> dict[str, tuple[Any, Any]]:
        """Return key -> (key's node, node), with `<<` merged: direct entries win, then those of the first mapping named."""
        own: dict[str, tuple[Any, Any]] = {}
        for key, child in node.value:
            text = self.checked_key(key)
            if text in own:
                got = f"duplicate `{text}`, first on line {_line(own[text][0])}"
                raise _wrong(self.file, _line(key), "unique keys", got, "remove one")
            own[text] = key, child
        found: dict[str, tuple[Any, Any]] = {}
        if "<<" in own:
            key, given = own.pop("<<")
            for source in given.value if isinstance(given, SequenceNode) else [given]:
                if not isinstance(source, MappingNode):
                    got = f"{source.value!r:.80}" if isinstance(source, ScalarNode) else "a list in the list"
                    raise _wrong(self.file, _line(key), "a mapping or a list of mappings after `<<`", got)
                # Count a source as well: it may be empty, and merge further empty ones.
                self.take(_line(key), "merged values")
                for name, entry in self.entries(source).items():
                    self.take(_line(key), "merged values")
                    found.setdefault(name, entry)
        return found | own

    def checked_key(self, key: Any) -> str:
        text = as_text(key.value) if isinstance(key, ScalarNode) else None
        if text is None:
            got = "a list, a mapping or null"
            raise _wrong(self.file, _line(key), "a string as key", got, "write a name")
        if text == "<<" and not self.merge_keys:
            expected, fix = (
                "no merge key `<<` (not part of YAML 1.2)",
                "use `include:`, or repeat the keys",
            )
            raise _wrong(self.file, _line(key), expected, "<<", fix)
        return text


def resolve_plain(text: str) -> str | int | float | bool | None:
    """Return the value of a plain scalar in YAML 1.2's core schema."""
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
        # Python's names for `.inf` and `.nan` are `inf` and `nan`.
        number = WrittenFloat(re.sub(r"\.(?=[a-zA-Z])", "", text))
        number.text = text
        return number
    return text


def as_text(value: Any) -> str | None:
    """Return the text of a scalar as written; None for null or for other nodes."""
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
    """Return a scalar without its text."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    return float(value) if isinstance(value, float) else value
