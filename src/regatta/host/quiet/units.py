"""Services and timers of systemd that start work by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from regatta.host.quiet.host import QuietHost
from regatta.host.quiet.knob import Item, Knob, KnobState

#: units that distributions start by default; those missing on a host are skipped
NOISY_UNITS = (
    "anacron.timer", "apt-daily.timer", "apt-daily-upgrade.timer", "btrfs-balance.timer", "btrfs-scrub.timer",
    "dnf-automatic.timer", "dnf-makecache.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer",
    "fwupd-refresh.timer", "irqbalance.service", "ksm.service", "ksmtuned.service", "logrotate.timer",
    "man-db.timer", "man-db-cache-update.timer", "mdcheck_continue.timer", "mdcheck_start.timer", "mlocate-updatedb.timer",
    "motd-news.timer", "packagekit.service", "plocate-updatedb.timer", "raid-check.timer", "sysstat-collect.timer",
    "sysstat-summary.timer", "systemd-tmpfiles-clean.timer", "ua-timer.timer",
    "update-notifier-download.timer", "update-notifier-motd.timer", "updatedb.timer", "xfs_scrub_all.timer",
)  # fmt: skip


class Units(Knob):
    """Units to stop, not disable: a reboot of the host starts them again."""

    name = "units"
    aim = "no timers and services with background work"
    effect = "updates, indexing and clean-up may start during a measurement"
    level = "fair"
    keys = re.compile(r"unit:[\w@.-]+\.(timer|service)")

    def find(self, host: QuietHost, saved: Mapping[str, str]) -> KnobState:
        if not (host.root / "run/systemd/system").is_dir():
            return KnobState(missing="systemd is not running")
        if not host.has_program("systemctl"):
            return KnobState(missing="systemctl is not installed")
        try:
            states = unit_states(host, NOISY_UNITS)
        except OSError as error:
            return KnobState(missing=error.strerror or "systemctl failed")
        items = [
            Item(f"unit:{name}", state, "inactive") for name, state in states.items() if state == "active"
        ]
        items += [Item(key, "inactive", "inactive") for key in saved if states.get(key[5:]) == "inactive"]
        return KnobState(items, self._running(host, states) or ([] if items else ["none is active"]))

    def _running(self, host: QuietHost, states: Mapping[str, str]) -> list[str]:
        """Report work that has begun; it is not aborted, because half an upgrade is worse than a disturbed run."""
        timers = [name for name in states if name.endswith(".timer")]
        try:
            begun = unit_states(host, [name.replace(".timer", ".service") for name in timers], "activating")
        except OSError:
            return []
        return [
            f"{name} is running: wait until it ends" for name, state in begun.items() if state == "activating"
        ]

    def get(self, host: QuietHost, key: str) -> str | None:
        return unit_states(host, [key[5:]]).get(key[5:])

    def put(self, host: QuietHost, key: str, value: str) -> None:
        host.run(["systemctl", "stop" if value == "inactive" else "start", key[5:]])


def unit_states(host: QuietHost, units: Iterable[str], *further: str) -> dict[str, str]:
    """Return unit -> `active` or `inactive` (or one of `further`), for units that the host has.

    Raises:
        OSError: systemctl failed.
    """
    text = host.run(["systemctl", "show", "--property=Id,LoadState,ActiveState", *units]) if units else ""
    found = {}
    for block in text.split("\n\n"):
        fields = dict(line.partition("=")[::2] for line in block.splitlines())
        if fields.get("LoadState") == "loaded":
            state = fields.get("ActiveState", "")
            found[fields.get("Id", "")] = state if state in ("active", *further) else "inactive"
    return found
