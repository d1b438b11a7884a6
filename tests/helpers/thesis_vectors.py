"""Vectors of Zhang's thesis as files: tables 6-2 to 6-5, with intervals of 5 % where a test needs some."""

from __future__ import annotations

from pathlib import Path

#: table 6-2: primitive -> unit, cost in us on Sun-333, Sun-400, Intel-550
COSTS: dict[str, tuple[str, float, float, float]] = {
    "tcp_transfer": ("byte", 0.0249, 0.01656, 0.0167),
    "tcp_connect": ("operation", 425.833, 353.0, 373.833),
    "tcp_latency": ("operation", 119.509, 88.685, 85.082),
    "mmap_read": ("byte", 0.0062, 0.00347, 0.00223),
    "open_close": ("operation", 31.841, 24.735, 15.196),
    "fcntl": ("operation", 27.349, 22.987, 29.369),
    "stat": ("operation", 24.226, 20.875, 11.447),
    "mmap": ("operation", 19.75, 17.003, 14.76),
    "signal_install": ("operation", 3.196, 2.566, 1.642),
    "file_write": ("operation", 3.312, 2.682, 1.871),
    "null_call": ("operation", 3.337, 2.678, 1.869),
    "simple_process": ("operation", 9000.0, 8256.201, 4000.0),
    "file_read": ("byte", 0.008, 0.00646, 0.004),
    "pipe_read": ("byte", 0.013, 0.01046, 0.007),
    "socket_rw": ("byte", 0.019, 0.01507, 0.009),
    "stream_connect": ("operation", 90.0, 79.19, 50.0),
}
SYSTEMS = ("sun-333", "sun-400", "intel-550")
_STATIC = {
    "tcp_transfer": 14712, "tcp_connect": 0.37, "tcp_latency": 1, "mmap_read": 14712, "open_close": 1, "fcntl": 1, "stat": 1,
    "mmap": 1, "signal_install": 3, "file_write": 1, "null_call": 7,
}  # fmt: skip
_CGI = {
    "tcp_transfer": 15006, "pipe_read": 15051, "tcp_connect": 0.37, "tcp_latency": 1, "null_call": 39, "fcntl": 1, "stat": 1,
    "signal_install": 4, "file_write": 1, "simple_process": 1, "file_read": 14712, "open_close": 1,
}  # fmt: skip
_FASTCGI = {
    "tcp_transfer": 15082, "socket_rw": 16263, "tcp_connect": 0.37, "file_read": 14712, "tcp_latency": 1, "stream_connect": 1,
    "open_close": 2, "fcntl": 2, "stat": 2, "null_call": 10, "signal_install": 3, "file_write": 1,
}  # fmt: skip
APPLICATIONS = {"apache-static": _STATIC, "apache-cgi": _CGI, "apache-fastcgi": _FASTCGI}


def write_thesis_vectors(folder: Path, spread: float = 0.05, user_us: float | None = 80.0) -> Path:
    """`systems/*.yml` and `applications/*.yml`. `spread`: of the costs' intervals to each side; 0: exact."""
    for number, name in enumerate(SYSTEMS):
        lines = ["kind: system", f"name: {name}", "time_unit: us", "primitives:"]
        for primitive, (unit, *costs) in COSTS.items():
            cost = costs[number]
            given = (
                f"{{value: {cost}, low: {cost * (1 - spread)!r}, high: {cost * (1 + spread)!r}, n: 10}}"
                if spread
                else str(cost)
            )
            lines.append(f"  {primitive}: {{unit: {unit}, cost: {given}}}")
        lines += ["provenance:", f"  host: {name}", "  experiment: thesis", "  configuration: native"]
        _write(folder / "systems" / f"{name}.yml", lines)
    for name, counts in APPLICATIONS.items():
        lines = ["kind: application", f"name: {name}", "per: request", f"benchmark: web/{name}"]
        lines += ["time_unit: us", f"user_time: {user_us}"] if user_us is not None else []
        lines.append("counts:")
        for primitive, count in counts.items():
            more = (
                ', stands_for: [times, getpid], rule: "light calls cost a null call"'
                if primitive == "null_call"
                else ""
            )
            lines.append(f"  - {{primitive: {primitive}, count: {count}{more}}}")
        _write(folder / "applications" / f"{name}.yml", lines)
    return folder


def _write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
