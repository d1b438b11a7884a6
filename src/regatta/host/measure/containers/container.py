"""Run each invocation in a fresh Docker container: checked before its program is released, read before it is removed."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regatta.host.errors import HostError
from regatta.host.measure import cpu_quota
from regatta.host.measure.cgroup import TreeUsage
from regatta.host.measure.containers.docker import Engine, Refusal, open_engine
from regatta.host.measure.containers.gate import SHELL, Gate
from regatta.host.measure.containers.mounts import container_command, mounts_of
from regatta.host.measure.containers.program import START_S, Program
from regatta.host.measure.containers.usage import ContainerUsage
from regatta.host.measure.limits import cores_of, limits_asked, quota_asked
from regatta.host.measure.process import Launch, Outcome, StopSignals
from regatta.host.measure.scratch import results_of, work_of
from regatta.host.values.plan_cell import PlanCell
from regatta.host.values.record import Rusage

_RESULTS_LABEL = "regatta.results"
#: Limits that Docker can set. The gate limits the address space.
_ULIMITS = {resource.RLIMIT_NOFILE: "nofile", resource.RLIMIT_NPROC: "nproc", resource.RLIMIT_CORE: "core"}
_UNTOLD_RUSAGE = "wait4 covers only child processes; other values come from the control group"


@dataclass
class Contained:
    """The result of an invocation in a container."""

    outcome: Outcome
    tree: TreeUsage
    #: `rusage` and `isolation` of the record
    rusage: Rusage
    isolation: dict[str, Any]


def remove_left_containers(results_files: Iterable[str], needed: bool) -> int:
    """Kill and remove containers that outlived a killed runner. Requires the host lock.

    Args:
        results_files: value of `REGATTA_RESULTS` in these containers.
        needed: whether this runner also needs the engine. Otherwise an engine that does not answer is no error.

    Raises:
        HostError: the engine is needed and does not answer.
    """
    count = 0
    try:
        engine = open_engine()
        for file in dict.fromkeys(results_files):
            found = engine.containers(f"{_RESULTS_LABEL}={file}")
            for container in found:
                engine.remove(container)
            count += len(found)
            _wait_until_none(engine, file)
    except HostError:
        if needed:
            raise
    return count


def _wait_until_none(engine: Engine, results_file: str) -> None:
    deadline = time.monotonic() + START_S
    while engine.containers(f"{_RESULTS_LABEL}={results_file}"):
        if time.monotonic() > deadline:
            raise HostError(
                f"Docker at {engine.path}",
                "no containers of an earlier run",
                "containers that cannot be removed",
                f"remove those of `docker ps -a --filter label={_RESULTS_LABEL}={results_file}`",
            )
        time.sleep(0.02)


class Containers:
    """Run the containers of a segment in sequence."""

    def __init__(
        self, header: Mapping[str, Any], scratch: Path, segment: int, cores: list[int], stop: StopSignals
    ) -> None:
        """Connect to the engine.

        Args:
            header: of the plan.
            scratch: folder of the working directory and of the results file's folder. Only these two are writable in a container.
            cores: CPUs to measure on; a cell may have fewer.

        Raises:
            HostError: no engine answers.
        """
        self.engine = open_engine()
        self._scratch = scratch
        self._writable = [work_of(scratch), results_of(scratch).parent]
        self._cores = cores
        self._stop = stop
        self._labels = {
            "regatta.experiment": str(header["experiment"]),
            "regatta.host": str(header["host"]),
            "regatta.segment": str(segment),
            _RESULTS_LABEL: str(results_of(scratch)),
        }
        #: Parent cgroup of the containers; "": Docker's default. With a cgroup driver other than systemd, all containers together
        #: get the CPU weight of one process. On contended CPUs, each then gets less CPU time than a process outside.
        self._parent = ""
        #: image ID -> names of the variables that it sets
        self._variables: dict[str, list[str]] = {}

    def check(self, cells: list[PlanCell], launch: Callable[[list[str]], Launch]) -> None:
        """Check that every image is the planned one and meets its cells' requirements, with one trial container per image.

        Args:
            cells: only cells that run in containers.
            launch: builds the `Launch` of a command.

        Raises:
            HostError: a requirement is not met.
            Interrupted: the runner received a stop signal.
        """
        self._check_engine(cells)
        kinds: dict[tuple[str, str], list[PlanCell]] = {}
        for cell in cells:
            key = (cell["isolation"]["image"], cell["isolation"]["image_id"])
            kinds.setdefault(key, []).append(cell)
        for (name, image_id), group in kinds.items():
            found = self.engine.image(name)
            if found["Id"] != image_id:
                raise HostError(
                    f"Docker image {name}",
                    f"{image_id[:19]} as planned",
                    str(found["Id"])[:19],
                    "run `regatta run`, which updates the plan",
                )
            set_there = (found.get("Config") or {}).get("Env") or []
            self._variables[image_id] = [str(each).partition("=")[0] for each in set_there]
            self._try(name, group, launch)

    def _check_engine(self, cells: list[PlanCell]) -> None:
        about = self.engine.ask("GET", "/info")
        if about.get("CgroupDriver") == "cgroupfs":
            self._parent = "/"
        needs = {"CPUSet": "CPU sets"}
        if any(cell["isolation"]["memory_mib"] for cell in cells):
            needs["MemoryLimit"] = "memory limits"
        if any(quota_asked(cell) is not None for cell in cells):
            needs["CpuCfsQuota"] = "CPU quotas"
        for key, what in needs.items():
            if not about.get(key):
                raise HostError(
                    f"Docker at {self.engine.path}",
                    f"support for {what}",
                    "no support",
                    "mount the control groups cpu, cpuset and memory, and restart dockerd",
                )

    def _try(self, image: str, cells: list[PlanCell], launch: Callable[[list[str]], Launch]) -> None:
        """Run one container of an image that checks whether the required programs exist."""
        programs = sorted({path for cell in cells for path in cell["isolation"]["programs"]})
        looks = [SHELL, "-c", 'for each; do [ -x "$each" ] || echo "$each"; done', SHELL, *programs]
        trial: PlanCell = {
            **cells[0],
            "files": [file for cell in cells for file in cell["files"]],
            "isolation": {
                **cells[0]["isolation"],
                "programs": [SHELL],
                "folders": sorted({path for cell in cells for path in cell["isolation"]["folders"]}),
            },
        }
        outcome = self.run(trial, launch(looks)).outcome
        said = outcome.stdout.kept.decode("utf-8", "replace").split()
        if outcome.exit_code != 0:
            got = outcome.stderr.kept.decode("utf-8", "replace").strip() or f"exit code {outcome.exit_code}"
            raise HostError(
                f"Docker image {image}", f"an image with a working {SHELL}", got, "use another image"
            )
        if said:
            raise HostError(
                f"Docker image {image}",
                f"an image with {', '.join(said)}",
                "missing",
                "use an image with these programs; programs on PATH come from the image",
            )

    def run(
        self,
        cell: PlanCell,
        launch: Launch,
        let_go: Callable[[], None] = lambda: None,
        ended: Callable[[], None] = lambda: None,
    ) -> Contained:
        """Run one command in a new container.

        Args:
            cell: gives the image, limits and files.
            launch: command, environment, directory, limits.
            let_go, ended: called immediately before the program is released, and immediately after it ends.

        Raises:
            HostError: Docker refuses the request or no longer answers.
            Interrupted: the runner received a stop signal; the container is removed.
        """
        began_ns = time.monotonic_ns()
        try:
            gate = Gate(self._scratch / "gate")
        except OSError as error:
            raise HostError(
                str(self._scratch), "a writable folder for named pipes", str(error.strerror)
            ) from error
        try:
            container = self.engine.create(f"regatta-{time.time_ns():x}", self._body(cell, launch, gate))
        except Refusal as refusal:
            gate.close()
            raise self._refused(cell, refusal) from None
        gone = False
        try:
            waiting = self.engine.wait_for_removal(container)
            created_ns = time.monotonic_ns()
            self.engine.ask("POST", f"/containers/{container}/start")
            with Program(self.engine, container, gate, cell, cores_of(cell, self._cores)) as program:
                started_ns = time.monotonic_ns()
                outcome, usage = program.attend(launch, self._stop, let_go, ended)
                released_ns = time.monotonic_ns()
                code = waiting.finish()
                gone = True
                removed_ns = time.monotonic_ns()
                program.complete(outcome, code)
        except Refusal as refusal:
            raise self._refused(cell, refusal) from None
        finally:
            gate.close()
            if not gone:
                self.engine.remove(container)
        isolation = {
            **{key: cell["isolation"][key] for key in ("kind", "image", "image_id", "network", "memory_mib")},
            **limits_asked(cell),
            **program.throttled(),
            "engine": self.engine.version,
            "create_ns": created_ns - began_ns,
            "start_ns": started_ns - created_ns,
            "remove_ns": removed_ns - released_ns,
            "untold": {**dict.fromkeys(("max_rss_kib", "switches"), _UNTOLD_RUSAGE), **usage.untold},
        }
        tree = TreeUsage(usage.version, usage.cpu_ns, usage.memory_peak_bytes, usage.oom_kills)
        return Contained(outcome, tree, _rusage(usage), isolation)

    def _refused(self, cell: PlanCell, refusal: Refusal) -> HostError:
        wanted = f"a container of {cell['isolation']['image']}"
        return HostError(
            f"Docker at {self.engine.path}", wanted, refusal.message, "correct `isolation` in the spec"
        )

    def _body(self, cell: PlanCell, launch: Launch, gate: Gate) -> dict[str, Any]:
        """Return the body of the create request."""
        isolation = cell["isolation"]
        limits = dict(launch.rlimits)
        # A name without a value removes a variable that the engine or the image would set.
        others = {"HOSTNAME", *self._variables.get(isolation["image_id"], ())} - launch.environment.keys()
        command = gate.argv(container_command(cell, launch.argv), limits.get(resource.RLIMIT_AS))
        host: dict[str, Any] = {
            "AutoRemove": True,
            "NetworkMode": isolation["network"],
            "CpusetCpus": ",".join(map(str, sorted(cores_of(cell, self._cores)))),
            "CgroupParent": self._parent,
            "Mounts": mounts_of(cell, self._writable, gate.directory),
            "CapDrop": ["ALL"],
            "CapAdd": list(isolation.get("capabilities", ())),
            # Disable labels: only the program's own folders are writable, and labels would block reading mounted host files.
            "SecurityOpt": ["no-new-privileges", "label=disable"],
            "UsernsMode": "host",
            "GroupAdd": [str(group) for group in os.getgroups()],
            "LogConfig": {"Type": "none"},
            "Ulimits": [_ulimit(which, limits.get(which)) for which in _ULIMITS],
        }
        if isolation["memory_mib"]:
            # Equal values disable swap.
            host["Memory"] = host["MemorySwap"] = isolation["memory_mib"] << 20
        quota = quota_asked(cell)
        if quota is not None:
            host["CpuPeriod"], host["CpuQuota"] = cpu_quota.PERIOD_US, cpu_quota.quota_us(quota)
        return {
            "Image": isolation["image_id"],
            "Entrypoint": command[:1],
            "Cmd": command[1:],
            "Env": [*(f"{name}={value}" for name, value in launch.environment.items()), *sorted(others)],
            "WorkingDir": launch.directory,
            "User": f"{os.getuid()}:{os.getgid()}",
            "Hostname": "regatta",
            "Healthcheck": {"Test": ["NONE"]},
            "Labels": self._labels,
            "HostConfig": host,
        }


def _ulimit(which: int, soft: int | None) -> dict[str, Any]:
    """Return a limit as a child process of the runner would inherit it."""
    own_soft, hard = resource.getrlimit(which)
    if soft is None:
        soft = own_soft
    elif hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    return {"Name": _ULIMITS[which], "Soft": soft, "Hard": hard}


def _rusage(usage: ContainerUsage) -> Rusage:
    return {
        "user_s": usage.user_s,
        "system_s": usage.system_s,
        "max_rss_kib": None,
        "minor_faults": usage.minor_faults,
        "major_faults": usage.major_faults,
        "voluntary_switches": None,
        "involuntary_switches": None,
    }
