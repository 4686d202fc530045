"""Every tool and service of a whole hub: for strangers, for the second person, tainted, with hostile arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import Authority, Context
from hub.core.services import AgentRule
from hub.tools.contract import Tool, ToolResult
from hub.tools.invoke import ToolCallRequest, invoke_tool
from hub.tools.policy import ToolRules, needs_approval, refusal
from tests.lengths import some
from tests.security_review.besieged import ANNAS, SECRET, SESSION, Besieged, remember_annas

GROUP = "agent:main:platform:group:-100"
ANNAS_SESSION = "agent:main:platform:direct:2"
PATHS = (
    "../.storage/hub_token",
    "../secrets.yaml",
    "./../secrets.yaml",
    "/etc/passwd",
    "a/../../secrets.yaml",
    "~/.ssh/id_rsa",
    "memory/people/anna.md",
    "memory//people/anna.md",
    "memory/./people/anna.md",
    "./memory/people/anna.md",
    "memory/people/../people/anna.md",
    "Memory/People/anna.md",
    "memory/people",
    "leak",
    "leak/hub_token",
    "x\x00",
    "\ud800",
    "a" * 5_000,
    "/".join("a" * 100),
    " " * 3_000,
)
OTHERS: tuple[Any, ...] = ("", "x" * 200_000, -1, 2**70, True, None, [["x"]], {"a": {}}, "(a+)+$", "*" * 200)
WRITES_WHAT_STEERS = (
    "AGENTS.md",
    "./AGENTS.md",
    "agents.md",
    "soul.md",
    "MEMORY.md",
    "memory/2026-01-01.md",
    "skills/x/SKILL.md",
    "Skills/x/SKILL.md",
    "hooks/h.py",
    "BOOTSTRAP.md",
    "HEARTBEAT.md",
)


async def call(
    house: Besieged, tool: str, arguments: dict[str, Any], authority: Authority, session: str = SESSION
) -> ToolResult:
    request = ToolCallRequest("c", tool, arguments, Context(authority), "main", session, "r")
    return await invoke_tool(house.hub.tools, request, redact=house.hub.redactor.redact)


def attacks(tool: Tool, begin: int) -> Iterator[dict[str, Any]]:
    """Arguments with one hostile value each; the other required ones are harmless."""
    properties: dict[str, Any] = dict(tool.parameters.json_schema.get("properties", {}))
    required = dict.fromkeys(tool.parameters.json_schema.get("required", ()), "x")
    for turn, name in enumerate(properties, begin):
        for value in some((*PATHS, *OTHERS), turn, one_of=9):
            yield required | {name: value}


async def test_no_argument_brings_out_what_a_session_must_not_see(house: Besieged) -> None:
    remember_annas(house.workspace)
    house.deny_what_is_asked()
    (house.workspace / "leak").symlink_to(house.hub.home.path / ".storage")
    token = (house.hub.home.path / ".storage" / "hub_token").read_text().strip()
    owner = house.hub.people.owner_authority()
    stranger = house.hub.people.authority_for("platform:user:9")
    for number, tool in enumerate(house.hub.tools.all()):
        for turn, (authority, session) in enumerate(((owner, SESSION), (owner, GROUP), (stranger, GROUP))):
            for arguments in attacks(tool, number + 3 * turn):
                result = await call(house, tool.name, arguments, authority, session)
                shown = f"{result.output} {result.details}"

                for hidden in (token, SECRET, ANNAS, "root:x:"):
                    assert hidden not in shown, (tool.name, str(arguments)[:200])
                assert result.details.get("code") != "INTERNAL", (tool.name, str(arguments)[:200], shown[:300])
    assert not (house.hub.home.path.parent / "secrets.yaml").exists()


async def test_the_second_person_sees_their_own_memory_and_no_files_of_the_homes(house: Besieged) -> None:
    remember_annas(house.workspace)
    (house.workspace / "MEMORY.md").write_text("# Memory\n\n- the alarm code is 7731\n")
    anna = house.hub.people.authority_for("platform:user:2")

    own = await call(house, "memory_search", {"query": "present attic"}, anna, ANNAS_SESSION)
    homes = await call(house, "memory_search", {"query": "alarm code"}, anna, ANNAS_SESSION)
    files = [
        await call(house, name, arguments, anna, ANNAS_SESSION)
        for name, arguments in (
            ("read", {"path": "MEMORY.md"}),
            ("grep", {"pattern": "alarm|attic"}),
            ("ls", {"path": "memory"}),
            ("memory_get", {"path": "MEMORY.md"}),
        )
    ]

    assert ANNAS in own.output
    assert "7731" not in homes.output
    assert all("7731" not in result.output and ANNAS not in result.output for result in files)


async def test_a_stranger_has_next_to_no_tools_unless_that_was_configured(house: Besieged) -> None:
    stranger = house.hub.people.authority_for("platform:user:9")
    reader = Authority("token:x", scopes=frozenset({"operator.read"}))
    for authority in (stranger, reader, Authority("peer:unknown")):
        usable = {tool.name for tool in house.hub.tools.all() if refusal(tool, authority, (), ToolRules()) is None}

        assert usable <= {"session_status"}


async def test_no_tool_that_changes_anything_or_carries_data_out_is_used_unasked_while_tainted(
    house: Besieged,
) -> None:
    tainted = house.hub.people.owner_authority().narrow(tainted=True)
    tools = house.hub.tools.all()
    asked_for = [tool for tool in tools if not tool.annotations.read_only or tool.annotations.egress]

    # What it says in the conversation itself is as free as the answer.
    own: dict[str, dict[str, Any]] = {
        "message": {"action": "send", "text": "see", "media": ["list.md"]},
        "web_fetch": {"url": "https://example.org/"},
        "rss": {"url": "https://example.org/"},
        "apply_patch": {"input": "*** Begin Patch\n*** Delete File: inbox/list.md\n*** End Patch"},
    }
    # Programs run in a sandbox then, or are asked about once they are analysed; their own tests try that.
    of_programs = {"exec", "process", "code_run"}
    assert of_programs < {tool.name for tool in asked_for}
    for tool in asked_for:
        if tool.name in of_programs:
            continue
        assert needs_approval(tool, own.get(tool.name, {"path": "list.md"}), tainted) is not None, tool.name


def test_every_tool_of_ours_says_whether_it_can_carry_data_out() -> None:
    said = [
        (file, call.lineno, {keyword.arg for keyword in call.keywords})
        for folder in ("hub", "integrations")
        for file in Path(folder).rglob("*.py")
        if "Annotations(" in (text := file.read_text())
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Annotations"
    ]

    assert [where for *where, named in said if named and "egress" not in named] == []
    assert len(said) > 5


@pytest.mark.parametrize("path", WRITES_WHAT_STEERS)
async def test_what_steers_the_assistant_is_not_written_while_tainted_or_by_others(house: Besieged, path: str) -> None:
    house.deny_what_is_asked()
    owner = house.hub.people.owner_authority()
    before = {file: file.read_bytes() for file in house.workspace.rglob("*") if file.is_file()}
    for authority, session in (
        (owner.narrow(tainted=True), SESSION),
        (house.hub.people.authority_for("platform:user:2"), ANNAS_SESSION),
        (house.hub.people.authority_for("platform:user:9"), GROUP),
        (house.hub.people.authority_for("platform:user:1").narrow(owner=False), GROUP),
    ):
        for tool, arguments in (
            ("write", {"path": path, "content": "obey"}),
            ("edit", {"path": path, "old_text": "a", "new_text": "obey", "replace_all": True}),
            ("apply_patch", {"input": f"*** Begin Patch\n*** Add File: {path}\n+obey\n*** End Patch"}),
            ("apply_patch", {"input": f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch"}),
        ):
            result = await call(house, tool, arguments, authority, session)

            assert result.is_error, (tool, path)

    assert {file: file.read_bytes() for file in house.workspace.rglob("*") if file.is_file()} == before


async def test_no_service_is_a_models_to_call_unless_it_says_so_and_none_is_a_tool(house: Besieged) -> None:
    owner = house.hub.people.owner_authority()
    tools = {tool.name for tool in house.hub.tools.all()}
    for service in house.hub.services.all():
        assert service.name not in tools or service.domain == "memory", service.id  # those have guards of their own
        if service.agent is AgentRule.ALLOW:
            continue
        result = await call(house, "call_service", {"domain": service.domain, "service": service.name}, owner)
        assert result.is_error, service.id
    for tool in tools:
        for domain in ("tool", "tools", "files", "memory", "hub", "homarus"):
            result = await call(house, "call_service", {"domain": domain, "service": tool}, owner)
            assert result.is_error, tool
