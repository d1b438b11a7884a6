"""`regatta doctor`: what is lacking, by what a user wants to do."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from regatta.cli.doctor import _PACKAGES, CAPABILITIES, _read_needs, doctor
from regatta.spec.home import find_home


def test_every_need_belongs_to_a_capability() -> None:
    listed = set(_read_needs(find_home() / _PACKAGES))
    # Python is there once the launcher has come so far.
    assert {need for own in CAPABILITIES.values() for need in own} == listed - {"python"}


def test_what_is_lacking_is_told_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGATTA_LACKS", " maven servers")
    found = json.loads(CliRunner().invoke(doctor, ["--json"]).output)
    assert found["lacks"]["measure Java programs"] == ["maven"]
    assert found["lacks"]["measure web servers"] == ["servers"]
    assert found["lacks"]["count system calls"] == []
    assert found["packages"] == ["maven", "apache2-bin", "libapache2-mod-fcgid", "nginx-light"]
    install = "sudo apt-get install --no-install-recommends"
    servers = "apache2-bin libapache2-mod-fcgid nginx-light"
    assert found["commands"]["measure Java programs"] == f"{install} maven"
    assert found["commands"]["measure web servers"] == f"{install} {servers}"
    assert "count system calls" not in found["commands"]
    shown = CliRunner().invoke(doctor).output
    assert f"  measure Java programs:\n    {install} maven\n" in shown
    assert f"  measure web servers:\n    {install} {servers}\n" in shown
    assert f"  all capabilities:\n    {install} maven {servers}\n" in shown


def test_nothing_is_to_be_installed_where_nothing_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGATTA_LACKS", "")
    shown = CliRunner().invoke(doctor).output
    assert "apt-get" not in shown
    assert " no" not in shown
