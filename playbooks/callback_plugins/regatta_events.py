"""What a playbook does, as JSON lines in a file: Regatta reads them while it runs, and the outcome of each host at the end."""

from __future__ import annotations

import json
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: regatta_events
type: notification
short_description: Events of a playbook as JSON lines
description:
  - Writes which role each host is in, what failed there and why, and at the end how each host came through.
  - What a task keeps from logs (C(no_log)) is not in it either.
options:
  path:
    description: The file that lines are appended to.
    env: [{name: REGATTA_PLAYBOOK_EVENTS}]
    required: true
    type: path
"""

#: Answers of hosts can be long; the end of a message says why.
LONGEST = 2000


def shortened(text: str) -> str:
    """The beginning and the end of a long text."""
    text = text.strip()
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"


def reason_of(result: dict[str, Any]) -> str:
    """Why a task failed, in its own words: of a loop, its items that failed."""
    items = [item for item in result.get("results") or [] if isinstance(item, dict) and item.get("failed")]
    if items:
        return shortened("; ".join(reason_of(item) for item in items))
    words = [str(result.get("msg") or result.get("censored") or "")]
    words += [str(result[key]) for key in ("stderr", "module_stderr", "module_stdout") if result.get(key)]
    return shortened("\n".join(word for word in words if word) or "it says nothing")


class CallbackModule(CallbackBase):  # type: ignore[misc]
    """The plugin; it is asked for by name only."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "regatta_events"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._phases: dict[str, str] = {}

    def _tell(self, **event: Any) -> None:
        with open(self.get_option("path"), "a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        """A host begins a task: told once for each role."""
        role = getattr(task, "_role", None)
        phase = role.get_name() if role else ""
        if phase and self._phases.get(host.get_name()) != phase:
            self._phases[host.get_name()] = phase
            self._tell(event="role", host=host.get_name(), role=phase)

    def _failure(self, event: str, result: Any) -> None:
        role = getattr(result.task, "_role", None)
        self._tell(
            event=event,
            host=result.host.get_name(),
            role=role.get_name() if role else "",
            task=result.task.name or result.task.action,
            reason=reason_of(dict(result.result)),
        )

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """A task failed; whether the host did, the end tells."""
        if not ignore_errors:
            self._failure("failed", result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """A host does not answer."""
        self._failure("unreachable", result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """The end: every host that took part."""
        for host in sorted(stats.processed):
            self._tell(event="host", host=host, **stats.summarize(host))
        self._tell(event="end")
