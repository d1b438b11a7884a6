"""Sources of runtimes from real git repositories and folders."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from helpers.git_repositories import commit
from regatta.fleet.fetching import fetch, revision_tree
from regatta.fleet.supplies import staged_runtime
from regatta.host.errors import HostError
from regatta.host.ready.runtimes import provision
from regatta.host.ready.unpacking import unpack
from regatta.host.values.experiment import Runtime
from regatta.host.values.resolved import ResolvedRuntime

MAKEFILE = "program:\n\tcp script program && chmod +x program\n"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "cache"))


def of_git(repository: str, revision: str) -> Runtime:
    return Runtime(
        "made",
        "program",
        "git",
        repository=repository,
        revision=revision,
        command=("make",),
        program="program",
    )


def identity(runtime: Runtime) -> str:
    resolved = provision(runtime, (), (), fetch(runtime, "x86_64"))
    assert resolved.program.endswith("/program")
    assert resolved.root == resolved.program.removesuffix("/program")
    return resolved.identity


@pytest.mark.parametrize("url", [False, True])
def test_a_revision_is_built_from_its_own_files(tmp_path: Path, url: bool) -> None:
    repository = tmp_path / "repository"
    first = commit(repository, {"Makefile": MAKEFILE, "script": "#!/bin/sh\necho 1\n"})
    commit(repository, {"script": "#!/bin/sh\necho 2\n"}, tag="v2")
    (repository / "script").write_text("not committed")
    name = repository.as_uri() if url else str(repository)
    old, new = of_git(name, first), of_git(name, "v2")
    assert identity(old) != identity(new)
    assert (
        identity(of_git(name, "main")) == identity(of_git(name, "HEAD~0")) != identity(of_git(name, "HEAD~1"))
    )
    resolved = provision(old, (), (), fetch(old, "x86_64"))
    assert Path(resolved.program).read_text() == "#!/bin/sh\necho 1\n"


def test_a_branch_that_moved_is_another_tree_and_an_equal_output_too(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    commit(repository, {"Makefile": MAKEFILE, "script": "#!/bin/sh\n"})
    runtime = of_git(repository.as_uri(), "main")
    before, tree = identity(runtime), revision_tree(runtime)
    commit(repository, {"README": "text"})
    assert revision_tree(runtime) != tree
    assert identity(runtime) != before


def built_files(runtime: Runtime) -> dict[str, str]:
    """The files of the built copy, without the Makefile and the program; of a link to a folder, where it leads."""
    root = Path(provision(runtime, (), (), fetch(runtime, "x86_64")).root)
    return {
        str(path.relative_to(root)): f"-> {os.readlink(path)}" if path.is_symlink() else path.read_text()
        for path in sorted(root.rglob("*"))
        if (path.is_symlink() or path.is_file()) and path.name not in ("Makefile", "program", "script")
    }


@pytest.mark.parametrize("url", [False, True])
def test_every_file_of_a_revision_is_a_source_whatever_its_folder_or_attributes(
    tmp_path: Path, url: bool
) -> None:
    repository = tmp_path / "repository"
    files = {
        "build/one.txt": "1", "src/target/two.txt": "2", "tests/three.txt": "3", "__pycache__/four": "4",
        "version": "$Format:%H$\n", ".gitattributes": "tests export-ignore\nversion export-subst\n",
    }  # fmt: skip
    commit(repository, {"Makefile": MAKEFILE, "script": "#!/bin/sh\n"})
    (repository / "data").symlink_to("src/target")
    (repository / "up").symlink_to(".")
    (repository / "later").symlink_to("not-yet-made")
    commit(repository, files, tag="v1")
    runtime = of_git(repository.as_uri() if url else str(repository), "v1")
    links = {"data": "-> src/target", "up": "-> .", "later": "-> not-yet-made"}
    assert built_files(runtime) == {**files, **links}
    before = identity(runtime)
    commit(repository, {"build/one.txt": "changed"}, tag="v1")
    assert identity(runtime) != before


def test_exporting_a_revision_leaves_the_repository_as_it_is(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    commit(repository, {"Makefile": MAKEFILE, "script": "#!/bin/sh\n"}, tag="v1")
    (repository / "script").write_text("not committed")
    hook = repository / ".git/hooks/post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hook-ran\n")
    hook.chmod(0o755)
    index = (repository / ".git/index").read_bytes()
    identity(of_git(str(repository), "v1"))
    assert (repository / ".git/index").read_bytes() == index
    assert (repository / "script").read_text() == "not committed"
    assert not (tmp_path / "hook-ran").exists()


@pytest.mark.parametrize("target", ["/etc/passwd", "../../outside"])
def test_a_link_that_leads_out_of_a_revision_is_named(tmp_path: Path, target: str) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    subprocess.run(["git", "init", "--quiet", repository], check=True)
    (repository / "out").symlink_to(target)
    commit(repository, {"Makefile": MAKEFILE, "script": "#!/bin/sh\n"}, tag="v1")
    with pytest.raises(HostError, match="out: expected a link ") as caught:
        fetch(of_git(str(repository), "v1"), "x86_64")
    assert target in caught.value.problems[0].got


def test_a_revision_with_links_reaches_a_host_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "repository"
    commit(repository, {"Makefile": MAKEFILE, "script": "#!/bin/sh\n", "build/one.txt": "1"})
    (repository / "up").symlink_to(".")
    commit(repository, {}, tag="v1")
    runtime = of_git(str(repository), "v1")
    given = fetch(runtime, "x86_64")
    assert given is not None
    (tmp_path / "there").mkdir()
    unpack(Path(staged_runtime(runtime, given).staged), tmp_path / "there")
    here = provision(runtime, (), (), given)
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "other cache"))
    there = provision(runtime, (), (), tmp_path / "there")
    assert (there.identity, there.version) == (here.identity, here.version)
    assert os.readlink(Path(there.root) / "up") == "."


def test_files_of_output_folders_are_sources_of_a_folder_if_git_tracks_them(tmp_path: Path) -> None:
    sources = tmp_path / "repository" / "sources"
    commit(
        tmp_path / "repository",
        {f"sources/{name}": text for name, text in
         {"Makefile": MAKEFILE, "script": "#!/bin/sh\n", "tools/build/tracked": "1"}.items()},
    )  # fmt: skip
    (sources / "build").mkdir()
    (sources / "build" / "left-over").write_text("of a previous build")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "shared").write_text("followed")
    (sources / "link").symlink_to(tmp_path / "beside")
    runtime = Runtime(
        "made", "program", "build", directory=str(sources), command=("make",), program="program"
    )
    assert built_files(runtime) == {"tools/build/tracked": "1", "link/shared": "followed"}
    before = identity(runtime)
    (tmp_path / "beside" / "shared").write_text("changed")
    assert identity(runtime) != before


def test_a_link_to_a_parent_folder_among_the_sources_is_named(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    (tmp_path / "loop").symlink_to(".")
    runtime = Runtime("made", "program", "build", directory=str(tmp_path), command=("make",), program="p")
    with pytest.raises(HostError, match="loop: expected a link "):
        fetch(runtime, "x86_64")


@pytest.mark.parametrize("revision", ["v9", "main:script", "0" * 40])
def test_a_revision_that_does_not_exist_is_named(tmp_path: Path, revision: str) -> None:
    repository = tmp_path / "repository"
    commit(repository, {"script": ""})
    with pytest.raises(HostError) as caught:
        fetch(of_git(str(repository), revision), "x86_64")
    assert revision in str(caught.value)


@pytest.mark.parametrize("name", ["missing", "file:///missing/repository"])
def test_a_repository_that_does_not_exist_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(HostError, match="fix: correct `repository`"):
        fetch(of_git(name if ":" in name else str(tmp_path / name), "main"), "x86_64")


def test_a_folder_is_built_again_with_another_command_or_file(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "Makefile").write_text(MAKEFILE)
    (sources / "script").write_text("#!/bin/sh\n")

    def made(*command: str) -> str:
        return identity(
            Runtime("made", "program", "build", directory=str(sources), command=command, program="program")
        )

    first = made("make")
    assert made("make") == first
    assert made("make", "CFLAGS=-O3") != first
    (sources / "other").write_text("a file that the output does not depend on")
    assert made("make") != first


def test_a_program_of_the_host_is_identified_with_its_libraries(tmp_path: Path) -> None:
    resolved = provision(Runtime("perl", "program", "path", path="perl"), ())
    assert any("/libc.so" in file.path for file in resolved.files)
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    runtime = Runtime("script", "program", "path", path=str(script))
    first = provision(runtime, ())
    assert [file.path for file in first.files] == [str(script)]
    script.write_text("#!/bin/sh\n# changed\n")
    assert provision(runtime, ()).identity != first.identity


def test_the_name_of_a_program_is_part_of_its_identity_and_its_folder_is_not(tmp_path: Path) -> None:
    def of(place: str) -> str:
        path = tmp_path / place
        path.parent.mkdir(exist_ok=True)
        path.symlink_to("/bin/sh")
        return provision(Runtime("made", "program", "path", path=str(path)), ()).identity

    assert of("a/clang") == of("b/clang") != of("a/clang++")


def test_a_script_in_place_of_a_program_is_remarked(tmp_path: Path) -> None:
    shim = tmp_path / "shim"
    shim.write_text("#!/bin/sh\nexec /usr/bin/perl\n")
    shim.chmod(0o755)
    remark = provision(Runtime("python", "program", "path", path=str(shim)), ()).remark
    assert f"runtime python: {shim} is a script" in remark
    assert not provision(Runtime("perl", "program", "path", path="/usr/bin/perl"), ()).remark


def test_the_version_of_a_package_is_part_of_the_identity_of_its_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A package can change without its launcher: most of python3 is in libraries and modules.
    runtime = Runtime("perl", "program", "apt", package="perl", program="/usr/bin/perl")
    query = tmp_path / "dpkg-query"
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def at(version: str) -> ResolvedRuntime:
        query.write_text(f"#!/bin/sh\necho {version}\n")
        query.chmod(0o755)
        return provision(runtime, (), may_install=False)

    old, new = at("5.36.0-7"), at("5.36.0-8")
    assert (old.version, new.version) == ("perl 5.36.0-7", "perl 5.36.0-8")
    assert [file.sha256 for file in old.files] == [file.sha256 for file in new.files]
    assert old.identity != new.identity
