"""Place the roles of benchmarks on hosts."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from regatta.host.errors import Problem
from regatta.host.values.experiment import Benchmark
from regatta.host.values.host import Host
from regatta.spec.problems import Reporter
from regatta.spec.spec_schema import Spec
from regatta.spec.yaml_lines import Document

#: between the names of hosts that measure together
_TOGETHER = "+"

#: role -> host
Placement = Mapping[str, str]


class RolePlacer(Reporter):
    """Places the roles of one spec; everything that is not possible becomes a problem."""

    def __init__(
        self,
        document: Document,
        spec: Spec,
        known: Container[str],
        platforms: Mapping[str, Sequence[Host]],
        problems: list[Problem],
    ) -> None:
        super().__init__(document, problems)
        self.spec = spec
        self.known = known
        self.platforms = platforms

    def placed(
        self, benchmarks: Sequence[Benchmark], hosts: Sequence[Host]
    ) -> tuple[list[Benchmark], list[Host]]:
        """Return the benchmarks in each placement, and the plan's hosts: one for all that measure together.

        Without `roles` in the spec, the benchmarks run on each of the hosts, without roles.
        """
        if not self.spec.roles:
            self._without_roles(benchmarks)
            return [replace(benchmark, roles=()) for benchmark in benchmarks], list(hosts)
        if "platforms" in self.known:
            self.report(("platforms",), "no `platforms` together with `roles`", "both", "remove `platforms`")
        if len(self.spec.roles) < 2:
            self.report(("roles",), "two or more roles", "one", "write `roles: {server: x86, client: arm}`")
        chosen = self._hosts()
        for benchmark in benchmarks:
            self._possible(benchmark)
        placements = self._placements(chosen)
        if self.problems:
            return list(benchmarks), list(hosts)
        found = [
            _on(benchmark, place, len(placements) > 1) for benchmark in benchmarks for place in placements
        ]
        return found, [_together(list({host.name: host for host in chosen.values()}.values()))]

    def _without_roles(self, benchmarks: Sequence[Benchmark]) -> None:
        if self.spec.placements != "fixed":
            self.report(("placements",), "`roles`, whose hosts are exchanged", "none", "add `roles`")
        for benchmark in benchmarks:
            if benchmark.roles and not (benchmark.command or benchmark.commands):
                roles = ", ".join(f"{role.name}: local" for role in benchmark.roles)
                expected = f"`roles`, because {benchmark.label} has no command for one host"
                self.report(("benchmarks",), expected, "none", f"add `roles: {{{roles}}}`")

    def _hosts(self) -> dict[str, Host]:
        """Return the host of each role."""
        hosts = {host.name: host for members in self.platforms.values() for host in members}
        found: dict[str, Host] = {}
        for role, name in self.spec.roles.items():
            among = self.platforms.get(name) or ([hosts[name]] if name in hosts else [])
            if not among:
                known = [*self.platforms, *hosts]
                self.report_unknown(("roles", role), "a platform or a host", name, known)
                continue
            taken = {host.name for host in found.values()}
            found[role] = next((host for host in among if host.name not in taken), among[0])
        return found

    def _possible(self, benchmark: Benchmark) -> None:
        wanted, has = list(self.spec.roles), [role.name for role in benchmark.roles]
        if sorted(wanted) != sorted(has):
            got = f"roles {', '.join(has)}" if has else "no roles"
            expected = f"benchmarks with the roles {', '.join(wanted)}"
            self.report(
                ("roles",), expected, f"{benchmark.label} with {got}", "correct `roles`, or `benchmarks`"
            )
            return
        unusable = {
            "arrange": benchmark.arrange,
            "prepare": benchmark.prepare,
            "check": benchmark.check,
            "conclude": benchmark.conclude,
            "keep": benchmark.keep,
            "directory": benchmark.directory,
            "input": benchmark.input,
            "output": benchmark.output,
        }
        for key in (key for key, value in unusable.items() if value):
            expected = f"benchmarks without `{key}`, which is for one host"
            self.report(
                ("benchmarks",), expected, benchmark.label, "remove `roles`, or use another benchmark"
            )
        if self.spec.isolation.kind == "docker":
            self.report(
                ("isolation",), "`cgroup` or `none` together with `roles`", "docker", "remove `isolation`"
            )

    def _placements(self, chosen: Mapping[str, Host]) -> list[Placement]:
        named = {role: host.name for role, host in chosen.items()}
        if self.spec.placements == "fixed":
            return [named]
        hosts = list(named.values())
        if len(hosts) != 2 or len(set(hosts)) != 2:
            got = f"{len(hosts)} roles on {len(set(hosts))} hosts"
            self.report(("placements",), "two roles on two hosts with `swap`", got, "remove `placements`")
        return [named, dict(zip(named, reversed(hosts), strict=True))]


def _on(benchmark: Benchmark, place: Placement, several: bool) -> Benchmark:
    """Return a benchmark with its roles on hosts.

    Args:
        benchmark: has the roles of the placement.
        place: the placement.
        several: whether there are other placements; the host of the first role is then a parameter.
    """
    roles = tuple(replace(role, host=place[role.name]) for role in benchmark.roles)
    first = {roles[0].name: roles[0].host} if several else {}
    return replace(
        benchmark,
        command=roles[-1].command,
        roles=roles,
        parameters={**benchmark.parameters, **first},
        chosen={**benchmark.chosen, **first},
    )


def _together(hosts: Sequence[Host]) -> Host:
    """Return the host of the plan for hosts that measure together."""
    return Host(
        name=_TOGETHER.join(host.name for host in hosts),
        platform=_TOGETHER.join(dict.fromkeys(host.platform for host in hosts)),
        members=tuple(hosts),
    )
