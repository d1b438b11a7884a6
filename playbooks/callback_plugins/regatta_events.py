"""Write the events of a playbook, and finally the outcome of each host, as JSON lines. Regatta reads them during the run."""

from __future__ import annotations

import json
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: regatta_events
type: notification
short_description: Events of a playbook as JSON lines
description:
  - Writes the current role of each host, its messages (C(debug)), failed tasks with the reason, and finally its outcome.
  - Excludes output that a task hides from logs (C(no_log)).
options:
  path:
    description: File to which lines are appended.
    env: [{name: REGATTA_PLAYBOOK_EVENTS}]
    required: true
    type: path
"""

#: Messages of hosts can be long; the reason is at the end.
LONGEST = 2000


def shortened(text: str) -> str:
    """Return the beginning and the end of a long text."""
    text = text.strip()
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"


def reason_of(result: dict[str, Any]) -> str:
    """Return the message of a failed task; for a loop, those of the failed items."""
    items = [item for item in result.get("results") or [] if isinstance(item, dict) and item.get("failed")]
    if items:
        return shortened("; ".join(reason_of(item) for item in items))
    words = [str(result.get("msg") or result.get("censored") or "")]
    words += [str(result[key]) for key in ("stderr", "module_stderr", "module_stdout") if result.get(key)]
    return shortened("\n".join(word for word in words if word) or "no message")


class CallbackModule(CallbackBase):  # type: ignore[misc]
    """The plugin; Ansible loads it only by name."""

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
        """Report that a host starts a task, once per role."""
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
        """Report a failed task; the outcome of the host is reported at the end."""
        if not ignore_errors:
            self._failure("failed", result)

    def v2_runner_on_ok(self, result: Any) -> None:
        """Report a message for users; for a loop, each item has reported its own."""
        if "results" not in result.result:
            self.v2_runner_item_on_ok(result)

    def v2_runner_item_on_ok(self, result: Any) -> None:
        """Report a message for users."""
        if result.task.action == "ansible.builtin.debug" and "msg" in result.result:
            self._tell(event="note", host=result.host.get_name(), text=shortened(str(result.result["msg"])))

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Report an unreachable host."""
        self._failure("unreachable", result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Report the outcome of every host."""
        for host in sorted(stats.processed):
            self._tell(event="host", host=host, **stats.summarize(host))
        self._tell(event="end")
