"""`homarus hooks`: from a folder in the home to a hook that is called, and back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.servers.hub_process import HubProcess


@pytest.fixture
def folder(hub: HubProcess) -> Iterator[Path]:
    """A folder with a hook in the home of a running hub."""
    made = hub.home / "hooks" / "quiet-night"
    made.mkdir(parents=True)
    (made / "HOOK.md").write_text("---\ndescription: No calls at night.\nevents: agent_end\npriority: 5\n---\n")
    (made / "handler.py").write_text("def agent_end(payload):\n    pass\n")
    yield made
    shutil.rmtree(made)


def test_a_hook_is_listed_looked_at_enabled_changed_and_disabled(ask: Terminal, folder: Path) -> None:
    assert "quiet-night" in ask("hooks", "list").out
    looked = ask("hooks", "info", "quiet-night").out
    assert "Called at: agent_end" in looked
    assert "--- handler.py\ndef agent_end(payload):" in looked

    assert ask("hooks", "enable", "quiet-night", "--yes").out.endswith("quiet-night is ready.\n")
    assert "hook quiet-night" in ask("hooks", "list").out
    assert ask("hooks", "check").code == 0

    (folder / "handler.py").write_text("def agent_end(payload):\n    return payload\n")
    checked = ask("hooks", "check")
    assert (checked.code, "changed" in checked.out) == (1, True)
    assert ask("hooks", "disable", "quiet-night").out == "quiet-night is off.\n"


def test_a_hook_that_is_not_there_is_named(ask: Terminal, hub: HubProcess) -> None:
    found = ask("hooks", "enable", "other", "--yes")

    assert found.code != 0
    assert "there is no hook 'other'" in found.err
