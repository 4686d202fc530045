"""`homarus memory tidy`, against a hub that runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.cli.terminal import Terminal
from tests.servers.hub_process import HubProcess

PATH = "MEMORY.md"
BOX = "The wifi box hangs in the hall"


def test_it_is_shown_done_and_can_be_taken_back(hub: HubProcess, ask: Terminal) -> None:
    days = hub.home / "workspace" / "memory"
    days.mkdir(parents=True, exist_ok=True)
    for ago in (2, 3):
        day = (datetime.now(UTC) - timedelta(days=ago)).date().isoformat()
        (days / f"{day}.md").write_text(f"# {day}\n\n- {BOX}\n", encoding="utf-8")

    shown = ask("memory", "tidy", "--dry-run")
    untouched = ask("memory", "show", PATH).out
    done = ask("memory", "tidy", "--json").json
    again = ask("memory", "tidy")
    undone = ask("memory", "undo", done["change_id"])

    assert "Without --dry-run: Kept 1 entry for good." in shown.out
    assert f"+- {BOX}" in shown.out
    assert BOX not in untouched
    assert done["promoted"] == 1
    assert again.out == "There is nothing to tidy up.\n"
    assert undone.code == 0
    assert BOX not in ask("memory", "show", PATH).out


def test_what_it_may_cost_is_no_less_than_nothing(ask: Terminal) -> None:
    assert ask("memory", "tidy", "--cost", "-1").code == 2
