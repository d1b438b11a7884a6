"""Processes that measure traces end with the command that started them, however it ends."""

from __future__ import annotations

import os
import subprocess
import sys

from helpers.runner_plans import is_gone
from helpers.waiting import wait_until

COMMAND = """
import multiprocessing, os, sys
from concurrent.futures import ProcessPoolExecutor
from regatta.models.kernel_traces.record_measures import end_with_parent

if __name__ == "__main__":
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), end_with_parent) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        sys.stdin.read()
"""


def test_a_killed_command_leaves_no_process_of_its_pool(tmp_path) -> None:
    script = tmp_path / "command.py"
    script.write_text(COMMAND)
    with subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as command:
        assert command.stdout is not None
        worker = int(command.stdout.readline())
        os.kill(worker, 0)
        command.kill()
        command.wait()
        wait_until(lambda: is_gone(worker), "the end of the worker")
