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
from hub.core.surfaces import ADMIN
from hub.tools.approval import Ask
from tests.clients.npm import installed
from tests.gateway.rig import Device, client_of, connect_params
from tests.security_review.besieged import Besieged, besieged
from tests.servers.openai_server import OpenAIServer
from tests.until import until

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
STRICTER: dict[str, str] = {"skills.search": "the words leave the home"}
"""Methods that need more here than there, and why."""


@pytest.fixture
async def house(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Besieged]:
    """A whole hub."""
    async with besieged(tmp_path / "home", openai_server, remembers=True) as standing:
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
    made = await house.rpc("cron.add", JOB)
    assert "id" in made, made
    await house.rpc("cron.run", {"id": made["id"]})
    for kind, details in (("exec", {"command": "ls", "agent": "main"}), ("question", QUESTION)):
        ask = Ask(kind, "ls", "why", details, Context(OWNER).child(), KEY, "r1")
        hub.tasks.spawn(hub.approvals.ask(ask), name="ask")
    await until(lambda: bool(hub.approvals.pending() and hub.approvals.questions()))
    return {"job": made["id"], "approval": hub.approvals.pending()[0].id, "question": hub.approvals.questions()[0].id}


JOB: dict[str, Any] = {
    "name": "Tea",
    "schedule": {"kind": "every", "everyMs": 3_600_000},
    "sessionTarget": "isolated",
    "payload": {"kind": "agentTurn", "message": "say hi"},
}
SPOKEN = {
    *("talk.speak", "talk.client.create", "talk.client.toolCall"),
    *("talk.session.create", "talk.session.cancelOutput"),
}
"""Judged where something speaks (`tests/voice/methods`), or always refused."""
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
        ("agents.create", {"name": "Cook"}),
        ("agents.update", {"agentId": "cook", "emoji": "🍲"}),
        ("agents.delete", {"agentId": "cook"}),
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
        ("talk.config", {}),
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
        ("taskSuggestions.list", {}),
        ("agents.files.set", {"agentId": "main", "name": "SOUL.md", "content": "Be kind."}),
        ("cron.add", {**JOB, "name": "Cake"}),
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
        ("skills.search", {"query": "weather", "limit": 5}),
    ]


def of_node(node_id: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the requests about a node that is there, as an operator sends them."""
    return [
        ("node.pending.enqueue", {"nodeId": node_id, "type": "status.request"}),
        ("device.pair.setupCode", {"publicUrl": "wss://home.example"}),
        ("device.pair.setupStatus", {"setupId": "none"}),
        ("device.token.rotate", {"deviceId": node_id, "role": "node"}),
    ]


BY_NODES: list[tuple[str, dict[str, Any]]] = [
    ("skills.bins", {}),
    ("node.event", {"event": "node.presence.alive", "payloadJSON": "{}"}),
    ("node.pending.drain", {}),
]
"""What nodes send."""
NODE: dict[str, Any] = {
    "client": {"id": "node-host", "version": "2026.9.6", "platform": "linux", "mode": "node"},
    "role": "node",
    "scopes": [],
}


class Judge:
    """Compares answers with the schema, and keeps what is wrong."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self.wrong: dict[str, Any] = {}
        self.judged: set[str] = set()

    def look(self, method: str, answer: Any) -> None:
        """Look at an answer."""
        self.judged.add(method)
        if isinstance(answer, dict) and "code" in (answer.get("error") or {}) and "toolName" not in answer:
            found: Any = answer
        elif method in LISTS:
            name, definition = LISTS[method]
            assert answer[name], (method, answer)
            found = [fault for each in answer[name] for fault in faults(self.schema, definition, each)]
        elif method == "system-presence":
            found = [fault for each in answer for fault in faults(self.schema, "PresenceEntry", each)]
        elif method == "health":
            health = self.schema["definitions"]["Snapshot"]["properties"]["health"]
            found = [each.message for each in Draft7Validator(health).iter_errors(answer)]
        else:
            definition = definition_of(method, self.schema) or ""
            found = faults(self.schema, definition, answer) if definition else []
        if found:
            self.wrong[method] = found


async def test_what_the_hub_answers_fits_the_published_shapes(house: Besieged, schema: dict[str, Any]) -> None:
    ids, judge = await content(house), Judge(schema)
    for method, params in calls(ids):
        judge.look(method, await house.rpc(method, params))
    token, device = house.owner["Authorization"].split()[1], Device()
    async with client_of(house) as operator, client_of(house) as node:  # type: ignore[arg-type]
        hello = await operator.call("connect", connect_params(token=token))
        joined = await node.connect(device, token=token, **NODE)
        await until(lambda: any(each.request for each in house.hub.nodes.records.all()))
        (pending,) = (await house.rpc("node.pair.list"))["pending"]
        await house.rpc("node.pair.approve", {"requestId": pending["requestId"]})
        for method, params in BY_NODES:
            answer = await node.call(method, params)
            judge.look(method, answer.get("payload", answer))
        for method, params in of_node(device.id):
            judge.look(method, await house.rpc(method, params))
    for each in (hello, joined):
        judge.wrong["connect"] = judge.wrong.get("connect", []) + faults(schema, "HelloOk", each.get("payload", each))

    wrong = {name: found for name, found in judge.wrong.items() if found}
    assert not wrong, json.dumps(wrong, indent=1)
    both = schema["methods"].keys() & {method.name for method in house.hub.gateway.methods}
    assert {method for method in both if definition_of(method, schema)} - judge.judged == SPOKEN


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
