"""What a container sees of the host."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from regatta.host.measure.containers.mounts import container_command, mounts_of


def planned(*files: Path, folders: tuple[Path, ...] = (), programs: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "files": [{"path": str(file)} for file in files],
        "isolation": {"folders": [str(f) for f in folders], "programs": list(programs)},
    }


def read_only(cell: dict[str, Any]) -> list[str]:
    found = mounts_of(cell, [Path("/scratch/work"), Path("/scratch/results")], Path("/scratch/gate"))
    assert all(mount["Type"] == "bind" and mount["Source"] == mount["Target"] for mount in found)
    assert [(m["Target"], m["ReadOnly"]) for m in found[-3:]] == [
        ("/scratch/work", False),
        ("/scratch/results", False),
        ("/scratch/gate", True),
    ]
    assert all(mount["ReadOnly"] for mount in found[:-3])
    return [mount["Target"] for mount in found[:-3]]


def test_each_file_is_shown_once_under_its_own_path_and_none_inside_a_shown_folder(tmp_path: Path) -> None:
    home = tmp_path / "jdk"
    cell = planned(
        home / "lib/modules", tmp_path / "b.jar", tmp_path / "b.jar", tmp_path / "jdk-2", folders=(home,)
    )
    assert read_only(cell) == [str(tmp_path / "b.jar"), str(home), str(tmp_path / "jdk-2")]


def test_what_links_of_a_runtime_lead_to_is_shown_too(tmp_path: Path) -> None:
    home, etc = tmp_path / "jdk", tmp_path / "etc"
    (home / "conf").mkdir(parents=True)
    etc.mkdir()
    (etc / "java.security").write_text("")
    (home / "conf/java.security").symlink_to(etc / "java.security")
    (home / "conf/inside").symlink_to(home / "conf")
    (home / "conf/nowhere").symlink_to(tmp_path / "gone")
    assert read_only(planned(folders=(home,))) == [str(etc / "java.security"), str(home)]


def test_a_program_that_is_a_link_is_called_by_what_it_links_to_if_that_is_shown(tmp_path: Path) -> None:
    home = tmp_path / "jdk"
    (home / "bin").mkdir(parents=True)
    (home / "bin/java").write_text("")
    link = tmp_path / "java"
    link.symlink_to(home / "bin/java")
    real = os.path.realpath(home / "bin/java")
    assert container_command(planned(folders=(home,)), [str(link), "-x"]) == [real, "-x"]
    assert container_command(planned(), [str(link), "-x"]) == [str(link), "-x"]
    assert container_command(planned(folders=(home,), programs=(str(link),)), [str(link)]) == [str(link)]
