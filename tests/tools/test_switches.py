"""Tools as switches: what rules leave on, and the rules after some were switched."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.errors import InvalidRequest
from hub.tools.switches import enabled_tools, named_tools, switch_tools

TOOLS = [("exec", "shell"), ("process", "shell"), ("web_fetch", "web"), ("rss", "web"), ("calculator", "calculator")]
EVERY = {name for name, _ in TOOLS}


@pytest.mark.parametrize(
    ("rules", "switches", "left", "written"),
    [
        ({}, {"exec": False}, EVERY - {"exec"}, {"deny": ["exec"]}),
        ({}, {"group:shell": False}, EVERY - {"exec", "process"}, {"deny": ["group:shell"]}),
        ({"deny": ["exec"]}, {"group:shell": False}, EVERY - {"exec", "process"}, {"deny": ["group:shell"]}),
        ({"deny": ["group:shell"]}, {"exec": True}, EVERY - {"process"}, {"deny": ["process"]}),
        ({"deny": ["group:shell", "of_a_server"]}, {"group:shell": True}, EVERY, {"deny": ["of_a_server"]}),
        ({"allow": ["rss"]}, {"exec": True}, {"rss", "exec"}, {"allow": ["rss"], "also_allow": ["exec"]}),
        ({"allow": []}, {"group:web": True}, {"web_fetch", "rss"}, {"allow": [], "also_allow": ["group:web"]}),
        ({"allow": ["rss"], "also_allow": ["exec"]}, {"exec": False}, {"rss"}, {"allow": ["rss"], "deny": ["exec"]}),
    ],
)  # fmt: skip
def test_tools_are_switched(
    rules: dict[str, Any], switches: dict[str, bool], left: set[str], written: dict[str, Any]
) -> None:
    found = switch_tools(TOOLS, rules, switches)

    assert found == written
    assert enabled_tools(TOOLS, found) == left


@pytest.mark.parametrize("switches", [{"nothing": True}, {"group:nothing": False}, {"web_fetch": True}])
def test_what_no_switch_can_do_is_refused(switches: dict[str, bool]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        switch_tools(TOOLS, {"deny": ["web_*"]}, switches)

    assert refused.value.details["field"] == "tools"


@pytest.mark.parametrize(
    ("rules", "switches", "written"),
    [
        ({}, {"exec": True}, {"also_allow": ["exec"]}),
        ({}, {"group:shell": True}, {"also_allow": ["group:shell"]}),
        ({"allow": ["exec"]}, {"exec": True}, {"allow": ["exec"]}),
        ({"profile": "coding"}, {"exec": True}, {"profile": "coding", "also_allow": ["exec"]}),
        ({"also_allow": ["exec"]}, {"exec": False}, {"deny": ["exec"]}),
    ],
)
def test_an_optional_tool_is_on_when_it_is_named(
    rules: dict[str, Any], switches: dict[str, bool], written: dict[str, Any]
) -> None:
    found = switch_tools(TOOLS, rules, switches, ["exec"])

    assert found == written
    assert ("exec" in named_tools(TOOLS, found)) is next(iter(switches.values()))
