"""Warnings of numpy and scipy as errors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture
def no_warnings() -> Iterator[None]:
    """Any warning fails the test, except what pytest tells of files and threads that another test has left behind."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for of_others in (
            ResourceWarning,
            pytest.PytestUnraisableExceptionWarning,
            pytest.PytestUnhandledThreadExceptionWarning,
        ):
            warnings.simplefilter("ignore", of_others)
        yield
