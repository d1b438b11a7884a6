"""Being here, it lets every test import the helpers beside it."""

import contextlib
import os
import signal
import subprocess
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from helpers import durations, in_parallel, proven, tiers
from helpers import golden as golden_files
from helpers.docker_engine import docker_engine
from helpers.documents import _clone, fresh_clone
from helpers.golden import golden
from helpers.influx_server import influx_server, own_influx_server

__all__ = [
    "_clone",
    "docker_engine",
    "fresh_clone",
    "golden",
    "influx_server",
    "own_influx_server",
]  # fixtures for all of them

# No test writes into the InfluxDB of who runs them: those that need one name their own.
os.environ["REGATTA_INFLUX"] = "none"

# A suite that a shell started in the background inherits an ignored SIGINT, and so would every program it tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says more about what else runs than about the example.
settings.register_profile("regatta", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("regatta")
if settings.default.derandomize:
    # With CI set, each run has the same examples. Hypothesis also draws constants of the modules that are loaded so far, which
    # depend on the tests that this process was given before.
    providers._get_local_constants = lambda: providers._local_constants


@pytest.fixture(scope="session", autouse=True)
def lock_of_the_host(tmp_path_factory):
    """Tests in different processes need not wait for each other's measurements: each process has a lock of its own."""
    with pytest.MonkeyPatch.context() as patch:
        if in_parallel.is_one_of_several() and "REGATTA_HOST_LOCK" not in os.environ:
            patch.setenv("REGATTA_HOST_LOCK", str(tmp_path_factory.mktemp("host") / "lock"))
        yield


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give out what stays together."""
    return in_parallel.scheduler(config, log)


def pytest_configure(config):
    """Refuse options that do not go together, watch the golden files, and record the run if that is asked for."""
    golden_files.check_option(config)
    golden_files.watch(config)
    durations.record(config)
    if in_parallel.shows_all(config):
        config.pluginmanager.register(Failures(config))


def pytest_addoption(parser):
    """Add the options that choose which tests run."""
    tiers.add_options(parser)
    golden_files.add_option(parser)
    durations.add_option(parser)


def pytest_collection_modifyitems(config, items):
    """Keep what the command line asks for, in the order in which several processes get it."""
    tiers.select(config, items)
    proven.skip_proven(config, items)
    if in_parallel.is_one_of_several():
        in_parallel.sort(items, durations.recorded())


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """Start each test in the same directory, and let nothing run beside one that is marked `alone`."""
    with contextlib.ExitStack() as around:
        # The runner, which some tests call within their own process, works in "/" and stays there.
        around.enter_context(contextlib.chdir(item.config.invocation_params.dir))
        if in_parallel.is_one_of_several():
            around.enter_context(in_parallel.the_machine(item.get_closest_marker("alone") is not None))
        return (yield)


class Failures:
    """Names each failure when it happens: a whole run takes long, and one that is cut off has no summary."""

    def __init__(self, config):
        self._plugins = config.pluginmanager

    def pytest_runtest_logreport(self, report):
        if report.failed:
            terminal = self._plugins.get_plugin("terminalreporter")
            terminal.ensure_newline()
            last = report.longreprtext.strip().splitlines()[-1:]
            terminal.write_line(" ".join(["FAILED", report.nodeid, *last])[:500])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """End what a test has started and not ended, where it fails. A command of ours ends its own processes first."""
    started = []
    begin = subprocess.Popen.__init__

    def noted(process, *arguments, **options):
        begin(process, *arguments, **options)
        started.append(process)

    with mock.patch.object(subprocess.Popen, "__init__", noted):
        try:
            return (yield)
        except BaseException:
            for process in started:
                if process.poll() is None:
                    process.terminate()
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(10)
                    process.kill()
                    process.wait()
            raise
