"""Playbooks, run by the real Ansible on this machine under several names."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.marked_processes import processes_with
from regatta.fleet import ansible
from regatta.fleet.ansible import run_playbook
from regatta.host.errors import HostError

pytestmark = pytest.mark.full  # Ansible takes seconds for each playbook

ROOT = Path(__file__).parents[3]
HALVES = ("a-secret-", "of-the-test")

#: of the playbook, which is part of what its task asserts
DISK_FULL = "disk: expected 10 MiB free · got 1 · fix: make room"
PLAYBOOK = """
- hosts: all
  gather_facts: false
  strategy: ansible.builtin.free
  tasks:
    - name: Answer
      ansible.builtin.ping:
    - name: Refuse
      ansible.builtin.assert:
        that: false
        fail_msg: "DISK_FULL"
      when: inventory_hostname == 'unfit'
    - name: Fail items
      ansible.builtin.fail:
        msg: "no {{ item }}"
      loop: [left, middle, right]
      when: inventory_hostname == 'loop' and item != 'middle'
    - when: inventory_hostname == 'mended'
      block:
        - name: Fail first
          ansible.builtin.fail:
            msg: once
      rescue:
        - name: Mend
          ansible.builtin.debug:
            msg: mended
    - name: Change
      ansible.builtin.file:
        path: "{{ folder }}/{{ inventory_hostname }}"
        state: directory
        mode: "0700"
      when: inventory_hostname in ['good', 'mended']
    - name: See the settings and the command lines
      ansible.builtin.assert:
        that:
          - lookup('ansible.builtin.config', 'HOST_KEY_CHECKING')
          - secret == halves | join
          - not lookup('ansible.builtin.config', 'DEFAULT_LOCAL_TMP').startswith(lookup('ansible.builtin.env', 'HOME'))
      when: inventory_hostname == 'good'
    - name: Look for the secret in every command line
      ansible.builtin.command:
        argv: [python3, -c, "{{ look }}", "{{ halves[0] }}", "{{ halves[1] }}"]
      changed_when: false
      when: inventory_hostname == 'good'
    - name: Fail with what nobody may see
      ansible.builtin.command:
        argv: [python3, -c, "import sys; sys.exit(sys.stdin.read())"]
        stdin: "{{ secret }}"
      changed_when: false
      no_log: true
      when: inventory_hostname == 'hidden'
""".replace("DISK_FULL", DISK_FULL)
STAY = """
- hosts: all
  gather_facts: false
  tasks:
    - name: Stay
      ansible.builtin.command: sleep 600
      changed_when: false
"""
LOOK = """
import pathlib, sys
for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    try:
        assert "".join(sys.argv[1:]).encode() not in path.read_bytes(), path
    except OSError:
        pass
"""


def home_with(folder: Path, text: str) -> Path:
    """A home whose playbooks/test.yml is `text`, with the settings and plugins of the real one."""
    (folder / "playbooks").mkdir(parents=True)
    for name in ("ansible.cfg", "callback_plugins"):
        (folder / "playbooks" / name).symlink_to(ROOT / "playbooks" / name)
    (folder / "playbooks" / "test.yml").write_text(text)
    return folder


def inventory_of(folder: Path, names: list[str], **more: dict[str, object]) -> Path:
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    path = folder / "inventory.yml"
    path.write_text(json.dumps({"all": {"hosts": {**dict.fromkeys(names, local), **more}}}))
    return path


@pytest.fixture(scope="module")
def one_run(tmp_path_factory):
    """One run over hosts that come through it in every way; returns the outcomes and Ansible's own words."""
    folder = tmp_path_factory.mktemp("ansible")
    with socket.socket() as closed:  # bound and not listening: nobody else gets the port, and nobody answers
        closed.bind(("127.0.0.1", 0))
        away = {"ansible_host": "127.0.0.1", "ansible_port": closed.getsockname()[1]}
        names = ["good", "unfit", "loop", "mended", "hidden"]
        variables = {
            "folder": str(folder),
            "secret": "".join(HALVES),
            "halves": list(HALVES),
            "look": LOOK,
        }
        before = dict(os.environ)
        os.environ["ANSIBLE_HOST_KEY_CHECKING"] = "False"
        try:
            outcomes = run_playbook(
                home_with(folder / "home", PLAYBOOK), "test.yml", inventory_of(folder, names, away=away), [], variables,
                log=folder / "log",
            )  # fmt: skip
        finally:
            os.environ.clear()
            os.environ.update(before)
    return outcomes, folder


