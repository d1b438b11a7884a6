"""The window of the median transaction of a kept recording, which takes seconds to read and is therefore kept, too."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from regatta.figures.text import joined
from regatta.host.files import parse_object, scratch_folder, write_object
from regatta.host.values.events import TRACE_FILE
from regatta.models.kernel_traces.importing import import_recording
from regatta.models.kernel_traces.timeline import State
from regatta.models.kernel_traces.topic.chart import transaction_words
from regatta.models.kernel_traces.topic.window import Part, Row, Span, Wakeup, Window, opened

_VERSION = 1


def median_window(recording: Path, charts: Path) -> tuple[Window, str]:
    """Return the window of the median transaction of a recording, and a note about it.

    Args:
        recording: folder of the files of the recorder, in `kept/` of a host.
        charts: folder that keeps windows; they are read again if the recording changes.

    Raises:
        RegattaError: the recording is damaged.
        HostError: trace-cmd is missing.
        OSError: the recording cannot be read.
    """
    changed_ns = (recording / TRACE_FILE).stat().st_mtime_ns
    path = charts / recording.parent.parent.name / f"{recording.name}.json"
    known = _read(path, changed_ns)
    if known is not None:
        return known
    with scratch_folder("regatta-chart-") as scratch:
        trace = import_recording(recording, scratch / "trace")
        with opened(trace) as charted:
            one = charted.median()
            window = charted.window(*charted.around(one))
        note = joined(transaction_words(one), *trace.facts.remarks)
    # The chart does not depend on it, and the folder can be write-protected.
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_object(
            path, {"version": _VERSION, "changed_ns": changed_ns, "note": note, "window": asdict(window)}
        )
    return window, note


def _read(path: Path, changed_ns: int) -> tuple[Window, str] | None:
    try:
        told = parse_object(path)
        if (told["version"], told["changed_ns"]) != (_VERSION, changed_ns):
            return None
        return _window(told["window"]), str(told["note"])
    except Exception:
        # A cache: the recording is read again.
        return None


def _window(told: Mapping[str, Any]) -> Window:
    def parts(many: list[dict[str, Any]]) -> list[Part]:
        return [Part(**one) for one in many]

    rows = [
        Row(
            actor=row["actor"],
            name=row["name"],
            server=row["server"],
            spans=[Span(**{**span, "state": State(span["state"])}) for span in row["spans"]],
            phases=parts(row["phases"]),
            transactions=parts(row["transactions"]),
        )
        for row in told["rows"]
    ]
    return Window(
        begin_ns=told["begin_ns"],
        end_ns=told["end_ns"],
        names=list(told["names"]),
        kinds=list(told["kinds"]),
        rows=rows,
        left_out=told["left_out"],
        cpus={int(cpu): parts(many) for cpu, many in told["cpus"].items()},
        interrupts={int(cpu): parts(many) for cpu, many in told["interrupts"].items()},
        wakeups=[Wakeup(**one) for one in told["wakeups"]],
    )
