"""Backups are taken of a real influxd and restored into an empty one: equal series by series, or refused."""

import gzip
import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers.influx_server import READER, InfluxServer
from regatta.cli.main import cli
from regatta.host.errors import SpecError, StoreError, VerificationError
from regatta.influx.backup import back_up, restore
from regatta.influx.backup_file import Reader
from regatta.influx.client import Client
from regatta.influx.settings import Settings, read_settings

#: lines of line protocol, as anybody may have written them
STRANGE = r"""
iteration,host=a\ host\,\ with\=all,collector=ZGC\ "new",kind=größe value=0.1,line=1i 1700000000000000001
iteration,host=a\ host\,\ with\=all,collector=ZGC\ "new",kind=größe value=-0.0,line=-9223372036854775808i 1700000000000000002
iteration,host=a\ host\,\ with\=all,collector=ZGC\ "new",kind=größe value=5e-324,line=9223372036854775807i 1700000000000000003
iteration,host=other,collector=ZGC\ "new",kind=größe value=1.7976931348623157e308 1700000000000000001
iteration,host=other,collector=日本語🚣 value=123456789.12345679,text="" 1700000000000000001
iteration,host=other,collector=back\slash value=100000000000000000000000 1700000000000000001
iteration value=3 -1
a\,measurement\ of=ours,tag\,\ \=s=x field\,\ \=s=t,other=F,"quoted"=1i 1
event,kind=plan text="a \"quoted\" back\\slash, a tab	and
a newline
# end {\"points\": 0}
# block 12
iteration value=1 1
",part=2i 5
event,kind=plan text="ends in one \\" 6
""".lstrip("\n")


