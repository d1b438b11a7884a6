"""Sets of CPUs, read and written as the kernel does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regatta.host.values.cpu_list import cpu_list_text, cpu_mask_text, parse_cpu_list, parse_cpu_mask


@pytest.mark.parametrize(
    ("cpus", "listed", "mask"),
    [
        ([], "", "0"),
        ([0], "0", "1"),
        ([0, 1, 2, 3, 8], "0-3,8", "10f"),
        ([31, 32], "31-32", "1,80000000"),
        (list(range(64, 128)), "64-127", "ffffffff,ffffffff,00000000,00000000"),
    ],
)
def test_both_forms_are_those_of_the_kernel(cpus: list[int], listed: str, mask: str) -> None:
    assert (cpu_list_text(cpus), cpu_mask_text(cpus)) == (listed, mask)
    assert parse_cpu_list(f"{listed}\n") == cpus
    assert parse_cpu_mask(f"{mask}\n") == cpus


@given(st.sets(st.integers(0, 300)))
def test_what_is_written_is_read_back(cpus: set[int]) -> None:
    assert parse_cpu_list(cpu_list_text(cpus)) == sorted(cpus)
    assert parse_cpu_mask(cpu_mask_text(cpus)) == sorted(cpus)


@pytest.mark.parametrize("text", ["0,1-x,3", "one", "1--2", "-3", "5-2"])
def test_another_text_is_no_list(text: str) -> None:
    with pytest.raises(ValueError, match=r"invalid literal|range of CPUs"):
        parse_cpu_list(text)


@pytest.mark.parametrize("text", ["0-99999999999", "99999999999", ",".join(["0-65535"] * 2)])
def test_a_list_is_no_longer_than_a_kernel_has_cpus(text: str) -> None:
    with pytest.raises(ValueError, match="CPUs"):
        parse_cpu_list(text)


@pytest.mark.parametrize("text", ["", "xyz", "f,,f"])
def test_another_text_is_no_mask(text: str) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        parse_cpu_mask(text)
