"""Reading the host's state, from trees that stand for machines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from regatta.host.measure.host_state import HostState

TICKS = os.sysconf("SC_CLK_TCK")


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


MACHINE = {
    "proc/loadavg": "1.25 0.50 0.10 2/300 4242\n",
    "proc/stat": f"cpu  {10 * TICKS} {2 * TICKS} {3 * TICKS} 999 888 {TICKS} {TICKS} {4 * TICKS} {5 * TICKS} 0\ncpu0 1 2 3\n",
    "proc/vmstat": "nr_free_pages 5\npswpin 3\npswpout 4\noom_kill 2\n",
    "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
    "proc/pressure/memory": "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
    "proc/pressure/io": "some avg10=0.00 avg60=0.00 avg300=0.00 total=13\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9\n",
    **{f"sys/devices/system/cpu/cpu{n}/cpufreq/scaling_cur_freq": f"{n + 1}000000\n" for n in range(4)},
    **{f"sys/devices/system/cpu/cpu{n}/thermal_throttle/core_throttle_count": f"{n}\n" for n in range(4)},
    **{f"sys/devices/system/cpu/cpu{n}/thermal_throttle/package_throttle_count": "10\n" for n in range(4)},
    "sys/class/thermal/thermal_zone0/temp": "41000\n",
    "sys/class/thermal/thermal_zone1/temp": "55500\n",
    "sys/class/thermal/thermal_zone2/temp": "-5000\n",
}


def test_everything_is_read_where_everything_is(tmp_path: Path) -> None:
    state = HostState([1, 2, 3], tree(tmp_path, MACHINE)).read()
    assert state == {
        "load1": 1.25,
        "psi_cpu_some_us": 77,
        "psi_memory_some_us": 11,
        "psi_memory_full_us": 7,
        "psi_io_some_us": 13,
        "psi_io_full_us": 9,
        "busy_s": 17.0,
        "steal_s": 4.0,
        "swap_pages": 7,
        "oom_kills": 2,
        "frequency_khz": 3_000_000,
        "temperature_mc": 55_500,
        "throttle_events": 36,
    }


def test_what_is_not_there_is_null(tmp_path: Path) -> None:
    state = HostState([0], tmp_path).read()
    assert len(state) == 13
    assert set(state.values()) == {None}


@pytest.mark.parametrize("text", ["", "cpu\n", "cpu  1 2 3\n", "garbage"])
def test_a_file_of_another_shape_is_null_and_no_exception(tmp_path: Path, text: str) -> None:
    names = [name for name in MACHINE if name.startswith("proc/") and name != "proc/loadavg"]
    state = HostState([0], tree(tmp_path, dict.fromkeys(names, text))).read()
    assert set(state.values()) == {None}


def test_a_second_reading_sees_what_has_changed(tmp_path: Path) -> None:
    state = HostState([0], tree(tmp_path, MACHINE))
    before = state.read()
    (tmp_path / "proc/vmstat").write_text("nr_free_pages 5\npswpin 8\npswpout 4\noom_kill 2\n")
    (tmp_path / "sys/class/thermal/thermal_zone1/temp").write_text("70000\n")
    after = state.read()
    assert (before["swap_pages"], after["swap_pages"]) == (7, 12)
    assert after["temperature_mc"] == 70_000


def test_a_sensor_that_goes_away_is_left_out(tmp_path: Path) -> None:
    state = HostState([0], tree(tmp_path, MACHINE))
    (tmp_path / "sys/class/thermal/thermal_zone1/temp").write_text("")
    assert state.read()["temperature_mc"] == 41_000


def test_this_machine_can_be_read() -> None:
    state = HostState(sorted(os.sched_getaffinity(0))).read()
    busy, load = state["busy_s"], state["load1"]
    assert busy is not None
    assert busy > 0
    assert load is not None


NO_SWAP = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
ONE_SWAP = NO_SWAP + "/dev/sda2                               partition\t1000\t\t0\t\t-2\n"


def test_without_swap_only_the_first_reading_looks_for_swapped_pages(tmp_path: Path) -> None:
    state = HostState([0], tree(tmp_path, {**MACHINE, "proc/swaps": NO_SWAP}), oom_kills=False)
    before = state.read()
    (tmp_path / "proc/vmstat").write_text("nr_free_pages 5\npswpin 8\npswpout 4\noom_kill 3\n")
    after = state.read()
    assert (before["swap_pages"], after["swap_pages"]) == (7, 7)
    assert (before["oom_kills"], after["oom_kills"]) == (None, None)


def test_swap_that_comes_and_goes_is_looked_at_while_it_is_there_and_once_more(tmp_path: Path) -> None:
    state = HostState([0], tree(tmp_path, {**MACHINE, "proc/swaps": NO_SWAP}), oom_kills=False)
    seen = [state.read()["swap_pages"]]
    for swaps, pages in ((ONE_SWAP, 10), (ONE_SWAP, 20), (NO_SWAP, 30), (NO_SWAP, 40)):
        (tmp_path / "proc/swaps").write_text(swaps)
        (tmp_path / "proc/vmstat").write_text(f"nr_free_pages 5\npswpin {pages}\npswpout 0\noom_kill 2\n")
        seen.append(state.read()["swap_pages"])
    assert seen == [7, 10, 20, 30, 30]


def test_oom_kills_of_the_host_are_counted_where_no_group_tells_those_of_the_tree(tmp_path: Path) -> None:
    state = HostState([0], tree(tmp_path, {**MACHINE, "proc/swaps": NO_SWAP}))
    before = state.read()
    (tmp_path / "proc/vmstat").write_text("nr_free_pages 5\npswpin 3\npswpout 4\noom_kill 3\n")
    assert (before["oom_kills"], state.read()["oom_kills"]) == (2, 3)
