"""A fault of Regatta: an exception that no part of it expects, reported with the file that was read and the place in the code."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from types import TracebackType

import regatta
from regatta.host.errors import RegattaError
from regatta.host.printable import printable

#: set to 1: the traceback precedes the message
TRACEBACK = "REGATTA_TRACEBACK"
_LONGEST = 300
_HOME = Path(regatta.__file__).parent


def fault_of(error: Exception) -> RegattaError:
    """Return the error that reports an unexpected exception; print its traceback first if the user asks for it."""
    if os.environ.get(TRACEBACK) == "1":
        traceback.print_exception(error)
    where, read = _place(error.__traceback__)
    what = printable(traceback.format_exception_only(error)[-1].strip()[:_LONGEST])
    return RegattaError(
        read or "regatta",
        "an answer, or an error that names its cause",
        f"a fault of Regatta {regatta.__version__} at {where} ({what})",
        f"report it with this file and command; {TRACEBACK}=1 shows the traceback",
    )


def _place(trace: TracebackType | None) -> tuple[str, str]:
    """Return the innermost place in Regatta, and the file that the innermost of its functions with a path reads; "" without one."""
    where = read = ""
    while trace is not None:
        code, found = trace.tb_frame.f_code, trace.tb_frame.f_locals
        if Path(code.co_filename).is_relative_to(_HOME):
            where = f"{Path(code.co_filename).relative_to(_HOME)}:{trace.tb_lineno}"
            paths = [one for one in found.values() if isinstance(one, Path) and _is_file(one)]
            read = str(paths[0]) if paths else read
        trace = trace.tb_next
    return where, read


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False
