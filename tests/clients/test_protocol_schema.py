"""What the hub answers, judged by the schema that OpenClaw publishes of its gateway's protocol.

The package has scopes and the shapes of most answers; for those of which it has only the parts (`CronJob`), the parts
are judged. Further keys are allowed everywhere: clients overlook them, and OpenClaw's own gateway sends some too.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator  # type: ignore[import-untyped]

from hub.core.context import SCOPES, Authority, Context, expand_scopes
from hub.gateway.calls.contract import ADMIN
from hub.tools.approval import Ask
from tests.clients.npm import installed
from tests.gateway.rig import client_of, connect_params, until
from tests.security_review.besieged import Besieged, besieged
from tests.servers.openai_server import OpenAIServer

OWNER = Authority("owner", "owner", SCOPES, owner=True)
KEY = "agent:main:main"
LISTS = {
    "cron.list": ("jobs", "CronJob"),
    "cron.runs": ("entries", "CronRunLogEntry"),
    "sessions.list": ("sessions", "SessionRow"),
}
NAMED = {
    "agent.identity.get": "AgentIdentityResult",
    "config.schema": "ConfigSchemaResponse",
    "chat.metadata": "ModelsListResult",
    "cron.get": "CronJob",
    "cron.update": "CronJob",
    "exec.approvals.get": "ExecApprovalsSnapshot",
}
"""Definitions that are not called after their method."""
STRICTER: dict[str, str] = {}
"""Methods that need more here than there, and why."""


@pytest.fixture
async def house(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Besieged]:
    """A whole hub."""
    async with besieged(tmp_path / "home", openai_server) as standing:
        yield standing


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """The schema, with further keys allowed."""
    folder = installed("@openclaw/gateway-protocol", "2026.9.1")
    return json.loads((folder / "protocol.schema.json").read_text(), object_hook=_open)  # type: ignore[no-any-return]


def _open(node: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in node.items() if (key, value) != ("additionalProperties", False)}


def faults(schema: dict[str, Any], definition: str, answer: Any) -> list[str]:
    """Return what is wrong with an answer."""
    shape = {"$schema": schema["$schema"], "$ref": f"#/definitions/{definition}", "definitions": schema["definitions"]}
    return [f"{each.json_path}: {each.message[:200]}" for each in Draft7Validator(shape).iter_errors(answer)][:5]


def definition_of(method: str, schema: dict[str, Any]) -> str | None:
    """Return the name of the shape of a method's answers; None when the schema has none."""
    name = NAMED.get(method) or "".join(part[:1].upper() + part[1:] for part in method.split(".")) + "Result"
    return name if name in schema["definitions"] else None


async def content(house: Besieged) -> dict[str, Any]:
    """Give the hub something of everything; return the ids."""
    hub = house.hub
    await house.run("hello")
    job = {"name": "Tea", "schedule": {"kind": "every", "everyMs": 3_600_000}, "sessionTarget": "isolated"}
    made = await house.rpc("cron.add", {**job, "payload": {"kind": "agentTurn", "message": "say hi"}})
    assert "id" in made, made
    await house.rpc("cron.run", {"id": made["id"]})
    for kind, details in (("exec", {"command": "ls", "agent": "main"}), ("question", QUESTION)):
        ask = Ask(kind, "ls", "why", details, Context(OWNER).child(), KEY, "r1")
        hub.tasks.spawn(hub.approvals.ask(ask), name="ask")
    await until(lambda: bool(hub.approvals.pending() and hub.approvals.questions()))
    return {"job": made["id"], "approval": hub.approvals.pending()[0].id, "question": hub.approvals.questions()[0].id}


QUESTION: dict[str, Any] = {"agent": "main", "question": "Tea or coffee?", "choices": ["Tea", "Coffee"]}


