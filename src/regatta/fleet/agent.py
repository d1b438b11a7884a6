"""What a host is asked and what it answers: the zipapp there, questions in, checked answers out."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, TypeAdapter, ValidationError

from regatta.fleet.remote.base import Answer, Remote, Unreachable
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
#: a build or a probe on a slow machine takes long; a search of a minheap takes hours
_ASK_S = 3600.0
_SEARCH_S = 24 * 3600.0
_LONGEST_TEXT = 4000
_WORD = re.compile(r"[A-Za-z0-9_]{1,32}")


#: exit code where the zipapp is not there, or is not the one that was brought
_NOT_OURS = 97
#: exit code of a Python that is too old, which the last line of its standard error names
_TOO_OLD = 96
#: exit code of an error that the zipapp does not raise on purpose
_FAULT = 95
# What is measured there runs as the same user, who could have changed the file: it is run by its contents, not by its name.
# Any Python must understand this, so that one that is too old can say so.
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
    """It becomes part of paths here, so that it may be a word and nothing else."""
    if not _WORD.fullmatch(facts.get("architecture", "")):
        raise ValueError("expected an architecture such as x86_64")
    return facts


Text = Annotated[str, AfterValidator(printable)]


@dataclass(frozen=True)
class HostFacts:
    """What a host tells of itself."""

    facts: Annotated[dict[str, Text], AfterValidator(_with_architecture)]
    #: folder -> implementor and version
    jvms: dict[str, Text]
    #: its clock
    utc_ns: int
    #: the name that Slurm gives it; empty elsewhere
    node: Text

    @property
    def architecture(self) -> str:
        """As `uname -m` says it."""
        return self.facts.get("architecture", "")


_FACTS = TypeAdapter(HostFacts)


class Agent:
    """Our zipapp on a host, by whatever way."""

    def __init__(self, remote: Remote, zipapp: Path | None = None) -> None:
        self.remote = remote
        self.host: Host = remote.host
        self._zipapp = zipapp or zipapp_file()
        self._sha256 = hashlib.sha256(self._zipapp.read_bytes()).hexdigest()
        self.path = f"{self.host.root}/bin/{self._zipapp.name}"

    def argv(self, words: Sequence[str]) -> list[str]:
        """The command of one verb of the zipapp."""
        return [self.host.python, "-I", "-c", _BOOT, self.path, self._sha256, *words]

    def run(self, words: Sequence[str], stdin: bytes = b"", timeout_s: float = _ASK_S) -> Answer:
        """Run one verb; the zipapp is brought first where the host has not got it.

        Raises:
            Unreachable: the way is broken.
            HostError: the zipapp cannot be brought, or the verb failed.
        """
        answer = self.remote.run(self.argv(words), stdin, timeout_s)
        if answer.returncode == _NOT_OURS:
            self.remote.put(self._zipapp, self.path)
            answer = self.remote.run(self.argv(words), stdin, timeout_s)
        if answer.returncode == _TOO_OLD:
            fix = "set `ansible_python_interpreter` of the host in the inventory to a newer one"
            raise HostError(self.host.name, "Python 3.9 or newer", answer.last_line(), fix)
        if answer.returncode != 0:
            fix = "make the host ready: `regatta provision SPEC`"
            if answer.returncode == _FAULT:
                fix = (
                    "report this as a fault of Regatta, or set `ansible_python_interpreter` to another Python"
                )
            raise HostError(self.host.name, f"`{words[0]}` to succeed there", answer.last_line(), fix)
        return answer

    def object(self, words: Sequence[str], stdin: bytes = b"", timeout_s: float = _ASK_S) -> dict[str, Any]:
        """Run a verb that prints one JSON object.

        Raises:
            HostError: it prints something else.
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
        return HostError(
            f"host {self.host.name}: answer to `{what}`", "one JSON object of the agreed form", got,
            "do not trust this host before you know why",
        )  # fmt: skip

    def ask(self, what: str, question: Question, timeout_s: float = _ASK_S) -> dict[str, Any]:
        """Ask a question.

        Raises:
            RegattaError: the host's own, with the host's name; or its answer is not of the agreed form.
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
        """What the host is and has.

        Raises:
            HostError: it cannot be asked, or answers nonsense.
        """
        answer = self.ask("facts", Facts(), timeout_s=120)
        try:
            return _FACTS.validate_json(json.dumps(answer), strict=True)
        except ValidationError as error:
            raise self._wrong("facts", _short(str(error))) from error

    def quiet(self) -> dict[str, Any] | None:
        """What the host's knobs say; None where they cannot be asked."""
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
        """What is there for an experiment, or what must be brought first.

        Raises:
            HostError: a build fails there, or the answer is of another form.
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
        """Have training runs made there; cell id -> the file, or why there is none."""
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
        """Have a minheap searched there; returns the path of the file of all attempts.

        Raises:
            HostError: no heap is enough.
        """
        answer = self.ask("minheap", search, _SEARCH_S)
        path = answer.get("attempts")
        if not isinstance(path, str) or not path.startswith(f"{self.host.root}/") or ".." in path.split("/"):
            raise self._wrong("minheap", _short(json.dumps(answer)))
        return path


def _short(text: str | bytes) -> str:
    shown = printable(text.decode("utf-8", "replace") if isinstance(text, bytes) else text)
    return shown if len(shown) <= 300 else f"{shown[:300]}... ({len(shown)} characters)"
