"""Agent on a host: run the zipapp there, send questions, validate answers."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, TypeAdapter, ValidationError

from regatta.fleet.remote.base import Answer, Remote, Unreachable, distrusted
from regatta.fleet.zipapp import zipapp_file
from regatta.host.errors import HostError, Problem, RegattaError
from regatta.host.minheap.search import MinheapSearch
from regatta.host.printable import Lines, printable
from regatta.host.values.cell import Cell
from regatta.host.values.experiment import Experiment
from regatta.host.values.host import Host
from regatta.host.values.resolved import File, ResolvedHost
from regatta.host.verbs.questions import Facts, Question, Resolve, Train

_RESOLVED = TypeAdapter(ResolvedHost)
_FILE = TypeAdapter(File)
#: builds and probes on a slow machine take long; a search of a minheap takes hours
_ASK_S = 3600.0
_SEARCH_S = 24 * 3600.0
_LONGEST_TEXT = 4000
_WORD = re.compile(r"[A-Za-z0-9_]{1,32}")


#: exit code if the zipapp is missing or differs from ours
_NOT_OURS = 97
#: exit code if Python is too old; the last line of standard error names its version
_TOO_OLD = 96
#: exit code of an unexpected error of the zipapp
_FAULT = 95
# Benchmarks run as the same user and could change the file: verify its contents before running it.
# Any Python version must parse this, so that an old one can report its version.
_BOOT = f"""
import hashlib, os, runpy, sys
python = "Python " + sys.version.split()[0]
if sys.version_info < (3, 9):
    sys.stderr.write("%s (%s)" % (python, sys.executable))
    sys.exit({_TOO_OLD})
def fault(kind, error, trace):
    sys.__excepthook__(kind, error, trace)
    sys.stderr.write("%s: %s: %s" % (python, kind.__name__, error))
    sys.stderr.flush()
    os._exit({_FAULT})
sys.excepthook = fault
path, digest = sys.argv[1:3]
try:
    with open(path, "rb") as file:
        ours = hashlib.sha256(file.read()).hexdigest() == digest
except OSError:
    ours = False
if not ours:
    sys.exit({_NOT_OURS})
