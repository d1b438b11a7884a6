"""The test beds themselves: what the tests of the fleet rely on."""

import os
import signal
import subprocess
import time

import pytest

from helpers.hosts import host_containers, host_images

#: modules that the runner needs
IMPORTS = "python3 -I -c 'import ctypes, json, sqlite3, ssl, zipfile; print(1)'"


def run(argv, **more):
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False, **more
    )
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def test_an_x86_host_lets_root_and_bench_in_by_key_and_has_python_but_no_compiler(x86_hosts):
    for host in x86_hosts:
        for user in ("root", "bench"):
            command = "id -un; uname -n; uname -m; sudo -n id -u; command -v gcc || echo none"
            code, out, error = run(host.ssh(command, user=user))
            assert (code, out.split()) == (0, [user, host.name, host.architecture, "0", "none"]), error
        assert run(host.ssh(IMPORTS))[1] == "1"


def test_the_arm_host_is_aarch64_and_compiles(arm_host):
    code, out, error = run(
        arm_host.ssh(
            "uname -m; echo 'int main(void) { return 7; }' | gcc -x c - -o /tmp/seven; /tmp/seven; echo $?"
        )
    )
    assert (code, out.split()) == (0, ["aarch64", "7"]), error
    assert arm_host.architecture == "aarch64"


def test_a_host_with_another_key_is_refused(x86_hosts, tmp_path):
    one, two = x86_hosts
    swapped = tmp_path / "known_hosts"
    key = two.known_hosts.read_text().split(" ", 1)[1]
    swapped.write_text(f"[{one.address}]:{one.port} {key}")
    command = [str(swapped).join(word.split(str(one.known_hosts))) for word in one.ssh("true")]
    code, _, error = run(command)
    assert code == 255
    assert "HOST IDENTIFICATION HAS CHANGED" in error


def test_a_host_accepts_no_key_but_the_sessions(x86_hosts, tmp_path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "other"], check=True)
    host = x86_hosts[0]
    other = [word.replace(str(host.key_file), str(tmp_path / "other")) for word in host.ssh("true")]
    assert run(other)[0] == 255


def test_a_host_trusts_what_this_machine_trusts(x86_hosts):
    for number, certificate in enumerate(host_images.extra_certificates()):
        kept = x86_hosts[0].exec(["cat", f"/usr/local/share/ca-certificates/extra-{number}.crt"]).stdout
        assert kept == certificate
        assert certificate in x86_hosts[0].exec(["cat", "/etc/ssl/certs/ca-certificates.crt"]).stdout


def test_a_host_trusts_what_debian_trusts(x86_hosts):
    """This machine's own update-ca-certificates has collected them, so it has to be as if the host's had."""
    host = x86_hosts[0]
    lines = host.exec(["cat", "/etc/ca-certificates.conf"]).stdout.splitlines()
    debians = [line for line in lines if line and line[0] not in "#!"]
    assert len(debians) > 100
    bundle = host.exec(["cat", "/etc/ssl/certs/ca-certificates.crt"]).stdout
    assert bundle.count("BEGIN CERTIFICATE") == len(debians) + len(host_images.extra_certificates())
    links = host.exec(["find", "/etc/ssl/certs", "-type", "l", "-name", "*.[0-9]"]).stdout.split()
    assert len(links) >= len(debians)
    assert host.exec(["find", "-L", "/etc/ssl/certs", "-type", "l"]).stdout == ""
    assert host.exec(["dpkg-divert", "--list", "*certificates*"]).stdout == ""
    host.exec(["update-ca-certificates", "--fresh"])
    assert host.exec(["cat", "/etc/ssl/certs/ca-certificates.crt"]).stdout == bundle


