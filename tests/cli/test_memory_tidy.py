"""`homarus memory tidy`, against a hub that runs."""

from __future__ import annotations

from tests.cli.terminal import Terminal

PATH = "MEMORY.md"


def test_it_is_shown_done_and_can_be_taken_back(ask: Terminal) -> None:
    for text in ("the code of the shed is 4711", "the code of the shed is 4712"):
        ask("memory", "add", text, "--kind", "decision")

    shown = ask("memory", "tidy", "--dry-run")
    untouched = ask("memory", "show", PATH).out
    done = ask("memory", "tidy", "--json").json
    again = ask("memory", "tidy")
    undone = ask("memory", "undo", done["change_id"])

    assert "Not done yet: 1 contradiction to be settled." in shown.out
    assert "+  “the code of the shed is 4712”" in shown.out
    assert "To be settled" not in untouched
    assert [each["older"]["text"] for each in done["contradictions"]] == ["the code of the shed is 4711"]
    assert again.out == "There is nothing to tidy up.\n"
    assert undone.code == 0
    assert "To be settled" not in ask("memory", "show", PATH).out


def test_what_it_may_cost_is_no_less_than_nothing(ask: Terminal) -> None:
    assert ask("memory", "tidy", "--cost", "-1").code == 2
