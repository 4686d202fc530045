"""The machine and its files: runtime, disk, permissions, the token, workspaces."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hub.agent.doctor import WORKSPACES
from hub.core.repairs import Severity
from hub.doctor.disk import CRITICAL_FREE_BYTES, DISK, LOW_FREE_BYTES, room_findings
from hub.doctor.permissions import PERMISSIONS
from hub.doctor.runtime import RUNTIME, python_findings, sqlite_findings
from hub.security.doctor import HUB_TOKEN
from hub.security.hub_token import hub_token
from hub.storage.homedir import Home
from tests.doctor.conftest import See
from tests.doctor.looking import found

NOT_ROOT = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")


def test_this_machine_can_run_a_hub(see: See) -> None:
    assert found(RUNTIME, see) == []


def test_an_old_python_and_an_old_sqlite_are_critical() -> None:
    assert "3.10.4" in next(python_findings((3, 10, 4))).what
    assert "3.31.0" in next(sqlite_findings((3, 31, 0))).what
    assert not list(python_findings((3, 11, 0)))


def test_a_full_disk_is_told_before_it_hurts(see: See) -> None:
    (low,) = room_findings(LOW_FREE_BYTES - 1, "/srv")
    (full,) = room_findings(CRITICAL_FREE_BYTES - 1, "/srv")

    assert (low.severity, full.severity) == (Severity.ERROR, Severity.CRITICAL)
    assert list(room_findings(LOW_FREE_BYTES, "/srv")) == []
    assert found(DISK, see) == []


@pytest.mark.parametrize(
    ("path", "mode", "severity"),
    [
        (".", 0o755, Severity.WARNING),
        (".", 0o770, Severity.ERROR),
        ("secrets.yaml", 0o640, Severity.ERROR),
        ("configuration.yaml", 0o664, Severity.ERROR),
        (".storage", 0o750, Severity.ERROR),
        (".storage/agents", 0o755, Severity.ERROR),
    ],
)
def test_what_others_can_reach_is_found_with_the_command(
    home: Home, see: See, path: str, mode: int, severity: Severity
) -> None:
    (home.path / path).chmod(mode)

    (finding,) = found(PERMISSIONS, see)

    assert finding.severity is severity
    assert finding.command.startswith("chmod ")
    assert f"{mode:o}" in finding.where
    assert finding.mend is not None


def test_a_file_deep_in_the_storage_is_found(home: Home, see: See) -> None:
    deep = home.sessions("main") / "one.jsonl"
    deep.parent.mkdir(parents=True, mode=0o700)
    deep.parent.parent.chmod(0o700)
    deep.touch(mode=0o600)
    deep.chmod(0o604)

    (finding,) = found(PERMISSIONS, see)

    assert str(deep) in finding.where


def test_readable_configuration_in_a_private_home_is_no_finding(home: Home, see: See) -> None:
    home.configuration.chmod(0o644)

    assert found(PERMISSIONS, see) == []


def test_what_a_sandbox_wrote_is_its_own_and_its_folder_is_the_hubs(home: Home, see: See) -> None:
    inside = home.storage / "sandboxes" / "main" / "workspace"
    inside.mkdir(parents=True)
    for folder in (inside.parent.parent, inside.parent, inside):
        folder.chmod(0o700)
    (inside / "made by a program.txt").touch(mode=0o644)
    inside.chmod(0o755)
    before = found(PERMISSIONS, see)
    inside.parent.chmod(0o755)

    assert before == []
    assert [finding.where for finding in found(PERMISSIONS, see)] == [f"{inside.parent} (mode 755)"]


def test_a_token_is_made_on_first_need_and_then_fine(home: Home, see: See) -> None:
    before = found(HUB_TOKEN, see)
    hub_token(home.path)

    assert before == found(HUB_TOKEN, see) == []


@pytest.mark.parametrize("content", ["", "changeme", "two words that are not one token at all", "kürzlich" * 8])
def test_a_token_that_keeps_nobody_out_is_critical(home: Home, see: See, content: str) -> None:
    home.hub_token.write_text(content, encoding="utf-8")
    home.hub_token.chmod(0o600)

    (finding,) = found(HUB_TOKEN, see)

    assert finding.severity is Severity.CRITICAL
    assert finding.command == f"rm {home.hub_token}"


def test_a_link_in_place_of_the_token_is_found(home: Home, see: See, tmp_path: Path) -> None:
    home.hub_token.symlink_to(tmp_path / "elsewhere")

    assert len(found(HUB_TOKEN, see)) <= 1  # a link's mode is told among the permissions
    assert not (tmp_path / "elsewhere").exists()


def test_a_workspace_that_is_a_file_is_an_error(home: Home, see: See) -> None:
    home.workspace.touch()

    (finding,) = found(WORKSPACES, see)

    assert "not a directory" in finding.what


def test_a_workspace_that_no_agent_uses_is_a_warning(home: Home, see: See) -> None:
    home.configuration.write_text("agents: [{id: main}, {id: work}]\n", encoding="utf-8")
    for name in ("workspace", "workspace-work", "workspace-gone", "workspace-pictures"):
        (home.path / name).mkdir()
    for name in ("workspace", "workspace-work", "workspace-gone"):
        (home.path / name / "AGENTS.md").touch()

    (finding,) = found(WORKSPACES, see)

    assert (finding.severity, finding.where) == (Severity.WARNING, str(home.path / "workspace-gone"))


@pytest.mark.parametrize("place", [".", "..", ".storage", ".storage/agents"])
def test_a_workspace_around_the_hubs_own_files_is_an_error(home: Home, see: See, place: str) -> None:
    home.configuration.write_text(f"agents: [{{id: main, workspace: {place}}}]\n", encoding="utf-8")

    (finding,) = found(WORKSPACES, see)

    assert finding.severity is Severity.ERROR


@NOT_ROOT
def test_a_workspace_that_cannot_be_written_is_an_error(home: Home, see: See) -> None:
    home.workspace.mkdir(mode=0o500)

    (finding,) = found(WORKSPACES, see)

    assert "cannot be written" in finding.what


def test_a_workspace_that_is_not_there_yet_is_made_later(see: See) -> None:
    assert found(WORKSPACES, see) == []