def test_a_cut_network_hangs_and_a_mended_one_goes_on_where_it_was(x86_hosts):
    host = x86_hosts[0]
    with subprocess.Popen(
        host.ssh("cat"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as connection:
        assert connection.stdin
        assert connection.stdout
        connection.stdin.write(b"before\n")
        connection.stdin.flush()
        assert connection.stdout.readline() == b"before\n"
        host.cut_network()
        try:
            connection.stdin.write(b"meanwhile\n")
            connection.stdin.flush()
            with pytest.raises(subprocess.TimeoutExpired):
                connection.wait(1)
            assert host.exec(["cat", "/sys/class/net/eth0/operstate"]).stdout.strip() == "down"
        finally:
            host.mend_network()
        assert connection.stdout.readline() == b"meanwhile\n"
        connection.stdin.close()
        assert connection.wait(300) == 0
    assert "default" in host.exec(["ip", "route"]).stdout


def test_a_host_that_was_switched_off_comes_back_with_its_disk_port_and_key(x86_hosts):
    host = x86_hosts[1]
    host.exec(["touch", "/var/kept"])
    host.stop()
    assert run(host.ssh("true"))[0] == 255
    host.start()
    assert run(host.ssh("ls /var/kept; nproc"))[0] == 0


def test_what_is_left_behind_by_its_parent_is_reaped(x86_hosts):
    host = x86_hosts[0]
    process = run(host.ssh("sleep 0.3 </dev/null >/dev/null 2>&1 & echo $!"))[1]
    deadline = time.monotonic() + 300
    while host.exec(["test", "-e", f"/proc/{process}"], check=False).returncode == 0:
        assert time.monotonic() < deadline, host.exec(["cat", f"/proc/{process}/status"]).stdout
        time.sleep(0.05)


def test_containers_of_a_killed_session_are_removed_by_the_next(hosts, x86_hosts):
    mine = x86_hosts[0].container

    host_containers.remove_abandoned(hosts.docker)
    names = ["create", "--name", f"{mine}-left", "--label", f"{host_containers.OWNER}=999999999:1"]
    tag = host_images.x86().tag
    subprocess.run([hosts.docker, *names, tag], capture_output=True, check=True)
    host_containers.remove_abandoned(hosts.docker)
    listed = subprocess.run(
        [hosts.docker, "ps", "--all", "--format", "{{.Names}}"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert mine in listed
    assert f"{mine}-left" not in listed


def test_another_recipe_is_another_image():
    recipe = host_images.Recipe("amd64", ("python3",), (), ())
    assert recipe.tag == host_images.Recipe("amd64", ("python3",), (), ()).tag
    for other in (
        host_images.Recipe("arm64", ("python3",), (), ()),
        host_images.Recipe("amd64", ("python3", "gcc"), (), ()),
        host_images.Recipe("amd64", ("python3",), ("a certificate",), ()),
    ):
        assert other.tag != recipe.tag


def test_slurm_gives_each_node_by_name_and_by_feature_and_to_one_job_at_a_time(slurm_cluster):
    for node, feature in slurm_cluster.features.items():
        for asked in (f"--nodelist={node}", f"--constraint={feature}"):
            assert slurm_cluster.run("srun", asked, "printenv", "SLURMD_NODENAME").split() == [node]
    hold = ("srun", "--immediate=1", "--nodelist=nodeA")
    held = subprocess.Popen(
        ["srun", "--nodelist=nodeA", "--exclusive", "cat"],
        env={**os.environ, **slurm_cluster.environment}, stdin=subprocess.PIPE,
    )  # fmt: skip
    try:
        slurm_cluster.wait_until("nodeA", ["allocated"])
        refused = subprocess.run(
            [*hold, "true"], env={**os.environ, **slurm_cluster.environment}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert refused.returncode != 0
    finally:
        held.communicate(timeout=300)
    slurm_cluster.wait_until("nodeA", ["idle"])


def test_a_daemon_of_slurm_can_be_killed_and_started_again(slurm_cluster):
    slurm_cluster.stop("slurmctld", signal.SIGKILL)
    slurm_cluster.start("slurmctld")
    slurm_cluster.cancel_all()
    assert slurm_cluster.jobs() == []