sys.argv = [path, *sys.argv[3:]]
runpy.run_path(path, run_name="__main__")
"""


def _with_architecture(facts: dict[str, str]) -> dict[str, str]:
    """Restrict it to one word, because it becomes part of paths here."""
    if not _WORD.fullmatch(facts.get("architecture", "")):
        raise ValueError("expected an architecture such as x86_64")
    return facts


Text = Annotated[str, AfterValidator(printable)]


@dataclass(frozen=True)
class HostFacts:
    """Facts that a host reports."""

    facts: Annotated[dict[str, Text], AfterValidator(_with_architecture)]
    #: folder -> implementor and version
    jvms: dict[str, Text]
    #: clock of the host
    utc_ns: int
    #: name of the node in Slurm; empty elsewhere
    node: Text

    @property
    def architecture(self) -> str:
        """Return the architecture, as in `uname -m`."""
        return self.facts.get("architecture", "")


_FACTS = TypeAdapter(HostFacts)


class Agent:
    """The zipapp on a host, over any connection."""

    def __init__(self, remote: Remote, zipapp: Path | None = None) -> None:
        self.remote = remote
        self.host: Host = remote.host
        self._zipapp = zipapp or zipapp_file()
        self._sha256 = hashlib.sha256(self._zipapp.read_bytes()).hexdigest()
        self.path = f"{self.host.root}/bin/{self._zipapp.name}"

    def argv(self, words: Sequence[str]) -> list[str]:
        """Return the command line of a verb of the zipapp."""
        return [self.host.python, "-I", "-c", _BOOT, self.path, self._sha256, *words]

    def run(self, words: Sequence[str], stdin: bytes = b"", timeout_s: float = _ASK_S) -> Answer:
        """Run one verb; copy the zipapp first if the host lacks it.

        Raises:
            Unreachable: the connection is broken.
            HostError: the zipapp cannot be copied, or the verb failed.
        """
        answer = self.remote.run(self.argv(words), stdin, timeout_s)
        if answer.returncode == _NOT_OURS:
            self.remote.put(self._zipapp, self.path)
            answer = self.remote.run(self.argv(words), stdin, timeout_s)
        if answer.returncode == _TOO_OLD:
            fix = "set `ansible_python_interpreter` of the host in the inventory to a newer Python"
            raise HostError(self.host.name, "Python 3.9 or newer", answer.last_line(), fix)
        if answer.returncode != 0:
            fix = "prepare the host: `regatta provision SPEC`"
            if answer.returncode == _FAULT:
                fix = "report this as a bug in Regatta, or set `ansible_python_interpreter` to another Python"
            raise HostError(self.host.name, f"`{words[0]}` to succeed on the host", answer.last_line(), fix)
        return answer

    def object(self, words: Sequence[str], stdin: bytes = b"", timeout_s: float = _ASK_S) -> dict[str, Any]:
        """Run a verb that prints one JSON object.

        Raises:
            HostError: the output is invalid.
        """
        answer = self.run(words, stdin, timeout_s)
        try:
            value = json.loads(answer.stdout)
        except (ValueError, RecursionError) as error:
            raise self._wrong(words[0], f"{_short(answer.stdout)} ({error})") from error
        if not isinstance(value, dict):
            raise self._wrong(words[0], _short(answer.stdout))
        return value

    def _wrong(self, what: str, got: str) -> HostError:
        where = f"host {self.host.name}: answer to `{what}`"
        return distrusted(where, "one JSON object in the expected format", got)

    def ask(self, what: str, question: Question, timeout_s: float = _ASK_S) -> dict[str, Any]:
        """Send a question.

        Raises:
            RegattaError: the error of the host, with its name, or an invalid answer.
        """
        data = json.dumps(asdict(question)).encode()
        value = self.object(["ask", what, self.host.root], data, timeout_s)
        if isinstance(value.get("error"), dict):
            raise self._error(what, value["error"])
        answer = value.get("answer")
        if not isinstance(answer, dict):
            raise self._wrong(what, _short(json.dumps(value)))
        return answer

    def _error(self, what: str, value: Mapping[str, Any]) -> HostError:
        problems = value.get("problems")
        parts = problems if isinstance(problems, list) else []
        found = tuple(
            Problem(
                f"host {self.host.name}: {part[0][:_LONGEST_TEXT]}",
                *(Lines(text[:_LONGEST_TEXT]) for text in part[1:4]),
            )
            for part in parts
            if isinstance(part, list) and len(part) == 4 and all(isinstance(text, str) for text in part)
        )
        if not found:
            return self._wrong(what, _short(json.dumps(dict(value))))
        error = HostError(self.host.name, "", "")
        error.problems = found
        error.args = ("\n".join(map(str, found)),)
        return error

    def facts(self) -> HostFacts:
        """Return the facts of the host.

        Raises:
            HostError: the host cannot be asked, or its answer is invalid.
        """
        answer = self.ask("facts", Facts(), timeout_s=120)
        try:
            return _FACTS.validate_json(json.dumps(answer), strict=True)
        except ValidationError as error:
            raise self._wrong("facts", _short(str(error))) from error

    def quiet(self) -> dict[str, Any] | None:
        """Return the quiesce settings of the host; None if they cannot be read."""
        words = ["quiet", "status", "--state", f"{self.host.root}/quiet"]
        for option, cpus in (("--cpus", self.host.cpus), ("--housekeeping", self.host.housekeeping_cpus)):
            words += [option, ",".join(map(str, cpus))] if cpus else []
        try:
            return self.object(words, timeout_s=120)
        except Unreachable:
            raise
        except HostError:
            return None

    def resolve(self, question: Resolve) -> ResolvedHost | list[str]:
        """Return the resources for an experiment, or a list of missing ones.

        Raises:
            HostError: a build fails there, or the answer is invalid.
        """
        answer = self.ask("resolve", question)
        lacks = answer.get("lacks")
        if isinstance(lacks, list):
            return [printable(str(item), _LONGEST_TEXT) for item in lacks]
        try:
            resolved = _RESOLVED.validate_python(answer["resolved"])
        except (ValidationError, KeyError) as error:
            raise self._wrong("resolve", _short(str(error))) from error
        if (resolved.name, resolved.platform) != (self.host.name, self.host.platform):
            raise self._wrong("resolve", f"an answer of {resolved.name} on {resolved.platform}")
        return resolved

    def train(
        self, cells: Sequence[Cell], experiment: Experiment, host: ResolvedHost
    ) -> dict[str, File | RegattaError]:
        """Run training runs on the host; return cell id -> file, or the reason for its absence."""
        answer = self.ask("train", Train(tuple(cells), experiment, host))
        made: dict[str, File | RegattaError] = {}
        for cell in cells:
            told = answer.get(cell.cell_id)
            if isinstance(told, dict) and isinstance(told.get("error"), dict):
                made[cell.cell_id] = self._error("train", told["error"])
                continue
            try:
                made[cell.cell_id] = _FILE.validate_python(told["file"] if isinstance(told, dict) else told)
            except (ValidationError, KeyError) as error:
                raise self._wrong("train", _short(str(error))) from error
        return made

    def search_minheap(self, search: MinheapSearch) -> str:
        """Search a minheap on the host; return the path of the file with all attempts.

        Raises:
            HostError: no heap is large enough.
        """
        answer = self.ask("minheap", search, _SEARCH_S)
        path = answer.get("attempts")
        if not isinstance(path, str) or not path.startswith(f"{self.host.root}/") or ".." in path.split("/"):
            raise self._wrong("minheap", _short(json.dumps(answer)))
        return path


def _short(text: str | bytes) -> str:
    shown = printable(text.decode("utf-8", "replace") if isinstance(text, bytes) else text)
    return shown if len(shown) <= 300 else f"{shown[:300]}... ({len(shown)} characters)"
