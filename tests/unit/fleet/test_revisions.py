"""Sources of runtimes from real git repositories and folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.git_repositories import commit
from regatta.fleet.fetching import fetch
from regatta.fleet.revisions import revision_tree
from regatta.host.errors import HostError
from regatta.host.ready.runtimes import provision
from regatta.host.values.experiment import Runtime

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
