"""`homarus service` on a machine of which nothing is changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.terminal import Terminal


@pytest.fixture
def type_(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(capsys, tmp_path)


def test_the_file_can_be_looked_at_before(type_: Terminal, tmp_path: Path) -> None:
    ran = type_("service", "install", "--print", "--config", str(tmp_path))

    assert ran.code == 0
    assert str(tmp_path) in ran.out


@pytest.mark.parametrize("name", ["start", "stop", "restart", "status", "logs", "uninstall"])
def test_what_is_not_installed_is_said_with_what_to_do(type_: Terminal, tmp_path: Path, name: str) -> None:
    ran = type_("service", name, "--config", str(tmp_path))

    assert ran.code == 1
    assert "homarus service install" in ran.err or "Neither systemd nor launchd" in ran.err


def test_a_user_who_is_not_there_is_refused(type_: Terminal, tmp_path: Path) -> None:
    ran = type_("service", "install", "--print", "--user", "nobody-of-that-name", "--config", str(tmp_path))

    assert ran.code == 2
    assert "nobody-of-that-name" in ran.err or "--user is for root" in ran.err