class Two:
    """Two databases of one server with the accounts of each, and a folder."""

    def __init__(self, server: InfluxServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.file = folder / "backup.lp.gz"
        self.source, self.target = self.settings(), self.settings()

    def settings(self) -> Settings:
        """Settings of a new, empty database."""
        database = self.server.new_database()
        # Nothing is tried again here: an answer may take as long as a busy machine needs.
        return read_settings(
            self.server.write_settings(self.folder / database, database, reader=READER, timeout_s=300)
        )

    def take(self, settings: Settings | None = None, file: Path | None = None):
        client = Client(settings or self.source, "read", patience_s=0)
        try:
            return back_up(client, file or self.file)
        finally:
            client.close()

    def restore(
        self, settings: Settings | None = None, file: Path | None = None, writer: Client | None = None
    ):
        settings = settings or self.target
        return restore(
            writer or Client(settings, "write", patience_s=0),
            Client(settings, "read", patience_s=0),
            file or self.file,
        )

    def held(self, settings: Settings) -> dict[str, list[dict[str, object]]]:
        """What a database holds, asked of it directly: series -> points."""
        found = {}
        for series in self.server.query("SELECT *::field FROM /.*/ GROUP BY *", settings.database):
            tags = {name: value for name, value in series["tags"].items() if value}
            rows = [dict(zip(series["columns"], row, strict=True)) for row in series["values"]]
            points = [{name: value for name, value in row.items() if value is not None} for row in rows]
            found[json.dumps([series["name"], tags])] = points
        return found


@pytest.fixture
def two(influx_server, tmp_path) -> Two:
    return Two(influx_server, tmp_path)


@pytest.fixture
def backed_up(two) -> Two:
    two.server.write(STRANGE, two.source.database)
    two.take()
    return two


def body(file: Path) -> list[bytes]:
    """The lines of a backup without its head, which names the database."""
    return gzip.decompress(file.read_bytes()).split(b"\n")[1:-2]


def run(arguments: list[str], settings: Settings, code: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command as a person does, or `code` in its place."""
    command = ["-c", code, *arguments] if code else ["-m", "regatta", *arguments]
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=500, check=False,
        env={**os.environ, "REGATTA_INFLUX": str(settings.path)},
    )  # fmt: skip


def test_what_was_backed_up_is_restored_into_an_empty_database_series_by_series(backed_up):
    done = backed_up.restore()
    assert done.points == 10
    held = backed_up.held(backed_up.source)
    assert len(held) == 7
    assert backed_up.held(backed_up.target) == held
    again = backed_up.folder / "again"
    backed_up.take(backed_up.target, again)
    assert body(again) == body(backed_up.file)


def test_every_bit_of_a_number_and_every_character_of_a_name_is_in_the_file(backed_up):
    lines = gzip.decompress(backed_up.file.read_bytes()).decode()
    for text in ("value=-0.0 ", "value=5e-324 ", "=1.7976931348623157e+308 ", "=9223372036854775807i,"):
        assert text in lines
    assert "host=a\\ host\\,\\ with\\=all,kind=größe " in lines
    assert "a\\,measurement\\ of=ours,tag\\,\\ \\=s=x " in lines


def test_the_file_is_line_protocol_that_influxdb_takes_without_regatta(backed_up):
    backed_up.server.write(gzip.decompress(backed_up.file.read_bytes()), backed_up.target.database)
    assert backed_up.held(backed_up.target) == backed_up.held(backed_up.source)


def test_an_empty_database_has_a_backup_too(two):
    assert two.take().points == 0
    assert two.restore().points == 0
    assert two.held(two.target) == {}


def spoilt(whole: bytes) -> dict[str, bytes]:
    """Files that were cut off or changed, by what was done."""
    text = gzip.decompress(whole)
    end = text.rindex(b"# end")
    files = {
        f"cut at {size}": whole[:size] for size in (0, 1, 20, len(whole) // 2, len(whole) - 9, len(whole) - 1)
    }
    for place in range(10, len(whole) - 8, max(1, len(whole) // 25)):
        files[f"byte {place}"] = whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :]
    packed = {
        "no end": text[:end],
        "another value": text.replace(b"line=1i", b"line=2i"),
        "a line less": text.replace(b"iteration value=3.0 -1\n", b""),
        "other counts": text.replace(b'"points": 10', b'"points": 11') + b"x",
        "something after it": text + b"iteration value=4 4\n",
        "another version": text.replace(b'"version": 1', b'"version": 2'),
        "something else": b"iteration value=4 4\n",
        "no object": b"# regatta backup [1]\n",
    }
    return files | {what: gzip.compress(data) for what, data in packed.items()} | {"no gzip": text}


def test_a_file_that_was_cut_off_or_changed_is_refused_before_anything_is_written(backed_up):
    for what, data in spoilt(backed_up.file.read_bytes()).items():
        backed_up.file.write_bytes(data)
        with pytest.raises(StoreError) as raised:
            backed_up.restore()
        assert str(backed_up.file) in str(raised.value), what
        assert "nothing was written" in str(raised.value), what
    assert backed_up.held(backed_up.target) == {}


KILLED = """
import os, signal, sys
from pathlib import Path
from regatta.influx.backup import back_up
from regatta.influx.client import Client
from regatta.influx.settings import find_settings

back_up(Client(find_settings(None), "read"), Path(sys.argv[1]), lambda done, total: os.kill(os.getpid(), signal.SIGKILL))
"""


def test_a_backup_that_is_killed_leaves_the_one_before(backed_up):
    before = backed_up.file.read_bytes()
    killed = run([str(backed_up.file)], backed_up.source, KILLED)
    assert killed.returncode == -9, killed.stderr
    assert backed_up.file.read_bytes() == before
    backed_up.server.write("iteration,host=new value=1 1", backed_up.source.database)
    assert backed_up.take().points == 11
    assert sorted(path.name for path in backed_up.folder.glob("backup*")) == ["backup.lp.gz"]


def test_a_backup_that_is_interrupted_leaves_nothing(two):
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    two.server.write(STRANGE, two.source.database)
    with pytest.raises(KeyboardInterrupt):
        back_up(Client(two.source, "read"), two.file, interrupt)
    assert list(two.folder.glob("backup*")) == []


def test_two_do_not_write_one_file_at_once(backed_up):
    def in_the_middle(done: int, total: int) -> None:
        with pytest.raises(StoreError, match="another backup"):
            backed_up.take()

    back_up(Client(backed_up.source, "read"), backed_up.file, in_the_middle)
    assert Reader(backed_up.file.open("rb"), backed_up.file).check().points == 10


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_what_is_no_file_is_not_replaced(two, kind):
    two.file.with_name("mine").write_text("mine")
    make = {"pipe": os.mkfifo, "link": lambda path: path.symlink_to("mine"), "folder": Path.mkdir}[kind]
    make(two.file)
    before = two.file.lstat()
    with pytest.raises(StoreError, match="expected a regular file"):
        two.take()
    assert os.path.samestat(two.file.lstat(), before)
    assert two.file.with_name("mine").read_text() == "mine"
    assert not two.file.with_name(two.file.name + ".part").exists()


def test_what_was_there_before_stays_and_restoring_twice_changes_nothing(backed_up):
    backed_up.server.write("iteration,host=other value=7 7\niteration value=9 -1", backed_up.target.database)
    backed_up.restore()
    once = backed_up.held(backed_up.target)
    assert once == {
        **backed_up.held(backed_up.source),
        '["iteration", {"host": "other"}]': [{"time": 7, "value": 7}],
    }
    backed_up.restore()
    assert backed_up.held(backed_up.target) == once


def test_points_that_the_database_refuses_are_told_and_the_others_written(backed_up):
    backed_up.server.write("event,kind=other part=1.5 5", backed_up.target.database)
    with pytest.raises(VerificationError, match=r"1 rejected, .* field type conflict"):
        backed_up.restore()
    assert len(backed_up.held(backed_up.target)) == 8


def test_a_database_that_loses_points_is_found_out(backed_up):
    class Careless(Client):
        def write(self, blocks):
            super().write([block.replace(b"iteration value=3.0 -1\n", b"") for block in blocks])

    with pytest.raises(VerificationError, match="iteration: expected 5 · got 4"):
        backed_up.restore(writer=Careless(backed_up.target, "write"))


def test_a_field_of_two_types_is_named(two):
    two.server.write('m f=1.5 1\nm f="text" 1700000000000000000', two.source.database)
    with pytest.raises(StoreError, match=r"f of m: .*float.*string"):
        two.take()
    assert not two.file.exists()


def test_a_wrong_account_is_named_without_its_password_and_nothing_is_written(backed_up):
    secret = backed_up.source.path.parent / "reader.password"
    secret.write_text("not the password\n")
    other = backed_up.folder / "other"
    refused = run(["backup", str(other)], backed_up.source)
    assert refused.returncode == 3
    assert "read.password_file" in refused.stderr
    assert "401" in refused.stderr
    assert "not the password" not in refused.stderr
    assert list(backed_up.folder.glob("other*")) == []
    # An account that may only read restores nothing.
    reader = replace(backed_up.target, write=backed_up.target.read)
    with pytest.raises(StoreError, match="403"):
        backed_up.restore(reader)
    assert backed_up.held(backed_up.target) == {}


def test_without_an_influxdb_the_settings_are_wrong(tmp_path):
    told = CliRunner().invoke(cli, ["backup", str(tmp_path / "file")], env={"REGATTA_INFLUX": "none"})
    assert isinstance(told.exception, SpecError)
    assert told.exception.exit_code == 2
    assert "configs/influx.yml" in str(told.exception)


def test_the_command_says_what_it_has_done(backed_up):
    for arguments, settings in (([], backed_up.source), (["--restore"], backed_up.target)):
        told = CliRunner().invoke(
            cli, ["backup", str(backed_up.file), *arguments], env={"REGATTA_INFLUX": str(settings.path)}
        )
        assert told.exit_code == 0, told.output
        assert "10 points in 7 series" in told.output
        assert "3 measurements" in told.output
    as_json = CliRunner().invoke(
        cli,
        ["backup", str(backed_up.file), "--json"],
        env={"REGATTA_INFLUX": str(backed_up.source.path)},
    )
    assert json.loads(as_json.stdout)["measurements"]["event"]["fields"] == {"part": 1, "text": 2}


MEASURED = """
import resource, sys
from pathlib import Path
from regatta.influx.backup import back_up, restore
from regatta.influx.client import Client
from regatta.influx.settings import read_settings

for source, target in (sys.argv[1:3], sys.argv[3:5]):
    file = Path(source + ".lp.gz")
    back_up(Client(read_settings(Path(source)), "read"), file)
    settings = read_settings(Path(target))
    restore(Client(settings, "write"), Client(settings, "read"), file)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
FEW, MANY = 30_000, 120_000


def test_memory_does_not_grow_with_the_points(two):
    arguments = []
    for points in (FEW, MANY):
        source, target = two.settings(), two.settings()
        arguments += [str(source.path), str(target.path)]
        lines = (
            f"iteration,host=h{i % 50},metric=wall_ns value={i / 7},line={i}i {i}\n" for i in range(points)
        )
        while some := "".join(islice(lines, 50_000)):
            two.server.write(some, source.database)
    done = run(arguments, two.source, MEASURED)
    assert done.returncode == 0, done.stderr
    few, many = map(int, done.stdout.split())
    print(f"\nMiB after {FEW} points: {few}, after {MANY}: {many}")
    # As rows in Python the rest would take 30 MiB and more.
    assert many - few < 16
