"""The files of a gate: JSON for programs, Markdown for a pull request, JUnit XML for the pages of a CI server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from regatta.answers.gate.compute import DOCUMENT
from regatta.answers.gate.result import GateAnswer, GateRow
from regatta.answers.gate.words import LEGEND, change_words, drawing, gate_table, headline, notes
from regatta.answers.kit.plain import plain
from regatta.host.printable import printable
from regatta.store.folder import replacing

#: A comment of GitHub has at most 65,536 characters.
_ROWS = 60
#: characters that a cell of the table shows at most
_LONGEST = 300
#: verdict -> element of JUnit
_ELEMENTS = {"worse": "failure", "failed": "error", "undecided": "skipped"}


def gate_document(answer: GateAnswer) -> dict[str, Any]:
    """Return the gate as JSON values; NaN becomes null. `docs/gate.schema.json` describes it."""
    return {"headline": headline(answer), **plain(answer), "notes": notes(answer)}


def json_of(answer: GateAnswer) -> str:
    """Return the gate as JSON text."""
    return json.dumps(gate_document(answer), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def markdown_of(answer: GateAnswer) -> str:
    """Return the gate as Markdown. The first line is the verdict; then one table and one figure, which is text."""
    table = gate_table(answer)
    lines = [f"**{_cell(headline(answer))}**", ""]
    if table.rows:
        lines.append(_row(table.columns))
        lines.append(_row(["--:" if at in table.numeric else "---" for at in range(len(table.columns))]))
        lines += [_row(row) for row in table.rows[:_ROWS]]
        if len(table.rows) > _ROWS:
            lines += ["", f"and {len(table.rows) - _ROWS} more, no worse: see {DOCUMENT}"]
        lines += ["", LEGEND, ""]
    if figure := drawing(answer):
        # A backtick in a name would end the block.
        shown = (printable(line).replace("`", "'") for line in figure[: _ROWS + 1])
        lines += ["```text", *shown, "```", ""]
    lines += [f"- {_cell(note)}" for note in notes(answer)[:_ROWS]]
    return "\n".join(lines) + "\n"


def _row(texts: Any) -> str:
    return f"| {' | '.join(map(_cell, texts))} |"


def _cell(text: str) -> str:
    """Return a text that Markdown shows as it is: names and reasons come from outside."""
    text = printable(text, _LONGEST).replace("&", "&amp;")
    for mark in "\\`*_[]<>|#~$":
        text = text.replace(mark, f"\\{mark}")
    # Neither a mention of a person nor a link.
    return text.replace("@", "&#64;").replace("://", "&#58;//")


def junit_of(answer: GateAnswer) -> str:
    """Return the gate as JUnit XML: worse is a failure, failed an error, undecided is skipped."""
    suites = ElementTree.Element("testsuites", name="regatta gate")
    suite = ElementTree.SubElement(suites, "testsuite", name=answer.experiment)
    counts = dict.fromkeys(("failure", "error", "skipped"), 0)
    for row in answer.rows:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"{answer.experiment}.{row.place.host}", name=printable(row.title)
        )
        element = _ELEMENTS.get(row.verdict)
        if element is not None:
            counts[element] += 1
            ElementTree.SubElement(case, element, message=printable(_message(row)))
    for one in answer.problems:
        counts["skipped"] += 1
        case = ElementTree.SubElement(suite, "testcase", classname=answer.experiment, name=printable(one))
        ElementTree.SubElement(case, "skipped", message="problem")
    tests = len(answer.rows) + len(answer.problems)
    suite.attrib |= {
        "tests": str(tests),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
    }
    ElementTree.indent(suites, " ")
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _message(row: GateRow) -> str:
    change = f"{row.metric} {change_words(row)} against {row.baseline}"
    return f"{change}: {row.reason}" if row.reason else change


#: name of the file -> its text
FILES: Mapping[str, Callable[[GateAnswer], str]] = {
    "gate.md": markdown_of,
    "gate.xml": junit_of,
    DOCUMENT: json_of,
}


def write_gate(answer: GateAnswer, folder: Path) -> None:
    """Write `FILES`, each at once. Raises StoreError: the folder cannot be written."""
    for name, text in FILES.items():
        with replacing(folder / name) as temporary:
            temporary.write_text(text(answer), encoding="utf-8")