def test_hosts_that_fail_or_are_away_are_named_and_the_rest_go_on(one_run):
    outcomes, _ = one_run
    assert {name for name, outcome in outcomes.items() if outcome.ok} == {"good", "mended"}
    assert set(outcomes) == {"good", "unfit", "loop", "mended", "hidden", "away"}


def test_a_failure_is_told_with_its_task_in_the_words_of_the_playbook(one_run):
    outcomes, _ = one_run
    assert outcomes["unfit"].failed == f"Refuse: {DISK_FULL}"
    assert outcomes["unfit"].unreachable == ""


def test_of_a_loop_every_item_that_failed_is_told(one_run):
    failed = one_run[0]["loop"].failed
    assert "no left" in failed
    assert "no right" in failed
    assert "middle" not in failed


def test_a_host_that_does_not_answer_is_told_as_such(one_run):
    away = one_run[0]["away"]
    assert "refused" in away.unreachable
    assert away.failed == ""


def test_changes_are_counted(one_run):
    outcomes, _ = one_run
    assert {name: outcome.changed for name, outcome in outcomes.items()} == {
        "good": 1, "mended": 1, "unfit": 0, "loop": 0, "hidden": 0, "away": 0,
    }  # fmt: skip


def test_a_secret_is_in_no_outcome_and_no_log(one_run):
    outcomes, folder = one_run
    assert outcomes["hidden"].failed
    assert "".join(HALVES) not in repr(outcomes) + (folder / "log").read_text()


def test_the_log_is_for_this_user_alone(one_run):
    assert stat.S_IMODE((one_run[1] / "log").stat().st_mode) == 0o600


def test_what_is_written_for_ansible_is_for_this_user_alone(tmp_path):
    path = ansible._private(tmp_path / "variables.json", "{}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_playbook_that_ansible_cannot_read_is_an_error_with_ansibles_words(tmp_path):
    home = home_with(tmp_path / "home", "- hosts: all\n  tasks: [{ansible.builtin.nothing: }]\n")
    with pytest.raises(HostError, match=r"ansible\.builtin\.nothing"):
        run_playbook(home, "test.yml", inventory_of(tmp_path, ["one"]), [], {})


def test_a_name_that_the_inventory_lacks_has_an_outcome_too(tmp_path, golden: Golden):
    home = home_with(tmp_path / "home", "- hosts: all\n  gather_facts: false\n  tasks: [{ansible.builtin.meta: noop}]\n")  # fmt: skip
    outcomes = run_playbook(home, "test.yml", inventory_of(tmp_path, ["one"]), ["one", "two"], {})
    assert not outcomes["two"].ok
    golden("not_in_inventory", outcomes["two"].failed)


@pytest.mark.parametrize("name", ["all:!one", "@file", "-v", "one two", "*", "one,two", "~x", ""])
def test_a_pattern_is_no_name_of_a_host(name, tmp_path):
    with pytest.raises(HostError, match="names of"):
        run_playbook(tmp_path, "test.yml", tmp_path, [name], {})


def test_an_interrupt_ends_ansible_and_all_that_it_started(tmp_path):
    home = home_with(tmp_path / "home", STAY)
    mark = f"REGATTA_TEST_MARK={os.getpid()}-interrupt"
    name, _, value = mark.partition("=")
    program = (
        "import pathlib, sys; from regatta.fleet.ansible import run_playbook; "
        "run_playbook(*map(pathlib.Path, sys.argv[1:2]), 'test.yml', pathlib.Path(sys.argv[2]), [], {})"
    )
    ours = subprocess.Popen(
        [sys.executable, "-c", program, str(home), str(inventory_of(tmp_path, ["one"]))],
        env={**os.environ, name: value, "TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        wait_until(lambda: any(is_sleep(process) for process in processes_with(mark)))
        ours.send_signal(signal.SIGINT)
        ours.communicate(timeout=300)
        wait_until(lambda: not processes_with(mark))
    finally:
        for process in processes_with(mark):
            os.kill(process, signal.SIGKILL)
        ours.communicate()
    assert not list(tmp_path.glob("regatta-ansible-*"))


def is_sleep(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().startswith(b"sleep\0")
    except OSError:
        return False


def wait_until(condition):
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
