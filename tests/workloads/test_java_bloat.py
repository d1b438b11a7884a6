"""What `bloat` rewrites is right, by a judgement of the JVM's own and by what it computes."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

from helpers.workloads.java_runs import Programs


def test_a_database_rewritten_by_bloat_is_verified_by_the_jvm_and_computes_right_sums(
    programs: Programs, tmp_path: Path
) -> None:
    jar = programs.jar("apps.bloat")
    with zipfile.ZipFile(jar) as archive:
        (tmp_path / "library.jar").write_bytes(archive.read("org/regatta/bench/bloat/library.jar"))
    source = Path(__file__).with_name("RunsRewritten.java")
    subprocess.run(["javac", "-cp", str(jar), "-d", str(tmp_path), str(source)], check=True)
    places = os.pathsep.join([str(jar), str(tmp_path), str(tmp_path / "library.jar")])
    run = programs.java("-cp", places, "org.regatta.bench.bloat.RunsRewritten")
    assert run.code == 0, run.stderr
    verified, *sums, counted = run.stdout.splitlines()
    assert verified == "verified 686 of 686"
    squares = [sum((-1 if n % 3 == 0 else 1) * n * n for n in range(rest, 500, 3)) for rest in range(3)]
    joined = [len(range(rest, 250, 3)) for rest in range(3)]
    assert sums == [f"{rest} {squares[rest]} {joined[rest]}" for rest in range(3)]
    assert counted == "counted true"
