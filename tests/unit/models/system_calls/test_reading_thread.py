"""The thread that reads a tracer's words: its end, its failure, and that it does not end."""

import threading

import pytest

from helpers.waiting import PATIENCE_S
from regatta.host.errors import HostError
from regatta.models.system_calls.reading_thread import Reading


def test_what_was_read_to_its_end_is_all():
    read = []
    Reading("strace", lambda: read.append(1)).wait(PATIENCE_S)
    assert read == [1]


def test_a_failure_of_the_reader_is_told():
    failure = "no such thing"

    def fails():
        raise ValueError(failure)

    with pytest.raises(HostError, match=rf"output of strace: .*ValueError: {failure}"):
        Reading("strace", fails).wait(PATIENCE_S)


def test_a_reader_that_does_not_end_is_an_error():
    end = threading.Event()
    reading = Reading("bpftrace", lambda: end.wait() and None)
    with pytest.raises(HostError, match=r"output of bpftrace.*0\.01 s"):
        reading.wait(0.01)
    end.set()
    reading.wait(PATIENCE_S)