def calls(ids: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the requests that are judged, in their order."""
    return [
        ("health", {}),
        ("system-presence", {}),
        ("agents.list", {}),
        ("agent.identity.get", {}),
        ("agents.files.list", {"agentId": "main"}),
        ("agents.files.get", {"agentId": "main", "name": "AGENTS.md"}),
        ("models.list", {}),
        ("commands.list", {}),
        ("tools.catalog", {}),
        ("tools.effective", {"sessionKey": KEY}),
        ("tools.invoke", {"name": "session_status", "args": {}, "sessionKey": KEY}),
        ("skills.status", {}),
        ("channels.status", {"probe": False}),
        ("logs.tail", {"limit": 5}),
        ("config.get", {}),
        ("config.schema", {}),
        ("config.schema.lookup", {"path": "http"}),
        ("cron.list", {}),
        ("cron.get", {"id": ids["job"]}),
        ("cron.update", {"id": ids["job"], "patch": {"name": "Coffee"}}),
        ("cron.runs", {"scope": "all"}),
        ("cron.status", {}),
        ("update.status", {}),
        ("usage.status", {}),
        ("usage.cost", {}),
        ("sessions.usage", {"agentScope": "all"}),
        ("tasks.list", {}),
        ("talk.catalog", {}),
        ("progressCard.get", {"sessionKey": KEY}),
        ("exec.approvals.get", {}),
        ("exec.approval.list", {}),
        ("exec.approval.get", {"id": ids["approval"]}),
        ("approval.get", {"id": ids["approval"]}),
        ("approval.history", {}),
        ("approval.resolve", {"id": ids["approval"], "kind": "exec", "decision": "deny"}),
        ("question.list", {}),
        ("question.get", {"id": ids["question"]}),
        ("question.resolve", {"id": ids["question"], "answers": {"answers": {"answer": ["Tea"]}}}),
        ("plugin.approval.list", {}),
        ("sessions.create", {"key": "tui-1", "agentId": "main", "label": "Trip"}),
        ("sessions.create", {}),
        ("sessions.list", {"archived": "all", "includeGlobal": True}),
        ("sessions.resolve", {"label": "Trip"}),
        ("sessions.resolve", {"label": "None", "allowMissing": True}),
        ("sessions.search", {"query": "hello"}),
        ("sessions.fork", {"key": KEY}),
        ("sessions.delete", {"key": "agent:main:tui-1"}),
        ("sessions.observer.visibility", {"visible": True}),
        ("chat.metadata", {"sessionKey": KEY}),
    ]


async def test_what_the_hub_answers_fits_the_published_shapes(house: Besieged, schema: dict[str, Any]) -> None:
    ids = await content(house)
    wrong: dict[str, Any] = {}
    for method, params in calls(ids):
        answer = await house.rpc(method, params)
        if isinstance(answer, dict) and "error" in answer and "code" in answer["error"] and "toolName" not in answer:
            wrong[method] = answer
        elif method in LISTS:
            name, definition = LISTS[method]
            assert answer[name], (method, answer)
            wrong[method] = [fault for each in answer[name] for fault in faults(schema, definition, each)]
        elif method == "system-presence":
            wrong[method] = [fault for each in answer for fault in faults(schema, "PresenceEntry", each)]
        elif method == "health":
            health = schema["definitions"]["Snapshot"]["properties"]["health"]
            wrong[method] = [each.message for each in Draft7Validator(health).iter_errors(answer)]
        elif (found := definition_of(method, schema)) is not None:
            wrong[method] = faults(schema, found, answer)
    async with client_of(house) as client:  # type: ignore[arg-type]
        hello = await client.call("connect", connect_params(token=house.owner["Authorization"].split()[1]))
    wrong["connect"] = faults(schema, "HelloOk", hello["payload"])

    wrong = {name: found for name, found in wrong.items() if found}
    assert not wrong, json.dumps(wrong, indent=1)


async def test_no_method_needs_a_greater_scope_than_in_the_published_table(
    house: Besieged,
    schema: dict[str, Any],
) -> None:
    theirs = {name: entry["scope"] for name, entry in schema["methods"].items()}
    stricter = {
        method.name: (method.scope, theirs[method.name])
        for method in house.hub.gateway.methods
        if theirs.get(method.name, "dynamic") != "dynamic"
        and method.name not in STRICTER
        and method.scope not in {theirs[method.name], *expand_scopes([theirs[method.name]])}
        and theirs[method.name] != ADMIN
    }

    assert stricter == {}
