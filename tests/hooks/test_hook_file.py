"""HOOK.md: what is read of it, and what is wrong with it."""

from __future__ import annotations

import pytest

from hub.core.errors import InvalidRequest
from hub.hooks.hook_file import HookFile, function_of, read_hook


def text(front: str) -> str:
    return f"---\n{front}\n---\n# Notes\n"


def test_a_whole_file_is_read() -> None:
    front = "name: quiet\ndescription: No calls\n  at night.\nevents: [before_tool_call, agent_end]\npriority: 5\n"
    front += "timeout_s: 2.5"

    assert read_hook(text(front), "quiet") == HookFile("No calls at night.", ("before_tool_call", "agent_end"), 5, 2.5)
    assert read_hook(text("description: One.\nevents: agent_end"), "quiet") == HookFile("One.", ("agent_end",))


@pytest.mark.parametrize(
    ("front", "complaint"),
    [
        ("- a list", "is not a YAML mapping"),
        ("description: [", "is not a YAML mapping"),
        ("events: agent_end", "the description in HOOK.md is missing"),
        ("description: x", "events in HOOK.md is missing"),
        ("description: x\nevents: []", "events in HOOK.md is missing"),
        ("description: x\nevents: [before_tool]", "events in HOOK.md has 'before_tool'; there are message_received"),
        (
            "description: x\nevents: agent_end\nname: y",
            "the name in HOOK.md is 'y'; expected that of its folder, quiet",
        ),
        ("description: x\nevents: agent_end\npriorty: 1", "HOOK.md has the field 'priorty'; there are description"),
        ("description: x\nevents: agent_end\npriority: high", "priority in HOOK.md is 'high'; expected a number"),
        ("description: x\nevents: agent_end\ntimeout_s: 900", "timeout_s in HOOK.md is '900'; expected a number from"),
    ],
)
def test_what_is_wrong_is_named(front: str, complaint: str) -> None:
    with pytest.raises(InvalidRequest, match=complaint):
        read_hook(text(front), "quiet")


def test_front_matter_is_needed() -> None:
    with pytest.raises(InvalidRequest, match="does not begin with front matter"):
        read_hook("# Quiet", "quiet")


def test_functions_are_named_as_their_hooks() -> None:
    assert [function_of(name) for name in ("agent_end", "agent:bootstrap", "command:*")] == [
        "agent_end",
        "agent_bootstrap",
        "command",
    ]
