"""`regatta plan`: what it notes about runtimes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from regatta.cli.plan import remarks_on
from regatta.host.values.resolved import ResolvedRuntime


def test_a_remark_on_a_runtime_of_several_hosts_is_shown_once() -> None:
    shim = ResolvedRuntime("shim", "/shims/python3", "", "1", remark="a script")
    plain = ResolvedRuntime("plain", "/usr/bin/perl", "", "2")
    hosts = {name: SimpleNamespace(runtimes={"shim": shim, "plain": plain}) for name in ("one", "two")}
    ready: Any = SimpleNamespace(hosts=hosts)
    assert remarks_on(ready) == ["a script"]
