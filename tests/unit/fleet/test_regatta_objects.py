"""What Ansible brings to a host by the hash of its contents: both sides of the module `regatta_objects`."""

import hashlib
import importlib.util
import io
import tarfile
from pathlib import Path

import pytest
from ansible.errors import AnsibleActionFail

PLAYBOOKS = Path(__file__).parents[3] / "playbooks"
SHA256 = "ab" * 32


def loaded(path: str):
    spec = importlib.util.spec_from_file_location(
        Path(path).parent.name + "_" + Path(path).stem, PLAYBOOKS / path
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


there = loaded("library/regatta_objects.py")
here = loaded("action_plugins/regatta_objects.py")


def received(root: Path, contents: bytes, kind: str, place: str) -> dict[str, str]:
    """An object as it is when it has been copied to the host."""
    digest = hashlib.sha256(contents).hexdigest()
    path = root / "incoming" / digest
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(contents)
    return {"place": place, "kind": kind, "path": str(path), "sha256": digest}


def archive(**files: str) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return sink.getvalue()


def test_an_archive_becomes_a_folder_and_a_file_stays_one(tmp_path):
    entries = [
        received(tmp_path, archive(a="one"), "folder", f"objects/{SHA256}"),
        received(tmp_path, b"jar", "file", "objects/x/a.jar"),
    ]
    there.place_all(str(tmp_path), entries)
    assert (tmp_path / "objects" / SHA256 / "a").read_text() == "one"
    assert (tmp_path / "objects/x/a.jar").read_bytes() == b"jar"
    assert list((tmp_path / "incoming").iterdir()) == []


def test_two_hosts_with_one_root_place_the_same_objects(tmp_path):
    for _ in range(2):
        entries = [
            received(tmp_path, archive(a="one"), "folder", f"objects/{SHA256}"),
            received(tmp_path, b"jar", "file", "objects/x/a.jar"),
        ]
        there.place_all(str(tmp_path), entries)
    assert (tmp_path / "objects" / SHA256 / "a").read_text() == "one"
    assert list((tmp_path / "incoming").iterdir()) == []


def test_what_a_killed_run_left_behind_is_replaced_by_what_is_whole(tmp_path):
    entry = {"place": f"objects/{SHA256}", "kind": "folder", "sha256": SHA256}
    copied = received(tmp_path, archive(a="one"), "folder", entry["place"])
    part = Path(f"{copied['path']}.part")
    part.mkdir(parents=True)
    (part / "half").write_text("ha")
    assert not there.is_there(str(tmp_path), entry)
    there.place_all(str(tmp_path), [copied])
    assert [path.name for path in (tmp_path / "objects" / SHA256).iterdir()] == ["a"]
    assert there.is_there(str(tmp_path), entry)
    assert not part.exists()


def test_an_archive_that_arrived_torn_is_refused_and_nothing_gets_its_name(tmp_path):
    entry = received(tmp_path, archive(a="one"), "folder", "objects/x")
    Path(entry["path"]).write_bytes(Path(entry["path"]).read_bytes()[:-9])
    with pytest.raises(ValueError, match="expected SHA-256"):
        there.place_all(str(tmp_path), [entry])
    assert not (tmp_path / "objects/x").exists()


def test_what_is_no_archive_is_refused_in_the_words_of_tar(tmp_path):
    with pytest.raises(ValueError, match="tar: "):
        there.place_all(str(tmp_path), [received(tmp_path, b"no archive", "folder", "objects/x")])
    assert not (tmp_path / "objects/x").exists()


def test_an_archive_cannot_write_outside_of_its_folder(tmp_path):
    with pytest.raises(ValueError, match="tar: "):
        there.place_all(
            str(tmp_path), [received(tmp_path, archive(**{"../outside": "x"}), "folder", "objects/x")]
        )
    assert not (tmp_path / "objects/outside").exists()


def test_a_file_that_was_altered_there_is_not_there(tmp_path):
    (tmp_path / "a.pyz").write_bytes(b"runner")
    entry = {"place": "a.pyz", "kind": "file", "sha256": hashlib.sha256(b"runner").hexdigest()}
    assert there.is_there(str(tmp_path), entry)
    (tmp_path / "a.pyz").write_bytes(b"ranner")
    assert not there.is_there(str(tmp_path), entry)


def test_an_altered_file_is_replaced_in_one_step(tmp_path):
    (tmp_path / "a.pyz").write_bytes(b"ranner")
    there.place_all(str(tmp_path), [received(tmp_path, b"runner", "file", "a.pyz")])
    assert (tmp_path / "a.pyz").read_bytes() == b"runner"


def test_an_object_has_its_place_by_its_hash():
    wanted = {"name": "a.jar", "sha256": SHA256, "staged": "/s"}
    assert here.placed({**wanted, "kind": "file"})["place"] == f"objects/{SHA256}/a.jar"
    assert here.placed({**wanted, "kind": "folder"})["place"] == f"objects/{SHA256}"
    assert here.placed({**wanted, "kind": "file", "place": "bin/x.pyz"})["place"] == "bin/x.pyz"


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "../../etc/passwd"},
        {"name": "a/../../../x"},
        {"place": "/etc/passwd"},
        {"place": "../x"},
        {"place": ".."},
        {"sha256": "../x"},
        {"sha256": SHA256.upper()},
        {"kind": "link"},
        {"staged": ""},
    ],
)
def test_an_object_that_leads_out_of_the_root_or_is_incomplete_is_refused(wrong):
    with pytest.raises(AnsibleActionFail, match="expected"):
        here.placed({"name": "a", "kind": "file", "sha256": SHA256, "staged": "/s", **wrong})
